"""The choice of the release for the parameters of an ensemble, within its budget."""

from __future__ import annotations

import math
from typing import Any

from darrm._validation import MAX_SIZE, check_count, check_total_delta, check_total_epsilon, whole
from darrm.design.design import Design
from darrm.ensemble.designs import (
    checked_base,
    checked_colluders,
    checked_loss,
    fallback_of,
    fresh_majority,
    fresh_plurality,
    teachers_decision,
)
from darrm.ensemble.fixed_voters import declared, fixed_privacy, privacy_of
from darrm.ensemble.kinds import warn_if_idle
from darrm.ensemble.noisy_max import NoisyMax
from darrm.ensemble.releases import DesignedLabels, PlainMajority, budget_of
from darrm.errors import BudgetError
from darrm.numerics.printed import at_least, exactly
from darrm.problem.decision import allowance
from darrm.problem.majority import MajorityProblem


def noisy_labels(ensemble: Any, kind: str, K: int, overlap: int, classes: int) -> DesignedLabels | NoisyMax:
    """The release for fresh voters or non-private teachers; `BudgetError` if the budget covers no label."""
    totals = check_total_epsilon(ensemble.total_epsilon), check_total_delta(ensemble.total_delta, "total_delta")
    base = checked_base(ensemble.base_accuracy, classes)
    queries = None if ensemble.queries is None else check_count("queries", ensemble.queries)
    copies = whole("copies", ensemble.copies, 1, MAX_SIZE)
    epsilon: float | None = None
    fallback = math.inf
    design: Design
    if kind == "fresh":
        epsilon = checked_loss(ensemble.epsilon, overlap)
        m = None
        if queries is None:
            given = overlap if ensemble.m is None else ensemble.m
            problem = MajorityProblem(K, given, epsilon, max_affected=overlap, adjacency=ensemble.adjacency)
            warn_if_idle(problem)
            m = allowance(problem)
        asked = (K, epsilon, overlap, ensemble.adjacency, m, queries, *totals)
        colluders = checked_colluders(ensemble.colluders, K, overlap)
        fallback = fallback_of(colluders, totals[0])
        any_two = classes == 2 and colluders is None
        design = fresh_majority(*asked) if any_two else fresh_plurality(*asked, classes, base, colluders)
    elif queries is None:
        noise, ledger = (ensemble.gamma, ensemble.sigma), (ensemble.ledger, ensemble.ledger_create)
        return NoisyMax(*noise, *totals, ensemble.adjacency, K, classes, copies, *ledger)
    else:
        design = teachers_decision(K, ensemble.adjacency, queries, *totals, classes, base)
    path, create = ensemble.ledger, ensemble.ledger_create
    budget = budget_of(design, *totals, path, create=create, copies=copies, fallback=fallback)
    return DesignedLabels(design, budget, *totals, epsilon, copies)


def fixed_labels(ensemble: Any, models: list[Any], overlap: int) -> PlainMajority:
    """The plain majority of fixed private voters; `BudgetError` if their cost exceeds the budget."""
    voters = privacy_of(models, ensemble.adjacency, ensemble.epsilon, ensemble.Delta)
    total_delta = None if ensemble.total_delta is None else check_total_delta(ensemble.total_delta, "total_delta")
    assumption = declared(models, ensemble.epsilon, ensemble.Delta)
    privacy = fixed_privacy(voters, overlap, ensemble.adjacency, total_delta, assumption)
    if ensemble.total_epsilon is not None and not privacy.epsilon <= check_total_epsilon(ensemble.total_epsilon):
        overlapping = ", lower overlap" * (overlap > 1)
        raise BudgetError(
            f"Fixed voters cost ({at_least(privacy.epsilon)}, {at_least(privacy.delta)}) in all, above total_epsilon = "
            f"{exactly(ensemble.total_epsilon)}. Raise it, make the voters more private{overlapping}, or plan output "
            'noise: darrm.plan(..., voters="fixed").'
        )
    return PlainMajority(privacy)
