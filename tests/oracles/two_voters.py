"""A second engine: two voters of different epsilon, by enumeration in exact fractions. It knows no corner multisets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from oracles.exact import acceptance, exponential, pmf

from darrm.certificate.engines import ENGINES, Engine
from darrm.certificate.protocol import Facts, WorstCase, largest
from darrm.constraints.engines import ROWS
from darrm.problem.groups import ByGroups, VoterGroup
from darrm.problem.limits import Limit
from darrm.problem.noise_function import noise_function
from darrm_solvers import Rows

CORNERS = ("(0,0)", "(1,1)", "(hi,lo)", "(lo,hi)")


@dataclass(frozen=True)
class TwoVoters(ByGroups):
    """The majority of two voters, each (epsilon_i, 0)-DP, both affected by one record."""

    epsilons: tuple[float, float]
    epsilon: float
    delta: float = 0.0
    K: int = 2
    classes: int = 2
    max_affected: int = 2
    adjacency: str = "replace-one"
    none: bool = False

    @property
    def groups(self) -> tuple[VoterGroup, ...]:
        return tuple(VoterGroup(1, epsilon) for epsilon in self.epsilons)

    @property
    def exact_epsilon(self) -> Fraction:
        return Fraction(self.epsilon)

    @property
    def release_epsilon(self) -> float:
        return self.epsilon


class Pair(NamedTuple):
    """The corner of each voter, by its number."""

    strong: int
    weak: int

    def named(self) -> dict[str, int]:
        return {f"voter {i} at {CORNERS[corner]}": 1 for i, corner in enumerate(self)}


def corners(epsilon: float) -> list[tuple[Fraction, Fraction]]:
    grow = exponential(Decimal(epsilon))
    high, low = grow / (grow + 1), 1 / (grow + 1)
    return [(Fraction(0), Fraction(0)), (Fraction(1), Fraction(1)), (high, low), (low, high)]


def above(value: Fraction) -> float:
    """The least float64 that is not below."""
    return float(value) if Fraction(float(value)) >= value else math.nextafter(float(value), math.inf)


PAIRS = [Pair(*pair) for pair in product(range(4), repeat=2)]


class Enumeration:
    """All sixteen pairs of corners."""

    def __init__(self, gamma: Any, limit: Limit[TwoVoters]) -> None:
        self._X = acceptance(noise_function(gamma, 2).tolist())
        self._corners = [corners(epsilon) for epsilon in limit.problem.epsilons]

    def worst_cases(self, epsilon: Decimal) -> list[WorstCase]:
        return [self._at(pair, epsilon) for pair in PAIRS]

    def worst(self, *epsilons: Decimal) -> list[WorstCase]:
        return [largest(self.worst_cases(epsilon)) for epsilon in epsilons]

    def glimpse(self, epsilon: Decimal) -> WorstCase:
        return self._at(Pair(2, 2), epsilon)

    def broken(self, epsilon: Decimal, threshold: float, effort: int, near: Sequence[Pair] = ()) -> list[WorstCase]:
        some = [Pair(2, 2), Pair(3, 3)] if effort == 0 else near if effort == 1 else PAIRS[::2]
        cases = [self._at(pair, epsilon) for pair in some]
        return [worst for worst in cases if worst.bound - worst.rounding > threshold]

    def facts(self) -> Facts:
        return Facts(answers=2, least=min(self._X))

    def _at(self, pair: Pair, epsilon: Decimal) -> WorstCase:
        p, q = (
            sum(x * chance for x, chance in zip(self._X, pmf(votes), strict=True))
            for votes in zip(*(corner[at] for corner, at in zip(self._corners, pair, strict=True)), strict=True)
        )
        excess = p - exponential(epsilon) * q
        return WorstCase(above(excess), 1e-15, pair, float(p), float(q), float(p - q))


class ExactRows:
    """The one coefficient of gamma(2), from the same enumeration."""

    rounding = 1e-15
    ready = None

    def __init__(self, limit: Limit[TwoVoters]) -> None:
        self._limit = limit
        self.threshold = limit.delta + 1e-13

    def allowed(self, cases: Iterable[Any]) -> list[Pair]:
        return [Pair(*case) for case in cases]

    def ahead(self, case: Pair, steps: int) -> list[Pair]:
        return []

    def of(self, cases: Sequence[Pair]) -> Rows:
        """excess(gamma) = gamma (excess(1) - excess(0)) + excess(0) <= delta."""
        epsilon, delta = self._limit.epsilon, Fraction(self._limit.delta)
        grow = exponential(epsilon)
        still = (1 - grow) / 2
        rows = []
        for pair in cases:
            one = Enumeration([1.0, 0.0, 1.0], self._limit)._at(pair, epsilon)
            rows.append([float((Fraction(one.p_side) - grow * Fraction(one.q_side) - still) / (delta - still))])
        return Rows(np.array(rows).reshape(-1, 1), np.ones(len(rows)))

    of_usual = of


ENGINES[TwoVoters] = Engine(lambda problem: None, Enumeration)
ROWS[TwoVoters] = lambda limit, columns: ExactRows(limit)
