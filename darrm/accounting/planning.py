"""From a total budget: how many labels it pays for, and the design that makes the most of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from darrm._validation import check_count, check_total_delta, check_total_epsilon, check_voters, choice
from darrm.accounting.composition import compose
from darrm.accounting.fixed import fixed_voters, fixed_within, labels_allowance
from darrm.accounting.fresh import exact_guarantee, labels_within
from darrm.accounting.gaussian import gdp, gdp_mu
from darrm.accounting.profile import privacy_profile
from darrm.accounting.theorems import MOST_LABELS
from darrm.design.design import SHAPES, Design
from darrm.design.solve import solve
from darrm.errors import BudgetError, CertificateError, InputError
from darrm.priors import Prior
from darrm.problem.majority import MajorityProblem

_CLOSE = 1e-3  # how close m is driven to the largest that the budget pays for, relatively
_TOLERANCE = 1e-3
_LEAST_MU, _MOST_MU = 1e-4, 12.0
_NOT_PRIVATE = 30.0  # nats; a vote that tells its record but for e^-30
_RESERVES = (1.5e-3, 1e-2, 0.05)  # of the total epsilon


def max_queries(design: Design, total_epsilon: float, total_delta: float, *, voters: str | None = None) -> int:
    """How many labels of one design are (total_epsilon, total_delta)-DP together, with proof.

    Parameters
    ----------
    design : Design
    total_epsilon : float >= 0, nats
    total_delta : float in [0, 1)
    voters : {"fresh", "fixed"}
        No default; see `darrm.accounting.compose`.

    Returns
    -------
    int
        0 if not one; at most 1,000,000, which is also the answer if the budget pays for fixed voters themselves.

    Notes
    -----
    One run of the exact composition, stopped by the budget.
    """
    kind = check_voters(voters)
    total_epsilon, total_delta = check_total_epsilon(total_epsilon), check_total_delta(total_delta, "total_delta")
    if kind == "fixed":
        return fixed_within(design, total_epsilon, total_delta, MOST_LABELS)
    return labels_within(design, total_epsilon, total_delta, MOST_LABELS)


def plan(
    *,
    K: int,
    epsilon: float,
    queries: int,
    total_epsilon: float,
    total_delta: float,
    voters: str | None = None,
    Delta: float = 0.0,
    max_affected: int | None = None,
    adjacency: str = "replace-one",
    prior: Prior | str = "uniform",
    shape: str | None = None,
    objective: str | None = None,
) -> Design:
    """The design of least disagreement, among the families below, of which ``queries`` labels stay within a budget.

    Parameters
    ----------
    K, epsilon, Delta, max_affected, adjacency
        The voters; see `darrm.MajorityProblem`.
    queries : int
    total_epsilon : float > 0, nats
    total_delta : float in [0, 1)
    voters : {"fresh", "fixed"}
        No default; see `darrm.accounting.compose`. If the budget pays for fixed voters themselves, their plain
        majority is returned: then noise at the labels gains nothing. If it does not, the coins of the labels must hide
        the rest, and a noise function for that is planned.
    prior, objective
        As in `darrm.solve`, but the objective is "disagreement" if not given.
    shape : {"free", "monotone"}, optional
        If not given both are tried, and noise functions held to a whole profile.

    Returns
    -------
    Design
        `darrm.accounting.compose` of it, at ``total_delta``, is at most ``total_epsilon``: proved, never overshot.

    Raises
    ------
    InputError
    BudgetError
        If no noise function is within the budget.

    Notes
    -----
    One label: the least disagreement under (``total_epsilon``, ``total_delta``) itself, one solve.
    Fresh voters: searched are m, real, for each shape and for shape "free" under the profile of the
    monotone optimum (`under_profile`), and for each m a delta of one release out of the default, Delta itself, and an
    equal share of half the total. Searched too is mu, for shape "free" under the profile of mu-Gaussian DP (`gdp`),
    which is best for many labels; m of that design is what it realises.
    Fixed voters and several labels: the noise is designed for voters without privacy, under one pure epsilon and under
    the profile of mu-Gaussian DP; what the voters' own privacy adds is counted by Theorem 1 of docs/theory.md. Each try
    is a solve and a composition.
    """
    kind = check_voters(voters)
    queries = check_count("queries", queries)
    total_delta = check_total_delta(total_delta, "total_delta")
    total_epsilon = check_total_epsilon(total_epsilon)
    if total_epsilon == 0:
        raise InputError("total_epsilon must be above 0 to plan for. Got 0. Pass nats, e.g. 1.0.")
    if shape is not None:
        choice("shape", shape, SHAPES)
    objective = "disagreement" if objective is None else objective
    voting = MajorityProblem(
        K, 1, epsilon, Delta, max_affected=max_affected, adjacency=adjacency
    )  # refuses impossible voters
    K, epsilon, Delta = check_count("K", voting.K), voting.epsilon, voting.Delta
    share = total_delta / (2 * queries)
    # The m that simple composition allows, so that none below need be tried.
    plainly = min(float(K), math.nextafter(total_epsilon / (queries * epsilon), 0))

    def problem(m: float, delta: float | None) -> MajorityProblem:
        return MajorityProblem(K, m, epsilon, Delta, delta=delta, max_affected=max_affected, adjacency=adjacency)

    def cost(design: Design) -> float:
        try:
            return compose(design, queries, delta=total_delta, voters=kind, tolerance=_TOLERANCE).upper
        except InputError:
            return math.inf  # delta is below what is unavoidable

    def free(m: float, delta: float | None, form: str) -> Design:
        return solve(problem(m, delta), prior=prior, shape=form, objective=objective)

    def gaussian(mu: float) -> Design:
        return solve(problem(float(K), None), prior=prior, objective=objective, profile=gdp(mu))

    plain = free(float(K), None, "monotone")
    if cost(plain) <= total_epsilon:
        return plain  # the budget pays for the plain majority
    if queries == 1:
        return free(plainly, total_delta, "free" if shape is None else shape)
    if kind == "fixed":
        return _for_fixed(plain, queries, total_epsilon, total_delta, shape)
    families: dict[str, Callable[[float, float | None], Design]] = {
        form: lambda m, delta, form=form: free(m, delta, form)  # type: ignore[misc]
        for form in (SHAPES if shape is None else (shape,))
    }
    if shape is None:
        families["profile"] = lambda m, delta: under_profile(free(m, delta, "monotone"), objective)
    deltas: list[float | None] = [share] if Delta > 0 else [None] if share == 0 else [None, share]
    if Delta > 0 and total_delta > 0:
        deltas = [None, Delta, share]
    # The search asks quickly, `compose` confirms: where their grids differ by more than a reserve, with a larger one.
    for reserve in _RESERVES:

        def holds(design: Design, budget: float = total_epsilon * (1 - reserve)) -> bool:
            simply, failure = exact_guarantee(design.problem)
            if queries * simply <= Fraction(total_epsilon) and queries * failure <= Fraction(total_delta):
                return True
            return labels_within(design, budget, total_delta, queries, 12) >= queries

        candidates: list[tuple[Design, float | None]] = []
        for name, make in families.items():
            best_delta = min(candidates, key=_disagreement)[1] if candidates else None
            for delta in [best_delta] if name == "profile" and candidates else deltas:
                guesses = [1.25 * plainly, 3 * plainly]
                if candidates:
                    around = candidates[-1][0].problem.m
                    guesses = [around, around * 1.2, around / 1.2]
                best = _largest(lambda m, d=delta, of=make: of(m, d), holds, plainly, float(K), guesses)  # type: ignore[misc]
                if best is not None:
                    candidates.append((best, delta))
        if shape is None and total_delta > 0:
            mu = gdp_mu(total_epsilon, total_delta) / math.sqrt(queries)
            best = _largest(gaussian, holds, _LEAST_MU, _MOST_MU, [mu, 1.25 * mu, 1.6 * mu])
            if best is not None:
                candidates.append((_as_it_is(best), None))
        for design, _ in sorted(candidates, key=_disagreement):
            if cost(design) <= total_epsilon:
                return design
    raise BudgetError(
        f"No noise function was found that keeps {queries} labels within ({total_epsilon:g}, {total_delta:g}). Raise "
        "the budget, ask fewer queries, or make the voters more private."
    )


def _for_fixed(plain: Design, queries: int, total_epsilon: float, total_delta: float, shape: str | None) -> Design:
    """`plan` for several labels of fixed voters whose own cost is above the budget; ``plain`` says which voters."""
    problem, K = plain.problem, plain.problem.K
    allowed = labels_allowance(problem, total_epsilon, total_delta)
    if allowed is None:
        return plain
    shape = "free" if shape is None else shape
    # Noise for votes without privacy of their own, which is what the coins must hide; and for these votes.
    silent = MajorityProblem(K, K, max(_NOT_PRIVATE, problem.epsilon), max_affected=problem.max_affected)

    def under(votes: MajorityProblem, profile: Sequence[tuple[float, float]]) -> Design:
        made = solve(votes, prior=plain.prior, shape=shape, objective=plain.objective, profile=profile)
        return _as_it_is(Design(problem, made.gamma, made.prior, made.shape, made.objective))

    def under_gdp(votes: MajorityProblem, mu: float) -> Design:
        return under(votes, gdp(mu))

    each = allowed.epsilon / queries
    families: list[tuple[Callable[[float], Design], float, float]] = [
        (lambda epsilon: under(silent, [(epsilon, 0.0)]), each, min(2 * allowed.epsilon, silent.epsilon))
    ]
    if allowed.delta > 0:
        mu = min(gdp_mu(*allowed) / math.sqrt(queries), _MOST_MU / 8)
        families += [(partial(under_gdp, votes), max(_LEAST_MU, mu), _MOST_MU) for votes in (silent, problem)]
    for reserve in (0.0, *_RESERVES):

        def holds(made: Design, budget: float = total_epsilon * (1 - reserve)) -> bool:
            return fixed_within(made, budget, total_delta, queries, 12) >= queries

        candidates = [
            _largest(make, holds, 0.8 * guess, most, [guess * (1 - 1e-9), 1.25 * guess, 1.6 * guess])
            for make, guess, most in families
        ]
        best = min(filter(None, candidates), key=lambda design: design.disagreement, default=None)
        if best is not None and compose(best, queries, delta=total_delta, voters="fixed").upper <= total_epsilon:
            return best
    raise BudgetError(
        f"Fixed voters cost ({fixed_voters(problem, total_delta):.6g}, {total_delta:g}) in all, and no noise at the "
        f"labels was found that brings {queries} labels within ({total_epsilon:g}, {total_delta:g}). Raise the budget, "
        "ask fewer queries, or make the voters more private."
    )


def _disagreement(candidate: tuple[Design, float | None]) -> float:
    return candidate[0].disagreement


def under_profile(model: Design, objective: str | None = None, points: int = 24) -> Design:
    """The noise function of least error whose profile is nowhere, at ``points`` epsilons, above that of ``model``.

    Many labels cost what the whole profile costs, not one point of it: under the profile of the monotone optimum the
    free one has nearly its own error at a lower total (benchmarks/paper/composition.py).
    """
    problem = model.problem
    epsilons = [*np.linspace(0, 1.2 * problem.total_epsilon, points), math.inf]
    end = problem.max_affected * problem.epsilon + 14  # where `solve` reads an infinite epsilon
    deltas = np.minimum.accumulate(privacy_profile(model.gamma, problem, [*epsilons[:-1], end]))  # but for rounding
    profile = [(e, float(d) * (1 + 1e-9)) for e, d in zip(epsilons, deltas, strict=True) if e or d]
    return solve(problem, prior=model.prior, objective=objective, profile=profile)


def _as_it_is(design: Design) -> Design:
    """The same noise function with the m that it realises, if that is less."""
    problem = design.problem
    m = design.certificate.tight_epsilon / problem.epsilon * (1 + 1e-12)  # more than rounding, but for tiny ones
    if not 0 < m < problem.m:
        return design
    tighter = replace(problem, m=m, delta=problem.delta)
    with suppress(CertificateError):
        return Design(
            tighter, design.gamma, design.prior, design.shape, design.objective, gap=design.gap, profile=design.profile
        )
    return design


def _largest(
    make: Callable[[float], Design],
    holds: Callable[[Design], bool],
    least: float,
    most: float,
    guesses: Sequence[float],
) -> Design | None:
    """The design of the largest m, or mu, that holds, by bisection, after some guesses; None if ``least`` does not."""
    low, high, best = least, most, None
    for guess in guesses:
        if low < guess < high:
            tried = _tried(make, guess, holds)
            if tried is None:
                high = guess
            else:
                low, best = guess, tried
    if best is None:
        best = _tried(make, low, holds)
        if best is None:
            return None
    while high - low > _CLOSE * low:
        middle = (low + high) / 2
        tried = _tried(make, middle, holds)
        if tried is None:
            high = middle
        else:
            low, best = middle, tried
    return best


def _tried(make: Callable[[float], Design], m: float, holds: Callable[[Design], bool]) -> Design | None:
    try:
        design = make(m)
    except InputError:
        return None  # this m does not allow that delta
    return design if holds(design) else None
