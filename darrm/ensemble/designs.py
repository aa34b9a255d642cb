"""The noise of an ensemble's labels, solved or planned for its parameters."""

from __future__ import annotations

import math
from functools import lru_cache

from darrm import objectives
from darrm._validation import check_positive, real, whole
from darrm.accounting.ladder import any_votes_sigma
from darrm.accounting.search import FALLBACK, Budget
from darrm.certificate.engines import engine
from darrm.certificate.scaling import repair
from darrm.design.design import Design
from darrm.design.solve import solve
from darrm.errors import InputError
from darrm.numerics.exact import rounded_up
from darrm.numerics.printed import at_least
from darrm.planning.designs import design_within, one_label
from darrm.planning.majority import plan
from darrm.planning.setting import Setting
from darrm.problem.groups import VoterGroup
from darrm.problem.majority import MajorityProblem
from darrm.problem.model import VoterModel
from darrm.problem.randomizers import RESPONSE

MAX_LOSS = 20.0  # nats that one label of fresh voters can lose

# Noise depends on no record, is searched for seconds to minutes, and is the same for all folds of a cross-validation.
_kept = lru_cache(maxsize=8)


def checked_base(base_accuracy: object, classes: int) -> float:
    """The accuracy of one classifier; `InputError` unless it is above that of a random guess."""
    hint = "Pass the accuracy of one classifier, e.g. 0.75: the noise is planned for it."
    return real("base_accuracy", base_accuracy, 1 / classes, 1, "(]", hint=hint)


@_kept
def fresh_majority(
    K: int,
    epsilon: float,
    overlap: int,
    adjacency: str,
    m: float | None,
    queries: int | None,
    total_epsilon: float,
    total_delta: float,
) -> Design:
    """The noise function for answers of two classes, by m or planned for a number of labels."""
    if queries is None:
        problem = MajorityProblem(K, _m(m, overlap), epsilon, max_affected=overlap, adjacency=adjacency)
        return solve(problem)
    return plan(
        K=K,
        epsilon=epsilon,
        queries=queries,
        total_epsilon=total_epsilon,
        total_delta=total_delta,
        voters="fresh",
        max_affected=overlap,
        adjacency=adjacency,
    )


@_kept
def fresh_plurality(
    K: int,
    epsilon: float,
    overlap: int,
    adjacency: str,
    m: float | None,
    queries: int | None,
    total_epsilon: float,
    total_delta: float,
    classes: int,
    base: float,
    colluders: int | None,
) -> Design:
    """The decision with the least error rate, if a classifier has the accuracy ``base``.

    With ``colluders`` the limits rest on the randomized response of all other voters; a plan, or one label by m, then
    has a second budget, `fallback_of`.
    """
    setting = _setting(K, epsilon, overlap, adjacency, classes, base, colluders)
    engine(setting.problem()).check_size(setting.problem())
    if queries is not None:
        fallback = fallback_of(colluders, total_epsilon)
        return design_within(setting, Budget(queries, total_epsilon, total_delta, "fresh", fallback=fallback))
    asked = MajorityProblem(K, _m(m, overlap), epsilon, max_affected=overlap, adjacency=adjacency)
    if asked.m >= overlap:  # the votes themselves cost no more
        problem = setting.problem()
        return Design(problem, repair(setting.majority(), problem), setting.objective)
    each = rounded_up(asked.exact_epsilon)
    return one_label(setting, Budget(1, each, 0.0, "fresh", fallback=fallback_of(colluders, each)))


@_kept
def teachers_decision(
    K: int, adjacency: str, queries: int, total_epsilon: float, total_delta: float, classes: int, base: float
) -> Design:
    """The decision for votes of non-private teachers, with ``queries`` labels within the budget.

    Noisy max with Gaussian or Laplace noise, permute-and-flip or an optimum, the one with the least planned error rate
    if a teacher has the accuracy ``base``.
    """
    setting = _setting(K, math.inf, 1, adjacency, classes, base)
    budget = Budget(queries, total_epsilon, total_delta, "fresh")
    try:
        return design_within(setting, budget)
    except InputError as error:
        noise = "gamma (without a ledger)"
        if total_delta:
            noise = f"sigma={at_least(any_votes_sigma(queries, total_epsilon, total_delta), 4)}"
        raise InputError(f"{error} Noisy max takes any number of votes: pass {noise} in place of queries.") from None


def checked_loss(epsilon: object, overlap: int) -> float:
    """The epsilon of one answer of fresh voters; `InputError` if one label can lose too much."""
    checked = check_positive("epsilon", epsilon)
    if not overlap * checked <= MAX_LOSS:
        raise InputError(
            f"overlap * epsilon, the largest epsilon of one label, must be at most {MAX_LOSS:g} for fresh voters. "
            f"Got {overlap * checked:g}. Lower epsilon."
        )
    return checked


def checked_colluders(colluders: object, K: int, overlap: int) -> int | None:
    """The number of voters that may not randomize as stated, None for any voters; `InputError` if too many."""
    if colluders is None:
        return None
    allowed = f"None, or an integer in [0, K - overlap] = [0, {K - overlap}]"
    hint = "Voters that collude have no guarantee: count all voters that see the labels and may try to learn."
    return whole("colluders", colluders, 0, K - overlap, allowed=allowed, hint=hint)


def fallback_of(colluders: int | None, epsilon: float) -> float:
    """The budget of labels if `OF_ANY_OTHERS`, as `darrm.plan` chooses it."""
    return math.inf if colluders is None else FALLBACK * epsilon


def _setting(
    K: int, epsilon: float, overlap: int, adjacency: str, classes: int, base: float, colluders: int | None = None
) -> Setting:
    accuracy = objectives.randomized_response_accuracy(base, epsilon, classes)
    goal = objectives.truth([accuracy])
    known = {} if colluders is None else {"randomizer": RESPONSE, "colluders": colluders}
    voters = VoterGroup(K, epsilon, max_affected=overlap, **known)  # type: ignore[arg-type]  # a str and an int
    some = VoterModel([voters], classes, overlap, adjacency)
    return Setting((voters,), overlap, adjacency, some.classes, goal.of(some), (base,))


def _m(m: float | None, overlap: int) -> float:
    return float(overlap) if m is None else m
