"""The worst case of a certificate, worked out so that a reader can follow it with a calculator."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from darrm.design.design import Design
from darrm.numerics.exact import decimals
from darrm.problem.group_corners import group_corners
from darrm.problem.groups import VoterGroup
from darrm.problem.limits import guarantee
from darrm.problem.randomizers import exact_table

_ZERO, _ONE = Decimal(0), Decimal(1)


@dataclass(frozen=True)
class Vote:
    """A vote's probabilities of 1 and of 0 on one of two neighbouring data sets."""

    one: Decimal
    zero: Decimal


@dataclass(frozen=True)
class WorstCounts:
    """X(p) - e^eps X(p') at the case that a certificate names, to 60 digits.

    Attributes
    ----------
    probabilities : tuple of two Decimal
        X(p) and X(p'): the probabilities of the answer in question on D and on D'.
    factor : Decimal
        e^eps, eps that of the guarantee.
    excess : Decimal
        X(p) - e^eps X(p').
    """

    probabilities: tuple[Decimal, Decimal]
    factor: Decimal
    excess: Decimal


@dataclass(frozen=True)
class WorstMultiset(WorstCounts):
    """The worst case of a majority: eps is m epsilon, and the answer is 1.

    Attributes
    ----------
    corners : tuple of (str, int, Vote, Vote)
        Name, number of votes there, and the vote's probabilities on D and on D'.
    p_side, q_side : tuple of Decimal, length K + 1
        Pr[L = l | D] and Pr[L = l | D'], L the number of votes for 1.
    release : tuple of Decimal, length K + 1
        Pr[release 1 | L = l] = (1 + sign(l - K/2) gamma(l)) / 2.
    """

    corners: tuple[tuple[str, int, Vote, Vote], ...]
    p_side: tuple[Decimal, ...]
    q_side: tuple[Decimal, ...]
    release: tuple[Decimal, ...]


class GroupCorner(NamedTuple):
    """Where some voters of a group are in the worst case; groups are counted from 1."""

    group: int
    name: str
    voters: int
    p: Vote
    q: Vote


@dataclass(frozen=True)
class WorstGroups(WorstCounts):
    """The worst case of a decision by groups.

    Attributes
    ----------
    answer : int
        Whose probability rises by too much.
    corners : tuple of GroupCorner
    p_side, q_side : tuples of Decimal, one of length K_g + 1 for each group
        Pr[n_g = l | D] and Pr[n_g = l | D'], n_g the number of ones in group g.
    """

    answer: int
    corners: tuple[GroupCorner, ...]
    p_side: tuple[tuple[Decimal, ...], ...]
    q_side: tuple[tuple[Decimal, ...], ...]


def work_out(design: Design) -> WorstMultiset:
    """The excess at the worst multiset of the certificate of ``design``, from the definition.

    Nothing here is shared with the certificate but the names of the corners: one vote is added after the other, in
    decimal arithmetic without underflow. O(K^2), some seconds at K = 3001.
    """
    [group], K = design.problem.groups, design.problem.K
    total = guarantee(design.problem).epsilon
    with decimals(total):
        votes = _votes(group.epsilon, group.delta)
        corners = tuple((name, n, *votes[name]) for name, n in design.certificate.worst_case.items())
        p_side = _ones([(vote, count) for _, count, vote, _ in corners])
        q_side = _ones([(vote, count) for _, count, _, vote in corners])
        release = tuple((1 + ((2 * l > K) - (2 * l < K)) * Decimal(g)) / 2 for l, g in enumerate(design.gamma.tolist()))
        x, y = (sum((a * b for a, b in zip(pmf, release, strict=True)), _ZERO) for pmf in (p_side, q_side))
        factor = total.exp()
        return WorstMultiset((x, y), factor, x - factor * y, corners, p_side, q_side, release)


def work_out_groups(design: Design) -> WorstGroups:
    """The same for a decision by groups: a sum over all count vectors, one group after the other.

    Where its voters are certified as voters that do not fail, and their failures together, it is of such voters.
    """
    problem, case = design.problem, dict(design.certificate.worst_case)
    total, apart = guarantee(problem).epsilon, bool(group_corners(problem)[1])
    with decimals(total):
        answer = case.pop("answer")
        corners = []
        for place, voters in case.items():
            _, g, name = place.split(maxsplit=2)
            group = problem.groups[int(g) - 1]
            name = name.removeprefix("at ")
            corners.append(GroupCorner(int(g), name, voters, *_votes_of(group, name, pure=apart)))
        sides = [
            tuple(
                _ones([(getattr(corner, side), corner.voters) for corner in corners if corner.group == g])
                for g in range(1, len(problem.groups) + 1)
            )
            for side in ("p", "q")
        ]
        chances = [value if answer else 1 - value for value in map(Decimal, design.table.ravel().tolist())]
        x, y = (mean(chances, side) for side in sides)
        factor = total.exp()
        return WorstGroups((x, y), factor, x - factor * y, answer, tuple(corners), *sides)


def mean(chances: list[Decimal], counts: tuple[tuple[Decimal, ...], ...]) -> Decimal:
    """The mean of a table, last axis fastest, over independent counts."""
    for pmf in reversed(counts):
        lines = (chances[at : at + len(pmf)] for at in range(0, len(chances), len(pmf)))
        chances = [sum((a * b for a, b in zip(pmf, line, strict=True)), _ZERO) for line in lines]
    return chances[0]


def _votes_of(group: VoterGroup, name: str, *, pure: bool) -> tuple[Vote, Vote]:
    """(p, p') of the voters of a group at a place that a certificate names."""
    if name.startswith("("):
        return _votes(group.epsilon, 0.0 if pure else group.delta)[name]
    says = [int(word) for word in re.findall(r"\d+", name)]
    table: Any = ((_ONE, _ZERO), (_ZERO, _ONE))
    if group.randomizer is not None and not name.startswith("colluders"):
        table = exact_table(group.randomizer, group.epsilon, 2)
    here, there = (table[min(says[side], len(table) - 1)] for side in (0, -1))
    return Vote(here[1], here[0]), Vote(there[1], there[0])


def _votes(epsilon: float, Delta: float) -> dict[str, tuple[Vote, Vote]]:
    """(p, p') of the corners of Lemma 5.1, each with 1 - p of its own: it keeps its digits where p is nearly 1."""
    if epsilon == math.inf:
        D, hi, lo = _ZERO, _ONE, _ZERO
    else:
        D, grow = Decimal(Delta), Decimal(epsilon).exp()
        hi, lo = (grow + D) / (grow + 1), (1 - D) / (grow + 1)
    never, ever = Vote(_ZERO, _ONE), Vote(_ONE, _ZERO)
    high, low, rare, usual = Vote(hi, lo), Vote(lo, hi), Vote(D, 1 - D), Vote(1 - D, D)
    return {
        "(0,0)": (never, never),
        "(1,1)": (ever, ever),
        "(hi,lo)": (high, low),
        "(lo,hi)": (low, high),
        "(D,0)": (rare, never),
        "(0,D)": (never, rare),
        "(1-D,1)": (usual, ever),
        "(1,1-D)": (ever, usual),
    }


def _ones(votes: list[tuple[Vote, int]]) -> tuple[Decimal, ...]:
    """Distribution of the number of ones among independent votes."""
    pmf = [_ONE]
    for vote, count in votes:
        for _ in range(count):
            stay, rise = [*pmf, _ZERO], [_ZERO, *pmf]
            if vote.one and vote.zero:
                pmf = [vote.zero * a + vote.one * b for a, b in zip(stay, rise, strict=True)]
            else:
                pmf = rise if vote.one else stay
    return tuple(pmf)
