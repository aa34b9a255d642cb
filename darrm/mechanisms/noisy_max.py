"""Report noisy max: the label with most votes after noise, for non-private teachers (PATE)."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import check_orders, check_positive
from darrm.design.columns import check_design_file
from darrm.design.content import headed
from darrm.errors import InputError
from darrm.mechanisms.counted_votes import OfCounts, checked_votes
from darrm.mechanisms.label_chances import GAUSSIAN, LAPLACE, Chances, Noise, of_noise
from darrm.mechanisms.label_key import Key, LabelKey, keyed_words, law_of
from darrm.numerics.arrays import Array
from darrm.randomness.coins import WordSource
from darrm.randomness.digits import Deviates, gaussian, laplace, winners
from darrm.randomness.keyed import KeyedWords
from darrm.randomness.words import word_source
from darrm.storage import sealed_json
from darrm.votes.rows import Texts

FORMAT, VERSION = "darrm-mechanism", 1
_MOST = Fraction(10) ** 300
_AGAIN = "Write it again with GaussianNoisyMax.save (darrm plan --out)."
_AT_ONCE = 1 << 22  # deviates, for memory: some 400 MB


class Draw(Protocol):
    """Draws n independent deviates of one law from words."""

    def __call__(self, n: int, words: WordSource) -> Deviates: ...


class NoisyMax(OfCounts, ABC):
    """Noisy max, the class with the largest noisy count: exact label probabilities, and labels sampled by them."""

    _law: ClassVar[Noise]
    _draw: ClassVar[Draw]

    @property
    @abstractmethod
    def _rate(self) -> Fraction:
        """One vote in units of the noise scale."""

    def _chances(self, votes: NDArray[np.int64]) -> Chances:
        """Those of checked votes, with what is proved of their error."""
        return of_noise(self._law, float(min(self._rate, _MOST)), votes)

    def release(
        self,
        counts: ArrayLike,
        rng: np.random.Generator | None = None,
        *,
        key: Key | None = None,
        ids: Iterable[str] | None = None,
    ) -> NDArray[np.int64]:
        """One private label for each row of counts.

        Parameters
        ----------
        counts : array_like of integers >= 0, shape (n, classes)
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
        (`darrm.randomness.digits`). 10,000 rows of ten classes take .05 s, with a key some 15 s.
        """
        votes = self._to_release(counts)
        if key is None and ids is None:
            return self._labels(votes, word_source(rng, stacklevel=3))
        return self._labels(votes, keyed_words(key, ids, rng, self._law_bytes(), votes))

    def _labels_and_tags(self, counts: ArrayLike, ids: Texts, key: LabelKey) -> tuple[NDArray[np.int64], bytes]:
        """The labels of rows by a key, and the tags by which a ledger knows the rows."""
        votes = self._to_release(counts)
        words = key._rows(self._law_bytes(), votes, ids)
        return self._labels(votes, KeyedWords(words)), words.tags

    def _law_bytes(self) -> bytes:
        """What stands for the mechanism where randomness is computed from a key."""
        noise = [float(getattr(self, name)).hex() for name in self._parameters]
        return law_of([type(self).__name__, noise, self.K, self.classes])

    def _labels(self, votes: NDArray[np.int64], words: WordSource) -> NDArray[np.int64]:
        # With a key each row draws its own words, as many as it takes.
        step = 1 if isinstance(words, KeyedWords) else max(1, _AT_ONCE // votes.shape[1])
        labels = np.zeros(len(votes), dtype=np.int64)
        for start in range(0, len(votes), step):
            some, own = votes[start : start + step], words.row(start) if isinstance(words, KeyedWords) else words
            behind = some.max(axis=1, keepdims=True) - some
            labels[start : start + step] = winners(behind, self._rate, partial(type(self)._draw, words=own))
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


class GaussianNoisyMax(NoisyMax):
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

    Attributes
    ----------
    problem : VoterModel or None
        The K voters, whose votes are not private, of which one can change, and their classes.

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

    _parameters, _law, _draw = ("sigma",), GAUSSIAN, staticmethod(gaussian)

    def __init__(
        self,
        sigma: float,
        *,
        K: int | None = None,
        classes: int | Iterable[str] | None = None,
        voters: Iterable[str] | None = None,
    ) -> None:
        self.sigma = check_positive("sigma", sigma)
        super().__init__(K, classes, voters)

    @property
    def _rate(self) -> Fraction:
        return 1 / Fraction(self.sigma)

    def as_dict(self) -> dict[str, object]:
        """The mechanism as plain JSON values: those of its file."""
        model = self.problem
        given = {} if model is None else {"K": model.K, "classes": model.classes, "voters": model.voters}
        return {"mechanism": type(self).__name__, "sigma": self.sigma, **given}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the mechanism, its voters and classes to a file that `load` and `darrm release` read.

        Raises
        ------
        InputError
            If it has no K and classes, or the name ends as that of a table.
        OutputError
            If the path cannot be written.
        """
        if self.problem is None:
            raise InputError(
                "A file of noisy max holds the numbers of voters and classes. Got a mechanism for any. Make it with K "
                "and classes."
            )
        check_design_file(path)
        sealed_json.write(path, headed(self.as_dict(), FORMAT, VERSION))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> GaussianNoisyMax:
        """Read a file of `save`.

        Raises
        ------
        InputError
            If the file is missing, foreign, truncated or edited.

        Examples
        --------
        >>> import darrm
        >>> darrm.mechanisms.GaussianNoisyMax(sigma=4.0, K=10, classes=["cat", "dog"]).save("noisy.json")
        >>> darrm.mechanisms.GaussianNoisyMax.load("noisy.json")
        GaussianNoisyMax(sigma=4.0, K=10, classes=('cat', 'dog'))
        """
        name = Path(path)
        content = sealed_json.read(name, FORMAT, VERSION, "mechanism", _AGAIN)
        given = {
            key: value for key, value in content.items() if key not in ("format", "version", "made_with", "sha256")
        }
        try:
            if given.pop("mechanism") != cls.__name__:
                raise InputError(f"its mechanism is not {cls.__name__}")
            made = cls(**given)
            if made.problem is None:
                raise InputError("K and classes are missing")
            return made
        except (KeyError, TypeError, InputError) as error:
            raise InputError(f"{name} is not a valid file of noisy max ({error}). {_AGAIN}") from error

    def rdp(self, orders: ArrayLike) -> Array:
        """lambda / sigma^2 for one label, for any number of votes and classes; nats."""
        return np.asarray(check_orders(orders) / self.sigma / self.sigma)


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

    _parameters, _law, _draw = ("gamma",), LAPLACE, staticmethod(laplace)

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
