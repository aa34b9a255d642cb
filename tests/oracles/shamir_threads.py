"""Shamir's secret sharing and the product of Gennaro, Rabin and Rabin by themselves, in threads that share a board.

It has the operations of MPyC's runtime that `darrm.interop.shared_circuit` uses, so that the computation over shares
can be run a hundred thousand times in seconds, and so that everything that a party sees can be written down.
"""

import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import numpy as np


class Board:
    """What parties send each other: each writes a row and reads its column, in lockstep."""

    def __init__(self, parties: int) -> None:
        self._rows: list[Any] = [None] * parties
        self._barrier = threading.Barrier(parties, timeout=60)

    def sent(self, party: int, row: list[Any]) -> list[Any]:
        self._rows[party] = row
        self._barrier.wait()
        column = [each[party] for each in self._rows]
        self._barrier.wait()
        return column

    def fail(self) -> None:
        self._barrier.abort()


class Value:
    """What MPyC hands out as shares or opened values."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Parts:
    """One party's shares of an array."""

    def __init__(self, runtime: "Runtime", shares: Any) -> None:
        self._runtime, self.value = runtime, np.asarray(shares, dtype=np.int64)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    def __getitem__(self, key: Any) -> "Parts":
        return Parts(self._runtime, self.value[key])

    def __rsub__(self, number: int) -> "Parts":
        return Parts(self._runtime, (number - self.value) % self._runtime.p)

    def __mul__(self, other: "Parts") -> "Parts":
        return self._runtime.reshared(self.value * other.value)


class Runtime:
    """One party's runtime; ``seen`` is everything that reaches it: opened values, and shares that others send."""

    def __init__(self, board: Board, pid: int, parties: int, rng: np.random.Generator) -> None:
        self.pid, self.threshold, self.seen, self.opened = pid, (parties - 1) // 2, [], []
        self._board, self._m, self._rng, self.p = board, parties, rng, 0

    def SecFld(self, p: int) -> Any:
        runtime, self.p = self, p

        class Kind:
            class sectype:
                class field:
                    array = staticmethod(lambda values: Value(np.asarray(values, dtype=np.int64)))

            def __new__(cls, values: Any) -> Any:
                return Parts(runtime, getattr(values, "value", values))

        class Field:
            array = Kind

        return Field

    def _split(self, values: Any) -> list[Any]:
        coefficients = [self._rng.integers(0, self.p, values.shape) for _ in range(self.threshold)]
        return [
            (values + sum(c * x ** (k + 1) for k, c in enumerate(coefficients))) % self.p for x in range(1, self._m + 1)
        ]

    def _at_zero(self, shares: Sequence[Any]) -> Any:
        total: Any = 0
        for i, share in enumerate(shares):
            weight = 1
            for j in range(len(shares)):
                if j != i:
                    weight = weight * (j + 1) * pow(j - i, -1, self.p) % self.p
            total = total + weight * share
        return total % self.p

    def _received(self, row: list[Any]) -> list[Any]:
        column = self._board.sent(self.pid, row)
        self.seen += [values.reshape(-1, values.shape[-1]) for i, values in enumerate(column) if i != self.pid]
        return column

    def reshared(self, product: Any) -> Parts:
        return Parts(self, self._at_zero(self._received(self._split(product % self.p))))

    def input(self, x: Parts, senders: int) -> Parts:
        row = self._split(x.value % self.p) if self.pid == senders else [np.zeros((0, 1), dtype=np.int64)] * self._m
        column = self._board.sent(self.pid, row)
        if self.pid != senders:
            self.seen.append(column[senders].reshape(-1, column[senders].shape[-1]))
        return Parts(self, column[senders])

    async def output(self, x: Parts, receivers: Sequence[int] | None = None) -> Value:
        assert receivers is None  # all
        value = self._at_zero(self._received([x.value] * self._m))
        self.opened.append(value)
        return Value(value)

    async def gather(self, x: Parts) -> Value:
        return Value(x.value)

    def np_concatenate(self, parts: Sequence[Parts]) -> Parts:
        return Parts(self, np.concatenate([part.value for part in parts]))

    def np_prod(self, a: Parts, axis: int) -> Parts:
        while a.shape[0] > 1:
            half = a.shape[0] // 2
            product = a[:half] * a[half : 2 * half]
            a = self.np_concatenate([product, a[2 * half :]]) if a.shape[0] % 2 else product
        return a[0]


def together(parties: int, work: Callable[[Runtime], Awaitable[Any]], seed: int = 0) -> list[tuple[Any, Runtime]]:
    """What ``work`` returns at each party, with the party's runtime."""
    board, made, failed = Board(parties), [None] * parties, []
    runtimes = [Runtime(board, i, parties, np.random.default_rng((seed, i))) for i in range(parties)]

    def run(i: int) -> None:
        try:
            step = work(runtimes[i])
            try:
                step.send(None)  # type: ignore[attr-defined]  # nothing here waits
            except StopIteration as ended:
                made[i] = ended.value
        except BaseException as error:
            failed.append(error)
            board.fail()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(parties)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return list(zip(made, runtimes, strict=True))
