"""Files of released labels: all of a file gets its name at once, or nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from darrm._validation import is_masked, shown
from darrm._validation import path as check_path
from darrm.errors import InputError, OutputError
from darrm.numerics.printed import counted
from darrm.storage.atomic import output_error, replacing
from darrm.votes import csv, json, parquet
from darrm.votes.answers import BITS, checked_names, in_numbers, in_words
from darrm.votes.formats import format_of
from darrm.votes.rows import Texts, numbers, other_than


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
        self._path, self._names = path, checked_names(names)
        self._writer: csv.Labels | json.Labels | parquet.Labels | None = format_of(path).Labels(file, self._names)
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
            raise InputError(
                f"There must be one id for each label. Got {counted(len(texts), 'id')} and "
                f"{counted(len(labels), 'label')}."
            )
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


def _numbers(labels: NDArray[Any], names: Sequence[str]) -> NDArray[np.unsignedinteger[Any]]:
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
    return values.astype(np.uint8 if len(names) <= 256 else np.uint32, copy=False)


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
        The file to write, if ``path`` is not simply to be replaced: `Ledger.releasing` has a file that is charged for.
    names : 2 or more str, default "0" and "1"
        Words for the labels 0, 1, ...: `DecisionProblem.answers`, which has "none" last if a label may be that. So has
        the ``problem.answers`` of a `ConfidentNoisyMax` with K and classes; put another word there as you like.

    Raises
    ------
    InputError
        If the name ends in .tex.
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
    target = check_path("path", path)
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
