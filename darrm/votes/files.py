"""Votes files: CSV or Parquet, one row a query, one column a voter."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from darrm._validation import path as check_path
from darrm._validation import shown, whole
from darrm.errors import InputError
from darrm.problem.voter_names import voter_names
from darrm.votes.answers import BITS, Answers, names_of
from darrm.votes.formats import format_of, lines_of, votes_file
from darrm.votes.ids import RowIds
from darrm.votes.rows import Votes, VotesBlock


@dataclass(frozen=True, eq=False)
class VotesTable:
    """Votes on n queries.

    Attributes
    ----------
    votes : ndarray of uint8, shape (n, K)
        The numbers of the classes; int8 with -1 for an absent voter, where voters may be absent.
    ids : tuple of str, length n
        The ``id`` column, or the row numbers from 1.
    labels : ndarray of uint8, shape (n,), or None
        The ``label`` column, the true answers, if there is one.
    voters : tuple of str, length K
        The names of the columns of votes, in the order of ``votes``.
    """

    votes: Votes
    ids: tuple[str, ...]
    labels: NDArray[np.uint8] | None
    voters: tuple[str, ...] = ()

    def __repr__(self) -> str:
        n, K = self.votes.shape
        return f"<votes of {K} voters on {n} queries{'' if self.labels is None else ', with labels'}>"

    @property
    def histogram(self) -> NDArray[np.int64]:
        """The number of queries with l = 0, ..., K ones; for `darrm.priors.votes`, if these votes are public.

        For private votes it must stay secret, because it is computed without noise.
        """
        if self.votes.size and self.votes.min() < 0:
            raise InputError("Votes of which some are absent have no histogram. Leave those rows out.")
        if self.votes.size and self.votes.max() > 1:
            raise InputError("Votes for more than two classes have no histogram: they are not numbers of ones.")
        return np.bincount(self.votes.sum(axis=1, dtype=np.int64), minlength=self.votes.shape[1] + 1)


def blocks(
    path: str | os.PathLike[str],
    K: int | None = None,
    *,
    names: Sequence[str] = BITS,
    classes: int | Iterable[str] | None = None,
    absent: bool = False,
    voters: Sequence[str] | None = None,
) -> Iterator[VotesBlock]:
    """Read a votes file in blocks of some ten thousand rows; memory grows only by the digests of ids.

    Parameters
    ----------
    path, K, names, classes, absent, voters
        As for `read`.

    Yields
    ------
    VotesBlock

    Raises
    ------
    InputError, MissingExtraError
        As `read`, but for a fault in a row only when that row is read.

    Notes
    -----
    Plain CSV (votes of one digit, nothing quoted) is read by numpy, the rest by the csv module, several times slower. A
    repeated id is refused before its block is yielded. Earlier blocks are yielded by then: write labels with
    `writing_labels`, which moves its file to its name only when all rows are valid.

    Examples
    --------
    Three rows of votes, in one block:

    >>> import darrm
    >>> import numpy as np
    >>> np.savetxt("votes.csv", [[1, 0, 1], [0, 0, 1], [1, 1, 1]], "%d", ",", header="v1,v2,v3", comments="")
    >>> [block.votes.shape for block in darrm.votes.blocks("votes.csv", K=3)]
    [(3, 3)]
    """
    yield from blocks_of(path, K, Answers.of(names_of(names, classes), absent), voters)


def blocks_of(
    path: str | os.PathLike[str], K: int | None, answers: Answers, voters: Sequence[str] | None
) -> Iterator[VotesBlock]:
    """`blocks` of these answers."""
    name, row = check_path("path", path), 1
    if K is not None:
        K = whole("K", K, hint="Pass how many columns of votes there must be, such as design.problem.K.")
    taken = K if voters is None else voter_names(voters, K, "voters")
    with votes_file(name) as file:
        row_ids = RowIds(name, first=1, lines=lines_of(name))
        for columns, cells, ids in format_of(name).blocks(name, file, taken, answers):
            n_votes = len(columns.votes)
            labels = None if columns.label is None else cells[:, n_votes]
            votes = cells[:, :n_votes].view(np.int8) if answers.absent else cells[:, :n_votes]
            texts, has_ids = row_ids.of(ids, len(cells), index=columns.index)
            yield VotesBlock(votes, texts, labels, has_ids=has_ids, voters=columns.voters)
            row += len(cells)
        if row == 1:
            raise InputError(f"{name} holds no votes: {format_of(name).EMPTY}.")


def read(
    path: str | os.PathLike[str],
    K: int | None = None,
    *,
    names: Sequence[str] = BITS,
    classes: int | Iterable[str] | None = None,
    absent: bool = False,
    voters: Sequence[str] | None = None,
) -> VotesTable:
    """Read a votes file.

    Parameters
    ----------
    path : path
        CSV with a header; an optional column ``id``, an optional column ``label``, every other column the votes of one
        voter. Commas, semicolons or tabs stand between columns. UTF-8, or UTF-16 with its mark; any line ends. Or
        Parquet with such columns, if the name ends in .parquet: votes and labels are numbers of any type, booleans or
        texts. Ids are texts or integers, or the index of a frame.
    K : int, optional
        The required number of vote columns.
    names : 2 to 255 str, default "0" and "1"
        The names of the classes 0, 1, ... in votes and labels: `DecisionProblem.names`. Their numbers are read too,
        unless one of the numbers is a name.
    classes : int or names, optional
        In place of ``names``, as for `DecisionProblem`: how many classes there are, which are then 0, 1, ..., or their
        names.
    absent : bool
        Whether a vote may be -1 or blank (in Parquet null or NaN), for an absent voter. Votes are then int8, and -1
        there.
    voters : sequence of str, optional
        The voters to read, by the names of their columns, and their order in the result: `DecisionProblem.voters`. The
        columns may be in any order; others are left out.

    Raises
    ------
    InputError
        If the file cannot be read, has no header, no rows, no column of a voter, or a row of another length. If a voter
        or an id occurs twice. If a vote or label is not an answer. The message names the line (in Parquet the row,
        from 1) and the column.
    MissingExtraError
        If it is Parquet and pyarrow is not installed.

    Examples
    --------
    >>> import darrm
    >>> import numpy as np
    >>> np.savetxt("votes.csv", [[1, 0, 1], [0, 0, 1], [1, 1, 1]], "%d", ",", header="v1,v2,v3", comments="")
    >>> table = darrm.votes.read("votes.csv", K=3)
    >>> table.votes.tolist(), table.ids
    ([[1, 0, 1], [0, 0, 1], [1, 1, 1]], ('1', '2', '3'))
    >>> darrm.votes.read("votes.csv", voters=["v3", "v1"]).votes.tolist()
    [[1, 1], [1, 0], [1, 1]]
    """
    parts = list(blocks(path, K, names=names, classes=classes, absent=absent, voters=voters))
    labels = [block.labels for block in parts if block.labels is not None]
    return VotesTable(
        votes=np.concatenate([block.votes for block in parts]),
        ids=tuple(identifier for block in parts for identifier in block.ids),
        labels=np.concatenate(labels) if labels else None,
        voters=parts[0].voters,
    )


def examples() -> dict[str, dict[str, object]]:
    """The example votes of darrm, by name: description, K, ``max_affected``, epsilon, Delta and accuracies.

    Examples
    --------
    >>> import darrm
    >>> votes = darrm.votes.examples()["fresh_t11"]
    >>> votes["K"], votes["epsilon"]
    (11, 1.0)
    """
    text = files("darrm.votes").joinpath("examples", "votes.json").read_text(encoding="utf-8")
    return {str(entry["file"]).removesuffix(".csv"): entry for entry in json.loads(text)["files"]}


def example(name: str) -> VotesTable:
    """The votes of that name among `examples`.

    Raises
    ------
    InputError
        If there is none of that name.

    Examples
    --------
    Six hundred queries to eleven voters, and the accuracy of their majority. For your own votes that figure must stay
    secret, because it is computed without noise.

    >>> import darrm
    >>> table = darrm.votes.example("fresh_t11")
    >>> table.votes.shape
    (600, 11)
    >>> round(float(((table.votes.sum(axis=1) > 5) == table.labels).mean()), 2)
    0.83
    """
    known = examples()
    if not isinstance(name, str) or name not in known:
        raise InputError(f"There are no votes called {shown(name)}. Choose one of {', '.join(sorted(known))}.")
    return read(Path(str(files("darrm.votes").joinpath("examples", f"{name}.csv"))), K=int(str(known[name]["K"])))
