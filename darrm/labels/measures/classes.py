"""Measures for labels of more than two classes that are released one by one.

W(c, o) = Pr[output = o | y = c] is the kernel of one label, eta (n, C) the probabilities of its classes before.
`darrm.labels.individual_advantage` and the others come here if the kernel has more than two rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from darrm.labels.measures.kernels import OfLabels
from darrm.mechanisms.class_labels import check_class_probabilities
from darrm.numerics.arrays import Array
from darrm.numerics.leave_one_out import by_parts, slices


def kernel_of_classes(mechanism: object) -> Array | None:
    """Output probabilities of one label, shape (C, outcomes), if there are more than two classes."""
    if not isinstance(mechanism, OfLabels) or isinstance(mechanism, type):
        return None
    kernel = mechanism.label_kernel()
    return kernel if len(kernel) > 2 else None


def individual(kernel: Array, eta: ArrayLike) -> Array:
    """sum over o of max over c of eta_c W(c, o)  -  max over c of eta_c, shape (n,).

    Computed as what other classes gain over the likeliest, so that nothing cancels. O(n C outcomes).
    """
    rows, single = check_class_probabilities(eta, len(kernel))

    def part(at: slice) -> Array:
        p = rows[at]
        likeliest = p.argmax(axis=1)
        joint = p[:, :, None] * kernel
        gains = joint - np.take_along_axis(joint, likeliest[:, None, None], axis=1)
        return np.asarray(gains.max(axis=1).sum(axis=1))

    answer = by_parts(len(rows), kernel.size, part)
    return np.asarray(answer[0]) if single else answer


def variation(kernel: Array, eta: ArrayLike) -> Array:
    """Largest total variation between the outputs of two classes, for every label: shape (n,). O(C^2 outcomes)."""
    largest = max(float(np.maximum(kernel - row, 0).sum(axis=1).max()) for row in kernel)
    return _of_every_label(min(largest, 1), kernel, eta)


def leakage(kernel: Array, eta: ArrayLike) -> Array:
    """log sum over o of max over c of W(c, o), nats, for every label: shape (n,)."""
    return _of_every_label(max(0.0, float(np.log(kernel.max(axis=0).sum()))), kernel, eta)


def _of_every_label(value: float, kernel: Array, eta: ArrayLike) -> Array:
    rows, single = check_class_probabilities(eta, len(kernel))
    return np.asarray(value) if single else np.full(len(rows), value)


def log_ratios(kernel: Array, eta: ArrayLike, most: float, tiny: float) -> tuple[Array, Array]:
    """Largest change of the log odds of two possible classes, for each label and output, and its probability.

    max over a, b with eta_a, eta_b > 0 of log W(a, o) / W(b, o),      both of shape (n, outcomes), weights of sum 1
    """
    rows, _ = check_class_probabilities(eta, len(kernel))
    values, weights = np.empty((2, len(rows), kernel.shape[1]))
    for at in slices(len(rows), kernel.size):
        p = rows[at]
        possible = p[:, :, None] > 0
        high = np.where(possible, kernel, 0).max(axis=1)
        low = np.where(possible, kernel, np.inf).min(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.minimum(np.log(high) - np.log(low), most)
        values[at] = np.where((high > tiny) & (possible.sum(axis=1) > 1), ratio, 0)
        weights[at] = p @ kernel
    return values, weights / len(rows)
