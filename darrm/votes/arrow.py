"""Votes and ids in columns of Arrow, and what all columns of numbers or texts have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from darrm.errors import InputError
from darrm.storage.frames import pyarrow
from darrm.votes.answers import ABSENT, Answers
from darrm.votes.header import Columns, Voters
from darrm.votes.rows import Texts


def cells(table: Any, columns: Columns, where: str, row: int, *, labels: bool = True) -> NDArray[np.uint8]:
    """The votes, and with ``labels`` the labels, of an Arrow table or batch, as shape (n, K) or (n, K + 1).

    Numbers of the answers, truth values, or texts as in CSV; 255 stands for an absent voter.

    Raises
    ------
    InputError
        If one has another type, or holds something else, such as nothing where no voter may be absent; it says which
        after ``where``, counting rows from ``row``.
    """
    places = columns.read if labels else columns.votes
    values = np.empty((table.num_rows, len(places)), dtype=np.uint8)
    for j, at in enumerate(places):
        _put_array(values[:, j], table.column(at), at, columns, where, row)
    for at in columns.blank:
        array = table.column(at)
        if array.null_count < len(array):
            for i, value in enumerate(array.to_pylist()):
                columns.check_blank(at, value, f"{where}, row {row + i}")
    return values


def _put_array(place: NDArray[np.uint8], array: Any, at: int, columns: Columns, where: str, row: int) -> None:
    pa = pyarrow()
    types = pa.types
    kind = array.type.value_type if types.is_dictionary(array.type) else array.type
    if types.is_null(kind):
        put_texts(place, [""], np.zeros(len(array), dtype=np.intp), at, columns, where, row)
    elif is_text(kind) or types.is_decimal(kind):
        if types.is_decimal(kind):
            array = array.cast(kind).cast(pa.string())
        if not types.is_dictionary(array.type):
            array = (array.cast(pa.large_string()) if types.is_string_view(kind) else array).dictionary_encode()
        array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        if isinstance(array, pa.ChunkedArray):  # of no chunk, or of more than one can hold
            array = array.unify_dictionaries()
            array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
        texts = [*array.dictionary.to_pylist(), None]
        codes = array.indices.fill_null(len(texts) - 1) if array.null_count else array.indices
        put_texts(place, texts, codes.to_numpy(zero_copy_only=False), at, columns, where, row)
    elif types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        array = array.cast(kind)
        missing = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
        if missing is not None:
            array = array.fill_null(False if types.is_boolean(kind) else 0)
        put(place, array.to_numpy(zero_copy_only=False), at, columns, where, row, missing)
    else:
        raise columns.other_type(at, where, f"type {array.type}")


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of texts."""
    types = pyarrow().types
    return any(is_kind(kind) for is_kind in (types.is_string, types.is_large_string, types.is_string_view))


def put(
    place: NDArray[np.uint8],
    values: NDArray[Any],
    at: int,
    columns: Columns,
    where: str,
    row: int,
    missing: NDArray[np.bool_] | None = None,
) -> None:
    """Put ``values`` into ``place``: numbers of answers, but for those that are ``missing``; errors as in `cells`."""
    answers = columns.answers
    if values.dtype == np.bool_:
        truth = answers.truth
        known = {} if truth is None else {0: truth[0], 1: truth[1]}
    else:
        known = answers.numbers
    done = np.zeros(len(values), dtype=np.bool_)
    if answers.absent and at != columns.label:
        done = np.zeros(len(values), dtype=np.bool_) if values.dtype == np.bool_ else values == -1
        if values.dtype.kind == "f":
            done |= np.isnan(values)
        if missing is not None:
            done |= missing
        place[done] = ABSENT
    elif missing is not None and missing.any():
        values = np.where(missing, ABSENT, values)  # no answer has this number
    n = len(known)
    if known == {i: i for i in range(n)} and n == len(answers.names):
        right = (values >= 0) & (values < n)
        if values.dtype.kind == "f":
            right &= values == np.floor(values)
        right &= ~done
        place[right] = values[right]
        done |= right
    else:
        for number, answer in known.items():
            right = values == number
            place[right] = answer
            done |= right
    if not done.all():
        first = int(np.argmin(done))
        got = None if missing is not None and missing[first] else values[first].item()
        raise InputError(f"{where}, row {row + first}, {columns.fault(at, got)}")


def put_texts(
    place: NDArray[np.uint8],
    texts: Sequence[str | None],
    codes: NDArray[Any],
    at: int,
    columns: Columns,
    where: str,
    row: int,
) -> None:
    """Put the answers that the texts ``texts[codes]`` mean into ``place``, None as an empty text; errors as there."""
    known = columns.answers.labels if at == columns.label else columns.answers.votes
    means = np.array([known.means(text or "") for text in texts], dtype=np.bool_)
    wrong = np.flatnonzero(~means[codes])
    if wrong.size:
        raise InputError(f"{where}, row {row + int(wrong[0])}, {columns.fault(at, texts[codes[wrong[0]]])}")
    answers = [known[text or ""] if right else 0 for text, right in zip(texts, means, strict=True)]
    place[:] = np.array(answers, dtype=np.uint8)[codes]


def of_schema(source: object, schema: Any, voters: Voters, answers: Answers) -> Columns:
    """The columns of an Arrow schema, in which pandas may note an index; errors as of `Columns.of`."""
    names, index, counted = list(schema.names), [], None
    for part in _noted_index(schema):
        if isinstance(part, str) and part in names:
            index.append(names.index(part))
        elif isinstance(part, dict) and str(part.get("name")).strip().casefold() == "id":  # counted, in no column
            counted = range(*(int(part[end]) for end in ("start", "stop", "step")))
            index.append(len(names))
            names.append(str(part["name"]))
    kinds = [schema.types[at] for at in index if at < len(schema.types)]
    named = len(index) == 1 and all(_is_id(kind) for kind in kinds)
    columns = Columns.of(source, names, voters, answers, index=index[0] if named else None, passed=index)
    return replace(columns, counted=counted) if columns.id == len(schema.names) else columns


def _noted_index(schema: Any) -> list[Any]:
    """What pandas notes about the index of a frame."""
    try:
        noted = schema.pandas_metadata["index_columns"]
    except (ValueError, TypeError, KeyError):  # there is nothing, or nothing that can be read
        return []
    return noted if isinstance(noted, list) else []


def _is_id(kind: Any) -> bool:
    types = pyarrow().types
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_integer(kind) or is_text(kind))


def ids_of(table: Any, columns: Columns, where: str, row: int, *, first: int = 0) -> Texts | None:
    """The ids of the rows of a table that begins at ``row`` of all, counted from ``first``; None if there are none.

    Raises
    ------
    InputError
        If they are neither texts nor integers, or one is missing.
    """
    pa = pyarrow()
    if columns.id is None:
        return None
    if columns.counted is not None:
        return Texts.of(map(str, columns.counted[row - first : row - first + table.num_rows]))
    array, name = table.column(columns.id), columns.names[columns.id]
    if not _is_id(array.type):
        raise InputError(f"{where}, column {name} must hold texts or integers. Got type {array.type}.")
    if array.null_count:
        empty = int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
        raise InputError(f"{where}, row {row + empty}, column {name} is empty. Give each row an id, or none.")
    if isinstance(array, pa.ChunkedArray):
        return Texts.joined([_texts(chunk, name, where, row) for chunk in array.chunks])
    return _texts(array, name, where, row)


def _texts(array: Any, name: str, where: str, row: int) -> Texts:
    pa = pyarrow()
    # The values of a dictionary first: those of numbers and of views do not turn into texts in one step.
    values = array.dictionary if pa.types.is_dictionary(array.type) else array
    texts = values.cast(pa.large_string())
    texts = texts if values is array else texts.take(array.indices)
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid as error:
        raise InputError(f"{where}, column {name}, rows from {row} on: not UTF-8 ({error}). Write it again.") from None
    _, offsets, data = texts.buffers()
    places = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    whole = b"" if data is None else memoryview(data)[places[0] : places[-1]].tobytes()
    return Texts(whole, places[1:] - places[0])
