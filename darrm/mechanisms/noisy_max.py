"""Report noisy max: the label with most votes after noise, for non-private teachers (PATE)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from fractions import Fraction
from functools import partial
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import check_count, check_orders, check_positive
from darrm.errors import InputError
from darrm.mechanisms.counted_votes import OfCounts, Sparse, checked_votes
from darrm.mechanisms.filed import Filed
from darrm.mechanisms.label_chances import GAUSSIAN, LAPLACE, Chances, Noise, of_noise
from darrm.mechanisms.label_key import Key, LabelKey, keyed_words, law_of
from darrm.numerics.arrays import Array
from darrm.randomness.choices import uniform
from darrm.randomness.coins import WordSource, of_rows
from darrm.randomness.digits import Deviates, gaussian, laplace, winners
from darrm.randomness.keyed import KeyedWords
from darrm.randomness.others import BELOW_GAUSSIAN, BELOW_LAPLACE, Below, beyond
from darrm.randomness.words import word_source
from darrm.votes.rows import Texts

_MOST = Fraction(10) ** 300
_AT_ONCE = 1 << 22  # deviates, for memory: some 400 MB
_KEYED = 1 << 16  # the same by key


class Draw(Protocol):
    """Draws n independent deviates of one law from words."""

    def __call__(self, n: int, words: WordSource) -> Deviates: ...


class NoisyMax(OfCounts, ABC):
    """Noisy max, the class with the largest noisy count: exact label probabilities, and labels sampled by them."""

    _law: ClassVar[Noise]
    _draw: ClassVar[Draw]
    _below: ClassVar[Below]

    @property
    @abstractmethod
    def _rate(self) -> Fraction:
        """One vote in units of the noise scale."""

    def _chances(self, votes: NDArray[np.int64]) -> Chances:
        """Those of checked votes, with what is proved of their error."""
        return of_noise(self._law, float(min(self._rate, _MOST)), votes)

    def release(
        self,
        counts: ArrayLike | Sparse,
        rng: np.random.Generator | None = None,
        *,
        key: Key | None = None,
        ids: Iterable[str] | None = None,
    ) -> NDArray[np.int64]:
        """One private label for each row of counts.

        Parameters
        ----------
        counts : array_like of integers >= 0, shape (n, classes), or such an array of scipy.sparse
            Votes for each class, one row a query; a single query is one row, shape (1, classes). These are not labels
            of voters: a row of labels would be read as counts of that many classes. ``darrm.votes.counts(votes,
            classes)`` counts labels. Rows must have ``K`` votes for ``classes`` classes if the mechanism has them. If
            not, rows of one call must still have as many votes each. An error depends on the number of votes only, and
            not on their classes.
        rng : numpy.random.Generator, optional
            For tests only: the labels can then be predicted, which a `NotPrivateWarning` says. Without it, all
            randomness comes from the operating system.
        key : LabelKey or path, optional
            Compute the noise of each row from this key and its id, so that the same row has the same label in every
            call. The guarantee is then computational and rests on the key, which must be as secret as the votes; an id
            must stand for one row of votes: see `LabelKey`.
        ids : iterable of str, optional
            With a key, one for each row.

        Returns
        -------
        ndarray of int, shape (n,)
            Classes from 0 on.

        Raises
        ------
        InputError

        Notes
        -----
        The noise is continuous, and no digit of it is rounded: each label has exactly the probabilities of the formula
        (`darrm.randomness.digits`). 10,000 rows of ten classes take .05 s, with a key less than 1 s.

        Sparse counts may have ten million classes (``darrm.votes.counts(votes, classes, sparse=True)``), and give
        labels of the same probabilities. A class without votes can win too. Whether one of them does is one draw for
        all (`darrm.randomness.others`), so time does not depend on their number: less than .1 ms a label of 100 voters.
        They take no key: a row would have another label by its sparse counts than by all of them.
        """
        votes = self._to_release(counts)
        if key is None and ids is None:
            return self._labels(votes, word_source(rng, stacklevel=3))
        return self._labels(votes, keyed_words(key, ids, rng, self._law_bytes(), _dense(votes)))

    def _labels_and_tags(self, counts: ArrayLike, ids: Texts, key: LabelKey) -> tuple[NDArray[np.int64], bytes]:
        """The labels of rows by a key, and the tags by which a ledger knows the rows."""
        votes = _dense(self._to_release(counts))
        words = key._rows(self._law_bytes(), votes, ids)
        return self._labels(votes, KeyedWords(words)), words.tags

    def _law_bytes(self) -> bytes:
        """What stands for the mechanism where randomness is computed from a key."""
        noise = [float(getattr(self, name)).hex() for name in self._parameters]
        classes = self.classes if self.problem is None else self.problem.classes  # names, by which labels are written
        return law_of([type(self).__name__, noise, self.K, classes])

    def _labels(self, votes: NDArray[np.int64] | Sparse, words: WordSource) -> NDArray[np.int64]:
        if not isinstance(votes, np.ndarray):
            return self._sparse_labels(votes, words)
        classes = votes.shape[1]
        step = max(1, (_KEYED if isinstance(words, KeyedWords) else _AT_ONCE) // classes)
        labels = np.zeros(len(votes), dtype=np.int64)
        for start in range(0, len(votes), step):
            some = votes[start : start + step]
            own = of_rows(words, np.repeat(np.arange(start, start + len(some)), classes))
            behind = some.max(axis=1, keepdims=True) - some
            labels[start : start + step] = winners(behind, self._rate, partial(type(self)._draw, words=own))
        return labels

    def _sparse_labels(self, votes: Sparse, words: WordSource) -> NDArray[np.int64]:
        """Rows with as many classes that have votes at once."""
        n, classes = votes.shape
        labels, voted = np.zeros(n, dtype=np.int64), np.diff(votes.indptr)
        for k in np.unique(voted).tolist():
            rows = np.flatnonzero(voted == k)
            step = max(1, _AT_ONCE // max(k, 1))
            for start in range(0, rows.size, step):
                some = rows[start : start + step]
                places = votes.indptr[some].astype(np.int64)[:, None] + np.arange(k)
                labels[some] = self._largest(votes.data[places], votes.indices[places].astype(np.int64), classes, words)
        return labels

    def _largest(
        self, counts: NDArray[np.int64], of: NDArray[np.int64], classes: int, words: WordSource
    ) -> NDArray[np.int64]:
        """Labels of rows with ``counts`` votes for the classes ``of``, sorted, and with no vote for any other class."""
        n, k = counts.shape
        others, labels = np.ones(n, dtype=np.bool_), np.zeros(n, dtype=np.int64)
        if k:
            noise = type(self)._draw(counts.size, words)
            best = winners(counts.max(axis=1, keepdims=True) - counts, self._rate, lambda _: noise)
            row = np.arange(n)
            labels = of[row, best]
            lead = counts[row, best], self._rate
            others = beyond(noise, best + k * row, lead, classes - k, type(self)._below, words)
        at = np.flatnonzero(others)
        # All classes without votes are alike. Of these, number r stands after the voted ones of which it is ahead.
        r = uniform(np.full(at.size, classes - k), words)
        labels[at] = r + np.count_nonzero(of[at] - np.arange(k) <= r[:, None], axis=1)
        return labels

    def chances(self, counts: ArrayLike) -> Array:
        """Pr[label | counts] for every class: those of `release`.

        Parameters
        ----------
        counts : array_like of integers >= 0, shape (n, classes)

        Returns
        -------
        ndarray, shape (n, classes)
            Each right to a relative 1e-12 times the number of classes, but for at most 1e-24 times that. These
            probabilities are for whoever may know the votes.

        Raises
        ------
        InputError
            Where the sums have more than 1e10 terms.

        Notes
        -----
        As `darrm.measures.noisy_max_probabilities`. O(n classes^1.5) for Gaussian noise, O(n classes^2) for exponential
        noise, and for Laplace noise the same times the number of distinct counts.
        """
        return self._chances(checked_votes(counts)).values


def _dense(votes: NDArray[np.int64] | Sparse) -> NDArray[np.int64]:
    """Counts of every class: those by which a key knows a row."""
    if isinstance(votes, np.ndarray):
        return votes
    raise InputError(
        "Sparse counts take no key: a row would have another label by them than by all counts. Pass all counts "
        "(darrm.votes.counts without sparse), or leave the key out."
    )


class GaussianNoisyMax(NoisyMax, Filed):
    """GNMax: the largest of counts + Gaussian noise of standard deviation sigma.

        (lambda, lambda / sigma^2)-RDP for every lambda > 1

    Parameters
    ----------
    sigma : float > 0
    K : int, optional
    classes : int, or names, optional
        With both, `release` takes only rows of K votes for that many classes, and totals of `darrm.accounting.compose`
        are for these: exact ones where the votes can be listed. Without them ``rdp`` and totals are for any number of
        both.
    voters : sequence of K names, optional
        The names of the voters' columns in votes files.
    max_affected : int, default 1
        How many votes of each label one record can change. With more than one, totals are those of any votes.

    Attributes
    ----------
    problem : VoterModel or None
        The K voters, whose votes are not private, of which ``max_affected`` can change, and their classes.

    Raises
    ------
    InputError

    Notes
    -----
    Section 4.1 of Papernot et al. (ICLR 2018). One changed vote moves two counts by 1: 2 / (2 sigma^2) an order.
    `darrm.accounting.gnmax_sigma` finds sigma. The probabilities of the labels are
    `darrm.measures.noisy_max_probabilities`, what one label leaks about one vote is at most
    `darrm.measures.leakage_bound`; both take sigma.

    Examples
    --------
    Two queries to ten voters: the probabilities of their labels, and labels.

    >>> import darrm
    >>> mechanism = darrm.mechanisms.GaussianNoisyMax(sigma=4.0, K=10, classes=3)
    >>> mechanism.chances([[6, 3, 1], [10, 0, 0]]).round(3).tolist()
    [[0.623, 0.253, 0.124], [0.931, 0.034, 0.034]]
    >>> mechanism.release([[6, 3, 1], [10, 0, 0]]).shape
    (2,)

    The Renyi divergences of one label:

    >>> mechanism.rdp([2.0, 4.0]).tolist()
    [0.125, 0.25]
    """

    _parameters, _law, _draw, _below = ("sigma",), GAUSSIAN, staticmethod(gaussian), BELOW_GAUSSIAN

    def __init__(
        self,
        sigma: float,
        *,
        K: int | None = None,
        classes: int | Iterable[str] | None = None,
        voters: Iterable[str] | None = None,
        max_affected: int = 1,
    ) -> None:
        self.sigma = check_positive("sigma", sigma)
        self.max_affected = check_count("max_affected", max_affected)
        super().__init__(K, classes, voters)

    @property
    def _rate(self) -> Fraction:
        return 1 / Fraction(self.sigma)

    def rdp(self, orders: ArrayLike) -> Array:
        """lambda max_affected^2 / sigma^2 for one label, for any number of votes and classes; nats."""
        wide = self.sigma / self.max_affected
        return np.asarray(check_orders(orders) / wide / wide)


class LaplaceNoisyMax(NoisyMax):
    """The largest of counts + Laplace noise of scale 1 / gamma.

        (2 gamma, 0)-DP for one changed vote

    Parameters
    ----------
    gamma : float > 0
    K, classes : int, optional
        `release` takes only rows of K votes for that many classes. Labels charged by `darrm.accounting.compose` need
        both, because its totals are for one K and one number of classes: labels of more or fewer votes can cost more.
        Without them only ``epsilon`` holds for every release: it is for any number of both.

    Raises
    ------
    InputError

    Notes
    -----
    Papernot et al. (ICLR 2017). Given the noise of all others, a class wins if its own noise reaches a threshold. One
    changed vote moves that by at most 2, and the probability to reach it by a factor of at most e^(2 gamma).

    The probabilities of the labels are `darrm.measures.noisy_max_probabilities`, and what one label leaks about one
    vote is at most `darrm.measures.leakage_bound`; both take gamma.

    Examples
    --------
    Two queries to ten voters, one label of epsilon 1 each: their probabilities, and labels.

    >>> import darrm
    >>> mechanism = darrm.mechanisms.LaplaceNoisyMax(gamma=0.5, K=10, classes=3)
    >>> mechanism.chances([[6, 3, 1], [10, 0, 0]]).round(3).tolist()
    [[0.763, 0.177, 0.06], [0.979, 0.01, 0.01]]
    >>> mechanism.release([[6, 3, 1], [10, 0, 0]]).shape
    (2,)
    """

    _parameters, _law, _draw, _below = ("gamma",), LAPLACE, staticmethod(laplace), BELOW_LAPLACE

    def __init__(self, gamma: float, *, K: int | None = None, classes: int | None = None) -> None:
        self.gamma = check_positive("gamma", gamma)
        super().__init__(K, classes)

    @property
    def _rate(self) -> Fraction:
        return Fraction(self.gamma)

    @property
    def epsilon(self) -> float:
        """2 gamma, the epsilon of one label for any number of votes and classes; nats."""
        return 2 * self.gamma
