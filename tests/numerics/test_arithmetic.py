"""What a caller asks NumPy and decimals to raise is the caller's: darrm works under it, finds the same, leaves it."""

import decimal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import darrm
from darrm import DecisionProblem, VoterGroup
from darrm.accounting import compose, max_queries

TRUTH = darrm.objectives.truth([0.7])
CLASSES = DecisionProblem([VoterGroup(5, 1.0)], 1.0, classes=3)
WIDE = DecisionProblem([VoterGroup(4, 700.0)], 650.0)  # probabilities far below those of float64


def read_again() -> bytes:
    design = darrm.solve(K=41, m=10, epsilon=20.0)
    return design.gamma.tobytes() + repr(design.certificate).encode()


CALLS: dict[str, Callable[[], object]] = {
    "majority": lambda: darrm.solve(K=101, m=10, epsilon=0.1).gamma.tobytes(),
    "large epsilon": read_again,
    "decision": lambda: darrm.solve(WIDE, objective=TRUTH).table.tobytes(),
    "classes": lambda: darrm.solve(CLASSES, objective=TRUTH).table.tobytes(),
    "verify": lambda: darrm.verify(darrm.baselines.subsampling(101, 31), darrm.MajorityProblem(101, 31, 0.1)),
    "repair": lambda: darrm.repair(np.ones(102), darrm.MajorityProblem(101, 31, 0.1)).tobytes(),
    "profile": lambda: darrm.privacy_profile(np.ones(102), darrm.MajorityProblem(101, 31, 0.1), [0, 1, 30]).tobytes(),
    "error": lambda: darrm.expected_error(np.ones(1002), np.full(1001, 0.9)),
    "compare": lambda: [entry.error for entry in darrm.compare(darrm.MajorityProblem(25, 8, 0.1))],
    "totals": lambda: compose(darrm.solve(CLASSES, objective=TRUTH), 200, delta=1e-5, voters="fresh"),
    "labels": lambda: max_queries(darrm.solve(K=101, m=10, epsilon=0.01), 6.0, 1e-9, voters="fresh"),
    "plan": lambda: str(
        darrm.plan(
            [(25, 0.5)], accuracy=0.8, queries=200, total_epsilon=6.0, total_delta=1e-6, voters="fresh", max_affected=1
        )
    ),
}


SLOW = ["labels", "plan"]  # "totals" takes the same steps
QUICK = [name for name in CALLS if name not in SLOW]


@pytest.mark.thorough
@pytest.mark.first(1, 3)
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.thorough) for name in SLOW)])
def test_what_a_caller_lets_raise_changes_nothing(name: str) -> None:
    expected = CALLS[name]()
    with np.errstate(all="raise"), decimal.localcontext(decimal.Context(prec=3)) as context:
        context.traps[decimal.Inexact] = context.traps[decimal.Rounded] = True
        darrm.certificate.engines.forget()
        assert CALLS[name]() == expected
        assert set(np.geterr().values()) == {"raise"}
        assert decimal.getcontext() is context


def test_a_file_is_read_under_it(tmp_path: Path) -> None:
    design = darrm.solve(K=101, m=10, epsilon=0.1)
    design.save(tmp_path / "gamma.json")
    with np.errstate(all="raise"):
        assert darrm.load(tmp_path / "gamma.json") == design
