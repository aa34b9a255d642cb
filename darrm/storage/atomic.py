"""Files that are either written whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from darrm._validation import path as check_path
from darrm.errors import OutputError

ELSEWHERE = "Fix that or pass another path."


@dataclass(frozen=True)
class Part:
    """An unfinished file beside the one that it will be; only its owner can read it."""

    file: IO[bytes]
    path: Path

    def finish(self) -> None:
        """Close the file, with its content on the disk."""
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()


@contextmanager
def replacing(path: str | os.PathLike[str], remedy: str = ELSEWHERE) -> Iterator[IO[bytes]]:
    """A binary file that takes the place of ``path`` when the block ends well, and leaves no trace otherwise.

    The content is on disk before it takes the name, so a crash leaves the old file or the new one, whole. A device
    or a pipe gets all of it when the block ends well, and so does whatever is reached by a name or a link in /dev or
    /proc: /dev/stdout may be a file, but the name is not to be replaced. /dev/shm holds files as any folder does.

    ``remedy`` is what an error says last.

    Raises
    ------
    OutputError
        If the folder is missing, not writable or full.
    """
    target = check_path("path", path)
    with _blaming(target, remedy):
        if not is_device(path):
            with part_of(path, remedy) as part:
                yield part.file
                part.finish()
                move(part.path, target)
            return
        if not target.exists():
            raise OutputError(f"{target} could not be written: it is not open. Pass the path of a file.")
        with tempfile.TemporaryFile() as whole:
            yield whole
            whole.seek(0)
            with _opened(target) as device:
                shutil.copyfileobj(whole, device)


@contextmanager
def part_of(path: str | os.PathLike[str], remedy: str = ELSEWHERE) -> Iterator[Part]:
    """An unfinished file for ``path``: the block finishes and moves it, or it is deleted.

    Raises
    ------
    OutputError
        If ``path`` is a device, or the folder is missing, not writable or full.
    """
    target = check_path("path", path)
    with _blaming(target, remedy):
        if is_device(path):
            raise OutputError(f"{target} is not a file that can be replaced. Pass the path of one.")
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.", suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                yield Part(file, Path(name))
        finally:
            with suppress(FileNotFoundError):
                os.unlink(name)


def check_place(path: str | os.PathLike[str], remedy: str = ELSEWHERE) -> None:
    """Raise now the `OutputError` that `replacing` would raise after the work: the folder is missing or read-only."""
    with _blaming(check_path("path", path), remedy):
        if not is_device(path):
            with part_of(path, remedy):
                pass


@contextmanager
def _blaming(target: Path, remedy: str) -> Iterator[None]:
    """Turn every OSError of the block into the `OutputError` that ``target`` could not be written."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        raise output_error(target, error, remedy) from error


def is_device(path: str | os.PathLike[str]) -> bool:
    """Whether ``path`` is a device or a pipe, or leads to a name of the system; `OutputError` if it is a folder."""
    target = check_path("path", path)
    if not os.fspath(path) or target.is_dir():
        raise OutputError(
            f"{os.fspath(path)!r} could not be written: it is a folder or no name. Pass the path of a file."
        )
    return any(map(_is_special, _links(target))) or (target.exists() and not target.is_file())


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


def _opened(target: Path) -> IO[bytes]:
    """A device for writing; if it is an open file of this process, then that, where it is, not the file anew."""
    own = {Path(os.path.realpath(folder)) for folder in ("/proc/self/fd", "/proc/thread-self/fd", "/dev/fd")}
    for link in _links(target):
        if link.parent in own and link.name.isdecimal():
            return os.fdopen(os.dup(int(link.name)), "wb")
    return target.open("wb")


def _usual_mode(target: Path) -> int:
    """Permissions of the file that is there, or those of a new one."""
    if target.exists():
        return target.stat().st_mode & 0o777
    umask = os.umask(0o077)
    os.umask(umask)
    return 0o666 & ~umask


def move(part: Path, target: Path) -> None:
    """Give a finished file its name, durably, and the permissions of the file that it replaces."""
    os.chmod(part, _usual_mode(target))
    os.replace(part, target)
    keep_names(target.parent)


def keep_names(folder: Path) -> None:
    """Have the names of files in a folder on the disk."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def resolved(path: str | os.PathLike[str]) -> Path:
    """``path`` without links, absolute. A link that leads to itself is left as it is: opening it says what is wrong."""
    return Path(os.path.realpath(path))


def output_error(target: Path, error: OSError, remedy: str = ELSEWHERE) -> OutputError:
    """What to say when ``target`` could not be written."""
    reason = error.strerror or str(error)
    kept = "What stood there is unchanged. " if os.path.lexists(target) else ""
    return OutputError(f"{target} could not be written: {reason}. {kept}{remedy}")
