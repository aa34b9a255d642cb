"""A design as columns for analysis: what is released at each count of votes, and how likely."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import product
from typing import Any

from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.problem.class_votes import all_votes, votes_up_to_names
from darrm.problem.decision import DecisionProblem
from darrm.problem.noise_function import acceptance
from darrm.storage import frames


class ForAnalysis(ABC):
    """What designs of all kinds offer to tools for tables. Nothing can be released from such a table."""

    @abstractmethod
    def columns(self) -> dict[str, list[Any]]:
        """The columns of `to_frame` by their names."""

    def to_frame(self) -> Any:
        """A pandas DataFrame for analysis, a row for each vector of counts; nothing can be released from it.

        Returns
        -------
        pandas.DataFrame
            Of a `Design`: ``ones`` (l = 0, ..., K, the votes for 1), ``gamma``, ``probability_0`` and
            ``probability_1``. Of a `DecisionDesign`: ``ones_1``, ``ones_2``, ... (votes for answer 1 in each group) and
            ``probability_`` with the name of each answer; where voters may be absent, ``present_1``, ``present_2``, ...
            (present voters of each group) come first. With several classes ``votes_`` and the name of each class stand
            in place of ``ones_1``; a decision that treats all classes alike has the votes up to their names, the most
            first.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        return frames.frame(self.columns())

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
        frames.write_csv(path, self.columns())


def majority_columns(gamma: Array) -> dict[str, list[Any]]:
    """`ForAnalysis.columns` of a noise function."""
    releases_one = acceptance(gamma)
    return {
        "ones": list(range(gamma.size)),
        "gamma": gamma.tolist(),
        "probability_0": (1 - releases_one).tolist(),
        "probability_1": releases_one.tolist(),
    }


def decision_columns(
    problem: DecisionProblem, tables: Iterable[tuple[tuple[int, ...], Array]], *, absent: bool
) -> dict[str, list[Any]]:
    """`ForAnalysis.columns` of a decision.

    ``tables`` are the probabilities of answer 1 for each vector of present voters, without an axis for groups of which
    nobody is; those present are columns only where voters may be ``absent``.
    """
    groups = range(1, len(problem.groups) + 1)
    names = [*(f"present_{g}" for g in groups), *(f"ones_{g}" for g in groups)]
    names += [f"probability_{name}" for name in problem.names]
    rows = []
    for present, table in tables:
        for ones in product(*(range(count + 1) for count in present)):
            x = float(table[tuple(one for one, count in zip(ones, present, strict=True) if count)])
            rows.append((*present, *ones, 1 - x, x))
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    return columns if absent else {name: columns[name] for name in names[len(groups) :]}


def class_columns(problem: DecisionProblem, table: Array) -> dict[str, list[Any]]:
    """`ForAnalysis.columns` of a decision with several answers.

    Votes for each class, ``votes_`` with its name (and the number of the group, where there are several); of a
    symmetric table at votes up to names of classes, the most first, whatever the classes are called.
    """
    several = len(problem.groups) > 1
    votes = all_votes(problem) if table.shape == (*problem.shape, problem.n_answers) else votes_up_to_names(problem)
    columns: dict[str, list[Any]] = {}
    for g in range(len(problem.groups)):
        for c, name in enumerate(problem.names):
            columns[f"votes_{name}" + f"_{g + 1}" * several] = votes[:, g, c].tolist()
    for o, name in enumerate(problem.answers):
        columns[f"probability_{name}"] = table.reshape(-1, problem.n_answers)[:, o].tolist()
    return columns


def check_design_file(path: str | os.PathLike[str]) -> None:
    """`InputError` for a name that stands for a table: what is saved under it could not be told from one."""
    if frames.ending_of(path) in ("csv", "parquet"):
        raise InputError(
            f"A design file is JSON. Got {str(path)!r}. Pass a name that ends in .json; to_csv and darrm export write "
            "tables for analysis, from which nothing can be released."
        )
