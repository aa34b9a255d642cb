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
    or a pipe gets all of it when the block ends well, and so does whatever is reached by a name or a link in /dev or
    /proc: /dev/stdout may be a file, but the name is not to be replaced. /dev/shm holds files as any folder does.
    ``commit``, if given, is called with the finished file, which only its owner can read yet, and ``path``, and has to
    move the one to the other.

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
        links = list(_links(target))
        special = any(map(_is_special, links))
        if special or (target.exists() and not target.is_file()):
            if commit is not None:
                raise OutputError(f"{target} is not a file that can be replaced. Pass the path of one.")
            if not target.exists():
                raise OutputError(f"{target} could not be written: it is not open. Pass the path of a file.")
            with tempfile.TemporaryFile() as whole:
                yield whole
                whole.seek(0)
                with _opened(target, links) as device:
                    shutil.copyfileobj(whole, device)
            return
        mode = usual_mode(target)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.", suffix=".part")
    except OutputError:
        raise
    except OSError as error:
        raise output_error(target, error) from error
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
            raise output_error(target, error) from error
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)


def _links(target: Path) -> Iterator[Path]:
    """``target``, what it links to, and so on, each without links in its folder."""
    for _ in range(40):  # as many as Linux follows
        target = Path(os.path.realpath(target.parent), target.name)
        yield target
        if not target.is_symlink():
            return
        target = target.parent / os.readlink(target)


def _is_special(path: Path) -> bool:
    """Whether the name belongs to the system."""
    folders = [os.fspath(folder) for folder in path.parents]
    return ("/dev" in folders and "/dev/shm" not in folders) or "/proc" in folders


def _opened(target: Path, links: list[Path]) -> IO[bytes]:
    """A device for writing; if it is an open file of this process, then that, where it is, not the file anew."""
    own = {Path(os.path.realpath(folder)) for folder in ("/proc/self/fd", "/proc/thread-self/fd", "/dev/fd")}
    for link in links:
        if link.parent in own and link.name.isdecimal():
            return os.fdopen(os.dup(int(link.name)), "wb")
    return target.open("wb")


def usual_mode(target: Path) -> int:
    """Permissions of the file that is there, or those of a new one."""
    return target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()


def move(part: Path, target: Path) -> None:
    """Give a finished file its name, durably."""
    os.replace(part, target)
    keep_names(target.parent)


def keep_names(folder: Path) -> None:
    """Have the names of files in a folder on the disk."""
    if os.name == "posix":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


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


def _umask() -> int:
    value = os.umask(0o077)
    os.umask(value)
    return value


def output_error(target: Path, error: OSError) -> OutputError:
    """What to say when ``target`` could not be written."""
    reason = error.strerror or str(error)
    return OutputError(
        f"{target} could not be written: {reason}. What stood there is unchanged. Mend that or pass another path."
    )
