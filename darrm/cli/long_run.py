"""A long run at a terminal: a bar that shows how far it is, and an interrupt that ends it at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

T = TypeVar("T")


@contextmanager
def progress(say: Callable[..., tuple[int, int | None, str]]) -> Iterator[Callable[..., None] | None]:
    """A function that takes what ``say`` takes and shows the answer, (done, all or None, words), on standard error.

    None if standard error is not a terminal.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def show(*now: Any) -> None:
            done, total, words = say(*now)
            bar.update(task, completed=done, total=total, description=words)

        yield show


def counted(what: str) -> Callable[[int, int, int], tuple[int, int, str]]:
    """For `progress`: rows done, their rate, and how many of them are ``what``."""
    start, before = time.perf_counter(), -1

    def say(done: int, total: int, those: int) -> tuple[int, int, str]:
        nonlocal before
        if before < 0:
            before = done  # what was there before is no work of this run
        rate = (done - before) / max(1e-9, time.perf_counter() - start)
        return done, total, f"{done}/{total} {rate:.3g}/s, {those} {what}"

    return say


@contextmanager
def ending_at_once(message: str) -> Iterator[None]:
    """An interrupt ends this process and its workers there and then, with ``message``: pools take their time."""

    def end(number: int, frame: object) -> None:
        pools = sys.modules.get("joblib.externals.loky.reusable_executor")
        executor = getattr(pools, "_executor", None)
        for pid in list(getattr(executor, "_processes", None) or {}):
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
        os.write(2, f"{chr(10) * os.isatty(2)}darrm: Interrupted. {message}\n".encode())
        os._exit(130)

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread hears signals
        return
    # The process that cleans up behind a pool would print what it finds.
    os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker")
    before = signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def beside(action: Callable[[], T]) -> T:
    """What ``action`` returns or raises, run in another thread: this one hears interrupts while a solver runs in C."""
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(action())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    if failed:
        raise failed[0]
    return done[0]
