"""Releasing the majority of private votes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import array, not_a_design, whole
from darrm.design.design import Design
from darrm.errors import InputError
from darrm.mechanisms.class_labels import Labels
from darrm.mechanisms.coin_votes import CoinVotes
from darrm.mechanisms.released_votes import ReleasedVotes
from darrm.numerics.arrays import Array
from darrm.randomness.words import word_source


class DaRRM(ReleasedVotes):
    """Data-dependent randomized response on the majority (DaRRM).

        Pr[release 1 | l ones of K] = (1 + gamma(l)) / 2 for l > K/2,  (1 - gamma(l)) / 2 for l < K/2,  1/2 on a tie

    One release is (m epsilon, delta)-DP for the design's problem. What several releases cost depends on the voters.
    They are fresh if new coins make every answer private by themselves. They are fixed if they were made private once,
    and then answer: the costs of their single releases must not be added up. The same votes released twice are not
    fresh.

    Parameters
    ----------
    design : Design
        From `darrm.solve`, `darrm.load` or `darrm.Design`, which hold only verified noise functions.

    Notes
    -----
    Algorithm 1 of Jiang, Zhang, Joshi (TMLR 2024), with one exact coin in place of two. The bias of each coin is the
    rational number above, to the last bit (`darrm.randomness.coins`).

    Examples
    --------
    Two queries to five voters, one private label each:

    >>> import darrm
    >>> import numpy as np
    >>> mechanism = darrm.mechanisms.DaRRM(darrm.solve(K=5, m=1, epsilon=0.5))
    >>> votes = np.array([[1, 1, 1, 0, 1], [0, 0, 1, 0, 0]])
    >>> labels = mechanism.release(votes)
    >>> labels.shape, labels.dtype, set(labels.tolist()) <= {0, 1}
    ((2,), dtype('uint8'), True)

    The chances of labels 0 and 1, for 0 to 5 ones:

    >>> mechanism.kernel(5).round(2).tolist()
    [[1.0, 0.0], [0.8, 0.2], [0.6, 0.4], [0.4, 0.6], [0.2, 0.8], [0.0, 1.0]]
    """

    def __init__(self, design: Design) -> None:
        if not isinstance(design, Design):
            raise not_a_design("DaRRM takes a Design", design)
        self.design = design
        K = design.problem.K
        half = Fraction(1, 2)
        biases = [
            half + half * ((2 * l > K) - (2 * l < K)) * Fraction(value) for l, value in enumerate(design.gamma.tolist())
        ]
        super().__init__(design, CoinVotes(biases, ones=[1] * K))

    def __repr__(self) -> str:
        return f"DaRRM({self.design!r})"

    def release_counts(self, counts: ArrayLike, rng: np.random.Generator | None = None) -> Labels:
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
        ones = array("counts", counts, None, 0, K, "[]", wholes=True)
        if ones.ndim != 1:
            raise InputError(f"counts must be whole numbers of shape (n,). Got shape {ones.shape}.")
        return self._flip(ones.astype(np.intp), word_source(rng, stacklevel=3))

    def kernel(self, k: int) -> Array:
        """Pr[label = o | l ones], shape (K + 1, 2): [l, o]; ``k`` must be K."""
        problem = self.design.problem
        k = whole("k", k)
        if k != problem.K:
            raise InputError(f"k must be K: eta has one value for each of K = {problem.K} voters. Got {k}.")
        l = np.arange(k + 1)
        tilt = np.sign(2 * l - k) * self.design.gamma
        return np.stack([1 - tilt, 1 + tilt], axis=1) / 2
