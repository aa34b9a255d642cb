"""Mechanisms calibrated to one privacy budget: the error rate of each when all its labels have the same total cost."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypedDict

import numpy as np

from darrm.accounting.releases import OneLabel
from darrm.accounting.search import Budget, spend
from darrm.baselines.baseline import Baseline
from darrm.baselines.entries import Comparison, Entry
from darrm.baselines.registry import raised
from darrm.certificate.certificate import verify
from darrm.design.design import Design
from darrm.errors import BudgetError, CertificateError, InputError
from darrm.numerics.arrays import Array
from darrm.numerics.deadline import check_time, ends_at
from darrm.numerics.printed import at_most
from darrm.planning.bound import least_cost
from darrm.planning.designs import design_within, small
from darrm.planning.setting import Setting

_NEAR = 5e-3  # of any probability of a table: one noise in two calibrations
_LEAST = 1e-9  # of a parameter; below it a label is a coin flip


class Tries(TypedDict):
    """Numbers of attempts that `spend` makes."""

    tries: int
    close: float


_CLOSELY: Tries = {"tries": 40, "close": 1e-9}  # no program is solved, so many tries are cheap


def at_one_total(setting: Setting, budget: Budget, planned: Design | None = None) -> Comparison:
    """Each mechanism calibrated to the budget; ``planned`` is computed if it is not given.

    Each has one parameter, which is raised until the exact total of all labels reaches the budget;
    `darrm.accounting.search.spend` is the search for all. Where the budget covers the cost of the votes themselves, no
    mechanism needs noise, and only the plain majority is listed.
    """
    if planned is None:
        planned = design_within(setting, budget)
    with ends_at(budget.until):
        return _calibrated(setting, budget, planned)


def _calibrated(setting: Setting, budget: Budget, planned: Design) -> Comparison:
    """`at_one_total`, with the time looked at in all loops."""
    compared = _Compared(setting, budget)
    rows = [replace(compared.row("planned", "", planned.table, budget.total(planned)), design=planned)]
    if planned.reversals:
        try:
            ordered = design_within(replace(setting, shape="ordered"), budget)
            row = compared.row("planned, ordered", "", ordered.table, budget.total(ordered))
            rows.append(replace(row, design=ordered))
        except BudgetError:
            pass
    bound = planned.expected_cost
    if setting.votes_total(budget.queries, budget.delta, budget.voters) > budget.epsilon:
        bound = min(bound, least_cost(setting, budget)) if small(setting) else math.nan
        for baseline in raised(setting.model, setting.objective):
            rows += compared.raised(baseline)
        near = [row.name for row in rows[1:] if np.abs(row.table - planned.table).max() <= _NEAR]
        rows[0] = replace(rows[0], setting=f"nearly {near[0]}" if near else "")
        rows += compared.noise_in_votes()
    plain = "plain majority" if setting.model.binary else "plain plurality"
    rows.append(compared.row(plain, "no output noise", setting.majority()))
    if budget.voters == "fresh" and setting.base is None:
        total = setting.votes_total(budget.queries, budget.delta, "fixed")
        if math.isfinite(total):
            said = "not for fixed voters: each is private once, for all its answers"
            rows.append(
                replace(compared.row(f"{plain} of fixed voters", said, setting.majority(), total), aggregator=total)
            )
    each = (budget.queries, budget.epsilon, budget.delta, budget.voters, budget.fallback)
    return Comparison(tuple(rows), *each, bound)


@dataclass(frozen=True)
class _Compared:
    setting: Setting
    budget: Budget

    def row(
        self, name: str, said: str, table: Array, total: float | None = None, setting: Setting | None = None
    ) -> Entry:
        setting = self.setting if setting is None else setting
        budget = self.budget
        label = self._label(setting, table)
        total = budget.total(label) if total is None else total
        fallback = budget.fallback_total(label) if setting.model.known else math.nan
        return Entry(
            name,
            said,
            table,
            setting.cost(table),
            setting.wrong(table),
            setting.disagreement(table),
            total=total,
            within=total <= budget.epsilon and not fallback > budget.fallback,
            fallback=fallback,
            aggregator=setting.votes_total(budget.queries, budget.delta, budget.voters),
        )

    def _label(self, setting: Setting, table: Array) -> OneLabel:
        """A label for the accountant; certified where no delta is left to cover rounding of its region."""
        if self.budget.delta == 0:
            with suppress(CertificateError, InputError):
                epsilon = verify(table, setting.problem(1.0, 0.0)).tight_epsilon * (1 + 1e-12)
                return OneLabel(setting.problem(epsilon, 0.0), table, {})
        return setting.label(table)

    def raised(self, baseline: Baseline) -> list[Entry]:
        """The mechanism of the largest parameter within the budget, as a list of one, or of none."""
        family = baseline.family(self.setting.model, self.setting.objective)

        def label(parameter: float) -> OneLabel:
            return self._label(self.setting, self.setting.table(family.table(parameter)))

        spent = spend(label, self.budget, family.guess, least=_LEAST, most=family.most, **_CLOSELY)
        if spent is None:
            return []
        said = family.said(spent.parameter)
        return [self.row(baseline.name, said, spent.release.table, self._spent(spent.epsilon))]

    def _spent(self, cost: float) -> float | None:
        """The total of a mechanism by its cost; None where another budget may have decided."""
        return cost if self.budget.fallback == math.inf else None

    def noise_in_votes(self) -> list[Entry]:
        """More private votes in place of output noise; only where votes are randomized answers."""
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
            rows.append(self.row("local noise only", said, more.majority(), total, more))

        def label(epsilon: float) -> OneLabel:
            return self._label(votes(epsilon), setting.majority())

        spent = spend(label, budget, max(2 * low, 1e-3), least=_LEAST, most=min(own, 700.0), **_CLOSELY)
        if spent is not None:
            more = votes(spent.parameter)
            said = f"epsilon {at_most(max(group.epsilon for group in more.groups), 4)} a vote"
            plain = "majority" if setting.model.binary else "plurality"
            rows.append(
                self.row(f"plain {plain} of noisier votes", said, more.majority(), self._spent(spent.epsilon), more)
            )
        return rows
