"""Every mechanism calibrated to one total budget: how often each is wrong when all its labels cost the same."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict

from darrm._lazy import view
from darrm.accounting.releases import OneLabel
from darrm.accounting.search import Budget, spend
from darrm.certificate.certificate import verify
from darrm.design.design import Design
from darrm.errors import BudgetError, CertificateError, InputError
from darrm.numerics.arrays import Array
from darrm.numerics.deadline import check_time, ends_at
from darrm.numerics.printed import at_most, exactly
from darrm.planning.designs import design_within
from darrm.planning.rivals import Family, families
from darrm.planning.setting import Setting

_LEAST = 1e-9  # of a parameter: below, a label is a coin


class Tries(TypedDict):
    """How closely `spend` looks."""

    tries: int
    close: float


_CLOSELY: Tries = {"tries": 40, "close": 1e-9}  # nothing is solved, so that each mechanism gets all it can have


@dataclass(frozen=True, eq=False)
class Mechanism:
    """One way to release labels.

    Attributes
    ----------
    name : str
    setting : str
        The parameter that the budget was spent on, in words; empty if there is none.
    total : float
        All labels together are (total, total_delta)-DP: proved. Infinite if no epsilon is.
    within : bool
        Whether that is within the budget.
    wrong : float
        The probability that a label is not the truth.
    disagreement : float
        The probability that a label is not a class of most votes among those it was made of.
    expected_cost : float
        Under the objective of the comparison.
    collector : float
        Epsilon of all votes together, for whoever sees them, at ``total_delta``; infinite if they are not private.
    table : ndarray
        As that of a `Design`.
    """

    name: str
    setting: str
    total: float
    within: bool
    wrong: float
    disagreement: float
    expected_cost: float
    collector: float
    table: Array = field(repr=False)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Mechanisms at one total budget; made by `darrm.plan` and `darrm.compare`.

    Attributes
    ----------
    mechanisms : tuple of Mechanism
        The planned one first; mechanisms that the budget does not pay for say so by ``within``.
    queries : int
    total_epsilon, total_delta : float
    voters : {"fresh", "fixed"}

    Examples
    --------
    Ten labels of five voters: how often a label is wrong at one total budget.

    >>> import darrm
    >>> answer = darrm.plan(K=5, epsilon=1.0, base_accuracy=0.9, max_affected=1, queries=10, total_epsilon=2,
    ...                     total_delta=1e-5, voters="fresh")
    >>> for mechanism in answer.comparison.mechanisms[:4]:
    ...     print(f"{mechanism.wrong:.2f}  {mechanism.name}")
    0.35  planned
    0.43  best rule, constant noise
    0.38  subsampling
    0.36  Gaussian noisy max
    >>> answer.comparison.to_frame().shape
    (8, 7)
    """

    mechanisms: tuple[Mechanism, ...]
    queries: int
    total_epsilon: float
    total_delta: float
    voters: str

    def __repr__(self) -> str:
        budget = f"({exactly(self.total_epsilon)}, {exactly(self.total_delta)})"
        labels = f"{self.queries} labels of {self.voters} voters"
        return f"<Comparison of {len(self.mechanisms)} mechanisms: {budget} for {labels}>"

    def __getitem__(self, name: str) -> Mechanism:
        """The mechanism of this name."""
        return {mechanism.name: mechanism for mechanism in self.mechanisms}[name]

    def __iter__(self) -> Iterator[Mechanism]:
        return iter(self.mechanisms)

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for each mechanism, without tables."""
        import pandas

        rows = [
            {name: value for name, value in vars(mechanism).items() if name != "table"} for mechanism in self.mechanisms
        ]
        return pandas.DataFrame(rows).set_index("name")

    def _repr_html_(self) -> str:
        return str(view(self))


def at_one_total(setting: Setting, budget: Budget, planned: Design | None = None) -> Comparison:
    """What each mechanism makes of the budget; ``planned`` is computed if it is not given.

    Each has one parameter, which is raised until the exact total of all labels is spent: the same search for all
    (`darrm.accounting.search.spend`). Where the budget pays for the votes themselves no mechanism needs noise, and none
    but the plain majority is listed.
    """
    if planned is None:
        planned = design_within(setting, budget)
    with ends_at(budget.until):
        return _calibrated(setting, budget, planned)


def _calibrated(setting: Setting, budget: Budget, planned: Design) -> Comparison:
    """`at_one_total`, with the time looked at in all loops."""
    compared = _Compared(setting, budget)
    rows = [compared.row("planned", "", planned.table, budget.cost(planned))]
    if planned.reversals:
        try:
            ordered = design_within(replace(setting, ordered=True), budget)
            rows.append(compared.row("planned, ordered", "", ordered.table, budget.cost(ordered)))
        except BudgetError:
            pass
    if setting.votes_total(budget.queries, budget.delta, budget.voters) > budget.epsilon:
        for family in families(setting):
            rows += compared.raised(family)
        rows += compared.noise_in_votes()
    plain = "plain majority" if setting.problem(1.0, 0.5).binary else "plain plurality"
    rows.append(compared.row(plain, "no noise at the labels", setting.majority()))
    if budget.voters == "fresh" and setting.base is None:
        total = setting.votes_total(budget.queries, budget.delta, "fixed")
        if math.isfinite(total):
            said = "not of these: each private once, for all its answers"
            rows.append(
                replace(compared.row(f"{plain} of fixed voters", said, setting.majority(), total), collector=total)
            )
    return Comparison(tuple(rows), budget.queries, budget.epsilon, budget.delta, budget.voters)


@dataclass(frozen=True)
class _Compared:
    setting: Setting
    budget: Budget

    def row(
        self, name: str, said: str, table: Array, total: float | None = None, setting: Setting | None = None
    ) -> Mechanism:
        setting = self.setting if setting is None else setting
        budget = self.budget
        total = budget.cost(self._label(setting, table)) if total is None else total
        return Mechanism(
            name,
            said,
            total,
            total <= budget.epsilon,
            setting.wrong(table),
            setting.disagreement(table),
            setting.cost(table),
            setting.votes_total(budget.queries, budget.delta, budget.voters),
            table,
        )

    def _label(self, setting: Setting, table: Array) -> OneLabel:
        """A table for the accountant; certified where no delta is left for what rounding does to its region."""
        if self.budget.delta == 0:
            with suppress(CertificateError, InputError):
                epsilon = verify(table, setting.problem(1.0, 0.0)).tight_epsilon * (1 + 1e-12)
                return OneLabel(setting.problem(epsilon, 0.0), table, {})
        return setting.label(table)

    def raised(self, family: Family) -> list[Mechanism]:
        """The mechanism of the largest parameter within the budget, as a list of one, or of none."""
        parameters: dict[int, float] = {}
        labels: list[OneLabel] = []

        def label(parameter: float) -> OneLabel:
            labels.append(self._label(self.setting, family.table(parameter)))
            parameters[id(labels[-1])] = parameter
            return labels[-1]

        spent = spend(label, self.budget, family.guess, least=_LEAST, most=family.most, **_CLOSELY)
        if spent is None:
            return []
        said = family.said(parameters[id(spent.release)])
        return [self.row(family.name, said, spent.release.table, spent.epsilon)]

    def noise_in_votes(self) -> list[Mechanism]:
        """Votes that are more private instead of noise at the labels; only where votes are randomized answers."""
        setting, budget = self.setting, self.budget
        if setting.base is None:
            return []
        own = max(group.epsilon for group in setting.groups)

        def votes(epsilon: float) -> Setting:
            groups = tuple(g for g, group in enumerate(setting.groups) if group.epsilon > epsilon)
            return setting.with_epsilon(epsilon, groups)

        low, high = 0.0, min(own, 700.0)
        for _ in range(60):
            check_time()
            middle = (low + high) / 2
            total = votes(middle).votes_total(budget.queries, budget.delta, budget.voters)
            low, high = (middle, high) if total <= budget.epsilon else (low, middle)
        rows = []
        if low > 0:
            more = votes(low)
            total = more.votes_total(budget.queries, budget.delta, budget.voters)
            said = f"epsilon {at_most(low, 4)} a vote"
            rows.append(self.row("all the noise in the votes", said, more.majority(), total, more))
        found: dict[int, Setting] = {}
        kept: list[OneLabel] = []

        def label(epsilon: float) -> OneLabel:
            made = self._label(votes(epsilon), setting.majority())
            found[id(made)] = votes(epsilon)
            kept.append(made)
            return made

        spent = spend(label, budget, max(2 * low, 1e-3), least=_LEAST, most=min(own, 700.0), **_CLOSELY)
        if spent is not None:
            more = found[id(spent.release)]
            said = f"epsilon {at_most(max(group.epsilon for group in more.groups), 4)} a vote"
            plain = "majority" if setting.problem(1.0, 0.5).binary else "plurality"
            rows.append(self.row(f"plain {plain} of noisier votes", said, more.majority(), spent.epsilon, more))
        return rows
