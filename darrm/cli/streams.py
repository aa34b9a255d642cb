"""Standard streams that may fail: a reader that leaves or a full disk must not change what a command answers."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from darrm.errors import OutputError


class _Kept:
    """A stream that goes nowhere once it has failed; ``failed`` hears of all but readers that leave."""

    def __init__(self, stream: Any, failed: Callable[[OSError], None]) -> None:
        self._stream, self._failed = stream, failed
        self._error: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._stream, name)
        return _Kept(value, self._failed) if name == "buffer" else value  # so that nobody writes past this

    def write(self, text: Any) -> int:
        if text != "":  # click tries a stream with none, and hides what that raises
            self._try(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        self._try(self._stream.flush)

    def _try(self, action: Callable[[], object]) -> None:
        try:
            if self._error is None:
                action()
        except OSError as error:
            self._error = error
            # What waits in the buffer goes to nowhere, else Python would try it again on exit.
            with suppress(OSError, ValueError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self._stream.fileno())
                os.close(nowhere)
        if self._error is not None and not isinstance(self._error, BrokenPipeError):
            self._failed(self._error)


def _refuse(error: OSError) -> None:
    raise OutputError(
        f"Standard output could not be written: {error.strerror or error}. Send it elsewhere, or free disk space."
    ) from error


@contextmanager
def kept_streams() -> Iterator[None]:
    """Meanwhile, readers may leave; `OutputError` if standard output fails in another way, nothing if standard error
    does so.
    """
    before = sys.stdout, sys.stderr
    if sys.stdout is not None:
        sys.stdout = _Kept(sys.stdout, _refuse)
    if sys.stderr is not None:
        sys.stderr = _Kept(sys.stderr, lambda error: None)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
