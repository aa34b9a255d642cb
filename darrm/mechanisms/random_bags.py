"""Labels in bags: random bags of a data set, and what label mechanisms share: the checks of labels and of epsilon."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import MAX_EPSILON, MAX_SIZE, array, plain, real, whole
from darrm.errors import InputError
from darrm.randomness.coins import system_words

_LEAST = 1e-9  # epsilon: below, nothing of the label is left


class Bags(NamedTuple):
    """Disjoint bags of indices of a data set.

    Attributes
    ----------
    indices : ndarray of int, shape (bags, size)
        One row a bag; no index twice.
    remainder : ndarray of int, shape (n mod size,)
        The examples in no bag.
    """

    indices: NDArray[np.intp]
    remainder: NDArray[np.intp]


def bags(n: int, size: int, rng: np.random.Generator | None = None) -> Bags:
    """Random disjoint bags of equal size from a data set.

    Parameters
    ----------
    n : int >= 1
        Examples.
    size : int in [1, n]
        Examples of a bag.
    rng : numpy.random.Generator, optional
        Makes the bags reproducible. By default the operating system draws them.

    Returns
    -------
    Bags
        ``indices`` (n // size, size) and the ``remainder``.

    Raises
    ------
    InputError

    Notes
    -----
    Section 2 of Busa-Fekete et al. (NeurIPS 2024). One guarantee rests on the shuffle: `darrm.labels.random_bag_delta`,
    which is a mean over uniformly random bags. A generator whose seed is public, or was chosen after a look at the
    bags, voids it. All other measures take the bags as known, and label differential privacy holds for any bags that do
    not depend on the labels, so there is no warning.

    Examples
    --------
    Two bags of four of ten examples, and two that are left:

    >>> import darrm
    >>> bags = darrm.mechanisms.bags(10, 4)
    >>> bags.indices.shape, bags.remainder.size
    ((2, 4), 2)
    >>> sorted([*bags.indices.flat, *bags.remainder]) == list(range(10))
    True
    """
    n = whole("n", n, high=MAX_SIZE)
    size = whole("size", size, 1, n, allowed=f"in [1, n] = [1, {n}], n the number of examples")
    # Two words are equal, and their order not random, with a probability below n^2 / 2^65.
    order = np.argsort(system_words(n), kind="stable") if rng is None else rng.permutation(n)
    order = order.astype(np.intp)
    used = n - n % size
    return Bags(order[:used].reshape(-1, size), order[used:])


def check_epsilon(epsilon: object) -> float:
    """``epsilon`` as a float, refused unless it is in [1e-9, 1e6]."""
    return real("epsilon", epsilon, _LEAST, MAX_EPSILON)


def check_labels(labels: ArrayLike, name: str = "labels") -> NDArray[np.uint8]:
    """Labels 0 and 1, or truth values, of one bag (k,) or many (n, k) as uint8; `InputError` if they are none."""
    given = plain(name, labels, "integers in [0, 1]")
    truth = given if given.dtype == np.bool_ else array(name, given, None, 0, 1, "[]", wholes=True)
    if truth.ndim not in (1, 2) or not truth.size:
        raise InputError(f"{name} must have shape (k,) for one bag or (n, k) for n bags. Got shape {truth.shape}.")
    return truth.astype(np.uint8)


class ByEpsilon:
    """A label mechanism that epsilon alone tells from others of its kind."""

    def __init__(self, epsilon: float) -> None:
        self.epsilon = check_epsilon(epsilon)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(epsilon={self.epsilon!r})"

    def __reduce__(self) -> tuple[type[Self], tuple[float]]:
        return type(self), (self.epsilon,)  # what draws the noise holds a function, which cannot be pickled
