"""Vote counts for noisy max and permute-and-flip, and the numbers of votes and classes that a total holds for."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import MAX_CLASSES, MAX_COUNT, array, check_count, whole
from darrm.errors import InputError
from darrm.mechanisms.label_chances import Chances
from darrm.numerics.arrays import Array
from darrm.problem.groups import VoterGroup
from darrm.problem.model import VoterModel

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Sparse: TypeAlias = "csr_array[np.int64, tuple[int, int]]"

_MOST = 10**12  # votes for one class
_COUNT = "Count labels of voters first: darrm.votes.counts(votes, classes)."


def checked_votes(counts: ArrayLike) -> NDArray[np.int64]:
    """Votes for each class, one row a query."""
    hint = (
        "Pass the votes for each class, one row a query, such as [[5, 3]]; to count labels, call "
        "darrm.votes.counts(votes, classes)."
    )
    votes = array("counts", counts, None, 0, _MOST, "[]", wholes=True, hint=hint)
    if votes.ndim == 2 and votes.shape[1] > MAX_CLASSES:
        hint = "Of more classes pass sparse counts to release: darrm.votes.counts(votes, classes, sparse=True)."
    if votes.ndim != 2 or not 2 <= votes.shape[1] <= MAX_CLASSES:
        raise InputError(
            f"counts must have shape (n, classes), with 2 to {MAX_CLASSES} classes. Got shape {votes.shape}. {hint}"
        )
    return votes.astype(np.int64)


def is_sparse(counts: ArrayLike | Sparse) -> TypeGuard[Sparse]:
    """Whether they are an array or matrix of scipy.sparse, which need not be loaded for it."""
    return hasattr(counts, "tocsr")


def checked_sparse(counts: Any) -> Sparse:
    """Votes of the classes that have any, sorted by their numbers; one row a query."""
    from scipy.sparse import csr_array

    if len(counts.shape) != 2 or not 2 <= counts.shape[1] <= MAX_COUNT:
        raise InputError(
            f"Sparse counts must have shape (n, classes), with 2 to {MAX_COUNT:,} classes. Got shape "
            f"{counts.shape}. Pass one row a query, such as darrm.votes.counts(votes, classes, sparse=True)."
        )
    made = csr_array(counts, copy=True)
    made.sum_duplicates()
    data = array("counts", made.data, None, 0, _MOST, "[]", wholes=True, hint="They are votes for each class.")
    found: Sparse = csr_array((data.astype(np.int64), made.indices, made.indptr), shape=made.shape)
    found.eliminate_zeros()
    found.sort_indices()
    return found


class OfCounts(ABC):
    """A mechanism for vote counts. If it has K and classes, it releases only rows of K votes over that many classes.

    Pass both or neither. The total of many labels holds for one K and one number of classes, because other rows can
    leak more: a mechanism without them may release labels that no total covers.
    """

    _parameters: ClassVar[tuple[str, ...]]  # of the noise, by name
    max_affected: int = 1  # votes of each label that one record can change

    def __init__(
        self,
        K: int | None,
        classes: int | Iterable[str] | None,
        voters: Iterable[str] | None = None,
        *,
        none: bool = False,
    ) -> None:
        if (K is None) != (classes is None):
            raise InputError(
                f"K and classes go together: the numbers of voters and of classes. Got K = {K}, classes = "
                f"{classes}. Pass both, those of the total, or neither."
            )
        if K is None or classes is None:
            if voters is not None:
                raise InputError("voters are the names of K voters. Got names without K. Pass K and classes too.")
            self.problem: VoterModel | None = None
        else:
            teachers = VoterGroup(check_count("K", K), math.inf, max_affected=self.max_affected, names=voters)
            self.problem = VoterModel([teachers], classes, self.max_affected, none=none)
        self.K = None if self.problem is None else self.problem.K
        self.classes = None if self.problem is None else self.problem.n_classes

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._parameters)
        held = "" if self.problem is None else f", K={self.K}, classes={self.problem.classes!r}"
        held += f", max_affected={self.max_affected}" if self.max_affected > 1 else ""
        return f"{type(self).__name__}({said}{held})"

    def __reduce__(self) -> tuple[object, tuple[float, ...]]:
        """Pickled by its arguments, because samplers cannot be pickled."""
        given: dict[str, Any] = {}
        if self.problem is not None:
            given = {"K": self.K, "classes": self.problem.classes}
            given |= {"voters": self.problem.voters} if self.problem.voters else {}
        given |= {"max_affected": self.max_affected} if self.max_affected > 1 else {}
        return partial(type(self), **given), tuple(getattr(self, name) for name in self._parameters)

    def __setattr__(self, name: str, value: object) -> None:
        """Attributes are set once, because totals and noise were computed for the first values."""
        if name in self.__dict__:
            raise InputError(
                f"{name} of a {type(self).__name__} must not be changed, because totals were computed for it. Got "
                f"{value!r} for it. Make a new mechanism, with its own total."
            )
        super().__setattr__(name, value)

    @abstractmethod
    def _chances(self, votes: NDArray[np.int64]) -> Chances:
        """Pr[label | votes] of checked votes, with what is proved of their error."""

    def kernel(self, k: int) -> Array:
        """Pr[label = o | l of k votes are for class 1], two classes: [l, o], as of `release`, with "none" last if any.

        Shape (k + 1, 2), or (k + 1, 3) if a query may have no label.
        """
        k = whole("k", k)
        ones = np.arange(k + 1)
        return self._chances(np.stack([k - ones, ones], axis=1)).values

    def _to_release(self, counts: ArrayLike | Sparse) -> NDArray[np.int64] | Sparse:
        """Checked votes that may be released: of K voters and all classes, or else all of one sum."""
        votes = checked_sparse(counts) if is_sparse(counts) else checked_votes(counts)  # type: ignore[arg-type]
        if self.K is not None and votes.shape[1] != self.classes:
            raise InputError(
                f"counts must have {self.classes} columns, one for each class: totals for {self.K} votes over "
                f"{self.classes} classes are for no other number. Got {votes.shape[1]}. Make a mechanism for as many "
                f"classes, with a total of its own. {_COUNT}"
            )
        sums = np.asarray(votes.sum(axis=1))
        K = self.K if self.K is not None else (int(sums[0]) if len(sums) else 0)
        other = np.flatnonzero(sums != K)
        if not other.size:
            return votes
        row, came = int(other[0]), int(sums[other[0]])
        if self.K is not None:
            raise InputError(
                f"Each row of counts must have {K} votes: totals for {K} votes over {self.classes} classes are for no "
                f"other number. Got {came} votes in row {row}. Release such rows by a mechanism for as many votes, "
                "with a total of its own. The total covers changed votes, and not a teacher that abstains because of "
                f"its data. {_COUNT}"
            )
        raise InputError(
            f"Rows of counts must all have as many votes. Got {K} in row 0 and {came} in row {row}. {_COUNT} If fewer "
            "voted, release rows of each number in a call of their own. A total of Gaussian noise without K and "
            "classes covers them, and a teacher that abstains because of its data. Any other total is for one number "
            "of votes, and covers changed votes alone."
        )
