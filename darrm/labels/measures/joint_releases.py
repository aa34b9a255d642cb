"""Several releases of the same labels, seen as one mechanism."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import array, is_listed, plain, refusal
from darrm.errors import InputError
from darrm.labels.measures.kernels import OfCounts, OfLabels, of_columns
from darrm.mechanisms.class_labels import check_class_probabilities
from darrm.mechanisms.labelled_bag import check_unused_features
from darrm.numerics import leave_one_out
from darrm.numerics.arrays import Array

_PROBABILITIES = 2_000_000  # of the outputs of several releases
M = TypeVar("M", OfLabels, OfCounts)


class _Joint(Generic[M]):
    """Mechanisms that run on the same labels, each with fresh randomness."""

    def __init__(self, mechanisms: Sequence[M]) -> None:
        self.mechanisms: tuple[M, ...] = tuple(mechanisms)

    def __repr__(self) -> str:
        return f"joint({list(self.mechanisms)})"

    @property
    def epsilon(self) -> float:
        """Sum of the epsilons of label differential privacy, nats; infinite if a mechanism has none."""
        return math.fsum(float(getattr(mechanism, "epsilon", math.inf)) for mechanism in self.mechanisms)

    def _with_outputs(self, output: object) -> list[tuple[M, ArrayLike]]:
        """Each mechanism with its own output."""
        if not isinstance(output, list | tuple) or len(output) != len(self.mechanisms):
            raise InputError(f"output must be a list with one output for each of {len(self.mechanisms)} mechanisms.")
        return list(zip(self.mechanisms, output, strict=True))


class JointLabels(_Joint[OfLabels]):
    """Several mechanisms that answer each label separately, run on the same labels with fresh randomness."""

    def label_kernel(self) -> Array:
        """Pr[outputs = o | y = v], shape (2, outcomes): [v, o], o counts the pairs with the last output fastest."""
        return _all_outputs([mechanism.label_kernel() for mechanism in self.mechanisms])

    def posterior(self, eta: ArrayLike, output: Sequence[ArrayLike], X: ArrayLike | None = None) -> Array:
        """P(y_i = 1 | eta, all outputs), with one entry of ``output`` for each mechanism, as that releases it.

        The likelihoods of each label are multiplied before Bayes: one output may undo what another made near certain.
        """
        check_unused_features(X)
        logs = _log_likelihoods(self, output)
        if len(logs) == 2:
            rows, single = leave_one_out.as_bags(eta)
            prior = np.stack([1 - rows, rows])
        else:
            rows, single = check_class_probabilities(eta, len(logs))
            prior = rows.T
        if logs.shape[1:] not in (prior.shape[1:], prior.shape[2:] if single else ()):
            raise InputError(f"output must have one answer for each label of eta. Got shape {logs.shape[1:]}.")
        logs = np.where(prior > 0, logs.reshape(prior.shape), -np.inf)
        top = logs.max(axis=0)
        if not np.all(top > -np.inf):
            raise InputError("An output has probability 0 under eta in float64, so nothing follows from it.")
        weights = prior * np.exp(logs - top)
        after = weights / weights.sum(axis=0)
        answer = after[1] if len(logs) == 2 else after.T
        return np.asarray(answer[0] if single else answer)


class JointCounts(_Joint[OfCounts]):
    """Several mechanisms that see the number of ones of the same bag, run with fresh randomness; see `joint`."""

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
        for mechanism, seen in self._with_outputs(output):
            weights *= of_columns(mechanism, bags, seen)
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
    Exact, if every release has its own randomness. For labels: an output depends only on its label and its randomness,
    and the labels are independent given eta. For counts: given the number of ones the outputs are independent. (Given
    y_i they are not: the likelihoods of a label must not be multiplied, and are not.) Refused: randomized response
    beside sums (the answers for the others say something about the sum), and Laplace noise, whose two outputs have no
    closed form here. Not covered: sums of other bags for every release. They may reveal more than the measures state,
    and this function cannot detect such releases.

    Examples
    --------
    >>> import darrm
    >>> from darrm import mechanisms
    >>> twice = darrm.labels.joint([mechanisms.RandomizedResponse(1.0), mechanisms.RandomizedResponse(1.0)])
    >>> twice.epsilon
    2.0
    >>> round(darrm.labels.additive_advantage(twice, [0.5, 0.5]), 4)
    0.2311
    """
    if not is_listed(mechanisms):
        raise refusal("mechanisms", "a sequence of mechanisms", mechanisms)
    releases = list(mechanisms)
    instances = [mechanism for mechanism in releases if not isinstance(mechanism, type)]
    of_labels = [mechanism for mechanism in instances if isinstance(mechanism, OfLabels)]
    of_counts = [mechanism for mechanism in instances if isinstance(mechanism, OfCounts)]
    if releases and len(of_labels) == len(releases):
        classes = sorted({len(mechanism.label_kernel()) for mechanism in of_labels})
        if len(classes) > 1:
            raise InputError(f"mechanisms must all take labels of as many classes. Got {classes[0]} and {classes[-1]}.")
        return JointLabels(of_labels)
    if releases and len(of_counts) == len(releases):
        return JointCounts(of_counts)
    kinds = ", ".join(type(mechanism).__name__ for mechanism in releases) or "none"
    raise InputError(
        "mechanisms must all answer each label on its own, or all see the number of ones of the same bags, without "
        f"Laplace noise. Got {kinds}. Audit them one by one; their guaranteed epsilons add up."
    )


def _log_likelihoods(mechanism: OfLabels, output: Any) -> Array:
    """log Pr[output | y = v], shape (classes, *shape of the output): [v, ...]."""
    if isinstance(mechanism, JointLabels):
        logs = [_log_likelihoods(part, seen) for part, seen in mechanism._with_outputs(output)]
        shapes = {each.shape for each in logs}
        if len(shapes) > 1:
            raise InputError(f"output must have entries of one shape. Got {sorted(shape[1:] for shape in shapes)}.")
        return np.asarray(sum(logs))
    kernel = mechanism.label_kernel()
    given = plain("output", output, "one answer for each label")
    answers = given.astype(np.uint8) if given.dtype == np.bool_ else given
    columns = array("output", answers, None, 0, kernel.shape[1] - 1, "[]", wholes=True)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(kernel)[:, columns.astype(np.intp)])


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
