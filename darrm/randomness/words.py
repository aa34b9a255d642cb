"""The source of random words: the operating system, or a generator passed by a test, with a warning."""

from __future__ import annotations

import warnings

import numpy as np

from darrm.randomness.coins import Words, WordSource, system_words


class NotPrivateWarning(UserWarning):
    """A release drew from a generator that can be seeded, so it can be predicted and is not private."""


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
