"""Files that are either written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from darrm.errors import OutputError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file that takes the place of ``path`` when the block ends well, and leaves no trace otherwise.

    The content is on disk before it takes the name, so a crash leaves the old file or the new one, whole. A device
    such as /dev/stdout is written directly.

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
        if target.exists() and not target.is_file() and not target.is_dir():
            with target.open("wb") as device:
                yield device
            return
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.", suffix=".part")
    except OSError as error:
        raise _output_error(target, error) from error
    try:
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, mode)
            os.replace(name, target)
        except OSError as error:
            raise _output_error(target, error) from error
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)


def _umask() -> int:
    value = os.umask(0o077)
    os.umask(value)
    return value


def _output_error(target: Path, error: OSError) -> OutputError:
    reason = error.strerror or str(error)
    return OutputError(
        f"{target} could not be written: {reason}. What stood there is unchanged. Mend that or pass another path."
    )
