"""Where float64 is coarse beside a limit, decimals decide; what a certificate names is kept all the same."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import darrm
from darrm import VoterGroup
from darrm.accounting import Ledger


@pytest.mark.first(8)
@pytest.mark.parametrize("seed", range(60))
def test_a_release_keeps_what_its_certificate_names(seed: int) -> None:
    random = np.random.default_rng(seed)
    K, classes = int(random.integers(2, 5)), int(random.integers(2, 4))
    epsilon, delta = float(10 ** random.uniform(-7, 0)), float(random.choice([0, 1e-9, 1e-6, 1e-3]))
    voters = [VoterGroup(K, float(random.uniform(0.1, 2)))]
    problem = darrm.DecisionProblem(voters, epsilon, delta, classes, int(random.integers(1, K + 1)))
    each = random.dirichlet(np.ones(classes), size=int(np.prod(problem.table_shape)))
    table = each[:, 0].reshape(problem.table_shape) if classes == 2 else each.reshape(*problem.table_shape, classes)
    for release in (table, darrm.repair(table, problem)):
        found = darrm.verify(release, problem)
        if found.needed_delta < 1:
            assert darrm.verify(release, replace(problem, delta=found.needed_delta)).holds
        if 0 < found.tight_epsilon < np.inf:
            assert darrm.verify(release, replace(problem, epsilon=found.tight_epsilon)).holds


def test_a_ledger_takes_a_design_of_a_small_limit_beside_its_second_budget(tmp_path: Path) -> None:
    voters = [VoterGroup(3, epsilon=0.5, max_affected=1, randomizer="randomized response", colluders=0)]
    design = darrm.solve(
        darrm.DecisionProblem(voters, epsilon=1e-5, classes=3), objective=darrm.objectives.truth([0.7])
    )
    ledger = Ledger.create(
        tmp_path / "ledger.db", design, total_epsilon=1e-3, total_delta=0.0, fallback_epsilon=100.0, voters="fresh"
    )
    ledger.charge(design, 3)
    assert ledger.spent()[0] == pytest.approx(3e-5)
