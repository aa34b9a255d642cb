"""Mechanisms as the measures see them: the probabilities of every output given one label.

Three kinds. A mechanism with ``kernel(k)`` sees a bag of k labels through its number of ones only; one with
``label_kernel()`` answers each label on its own; `LaplaceLabelProportions` has a density (`darrm.measures.laplace`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import array, whole
from darrm.errors import InputError
from darrm.measures import geometric
from darrm.mechanisms.label_proportions import GeometricLabelProportions
from darrm.mechanisms.labelled_bag import check_unused_features
from darrm.numerics import leave_one_out
from darrm.numerics.arrays import Array
from darrm.problem.noise_function import noise_function

_PROBABILITIES = 2_000_000  # of the outputs of several releases


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
            raise InputError(f"k must be {self.k}: eta has one value for each of {self.k} labels. Got {k}.")
        return self._probabilities

    def posterior(self, eta: ArrayLike, output: ArrayLike, X: ArrayLike | None = None) -> Array:
        """P(y_i = 1 | eta, output), output a column of the kernel; as in `darrm.measures.posterior`."""
        check_unused_features(X)
        return _column_posterior(self, eta, output)


class JointLabels:
    """Several mechanisms that answer each label on its own, run on the same labels with fresh coins; see `joint`."""

    def __init__(self, mechanisms: Sequence[OfLabels]) -> None:
        self.mechanisms = tuple(mechanisms)

    def __repr__(self) -> str:
        return f"joint({list(self.mechanisms)})"

    @property
    def epsilon(self) -> float:
        """Sum of the epsilons of label differential privacy, nats; infinite if a mechanism has none."""
        return _summed_epsilon(self.mechanisms)

    def label_kernel(self) -> Array:
        """Pr[outputs = o | y = v], shape (classes, outcomes): [v, o], o counts pairs with the last output fastest."""
        return _all_outputs([mechanism.label_kernel() for mechanism in self.mechanisms])

    def posterior(self, eta: ArrayLike, output: Sequence[ArrayLike], X: ArrayLike | None = None) -> Array:
        """P(y_i = 1 | eta, all outputs), with one entry of ``output`` for each mechanism, as that releases it.

        What is known after one output is what is known before the next: the odds are multiplied by all likelihoods.
        """
        check_unused_features(X)
        after: ArrayLike = eta
        for mechanism, seen in zip(self.mechanisms, _one_each(self.mechanisms, output), strict=True):
            after = posterior(mechanism, after, seen)
        return np.asarray(after)


class JointCounts:
    """Several mechanisms that see the number of ones of the same bag, run with fresh coins; see `joint`."""

    def __init__(self, mechanisms: Sequence[OfCounts]) -> None:
        self.mechanisms = tuple(mechanisms)

    def __repr__(self) -> str:
        return f"joint({list(self.mechanisms)})"

    @property
    def epsilon(self) -> float:
        """Sum of the epsilons of label differential privacy, nats; infinite if a mechanism has none."""
        return _summed_epsilon(self.mechanisms)

    def kernel(self, k: int) -> Array:
        """Pr[outputs = o | l ones], shape (k + 1, outcomes): [l, o], o counts the pairs with the last output fastest.

        Outputs that no number of ones has are left out.
        """
        rows = _all_outputs([mechanism.kernel(k) for mechanism in self.mechanisms])
        return np.ascontiguousarray(rows[:, rows.any(axis=0)])

    def posterior(self, eta: ArrayLike, output: Sequence[ArrayLike], X: ArrayLike | None = None) -> Array:
        """P(y_i = 1 | eta, all outputs), with one entry of ``output`` for each mechanism, a column of its kernel.

        The likelihoods of the number of ones are multiplied, not those of the labels.
        """
        check_unused_features(X)
        bags, _ = leave_one_out.as_bags(eta)
        weights = np.ones((len(bags), bags.shape[1] + 1))
        for mechanism, seen in zip(self.mechanisms, _one_each(self.mechanisms, output), strict=True):
            weights *= _of_columns(mechanism, bags, seen)
        return leave_one_out.posterior(eta, weights)


def joint(mechanisms: Sequence[object]) -> JointLabels | JointCounts:
    """Several releases of the same labels as one mechanism, whose output is all of theirs.

        of labels:  P(o_1, ..., o_r | y_i = v) = product of P(o_j | y_i = v)
        of counts:  P(o_1, ..., o_r | l ones)  = product of P(o_j | l ones)

    Parameters
    ----------
    mechanisms : sequence of mechanisms, at least one
        Either all answer each label on its own (`RandomizedResponse`), or all see the number of ones of a bag
        (`LabelProportions`, `GeometricLabelProportions`, `CountKernel`, `DaRRM`, noisy max), and the same bags.

    Returns
    -------
    JointLabels or JointCounts
        For all measures and `darrm.labels.audit`. ``epsilon`` is the sum of the epsilons.

    Raises
    ------
    InputError
        For other mechanisms and mixtures, or if there are more than 2e6 probabilities.

    Notes
    -----
    Exact, if every release has coins of its own. Of labels: an output depends on nothing but its label and its coins,
    and the labels are independent given eta. Of counts: given the number of ones the outputs are independent. (Given
    y_i they are not: the likelihoods of a label must not be multiplied, and are not.) Refused is what neither holds
    for: randomized response beside sums (the answers for the others say something about the sum), other bags for
    every release, and Laplace noise, whose two outputs have no closed form here.

    Examples
    --------
    >>> from darrm import measures, mechanisms
    >>> twice = measures.joint([mechanisms.RandomizedResponse(1.0), mechanisms.RandomizedResponse(1.0)])
    >>> twice.epsilon
    2.0
    >>> round(measures.additive_advantage(twice, [0.5, 0.5]), 4)
    0.2311
    """
    releases = list(mechanisms)
    instances = [mechanism for mechanism in releases if not isinstance(mechanism, type)]
    of_labels = [mechanism for mechanism in instances if isinstance(mechanism, OfLabels)]
    of_counts = [mechanism for mechanism in instances if isinstance(mechanism, OfCounts)]
    if releases and len(of_labels) == len(releases):
        sizes = [len(mechanism.label_kernel()) for mechanism in of_labels]
        if len(set(sizes)) > 1:
            raise InputError(f"mechanisms must all have as many classes. Got {', '.join(map(str, sizes))} classes.")
        return JointLabels(of_labels)
    if releases and len(of_counts) == len(releases):
        return JointCounts(of_counts)
    kinds = ", ".join(type(mechanism).__name__ for mechanism in releases) or "none"
    raise InputError(
        "mechanisms must all answer each label on its own, or all see the number of ones of the same bags, without "
        f"Laplace noise. Got {kinds}. Audit them one by one; their guaranteed epsilons add up."
    )


def _one_each(mechanisms: Sequence[object], output: object) -> Sequence[ArrayLike]:
    if not isinstance(output, list | tuple) or len(output) != len(mechanisms):
        raise InputError(f"output must be a list with one output for each of {len(mechanisms)} mechanisms.")
    return output


def _summed_epsilon(mechanisms: Sequence[object]) -> float:
    return math.fsum(float(getattr(mechanism, "epsilon", math.inf)) for mechanism in mechanisms)


def _all_outputs(kernels: Sequence[Array]) -> Array:
    """Products of the columns of all kernels, row by row."""
    size = len(kernels[0]) * math.prod(kernel.shape[1] for kernel in kernels)
    if size > _PROBABILITIES:
        raise InputError(
            f"The releases together have {size} probabilities of outputs, more than {_PROBABILITIES}. Pass fewer."
        )
    rows = kernels[0]
    for kernel in kernels[1:]:
        rows = (rows[:, :, None] * kernel[:, None, :]).reshape(len(rows), -1)
    return rows


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
            f"darrm.measures.CountKernel. Got {name_of(mechanism)}. "
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
    """What one output of a mechanism says about every label.

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
    """
    if isinstance(mechanism, type) or not isinstance(mechanism, _HasPosterior | OfCounts):
        raise InputError(
            "mechanism must be one of darrm.mechanisms with a posterior, or a darrm.measures.CountKernel. "
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
    return leave_one_out.posterior(eta, _of_columns(mechanism, bags, output))


def _of_columns(mechanism: OfCounts, bags: Array, output: ArrayLike) -> Array:
    """Pr[output | l ones] for the output of each bag, shape (n, k + 1)."""
    kernel = mechanism.kernel(bags.shape[1])
    columns = array("output", output, None, 0, kernel.shape[1] - 1, "[]", wholes=True)
    columns = leave_one_out.one_a_bag(columns, len(bags))
    return np.asarray(kernel[:, columns.astype(np.intp)].T)
