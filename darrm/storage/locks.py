"""Locks beside files: one process at a time reads a file and replaces it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from darrm.errors import OutputError
from darrm.storage.atomic import ELSEWHERE, output_error


def lock_of(path: Path) -> Path:
    """The lock file beside ``path``."""
    return path.with_name(path.name + ".lock")


def _opened(lock: Path) -> int:
    """A handle of a lock file. That of somebody else need not be writeable: a lock of a file that is read will do."""
    try:
        return os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:  # no right to write it, or a disk that nobody may write to
        if lock.exists():
            return os.open(lock, os.O_RDONLY)
        raise


def _is_still(handle: int, lock: Path) -> bool:
    """Whether the lock file at ``lock`` is the one that was opened: another process may have removed that one."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(lock))
    except FileNotFoundError:
        return False


@contextmanager
def locked(path: Path, wait: bool = True, remedy: str = ELSEWHERE) -> Iterator[None]:
    """Hold the lock beside ``path``: one process at a time. It ends with the process, however that ends.

    ``remedy`` is what an error says last if there can be no lock. The lock file is removed in the end if the
    system lets it.

    Raises
    ------
    OutputError
        If the lock file cannot be made; if another process holds it and ``wait`` is False.
    """
    lock = lock_of(path)
    handle = _held(path, lock, wait, remedy)
    while not _is_still(handle, lock):
        os.close(handle)
        handle = _held(path, lock, wait, remedy)
    try:
        yield
    finally:
        if os.name == "posix":  # while it is held, so that nobody holds what is removed
            with suppress(OSError):
                lock.unlink()
        os.close(handle)


def _held(path: Path, lock: Path, wait: bool, remedy: str) -> int:
    """A handle of the lock file, locked."""
    try:
        handle = _opened(lock)
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
    return handle
