"""Every kind of objective: its costs, and what files say of it; objectives of one's own that return what is none."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import darrm
from darrm import VoterGroup, objectives, priors
from darrm.errors import InputError
from darrm.objectives.against import Dissent
from darrm.objectives.stored import OBJECTIVES
from darrm.problem.class_votes import all_votes
from darrm.problem.groups import ByGroups

EXAMPLES = {
    "truth": objectives.truth([0.8, 0.7], prior=[0.9, 0.1]),
    "rule": objectives.rule("majority", [0.8]),
    "dissent": objectives.dissent([0.8], [0.3, 0.7]),
    "costs": objectives.costs([[0.0, 0.5], [0.25, 0.0]]),
    "paper": objectives.paper(priors.common(2.0, 3.0), "disagreement"),
}


def test_every_kind_has_an_example() -> None:
    assert EXAMPLES.keys() == OBJECTIVES.keys()


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_costs_are_the_same_at_all_counts_and_at_given_ones(kind: str) -> None:
    groups = len(getattr(EXAMPLES[kind], "confusion", [0]))
    problem = darrm.DecisionProblem([VoterGroup(1, 1.0)] * groups, 1.0)
    costs, votes = EXAMPLES[kind].costs(problem), all_votes(problem)
    assert EXAMPLES[kind].costs_at(problem, votes[::-1]) == pytest.approx(costs.reshape(-1, 2)[::-1], abs=1e-15)
    assert costs.max() > 0


@pytest.mark.every
@pytest.mark.parametrize(
    ("member", "wrong", "said"),
    [
        ("costs_at", lambda costs: costs[:, 0], r"Costs .* numbers of shape \(6, 2\)\. Got shape \(6,\)\."),
        ("costs_at", lambda costs: costs * np.nan, r"Costs .* must be finite\. Got NaN"),
        ("costs_at", lambda costs: costs.astype(str), r"Costs .* numbers of shape"),
        ("costs_at", lambda costs: None, r"Costs .* numbers of shape"),
        ("costs", lambda costs: costs + np.inf, r"Costs .* must be finite\."),
        ("joint", lambda chances: 2 * chances, r"Probabilities .* must sum to 1 .* Got 2\."),
        ("joint", lambda chances: chances - 0.1, r"Probabilities .* at least -1e-06"),
        ("joint", lambda chances: chances.tolist(), r"Probabilities .* a numpy array"),
        ("chances", lambda chances: 2 * chances, r"Probabilities .* must sum to 1 .* Got 2\."),
        ("joint", lambda chances: chances, ""),
    ],
    ids=["shape", "nan", "text", "nothing", "own costs", "sum", "negative", "list", "all", "right"],
)
def test_what_is_no_cost_or_probability_is_refused_by_name(
    member: str, wrong: Callable[[Any], object], said: str
) -> None:
    def made(self: Dissent, *given: Any) -> object:
        return wrong(getattr(Dissent, member)(self, *given))

    def by_chances(self: Dissent, problem: ByGroups) -> np.ndarray:
        return np.asarray(self.chances(problem).sum(axis=0)[:, None] * np.linspace(0, 1, 12).reshape(6, 2))

    members = {"costs": by_chances} if member == "chances" else {}
    goal = type("Mine", (Dissent,), {"kind": "mine", **members, member: made})((0.7,), None)
    problem = darrm.DecisionProblem([VoterGroup(5, 1.0)], 1.0)
    if not said:
        assert darrm.solve(problem, objective=goal).expected_cost == pytest.approx(0.336, abs=1e-3)
        return
    with pytest.raises(InputError, match=said) as refused:
        darrm.solve(problem, objective=goal)
    assert "the objective 'mine'" in str(refused.value)


def test_a_prior_of_ones_own_that_is_none_is_refused() -> None:
    class Twice(Dissent):
        def _spelled(self, classes: int) -> Dissent:
            return Dissent(super()._spelled(classes).confusion, (1.0, 1.0))

    with pytest.raises(InputError, match=r"must sum to 1 over all truths and counts\. Got 2\."):
        darrm.solve(darrm.DecisionProblem([VoterGroup(5, 1.0)], 1.0), objective=Twice((0.7,), None))


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_what_a_file_says_comes_back(kind: str) -> None:
    said = EXAMPLES[kind].as_dict()
    assert said["kind"] == kind
    again = objectives.from_dict(said)
    assert again == EXAMPLES[kind]
    assert again.as_dict() == said


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_what_is_missing_or_too_much_is_refused(kind: str) -> None:
    said: dict[str, Any] = EXAMPLES[kind].as_dict()
    parameter = next(name for name in said if name != "kind")
    kinds = re.escape(f"({', '.join(OBJECTIVES)})")
    for wrong in (
        {name: value for name, value in said.items() if name != parameter},
        {**said, "more": 1},
        {**said, "kind": f"{kind}s"},
        {name: value for name, value in said.items() if name != "kind"},
    ):
        with pytest.raises(InputError, match=f"objective must have a kind {kinds} and"):
            objectives.from_dict(wrong)
