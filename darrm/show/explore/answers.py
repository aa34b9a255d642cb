"""What the page shows: designs, their comparison and their budgets, each computed once and kept."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from darrm.accounting.composition import compose
from darrm.accounting.fresh import Total
from darrm.baselines.entries import Comparison
from darrm.design.design import Design
from darrm.planning.comparison import compare
from darrm.show.explore.cache import Cache
from darrm.show.explore.choices import Choice, Many
from darrm.show.inline import gamma_picture

TIME_LIMIT = 20.0  # seconds for the search of each optimum
# A budget is shown once its bounds are this close, relatively; `darrm budget` goes on to a tenth of it.
TOLERANCE = 1e-2


@dataclass(frozen=True, eq=False)
class Answer:
    """A design beside its baselines."""

    design: Design
    entries: Comparison


class Answers:
    """Caches of designs, of what many labels cost, and of pictures of one or two designs as data addresses."""

    def __init__(self) -> None:
        self.designs: Cache[Choice, Answer] = Cache(_solved, 64, os.cpu_count() or 1)
        self.budgets: Cache[tuple[Choice, Many], Total] = Cache(self._composed, 64, 1)
        self.pictures: Cache[tuple[Choice, ...], str] = Cache(self._drawn, 32, 1)

    def _composed(self, key: tuple[Choice, Many]) -> Total:
        choice, many = key
        design = self.designs.get(choice).design
        return compose(design, many.queries, delta=many.delta, voters=many.voters, tolerance=TOLERANCE)

    def _drawn(self, choices: tuple[Choice, ...]) -> str:
        return gamma_picture(named([self.designs.get(choice).design for choice in choices]))


def _solved(choice: Choice) -> Answer:
    entries = compare(choice.problem, choice.prior, time_limit=TIME_LIMIT)
    (design,) = (entry.design for entry in entries if entry.design is not None and entry.design.shape == choice.shape)
    return Answer(design, entries)


def named(designs: Sequence[Design]) -> dict[str, Design]:
    """Designs by the names that they have on the page."""
    return {"gamma": designs[0]} if len(designs) == 1 else dict(zip(("present", "kept"), designs, strict=True))
