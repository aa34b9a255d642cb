"""Optimal tables under common simplifications: fewer votes, equal voters, or the majority as the objective."""

from __future__ import annotations

from typing import Any

import numpy as np

from darrm import objectives
from darrm.baselines.baseline import SolvedBaseline
from darrm.certificate.scaling import repair
from darrm.design.rules import cost_of, seen
from darrm.design.solve import solve
from darrm.numerics.arrays import Array
from darrm.numerics.printed import at_least, exactly
from darrm.objectives import Objective, OfVoters, Rule, rule
from darrm.problem.class_votes import all_votes
from darrm.problem.counts import count_vectors, places
from darrm.problem.decision import AnyProblem, DecisionProblem, decision_by
from darrm.problem.groups import ByGroups, VoterGroup

Found = dict[str, tuple[str, Array]]


def _several(problem: ByGroups, objective: Objective) -> bool:
    return len(problem.groups) > 1


def _all_as_the_least_private(problem: AnyProblem, objective: Objective, time_limit: float) -> Found:
    """The optimal table for the votes of all groups together, as if all had the largest epsilon."""
    epsilon, delta = (max(getattr(group, name) for group in problem.groups) for name in ("epsilon", "delta"))
    kinds = problem.kinds.values()
    pooled = DecisionProblem(
        [VoterGroup(problem.K, epsilon, delta)],
        min(kind.release_epsilon for kind in kinds),
        min(kind.delta for kind in kinds),
        problem.classes,
        problem.max_affected,
        none=problem.none,
    )
    votes = all_votes(problem).sum(axis=1, keepdims=True)
    costs = np.zeros((len(count_vectors(problem.K, problem.n_classes)), problem.n_answers))
    np.add.at(costs, places(votes[:, 0]), objective.costs_at(problem, all_votes(problem)))
    table = solve(pooled, objective=objectives.costs(costs), time_limit=time_limit).table
    said = f"held to epsilon {at_least(pooled.release_epsilon)} for all" if len(kinds) > 1 else ""
    return {ALL_AS_THE_LEAST_PRIVATE.name: (said, seen(table, pooled, votes, problem))}


def _one_group_alone(problem: AnyProblem, objective: Objective, time_limit: float) -> Found:
    """The optimal table for the votes of a single group, the best over all groups."""
    found: Found = {}
    costs = objective.costs(problem)
    for g, group in enumerate(problem.groups):
        kind = problem.kinds.get(f"group {g + 1}", problem)  # a change in other groups changes no vote that counts
        model = kind.model.with_present([own.count if i == g else 0 for i, own in enumerate(problem.groups)])
        alone = decision_by(model, kind.release_epsilon, kind.delta)
        others = tuple(axis for axis in range(len(problem.groups)) if axis != g)
        own = objectives.costs(costs.sum(axis=others))
        table = solve(alone, objective=own, time_limit=time_limit).table
        spread = seen(table, alone, all_votes(problem)[:, g : g + 1], problem)
        found[f"group {g + 1} alone"] = f"{group.count} of epsilon {exactly(group.epsilon)}", repair(spread, problem)
    least = min(found, key=lambda name: cost_of(found[name][1], problem, objective))
    return {least: found[least]}


def _word(problem: ByGroups) -> str:
    return "majority" if problem.binary else "plurality"


def _for_most_votes(problem: AnyProblem, objective: Any, time_limit: float) -> Found:
    """The optimum for the objective "class with most votes", in place of the truth."""
    by_votes = rule(_word(problem), objective.confusion, objective.prior, none=1.0 if problem.none else None)
    table = solve(problem, objective=by_votes, time_limit=time_limit).table
    return {f"{_word(problem)} of all, optimal noise": ("", table)}


ALL_AS_THE_LEAST_PRIVATE = SolvedBaseline(
    "all as the least private", _all_as_the_least_private, "without groups", serves=_several
)
ONE_GROUP_ALONE = SolvedBaseline("one group alone", _one_group_alone, "the most private voters, say", serves=_several)
FOR_MOST_VOTES = SolvedBaseline(
    "majority or plurality of all, optimal noise",
    _for_most_votes,
    "without the accuracy of the voters",
    serves=lambda problem, objective: (
        isinstance(objective, OfVoters) and not (isinstance(objective, Rule) and objective.name == _word(problem))
    ),
)
