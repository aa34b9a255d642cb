"""Confident-GNMax: a label of noisy max only where a noisy count is large, for non-private teachers (PATE 2018)."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from fractions import Fraction
from threading import Lock
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import check_count, check_orders, check_positive, real
from darrm.errors import InputError, LabelsEndedWarning
from darrm.mechanisms.counted_votes import Sparse, checked_votes
from darrm.mechanisms.filed import Filed
from darrm.mechanisms.label_chances import Chances
from darrm.mechanisms.noisy_max import GaussianNoisyMax
from darrm.numerics import normal
from darrm.numerics.arrays import Array
from darrm.numerics.printed import counted
from darrm.randomness.digits import gaussian, reach
from darrm.randomness.words import word_source


class ConfidentNoisyMax(Filed):
    """Confident-GNMax: a label of GNMax if the largest count + noise is at least a threshold, and "none" if it is not.

        max_j n_j + N(0, sigma_check^2) >= threshold,   then   argmax_j n_j + N(0, sigma^2) with fresh noise

    Parameters
    ----------
    threshold : float
        In votes.
    sigma_check, sigma : float > 0
        Standard deviations of the noise of the check and of each count.
    answers : int, optional
        The most labels that this object ever gives, fixed before the first query. A total by
        `darrm.accounting.compose` is for as many labels. Without it, each query may have a label.
    K : int, optional
    classes : int, or names, optional
        `release` takes only rows of K votes for that many classes. An exact total needs both. The totals of any votes
        hold without them.
    voters : sequence of K names, optional
        The names of the voters' columns in votes files.
    max_affected : int, default 1
        How many votes of each query one record can change. With more than one, totals are those of any votes.

    Attributes
    ----------
    given : int
        How many labels were given so far.
    problem : VoterModel or None
        The K voters, whose votes are not private, of which ``max_affected`` can change, and their classes.

    Raises
    ------
    InputError

    Notes
    -----
    Papernot, Song, Mironov, Raghunathan, Talwar, Erlingsson, "Scalable private learning with PATE" (ICLR 2018),
    Algorithm 1. One vote changes the largest count by 1 at most, so a check is a Gaussian mechanism of sensitivity
    ``max_affected``.

    With ``answers`` the object counts in memory: after a restart make it for the labels that are left, and count
    the queries of both. Copies would count apart, so it cannot be copied, pickled or saved then, nor release in a
    forked process.

    Examples
    --------
    Two queries to ten voters. The last column is "none", which has the number of classes as its label:

    >>> import darrm
    >>> mechanism = darrm.mechanisms.ConfidentNoisyMax(threshold=8, sigma_check=2.0, sigma=1.0, answers=20)
    >>> mechanism.chances([[6, 3, 1], [10, 0, 0]]).round(3).tolist()
    [[0.156, 0.003, 0.0, 0.841], [0.841, 0.0, 0.0, 0.159]]
    >>> mechanism.release([[6, 3, 1], [10, 0, 0]]).shape
    (2,)

    The noise of MNIST in the paper, 640 queries, and its number of labels as a cap, which must be fixed in advance:

    >>> mnist = darrm.mechanisms.ConfidentNoisyMax(threshold=200, sigma_check=150, sigma=40, answers=286)
    >>> mnist.rdp([10.0]).round(5).tolist()
    [0.00647]
    """

    _parameters = "threshold", "sigma_check", "sigma"

    def __init__(
        self,
        threshold: float,
        sigma_check: float,
        sigma: float,
        *,
        answers: int | None = None,
        K: int | None = None,
        classes: int | Iterable[str] | None = None,
        voters: Iterable[str] | None = None,
        max_affected: int = 1,
    ) -> None:
        self.threshold = real("threshold", threshold, ends="()")
        self.sigma_check = check_positive("sigma_check", sigma_check)
        self.sigma = check_positive("sigma", sigma)
        self.answers = None if answers is None else check_count("answers", answers)
        self.max_affected = check_count("max_affected", max_affected)
        super().__init__(K, classes, voters, none=True)
        self._label = GaussianNoisyMax(self.sigma)
        self._given: list[int] = [0]
        self._process = os.getpid()  # with ``answers``, the one process that may release
        self._one_at_a_time = Lock()

    def as_dict(self) -> dict[str, object]:
        """The mechanism as plain JSON values: those of its file, which has no cap, because a file cannot count."""
        return super().as_dict() | ({} if self.answers is None else {"answers": self.answers})

    @property
    def given(self) -> int:
        return self._given[0]

    def __repr__(self) -> str:
        plain = super().__repr__()
        return plain if self.answers is None else f"{plain[:-1]}, answers={self.answers})"

    def __reduce__(self) -> tuple[object, tuple[float, ...]]:
        if self.answers is None:
            return super().__reduce__()
        raise InputError(
            f"{self!r} cannot be copied or pickled: the copy would give {self.answers} labels too, beyond the total. "
            "Release by one object, or make one for the labels that are left."
        )

    def _chances(self, votes: NDArray[np.int64]) -> Chances:
        """Those of checked votes, of all classes and of "none", with what is proved of their error."""
        label = self._label._chances(votes)
        with np.errstate(over="ignore"):
            ahead = (votes.max(axis=1, keepdims=True) - self.threshold) / self.sigma_check
        values = np.concatenate([normal.distribution(ahead) * label.values, normal.distribution(-ahead)], axis=1)
        # Both factors err, and each of them may be below the range of float64.
        return Chances(values, label.rho + 2 * normal.EACH, label.cut + 1e-290)

    def chances(self, counts: ArrayLike) -> Array:
        """Pr[label | counts] for every class and, last, for "none": those of `release` while labels are left.

        Parameters
        ----------
        counts : array_like of integers >= 0, shape (n, classes)

        Returns
        -------
        ndarray, shape (n, classes + 1)
            As those of `GaussianNoisyMax`. These probabilities are for whoever may know the votes.

        Raises
        ------
        InputError
        """
        return self._chances(checked_votes(counts)).values

    def rdp(self, orders: ArrayLike) -> Array:
        """The divergences of one query with a label, for any votes and classes; nats.

        lambda max_affected^2 (1 / sigma^2 + 1 / (2 sigma_check^2))
        """
        wanted, wide, narrow = (
            check_orders(orders),
            self.sigma / self.max_affected,
            self.sigma_check / self.max_affected,
        )
        return np.asarray(wanted / wide / wide + wanted / narrow / narrow / 2)

    def release(self, counts: ArrayLike | Sparse, rng: np.random.Generator | None = None) -> NDArray[np.int64]:
        """A private label or "none" for each row of counts, in their order.

        Parameters
        ----------
        counts : array_like of integers >= 0, shape (n, classes), or such an array of scipy.sparse
            Votes for each class, one row a query, as in `GaussianNoisyMax.release`.
        rng : numpy.random.Generator, optional
            For tests only: the labels can then be predicted, which a `NotPrivateWarning` says. Without it, all
            randomness comes from the operating system.

        Returns
        -------
        ndarray of int, shape (n,)
            Classes from 0 on, and the number of classes for "none". `darrm.votes.write_labels` writes them in words by
            ``names=[*classes, "none"]``, or another word in its place. Rows after the last of ``answers`` have "none"
            too, whatever their votes.

        Warns
        -----
        LabelsEndedWarning
            If there are such rows.

        Raises
        ------
        InputError
            If all ``answers`` were given before. That depends on earlier labels alone. Or if there are ``answers``, and
            this is a fork of the process that made the object.

        Notes
        -----
        No digit of the noise is rounded: each label has exactly the probabilities of the formula. There is no release
        by key: whether a row has a label depends on the rows before it, since only so many get one.
        """
        if self.answers is not None and self._process != os.getpid():  # before the lock: it may be forked while held
            raise InputError(
                f"{self!r} was forked to another process, which would give {self.answers} labels too, beyond the "
                "total. Release by the process that made it, or make one there for the labels that are left."
            )
        votes = self._to_release(counts)
        words, n = word_source(rng, stacklevel=3), votes.shape[0]
        with self._one_at_a_time:
            left = n if self.answers is None else self.answers - self.given
            if not left and n:
                raise InputError(
                    f"At most {self.answers} labels may be given, and all were. Got counts again. Stop here, or make "
                    "another mechanism, whose total comes on top."
                )
            most = votes.max(axis=1)
            largest, place = np.unique(most if isinstance(most, np.ndarray) else most.toarray(), return_inverse=True)
            short = [(Fraction(self.threshold) - n) / Fraction(self.sigma_check) for n in largest.tolist()]
            sure = reach(gaussian(n, words), [short[i] for i in place.tolist()])
            at = np.flatnonzero(sure)[:left]
            labels = np.full(n, votes.shape[1], dtype=np.int64)
            labels[at] = self._label._labels(votes[at], words)
            self._given[0] += at.size
        after = n - 1 - int(at[-1]) if at.size == left < n else 0
        if after:
            warnings.warn(
                f'The last of {self.answers} labels was given. Later rows have "none", whatever their votes: '
                f"{counted(after, 'row')} of this call.",
                LabelsEndedWarning,
                stacklevel=2,
            )
        return labels


Noisy: TypeAlias = GaussianNoisyMax | ConfidentNoisyMax


def load_noisy_max(path: str | os.PathLike[str]) -> Noisy:
    """Read a file of `GaussianNoisyMax.save` or `ConfidentNoisyMax.save`."""
    found: Noisy = Filed.load(path)  # type: ignore[assignment]  # these are all that have files
    return found
