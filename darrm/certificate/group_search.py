"""Proposals for the worst cases of a decision by groups, by matrix products; they are lower bounds only.

The ones among the n affected voters of a group have the distributions p_A on D and q_A on D', for each multiset A of
corners. So the tables of `darrm.certificate.groups` are, for one group after the other,

    W(A, z) = sum over j of q_A(j) W(z + j),     D(A, z) = sum over j of  p_A(j) D(z + j) + (p_A(j) - q_A(j)) W(z + j),

D = V - W, and the hockey-stick divergence is D - (e^epsilon - 1) W. The distributions depend on voters alone and are
computed once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from darrm.numerics.arrays import Array
from darrm.numerics.deadline import check_time
from darrm.problem.corners import MovingCorner
from darrm.problem.decision import DecisionProblem

_Rows = list[tuple[tuple[int, ...], slice]]  # the slice of the states with given numbers of affected voters
_MOST = 4_000_000  # largest number of probabilities in all distributions for which they are kept


class OfGroup(NamedTuple):
    """The distributions for n affected voters of a group: multisets of corners by numbers of ones."""

    p_side: Array
    q_side: Array
    difference: Array


class Found(NamedTuple):
    """The largest divergence of some states: affected voters of each group, and index of the state."""

    excess: float
    reached: tuple[int, ...]
    place: int


def prefixes(kinds: int, n: int) -> list[int]:
    """For each of ``kinds`` corners the number of multisets of n - 1 corners that use no later corner."""
    return [math.comb(n - 1 + kind, kind) for kind in range(kinds)]


def searchable(problem: DecisionProblem, corners: Sequence[Sequence[MovingCorner]]) -> bool:
    """Whether there are few enough distributions to keep them."""
    sizes = [
        sum(math.comb(n + len(own) - 1, n) * (n + 1) for n in range(min(g.max_affected, problem.max_affected) + 1))
        for g, own in zip(problem.groups, corners, strict=True)
    ]
    return sum(sizes) <= _MOST


@lru_cache(maxsize=8)
def _levels(corners: tuple[MovingCorner, ...], most: int) -> tuple[OfGroup, ...]:
    """The distributions of 0, ..., ``most`` affected voters; multisets in the order of `darrm.certificate.groups`."""
    one = np.ones((1, 1))
    made = [OfGroup(one, one, 0 * one)]
    weights = [tuple(map(float, (c.not_p, c.p, c.not_q, c.q, c.gap))) for c in corners]
    for n in range(1, most + 1):
        check_time()
        parts = []
        for m, (not_p, p, not_q, q, gap) in zip(prefixes(len(corners), n), weights, strict=True):
            P, Q, D = (np.pad(side[:m], ((0, 0), (1, 1))) for side in made[-1])
            parts.append(
                (
                    not_p * P[:, 1:] + p * P[:, :-1],
                    not_q * Q[:, 1:] + q * Q[:, :-1],
                    not_p * D[:, 1:] + p * D[:, :-1] + gap * (Q[:, :-1] - Q[:, 1:]),
                )
            )
        made.append(OfGroup(*(np.concatenate(sides) for sides in zip(*parts, strict=True))))
    return tuple(made)


@lru_cache(maxsize=1024)
def _windows(sure: int, n: int) -> NDArray[np.intp]:
    """z + j for z = 0, ..., ``sure`` and j = 0, ..., n."""
    return np.add.outer(np.arange(sure + 1), np.arange(n + 1))


class GroupSearch:
    """Finds the worst states of a table X, float64, for one answer."""

    def __init__(self, X: Array, problem: DecisionProblem, corners: Sequence[tuple[MovingCorner, ...]]) -> None:
        self._X, self._shape, self._most = X, problem.table_shape, problem.max_affected
        self._levels = [
            _levels(own, min(group.max_affected, problem.max_affected))
            for group, own in zip(problem.groups, corners, strict=True)
        ]

    @cached_property
    def _n_blocks(self) -> int:
        ways = np.ones(1, dtype=np.int64)
        for levels in self._levels:
            ways = np.convolve(ways, np.ones(len(levels), dtype=np.int64))[: self._most + 1]
        return int(ways.sum())

    def at(self, found: Found) -> list[tuple[int, int]]:
        """The state: for each group the number of deterministic votes for 1, and the index of the multiset."""
        shape: list[int] = []
        for levels, size, n in zip(self._levels, self._shape, found.reached, strict=True):
            shape += [size - n, len(levels[n].q_side)]
        states = [int(i) for i in np.unravel_index(found.place, shape)]
        return list(zip(states[::2], states[1::2], strict=True))

    def sides(self, found: Found) -> tuple[float, float, float]:
        """V, W and V - W at one state."""
        at = self.at(found)
        window = tuple(slice(z, z + n + 1) for (z, _), n in zip(at, found.reached, strict=True))
        V = W = self._X[window]
        D = np.zeros_like(V)
        for levels, n, (_, which) in zip(self._levels, found.reached, at, strict=True):
            p, q, gap = (side[which] for side in levels[n])
            shape = (n + 1, -1)
            D = p @ D.reshape(shape) + gap @ W.reshape(shape)
            V, W = p @ V.reshape(shape), q @ W.reshape(shape)
        return float(V.item()), float(W.item()), float(D.item())

    def worst(self, kappa: float, most: int = 1, above: float = -math.inf) -> Iterator[Found]:
        """The largest D - kappa W in each block of states; in parts of blocks, if there are fewer than ``most``.

        Values up to ``above`` are left out.
        """
        each = -(-most // self._n_blocks)
        *earlier, last = self._shape
        q_side = self._X.reshape(1, *self._shape)
        difference: Array | None = None  # 0
        blocks: _Rows = [((), slice(0, 1))]
        for g, size in enumerate(earlier):
            blocks, q_side, difference = self._through(g, size, blocks, q_side, difference)
        for n, own in enumerate(self._levels[-1]):
            check_time()
            left = [(reached, rows) for reached, rows in blocks if sum(reached) + n <= self._most]
            if not left:
                break
            windows = _windows(last - 1 - n, n)
            columns = (own.difference - kappa * own.q_side).T
            excess = q_side.take(windows, axis=1) @ columns
            if difference is not None:
                excess += difference.take(windows, axis=1) @ own.p_side.T
            for reached, rows in left:
                yield from self._largest(excess[rows], (*reached, n), each, above)

    def _through(
        self,
        g: int,
        size: int,
        blocks: _Rows,
        q_side: Array,
        difference: Array | None,
    ) -> tuple[_Rows, Array, Array]:
        """The tables after group g: rows for all states of the groups so far, axes for the remaining groups."""
        made, sides, start = [], [], 0
        W = q_side.reshape(len(q_side), size, -1)
        D = None if difference is None else difference.reshape(W.shape)
        for n, own in enumerate(self._levels[g]):
            check_time()
            windows = _windows(size - 1 - n, n)
            states = windows.shape[0] * len(own.q_side)
            here = [(reached, rows) for reached, rows in blocks if sum(reached) + n <= self._most]
            if not here:
                break
            chosen = W if len(here) == len(blocks) else np.concatenate([W[rows] for _, rows in here])
            W_own = chosen.take(windows, axis=1)
            new_D = own.difference @ W_own
            if D is not None:
                chosen = D if len(here) == len(blocks) else np.concatenate([D[rows] for _, rows in here])
                new_D += own.p_side @ chosen.take(windows, axis=1)
            sides.append([side.reshape(-1, W.shape[-1]) for side in (own.q_side @ W_own, new_D)])
            for reached, rows in here:
                stop = start + (rows.stop - rows.start) * states
                made.append(((*reached, n), slice(start, stop)))
                start = stop
        shape = (start, *self._shape[g + 1 :])
        new_q, new_d = (np.concatenate(parts).reshape(shape) for parts in zip(*sides, strict=True))
        return made, new_q, new_d

    def _largest(self, excess: Array, reached: tuple[int, ...], each: int, above: float) -> Iterator[Found]:
        """The largest of each part of a block."""
        if each == 1 or excess.max() <= above:
            parts = [int(excess.argmax())]
        else:
            flat, length = excess.ravel(), -(-excess.size // each)
            padded = np.pad(flat, (0, -flat.size % length), constant_values=-np.inf).reshape(-1, length)
            parts = (padded.argmax(axis=1) + np.arange(len(padded)) * length).tolist()
        for at in parts:
            if excess.flat[at] > above:
                yield Found(float(excess.flat[at]), reached, at)
