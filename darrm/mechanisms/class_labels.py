"""Labels of more than two classes: checks of classes, of labels and of their probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import MAX_CLASSES, array, whole
from darrm.errors import InputError
from darrm.numerics.arrays import Array

Labels = NDArray[np.uint8] | NDArray[np.uint16]


def check_classes(classes: object) -> int:
    """``classes`` as an int, refused unless it is an integer in [2, 1000]."""
    return whole("classes", classes, 2, MAX_CLASSES)


def check_class_labels(labels: ArrayLike, classes: int) -> Labels:
    """Labels in 0..classes - 1, shape (k,) or (n, k), in the least of uint8 and uint16 that holds them."""
    truth = array("labels", labels, None, 0, classes - 1, "[]", wholes=True)
    if truth.ndim not in (1, 2) or not truth.size:
        raise InputError(f"labels must have shape (k,) for one bag or (n, k) for n bags. Got shape {truth.shape}.")
    return as_labels(truth, classes)


def as_labels(numbers: NDArray[Any], classes: int) -> Labels:
    """Numbers in 0..classes - 1 in the least of uint8 and uint16 that holds them; a copy."""
    return numbers.astype(np.uint8) if classes <= 256 else numbers.astype(np.uint16)


def joined(parts: Sequence[Labels]) -> Labels:
    """Labels one after the other."""
    every: list[Any] = list(parts)  # all of one type
    whole: Labels = every[0] if len(every) == 1 else np.concatenate(every)
    return whole


def check_class_probabilities(eta: ArrayLike, classes: int) -> tuple[Array, bool]:
    """Probabilities of all classes, shape (n, classes), rows of sum 1 within 1e-9; and whether one row came alone."""
    rows = array("eta", eta, None, 0, 1, "[]")
    if rows.ndim not in (1, 2) or rows.shape[-1] != classes or not rows.size:
        raise InputError(
            f"eta must have shape (n, {classes}), or ({classes},) for one label: a probability for each class. "
            f"Got shape {rows.shape}."
        )
    if not np.all(np.abs(rows.sum(axis=-1) - 1) <= 1e-9):
        raise InputError("eta must have rows that sum to 1 within 1e-9: a probability for each class.")
    return np.atleast_2d(rows), rows.ndim == 1
