"""One decision for each class between "this class" and "another", and a random class among those chosen."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from darrm._validation import MAX_EPSILON
from darrm.baselines.baseline import SolvedBaseline
from darrm.certificate.certificate import verify
from darrm.design.solve import solve
from darrm.errors import CertificateError, InputError
from darrm.numerics.arrays import Array
from darrm.objectives import OfVoters, truth
from darrm.problem.class_votes import all_votes, votes_up_to_names
from darrm.problem.decision import AnyProblem, DecisionProblem

_TRIES = 12  # of the epsilon of one class against the rest


def _solved(problem: AnyProblem, objective: Any, time_limit: float) -> dict[str, tuple[str, Array]]:
    """The release by one decision for each class between "this class" and "another", all with the same epsilon.

    It answers a random class among those whose decision is "this class", or none if there is no such class.

    The epsilon is the largest for which all of them together are certified; that of each kind of change in the ratio of
    the limits, where they have limits of their own.
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

    def table(share: float) -> Array:
        two = _two(problem, share)
        solved = [solve(two, objective=own, time_limit=time_limit).table for own in asked]
        chance = np.stack([solved[0 if alike else c][tuple(votes[:, :, c].T)] for c in range(C)], axis=1)
        nodes, weights = np.polynomial.legendre.leggauss(C)
        u = ((1 + nodes) / 2)[:, None, None]
        factors = 1 - chance + chance * u  # E[u^(how many others are chosen)] by class
        ones = np.array([np.delete(factors, c, axis=2).prod(axis=2) for c in range(C)])
        chosen = chance * np.einsum("k,ckr->rc", weights / 2, ones) + (1 - chance).prod(axis=1, keepdims=True) / C
        return _in_form(np.hstack([chosen, np.zeros((len(votes), int(problem.none)))]), problem)

    low, high, best = 1 / (4 * C), 1.5, None
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
    return {} if best is None else {BASELINE.name: ("", best)}


def _two(problem: AnyProblem, share: float) -> DecisionProblem:
    """The decision between one class and another, with that share of every epsilon and an equal part of delta."""
    C, kinds = problem.n_classes, problem.kinds.values()
    epsilons = [min(share * kind.release_epsilon, MAX_EPSILON) for kind in kinds]
    deltas = [kind.delta / C for kind in kinds]
    if len(kinds) == 1:
        return DecisionProblem(problem.groups, epsilons[0], deltas[0], 2, problem.max_affected)
    return DecisionProblem(problem.groups, epsilons, deltas, 2, problem.max_affected)


def _in_form(rows: Array, problem: AnyProblem) -> Array:
    rows = np.clip(rows, 0.0, 1.0)
    rows = rows / rows.sum(axis=1, keepdims=True)
    return (
        rows if len(rows) != math.prod(problem.table_shape) else rows.reshape(*problem.table_shape, problem.n_answers)
    )


BASELINE = SolvedBaseline(
    "one against the rest",
    _solved,
    "for several classes",
    serves=lambda problem, objective: not problem.binary and isinstance(objective, OfVoters),
)
