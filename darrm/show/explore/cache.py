"""Answers that are kept, each computed once however many ask, and never more than a few at a time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

from darrm.errors import DarrmError

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
_PATIENCE = 0.1  # seconds between two looks at whether the client is still there


class Gone(Exception):
    """Nobody waits for the answer any more."""


class Cache(Generic[Key, Value]):
    """The last ``size`` answers of ``make``; at most ``workers`` are made at once.

    A request that waits for its turn gives up when its client is gone, so that a slider that was dragged does not
    leave a queue behind. Errors of darrm are kept like answers: a time limit is not run into twice. All methods may be
    called from many threads.

    Parameters
    ----------
    make : callable
        From a key to its answer.
    size, workers : int
    """

    def __init__(self, make: Callable[[Key], Value], size: int, workers: int) -> None:
        self._make, self._size = make, size
        self._turn = threading.BoundedSemaphore(workers)
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, Future[Value]] = OrderedDict()

    def get(self, key: Key, gone: Callable[[], bool] = lambda: False) -> Value:
        """The answer for ``key``; `Gone` if ``gone()`` before it could be begun."""
        while True:
            with self._lock:
                answer = self._kept.get(key)
                mine = answer is None
                if answer is None:
                    answer = self._kept[key] = Future()
                    while len(self._kept) > self._size:
                        self._kept.popitem(last=False)
                else:
                    self._kept.move_to_end(key)
            if mine:
                self._fill(key, answer, gone)
            try:
                return answer.result()
            except Gone:
                if gone():
                    raise
                # The client that was to compute it went away; this client still waits.

    def _fill(self, key: Key, future: Future[Value], gone: Callable[[], bool]) -> None:
        try:
            while not self._turn.acquire(timeout=_PATIENCE):
                if gone():
                    raise Gone
            try:
                future.set_result(self._make(key))
            finally:
                self._turn.release()
        except BaseException as error:
            if not isinstance(error, DarrmError):
                with self._lock:
                    if self._kept.get(key) is future:
                        del self._kept[key]
            future.set_exception(error)
