"""Votes files: CSV or Parquet, one row a query, one column a voter."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from darrm._validation import is_masked, shown, whole
from darrm.errors import InputError, OutputError
from darrm.storage.atomic import output_error, replacing
from darrm.storage.kinds import check_kind
from darrm.votes import csv as votes_csv
from darrm.votes import json as votes_json
from darrm.votes import parquet as votes_parquet
from darrm.votes.rows import Answers, Texts, Votes, VotesBlock, in_numbers, in_words, numbers, other_than

BITS: tuple[str, ...] = ("0", "1")


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
    """

    votes: Votes
    ids: tuple[str, ...]
    labels: NDArray[np.uint8] | None

    @property
    def histogram(self) -> NDArray[np.int64]:
        """How many queries have l = 0, ..., K ones; for `darrm.priors.votes`, if these votes are public."""
        if self.votes.size and self.votes.min() < 0:
            raise InputError("Votes of which some are absent have no histogram. Leave those rows out.")
        if self.votes.size and self.votes.max() > 1:
            raise InputError("Votes for more than two classes have no histogram: they are not numbers of ones.")
        return np.bincount(self.votes.sum(axis=1, dtype=np.int64), minlength=self.votes.shape[1] + 1)


def blocks(
    path: str | os.PathLike[str], K: int | None = None, *, names: Sequence[str] = BITS, absent: bool = False
) -> Iterator[VotesBlock]:
    """Read a votes file some ten thousand rows at a time, in memory that does not grow with the file.

    Parameters
    ----------
    path, K, names, absent
        As for `read`.

    Yields
    ------
    VotesBlock

    Raises
    ------
    InputError, MissingExtraError
        As `read`, but what is wrong with a row only when that row is reached.

    Notes
    -----
    Plain CSV (votes of one digit, nothing quoted) is read by numpy, the rest by the csv module, several times slower.

    Examples
    --------
    Three rows of votes, in one block:

    >>> import darrm
    >>> import numpy as np
    >>> np.savetxt("votes.csv", [[1, 0, 1], [0, 0, 1], [1, 1, 1]], "%d", ",", header="v1,v2,v3", comments="")
    >>> [block.votes.shape for block in darrm.votes.blocks("votes.csv", K=3)]
    [(3, 3)]
    """
    name, row, answers = Path(path), 1, Answers.of(names, absent)
    if K is not None:
        K = whole("K", K, hint="Pass how many columns of votes there must be, such as design.problem.K.")
    try:
        with name.open("rb") as file:
            for columns, cells, ids in _format(name).blocks(name, file, K, answers):
                n_votes = columns.last - columns.first
                labels = cells[:, n_votes] if n_votes < cells.shape[1] else None
                votes = cells[:, :n_votes].view(np.int8) if absent else cells[:, :n_votes]
                yield VotesBlock(votes, Texts.numbers(row, len(cells)) if ids is None else ids, labels)
                row += len(cells)
        if row == 1:
            raise InputError(f"{name} holds no votes: {_format(name).EMPTY}.")
    except InputError:
        check_kind(name, "votes")
        raise
    except OSError as error:
        raise InputError(f"{name} could not be read: {error.strerror}. Pass the path of a votes file.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 text. Export the votes as CSV.") from error
    except csv.Error as error:
        raise InputError(f"{name} is not a CSV file ({error}). Export the votes as CSV.") from error


def read(
    path: str | os.PathLike[str], K: int | None = None, *, names: Sequence[str] = BITS, absent: bool = False
) -> VotesTable:
    """Read a votes file.

    Parameters
    ----------
    path : path
        CSV with a header; an optional first column ``id``, an optional last column ``label``, every other column the
        votes of one voter. UTF-8, any line ends. Or Parquet with such columns, if the name ends in .parquet:
        votes and labels of any type of number or boolean, ids texts or whole numbers.
    K : int, optional
        How many vote columns there must be.
    names : 2 to 255 str, default "0" and "1"
        What the classes 0, 1, ... are called in votes and labels: `DecisionProblem.names`. Their numbers are read too,
        unless one of the numbers is a name.
    absent : bool
        Whether a vote may be -1 or blank (in Parquet null), for an absent voter. Votes are then int8, and -1 there.

    Raises
    ------
    InputError
        If the file cannot be read, has no header, no rows, a row of another length, or a vote or label that is not an
        answer. The message names the line (in Parquet the row, from 1) and the column.
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
    """
    parts = list(blocks(path, K, names=names, absent=absent))
    labels = [block.labels for block in parts if block.labels is not None]
    return VotesTable(
        votes=np.concatenate([block.votes for block in parts]),
        ids=tuple(identifier for block in parts for identifier in block.ids),
        labels=np.concatenate(labels) if labels else None,
    )


def _format(path: Path) -> ModuleType:
    """The module that reads and writes such files."""
    return {".parquet": votes_parquet, ".json": votes_json}.get(path.suffix.lower(), votes_csv)


class LabelsFile:
    """A file of released labels that is being written; made by `writing_labels`.

    Attributes
    ----------
    n : int
        Labels written so far.

    Examples
    --------
    >>> import darrm
    >>> import numpy as np
    >>> with darrm.votes.writing_labels("labels.csv") as file:
    ...     file.write(["a", "b"], np.array([1, 0]))
    ...     file.write(["c"], np.array([1]))
    >>> file.n
    3
    """

    def __init__(self, path: Path, file: IO[bytes], names: Sequence[str] = BITS) -> None:
        self.n = 0
        self._path, self._names = path, Answers.of(names).names
        self._writer: votes_csv.Labels | votes_json.Labels | votes_parquet.Labels | None = _format(path).Labels(
            file, self._names
        )
        self._broken = False

    def write(self, ids: Iterable[str], labels: NDArray[Any]) -> None:
        """Add rows.

        Parameters
        ----------
        ids : Texts or iterable of str, length n
        labels : ndarray of int, shape (n,), numbers of answers

        Raises
        ------
        InputError
            If an id is not a text or a label is not an answer; nothing of these rows is written then.
        OutputError
            If they cannot be written. The file may then hold a part of them, so it is refused from there on. Later
            writes fail, and it does not get its name even if this error is caught.
        """
        texts = ids if isinstance(ids, Texts) else Texts.of(ids)
        labels = _numbers(labels, self._names)
        if len(texts) != len(labels):
            raise InputError(f"There must be one id for each label. Got {len(texts)} ids and {len(labels)} labels.")
        if self._writer is None:
            raise InputError("The file of labels is closed. Write inside the with block of writing_labels.")
        self._check_whole()
        # Until the rows are written and counted: a ledger charges for n labels, and the file must not hold more.
        self._broken = True
        try:
            self._writer.write(texts, labels)
        except OSError as error:
            raise output_error(self._path, error) from error
        self.n += len(labels)
        self._broken = False

    def _close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def _check_whole(self) -> None:
        if self._broken:
            raise OutputError(
                f"{self._path} is not written: an earlier write of labels failed halfway. Write all labels anew."
            )


def _numbers(labels: NDArray[Any], names: Sequence[str]) -> NDArray[np.uint8]:
    array = np.asarray(labels)
    if array.ndim != 1 or array.dtype.kind not in "biuf" or is_masked(labels):
        raise InputError(
            f"labels must be a plain array of {in_numbers(len(names))}, shape (n,). Got a {type(labels).__name__} of "
            f"{array.dtype}, shape {array.shape}."
        )
    values = numbers(array)
    wrong = other_than(values, len(names))
    if wrong.size:
        allowed = in_words([str(number) for number in range(len(names))])
        raise InputError(f"A label must be {allowed}. Got {shown(values[wrong[0]].item())} in row {wrong[0]}.")
    return values.astype(np.uint8, copy=False)


@contextmanager
def writing_labels(
    path: str | os.PathLike[str],
    file: AbstractContextManager[IO[bytes]] | None = None,
    *,
    names: Sequence[str] = BITS,
) -> Iterator[LabelsFile]:
    """A file for labels, written block by block: all of it gets its name when the block ends, or nothing.

    CSV with columns id and label; Parquet if the name ends in .parquet; a list of objects if it ends in .json.

    Parameters
    ----------
    path : path
    file : context manager of a binary file, optional
        The file to write, if ``path`` is not simply to be replaced: `Ledger.releasing` has one that is charged for.
    names : 2 to 255 str, default "0" and "1"
        What is written for the labels 0, 1, ...: `DecisionProblem.answers`.

    Raises
    ------
    OutputError
        If the path cannot be written. An OSError of anything else in the block, such as a file that it reads, comes
        out as it is.
    MissingExtraError
        If it is Parquet and pyarrow is not installed.

    Examples
    --------
    Labels in two blocks; the file is there when all of them are:

    >>> import darrm
    >>> import numpy as np
    >>> from pathlib import Path
    >>> with darrm.votes.writing_labels("labels.csv") as file:
    ...     file.write(["a", "b"], np.array([1, 0]))
    ...     file.write(["c"], np.array([1]))
    >>> Path("labels.csv").read_text().split()
    ['id,label', 'a,1', 'b,0', 'c,1']
    """
    target = Path(path)
    foreign: OSError | None = None
    try:
        with file or replacing(target) as binary:
            labels = LabelsFile(target, binary, names)
            try:
                yield labels
            except OSError as error:
                foreign = None if isinstance(error, OutputError) else error
                raise
            finally:
                labels._close()
            labels._check_whole()
    except OSError:
        if foreign is None:
            raise
    if foreign is not None:
        raise foreign


def write_labels(
    path: str | os.PathLike[str], ids: Iterable[str], labels: NDArray[Any], *, names: Sequence[str] = BITS
) -> None:
    """Write released labels with their ids; all of them or, if that fails, none. As `writing_labels`, in one piece.

    Examples
    --------
    >>> import darrm
    >>> import numpy as np
    >>> from pathlib import Path
    >>> darrm.votes.write_labels("labels.csv", ["a", "b"], np.array([1, 0]), names=["no", "yes"])
    >>> Path("labels.csv").read_text().split()
    ['id,label', 'a,yes', 'b,no']
    """
    with writing_labels(path, names=names) as file:
        file.write(ids, labels)


def examples() -> dict[str, dict[str, object]]:
    """The votes that come with darrm, by name: what they are, K, ``max_affected``, epsilon, Delta and accuracies.

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
    Six hundred queries to eleven voters; how often their majority is the true answer:

    >>> import darrm
    >>> table = darrm.votes.example("fresh_t11")
    >>> table.votes.shape
    (600, 11)
    >>> round(float(((table.votes.sum(axis=1) > 5) == table.labels).mean()), 2)
    0.83
    """
    known = examples()
    if name not in known:
        raise InputError(f"There are no votes called {name!r}. Choose one of {', '.join(sorted(known))}.")
    return read(Path(str(files("darrm.votes").joinpath("examples", f"{name}.csv"))), K=int(str(known[name]["K"])))
