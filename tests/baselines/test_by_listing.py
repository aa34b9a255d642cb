"""Every entry of a comparison against all cases of a few voters, listed without darrm: its guarantee and its errors."""

import math
from decimal import Decimal, localcontext
from itertools import product

import numpy as np
import pytest
from cases import slow, thorough
from oracles.several_classes import Group, Table, full, symmetric, truth

import darrm
from darrm import VoterGroup, objectives
from darrm.problem.decision import AnyProblem

MODELS: dict[str, tuple[AnyProblem, list[float]]] = {
    "odd majority": (darrm.MajorityProblem(3, 1.5, 0.5), []),
    "even majority, two affected": (darrm.MajorityProblem(4, 1.2, 0.3, max_affected=2), []),
    "majority that fails": (darrm.MajorityProblem(3, 2, 0.4, 0.01), []),
    "two groups": (darrm.DecisionProblem([VoterGroup(2, 1.0), VoterGroup(2, 0.3, max_affected=1)], 0.9), [0.8, 0.6]),
    "three classes": (darrm.DecisionProblem([VoterGroup(3, 1.0)], 1.0, 0.01, 3, max_affected=1), [0.7]),
    "teachers": (darrm.DecisionProblem([VoterGroup(4, math.inf)], 1.0, 1e-3, 3, max_affected=1), [0.6]),
}


def listed(table: np.ndarray, problem: AnyProblem, groups: list[Group]) -> Table:
    """Probabilities of all answers, by votes."""
    if isinstance(problem, darrm.MajorityProblem):
        K = problem.K
        sign = np.sign(2 * np.arange(K + 1) - K)
        return {((K - l, l),): _two(Decimal(float(sign[l] * table[l])) / 2 + Decimal("0.5")) for l in range(K + 1)}
    if problem.binary:
        every = product(*(range(group.count + 1) for group in groups))
        chances = {ones: Decimal(float(table[ones])) for ones in every}
        return {
            tuple((group.count - n, n) for group, n in zip(groups, ones, strict=True)): _two(chance)
            for ones, chance in chances.items()
        }
    if table.shape[:-1] == problem.table_shape:
        return full(table, groups, problem.n_classes)
    return symmetric(table, groups[0].count, problem.n_classes)


def promised(problem: AnyProblem) -> tuple[Decimal, float]:
    """Epsilon of one release, for a majority the exact product m epsilon, and its delta."""
    if not isinstance(problem, darrm.MajorityProblem):
        return Decimal(problem.epsilon), problem.delta
    with localcontext(prec=120):
        return Decimal(float(problem.m)) * Decimal(problem.epsilon), problem.delta


def _two(one: Decimal) -> list[Decimal]:
    return [1 - one, one]


LONG = "majority that fails"


def wrong(table: Table, groups: list[Group], accuracies: list[float], classes: int) -> float:
    """How often an answer is not the truth, where all truths are as likely and wrong votes are."""
    total = 0.0
    for y, (votes, row) in product(range(classes), table.items()):
        chance = 1.0
        for counts, accuracy, group in zip(votes, accuracies, groups, strict=True):
            left = group.count
            for c, count in enumerate(counts):
                chance *= math.comb(left, count) * (accuracy if c == y else (1 - accuracy) / (classes - 1)) ** count
                left -= count
        total += chance / classes * float(1 - row[y])
    return total


@pytest.mark.first(1, 3)
@pytest.mark.parametrize("model", [*thorough(*(name for name in MODELS if name != LONG)), *slow(LONG)])
def test_every_entry_holds_what_it_says(model: str) -> None:
    problem, accuracies = MODELS[model]
    epsilon, delta = promised(problem)
    groups = [Group(group.count, group.epsilon, group.delta, group.max_affected) for group in problem.groups]
    objective = {"objective": objectives.truth(accuracies)} if accuracies else {"prior": "uniform"}
    entries = darrm.compare(problem, **objective)  # type: ignore[arg-type]
    assert sum(entry.within for entry in entries) >= 6
    for entry in entries:
        answers = listed(np.asarray(entry.table), problem, groups)
        found = truth(answers, groups, problem.n_classes, problem.max_affected)
        needed, tight = found.excess(epsilon), float(found.tight_epsilon(delta))
        # Never private by the entry alone; a certificate may ask for a little more than is needed.
        assert not entry.within or needed <= Decimal(delta), entry.name
        assert entry.within or needed > Decimal(delta) - Decimal("1e-9"), entry.name
        assert entry.certificate is not None
        said = entry.certificate.tight_epsilon
        assert said >= tight * (1 - 1e-15), entry.name
        assert said == tight or said <= tight * (1 + 1e-6) + 1e-9, entry.name
        if accuracies:
            assert entry.wrong == pytest.approx(wrong(answers, groups, accuracies, problem.n_classes), abs=1e-12)
