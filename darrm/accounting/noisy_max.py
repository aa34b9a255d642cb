"""The cumulative privacy loss of many labels of noisy max or permute-and-flip, for non-private voters."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import MAX_CLASSES, check_count, check_total_epsilon, names_missing, real, whole
from darrm.accounting.bounded_range import MOST as MOST_RANGED
from darrm.accounting.bounded_range import rows_of_range
from darrm.accounting.curves import Curve
from darrm.accounting.fresh import Total, within
from darrm.accounting.gaussian import gdp_epsilon
from darrm.accounting.ladder import Checks, any_votes_epsilon, any_votes_queries, any_votes_sigma
from darrm.accounting.many_answers import by_one_set, of_rows, upper_of_rows
from darrm.accounting.mixed import curve_of, gaussian_curve, noisy_curve
from darrm.accounting.pate import gnmax_sigma, rdp_epsilon
from darrm.accounting.rows import OutcomeRows
from darrm.accounting.theorems import optimal
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.numerics.bisection import largest_that
from darrm.numerics.exact import rounded_up
from darrm.problem.counts import largest_total, more_sorted_counts, sorted_counts


class Chances(Protocol):
    """Pr[label | counts] between (1 -+ rho) values, and ``cut`` more for all labels together."""

    @property
    def values(self) -> Array: ...
    @property
    def rho(self) -> float: ...
    @property
    def cut(self) -> float: ...


@runtime_checkable
class CountMechanism(Protocol):
    """Noisy max: `GaussianNoisyMax`, `ConfidentNoisyMax`, `LaplaceNoisyMax`, `PermuteAndFlip`, `ExponentialMechanism`.

    Besides its probabilities it may have ``epsilon``, of one label, and ``bounded_range``, the length of an interval
    that holds all privacy losses of one label, for one changed vote and either order. Or ``sigma``, the standard
    deviation of independent continuous Gaussian noise at each count, and of no other noise, discrete Gaussian noise
    included; both hold for any number of votes and classes. Without either, costs come from the probabilities alone. It
    may have ``K`` and ``classes``, both or neither, if it refuses other votes. With ``sigma`` it may have
    ``sigma_check``, of the noise of a check of the largest count before each label, and then must have ``answers``, the
    most labels that it gives or None, and ``threshold``.
    """

    def _chances(self, votes: NDArray[np.int64]) -> Chances: ...

    def chances(self, counts: ArrayLike) -> Array: ...


_MOST_ROWS = 200_000
_TRIES = 24
_LEAST_SPENT = 0.995  # of a budget
_AIM = 0.998
_ORDERS = np.geomspace(1 / 30, 30, 400)  # orders of Renyi divergences, besides the one near which the bound is least
_MOST_EXACT = 5000  # labels by the bounds without a grid, up to which they are counted exactly
_RENYI = "Renyi DP"
GAUSSIAN = "Gaussian DP"
LADDER = "ladder of Gaussian profiles"
RANGE = "bounded range"


def _most_votes(classes: int) -> int:
    """The most sorted votes of K - 1 voters, of which each has a row for two classes."""
    return _MOST_ROWS // (classes * (classes - 1) // 2)


def has_exact_total(K: int, classes: int, affected: int = 1) -> bool:
    """Whether votes can be listed; the totals of others hold for any number of votes and classes."""
    return affected == 1 and not more_sorted_counts(K - 1, classes, _most_votes(classes))


def rows_of(mechanism: CountMechanism, K: int, classes: int) -> OutcomeRows:
    """The probabilities of all labels for all neighbouring votes of K voters, up to a renaming of the classes.

    K - 1 sorted votes z are the same on both; the last vote is for class c on D and for class d on D'. Classes with
    equal counts in z are alike, so one or two of each count are enough.
    """
    if not has_exact_total(K, classes):
        most = _most_votes(classes)
        fits = f"At most {largest_total(classes, most) + 1} voters fit {classes} classes." if most else "Take fewer."
        raise InputError(
            f"{K} voters and {classes} classes have more than {_MOST_ROWS:,} pairs of neighbouring votes, too many to "
            f"list for an exact total. {fits}"
        )
    known = np.array(sorted_counts(K - 1, classes))
    found = [mechanism._chances(known + np.eye(classes, dtype=np.int64)[c]) for c in range(classes)]
    P, Q = [], []
    for c in range(classes):
        for d in range(c + 1, classes):
            # The first of the classes with equal counts, and for d the one after c.
            first_c = np.ones(len(known), dtype=np.bool_) if c == 0 else known[:, c] < known[:, c - 1]
            first_d = (known[:, d] < known[:, d - 1]) | (d == c + 1)
            here = first_c & first_d
            P.append(found[c].values[here])
            Q.append(found[d].values[here])
    rho, cut = max(one.rho for one in found), max(one.cut for one in found)
    return OutcomeRows(np.concatenate(P), np.concatenate(Q), rho, cut)


def of_votes(mechanism: CountMechanism, K: object, classes: object) -> tuple[int, int] | None:
    """The numbers of votes and classes of a total: the given ones, or those of the mechanism; None for any numbers."""
    own: tuple[int | None, int | None] = getattr(mechanism, "K", None), getattr(mechanism, "classes", None)
    asked = tuple(mine if it is None else it for it, mine in zip((K, classes), own, strict=True))
    if all(it is None for it in asked):
        return None
    hint = "Pass both, for an exact total of that many votes and classes, or neither, for a total of any votes."
    votes = whole("K", asked[0], hint=hint), whole("classes", asked[1], 2, hint=hint)
    if any(mine is not None and mine != it for it, mine in zip(votes, own, strict=True)):
        raise InputError(
            f"This {type(mechanism).__name__} releases {own[0]} votes for {own[1]} classes, and its total holds for "
            f"these only. Got K = {votes[0]}, classes = {votes[1]}. Leave them out, or make a mechanism that has these."
        )
    return votes


def refuse_voters(mechanism: CountMechanism, voters: str | None) -> None:
    """`InputError` for a word on voters, of which labels with output noise alone do not depend."""
    if voters is not None:
        raise InputError(
            f"voters does not apply to {type(mechanism).__name__}, which is for non-private voters: fresh or fixed, "
            "its labels cost the same. Leave it out."
        )


def of_labels(
    mechanism: CountMechanism, K: int, classes: int, queries: int, delta: float, tolerance: float = 1e-3
) -> Total:
    """`darrm.accounting.compose` for noisy max and permute-and-flip; for any votes where there are too many to list."""
    plain = of_counts(mechanism, queries, delta)
    rows = _listed(mechanism, (K, classes), plain)
    if rows is None and classes > MAX_CLASSES:  # no lower bound of their own, because it would take hours
        return of_any_votes(mechanism, queries, delta)
    if rows is None:
        return replace(of_any_votes(mechanism, queries, delta, (K, classes)), K=K, classes=classes)
    others = {name: bound for name, bound in plain.items() if name in (_RENYI, GAUSSIAN)}
    asked = _asked(mechanism, queries)
    if asked < queries:  # the recursion over rows knows no cap on labels, and what it attains may be above it
        others = _of_any_votes(mechanism, queries, delta)
    total = of_rows(rows, queries, delta, tolerance, _guaranteed(mechanism, rows), others, (), asked == queries)
    if asked < queries:
        lower = min(by_one_set(rows, asked, delta), total.upper)
        total = replace(total, lower=lower, estimate=(lower + total.upper) / 2)
    return replace(total, K=K, classes=classes)


def _listed(mechanism: CountMechanism, votes: tuple[int, int] | None, plain: Mapping[str, float]) -> OutcomeRows | None:
    """`rows_of`; None for any votes, and where they cannot be listed but there are bounds for any votes."""
    if votes is None or _affected(mechanism) > 1:
        return None
    try:
        return rows_of(mechanism, *votes)
    except InputError:  # too many votes, or too wide a noise
        if not plain:
            raise
        return None


def of_any_votes(mechanism: CountMechanism, queries: int, delta: float, votes: tuple[int, int] | None = None) -> Total:
    """The total for any number of votes and classes, by the stated sigma or epsilon of one label.

    ``lower`` is attained by votes of these K and classes, or of some, that are divided between two classes.
    """
    bounds = _of_any_votes(mechanism, queries, delta)
    upper = min(bounds.values())
    moved = _affected(mechanism)
    K, classes = votes or (moved, 2)
    checks = checks_of(mechanism, queries)
    if checks is not None and votes is None:  # so many that all checks but few allow a label
        K = 2 * math.ceil(min(max(checks.threshold, 0.0) + 40 * checks.sigma, 1e12)) + 1
    sides = np.zeros((2, classes), dtype=np.int64)
    ahead = min(K, (K + moved) // 2)  # on D, and behind by as much on D'
    sides[:, :2] = ahead, K - ahead
    sides[1] += [-min(moved, ahead), min(moved, ahead)] + [0] * (classes - 2)
    P, Q = (mechanism._chances(each[None]) for each in sides)
    row = OutcomeRows(P.values, Q.values, max(P.rho, Q.rho), max(P.cut, Q.cut))
    lower = min(upper, by_one_set(row, _asked(mechanism, queries), delta))
    return Total(lower, (lower + upper) / 2, upper, delta, queries, "not private", bounds, 0.0)


def _guaranteed(mechanism: CountMechanism, rows: OutcomeRows) -> tuple[Fraction, Fraction] | None:
    """The stated (epsilon, 0) of one label, exactly, if any; `InputError` if the probabilities contradict it."""
    epsilon: float | None = getattr(mechanism, "epsilon", None)
    if epsilon is None:
        return None
    attained = rows.least_loss
    if attained > epsilon * (1 + 1e-9):
        raise InputError(
            f"epsilon of {type(mechanism).__name__} must be at least {attained:.6g} here: neighbouring votes have "
            f"probabilities that differ by as much. It states {epsilon:g}. Correct it for every number of classes, or "
            "leave "
            "it out."
        )
    return Fraction(epsilon), Fraction(0)


def _of_any_votes(mechanism: object, queries: int, delta: float) -> dict[str, float]:
    """`of_counts`, and the bound of the labels themselves for Gaussian noise; `InputError` if there is none."""
    bounds = of_counts(mechanism, queries, delta)
    sigma: float | None = getattr(mechanism, "sigma", None)
    if not bounds and sigma is not None:
        raise InputError(f"delta must be above 0 for Gaussian noise. Got {delta:g}. Pass for instance 1e-5.")
    if not bounds:
        raise InputError(
            f"{type(mechanism).__name__} states neither sigma nor epsilon, so there is no total for any votes. Pass K "
            "and classes."
        )
    affected, checks = _affected(mechanism), checks_of(mechanism, queries)
    climbed = math.inf if sigma is None else any_votes_epsilon(sigma, queries, delta, checks, affected)
    ranged = _by_range(mechanism, queries, delta)
    return bounds | {name: bound for name, bound in ((LADDER, climbed), (RANGE, ranged)) if math.isfinite(bound)}


def labels_curve(mechanism: Any, n: int, delta: float) -> Curve:
    """The privacy curve of ``n`` labels, sharp near ``delta``: exact for the votes that it is held to, or of any votes.

    The votes that it is held to are listed if they are few. With checks it is that of the noisy counts.
    """
    sigma: float | None = mechanism.sigma if hasattr(mechanism, "sigma") else None
    epsilon: float | None = getattr(mechanism, "epsilon", None)
    span: float | None = getattr(mechanism, "bounded_range", None)
    votes, capped = of_votes(mechanism, None, None), _asked(mechanism, n) < n
    rows = None if capped else _listed(mechanism, votes, of_counts(mechanism, n, 0.5))
    if rows is None and span is not None:
        rows = rows_of_range(span, n)
    if rows is not None:
        return curve_of(rows, n, delta)
    if sigma is not None and not hasattr(mechanism, "sigma_check"):
        return noisy_curve(sigma, n, delta, _affected(mechanism))
    if sigma is not None:
        return gaussian_curve(math.sqrt(2 * n) / (_sigma(mechanism, n) or sigma) * (1 + 1e-15), 0.0, delta)
    if epsilon is None:
        raise InputError(
            f"{type(mechanism).__name__} states neither sigma nor epsilon, so there is no curve for any votes. Make it "
            "with K and classes."
        )
    return Curve.of_guarantees(epsilon, 0.0, n)


def _by_range(mechanism: object, queries: int, delta: float) -> float:
    """The total of labels of any votes by their bounded range; infinite without one."""
    span: float | None = getattr(mechanism, "bounded_range", None)
    rows = None if span is None else rows_of_range(span, queries)
    return math.inf if rows is None else upper_of_rows(rows, queries, delta)


def upper_of_any_votes(mechanism: object, queries: int, delta: float) -> float:
    """The total epsilon for any number of votes and classes, of whatever has a ``sigma`` or an ``epsilon``."""
    return min(_of_any_votes(mechanism, queries, delta).values())


def _affected(mechanism: Any) -> int:
    """How many votes one record can change; one unless the mechanism says another number."""
    affected: int = getattr(mechanism, "max_affected", 1)
    return affected


def checks_of(mechanism: Any, queries: int) -> Checks | None:
    """Those before labels, if any."""
    sigma: float | None = getattr(mechanism, "sigma_check", None)
    if sigma is None:
        return None
    threshold: float = mechanism.threshold
    answers: int | None = mechanism.answers
    return Checks(threshold, sigma, queries if answers is None else min(queries, answers))


def _asked(mechanism: CountMechanism, queries: int) -> int:
    """The number of queries that may all have a label."""
    checks = checks_of(mechanism, queries)
    return queries if checks is None else checks.answers


class Allowed(NamedTuple):
    """A number of labels within a total, and what counts them: "exact" or the name of a bound for any votes."""

    queries: int
    by: str


def queries_within(
    mechanism: Any, epsilon: float, delta: float, most: int, votes: tuple[int, int] | None = None
) -> Allowed:
    """The certified number of labels, at most ``most``, of K votes for that many classes, or of any votes."""

    def by_counts(n: int) -> bool:
        return min(of_counts(mechanism, n, delta).values(), default=math.inf) <= epsilon

    plain = of_counts(mechanism, 1, delta) if votes else _of_any_votes(mechanism, 1, delta)
    best, capped = largest_that(most, by_counts), _asked(mechanism, most) < most
    if delta > 0 and best <= _MOST_EXACT and not capped:
        rows = _listed(mechanism, votes, plain)
        if rows is not None:
            return Allowed(max(best, within(rows, _guaranteed(mechanism, rows), epsilon, delta, most)), "exact")
    sigma: float | None = getattr(mechanism, "sigma", None)
    span: float | None = getattr(mechanism, "bounded_range", None)
    ranged = None if span is None else rows_of_range(span, max(best, 1))
    if ranged is not None and delta > 0:
        best = max(best, within(ranged, None, epsilon, delta, min(most, MOST_RANGED)))
    if sigma is None or not delta:
        return Allowed(best, "optimal composition" if span is None else RANGE)
    checks = checks_of(mechanism, most)
    return Allowed(any_votes_queries(sigma, epsilon, delta, best, most, checks, _affected(mechanism)), LADDER)


def of_counts(mechanism: object, queries: int, delta: float) -> dict[str, float]:
    """Bounds on the total for any number of votes and classes that hold even if the noisy counts are released, by name.

    Gaussian noise: Renyi DP, lambda / sigma^2 for each label, and the exact Gaussian DP of the noisy counts, of which
    Renyi DP is an upper bound: mu = sqrt(2) / sigma for each label and one changed vote, and 1 / sigma for each check.
    A stated epsilon: simple and optimal composition. A bounded range: Renyi DP, lambda range^2 / 8 for each label.
    """
    sigma = _sigma(mechanism, queries)
    span: float | None = getattr(mechanism, "bounded_range", None)
    epsilon: float | None = getattr(mechanism, "epsilon", None)
    bounds: dict[str, float] = {}
    if sigma is not None and delta:
        bounds[_RENYI] = _renyi(sigma, queries, delta)
        bounds[GAUSSIAN] = gdp_epsilon(math.sqrt(2 * queries) / sigma * (1 + 1e-15), delta)
    if span is not None and delta:
        bounds[_RENYI] = _renyi(math.sqrt(8) / span * (1 - 1e-15), queries, delta)
    if epsilon is not None:
        bounds["simple composition"] = rounded_up(queries * Fraction(epsilon))
        with suppress(InputError):
            bounds["optimal composition"] = optimal(epsilon, 0.0, queries, delta).epsilon
    return {name: bound for name, bound in bounds.items() if math.isfinite(bound)}


def _sigma(mechanism: Any, queries: int) -> float | None:
    """The standard deviation of the noise at each count; with checks, of noise whose labels cost as much together.

    If several votes can change, in units of them.
    """
    sigma: float | None = getattr(mechanism, "sigma", None)
    checks, affected = checks_of(mechanism, queries), _affected(mechanism)
    if sigma is None or checks is None:
        return sigma if sigma is None or affected == 1 else sigma / affected * (1 - 1e-15)
    both = math.hypot(math.sqrt(checks.answers / queries) / sigma, math.sqrt(0.5) / checks.sigma)
    return (1 - (1 + (affected > 1)) * 1e-15) / both / affected


def _renyi(sigma: float, queries: int, delta: float) -> float:
    """The cost of labels of Gaussian noise by their Renyi divergences, lambda / sigma^2 each; may be infinite."""
    # About here lambda Q / sigma^2 + ln(1 / delta) / (lambda - 1) is least; every order gives a bound.
    orders = 1 + sigma * math.sqrt(-math.log(delta) / queries) * _ORDERS
    cost = queries * (orders / sigma / sigma) * (1 + 1e-12)
    fine = (orders > 1) & np.isfinite(cost)
    return rdp_epsilon(orders[fine], cost[fine], delta) if fine.any() else math.inf


@names_missing
def noisy_max_parameter(
    kind: Callable[[float], CountMechanism],
    queries: int,
    total_epsilon: float,
    total_delta: float,
    *,
    K: int | None = None,
    classes: int | None = None,
) -> float:
    """A parameter of nearly the least noise for ``queries`` labels, certified (total_epsilon, total_delta)-DP together.

    Parameters
    ----------
    kind : class
        `GaussianNoisyMax`, `LaplaceNoisyMax`, `PermuteAndFlip` or `ExponentialMechanism` of `darrm.mechanisms`.
    queries : int in [1, 1e7]
        Chosen adaptively.
    total_epsilon : float > 0, nats
    total_delta : float in (0, 1)
    K, classes : int, optional
        The numbers of voters and classes, or neither for any number of both. Voters are non-private, and neighbouring
        data sets differ in one vote. With K and classes the noise is enough for exactly K votes, odd or even, and
        exactly that many classes. Pass both to the releasing mechanism, as in the example: it then refuses other votes.
        A teacher that abstains because of its data is another kind of change, which such a total does not cover.

    Returns
    -------
    float
        The parameter of the mechanism. Round a sigma up; round gamma and epsilon of the others down, because more of
        them is less noise. All labels of K votes together are certified within ``total_epsilon``, by the exact
        composition of `compose`. Without them, and if there are too many votes to list, as for 250 teachers and ten
        classes, the bound is that of any votes: for Gaussian noise the ladder of Gaussian profiles, for the exponential
        mechanism its bounded range, else the optimal composition. The search ends at 99.5 % of the total or after 24
        steps, which is enough except at totals of hundreds of nats. `gnmax_sigma` needs more noise.

    Raises
    ------
    InputError

    Notes
    -----
    docs/composition.md. Some ten totals.

    Examples
    --------
    Fifty labels of 20 voters; by simple composition each could have an epsilon of 0.04:

    >>> import darrm
    >>> kind, votes = darrm.mechanisms.PermuteAndFlip, {"K": 20, "classes": 2}
    >>> epsilon = darrm.accounting.noisy_max_parameter(kind, 50, 2.0, 1e-5, **votes)
    >>> round(epsilon, 3)
    0.075
    >>> kind(epsilon, **votes).release([[12, 8], [20, 0]]).shape
    (2,)
    """
    # Confident-GNMax has two parameters of noise.
    known = isinstance(kind, type) and issubclass(kind, CountMechanism) and not hasattr(kind, "given")
    if not known:
        raise InputError(
            "kind must be GaussianNoisyMax, LaplaceNoisyMax, PermuteAndFlip or ExponentialMechanism of "
            f"darrm.mechanisms. Got {kind!r}."
        )
    queries = check_count("queries", queries)
    budget = check_total_epsilon(total_epsilon)
    delta = real("total_delta", total_delta, 0, 1, "()", hint="Pass for instance 1e-5.")
    votes = of_votes(kind(1.0), K, classes)
    by_scale = hasattr(kind(1.0), "sigma")  # more noise as it rises
    if by_scale and (votes is None or not has_exact_total(*votes)):
        return any_votes_sigma(queries, budget, delta)

    def made(strength: float) -> CountMechanism:
        return kind(1 / strength if by_scale else strength)

    def cost(strength: float) -> float:
        mechanism = made(strength)
        plain = of_counts(mechanism, queries, delta)
        rows = _listed(mechanism, votes, plain)
        if rows is None:
            return min(_by_range(mechanism, queries, delta), *plain.values())
        exact = upper_of_rows(rows, queries, delta, _guaranteed(mechanism, rows))
        return min(plain.get(GAUSSIAN, math.inf), plain.get(_RENYI, math.inf), exact)

    low, high = 0.0, math.inf
    spent_low = spent_high = 0.0
    # Where Renyi DP and simple composition would begin; the exact total allows more.
    strength = 1 / (gnmax_sigma(budget, delta) * math.sqrt(queries))
    for _ in range(_TRIES):
        spent = cost(strength)
        if spent <= budget:
            low, spent_low = strength, spent
            if spent >= _LEAST_SPENT * budget:
                break
        else:
            high, spent_high = strength, spent
        if not low:
            strength = high * max(0.2, 0.95 * budget / spent_high)
        elif high == math.inf:
            strength = low * min(3.0, 1.02 * budget / spent_low if spent_low else 3.0)
        else:
            share = math.log(_AIM * budget / spent_low) / math.log(spent_high / spent_low) if spent_low else 0.5
            strength = low * (high / low) ** min(max(share, 0.02), 0.98)
    if not low:
        raise InputError(
            f"No {type(kind(1.0)).__name__} was found with {queries} labels that are ({budget:g}, {delta:g})-DP."
        )
    return 1 / low if by_scale else low
