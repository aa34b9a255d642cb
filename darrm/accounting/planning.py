"""From a total budget: the design of a majority that makes the most of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np

from darrm._validation import check_count, check_total_delta, check_total_epsilon, check_voters, choice
from darrm.accounting.fixed import fixed_voters, labels_allowance
from darrm.accounting.gaussian import gdp, gdp_mu
from darrm.accounting.profile import privacy_profile
from darrm.accounting.search import Budget, Search, least_of, pays
from darrm.accounting.theorems import Privacy
from darrm.design.design import SHAPES, Design
from darrm.design.solve import solve
from darrm.errors import BudgetError, CertificateError, InputError
from darrm.numerics.printed import at_least, exactly
from darrm.objectives import Objective
from darrm.priors import Prior
from darrm.problem.decision import allowance
from darrm.problem.majority import MajorityProblem

_LEAST_MU, _MOST_MU = 1e-4, 12.0
_NOT_PRIVATE = 30.0  # nats; a vote that tells its record but for e^-30
_RESERVES = (0.0, 2e-3, 1e-2, 0.05)  # of the total epsilon, where one grid pays for less than another


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
        majority is returned: then noise at the labels gains nothing. If it does not, a noise function is planned whose
        coins hide the rest.
    prior, objective
        As in `darrm.solve`, but the objective is "disagreement" if not given. They must come from elsewhere than these
        votes or records.
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
    Fresh voters: searched is m, a real number, for each shape and for shape "free" under the profile of the monotone
    optimum (`under_profile`). For each m the delta of one release is the default, Delta itself, or an equal share of
    half the total. Searched too is mu, for shape "free" under the profile of mu-Gaussian DP (`gdp`),
    which is best for many labels; m of that design is what it realises.
    Fixed voters and several labels: the noise is designed for voters without privacy, under one pure epsilon and under
    the profile of mu-Gaussian DP. Theorem 1 of docs/theory.md counts what the voters' own privacy adds. Each try is a
    solve and a composition.

    Examples
    --------
    Five labels of three voters; one label in five is not the majority of its votes:

    >>> import darrm
    >>> budget = {"queries": 5, "total_epsilon": 2.0, "total_delta": 1e-5, "voters": "fresh"}
    >>> design = darrm.accounting.plan(K=3, epsilon=0.5, **budget)
    >>> round(design.disagreement, 2)
    0.21
    >>> darrm.accounting.compose(design, 5, delta=1e-5, voters="fresh").upper <= 2.0
    True
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
    K, [votes] = check_count("K", voting.K), voting.groups
    epsilon, Delta = votes.epsilon, votes.delta
    budget = Budget(queries, total_epsilon, total_delta, kind)
    share = total_delta / (2 * queries)
    # The m that simple composition allows, so that none below need be tried.
    plainly = min(float(K), math.nextafter(total_epsilon / (queries * epsilon), 0))

    def free(m: float, delta: float | None, form: str) -> Design:
        problem = MajorityProblem(K, m, epsilon, Delta, delta=delta, max_affected=max_affected, adjacency=adjacency)
        return solve(problem, prior=prior, shape=form, objective=objective)

    plain = free(float(K), None, "monotone")
    if budget.cost(plain) <= total_epsilon:
        return _as_it_is(plain)  # the budget pays for the plain majority
    if queries == 1:
        return free(plainly, total_delta, "free" if shape is None else shape)
    if kind == "fixed" and labels_allowance(voting, total_epsilon, total_delta) is None:
        return _as_it_is(plain)

    families = _for_fixed if kind == "fixed" else _for_fresh
    for reserve in _RESERVES:
        best = least_of(
            families(plain, free, replace(budget, epsilon=total_epsilon * (1 - reserve)), share, plainly, shape),
            replace(budget, epsilon=total_epsilon * (1 - reserve)),
            lambda design: design.disagreement,
        )
        if best is not None and pays(best, budget):
            return best
    voters_alone = f"Fixed voters cost ({at_least(fixed_voters(voting, total_delta))}, {exactly(total_delta)}) in all. "
    raise BudgetError(
        f"{voters_alone if kind == 'fixed' else ''}No noise function was found that keeps {queries} labels within "
        f"({total_epsilon:g}, {total_delta:g}). Raise the budget, ask fewer queries, or make the voters more private."
    )


Free = Callable[[float, float | None, str], Design]


def _for_fresh(
    plain: Design, free: Free, budget: Budget, share: float, plainly: float, shape: str | None
) -> list[Search[Design]]:
    """The families for fresh voters; ``plain`` says who votes."""
    problem, objective = plain.problem, plain.objective
    [votes] = problem.groups
    K, Delta = float(votes.count), votes.delta
    deltas: list[float | None] = [share] if Delta > 0 else [None] if share == 0 else [None, share]
    if Delta > 0 and budget.delta > 0:
        deltas = [None, Delta, share]
    made: list[Search[Design]] = []

    def family(make: Callable[[float], Design], guess: float, least: float, most: float) -> None:
        made.append(Search(make, guess, least, most))

    if shape is None and budget.delta > 0:
        mu = gdp_mu(budget.epsilon, budget.delta) / math.sqrt(budget.queries)

        def gaussian(mu: float) -> Design:
            design = solve(replace(problem, m=K), prior=plain.prior, objective=objective, profile=gdp(mu))
            return _as_it_is(design)

        family(gaussian, min(_MOST_MU, 1.25 * mu), _LEAST_MU, _MOST_MU)
    for delta in deltas:
        for form in SHAPES if shape is None else (shape,):
            family(lambda m, delta=delta, form=form: free(m, delta, form), 1.25 * plainly, plainly, K)  # type: ignore[misc]
        if shape is None and delta == deltas[0]:
            family(
                lambda m, delta=delta: under_profile(free(m, delta, "monotone"), objective),  # type: ignore[misc]
                1.25 * plainly,
                plainly,
                K,
            )
    return made


def _for_fixed(
    plain: Design, free: Free, budget: Budget, share: float, plainly: float, shape: str | None
) -> list[Search[Design]]:
    """The families for several labels of fixed voters whose own cost is above the budget."""
    problem, K = plain.problem, plain.problem.K
    allowed = labels_allowance(problem, budget.epsilon, budget.delta)
    if allowed is None:
        allowed = Privacy(budget.epsilon, budget.delta)
    # Noise for votes without privacy of their own, which is what the coins must hide; and for these votes.
    not_private = max(_NOT_PRIVATE, problem.groups[0].epsilon)
    silent = MajorityProblem(K, K, not_private, max_affected=problem.max_affected)

    def under(votes: MajorityProblem, profile: Sequence[tuple[float, float]]) -> Design:
        form = "free" if shape is None else shape
        made = solve(votes, prior=plain.prior, shape=form, objective=plain.objective, profile=profile)
        return _as_it_is(Design(problem, made.gamma, made.objective, made.shape))

    def under_gdp(mu: float, votes: MajorityProblem) -> Design:
        return under(votes, gdp(mu))

    each = allowed.epsilon / budget.queries
    most = min(2 * allowed.epsilon, not_private)
    made = [Search(lambda epsilon: under(silent, [(epsilon, 0.0)]), each * (1 - 1e-9), 0.8 * each, most)]
    if allowed.delta > 0:
        mu = min(gdp_mu(*allowed) / math.sqrt(budget.queries), _MOST_MU / 8)
        made += [
            Search(partial(under_gdp, votes=votes), 1.25 * mu, max(_LEAST_MU, 0.8 * mu), _MOST_MU)
            for votes in (silent, problem)
        ]
    return made


def under_profile(model: Design, objective: str | Objective | None = None, points: int = 24) -> Design:
    """The noise function of least error whose profile is nowhere, at ``points`` epsilons, above that of ``model``.

    The cost of many labels follows from the whole profile, not from one point of it. Under the profile of the monotone
    optimum the free one has nearly its own error at a lower total (benchmarks/paper/composition.py).

    Examples
    --------
    Many labels cost no more than those of the monotone optimum, and are nearer the majority:

    >>> import darrm
    >>> from darrm.accounting.planning import under_profile
    >>> monotone = darrm.solve(K=11, m=3, epsilon=0.3, shape="monotone")
    >>> free = under_profile(monotone)
    >>> free.error <= monotone.error
    True
    """
    problem = model.problem
    epsilons = [*np.linspace(0, 1.2 * problem.release_epsilon, points), math.inf]
    end = problem.max_affected * problem.groups[0].epsilon + 14  # where `solve` reads an infinite epsilon
    deltas = np.minimum.accumulate(privacy_profile(model.gamma, problem, [*epsilons[:-1], end]))  # but for rounding
    profile = [(e, float(d) * (1 + 1e-9)) for e, d in zip(epsilons, deltas, strict=True) if e or d]
    return solve(problem, prior=model.prior, objective=objective, profile=profile)


def _as_it_is(design: Design) -> Design:
    """The same noise function with the m that it realises, if that is less."""
    problem = design.problem
    # More than rounding, but for tiny ones.
    m = design.certificate.tight_epsilon / problem.groups[0].epsilon * (1 + 1e-12)
    if not 0 < m < allowance(problem):
        return design
    tighter = replace(problem, m=m, delta=problem.delta)
    with suppress(CertificateError):
        return Design(tighter, design.gamma, design.objective, design.shape, gap=design.gap, profile=design.profile)
    return design
