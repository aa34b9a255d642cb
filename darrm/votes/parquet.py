"""Votes as Parquet, and labels: columns as in CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from darrm.errors import InputError
from darrm.storage.frames import pyarrow
from darrm.votes.arrow import cells
from darrm.votes.rows import Answers, Columns, Texts, numbered

EMPTY = "there is no row in it"
_ROWS = 1 << 16
_INSTEAD = ", or use .csv"


def blocks(
    name: Path, file: IO[bytes], K: int | None, answers: Answers
) -> Iterator[tuple[Columns, NDArray[np.uint8], Texts | None]]:
    """Columns, cells and ids, if there are any, of some thousand rows at a time; errors count rows from 1.

    Raises
    ------
    InputError
        When what is wrong is reached.
    """
    pa = pyarrow(_INSTEAD)
    row = 1
    for columns, batch in _batches(pa, name, file, K, answers):
        values = cells(batch.columns[columns.first :], columns, str(name), row)
        yield columns, values, _ids(pa, batch.column(0), name, row) if columns.first else None
        row += batch.num_rows


def _batches(pa: Any, name: Path, file: IO[bytes], K: int | None, answers: Answers) -> Iterator[tuple[Columns, Any]]:
    try:
        # Buffered and without reading ahead, or a file of one row group would be in memory whole.
        parquet = pa.parquet.ParquetFile(file, buffer_size=1 << 16, pre_buffer=False)
        columns = Columns.of(name, parquet.schema_arrow.names, K, answers)
        for batch in parquet.iter_batches(batch_size=_ROWS):
            if batch.num_rows:
                yield columns, batch
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"{name} is not a whole Parquet file ({reason}). Write it again.") from error


def _ids(pa: Any, array: Any, name: Path, row: int) -> Texts:
    types = pa.types
    kind = array.type.value_type if types.is_dictionary(array.type) else array.type
    if not (types.is_integer(kind) or types.is_string(kind) or types.is_large_string(kind)):
        raise InputError(f"{name}, column id must hold texts or whole numbers. Got type {array.type}.")
    if array.null_count:
        empty = int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
        raise InputError(f"{name}, row {row + empty}, column id is empty. Give each row an id, or none.")
    # Through one value type first: dictionaries of numbers do not turn into texts in one step.
    texts = array.cast(kind).cast(pa.large_string())
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid as error:
        raise InputError(f"{name}, column id, rows from {row} on: not UTF-8 ({error}). Write it again.") from None
    _, offsets, data = texts.buffers()
    places = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    whole = b"" if data is None else memoryview(data)[places[0] : places[-1]].tobytes()
    return Texts(whole, places[1:] - places[0])


class Labels:
    """Writes ids and labels, one row group for each block."""

    def __init__(self, file: IO[bytes], names: Sequence[str]) -> None:
        self._pa = pa = pyarrow(_INSTEAD)
        self._names = None if numbered(names) else pa.array(list(names), pa.string())
        label = pa.uint8() if self._names is None else pa.string()
        self._schema = pa.schema([("id", pa.large_string()), ("label", label)])
        self._writer = self._pa.parquet.ParquetWriter(file, self._schema, compression="zstd")

    def write(self, ids: Texts, labels: NDArray[np.uint8]) -> None:
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
