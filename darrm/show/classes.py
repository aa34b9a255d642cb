"""Decisions between several classes in rows: which votes tell most, and what votes and answers are called."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from darrm.numerics.arrays import Array
from darrm.objectives import OfVoters
from darrm.problem.class_tables import is_symmetric
from darrm.problem.class_votes import all_votes, by_votes, votes_up_to_names, ways
from darrm.problem.counts import Counts

if TYPE_CHECKING:
    from darrm.design.design import Design
    from darrm.problem.decision import DecisionProblem

MOST = 30  # rows of a table


class Rows(NamedTuple):
    """Some rows of a decision's table.

    Attributes
    ----------
    votes : ndarray of int, shape (rows, groups, classes)
        Of a decision that treats all classes alike up to their names, the most first.
    chances : ndarray, shape (rows, answers)
        Of the answers; of a decision that treats all classes alike of the class of most votes, the next, and so on.
    often : ndarray, shape (rows,), or None
        How likely these votes are, of any names; None where the objective does not say.
    every : int
        How many rows the whole table has.
    """

    votes: Counts
    chances: Array
    often: Array | None
    every: int


def alike(design: Design) -> bool:
    """Whether the table has a row for sorted votes only: the decision treats all classes alike."""
    return is_symmetric(design.table, design.problem)


def n_rows(design: Design) -> int:
    """For how many vectors of votes the table has probabilities."""
    return design.table.size if design.problem.binary else math.prod(design.table.shape[:-1])


def rows(design: Design) -> Rows:
    """All rows, in the order of the table."""
    problem, objective = design.problem, design.objective
    votes = votes_up_to_names(problem) if alike(design) else all_votes(problem)
    often = None
    if isinstance(objective, OfVoters):
        often = objective.chances_at(problem, votes).sum(axis=0)
        often = often * ways(votes) if alike(design) else often
    return Rows(votes, design.table.reshape(-1, problem.n_answers), often, len(votes))


def telling(design: Design, most: int = MOST) -> Rows:
    """The rows of the votes that come up most often, in the order of the table; some of all if nothing says how often.

    ``most`` of them, or all if they are no more.
    """
    whole = rows(design)
    if whole.every <= most:
        return whole
    if whole.often is None:
        at = np.linspace(0, whole.every - 1, most).round().astype(int)
    else:
        at = np.sort(np.argsort(-whole.often, kind="stable")[:most])
    return Rows(whole.votes[at], whole.chances[at], None if whole.often is None else whole.often[at], whole.every)


def votes_text(votes: Iterable[Iterable[int]]) -> str:
    """Votes of each group, such as 4:3:0 + 1:1:2."""
    return " + ".join(":".join(map(str, group)) for group in votes)


def answer_heads(design: Design) -> list[str]:
    """What the columns of `Rows.chances` are of: names of answers, or 1st for the class of most votes, and so on."""
    problem = design.problem
    if not alike(design):
        return list(problem.answers)
    return [ordinal(place) for place in range(1, problem.n_classes + 1)] + ["none"] * problem.none


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, ..."""
    kind = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{kind}"


def meaning(design: Design) -> str:
    """The meaning of rows and columns, in a sentence."""
    problem = design.problem
    none = ' or "none"' * problem.none
    if alike(design):
        return (
            "Probability that the answer is the class with the most votes (1st), with the next most (2nd) and so on"
            f"{none}, for any names of the classes. Classes with equally many votes have the same probability."
        )
    order = ":".join(problem.names)
    if len(order) > 60:
        order = f"the {problem.n_classes} classes in their order"
    each = ", group by group" * (len(problem.groups) > 1)
    return f"Probability of each answer, by the votes for {order}{each}."


def selected(shown: Rows) -> str:
    """Which rows are shown, where they are not all; else nothing."""
    if len(shown.votes) == shown.every:
        return ""
    if shown.often is None:
        return f"{len(shown.votes)} of {shown.every:,} vectors of votes."
    share = f"{100 * float(shown.often.sum()):.3g}%"
    return f"The {len(shown.votes)} most likely of {shown.every:,} vectors of votes, with total probability {share}."


def of_most_votes(whole: Rows, design: Design) -> Array:
    """Probability of the class with the most votes, or of one of them, in every row of a decision by one group."""
    if alike(design):
        return whole.chances[:, 0]
    first = by_votes(whole.votes)[:, :1]
    return np.take_along_axis(whole.chances, first, axis=1)[:, 0]


def reversals(design: Design) -> str:
    """At how many votes the answer that costs least is not the likeliest; nothing if at none."""
    if not design.reversals:
        return ""
    many = f"{design.reversals} of {n_rows(design)}"
    if design.problem.binary:
        return f"The cheaper answer is the less likely one at {many} count vectors"
    up_to = " up to the names of classes" * alike(design)
    return f"An answer that costs more is likelier than the cheapest answer at {many} vectors of votes{up_to}"


def warning(design: Design) -> str:
    """Reversals in a sentence for whoever solves or releases; nothing if there are none."""
    said = reversals(design)
    return said and (
        f"Note: {said[0].lower()}{said[1:]}, which lowers the expected cost elsewhere. darrm {maker(design)} --ordered "
        "forbids it."
    )


def maker(design: Design) -> str:
    """The command, or the function, that made a design, and makes another one in its place."""
    return "plan" if design.planned_for else "solve"


def answers_of(names: Sequence[str], answers: Sequence[int]) -> str:
    """The names of a set of answers: a, b or c."""
    *before, last = (names[answer] for answer in answers)
    return f"{', '.join(before)} or {last}" if before else last


class Place(NamedTuple):
    """Where some voters of a group are in a worst case; groups are counted from 1.

    Attributes
    ----------
    group, voters : int
    says : tuple of int
        The classes of the outcomes of their private bit; one class if they surely say it. With a known randomizer the
        true answers on D and on D', or one that is the same on both.
    colluding : bool
        Whether they surely say their class although the randomizer of the group is known.
    """

    group: int
    says: tuple[int, ...]
    voters: int
    colluding: bool = False


def worst_places(worst_case: dict[str, int]) -> tuple[tuple[int, ...], list[Place]]:
    """The answers and the voters that a certificate of several answers names."""
    answers, places = [], []
    for name, count in worst_case.items():
        if name.startswith("answer "):
            answers.append(int(name.removeprefix("answer ")))
            continue
        _, g, _, what = f"{name} ".split(" ", 3)
        says = tuple(int(word) for word in re.findall(r"\d+", what))
        places.append(Place(int(g), says, count, what.startswith("for ")))
    return tuple(answers), places


def said(place: Place, problem: DecisionProblem) -> str:
    """What voters at a place say: a for sure, or more a on one of the data sets and more b on the other."""
    truths = problem.groups[place.group - 1].randomizer
    named = len(truths) == problem.n_classes if isinstance(truths, tuple) else True
    names = [problem.names[c] if named else str(c) for c in place.says]
    if place.colluding:
        return f"for {names[0]}, as colluders"
    if len(names) == 1:
        return f"surely {names[0]}"
    if len(names) == 2:
        return f"from {names[0]} to {names[1]}"
    return "at " + ", ".join(names)
