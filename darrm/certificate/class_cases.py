"""The cases of one group of voters with several classes, listed level by level.

An affected voter is at a *kind*: a tuple of classes, one for each outcome of a private bit. Without a delta there are
two outcomes, and at the kind (c, d) the voter votes c with probability hi and d with lo on one data set, and the other
way round on its neighbour. A voter that is not affected votes for one class with certainty. A *case* is a multiset of
kinds together with the number of such voters of each class.

Tables of expectations over a case are computed from those with one affected voter less: at the kind (k_1, ..., k_r)

    V(A + kind, z)  =  sum over j of  w_j V(A, z + e_(k_j)).

If a release treats all classes alike, cases that differ by names of classes have the same expectations. Then multisets
that are renamings of each other are merged: the classes that their kinds name are called 0, ..., b - 1, and the votes z
for the others are sorted. Some multisets may be kept twice under other names, which costs only time; none is left out
(docs/decisions.md, Lemma D7).
"""

from __future__ import annotations

import math
from collections import defaultdict
from functools import lru_cache
from itertools import permutations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from darrm.numerics.arrays import Array
from darrm.problem.class_corners import kinds_of
from darrm.problem.counts import Counts, Ranking, count_vectors, sorted_counts

Indices = NDArray[np.intp]
Kinds = NDArray[np.signedinteger]  # indices into `kinds_of`, of which there may be more than 2^15
_CHUNK = 300_000  # multisets that are renamed in one block
_NAMED = 4  # largest number of classes for which all renamings are tried
_ROUNDS = 3  # rounds of refining the order of classes by the kinds that they occur in


class Step(NamedTuple):
    """Multisets that are extended by one kind.

    Attributes
    ----------
    touched : int
        The number of classes that the kinds of their parents name.
    kind : tuple of int
    parents : ndarray of int
        The indices of the parents among the multisets of the previous level that name that number of classes.
    """

    touched: int
    kind: tuple[int, ...]
    parents: Indices


class Block(NamedTuple):
    """The multisets of one level that name the same number of classes.

    ``kinds`` has a row of indices into `kinds_of` for each multiset, in the order of ``steps``."""

    kinds: Kinds
    steps: tuple[Step, ...]


@lru_cache(maxsize=256)
def level(classes: int, outcomes: int, n: int, *, alike: bool) -> dict[int, Block]:
    """The multisets of n kinds by the number of classes they name; all count as named unless classes are ``alike``."""
    if n == 0:
        return {0 if alike else classes: Block(np.zeros((1, 0), dtype=_type(classes, outcomes)), ())}
    before = level(classes, outcomes, n - 1, alike=alike)
    return _up_to_names(before, classes, outcomes) if alike else _ordered(before, classes, outcomes)


def _type(classes: int, outcomes: int) -> type[np.signedinteger]:
    """The smallest integer type that holds the indices of all kinds."""
    return np.int16 if len(kinds_of(classes, outcomes)) < 2**15 else np.int32


def _ordered(before: dict[int, Block], classes: int, outcomes: int) -> dict[int, Block]:
    """Every multiset once: it is extended only by kinds from its last one on."""
    kinds = before[classes].kinds
    last = kinds[:, -1] if kinds.shape[1] else np.zeros(len(kinds), dtype=kinds.dtype)
    parts, steps = [], []
    for place, kind in enumerate(kinds_of(classes, outcomes)):
        parents = np.flatnonzero(last <= place)
        steps.append(Step(classes, kind, parents))
        parts.append(np.insert(kinds[parents], kinds.shape[1], place, axis=1))
    return {classes: Block(np.concatenate(parts), tuple(steps))}


def _up_to_names(before: dict[int, Block], classes: int, outcomes: int) -> dict[int, Block]:
    """Multisets up to a renaming of classes, as far as `_named_anew` detects it."""
    place = {kind: i for i, kind in enumerate(kinds_of(classes, outcomes))}
    grown: dict[int, list[tuple[int, int, tuple[int, ...]]]] = defaultdict(list)  # (parent's block, index, kind)
    for touched, kind in product(before, place):
        named = touched
        for name in kind:  # a new class has the next name
            if name > named:
                break
            named += name == named
        else:
            grown[named].append((touched, place[kind], kind))
    made = {}
    for named, ways in grown.items():
        parts = [
            np.insert(before[touched].kinds, before[touched].kinds.shape[1], which, axis=1)
            for touched, which, _ in ways
        ]
        every = np.concatenate(parts)
        kept = _first_of_each(every, named, classes, outcomes)
        ends = np.cumsum([len(part) for part in parts])
        steps, rows = [], []
        for (touched, _, kind), part, end in zip(ways, parts, ends, strict=True):
            own = kept[(kept >= end - len(part)) & (kept < end)]
            if own.size:
                steps.append(Step(touched, kind, own - (end - len(part))))
                rows.append(every[own])
        made[named] = Block(np.concatenate(rows), tuple(steps))
    return made


def _first_of_each(kinds: Kinds, named: int, classes: int, outcomes: int) -> Indices:
    """The rising indices of distinct multisets; renamings are merged where that is quick to detect."""
    weights = _weights_of_keys(named, classes, outcomes, kinds.shape[1])
    if weights is not None:
        keys = [_least_key(kinds[i : i + _CHUNK], weights) for i in range(0, len(kinds), _CHUNK)]
        return np.sort(np.unique(np.concatenate(keys), return_index=True)[1])
    again = np.concatenate(
        [_named_anew(kinds[i : i + _CHUNK], named, classes, outcomes) for i in range(0, len(kinds), _CHUNK)]
    )
    hashes = np.zeros(len(again), dtype=np.uint64)
    for column in again.T:
        hashes = _mixed(hashes ^ column.astype(np.uint64))
    _, first, which = np.unique(hashes, return_index=True, return_inverse=True)
    # Different multisets of one hash are all kept: none may be taken for another.
    other = np.flatnonzero((again != again[first[which]]).any(axis=1))
    return np.union1d(first, other)


def _weights_of_keys(named: int, classes: int, outcomes: int, n: int) -> Array | None:
    """The contribution of each kind to the key of a multiset of n, by renaming; shape (kinds, renamings).

    The digits of a key are the numbers of voters at each kind, so multisets with equal keys are equal. None if there
    are many renamings, or keys that float64 does not hold exactly.
    """
    kinds = kinds_of(classes, outcomes)
    own = {kind: i for i, kind in enumerate(kind for kind in kinds if max(kind) < named)}
    if named > _NAMED or (n + 1) ** len(own) > 2**53:
        return None
    weights = np.zeros((len(kinds), math.factorial(named)))
    for way, name in enumerate(permutations(range(named))):
        for kind in own:
            weights[kinds.index(kind), way] = (n + 1) ** own[tuple(name[c] for c in kind)]
    return weights


def _least_key(kinds: Kinds, weights: Array) -> Array:
    """The least key of each multiset over all renamings of its classes."""
    rows = np.arange(len(kinds))[:, None] * len(weights)
    counts = np.bincount((rows + kinds).ravel(), minlength=len(kinds) * len(weights))
    keys = counts.reshape(len(kinds), -1).astype(np.float64) @ weights
    return np.asarray(keys.min(axis=1))


def _named_anew(kinds: Kinds, named: int, classes: int, outcomes: int) -> Kinds:
    """Each multiset with its classes renamed in an order that depends little on their old names; rows are sorted."""
    table = np.array(kinds_of(classes, outcomes), dtype=np.intp)
    rows = np.arange(len(kinds))
    colours = np.zeros((len(kinds), named), dtype=np.uint64)
    for _ in range(_ROUNDS if named > 1 else 0):
        met = _mixed(colours + np.uint64(1))
        for column in kinds.T:
            names = table[column]
            own = np.zeros(len(kinds), dtype=np.uint64)
            for j in range(outcomes):
                own = _mixed(own ^ colours[rows, names[:, j]])
            for j in range(outcomes):
                met[rows, names[:, j]] += _mixed(own + np.uint64(j + 1))
        colours = met
    order = np.argsort(colours, axis=1, kind="stable")
    name = np.empty_like(order)
    np.put_along_axis(name, order, np.broadcast_to(np.arange(named), order.shape), axis=1)
    places = np.full((classes,) * outcomes, -1, dtype=kinds.dtype)
    places[tuple(table.T)] = np.arange(len(table))
    renamed = [name[rows[:, None], table[kinds][..., j]] for j in range(outcomes)]
    return np.sort(places[tuple(renamed)], axis=1)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A hash of 64 bits (the finaliser of splitmix64, Steele, Lea, Flood, OOPSLA 2014)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


@lru_cache(maxsize=1024)
def sure_votes(total: int, classes: int, touched: int) -> Counts:
    """All votes of ``total`` voters with deterministic votes: any for ``touched`` classes, sorted for the others."""
    if touched == classes:
        return count_vectors(total, classes)
    if touched == 0:
        return sorted_counts(total, classes)
    parts = []
    for first in range(total, -1, -1):
        named, rest = count_vectors(first, touched), sorted_counts(total - first, classes - touched)
        parts.append(np.hstack([np.repeat(named, len(rest), axis=0), np.tile(rest, (len(named), 1))]))
    return np.concatenate(parts)


@lru_cache(maxsize=256)
def _ranking(total: int, classes: int, touched: int) -> Ranking:
    return Ranking(sure_votes(total, classes, touched), total + 1)


@lru_cache(maxsize=4096)
def one_more(total: int, classes: int, touched: int, voted: int, parents: int, answers: int, *, alike: bool) -> Indices:
    """The indices in a parent's table of z + e_voted, for all z in `sure_votes` of ``total`` with ``touched`` classes.

    The parent has total + 1 such voters and names ``parents`` classes. If classes are ``alike``, its votes for the
    others are sorted, the probability of an answer moves with its class, and the indices are those of (votes, answer).
    Else they are indices of votes.
    """
    votes = sure_votes(total, classes, touched).copy()
    votes[:, voted] += 1
    if not alike:
        return _ranking(total + 1, classes, parents).of(votes)
    order = np.broadcast_to(np.arange(classes), votes.shape).copy()
    order[:, parents:] = parents + np.argsort(-votes[:, parents:], axis=1, kind="stable")
    places = np.broadcast_to(np.arange(answers), (len(votes), answers)).copy()  # the answer "none" keeps its index
    np.put_along_axis(places, order, np.broadcast_to(np.arange(classes), order.shape), axis=1)
    found = _ranking(total + 1, classes, parents).of(np.take_along_axis(votes, order, axis=1))
    return np.asarray((found[:, None] * answers + places).ravel())
