"""Voters whose randomizer is known: certificates and totals against exact fractions, and against recorded figures."""

import json
import math
from fractions import Fraction as F
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from cases import thorough
from numpy.typing import NDArray
from oracles.known_voters import (
    Chances,
    Channel,
    Counts,
    Group,
    Release,
    Row,
    counts_of,
    exponential,
    needed_delta,
    response,
    rows,
    tight_epsilon,
)

import darrm
from darrm import DecisionProblem, VoterGroup

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "known_randomizers.json").read_text())
RESPONSE = "randomized response"
SKEWED = [[0.75, 0.25], [0.125, 0.875]]
ONE_SIDED = [[0.5, 0.5], [0.0, 1.0]]  # a truth of 1 is always said
SILENT = [[0.5, 0.25, 0.25], [0.1, 0.6, 0.3]]  # two truths, three votes
UNSURE = [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6], [0.3, 0.3, 0.4]]  # four truths, three votes
SHADES = [[0.8, 0.2], [0.5, 0.5], [0.3, 0.7]]  # three truths, two votes
OF_THREE = [[0.5, 0.2, 0.3], [0.25, 0.5, 0.25], [0.1, 0.3, 0.6]]


class Voters(NamedTuple):
    """A group, as darrm and as the oracle take it; without a randomizer, of any mechanism."""

    count: int
    epsilon: float
    reach: int
    randomizer: Any = RESPONSE
    colluders: int = 0

    def group(self) -> VoterGroup:
        if self.randomizer is None:
            return VoterGroup(self.count, self.epsilon, max_affected=self.reach)
        return VoterGroup(
            self.count, self.epsilon, max_affected=self.reach, randomizer=self.randomizer, colluders=self.colluders
        )

    def exact(self, classes: int) -> Group:
        if self.randomizer is None:
            return Group(self.count, self.reach, None, ratio=exponential(self.epsilon))
        channel: Channel
        if self.randomizer == RESPONSE:
            channel = response(classes, exponential(self.epsilon))
        else:
            channel = tuple(tuple(F(p) / sum(map(F, row)) for p in row) for row in self.randomizer)
        return Group(self.count, self.reach, channel, self.colluders)


class Case(NamedTuple):
    voters: tuple[Voters, ...]
    classes: int = 2
    affected: int | None = None

    def problem(self, epsilon: float = 50.0, delta: float = 0.0) -> DecisionProblem:
        groups = [voters.group() for voters in self.voters]
        return DecisionProblem(groups, epsilon, delta, self.classes, max_affected=self.affected)

    def table(self, seed: int) -> NDArray[np.float64]:
        rng = np.random.default_rng([31, seed])
        table = rng.random((*self.problem().table_shape, *([self.classes] if self.classes > 2 else [])))
        table **= (1, 4, 0.1)[seed % 3]
        return table / table.sum(axis=-1, keepdims=True) if self.classes > 2 else table

    def rows(self, table: NDArray[np.float64]) -> list[Row]:
        return rows(released(table, self), [voters.exact(self.classes) for voters in self.voters], self.affected)


def released(table: NDArray[np.float64], case: Case) -> Release:
    """The table as a function of votes, which it lists with the most votes for the first class first."""
    places: list[dict[Counts, int]] = []
    for voters in case.voters:
        listed = sorted(counts_of(voters.count, case.classes), reverse=True)
        places.append({counts: place for place, counts in enumerate(listed)})

    def release(votes: tuple[Counts, ...]) -> Chances:
        entry = table[tuple(place[counts] for place, counts in zip(places, votes, strict=True))]
        if case.classes > 2:
            return tuple(F(float(x)) for x in entry)
        return (1 - F(float(entry)), F(float(entry)))

    return release


CASES = {
    "one": Case((Voters(5, 1.0, 1),)),
    "three reached": Case((Voters(7, 0.5, 3),)),
    "all reached": Case((Voters(4, 2.0, 4),)),
    "colluders": Case((Voters(7, 1.0, 2, colluders=2),)),
    "all others collude": Case((Voters(5, 1.5, 1, colluders=4),)),
    "skewed": Case((Voters(6, 2.0, 2, SKEWED, 1),)),
    "one-sided": Case((Voters(4, math.inf, 1, ONE_SIDED),)),
    "shades": Case((Voters(4, 2.0, 2, SHADES, 1),)),
    "two groups": Case((Voters(2, 1.0, 1), Voters(3, 0.3, 2, colluders=1))),
    "two groups, one affected": Case((Voters(3, 1.0, 1), Voters(2, 2.0, 1, SKEWED)), affected=1),
    "beside any": Case((Voters(3, 1.0, 1, colluders=1), Voters(2, 0.7, 1, None))),
    "any beside": Case((Voters(2, 0.7, 2, None), Voters(3, 1.0, 2)), affected=2),
    "shades beside any": Case((Voters(2, 0.7, 1, None), Voters(2, 2.0, 1, SHADES))),
    "beside non-private": Case((Voters(2, math.inf, 1, None), Voters(3, 1.0, 1)), affected=1),
    "three groups": Case((Voters(1, 1.0, 1), Voters(2, 0.5, 1, None), Voters(2, 2.0, 2, SKEWED, 0)), affected=2),
    "classes": Case((Voters(4, 1.0, 1),), 3),
    "classes, colluders": Case((Voters(4, 1.0, 2, colluders=1),), 3),
    "classes, skewed": Case((Voters(3, 2.0, 2, OF_THREE),), 3),
    "silent": Case((Voters(4, 2.0, 2, SILENT, 1),), 3),
    "unsure": Case((Voters(3, 2.0, 1, UNSURE, 1),), 3),
    "classes, groups": Case((Voters(2, 1.0, 1), Voters(2, 2.0, 1, SILENT)), 3, affected=1),
}


def exact_of(voters: Voters) -> Group:
    return voters.exact(2)


@pytest.mark.every
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", [0, *thorough(1, 2)])
def test_certificates(name: str, seed: int) -> None:
    case = CASES[name]
    if any(voters.epsilon == math.inf and voters.randomizer is None for voters in case.voters):
        case_rows = Case(
            tuple(
                voters._replace(randomizer=[[1.0, 0.0], [0.0, 1.0]]) if voters.randomizer is None else voters
                for voters in case.voters
            ),
            case.classes,
            case.affected,
        ).rows
    else:
        case_rows = case.rows
    table = case.table(seed)
    pairs = case_rows(table)
    for epsilon, delta in ((1e-3, 1e-9), (0.2, 0.01), (1.0, 0.0)):
        found = darrm.verify(table, case.problem(epsilon, delta))
        needed = needed_delta(pairs, exponential(epsilon))
        assert needed <= F(found.needed_delta) <= needed + F(1, 10**12)
        assert found.holds == (needed <= F(delta)) or abs(needed - F(delta)) < F(1, 10**12)
        tight = tight_epsilon(pairs, F(delta))
        assert tight * (1 - 1e-15) <= found.tight_epsilon
        assert found.tight_epsilon <= tight + 1e-9
    epsilons = [0.0, 0.1, 0.7, 3.0]
    for epsilon, needed in zip(epsilons, darrm.privacy_profile(table, case.problem(), epsilons).tolist(), strict=True):
        exact = needed_delta(pairs, exponential(epsilon))
        assert exact <= F(needed) <= exact + F(1, 10**12)
