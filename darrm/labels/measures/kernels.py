"""Mechanisms as the measures see them: the probabilities of every output given one label.

Three kinds. A mechanism with ``kernel(k)`` sees a bag of k labels through its number of ones only; one with
``label_kernel()`` answers each label on its own; `LaplaceLabelProportions` has a density
(`darrm.labels.measures.laplace`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import array, whole
from darrm.errors import InputError
from darrm.labels.measures import geometric
from darrm.labels.mechanisms.label_proportions import GeometricLabelProportions
from darrm.mechanisms.labelled_bag import check_unused_features
from darrm.numerics import leave_one_out
from darrm.numerics.arrays import Array
from darrm.numerics.printed import counted
from darrm.problem.noise_function import noise_function


class Channel(NamedTuple):
    """Output probabilities of one mechanism, for bags of one size.

    Attributes
    ----------
    given : callable
        From bags eta (n, k) to Pr[output | y_i = 0] and Pr[output | y_i = 1], each of shape (outcomes, n, k).
    entries : int
        Size of the largest array that it makes, for one bag.
    """

    given: Callable[[Array], tuple[Array, Array]]
    entries: int


@runtime_checkable
class OfCounts(Protocol):
    """A mechanism that sees of a bag only its number of ones."""

    def kernel(self, k: int) -> Array:
        """Pr[output = o | l ones], shape (k + 1, outcomes): [l, o]."""


@runtime_checkable
class OfLabels(Protocol):
    """A mechanism that answers each label on its own."""

    def label_kernel(self) -> Array:
        """Pr[output = o | y = v], shape (classes, outcomes): [v, o]."""


class CountKernel:
    """A mechanism given by its output probabilities for every number of ones.

    Parameters
    ----------
    probabilities : array_like, shape (k + 1, outcomes), >= 0, rows that sum to 1
        [l, o]: Pr[output = o | l ones of k].

    Raises
    ------
    InputError

    Examples
    --------
    Half of the time, a bag of three labels says whether there is a 1 in it:

    >>> import darrm
    >>> some = darrm.labels.CountKernel([[1.0, 0.0], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]])
    >>> some.posterior([0.1, 0.2, 0.4], 1).round(3).tolist()
    [0.176, 0.352, 0.704]
    >>> round(darrm.labels.additive_advantage(some, [0.1, 0.2, 0.4]), 3)
    0.039

    The released majority of five votes:

    >>> majority = darrm.labels.CountKernel.from_noise_function(darrm.baselines.subsampling(5, 1))
    >>> majority.kernel(5)[:, 1].round(2).tolist()
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """

    def __init__(self, probabilities: ArrayLike) -> None:
        rows = array("probabilities", probabilities, ("k + 1", "outcomes"), 0, math.inf, "[)").copy()
        if len(rows) < 2:
            raise InputError(f"probabilities must have shape (k + 1, outcomes), k >= 1. Got {rows.shape}.")
        if not np.all(np.abs(rows.sum(axis=1) - 1) <= 1e-9):
            raise InputError("Each row of probabilities must sum to 1 within 1e-9.")
        self._probabilities = rows

    @classmethod
    def from_noise_function(cls, gamma: ArrayLike) -> CountKernel:
        """The released majority of K votes under a noise function.

            Pr[release 1 | l ones] = (1 + gamma(l)) / 2 for l > K/2,  (1 - gamma(l)) / 2 for l < K/2,  1/2 on a tie

        Parameters
        ----------
        gamma : array_like, shape (K + 1,), in [0, 1], symmetric
            For instance `darrm.baselines.subsampling`; it need not be verified.
        """
        table = noise_function(gamma)
        K = table.size - 1
        tilt = np.sign(2 * np.arange(K + 1) - K) * table
        return cls(np.stack([1 - tilt, 1 + tilt], axis=1) / 2)

    def __repr__(self) -> str:
        rows, outcomes = self._probabilities.shape
        return f"CountKernel(k={rows - 1}, outcomes={outcomes})"

    @property
    def k(self) -> int:
        """Size of its bags."""
        return len(self._probabilities) - 1

    def kernel(self, k: int) -> Array:
        """Pr[output = o | l ones], shape (k + 1, outcomes): [l, o]; only for its own k."""
        if whole("k", k) != self.k:
            raise InputError(f"k must be {self.k}: eta has one value for each of {counted(self.k, 'label')}. Got {k}.")
        return self._probabilities

    def posterior(self, eta: ArrayLike, output: ArrayLike, X: ArrayLike | None = None) -> Array:
        """P(y_i = 1 | eta, output), output a column of the kernel; as in `darrm.labels.posterior`."""
        check_unused_features(X)
        return _column_posterior(self, eta, output)


def channel(mechanism: OfCounts | OfLabels, k: int) -> Channel:
    """What a mechanism answers to bags of k labels."""
    if isinstance(mechanism, OfLabels) and not isinstance(mechanism, type):
        of_label = mechanism.label_kernel()
        if len(of_label) != 2:
            raise InputError(
                f"mechanism must have two classes for this measure. Got {mechanism!r} with {len(of_label)}. "
                "Use a measure that takes eta of shape (n, classes), such as individual_advantage."
            )

        def each(eta: Array) -> tuple[Array, Array]:
            shape = (of_label.shape[1], *eta.shape)
            zero, one = (np.broadcast_to(row[:, None, None], shape) for row in of_label)
            return zero, one

        return Channel(each, of_label.shape[1] * k)
    if not isinstance(mechanism, OfCounts) or isinstance(mechanism, type):
        raise InputError(
            "mechanism must be one of darrm.mechanisms that answers labels or their number (with a kernel), or a "
            f"darrm.labels.CountKernel. Got {name_of(mechanism)}. "
            "Wrap a noise function: CountKernel.from_noise_function(gamma)."
        )
    if isinstance(mechanism, GeometricLabelProportions):
        epsilon = mechanism.epsilon
        return Channel(lambda eta: geometric.given(eta, epsilon), k * (k + 1))
    kernel = mechanism.kernel(k)
    if kernel.shape == (k + 1, k + 1) and np.array_equal(kernel, np.eye(k + 1)):

        def exact(eta: Array) -> tuple[Array, Array]:
            wide = np.zeros((k + 2, *eta.shape))
            wide[1:-1] = leave_one_out.table(eta)
            return wide[1:], wide[:-1]

        return Channel(exact, k * (k + 1))
    # One product gives both: the last k rows of the kernel are those of a bag with a one more.
    low, high = np.ascontiguousarray(kernel[:-1].T), np.ascontiguousarray(kernel[1:].T)

    def noisy(eta: Array) -> tuple[Array, Array]:
        shape = (len(low), *eta.shape)
        others = leave_one_out.table(eta).reshape(k, -1)
        return (low @ others).reshape(shape), (high @ others).reshape(shape)

    return Channel(noisy, max(k, len(low)) * k)


def name_of(mechanism: object) -> str:
    """What came in the place of a mechanism: its class; a class itself was not called."""
    if isinstance(mechanism, type):
        return f"the class {mechanism.__name__} itself: call it first"
    return type(mechanism).__name__


@runtime_checkable
class _HasPosterior(Protocol):
    def posterior(self, eta: ArrayLike, output: ArrayLike, X: ArrayLike | None = None) -> Array: ...


def posterior(mechanism: object, eta: ArrayLike, output: ArrayLike, X: ArrayLike | None = None) -> Array:
    """The posterior of every label, given one output of a mechanism.

        P(y_i = 1 | eta, output)

    Parameters
    ----------
    mechanism
        Any of `darrm.mechanisms`, or a `CountKernel`.
    eta : array_like, shape (k,) or (n, k), in [0, 1]
        Probability of a one for every label, before.
    output : int or float, or array_like, shape (n,)
        One output for each bag, as the mechanism releases it (randomized response: the shape of ``eta``; weighted
        aggregates: what ``release`` returned for the one bag).
    X : array_like, shape (k, d), optional
        Features of the bag. `WeightedBagAggregates` needs them; all others take them and do without.

    Returns
    -------
    ndarray, the shape of ``eta``

    Raises
    ------
    InputError

    Examples
    --------
    The sum of two labels is 1: most likely the first is.

    >>> import darrm
    >>> darrm.labels.posterior(darrm.labels.LabelProportions(), [0.8, 0.4], 1).round(4).tolist()
    [0.8571, 0.1429]
    """
    if isinstance(mechanism, type) or not isinstance(mechanism, _HasPosterior | OfCounts):
        raise InputError(
            "mechanism must be one of darrm.mechanisms with a posterior, or a darrm.labels.CountKernel. "
            f"Got {name_of(mechanism)}."
        )
    if not isinstance(mechanism, _HasPosterior):
        check_unused_features(X)
        return _column_posterior(mechanism, eta, output)
    if X is None:  # a mechanism of the caller's may take none
        return mechanism.posterior(eta, output)
    return mechanism.posterior(eta, output, X)


def _column_posterior(mechanism: OfCounts, eta: ArrayLike, output: ArrayLike) -> Array:
    bags, _ = leave_one_out.as_bags(eta)
    return leave_one_out.posterior(eta, of_columns(mechanism, bags, output))


def of_columns(mechanism: OfCounts, bags: Array, output: ArrayLike) -> Array:
    """Pr[output | l ones] for the output of each bag, shape (n, k + 1)."""
    kernel = mechanism.kernel(bags.shape[1])
    columns = array("output", output, None, 0, kernel.shape[1] - 1, "[]", wholes=True)
    columns = leave_one_out.one_a_bag(columns, len(bags))
    return np.asarray(kernel[:, columns.astype(np.intp)].T)
