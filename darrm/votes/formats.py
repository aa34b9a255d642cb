"""Which module reads votes from files of a format, and writes labels to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from csv import Error
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import IO

from darrm.errors import InputError
from darrm.storage.kinds import check_kind
from darrm.votes import csv, json, parquet


def format_of(path: Path) -> ModuleType:
    """That for the ending of the name; CSV for all that are not known, but LaTeX is refused."""
    if path.suffix.lower() == ".tex":
        raise InputError(f"Votes and labels are CSV, Parquet or JSON, not LaTeX. Got {path}. Pass one of these.")
    return {".parquet": parquet, ".json": json}.get(path.suffix.lower(), csv)


def lines_of(path: Path) -> Callable[[Sequence[int]], list[int] | None] | None:
    """What finds the lines of rows, if the file has lines."""
    return partial(csv.lines_of, path) if format_of(path) is csv else None


@contextmanager
def votes_file(name: Path) -> Iterator[IO[bytes]]:
    """A file of votes to read; what goes wrong in the block is an `InputError` that names it."""
    try:
        with name.open("rb") as file:
            yield file
    except InputError:
        check_kind(name, "votes")
        raise
    except OSError as error:
        raise InputError(f"{name} could not be read: {error.strerror}. Pass the path of a votes file.") from error
    except UnicodeDecodeError as error:
        check_kind(name, "votes")
        raise InputError(f"{name} is not UTF-8 text. Export the votes as CSV.") from error
    except Error as error:
        check_kind(name, "votes")
        raise InputError(f"{name} is not a CSV file ({error}). Export the votes as CSV.") from error
