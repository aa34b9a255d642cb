"""Distributions of advantages over the outputs and labels of bags."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np

from darrm._validation import real
from darrm.numerics.arrays import Array

_SAME = 1e-12  # two values at most so far apart, absolutely or relatively, are one


class Distribution(Protocol):
    """Distribution of a number that may be infinite, over outputs and labels of a bag.

    Attributes
    ----------
    infinite_mass : float
        Probability of infinity, of either sign: some label is then known for certain.
    maximum : float
        Largest value, infinity included.

    Examples
    --------
    The exact sum of four labels: how far log odds move, and how often all the way.

    >>> import darrm
    >>> llp = darrm.labels.LabelProportions()
    >>> law = darrm.labels.multiplicative_advantage(llp, [0.5, 0.5, 0.5, 0.5])
    >>> law.cdf(0.5), round(law.quantile(0.8), 4)
    (0.375, 1.0986)
    >>> law.infinite_mass, law.maximum
    (0.125, inf)
    """

    @property
    def infinite_mass(self) -> float: ...

    @property
    def maximum(self) -> float: ...

    def cdf(self, x: float) -> float:
        """Pr[value <= x]."""

    def quantile(self, q: float) -> float:
        """Least x with cdf(x) >= q; infinity if none is finite."""


class DiscreteDistribution:
    """Finitely many values with their weights.

    Parameters
    ----------
    values : ndarray of float, infinities allowed
    weights : ndarray of float >= 0, the same shape
        Sum 1, up to rounding.

    Attributes
    ----------
    values, weights : ndarray
        Sorted; values within 1e-12 of each other, absolutely or relatively, are one value (the largest of them).
    """

    def __init__(self, values: Array, weights: Array) -> None:
        kept = weights.ravel() > 0
        order = np.argsort(values.ravel()[kept], kind="stable")
        x, w = values.ravel()[kept][order], weights.ravel()[kept][order]
        with np.errstate(invalid="ignore"):
            near = np.isfinite(x[:-1]) & (np.diff(x) <= _SAME * np.maximum(1, np.abs(x[:-1])))
        same = (x[1:] == x[:-1]) | near
        ends = np.append(np.flatnonzero(~same), x.size - 1)
        self.values = x[ends]
        self.weights = np.add.reduceat(w, np.append(0, ends[:-1] + 1))
        self._below_infinity = np.cumsum(np.where(np.isposinf(self.values), 0, self.weights))
        self._infinite = float(self.weights[np.isinf(self.values)].sum())

    def __repr__(self) -> str:
        return f"DiscreteDistribution({self.values.size} values, maximum={self.maximum:g})"

    @property
    def infinite_mass(self) -> float:
        """Pr[value is infinite]."""
        return self._infinite

    @property
    def maximum(self) -> float:
        """Largest value, infinity included."""
        return float(self.values[-1])

    def cdf(self, x: float) -> float:
        """Pr[value <= x]; values up to 1e-12 above x count."""
        x = real("x", x)
        if math.isinf(x):
            return 1.0 if x > 0 else float(self.weights[np.isneginf(self.values)].sum())
        reached = int(np.searchsorted(self.values, x + _SAME * max(1.0, abs(x)), side="right"))
        if reached == self.values.size:
            return 1.0
        return min(1.0, float(self._below_infinity[reached - 1])) if reached else 0.0

    def quantile(self, q: float) -> float:
        """Least value x with cdf(x) >= q; infinity if none is finite. Sums within 1e-12 of q reach it."""
        q = real("q", q, 0, 1)
        total = np.cumsum(self.weights)
        at = int(np.searchsorted(total, q - _SAME))
        return float(self.values[min(at, self.values.size - 1)])


class ContinuousDistribution:
    """A distribution function in closed form on [bottom, top); whatever is left of the mass lies at top.

    Parameters
    ----------
    below : callable
        From an array of x in [bottom, top) to Pr[value <= x].
    top : float
        Largest value.
    bottom : float, default 0
        Least value.
    levels : int
        Bisections whose points are handed to ``below`` at once: more where a call costs more than its points.
    """

    infinite_mass = 0.0

    def __init__(self, below: Callable[[Array], Array], top: float, bottom: float = 0.0, levels: int = 1) -> None:
        self._below = below
        self._bottom, self._levels = bottom, levels
        self.maximum = top

    def __repr__(self) -> str:
        return f"ContinuousDistribution(maximum={self.maximum:g})"

    def cdf(self, x: float) -> float:
        """Pr[value <= x]."""
        x = real("x", x)
        if x < self._bottom:
            return 0.0
        if x >= self.maximum * (1 - _SAME):
            return 1.0
        return min(1.0, max(0.0, float(self._below(np.array([x]))[0])))

    def quantile(self, q: float) -> float:
        """Least x with cdf(x) >= q, by bisection to 1e-13 of the largest value."""
        q = real("q", q, 0, 1)
        low, high = self._bottom, self.maximum * (1 - _SAME)
        at_low, at_high = self._below(np.array([low, high]))
        if at_low >= q:
            return low
        if at_high < q:
            return self.maximum
        halvings = math.ceil(math.log2((high - low) / (1e-13 * self.maximum)))
        while halvings > 0:
            levels = min(self._levels, halvings)
            halvings -= levels
            points = np.array([low, high])
            for _ in range(levels):
                points = np.insert(points, range(1, len(points)), (points[:-1] + points[1:]) / 2)
            reached = [False, *(self._below(points[1:-1]) >= q), True]
            at = reached.index(True)
            low, high = float(points[at - 1]), float(points[at])
        return high
