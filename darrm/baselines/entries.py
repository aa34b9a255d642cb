"""Comparisons of mechanisms, at one guarantee or at one total for many labels."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, overload

from darrm._lazy import view
from darrm.certificate.certificate import Certificate
from darrm.design.design import Design
from darrm.errors import InputError
from darrm.measures.error import Interval
from darrm.numerics.arrays import Array
from darrm.numerics.printed import at_least, counted, exactly, of_draws, standard_error
from darrm.problem.groups import OF_ANY_OTHERS, called
from darrm.storage.frames import ending_of, frame, write


class OfKind(NamedTuple):
    """The budget and the totals of all labels for one kind of change; see `darrm.planning.answers.Plan`."""

    total_epsilon: float
    spent: float
    fallback: float


@dataclass(frozen=True, eq=False)
class Entry:
    """One mechanism of a comparison. Fields that the comparison does not compute are NaN or None.

    Attributes
    ----------
    name : str
    setting : str
        Its parameter in words; empty if there is none.
    table : ndarray
        Release probabilities, as in a `Design`: for a majority gamma, shape (K + 1,).
    expected_cost : float
        Expected cost under the objective of the comparison.
    wrong : float
        Label error rate: the probability that a label is not the truth.
    disagreement : float
        Disagreement rate: the probability that a label is not a class with most of its votes. Under a prior as in a
        `Design`.
    error : float
        Expected TV error of a noise function, as in a `Design`, under the prior of the comparison.
    certificate : Certificate or None
        For one release: ``holds`` is whether the mechanism is certified to satisfy the guarantee of the problem.
    total : float
        Cumulative privacy loss: all labels together are certified (total, total_delta)-DP. Infinite if no epsilon is
        certified.
    fallback : float
        With a known randomizer: the total if only the affected voters randomize as stated, the others may be any
        mechanism that learns no vote of others, and no vote is used twice or decides what to ask, draw again or
        release.
    within : bool
        Whether ``total``, and ``fallback`` if that has a budget, are within the budget of the comparison; for one
        release, whether the certificate holds.
    aggregator : float
        The votes of all queries together, which the aggregator receives, are (aggregator, total_delta)-DP; infinite for
        non-private votes.
    of : mapping from str to OfKind
        Where each group has a budget of its own, ``total_epsilon``, ``spent`` and ``fallback`` of each kind of change;
        ``total`` and ``fallback`` are then the largest. Empty if all changes have one budget.
    interval : Interval or None
        Mean of the absolute error of Definition 2.4 over sampled vote probabilities, and its 95 % interval: the same
        draws for every mechanism.
    design : Design or None
        The design, for mechanisms that were solved for.
    """

    name: str
    setting: str
    table: Array = field(repr=False)
    expected_cost: float
    wrong: float = math.nan
    disagreement: float = math.nan
    error: float = math.nan
    certificate: Certificate | None = None
    total: float = math.nan
    within: bool = True
    aggregator: float = math.nan
    interval: Interval | None = None
    design: Design | None = None
    fallback: float = math.nan
    of: Mapping[str, OfKind] = field(default_factory=dict)

    @property
    def called(self) -> str:
        """The name, and in parentheses the setting."""
        return f"{self.name} ({self.setting})" if self.setting else self.name

    @property
    def tight_epsilon(self) -> float:
        """The tight epsilon of the certificate."""
        return math.nan if self.certificate is None else self.certificate.tight_epsilon

    @property
    def gamma(self) -> Array:
        """The table of a majority."""
        return self.table


DRAWS = 1000  # of votes where no table fits, whose mean error rate is within a percent or two
# The row of noisy max whose noise its paper asks for, and what that is.
BY_PAPER = "Gaussian noisy max by the Renyi DP of its paper"
BY_PAPER_MEANT = (
    f"{BY_PAPER}: the labels of Gaussian noisy max, accounted as the PATE paper (arXiv:1802.08908) does for any votes, "
    "by Renyi DP and its own conversion, which takes more noise for the same budget."
)
_FORMER = {"subsampling": "tuned subsampling"}  # what a mechanism was called before


def of_name(name: str, entries: Iterable[Entry]) -> Entry | None:
    """The entry of this name, with or without its setting; of its former name, unless that could mean another too."""
    entries = list(entries)
    found = [entry for entry in entries if name in (entry.name, entry.called)]
    if not found and not any(entry.name.startswith(f"{name} of ") for entry in entries):
        found = [entry for entry in entries if entry.name == _FORMER.get(name)]
    return found[0] if found else None


def never_of(asked: Iterable[str], names: Iterable[str]) -> list[str]:
    """Those of the ``asked`` names by which `of_name` finds no entry of these names, whatever its setting is."""
    whole = {*names, *_FORMER}
    settings = tuple(f"{name} (" for name in whole)
    return [name for name in asked if name not in whole and not name.startswith(settings)]


OF_ONE_TOTAL = ("setting", "total", "fallback", "within", "wrong", "disagreement", "expected_cost", "aggregator")
_RATES = ("wrong", "disagreement", "expected_cost", "error")  # what is printed to the nearest
_REACHED = 0.99  # share of a budget
_OF_ONE_RELEASE = ("setting", "within", "wrong", "disagreement", "expected_cost", "error", "tight_epsilon")


def _cell(value: Any, *, up: bool = False) -> str:
    """A value in a table of text, a guarantee rounded ``up``; what an entry lacks is empty."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return ""
    return at_least(value) if up else f"{value:.5g}"


def _each(entry: Entry, total_epsilon: float) -> list[OfKind]:
    """The budget and totals of each kind of change."""
    return list(entry.of.values()) or [OfKind(total_epsilon, entry.total, entry.fallback)]


def _share(total: float, budget: float) -> float:
    """How much of a budget is spent."""
    return total / budget if budget else math.inf if total else 0.0


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Mechanisms at one guarantee or one total budget; made by `darrm.compare` and `darrm.plan`.

    Attributes
    ----------
    entries : tuple of Entry
        The optimum, or the planned design, comes first. Mechanisms outside the guarantee or the budget have ``within``
        False.
    queries : int
        Number of labels.
    total_epsilon, total_delta : float
        The budget for all labels together; NaN for one release.
    voters : {"fresh", "fixed", ""}
        Empty for one release.
    fallback_epsilon : float
        With a known randomizer: the budget of each ``fallback``, under the conditions of that; infinite if none.
    assumption : str
        With a known randomizer: the assumption on which all figures rest but ``fallback``; empty for other voters.
    cost_at_least : float
        At one total: no table by which all labels of these votes are drawn, and stay within the budget, has a smaller
        expected cost. NaN if no such bound is known, such as for fixed voters.

    Examples
    --------
    Ten labels of five voters: the label error rate of each mechanism at one total budget.

    >>> import darrm
    >>> answer = darrm.plan(K=5, epsilon=1.0, base_accuracy=0.9, max_affected=1, queries=10, total_epsilon=2,
    ...                     total_delta=1e-5, voters="fresh")
    >>> for entry in list(answer.comparison)[:4]:
    ...     print(f"{entry.wrong:.2f}  {entry.name}")
    0.35  planned
    0.43  Bayes rule with constant gamma
    0.38  tuned subsampling
    0.36  Gaussian noisy max
    >>> answer.comparison.to_frame().shape
    (10, 7)
    """

    entries: tuple[Entry, ...]
    queries: int = 1
    total_epsilon: float = math.nan
    total_delta: float = math.nan
    voters: str = ""
    fallback_epsilon: float = math.inf
    cost_at_least: float = math.nan
    assumption: str = ""

    @property
    def held(self) -> str:
        """The kind of comparison: at a "total" of all labels, or for "one release"."""
        return "one release" if math.isnan(self.total_epsilon) else "total"

    def __repr__(self) -> str:
        if math.isnan(self.total_epsilon):
            return f"<Comparison of {len(self.entries)} mechanisms for one release>"
        return f"<Comparison of {len(self.entries)} mechanisms: {self._about()}>"

    def __str__(self) -> str:
        """A plain table of `columns`, under what is compared; below it what the figures rest on."""
        cells = [
            [name, *(_cell(value, up=name not in _RATES) for value in each)] for name, each in self._in_print().items()
        ]
        widths = [max(map(len, column)) for column in cells]
        rows = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in zip(*cells, strict=True)
        ]
        return "\n".join([self._about(), *rows, *([self.note] if self.note else [])])

    @overload
    def __getitem__(self, which: str | int) -> Entry: ...

    @overload
    def __getitem__(self, which: slice | list[str]) -> Comparison: ...

    def __getitem__(self, which: str | int | slice | list[str]) -> Entry | Comparison:
        """The entry of this name, with or without its setting, or at this index; some of them for a slice or names."""
        if isinstance(which, slice):
            return replace(self, entries=self.entries[which])
        if isinstance(which, list):
            return replace(self, entries=tuple(self[name] for name in which))
        if isinstance(which, int):
            return self.entries[which]
        entry = of_name(which, self.entries)
        if entry is None:
            raise KeyError(f"{which!r} is none of {', '.join(entry.name for entry in self.entries)}")
        return entry

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def columns(self) -> dict[str, list[Any]]:
        """The columns of `to_frame` by their names, ``name`` first, for `darrm.storage.frames.write`.

        A column that the comparison does not compute, NaN in all rows, is left out. Where each group has a budget of
        its own, the last columns are the totals of the kinds of change. With a known randomizer there are the total
        ``fallback``, the budget that is ``binding`` and ``fallback_epsilon`` where that is finite, and the
        ``assumption``.
        """
        found, rows = self._of_rows(), len(self.entries)
        if self.binding(self.entries[0]) if rows else "":
            found["fallback_epsilon"] = [self.fallback_epsilon] * rows
        return {**found, "assumption": [self.assumption] * rows} if self.assumption else found

    def _of_rows(self) -> dict[str, list[Any]]:
        """The columns that say something of each mechanism."""
        names = _OF_ONE_RELEASE if math.isnan(self.total_epsilon) else OF_ONE_TOTAL
        found = {name: [getattr(entry, name) for entry in self.entries] for name in ("name", *names)}
        bound = [self.binding(entry) for entry in self.entries]
        if any(bound):
            found["binding"] = bound
        found |= {f"total, {kind}": [entry.of[kind].spent for entry in self.entries] for kind in self.of}
        return {name: each for name, each in found.items() if any(value == value for value in each)}  # not all NaN

    def _in_print(self) -> dict[str, list[Any]]:
        """`_of_rows`, where means of draws have the digits that so many support."""
        found = self._of_rows()
        for name in _RATES if self.draws else ():
            if name in found:
                found[name] = [value if math.isnan(value) else of_draws(value, self.draws) for value in found[name]]
        return found

    def gammas(self) -> dict[str, list[Any]]:
        """Of one release of a majority: gamma of each mechanism by its name, from close votes to unanimous ones.

        ``votes`` are "minority:majority", so a row of five voters is "2:3".

        Raises
        ------
        InputError
            For a decision, or at one total.

        Examples
        --------
        >>> import darrm
        >>> darrm.compare(K=5, m=2, epsilon=0.1)[["gamma_opt"]].gammas()["votes"]
        ['2:3', '1:4', '0:5']
        """
        if any(math.isnan(entry.error) for entry in self.entries):
            raise InputError("Only one release of a majority has gammas. Use the table of each entry.")
        K = len(self.entries[0].gamma) - 1
        rows = range(K // 2 + 1, K + 1)
        named = {entry.name: entry.gamma[K // 2 + 1 :].tolist() for entry in self.entries}
        return {"votes": [f"{K - l}:{l}" for l in rows], **named}

    def write(self, path: str | os.PathLike[str], *, gammas: bool = False) -> None:
        """Write `columns`, or `gammas`, in the format of the ending: .csv, .json, .parquet, or .tex for LaTeX.

        Raises
        ------
        InputError, MissingExtraError, OutputError
            If the ending is another, pyarrow is missing for Parquet, or the file cannot be written.
        """
        if gammas:
            write(path, self.gammas(), self._about(), gammas=True)
        elif ending_of(path) == "tex":
            write(path, self._in_print(), self._about(), note=self.note)
        else:
            write(path, self.columns())

    def _about(self) -> str:
        """What is compared, in one line."""
        if self.held == "one release":
            return self.entries[0].design.about if self.entries[0].design else ""
        return f"{counted(self.queries, 'label')} of {self.called} voters within {self.budget}"

    def second(self, own: OfKind) -> float:
        """The second budget of a kind of change by its first one: their ratio is that of the largest ones."""
        if own.total_epsilon == self.total_epsilon:
            return self.fallback_epsilon
        return own.total_epsilon * self.fallback_epsilon / self.total_epsilon

    def binding(self, entry: Entry) -> str:
        """The budget that the mechanism reaches first, or exceeds by more: "first" or "second"; "" where one is.

        "votes" where the total of all votes was raised to the budget, and those of the labels lie far below.
        """
        if not self.assumption or not math.isfinite(self.fallback_epsilon):
            return ""
        first = max(_share(own.spent, own.total_epsilon) for own in _each(entry, self.total_epsilon))
        second = max(_share(own.fallback, self.second(own)) for own in _each(entry, self.total_epsilon))
        if max(first, second) < _REACHED <= _share(entry.aggregator, self.total_epsilon) <= 1:
            return "votes"
        return "second" if second > first else "first"

    @property
    def second_budget(self) -> str:
        """The epsilon of the second budget in print, for each kind of change if each has its own; "" if none is."""
        if not self.assumption or not math.isfinite(self.fallback_epsilon):
            return ""
        each = [self.second(own) for own in self.of.values()]
        return " / ".join(map(exactly, each or [self.fallback_epsilon]))

    @property
    def note(self) -> str:
        """With a known randomizer: what the figures rest on, and the second budget; of noise without a table: its rows.

        Empty for others.
        """
        if not self.assumption:
            by_paper = any(entry.name == BY_PAPER for entry in self.entries)
            return " ".join([self._of_draws()] * bool(self.draws) + [BY_PAPER_MEANT] * by_paper)
        if self.held == "one release":
            return f"The guarantee holds if {self.assumption}"
        second = (
            f" The second budget, of epsilon {self.second_budget}, is for these. The budget that is named for a "
            "mechanism binds: it is reached first, or exceeded by more."
        ) * bool(self.second_budget)
        return f"The totals hold if {self.assumption} The fallback totals hold if {OF_ANY_OTHERS}.{second}"

    @property
    def draws(self) -> int:
        """Over how many drawn vectors of votes the error rates are means; 0 where they are those of tables."""
        return DRAWS if self.entries and not self.entries[0].table.size else 0

    def _of_draws(self) -> str:
        """What the error rates are where no table has them."""
        rates = (rate for entry in self.entries for rate in (entry.wrong, entry.disagreement))
        error = max(standard_error(rate, DRAWS) for rate in rates)
        return (
            f"Error rates are means over {DRAWS:,} drawn vectors of votes, with standard errors of at most "
            f"{at_least(error, 2)}."
        )

    @property
    def of(self) -> Mapping[str, OfKind]:
        """The budget of each kind of change, and the totals of the first mechanism; empty if there is one budget."""
        return self.entries[0].of if self.entries else {}

    @property
    def budget(self) -> str:
        """The privacy budget of all labels in print, for each kind of change if each has its own."""
        each = {f" for a change in {kind}": own.total_epsilon for kind, own in self.of.items()}
        said = [
            f"({exactly(epsilon)}, {exactly(self.total_delta)}){kind}"
            for kind, epsilon in (each or {"": self.total_epsilon}).items()
        ]
        return " and ".join(said)

    @property
    def called(self) -> str:
        """What the voters are called in print: "fresh", "fixed" or "non-private"."""
        planned = self.entries[0].design
        if planned is None:  # of noise that no table holds
            return "non-private" if math.isinf(self.entries[0].aggregator) else self.voters
        return called(planned.problem, self.voters)

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for each mechanism, without tables.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        return frame(self.columns()).set_index("name")

    def _repr_html_(self) -> str:
        return str(view(self))
