"""Simpler ways to decide between several classes, each with as little noise as the guarantee of a problem allows."""

from __future__ import annotations

import math

import numpy as np

from darrm import objectives
from darrm.certificate.certificate import verify
from darrm.certificate.scaling import repair
from darrm.constraints.classes import check_variables
from darrm.design.costs import expected_cost
from darrm.design.rules import best_rule, most_voted, of_all_votes
from darrm.design.solve_decision import solve_decision
from darrm.errors import CertificateError, InputError
from darrm.mechanisms.class_rivals import ClassFamily, noisy_counts, subsampled_plurality
from darrm.numerics.arrays import Array
from darrm.objectives import Objective, OfVoters, Rule, rule, truth
from darrm.problem.class_votes import all_votes, class_probabilities, votes_up_to_names
from darrm.problem.counts import count_vectors, places
from darrm.problem.decision import DecisionProblem
from darrm.problem.groups import VoterGroup

_ROUNDING = 1e-9  # what meets the guarantee exactly in theory misses it by rounding
_CLOSE = 1e-6  # relative, of the parameters of mechanisms
_TRIES = 12  # of the epsilon of one class against the rest


def ways_to_decide(problem: DecisionProblem, objective: Objective, time_limit: float) -> dict[str, Array]:
    """Tables by name, without the optimum; all but the last two keep the guarantee."""
    objective = objective.of(problem)
    tables: dict[str, Array] = {}
    if len(problem.groups) > 1:
        tables["all as the least private"] = _all_as_the_least_private(problem, objective, time_limit)
        tables |= _one_group_alone(problem, objective, time_limit)
    if isinstance(objective, OfVoters) and not (isinstance(objective, Rule) and objective.name == "plurality"):
        by_votes = rule("plurality", objective.confusion, objective.prior, none=1.0 if problem.none else None)
        tables["plurality of all, optimal noise"] = solve_decision(problem, by_votes, time_limit=time_limit).table
    best = best_rule(problem, objective)
    tables["best rule, constant noise"] = repair(best, problem)
    tables |= _subsampled(problem)
    for family in noisy_counts(problem):
        found = least_noise(family, problem)
        if found is not None:
            tables[f"{family.name} ({family.said(found[0])})"] = found[1]
    if isinstance(objective, OfVoters):
        tables |= _one_against_the_rest(problem, objective, time_limit)
    tables["plain plurality, no noise"] = most_voted(problem)
    tables["best rule, no noise"] = best
    return tables


def least_noise(family: ClassFamily, problem: DecisionProblem) -> tuple[float, Array] | None:
    """The largest parameter that is certified, and its table; None if the least is not."""
    low, high, best = family.least, family.most, None
    while high > low * (1 + _CLOSE):
        middle = math.sqrt(low * high)
        table = family.table(middle)
        if verify(table, problem).holds:
            low, best = middle, (middle, table)
        else:
            high = middle
    return best


def _all_as_the_least_private(problem: DecisionProblem, objective: Objective, time_limit: float) -> Array:
    """The best table of the votes of all groups together, as if all had the largest epsilon."""
    epsilon, delta = (max(getattr(group, name) for group in problem.groups) for name in ("epsilon", "delta"))
    pooled = DecisionProblem(
        [VoterGroup(problem.K, epsilon, delta)],
        problem.release_epsilon,
        problem.delta,
        problem.classes,
        problem.max_affected,
        none=problem.none,
    )
    check_variables(pooled, alike=False)
    together = all_votes(problem).sum(axis=1, keepdims=True)
    costs = np.zeros((len(count_vectors(problem.K, problem.n_classes)), problem.n_answers))
    np.add.at(costs, places(together[:, 0]), objective.costs_at(problem, all_votes(problem)))
    table = solve_decision(pooled, objectives.costs(costs), time_limit=time_limit).table
    return class_probabilities(table, pooled, together).reshape(*problem.table_shape, problem.n_answers)


def _one_group_alone(problem: DecisionProblem, objective: Objective, time_limit: float) -> dict[str, Array]:
    """The best table of each group's votes alone, for the group that does best."""
    tables: dict[str, Array] = {}
    costs = objective.costs(problem)
    for g, group in enumerate(problem.groups):
        alone = problem.with_present([own.count if i == g else 0 for i, own in enumerate(problem.groups)])
        others = tuple(axis for axis in range(len(problem.groups)) if axis != g)
        own = objectives.costs(costs.sum(axis=others))
        table = solve_decision(alone, own, time_limit=time_limit).table
        spread = class_probabilities(table, alone, all_votes(problem)[:, g : g + 1])
        name = f"group {g + 1} alone ({group.count} of epsilon {group.epsilon:g})"
        tables[name] = repair(spread.reshape(*problem.table_shape, problem.n_answers), problem)
    least = min(tables, key=lambda name: expected_cost(costs, tables[name]))
    return {least: tables[least]}


def _subsampled(problem: DecisionProblem) -> dict[str, Array]:
    """The plurality of as many random votes as stay within the guarantee; of one group, where one vote does."""
    found: dict[str, Array] = {}
    for m in range(1, problem.K + 1) if len(problem.groups) == 1 else ():
        table = of_all_votes(subsampled_plurality(problem.K, problem.n_classes, m), problem)
        try:
            scaled = repair(table, problem)
        except CertificateError:
            break
        if not np.allclose(scaled, table, rtol=0, atol=_ROUNDING):
            break
        found = {f"subsampling ({m})": scaled}
    return found


def _one_against_the_rest(problem: DecisionProblem, objective: OfVoters, time_limit: float) -> dict[str, Array]:
    """For each class the best decision of two answers, "this class" or "another", of one epsilon; then a class of which
    it is the first, at random if there are several, or none.

    The epsilon is as large as the certificate of all of them together allows.
    """
    C, conf, prior = problem.n_classes, np.array(objective.confusion, dtype=np.float64), np.array(objective.prior)
    alike = objective.symmetric(problem)
    votes = votes_up_to_names(problem) if alike and len(problem.groups) == 1 else all_votes(problem)
    asked = []
    for c in range(1 if alike else C):
        other = np.delete(np.arange(C), c)
        rest = prior[other] / prior[other].sum() if prior[other].sum() else np.full(C - 1, 1 / (C - 1))
        right, wrong = conf[:, c, c], conf[:, other, c] @ rest
        accuracy = [[[1 - w, w], [1 - r, r]] for r, w in zip(right.tolist(), wrong.tolist(), strict=True)]
        asked.append(truth(accuracy, [1 - prior[c], prior[c]]))

    def table(epsilon: float) -> Array:
        two = DecisionProblem(problem.groups, epsilon, problem.delta / C, 2, problem.max_affected)
        solved = [solve_decision(two, own, time_limit=time_limit).table for own in asked]
        chance = np.stack([solved[0 if alike else c][tuple(votes[:, :, c].T)] for c in range(C)], axis=1)
        nodes, weights = np.polynomial.legendre.leggauss(C)
        u = ((1 + nodes) / 2)[:, None, None]
        factors = 1 - chance + chance * u  # E[u^(how many others are chosen)] by class
        ones = np.array([np.delete(factors, c, axis=2).prod(axis=2) for c in range(C)])
        chosen = chance * np.einsum("k,ckr->rc", weights / 2, ones) + (1 - chance).prod(axis=1, keepdims=True) / C
        return _in_form(np.hstack([chosen, np.zeros((len(votes), int(problem.none)))]), problem)

    low, high, best = problem.release_epsilon / (4 * C), min(problem.release_epsilon * 1.5, 1e6), None
    for _ in range(_TRIES):
        middle = math.sqrt(low * high)
        try:
            made = table(middle)
            holds = verify(made, problem).holds
        except (CertificateError, InputError):  # more than these voters can lose
            holds = False
        if holds:
            low, best = middle, made
        else:
            high = middle
    return {} if best is None else {"one against the rest": best}


def _in_form(rows: Array, problem: DecisionProblem) -> Array:
    rows = np.clip(rows, 0.0, 1.0)
    rows = rows / rows.sum(axis=1, keepdims=True)
    return (
        rows if len(rows) != math.prod(problem.table_shape) else rows.reshape(*problem.table_shape, problem.n_answers)
    )
