"""A design as columns for analysis: the release probabilities at each vector of counts."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np

from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.problem.class_votes import all_votes, class_probabilities, votes_up_to_names
from darrm.problem.decision import DecisionProblem
from darrm.storage import frames


class ForAnalysis(ABC):
    """Export of a design as a table for analysis. Labels cannot be released from such a table."""

    @abstractmethod
    def columns(self) -> dict[str, list[Any]]:
        """The columns of `to_frame` by their names."""

    @property
    @abstractmethod
    def about(self) -> str:
        """The problem and the objective, in one line without rounding."""

    def to_frame(self) -> Any:
        """The design as a pandas DataFrame for analysis, one row for each vector of counts.

        Labels cannot be released from it.

        Returns
        -------
        pandas.DataFrame
            For a noise function: ``ones`` (l = 0, ..., K, the votes for 1), ``gamma``, ``probability_0`` and
            ``probability_1``. For a decision: ``ones_1``, ``ones_2``, ... (votes for answer 1 in each group) and
            ``probability_`` with the name of each answer; where voters may be absent, ``present_1``, ``present_2``, ...
            (present voters of each group) come first. With several classes ``votes_`` and the name of each class stand
            in place of ``ones_1``; a decision that treats all classes alike has the votes in descending order, unless
            voters may be absent.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        return frames.frame(self.columns())

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the columns of `to_frame` as CSV with all digits, for analysis; labels cannot be released from it.

        Raises
        ------
        InputError
            If the name ends in .json, .parquet or .tex.
        OutputError
            If the path cannot be written.
        """
        if frames.ending_of(path) in {*frames.FORMATS} - {"csv"}:
            raise InputError(
                f"to_csv writes CSV. Got {str(path)!r}. Pass a name that ends in .csv, or use darrm export."
            )
        frames.write_csv(path, self.columns())


def columns_of_gamma(gamma: Array, chances: Array) -> dict[str, list[Any]]:
    """The columns of a noise function and of its release probabilities."""
    return {
        "ones": list(range(gamma.size)),
        "gamma": gamma.tolist(),
        **dict(zip(("probability_0", "probability_1"), chances.T.tolist(), strict=True)),
    }


def columns_of_counts(
    problem: DecisionProblem, tables: Iterable[tuple[tuple[int, ...], Array]], *, absent: bool
) -> dict[str, list[Any]]:
    """The columns of a decision, of whose voters some may be ``absent``.

    ``tables`` holds the probabilities for each vector of present voters, without an axis for groups with no voter
    present.
    """
    return (_of_two if problem.binary else _of_several)(problem, tables, absent=absent)


def _of_two(
    problem: DecisionProblem, tables: Iterable[tuple[tuple[int, ...], Array]], *, absent: bool
) -> dict[str, list[Any]]:
    """The columns of a decision between two answers, whose tables hold the probabilities of answer 1.

    The numbers of present voters are columns only where voters may be ``absent``.
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


def _of_several(
    problem: DecisionProblem, tables: Iterable[tuple[tuple[int, ...], Array]], *, absent: bool
) -> dict[str, list[Any]]:
    """The columns of a decision with several answers.

    The votes for each class are called ``votes_`` with its name (and the number of the group, where there are several).
    A symmetric table lists sorted votes, the most first, whatever the names of the classes. Where voters may be
    ``absent``, all votes are listed, after the numbers of present voters, because only some tables may be symmetric.
    """
    groups, several = len(problem.groups), len(problem.groups) > 1
    names = [f"present_{g}" for g in range(1, groups + 1)]
    names += [f"votes_{name}" + f"_{g}" * several for g in range(1, groups + 1) for name in problem.names]
    names += [f"probability_{name}" for name in problem.answers]
    parts = []
    for present, table in tables:
        votes = np.zeros((1, groups, problem.n_classes), dtype=np.int64)
        chances = table.reshape(-1, problem.n_answers)
        if any(present):
            own = problem.with_present(present)
            full = table.shape == (*own.table_shape, problem.n_answers)
            theirs = all_votes(own) if full or absent else votes_up_to_names(own)
            chances = class_probabilities(table, own, theirs) if absent else chances
            votes = np.zeros((len(theirs), groups, problem.n_classes), dtype=np.int64)
            votes[:, [g for g, count in enumerate(present) if count]] = theirs
        who = np.broadcast_to(present, (len(votes), groups))
        parts.append([*who.T.tolist(), *votes.reshape(len(votes), -1).T.tolist(), *chances.T.tolist()])
    columns = {name: [value for part in parts for value in part[at]] for at, name in enumerate(names)}
    return columns if absent else {name: columns[name] for name in names[groups:]}
