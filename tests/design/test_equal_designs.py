"""Designs that are made from the same are equal, wherever they come from."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import darrm

MAJORITY = darrm.solve(K=5, m=2, epsilon=0.3, Delta=1e-3, prior=darrm.priors.votes([3, 1, 0, 0, 2, 4]))
PROFILED = darrm.solve(K=5, m=2, epsilon=0.3, shape="monotone", profile=[(0.3, 0.1), (0.5, 0.0)])
GROUPS = [darrm.VoterGroup(2, epsilon=1.0), darrm.VoterGroup(1, epsilon=0.5)]
PROBLEM = darrm.DecisionProblem(GROUPS, epsilon=1.0, classes=["no", "yes"])
TRUTH = darrm.objectives.truth([0.8, 0.7])
DECISION = darrm.solve(PROBLEM, objective=TRUTH)
ABSENT = darrm.solve(PROBLEM, objective=TRUTH, absent=True)
WEIGHTS = darrm.solve(PROBLEM, objective=darrm.objectives.rule([2.0, 1.0], [0.8, 0.7]), ordered=True)
RULE = darrm.solve(PROBLEM, objective=darrm.objectives.rule(lambda n: int(n[0] > 0), [0.8, 0.7], problem=PROBLEM))
COSTS = darrm.solve(PROBLEM, objective=darrm.objectives.costs(np.arange(12.0).reshape(3, 2, 2)))
DESIGNS = [MAJORITY, PROFILED, DECISION, ABSENT, WEIGHTS, RULE, COSTS]


@pytest.mark.parametrize("design", DESIGNS, ids=repr)
def test_copies_pickles_and_files_are_equal(design: darrm.Design | darrm.DecisionDesign, tmp_path: Path) -> None:
    design.save(tmp_path / "design.json")
    others = [copy.copy(design), copy.deepcopy(design), pickle.loads(pickle.dumps(design))]
    others.append(darrm.load(tmp_path / "design.json"))  # type: ignore[arg-type]
    for other in others:
        assert other is not design
        assert other == design
        assert hash(other) == hash(design)
    assert len({design, *others}) == 1


@pytest.mark.thorough
def test_others_differ() -> None:
    assert len(set(DESIGNS)) == len(DESIGNS)
    p, gamma = MAJORITY.problem, MAJORITY.gamma.copy()
    gamma[[0, -1]] = np.nextafter(gamma[0], 0)
    more = darrm.MajorityProblem(5, 2, 0.3, 1e-3, delta=0.5)
    others = [
        darrm.Design(p, gamma, MAJORITY.prior, objective="disagreement", gap=MAJORITY.gap),
        darrm.Design(more, MAJORITY.gamma, MAJORITY.prior, objective="disagreement", gap=MAJORITY.gap),
        darrm.Design(p, MAJORITY.gamma, darrm.priors.common(), objective="disagreement", gap=MAJORITY.gap),
        darrm.Design(p, MAJORITY.gamma, MAJORITY.prior, objective="disagreement", gap=1.0),
    ]
    assert len({MAJORITY, *others}) == 5
    assert MAJORITY not in others
    assert darrm.Design(p, MAJORITY.gamma, MAJORITY.prior, objective="disagreement", gap=MAJORITY.gap) == MAJORITY
    for design in (MAJORITY, DECISION):
        assert design != design.table.tolist()
        assert design != 1
    fewer = dict(ABSENT.fewer)
    coin = fewer[1, 0]
    fewer[1, 0] = darrm.DecisionDesign(coin.problem, np.full(coin.problem.table_shape, 0.5), coin.objective)
    changed = darrm.DecisionDesign(PROBLEM, ABSENT.table, ABSENT.objective, gap=ABSENT.gap, fewer=fewer)
    assert changed != ABSENT
    assert np.array_equal(changed.table, ABSENT.table)


@pytest.mark.parametrize("changed", ["ordered", "objective"])
def test_fewer_voters_decide_as_all_do(changed: str) -> None:
    """A file says order and objective once, for all."""
    fewer = dict(ABSENT.fewer)
    alone = fewer[1, 0]
    objective = darrm.objectives.truth([0.6]) if changed == "objective" else alone.objective
    fewer[1, 0] = darrm.DecisionDesign(alone.problem, alone.table, objective, ordered=changed == "ordered")
    with pytest.raises(darrm.InputError, match=r"The decision for \(1, 0\) present voters is for another problem"):
        darrm.DecisionDesign(PROBLEM, ABSENT.table, ABSENT.objective, gap=ABSENT.gap, fewer=fewer)
