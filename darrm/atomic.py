"""Files that are either written whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from darrm.errors import OutputError


@contextmanager
def replacing(path: str | os.PathLike[str], commit: Callable[[Path, Path], None] | None = None) -> Iterator[IO[bytes]]:
    """A binary file that takes the place of ``path`` when the block ends well, and leaves no trace otherwise.

    The content is on disk before it takes the name, so a crash leaves the old file or the new one, whole. A device
    such as /dev/stdout gets all of it when the block ends well. ``commit``, if given, is called with the finished file,
    which only its owner can read yet, and ``path``, and has to move the one to the other.

    Raises
    ------
    OutputError
        If the folder is missing, not writable or full.
    """
    target = Path(path)
    if not os.fspath(path) or target.is_dir():
        raise OutputError(
            f"{os.fspath(path)!r} could not be written: it is a folder or no name. Pass the path of a file."
        )
    try:
        if target.exists() and not target.is_file():
            if commit is not None:
                raise OutputError(f"{target} is not a file. Pass the path of one.")
            with tempfile.TemporaryFile() as whole:
                yield whole
                whole.seek(0)
                with target.open("wb") as device:
                    shutil.copyfileobj(whole, device)
            return
        mode = usual_mode(target)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.", suffix=".part")
    except OSError as error:
        raise _output_error(target, error) from error
    try:
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if commit is None:
                os.chmod(name, mode)
            (commit or move)(Path(name), target)
        except OutputError:
            raise
        except OSError as error:
            raise _output_error(target, error) from error
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)


def usual_mode(target: Path) -> int:
    """Permissions of the file that is there, or those of a new one."""
    return target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()


def move(part: Path, target: Path) -> None:
    """Give a finished file its name, durably."""
    os.replace(part, target)
    if os.name == "posix":
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def resolved(path: str | os.PathLike[str]) -> Path:
    """``path`` without links, absolute. A link that leads to itself is left as it is: opening it says what is wrong."""
    return Path(os.path.realpath(path))


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
        raise _output_error(path, error) from error
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


def _umask() -> int:
    value = os.umask(0o077)
    os.umask(value)
    return value


def _output_error(target: Path, error: OSError) -> OutputError:
    reason = error.strerror or str(error)
    return OutputError(
        f"{target} could not be written: {reason}. What stood there is unchanged. Mend that or pass another path."
    )
