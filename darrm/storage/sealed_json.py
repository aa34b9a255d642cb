"""JSON files with a checksum: written whole or not at all, refused if they are foreign, truncated or edited."""

from __future__ import annotations

import hashlib
import json
import math
import os
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from darrm.errors import InputError
from darrm.storage.atomic import replacing
from darrm.storage.kinds import check_kind

MAX_BYTES = 30_000_000  # of a file, which is written or read as a whole; no larger one is written or read


def finite(value: Any) -> Any:
    """JSON has no infinities: None stands for one."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return value


def _digest(text: str | bytes) -> str:
    """Checksum of every name and value, numbers digit by digit as they are written; only white space is free."""
    content = parsed(text, parse_float=str, parse_int=str)
    body = {key: value for key, value in content.items() if key != "sha256"} if isinstance(content, dict) else content
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def write(path: str | os.PathLike[str], content: dict[str, object]) -> None:
    """Write ``content`` as JSON with a checksum, whole or not at all.

    `InputError` if it were too large to be read again.
    """
    content = {**content, "sha256": _digest(json.dumps(content, allow_nan=False))}
    text = json.dumps(content, indent=1, allow_nan=False).encode() + b"\n"
    if len(text) > MAX_BYTES:
        raise InputError(
            f"{path} would have {len(text):,} bytes; at most {MAX_BYTES:,} can be read again. Nothing was written."
        )
    with replacing(path) as file:
        file.write(text)


def read(name: Path, form: str, edition: int, kind: str, again: str) -> dict[str, Any]:
    """The content of a file of `write`; `InputError` if it is missing, foreign, truncated or edited.

    ``kind`` is "design", "mechanism" or "old ledger".
    """
    try:
        return _read(name, form, edition, kind, again)
    except InputError:
        check_kind(name, kind)
        raise


def _read(name: Path, form: str, edition: int, kind: str, again: str) -> dict[str, Any]:
    a_file = f"a{'n' * (kind[0] in 'aeiou')} {kind} file"
    try:
        size = name.stat().st_size
        text = name.read_bytes() if size <= MAX_BYTES else b""
    except OSError as error:
        raise InputError(f"{name} could not be read: {error.strerror}. Pass the path of {a_file}.") from error
    if size > MAX_BYTES:
        raise InputError(
            f"{name} is too large for {a_file}: darrm writes {MAX_BYTES:,} bytes at most. Got "
            f"{size:,}. Pass such a file."
        )
    try:
        digest = _digest(text)  # first, so that its copy of the content is gone when the other is made
        content = parsed(text, parse_float=_read_float)
    except (ValueError, RecursionError) as error:
        # The bytes of a file that is no text are not shown, because it may be a key.
        reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error
        raise InputError(f"{name} is not a whole JSON file ({reason}). {again}") from error
    found = checked_form(content, form, edition, name, a_file, again)
    if found.get("sha256") != digest:
        raise InputError(f"{name} was changed after it was written: its checksum does not match. {again}")
    return found


def checked_form(content: object, form: str, edition: int, where: object, what: str, again: str) -> dict[str, Any]:
    """The content, if it says that it has this format and version; ``what`` would be such a file."""
    if not isinstance(content, dict) or content.get("format") != form:
        raise InputError(f'{where} is not {what}: its format is not "{form}". {again}')
    if type(content.get("version")) is not int or content["version"] != edition:
        raise InputError(
            f"{where} has format version {content.get('version')!r}; this darrm reads {edition}. Use the darrm that "
            "wrote it."
        )
    return content


def _read_float(text: str) -> float:
    """A number in the digits that stand for a float64: another reader could take more of them for another number."""
    value = float(text)
    try:
        same = math.isfinite(value) and Decimal(text) == Decimal(repr(value))
    except InvalidOperation:
        same = False
    if not same:
        raise ValueError(f"{text:.50} is not a number as Python writes it")
    return value


def parsed(text: str | bytes, **how: Any) -> Any:
    """The value of a JSON text, ``how`` as of `json.loads`; every file is read by this.

    ValueError if it is no JSON, its brackets are nested too deep, or a name stands twice in an object.
    """
    try:
        return json.loads(text, object_pairs_hook=_unique, **how)
    except RecursionError:
        raise ValueError("its brackets are nested too deep") from None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object, refused if a name stands twice in it, since readers differ in which they take."""
    keys = [key for key, _ in pairs]
    if len(set(keys)) < len(keys):
        raise ValueError("a name stands twice")
    return dict(pairs)
