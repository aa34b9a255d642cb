"""Releasing the majority of private votes."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm.design.design import Design
from darrm.errors import InputError
from darrm.mechanisms.coin import Coins, Words, WordSource, system_words

_CHUNK = 1 << 16


class NotPrivateWarning(UserWarning):
    """A release drew from a generator that can be seeded, so it can be predicted and protects nobody."""


def word_source(rng: np.random.Generator | None, stacklevel: int) -> WordSource:
    """Words of the operating system; or of a generator, with a `NotPrivateWarning`."""
    if rng is None:
        return system_words
    warnings.warn(
        "Labels drawn from a given generator can be predicted: they are not private. For tests only.",
        NotPrivateWarning,
        stacklevel=stacklevel,
    )

    def draw(n: int) -> Words:
        return rng.integers(0, 1 << 64, size=n, dtype=np.uint64)

    return draw


class DaRRM:
    """Data-dependent randomized response on the majority (DaRRM).

        Pr[release 1 | l ones of K] = (1 + gamma(l)) / 2 for l > K/2,  (1 - gamma(l)) / 2 for l < K/2,  1/2 on a tie

    One release is (m epsilon, delta)-DP for the design's problem. What several releases cost depends on whether the
    voters are fresh (they draw new randomness at every query) or fixed (made private once, then they answer): for fixed
    voters the costs of single releases must not be added up.

    Parameters
    ----------
    design : Design
        From `darrm.solve`, `darrm.load` or `darrm.Design`, which hold only verified noise functions.

    Notes
    -----
    Algorithm 1 of Jiang, Zhang, Joshi (TMLR 2024), with one exact coin in place of two: the bias of each coin is the
    rational number above, to the last bit (`darrm.mechanisms.coin`).
    """

    def __init__(self, design: Design) -> None:
        if not isinstance(design, Design):
            raise InputError(f"DaRRM takes a Design from darrm.solve or darrm.load. Got {type(design).__name__}.")
        self.design = design
        K = design.problem.K
        half = Fraction(1, 2)
        biases = [
            half + half * ((2 * l > K) - (2 * l < K)) * Fraction(value) for l, value in enumerate(design.gamma.tolist())
        ]
        self._coins = Coins(biases)

    def __repr__(self) -> str:
        return f"DaRRM({self.design!r})"

    def release(self, votes: ArrayLike, rng: np.random.Generator | None = None) -> NDArray[np.uint8]:
        """One private label for each row of votes.

        Parameters
        ----------
        votes : array_like, shape (n, K), values 0 and 1 (integers, booleans or floats)
        rng : numpy.random.Generator, optional
            For tests only: the labels can then be predicted, which a `NotPrivateWarning` says. Without it, all
            randomness comes from the operating system.

        Returns
        -------
        ndarray of uint8, shape (n,)

        Raises
        ------
        InputError
            If the shape is wrong or a vote is not 0 or 1.
        """
        K = self.design.problem.K
        array = np.asarray(votes)
        one = f" For one query pass [votes], of shape (1, {K})." if array.shape == (K,) else ""
        if array.ndim != 2 or array.shape[1] != K:
            raise InputError(f"votes must have shape (n, K) = (n, {K}), one row a query. Got {array.shape}.{one}")
        if array.dtype.kind not in "biuf":
            raise InputError(f"votes must be numbers 0 and 1. Got dtype {array.dtype}.")
        counts = np.empty(len(array), dtype=np.int32)
        for start in range(0, len(array), _CHUNK):
            chunk = array[start : start + _CHUNK]
            binary = chunk if chunk.dtype == np.bool_ else (chunk == 0) | (chunk == 1)
            if chunk.dtype != np.bool_ and not binary.all():
                row, column = np.argwhere(~binary)[0]
                raise InputError(
                    f"A vote must be 0 or 1. Got {chunk[row, column].item()!r} in row {start + row}, column {column}."
                )
            counts[start : start + _CHUNK] = np.count_nonzero(chunk, axis=1)
        return self._flip(counts, rng)

    def release_counts(self, counts: ArrayLike, rng: np.random.Generator | None = None) -> NDArray[np.uint8]:
        """One private label for each number of ones.

        Parameters
        ----------
        counts : array_like of int, shape (n,), in [0, K]
        rng : numpy.random.Generator, optional
            As in `release`.

        Returns
        -------
        ndarray of uint8, shape (n,)

        Raises
        ------
        InputError
            If the shape is wrong or a count is not a whole number in [0, K].
        """
        K = self.design.problem.K
        array = np.asarray(counts)
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            raise InputError(f"counts must be whole numbers of shape (n,). Got {array.dtype} of shape {array.shape}.")
        if array.size and not (array.min() >= 0 and array.max() <= K):
            raise InputError(f"counts must be in [0, K] = [0, {K}]. Got {array.min()} to {array.max()}.")
        return self._flip(array, rng)

    def kernel(self, k: int) -> NDArray[np.float64]:
        """Pr[label = o | l ones], shape (K + 1, 2): [l, o]; ``k`` must be K."""
        problem = self.design.problem
        if k != problem.K:
            raise InputError(f"eta must have one value for each of K = {problem.K} voters. Got {k}.")
        l = np.arange(k + 1)
        tilt = np.sign(2 * l - k) * self.design.gamma
        return np.stack([1 - tilt, 1 + tilt], axis=1) / 2

    def _flip(self, counts: NDArray[np.integer], rng: np.random.Generator | None) -> NDArray[np.uint8]:
        draw = word_source(rng, stacklevel=4)
        labels = np.empty(counts.size, dtype=np.uint8)
        for start in range(0, counts.size, _CHUNK):
            chunk = counts[start : start + _CHUNK].astype(np.intp)
            labels[start : start + _CHUNK] = self._coins.flip(chunk, draw)
        return labels
