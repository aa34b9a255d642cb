"""Locks beside files: one process at a time reads a file and replaces it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from darrm.errors import OutputError
from darrm.storage.atomic import ELSEWHERE, output_error


def lock_of(path: Path) -> Path:
    """The lock file beside ``path``; it is never deleted."""
    return path.with_name(path.name + ".lock")


def _opened(lock: Path) -> int:
    """A handle of a lock file. That of somebody else need not be writeable: a lock of a file that is read will do."""
    try:
        return os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:  # no right to write it, or a disk that nobody may write to
        if lock.exists():
            return os.open(lock, os.O_RDONLY)
        raise


@contextmanager
def locked(path: Path, wait: bool = True, remedy: str = ELSEWHERE) -> Iterator[None]:
    """Hold the lock beside ``path``: one process at a time. It ends with the process, however that ends.

    ``remedy`` is what an error says last if there can be no lock.

    Raises
    ------
    OutputError
        If the lock file cannot be made; if another process holds it and ``wait`` is False.
    """
    try:
        handle = _opened(lock_of(path))
    except OSError as error:
        raise output_error(path, error, remedy) from error
    try:
        if os.name == "posix":
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        else:
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError as error:
        os.close(handle)
        if error.errno not in (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK):
            raise output_error(path, error, remedy) from error
        raise OutputError(f"{path} is being written by another process. Wait for it to end.") from None
    try:
        yield
    finally:
        os.close(handle)
