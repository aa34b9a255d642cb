"""Comparison of mechanisms at equal utility: the parameter of each, and every measure of label privacy there."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import choice, real, whole
from darrm.errors import InputError
from darrm.labels.measures.advantage import Mechanism, individual_advantage, label_leakage, total_variation
from darrm.labels.measures.attack import attack_utility
from darrm.labels.measures.change import largest_log_odds_change, multiplicative_advantage
from darrm.labels.measures.classes import kernel_of_classes
from darrm.labels.measures.kernels import OfLabels, channel
from darrm.labels.mechanisms.label_proportions import LaplaceLabelProportions
from darrm.numerics.arrays import Array
from darrm.numerics.leave_one_out import as_bags
from darrm.numerics.poisson_binomial import pmf

Made = Mechanism | tuple[Mechanism, int]
Family = tuple[Callable[[float], Made], float, float] | tuple[Callable[[Any], Made], Sequence[Any]] | Mechanism
Utility = Literal["auc", "accuracy", "majority right"] | Callable[[Any, int], float]
_LEVEL = 0.98


@dataclass(frozen=True)
class EqualUtility:
    """One mechanism at the target utility, with its measures of label privacy.

    Attributes
    ----------
    name : str
    parameter : float or None
        None for a mechanism without one.
    mechanism
    bag_size : int
    utility : float
    matched : bool
        Whether the utility passes the target within the tolerance of the parameter: a utility that rises without a
        jump is the target there, and ``utility`` says how near. False for mechanisms without a parameter or with a list
        of values, of which the nearest was taken.
    guaranteed_epsilon, ..., attack_utility : float
        Every measure of privacy, by the names that it has in `darrm.labels.AuditRow`.
    """

    name: str
    parameter: float | None
    mechanism: Any = field(compare=False)
    bag_size: int
    utility: float
    matched: bool
    guaranteed_epsilon: float
    largest_log_odds_change: float
    additive_advantage: float
    max_individual_advantage: float
    multiplicative_98: float
    infinite_mass: float
    mean_leakage: float
    max_leakage: float
    mean_total_variation: float
    max_total_variation: float
    attack_utility: float


def at_equal_utility(
    mechanisms: Mapping[str, Family],
    eta: ArrayLike,
    utility: Utility,
    target: float,
    *,
    p: float | None = None,
    tolerance: float = 1e-9,
) -> list[EqualUtility]:
    """Find the parameter of each mechanism at which the utility is the target, and measure the privacy there.

        utility(make(parameter)) = target,    by bisection

    Parameters
    ----------
    mechanisms : mapping of names to families
        ``(make, low, high)``: ``make`` takes a number in [low, high] to a mechanism, and the utility rises or falls
        throughout. ``(make, values)``: the value whose utility is nearest is taken. A mechanism alone is listed as it
        is. If ``make`` returns a pair (mechanism, bag size), its bags are consecutive labels of ``eta``: shuffle them.
    eta : array_like, shape (k,) or (n, k), in [0, 1]
        Probability of a one for every label, as the attacker knows it, in bags of k.
    utility : "auc", "accuracy", "majority right" or callable
        From mechanism and bag size to a finite number, for instance what a learner makes of the release. By name, for a
        receiver who knows of every label only that it is a one with probability ``p``:

        * "auc": of a one and a zero from two bags, the probability that the receiver ranks them right (half for a tie).
        * "accuracy": the probability that its best guess of a label is correct.
        * "majority right": the probability that it guesses the majority of a bag (a tie counts as 0).
    target : float
        Finite, strictly between the utilities at the ends of every range.
    p : float in (0, 1), optional
        By default the mean of ``eta``.
    tolerance : float in [1e-12, 0.1]
        Of the parameter, relative.

    Returns
    -------
    list of EqualUtility
        In the order given.

    Raises
    ------
    InputError
        Among others if the target is out of reach in the range of some mechanism; the message has both ends.

    Notes
    -----
    The named utilities and all measures are exact but for rounding (Laplace: for continuous noise). The answer is the
    same at every call if a callable utility is: seed what it draws. If the utility does not rise or fall throughout (a
    learner on one draw of the noise), the parameter is one at which it passes the target. About log2((high - low) /
    (tolerance parameter)) evaluations a range, O(k^3) each by name; the measures cost as `multiplicative_advantage`
    says, whose limit of 2e7 labels times outcomes holds here. Comparisons at one utility: Figure 3 of Busa-Fekete et
    al. (NeurIPS 2024).

    Examples
    --------
    >>> import numpy as np
    >>> import darrm
    >>> from darrm import mechanisms
    >>> eta = np.random.default_rng(1).beta(2, 2, (100, 8))
    >>> rows = darrm.labels.at_equal_utility(
    ...     {
    ...         "rr": (mechanisms.RandomizedResponse, 0.01, 20),
    ...         "llp-laplace": (darrm.labels.LaplaceLabelProportions, 0.01, 20),
    ...     },
    ...     eta,
    ...     "majority right",
    ...     0.8,
    ... )
    >>> [(row.name, round(row.parameter, 3), round(row.utility, 6)) for row in rows]
    [('rr', 1.897, 0.8), ('llp-laplace', 0.953, 0.8)]
    """
    bags, _ = as_bags(eta)
    if not isinstance(mechanisms, Mapping) or not mechanisms:
        raise InputError("mechanisms must be a mapping of names to families of mechanisms, at least one.")
    target, tolerance = real("target", target), real("tolerance", tolerance, 1e-12, 0.1)
    p = float(bags.mean()) if p is None else real("p", p)
    if not 0 < p < 1:
        raise InputError(f"p must be in (0, 1). Got {p}. It is the mean of eta, if it is not passed.")
    named = None if callable(utility) else _NAMED[choice("utility", utility, tuple(_NAMED))]

    def useful(made: Made) -> float:
        mechanism, k = _with_size(made, bags)
        if named is not None:
            return float(named(mechanism, k, p))
        return real("The utility", utility(mechanism, k), ends="()")  # type: ignore[operator]  # callable, or named

    rows = []
    for name, family in mechanisms.items():
        parameter, made, matched = _matched(name, family, useful, target, tolerance)
        mechanism, k = _with_size(made, bags)
        groups = bags if k == bags.shape[1] else _consecutive(bags.ravel(), k)
        rows.append(
            EqualUtility(name, parameter, mechanism, k, useful(made), matched, **all_measures(mechanism, groups))
        )
    return rows


def all_measures(mechanism: Mechanism, bags: Array, percentile: tuple[float, float] | None = None) -> dict[str, float]:
    """Every measure of label privacy by its name in `darrm.labels.AuditRow`, for the bags (n, k), or classes (n, C).

    ``percentile`` is the 98th percentile of the multiplicative advantage with its infinite mass, if they are known.
    """
    gain, variation = individual_advantage(mechanism, bags), total_variation(mechanism, bags)
    if kernel_of_classes(mechanism) is None:
        leakage, before = np.log1p(variation), np.maximum(bags, 1 - bags)
    else:
        leakage, before = label_leakage(mechanism, bags), bags.max(axis=1)
    if percentile is None:
        moved = multiplicative_advantage(mechanism, bags)
        percentile = moved.quantile(_LEVEL), moved.infinite_mass
    return {
        "guaranteed_epsilon": float(getattr(mechanism, "epsilon", math.inf)),
        "largest_log_odds_change": largest_log_odds_change(mechanism, bags),
        "additive_advantage": float(gain.mean()),
        "max_individual_advantage": float(gain.max()),
        "multiplicative_98": percentile[0],
        "infinite_mass": percentile[1],
        "mean_leakage": float(leakage.mean()),
        "max_leakage": float(leakage.max()),
        "mean_total_variation": float(variation.mean()),
        "max_total_variation": float(variation.max()),
        "attack_utility": float(before.mean() + gain.mean()),
    }


def _matched(
    name: str, family: Any, useful: Callable[[Made], float], target: float, tolerance: float
) -> tuple[float | None, Any, bool]:
    """Parameter, what it makes, and whether its utility is the target."""
    if not isinstance(family, tuple):
        return None, family, False
    if len(family) not in (2, 3) or not callable(family[0]):
        raise InputError(f"{name} must be (make, low, high), (make, values) or a mechanism. Got {family!r}.")
    make = family[0]
    if len(family) == 2:
        values = list(family[1]) if isinstance(family[1], Iterable) else []
        if not values:
            raise InputError(f"{name} must have at least one value. Got none in {family!r}.")
        best = min(values, key=lambda value: abs(useful(make(value)) - target))
        return best, make(best), False
    low = real(f"The range of {name}", family[1], ends="()")
    high = real(f"The range of {name}", family[2], low, ends="[)")
    at_low, at_high = useful(make(low)), useful(make(high))
    if not min(at_low, at_high) < target < max(at_low, at_high):
        raise InputError(
            f"target must be between the utilities of {name}: {at_low:.6g} at {low:g} and {at_high:.6g} at {high:g}. "
            f"Got {target:g}. Widen the range, or pass another target."
        )
    rises = at_low < at_high
    while high - low > tolerance * max(abs(low), abs(high)):
        middle = low / 2 + high / 2
        if not low < middle < high:  # next to 0, where no relative tolerance is reached
            break
        above = useful(make(middle)) > target
        low, high = (low, middle) if above is rises else (middle, high)
    parameter = high if rises else low
    return parameter, make(parameter), True


def _with_size(made: Any, bags: Array) -> tuple[Any, int]:
    """Mechanism and bag size; that of eta if the family names none."""
    if not isinstance(made, tuple):
        return made, bags.shape[1]
    if len(made) != 2:
        raise InputError(f"A family must make a mechanism, or a pair (mechanism, bag size). Got {made!r}.")
    allowed = f"in [1, {bags.size}], the labels of eta"
    return made[0], whole("The bag size of a family", made[1], 1, bags.size, allowed=allowed)


def _consecutive(labels: Array, k: int) -> Array:
    return labels[: labels.size // k * k].reshape(-1, k)


def _accuracy(mechanism: Any, k: int, p: float) -> float:
    return attack_utility(mechanism, np.full((1, k), p))


def _auc(mechanism: Any, k: int, p: float) -> float:
    """Sorted by likelihood ratio; outputs of one ratio count the same in any order, as half ties."""
    if isinstance(mechanism, LaplaceLabelProportions):
        return _laplace_auc(mechanism.epsilon, k, p)
    zero, one = (given[:, 0, 0] for given in channel(mechanism, k).given(np.full((1, k), p)))
    order = np.argsort(one / np.maximum(one + zero, 1e-300), kind="stable")
    zero, one = zero[order], one[order]
    return float(one @ (np.cumsum(zero) - zero / 2))


def _laplace_auc(epsilon: float, k: int, p: float) -> float:
    """Pr[1 + L + Z > L' + Z'], L and L' the ones among k - 1 others.

    Pr[Z' - Z > d] = e^(-epsilon d) (2 + epsilon d) / 4 for d >= 0.
    """
    others = pmf(np.full(k - 1, p)) if k > 1 else np.ones(1)
    ahead = np.convolve(others, others[::-1])  # Pr[L - L' = d], d = -(k - 1), ..., k - 1
    distance = epsilon * (1.0 + np.arange(1 - k, k))
    wrong = np.exp(-np.abs(distance)) * (2 + np.abs(distance)) / 4
    return float(ahead @ np.where(distance >= 0, 1 - wrong, wrong))


def _majority_right(mechanism: Any, k: int, p: float) -> float:
    ones = pmf(np.full(k, p))
    majority = 2 * np.arange(k + 1) > k
    if isinstance(mechanism, LaplaceLabelProportions):
        return _laplace_majority(mechanism.epsilon, ones, majority)
    joint = ones[:, None] * _of_counts(mechanism, k)
    return float(np.maximum(joint[majority].sum(axis=0), joint[~majority].sum(axis=0)).sum())


def _of_counts(mechanism: Any, k: int) -> Array:
    """Pr[output = o | l ones]; of answers to every label the number of ones among them says all there is."""
    if isinstance(mechanism, OfLabels) and not isinstance(mechanism, type):
        kernel = mechanism.label_kernel()
        if kernel.shape != (2, 2):
            raise InputError(f"{mechanism} must have answers 0 and 1 for this utility. Got {kernel.shape[1]} answers.")
        one_zero, one_one = kernel[:, 1]
        return np.array([pmf(np.repeat([one_one, one_zero], [l, k - l])) for l in range(k + 1)])
    channel(mechanism, k)  # says what is no mechanism
    return np.asarray(mechanism.kernel(k))


def _laplace_majority(epsilon: float, ones: Array, majority: Any) -> float:
    """The receiver says 1 above the best threshold, always or never: the odds rise with the noisy sum."""
    from scipy.optimize import minimize_scalar

    l = np.arange(ones.size)

    def wrong(t: float) -> float:
        tail = np.exp(-epsilon * np.abs(t - l)) / 2
        above = np.where(t > l, tail, 1 - tail)
        return float(ones @ np.where(majority, 1 - above, above))

    thresholds = [
        minimize_scalar(wrong, bounds=(t, t + 1), method="bounded", options={"xatol": 1e-10})
        for t in range(ones.size + 2)
    ]
    one_way = min(float(ones[majority].sum()), float(ones[~majority].sum()))
    return 1 - min([one_way, *(threshold.fun for threshold in thresholds)])


_NAMED: dict[str, Callable[[Any, int, float], float]] = {
    "auc": _auc,
    "accuracy": _accuracy,
    "majority right": _majority_right,
}
