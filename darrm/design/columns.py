"""A design as columns for analysis: what is released at each count of votes, and how likely."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Any

from darrm.errors import InputError
from darrm.problem.noise_function import acceptance
from darrm.storage import frames

if TYPE_CHECKING:
    from darrm.design.decision import DecisionDesign
    from darrm.design.design import Design


class ForAnalysis:
    """What designs of all kinds offer to tools for tables. Nothing can be released from such a table."""

    def to_frame(self) -> Any:
        """A pandas DataFrame for analysis, a row for each vector of counts; nothing can be released from it.

        Returns
        -------
        pandas.DataFrame
            Of a `Design`: ``ones`` (l = 0, ..., K, the votes for 1), ``gamma``, ``probability_0`` and
            ``probability_1``. Of a `DecisionDesign`: ``ones_1``, ``ones_2``, ... (votes for answer 1 in each group) and
            ``probability_`` with the name of each answer; where voters may be absent, ``present_1``, ``present_2``, ...
            (present voters of each group) come first.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        return frames.frame(columns_of(self))

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the columns of `to_frame` as CSV, with all digits, for analysis; nothing can be released from it.

        Raises
        ------
        InputError
            If the name ends in .json or .parquet.
        OutputError
            If the path cannot be written.
        """
        if frames.ending_of(path) in ("json", "parquet"):
            raise InputError(
                f"to_csv writes CSV. Got {str(path)!r}. Pass a name that ends in .csv, or use darrm export."
            )
        frames.write_csv(path, columns_of(self))


def columns_of(design: Any) -> dict[str, list[Any]]:
    """The columns of `ForAnalysis.to_frame`, of a design of either kind."""
    return _of_majority(design) if hasattr(design, "gamma") else _of_decision(design)


def _of_majority(design: Design) -> dict[str, list[Any]]:
    releases_one = acceptance(design.gamma)
    return {
        "ones": list(range(design.problem.K + 1)),
        "gamma": design.gamma.tolist(),
        "probability_0": (1 - releases_one).tolist(),
        "probability_1": releases_one.tolist(),
    }


def _of_decision(design: DecisionDesign) -> dict[str, list[Any]]:
    groups = range(1, len(design.problem.groups) + 1)
    names = [*(f"present_{g}" for g in groups), *(f"ones_{g}" for g in groups)]
    names += [f"probability_{name}" for name in design.problem.names]
    rows = ((*present, *ones, 1 - x, x) for present, ones, x in _rows(design))
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    return columns if design.absent else {name: columns[name] for name in names[len(groups) :]}


def _rows(design: DecisionDesign) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], float]]:
    """Voters that are present, ones among them, and the probability of answer 1."""
    every = tuple(group.count for group in design.problem.groups)
    for present in product(*(range(count + 1) for count in every)) if design.absent else [every]:
        if not any(present):
            yield present, present, design.without_votes
            continue
        table = design.with_present(present).table
        for ones in product(*(range(count + 1) for count in present)):
            own = tuple(one for one, count in zip(ones, present, strict=True) if count)
            yield present, ones, float(table[own])


def check_design_file(path: str | os.PathLike[str]) -> None:
    """`InputError` for a name that stands for a table: what is saved under it could not be told from one."""
    if frames.ending_of(path) in ("csv", "parquet"):
        raise InputError(
            f"A design file is JSON. Got {str(path)!r}. Pass a name that ends in .json; to_csv and darrm export write "
            "tables for analysis, from which nothing can be released."
        )
