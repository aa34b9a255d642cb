"""What the page shows: designs, their comparison and their budgets, each computed once and kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from darrm.accounting.budget import Total
from darrm.accounting.composition import compose
from darrm.design.design import Design
from darrm.measures.comparison import Entry, compare
from darrm.show.explore.cache import Cache
from darrm.show.explore.choices import Choice, Many
from darrm.show.inline import described, gamma_picture

TIME_LIMIT = 20.0  # seconds for the search of each optimum
# A budget is shown once its bounds are this close, relatively; `darrm budget` goes on to a tenth of it.
TOLERANCE = 1e-2


@dataclass(frozen=True, eq=False)
class Answer:
    """A design beside its baselines."""

    design: Design
    entries: Sequence[Entry]

    @property
    def shown(self) -> list[tuple[Entry, float]]:
        """Each mechanism with the length of its bar, in percent of the longest."""
        longest = max(entry.error for entry in self.entries)
        return [(entry, 100 * entry.error / longest if longest > 0 else 0.0) for entry in self.entries]


class Answers:
    """Designs and budgets, kept; all methods may be called from many threads."""

    def __init__(self) -> None:
        self._designs: Cache[Choice, Answer] = Cache(_solved, 64, os.cpu_count() or 1)
        self._budgets: Cache[tuple[Choice, Many], Total] = Cache(self._composed, 64, 1)
        self._pictures: Cache[tuple[Choice, ...], str] = Cache(self._drawn, 32, 1)

    def design(self, choice: Choice, gone: Callable[[], bool]) -> Answer:
        """The design of a choice and what it is compared with."""
        return self._designs.get(choice, gone)

    def budget(self, choice: Choice, many: Many, gone: Callable[[], bool]) -> Total:
        """What many labels of a choice cost."""
        return self._budgets.get((choice, many), gone)

    def picture(self, choices: tuple[Choice, ...], gone: Callable[[], bool]) -> str:
        """The noise functions of one or two choices as a data address."""
        return self._pictures.get(choices, gone)

    def _composed(self, key: tuple[Choice, Many]) -> Total:
        choice, many = key
        design = self._designs.get(choice).design
        return compose(design, many.queries, delta=many.delta, voters=many.voters, tolerance=TOLERANCE)

    def _drawn(self, choices: tuple[Choice, ...]) -> str:
        return gamma_picture(named([self._designs.get(choice).design for choice in choices]))


def _solved(choice: Choice) -> Answer:
    entries = compare(choice.problem, choice.prior, time_limit=TIME_LIMIT)
    (design,) = (entry.design for entry in entries if entry.design is not None and entry.design.shape == choice.shape)
    return Answer(design, entries)


def named(designs: Sequence[Design]) -> dict[str, Design]:
    """Designs by the names they have on the page."""
    return {"gamma": designs[0]} if len(designs) == 1 else dict(zip(("present", "kept"), designs, strict=True))


def alternative(designs: Sequence[Design]) -> str:
    """The picture in words."""
    return described(named(designs))
