"""Votes as Parquet, and labels: columns as in CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from darrm.errors import InputError
from darrm.storage.frames import pyarrow
from darrm.votes.answers import Answers, numbered
from darrm.votes.arrow import cells, ids_of, of_schema
from darrm.votes.header import Columns, Voters
from darrm.votes.rows import Texts

EMPTY = "there is no row in it"
_ROWS = 1 << 16
_INSTEAD = ", or use .csv"


def blocks(
    name: Path, file: IO[bytes], voters: Voters, answers: Answers
) -> Iterator[tuple[Columns, NDArray[np.uint8], Texts | None]]:
    """Columns, cells and ids, if there are any, of some thousand rows at a time; errors count rows from 1.

    Raises
    ------
    InputError
        When what is wrong is reached.
    """
    pa = pyarrow(_INSTEAD)
    row = 1
    for columns, batch in _batches(pa, name, file, voters, answers):
        yield columns, cells(batch, columns, str(name), row), ids_of(batch, columns, str(name), row, first=1)
        row += batch.num_rows


def _batches(pa: Any, name: Path, file: IO[bytes], voters: Voters, answers: Answers) -> Iterator[tuple[Columns, Any]]:
    try:
        # Buffered and without reading ahead, or a file of one row group would be in memory whole.
        parquet = pa.parquet.ParquetFile(file, buffer_size=1 << 16, pre_buffer=False)
        columns = of_schema(name, parquet.schema_arrow, voters, answers)
        for batch in parquet.iter_batches(batch_size=_ROWS):
            if batch.num_rows:
                yield columns, batch
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"{name} is not a whole Parquet file ({reason}). Write it again.") from error


def table(name: Path, file: IO[bytes]) -> Iterator[tuple[str, list[str]]]:
    """As that of CSV: where each row stands, and its cells as texts, "" where there is none."""
    pa, row = pyarrow(_INSTEAD), 0
    try:
        parquet = pa.parquet.ParquetFile(file, buffer_size=1 << 16, pre_buffer=False)
        yield str(name), parquet.schema_arrow.names
        for batch in parquet.iter_batches(batch_size=_ROWS):
            columns = [["" if cell is None else str(cell) for cell in column.to_pylist()] for column in batch]
            for own in zip(*columns, strict=True):
                row += 1
                yield f"{name}, row {row}", list(own)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"{name} is not a whole Parquet file ({reason}). Write it again.") from error


class Labels:
    """Writes ids and labels, one row group for each block."""

    def __init__(self, file: IO[bytes], names: Sequence[str]) -> None:
        self._pa = pa = pyarrow(_INSTEAD)
        self._names = None if numbered(names) else pa.array(list(names), pa.string())
        number = pa.uint8() if len(names) <= 256 else pa.uint32()
        label = number if self._names is None else pa.string()
        self._schema = pa.schema([("id", pa.large_string()), ("label", label)])
        self._writer = self._pa.parquet.ParquetWriter(file, self._schema, compression="zstd")

    def write(self, ids: Texts, labels: NDArray[np.unsignedinteger[Any]]) -> None:
        pa = self._pa
        offsets = pa.py_buffer(np.concatenate([[0], ids.ends]).astype(np.int64))
        texts = pa.Array.from_buffers(pa.large_string(), len(ids), [None, offsets, pa.py_buffer(ids.data)])
        column = pa.array(labels)
        if self._names is not None:
            column = self._names.take(column)
        self._writer.write_batch(pa.record_batch([texts, column], schema=self._schema))

    def close(self) -> None:
        try:
            self._writer.close()
        finally:
            self._writer.is_open = False  # or it tries again, on a closed file, when it is collected
