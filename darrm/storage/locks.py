"""Locks beside files: one process at a time reads a file and replaces it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from darrm.errors import OutputError
from darrm.storage.atomic import output_error


def lock_of(path: Path) -> Path:
    """The lock file beside ``path``; it is never deleted."""
    return path.with_name(path.name + ".lock")


@contextmanager
def locked(path: Path, wait: bool = True) -> Iterator[None]:
    """Hold the lock beside ``path``: one process at a time. It ends with the process, however that ends.

    Raises
    ------
    OutputError
        If the lock file cannot be made; if another process holds it and ``wait`` is False.
    """
    try:
        handle = os.open(lock_of(path), os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise output_error(path, error) from error
    try:
        if os.name == "posix":
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        else:
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError:
        os.close(handle)
        raise OutputError(
            f"{path} is being written by another process. Wait for it to end, or pass another path."
        ) from None
    try:
        yield
    finally:
        os.close(handle)
