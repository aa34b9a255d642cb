"""A decision by groups of voters beside simpler ways to decide, all held to the same guarantee."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from darrm import baselines, objectives
from darrm.certificate.certificate import Certificate, verify
from darrm.certificate.scaling import repair
from darrm.design.costs import expected_cost
from darrm.design.design import Design
from darrm.design.rules import best_rule, cost_of, most_voted
from darrm.design.solve_decision import solve_decision
from darrm.measures.class_comparison import ways_to_decide
from darrm.numerics.arrays import Array
from darrm.objectives import Objective, OfVoters, rule
from darrm.problem.decision import DecisionProblem
from darrm.problem.groups import VoterGroup
from darrm.problem.noise_function import acceptance

# What meets the guarantee exactly in theory misses it by rounding; this much is mixed with a coin, and no more.
_ROUNDING = 1e-9
_SAME = 1e-9  # expected costs this close are those of one optimum


@dataclass(frozen=True, eq=False)
class DecisionEntry:
    """One way to decide.

    Attributes
    ----------
    name : str
    table : ndarray
        As that of a `Design`.
    certificate : Certificate
        ``holds`` says whether it satisfies the guarantee of the problem.
    expected_cost : float
        Under the objective of the comparison.
    """

    name: str
    table: Array
    certificate: Certificate
    expected_cost: float


def compare_decision(
    problem: DecisionProblem,
    objective: Objective,
    *,
    best: Design | None = None,
    time_limit: float = math.inf,
) -> list[DecisionEntry]:
    """The optimum beside what people do without it; see `darrm.measures.comparison.compare`.

    ``best`` is the optimum where it is there already: the design of this problem and objective, not ordered.
    """
    if best is None:
        best = solve_decision(problem, objective, time_limit=time_limit)
    if not problem.binary:
        tables = {"optimum": best.table, **ways_to_decide(problem, objective, time_limit)}
        return [
            DecisionEntry(name, table, verify(table, problem), cost_of(table, problem, objective))
            for name, table in tables.items()
        ]
    costs = objective.costs(problem)
    tables = {"optimum": best.table}
    if len(problem.groups) > 1:
        tables["all as the least private"] = _all_as_the_least_private(problem, costs, time_limit)
        tables |= _one_group_alone(problem, costs, time_limit)
    if isinstance(objective, OfVoters):
        majority = rule("majority", objective.confusion, objective.prior)
        tables["majority of all, optimal noise"] = solve_decision(problem, majority, time_limit=time_limit).table
    tables["best rule, constant noise"] = repair(best_rule(problem, objective), problem)
    tables |= _subsampled(problem)
    guesses = costs.reshape(-1, 2).sum(axis=0)
    if not math.isclose(*guesses, rel_tol=1e-12):
        answer = int(np.argmin(guesses))
        tables[f"always {problem.names[answer]}, no votes"] = np.full(problem.table_shape, float(answer))
    tables["plain majority, no noise"] = most_voted(problem)
    tables["best rule, no noise"] = best_rule(problem, objective)
    return [
        DecisionEntry(name, table, verify(table, problem), expected_cost(costs, table))
        for name, table in tables.items()
    ]


def beside_others(design: Design, *, time_limit: float = math.inf) -> list[DecisionEntry]:
    """A design, called "this design", beside all that `compare_decision` has; not twice if it is the optimum itself."""
    best = design if _is_plain_optimum(design) else None
    others = compare_decision(design.problem, design.objective, best=best, time_limit=time_limit)
    same = abs(others[0].expected_cost - design.expected_cost) <= _SAME
    name = "this design" + " (optimum)" * same
    if design.profile:
        others[0] = replace(others[0], name="optimum without the profile")
    return [DecisionEntry(name, design.table, design.certificate, design.expected_cost), *others[same:]]


def _is_plain_optimum(design: Design) -> bool:
    """Whether nothing but the guarantee binds a design that was solved to the end."""
    return not (design.ordered or design.profile or design.absent) and design.gap <= _SAME


def _all_as_the_least_private(problem: DecisionProblem, costs: Array, time_limit: float) -> Array:
    """The best table that looks at the number of all ones, held to the guarantee as if all had the largest epsilon."""
    epsilon = max(group.epsilon for group in problem.groups)
    delta = max(group.delta for group in problem.groups)
    everybody = VoterGroup(problem.K, epsilon, delta)
    pooled = DecisionProblem([everybody], problem.release_epsilon, problem.delta, max_affected=problem.max_affected)
    ones = np.indices(problem.table_shape).sum(axis=0)
    own = np.stack([np.bincount(ones.ravel(), costs[..., answer].ravel()) for answer in (0, 1)], axis=-1)
    return np.asarray(solve_decision(pooled, objectives.costs(own), time_limit=time_limit).table[ones])


def _one_group_alone(problem: DecisionProblem, costs: Array, time_limit: float) -> dict[str, Array]:
    """The best table of each group's votes alone, for the group that does best."""
    tables: dict[str, Array] = {}
    for g, group in enumerate(problem.groups):
        present = [own.count if i == g else 0 for i, own in enumerate(problem.groups)]
        others = tuple(axis for axis in range(len(problem.groups)) if axis != g)
        own = objectives.costs(costs.sum(axis=others))
        table = solve_decision(problem.with_present(present), own, time_limit=time_limit).table
        along = table.reshape([-1 if i == g else 1 for i in range(len(problem.groups))])
        name = f"group {g + 1} alone ({group.count} of epsilon {group.epsilon:g})"
        tables[name] = repair(np.broadcast_to(along, problem.table_shape), problem)
    least = min(tables, key=lambda name: expected_cost(costs, tables[name]))
    return {least: tables[least]}


def _subsampled(problem: DecisionProblem) -> dict[str, Array]:
    """The majority of as many random votes as stay within the guarantee; of one group, where one vote does."""
    found: dict[str, Array] = {}
    low, high = 0, (problem.K + 1) // 2  # of m votes, m = 2 n - 1: an even number is as good as one less
    while len(problem.groups) == 1 and low < high:
        n = (low + high + 1) // 2
        table = acceptance(baselines.subsampling(problem.K, 2 * n - 1))
        scaled = repair(table, problem)
        if np.allclose(scaled, table, rtol=0, atol=_ROUNDING):
            low, found = n, {f"subsampling ({2 * n - 1})": scaled}
        else:
            high = n - 1
    return found
