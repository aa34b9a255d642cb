"""Do what must be refused, without assert statements (python -O), and print which of it was."""

import json
from fractions import Fraction

import numpy as np

import darrm
from darrm import priors
from darrm.accounting import Ledger, compose
from darrm.errors import DarrmError
from darrm.randomness.coins import Coins

design = darrm.load("gamma.json")
release = darrm.mechanisms.DaRRM(design).release
counts = darrm.mechanisms.DaRRM(design).release_counts
problem = darrm.MajorityProblem(K=3, m=1, epsilon=0.1)
ledger = Ledger.create("small.json", design, total_epsilon=0.5, total_delta=0, voters="fresh", rule="basic-filter")
actions = {
    "K": lambda: darrm.MajorityProblem(0, 1, 0.1),
    "nan": lambda: darrm.MajorityProblem(3, float("nan"), 0.1),
    "Delta": lambda: darrm.MajorityProblem(3, 1, 0.1, -1e-9),
    "too good": lambda: darrm.Design(problem, np.ones(4), priors.independent()),
    "not symmetric": lambda: darrm.verify([0, 0, 0, 0.1], problem),
    "above one": lambda: darrm.verify([1.5] * 4, problem),
    "a vote of 2": lambda: release([[0, 1, 2]]),
    "half a vote": lambda: release([[0, 1, 0.5]]),
    "four votes": lambda: release([[0, 1, 0, 1]]),
    "a count of 4": lambda: counts([4]),
    "overspent": lambda: ledger.charge(design, 3),
    "another design": lambda: Ledger("ledger.json").charge("gamma.json", 1),
    "voters unsaid": lambda: compose(design, 5, delta=1e-5),
    "edited": lambda: darrm.load("edited.json"),
    "a coin of 1/3": lambda: Coins([Fraction(1, 3)]),
}
refused = []
for name, action in actions.items():
    try:
        action()
    except (DarrmError, ValueError):
        refused.append(name)
print(json.dumps({"refused": refused, "all": list(actions), "asserts": __debug__}))
