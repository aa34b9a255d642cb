"""The votes that a design's prior was read from, which the design must not release."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from darrm._validation import truth
from darrm.design.design import Design
from darrm.errors import InputError
from darrm.objectives.under_priors import Paper

_SAME_SHARES = 1e-9  # of a histogram that was given as shares: each is rounded, and so is their sum


class OwnVotes:
    """Compares the histogram of the released votes with that in the design's prior.

    Only the numbers of rows with 0, 1, ..., K ones are compared, which the prior in the design file holds already. A
    digest of the votes would let anyone with the file test guesses of the votes.

    Parameters
    ----------
    design : Design
    public : bool
        Whether the votes behind the prior are public. If so, nothing is compared, and no vote can cause an error.
    """

    def __init__(self, design: Design, public: object = False) -> None:
        of_prior = isinstance(design.objective, Paper) and not truth("public", public)
        counted = design.prior.counted if of_prior else None
        self._design = design
        self._counted = None if counted is None else np.array(counted)
        self._seen = np.zeros(0 if counted is None else len(counted), dtype=np.int64)

    def __bool__(self) -> bool:
        """Whether there is anything to compare."""
        return self._counted is not None

    def add_cases(self, cases: NDArray[np.intp]) -> None:
        """`add` for rows that are given by their entries of the table."""
        if self._counted is not None:
            self.add(np.indices(self._design.problem.table_shape).sum(axis=0).ravel()[cases])

    def add(self, ones: NDArray[np.intp]) -> None:
        """Count rows by their numbers of ones, and raise if all rows so far have the histogram of the prior.

        Raises
        ------
        InputError
            If the histograms agree, because the rows may then be those of the prior.
        """
        if self._counted is None or not len(ones):
            return
        self._seen = self._seen + np.bincount(ones, minlength=len(self._seen))
        if self._are_own():
            n = int(self._seen.sum())
            raise InputError(
                f"The prior of this design was read from votes with the same histogram as {_these(n)}: no guarantee "
                "holds for the votes that a design was made from. Solve with a prior from elsewhere, or release other "
                "votes. If "
                "those behind the prior are public, pass public=True (--votes-are-public)."
            )

    def _are_own(self) -> bool:
        counted, n = self._counted, self._seen.sum()
        if counted is None:
            return False
        if np.array_equal(counted, np.floor(counted)):
            return np.array_equal(counted, self._seen)
        shares = counted / counted.max()
        return bool(np.allclose(self._seen / n, shares / shares.sum(), rtol=_SAME_SHARES, atol=0))


def _these(n: int) -> str:
    return f"these {n:,} rows" if n > 1 else "this row"
