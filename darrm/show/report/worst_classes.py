"""The worst case of a decision between several classes, worked out so that a reader can follow it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from darrm.design.design import Design
from darrm.numerics.exact import decimals
from darrm.problem.class_corners import bits
from darrm.problem.class_tables import is_symmetric
from darrm.problem.class_votes import all_votes, class_probabilities
from darrm.problem.counts import count_vectors
from darrm.problem.decision import DecisionProblem
from darrm.problem.groups import VoterGroup
from darrm.problem.limits import guarantee
from darrm.problem.randomizers import exact_table
from darrm.show.classes import Place, worst_places
from darrm.show.report.worst_case import WorstCounts, mean

MOST_VOTES = 20_000  # vectors of votes, up to which they are gone through: a second or two
_ZERO, _ONE = Decimal(0), Decimal(1)
Votes = tuple[int, ...]


@dataclass(frozen=True)
class WorstClasses(WorstCounts):
    """The worst case of a decision of several answers; p and p' are those of a set of answers together.

    Attributes
    ----------
    answers : tuple of int
        The set, whose probability rises by too much.
    places : tuple of Place
        Where the voters are.
    p_side, q_side : tuples of dict of votes to Decimal, one for each group
        How likely the votes of each group are on D and on D', of those that are possible on one of them; empty where
        there are too many votes to go through: then probabilities and excess are the certificate's.
    """

    answers: tuple[int, ...]
    places: tuple[Place, ...]
    p_side: tuple[dict[Votes, Decimal], ...]
    q_side: tuple[dict[Votes, Decimal], ...]


def work_out_classes(design: Design) -> WorstClasses:
    """The excess at the worst case of the certificate of ``design``, from the definition.

    Nothing is shared with the certificate but the names of the places: one voter is added after the other, in decimal
    arithmetic without underflow.
    """
    problem = design.problem
    answers, places = worst_places(design.certificate.worst_case)
    total = guarantee(problem).epsilon
    with decimals(total):
        factor = total.exp()
        x, y = map(Decimal, design.certificate.probabilities)
        sides: list[tuple[dict[Votes, Decimal], ...]] = [(), ()]
        if math.prod(problem.table_shape) <= MOST_VOTES:
            pure = failures_apart(design)
            sides = [
                tuple(
                    _votes([place for place in places if place.group == g], group, side, problem.n_classes, pure=pure)
                    for g, group in enumerate(problem.groups, 1)
                )
                for side in (0, 1)
            ]
            of_set = set_chances(design, answers)
            x, y = (mean(of_set, tuple(_listed(votes, problem, g) for g, votes in enumerate(side))) for side in sides)
        return WorstClasses((x, y), factor, x - factor * y, answers, tuple(places), sides[0], sides[1])


def failures_apart(design: Design) -> bool:
    """Whether the certificate is of voters that do not fail, and their failures are counted together."""
    return bool(bits(design.problem, alike=is_symmetric(design.table, design.problem))[1])


def set_chances(design: Design, answers: Sequence[int]) -> list[Decimal]:
    """The probability of a set of answers at all votes, last group fastest."""
    chances = class_probabilities(design.table, design.problem, all_votes(design.problem))[:, list(answers)]
    return [sum(map(Decimal, line), _ZERO) for line in chances.tolist()]


def says(place: Place, group: VoterGroup, side: int, classes: int, *, pure: bool) -> dict[int, Decimal]:
    """How likely a voter at a place says each of its classes, on D (``side`` 0) or on D' (1)."""
    if group.randomizer is not None and not place.colluding:
        table = exact_table(group.randomizer, group.epsilon, classes)
        return dict(enumerate(table[min(place.says[0 if len(place.says) == 1 else side], len(table) - 1)]))
    if len(place.says) == 1:
        return {place.says[0]: _ONE}
    found: dict[int, Decimal] = defaultdict(Decimal)
    for c, chance in zip(place.says, _bit(group.epsilon, 0.0 if pure else group.delta)[side], strict=True):
        found[c] += chance
    return dict(found)


def _bit(epsilon: float, Delta: float) -> tuple[tuple[Decimal, ...], tuple[Decimal, ...]]:
    """The outcomes of a private bit on D and on D': the definition in Lemma D6 (docs/decisions.md)."""
    if epsilon == math.inf:
        return (_ONE, _ZERO), (_ZERO, _ONE)
    D, grow = Decimal(Delta), Decimal(epsilon).exp()
    high, low = (1 - D) * grow / (1 + grow), (1 - D) / (1 + grow)
    if not D:
        return (high, low), (low, high)
    return (D, high, low, _ZERO), (_ZERO, low, high, D)


def _votes(places: Sequence[Place], group: VoterGroup, side: int, classes: int, *, pure: bool) -> dict[Votes, Decimal]:
    """The distribution of the votes of one group."""
    pmf: dict[Votes, Decimal] = {(0,) * classes: _ONE}
    for place in places:
        chances = says(place, group, side, classes, pure=pure)
        for _ in range(place.voters):
            more: dict[Votes, Decimal] = defaultdict(Decimal)
            for votes, chance in pmf.items():
                for c, own in chances.items():
                    if own:
                        more[(*votes[:c], votes[c] + 1, *votes[c + 1 :])] += chance * own
            pmf = more
    return dict(pmf)


def _listed(votes: dict[Votes, Decimal], problem: DecisionProblem, g: int) -> tuple[Decimal, ...]:
    every = count_vectors(problem.groups[g].count, problem.n_classes).tolist()
    return tuple(votes.get(tuple(line), _ZERO) for line in every)
