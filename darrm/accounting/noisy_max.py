"""What many labels of noisy max or permute-and-flip cost together, for voters that are not private themselves."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import MAX_CLASSES, check_count, check_total_epsilon, real, whole
from darrm.accounting.fresh import Total
from darrm.accounting.many_answers import of_rows, upper_of_rows
from darrm.accounting.pate import gnmax_sigma, rdp_epsilon
from darrm.accounting.rows import OutcomeRows
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.problem.counts import n_sorted_counts, sorted_counts


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
    """Noisy max or permute-and-flip: `GaussianNoisyMax`, `LaplaceNoisyMax` and `PermuteAndFlip`.

    Beside its chances it may have ``epsilon``, of one label, or, for Gaussian noise alone, ``sigma``, the standard
    deviation of the noise of each count. Without either, costs come from the chances alone.
    """

    def _chances(self, votes: NDArray[np.int64]) -> Chances: ...

    def chances(self, counts: ArrayLike) -> Array: ...


_MOST_ROWS = 200_000
_TRIES = 24
_LEAST_SPENT = 0.995  # of a budget
_AIM = 0.998


def rows_of(mechanism: CountMechanism, K: int, classes: int) -> OutcomeRows:
    """The chances of all labels for all neighbouring votes of K voters, up to names of classes.

    Known are K - 1 votes z, sorted; the last one is for class c on D and for class d on D'. Classes of as many known
    votes are alike, so one of each kind is enough, or two of them.
    """
    many = n_sorted_counts(K - 1, classes)
    if many * classes * (classes - 1) // 2 > _MOST_ROWS:
        raise InputError(
            f"{K} voters and {classes} classes have more than {_MOST_ROWS} pairs of neighbouring votes. Take fewer."
        )
    known = np.array(sorted_counts(K - 1, classes))
    found = [mechanism._chances(known + np.eye(classes, dtype=np.int64)[c]) for c in range(classes)]
    P, Q = [], []
    for c in range(classes):
        for d in range(c + 1, classes):
            # Of classes with equal counts the first, and for d the one after c.
            first_c = np.ones(len(known), dtype=np.bool_) if c == 0 else known[:, c] < known[:, c - 1]
            first_d = (known[:, d] < known[:, d - 1]) | (d == c + 1)
            here = first_c & first_d
            P.append(found[c].values[here])
            Q.append(found[d].values[here])
    rho, cut = max(one.rho for one in found), max(one.cut for one in found)
    return OutcomeRows(np.concatenate(P), np.concatenate(Q), rho, cut)


def of_labels(
    mechanism: CountMechanism, K: int, classes: int, queries: int, delta: float, tolerance: float = 1e-3
) -> Total:
    """`darrm.accounting.compose` for noisy max and permute-and-flip."""
    rows = rows_of(mechanism, K, classes)
    return of_rows(rows, queries, delta, tolerance, _guaranteed(mechanism, rows), _others(mechanism, queries, delta))


def _guaranteed(mechanism: CountMechanism, rows: OutcomeRows) -> tuple[Fraction, Fraction] | None:
    """(epsilon, 0) of one label, exactly, if it states such a guarantee; `InputError` if its chances contradict it."""
    epsilon: float | None = getattr(mechanism, "epsilon", None)
    if epsilon is None:
        return None
    attained = rows.least_loss
    if attained > epsilon * (1 + 1e-9):
        raise InputError(
            f"epsilon of {type(mechanism).__name__} must be at least {attained:.6g} here: neighbouring votes have "
            f"chances that differ by as much. It states {epsilon:g}. Correct it for every number of classes, or leave "
            "it out."
        )
    return Fraction(epsilon), Fraction(0)


def _others(mechanism: CountMechanism, queries: int, delta: float) -> dict[str, float]:
    """Renyi DP, for Gaussian noise: the best order in closed form, as in `gnmax_sigma`."""
    sigma: float | None = getattr(mechanism, "sigma", None)
    if sigma is None or delta == 0:
        return {}
    # queries lambda / sigma^2 + ln(1 / delta) / (lambda - 1), a bound at every lambda > 1, is least at
    order = 1 + sigma * math.sqrt(-math.log(delta) / queries)
    cost = queries * order / sigma**2 * (1 + 1e-12)
    return {"Renyi DP": rdp_epsilon([order], [cost], delta)} if order > 1 and math.isfinite(cost) else {}


def noisy_max_parameter(
    kind: Callable[[float], CountMechanism],
    queries: int,
    total_epsilon: float,
    total_delta: float,
    *,
    K: int,
    classes: int,
) -> float:
    """A parameter of nearly the least noise with which ``queries`` labels are (total_epsilon, total_delta)-DP, proved.

    Parameters
    ----------
    kind : class
        `GaussianNoisyMax`, `LaplaceNoisyMax` or `PermuteAndFlip` of `darrm.mechanisms`.
    queries : int in [1, 1e7]
        Chosen adaptively.
    total_epsilon : float > 0, nats
    total_delta : float in (0, 1)
    K, classes : int
        How many vote, and for how many classes. Voters are not private, and one change of the data reaches one vote.

    Returns
    -------
    float
        The parameter of the mechanism. All labels together never spend more than ``total_epsilon``, by the exact
        composition that `compose` proves. The search ends at 99.5 % of it or after 24 steps, which is enough for the
        mechanisms above but at totals of hundreds of nats. `gnmax_sigma` needs more noise.

    Raises
    ------
    InputError

    Notes
    -----
    docs/many_answers.md. Some ten totals.

    Examples
    --------
    Fifty labels of 20 voters; by simple composition each could cost .04:

    >>> import darrm
    >>> kind = darrm.mechanisms.PermuteAndFlip
    >>> round(darrm.accounting.noisy_max_parameter(kind, 50, 2.0, 1e-5, K=20, classes=2), 3)
    0.075
    """
    known = isinstance(kind, type) and issubclass(kind, CountMechanism)
    if not known:
        raise InputError(
            f"kind must be GaussianNoisyMax, LaplaceNoisyMax or PermuteAndFlip of darrm.mechanisms. Got {kind!r}."
        )
    queries = check_count("queries", queries)
    budget = check_total_epsilon(total_epsilon)
    delta = real("total_delta", total_delta, 0, 1, "()", hint="Pass for instance 1e-5.")
    K = whole("K", K)
    classes = whole("classes", classes, 2, MAX_CLASSES)

    by_scale = hasattr(kind(1.0), "sigma")  # more noise as it rises

    def made(strength: float) -> CountMechanism:
        return kind(1 / strength if by_scale else strength)

    def cost(strength: float) -> float:
        mechanism = made(strength)
        rows = rows_of(mechanism, K, classes)
        plain = _others(mechanism, queries, delta).get("Renyi DP", math.inf)
        return min(plain, upper_of_rows(rows, queries, delta, _guaranteed(mechanism, rows)))

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
            f"No {type(kind(1.0)).__name__} was found of which {queries} labels are ({budget:g}, {delta:g})-DP."
        )
    return 1 / low if by_scale else low
