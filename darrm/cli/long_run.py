"""A long run: a bar or lines that say how far it is, and an interrupt that ends it at once."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from darrm.cli.endings import INTERRUPTED, current, error_object

T = TypeVar("T")

QUIET = "DARRM_QUIET"  # the environment variable that leaves out lines of `telling`
_FIRST, _EVERY = 5.0, 10.0  # seconds until its first line, and between lines
_SEEN = 1.0  # seconds until a first line on a terminal, where somebody waits
# What a command does until it says more.
_DOES = {
    "solve": "searching for the design of least error",
    "verify": "verifying",
    "release": "releasing labels",
    "release-shared": "waiting for the other parties, or drawing the first labels over shares with them",
    "compare": "comparing mechanisms",
    "table": "solving designs",
    "profile": "computing the privacy profile",
    "budget": "composing labels",
    "plan": "searching for the best noise",
    "ledger": "composing the charges of the ledger",
    "report": "computing the figures of the report",
    "constraints": "listing constraints",
    "export": "verifying what is exported",
    "audit": "auditing",
    "demo": "planning the example and releasing its labels",
}


class _News:
    """What the command that runs does now, for `telling`; None while a bar says it."""

    words: str | None = None
    rows = 0


_news = _News()


@contextmanager
def telling(command: str) -> Iterator[None]:
    """Lines on standard error about ``command`` if it takes long, except while `progress` shows a bar.

    The first comes after five seconds; on a terminal another one after a second, unless JSON is printed.
    """
    if os.environ.get(QUIET):
        yield
        return
    start, ended, run = time.perf_counter(), threading.Event(), current()
    _news.words, _news.rows = _DOES.get(command, "at work"), 0
    seen = sys.stderr is not None and sys.stderr.isatty() and not run.as_json

    def tell() -> None:
        waits = iter((_SEEN, _FIRST - _SEEN) if seen else (_FIRST,))
        while not ended.wait(next(waits, _EVERY)):
            if _news.words is not None:
                seconds = time.perf_counter() - start
                said = f"darrm {command}: {_news.words} ({seconds:.0f} s)"
                run.say(said, "progress", rows=_news.rows, seconds=round(seconds, 3))

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def reached(rows: int) -> None:
    """Let `telling` say how many rows are done."""
    _news.words, _news.rows = f"{rows:,} rows", rows


@contextmanager
def progress(say: Callable[..., tuple[int, int | None, str]]) -> Iterator[Callable[..., None]]:
    """A function that takes what ``say`` takes and shows the answer, (done, all or None, words), on standard error.

    A bar on a terminal; elsewhere the words stand in the lines of `telling`.
    """
    if sys.stderr is None or not sys.stderr.isatty():

        def tell(*now: Any) -> None:
            _news.words = say(*now)[2]

        yield tell
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task, before = bar.add_task(_news.words or "", total=None), _news.words
        _news.words = None

        def show(*now: Any) -> None:
            done, total, words = say(*now)
            bar.update(task, completed=done, total=total, description=words)

        try:
            yield show
        finally:
            _news.words = before


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
        said = f"Interrupted. {message}"
        with suppress(OSError):
            os.write(2, f"{chr(10) * os.isatty(2)}darrm: {said}\n".encode())
        if as_json:
            with suppress(OSError):
                os.write(1, f"{json.dumps(error_object(INTERRUPTED, said))}\n".encode())
        os._exit(INTERRUPTED.status)

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread hears signals
        return
    # The process that cleans up behind a pool would print what it finds.
    os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker")
    as_json = current().as_json
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
