"""Shares of the votes of an ensemble, which are private only if the voters are private."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from darrm._sklearn import available_if, check_is_fitted
from darrm.ensemble.releases import Codes, PlainMajority
from darrm.numerics.arrays import Array
from darrm.votes.tally import counts


def _shares_are_private(ensemble: Any) -> bool:
    release = getattr(ensemble, "_release", None)
    fixed = ensemble.voters == "fixed" and ensemble.teachers == "private"
    if fixed and (release is None or isinstance(release, PlainMajority)):
        return True
    raise AttributeError(
        "Shares of the votes exist for fixed voters only. For fresh voters and non-private teachers output noise hides "
        "them, and no budget covers their release. Call predict, or use voters that are private "
        'themselves, with voters="fixed".'
    )


class VoteShares(ABC):
    """The base of an ensemble that returns shares of its votes if its voters are fixed."""

    classes_: NDArray[Any]
    estimators_: list[Any]

    @abstractmethod
    def _votes(self, X: Any) -> Codes:
        """The vote of each voter as an index into ``classes_``, shape (n, K)."""

    @available_if(_shares_are_private)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """The share of the votes for each class; for fixed voters only, without further privacy cost.

        Parameters
        ----------
        X : array_like, frame or sparse matrix, shape (n, d)
            As in `predict`.

        Returns
        -------
        ndarray, shape (n, classes), in the order of ``classes_``
            Multiples of 1 / K. The first largest share is that of the class that `predict` returns, ties included.

        Raises
        ------
        InputError
        AttributeError
            For fresh voters and non-private teachers, whose shares must stay hidden.
        """
        check_is_fitted(self)
        return np.asarray(counts(self._votes(X), self.classes_.size) / len(self.estimators_))

    @available_if(_shares_are_private)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Array:
        """Scores from the same shares: for two classes the share of the second minus that of the first.

        Parameters
        ----------
        X : array_like, frame or sparse matrix, shape (n, d)
            As in `predict`.

        Returns
        -------
        ndarray
            For two classes shape (n,), in [-1, 1]; `predict` returns the second class where it is above 0. For more
            classes shape (n, classes), the shares.

        Raises
        ------
        InputError
        AttributeError
            As in `predict_proba`.
        """
        check_is_fitted(self)
        n_votes = counts(self._votes(X), self.classes_.size)
        scores = n_votes[:, 1] - n_votes[:, 0] if self.classes_.size == 2 else n_votes
        return np.asarray(scores / len(self.estimators_))
