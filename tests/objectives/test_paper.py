"""The paper's objectives for decisions: what a noise function costs as a table, and the best table beside gamma_opt."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import darrm
from darrm import objectives, priors
from darrm.cli import main
from darrm.problem.noise_function import acceptance

PRIORS = [priors.independent(), priors.common(2.0, 1.0), priors.votes([1, 0, 2, 5, 1, 1, 0, 3])]


@pytest.mark.parametrize("name", priors.OBJECTIVES)
@pytest.mark.parametrize("prior", PRIORS[:2], ids=str)
@pytest.mark.parametrize("K", [6, 7])
def test_a_noise_function_costs_as_a_table_what_it_errs(K: int, prior: priors.Prior, name: str) -> None:
    rng = np.random.default_rng(K)
    half = rng.random(K - K // 2) / 20
    gamma = np.concatenate([half[::-1], np.zeros((K + 1) % 2), half])
    design = darrm.Design(darrm.MajorityProblem(K, 1, 1.0), gamma, prior, objective=name)
    goal = objectives.paper(prior, name)
    one = darrm.DecisionProblem([darrm.VoterGroup(K, 1.0)], 1.0)
    assert darrm.Design(one, acceptance(gamma), goal).expected_cost == pytest.approx(design.expected_cost, abs=1e-15)
    groups = darrm.DecisionProblem([darrm.VoterGroup(2, 1.0), darrm.VoterGroup(K - 2, 1.0)], 1.0)
    table = acceptance(gamma)[np.indices(groups.table_shape).sum(axis=0)]
    assert darrm.Design(groups, table, goal).expected_cost == pytest.approx(design.expected_cost, abs=1e-14)


@pytest.mark.slow
def test_gamma_opt_is_a_restriction(tmp_path: Path) -> None:
    """What docs/limitations.md says: an ordered table of one group is gamma_opt, and the best of all is better."""
    gamma_opt = darrm.solve(K=31, m=3, epsilon=0.1, objective="disagreement")
    group = darrm.DecisionProblem([darrm.VoterGroup(31, epsilon=0.1)], gamma_opt.problem.release_epsilon)
    goal = objectives.paper(priors.independent(), "disagreement")
    ordered, free = darrm.solve(group, objective=goal, shape="ordered"), darrm.solve(group, objective=goal)
    assert round(gamma_opt.expected_cost, 6) == 0.064240
    assert ordered.expected_cost == pytest.approx(gamma_opt.expected_cost, abs=1e-9)
    assert round(free.expected_cost, 6) == 0.064134
    assert free.reversals > 0
    assert darrm.solve(group, prior="uniform", objective="disagreement") == free
    free.save(tmp_path / "decision.json")
    assert darrm.load(tmp_path / "decision.json") == free
    assert main(["verify", str(tmp_path / "decision.json")]) == 0
    assert main(["report", str(tmp_path / "decision.json"), "--out", str(tmp_path / "report.html")]) == 0
    page = (tmp_path / "report.html").read_text()
    said = "the probability that the label differs from the majority of the votes cast, under independent:0.5,1"
    assert said in page
    assert "independent:0.5,1" in page
    assert not darrm.independent.check(json.loads((tmp_path / "decision.json").read_text())).wrong


def test_votes_that_a_prior_was_read_from_are_not_released_by_groups() -> None:
    """How many ones rows have is compared, whichever group they are in."""
    groups = [darrm.VoterGroup(2, epsilon=1.0), darrm.VoterGroup(1, epsilon=0.5)]
    problem = darrm.DecisionProblem(groups, epsilon=1.0)
    votes = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1]])
    with pytest.raises(darrm.InputError, match="must be for any number of them"):
        darrm.solve(problem, prior=priors.votes([0, 3, 0, 2]), absent=True)
    assert darrm.solve(problem, prior="uniform", absent=True).absent
    design = darrm.solve(problem, prior=priors.votes([0, 3, 0, 2]))
    mechanism = darrm.mechanisms.PrivateDecision(design)
    for release in (mechanism.release, lambda rows: list(mechanism.release_blocks([rows[:2], rows[2:]]))):
        with pytest.raises(darrm.InputError, match="was read from votes"):
            release(votes)
        release(votes[:4])
    with pytest.raises(darrm.InputError, match="was read from votes"):
        mechanism.release_counts([[1, 0], [1, 0], [0, 1], [2, 1], [2, 1]])
    assert mechanism.release(votes, public=True).shape == (5,)


def test_what_it_is_not_for_is_refused() -> None:
    goal = objectives.paper(priors.independent())
    three = darrm.DecisionProblem([darrm.VoterGroup(3, 1.0)], 1.0, classes=3)
    with pytest.raises(darrm.InputError, match=r"is for two answers\. Got 3"):
        darrm.solve(three, objective=goal)
    with pytest.raises(darrm.InputError, match=r"prior must be a prior of darrm\.priors"):
        objectives.paper("uniform")  # type: ignore[arg-type]
    with pytest.raises(darrm.InputError, match="objective must be one of tv, disagreement"):
        objectives.paper(priors.independent(), "wrong")
    with pytest.raises(darrm.InputError, match="takes no prior beside it"):
        darrm.solve(K=3, m=1, epsilon=1.0, prior="common:2,1", objective=goal)
    with pytest.raises(darrm.InputError, match=r"are for a darrm\.DecisionProblem"):
        darrm.solve(K=3, m=1, epsilon=1.0, objective=objectives.truth([0.8]))
    with pytest.raises(darrm.InputError, match="is for a majority"):
        darrm.solve(three, objective=objectives.truth([0.8]), engine="full-list")
