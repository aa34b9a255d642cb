"""Text files that are read line by line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from darrm.errors import InputError


@contextmanager
def opened(name: Path) -> Iterator[TextIO]:
    """A text file to read, with what can go wrong as `InputError`."""
    try:
        with name.open(encoding="utf-8-sig", newline=None) as file:
            yield file
    except OSError as error:
        raise InputError(f"{name} could not be read: {error.strerror}. Pass the path of a file.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 text. If it is packed, unpack it first.") from error
