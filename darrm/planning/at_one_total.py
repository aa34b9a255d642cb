"""Mechanisms calibrated to one privacy budget: the error rate of each when all its labels have the same total cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypedDict

import numpy as np

from darrm.accounting.releases import AnyRelease, OneLabel, one_label
from darrm.accounting.search import Budget, spend
from darrm.baselines.baseline import Baseline, Family
from darrm.baselines.entries import Comparison, Entry, OfKind
from darrm.baselines.registry import raised
from darrm.certificate.certificate import verify
from darrm.design.design import Design
from darrm.errors import BudgetError, CertificateError, InputError
from darrm.numerics.arrays import Array
from darrm.numerics.deadline import check_time, ends_at
from darrm.numerics.printed import at_most
from darrm.planning.bound import least_cost
from darrm.planning.designs import as_costly, planned, small
from darrm.planning.kinds import first_shares
from darrm.planning.setting import Setting
from darrm.problem.groups import rests_on

_NEAR = 5e-3  # of any probability of a table: one noise in two calibrations
_LEAST = 1e-9  # of a parameter; below it a label is a coin flip


class Tries(TypedDict):
    """Numbers of attempts that `spend` makes."""

    tries: int
    close: float


_CLOSELY: Tries = {"tries": 40, "close": 1e-9}  # no program is solved, so many tries are cheap


def at_one_total(setting: Setting, budget: Budget, design: Design | None = None) -> Comparison:
    """Each mechanism calibrated to the budget; the planned ``design`` is computed if it is not given.

    Each has one parameter, which is raised until the exact total of all labels reaches the budget;
    `darrm.accounting.search.spend` is the search for all. Where the budget covers the cost of the votes themselves, no
    mechanism needs noise, and only the plain majority is listed.

    Where each group has a budget of its own, a mechanism of one parameter knows no groups, and is raised until the
    first of the budgets is spent. Votes with more local noise have an epsilon for each group, in the ratio at which
    they would spend all budgets by Gaussian differential privacy.
    """
    if design is None:
        design = planned(setting, budget)
    with ends_at(budget.until):
        return _calibrated(setting, budget, design)


def of_kinds(budget: Budget, release: AnyRelease, totals: Mapping[str, float]) -> dict[str, OfKind]:
    """The budget and the totals of labels for each kind of change; none if all changes have one budget."""
    kinds, known = one_label(release).kinds, one_label(release).problem.known
    return {
        kind: OfKind(budget.own(kind), totals[kind], budget.fallback_total(own) if known else math.nan)
        for kind, own in kinds.items()
        if kind
    }


def _calibrated(setting: Setting, budget: Budget, design: Design) -> Comparison:
    """`at_one_total`, with the time looked at in all loops."""
    compared = _Compared(setting, budget, design.expected_cost)
    rows = [replace(compared.row("planned", "", design.table, budget.totals(design)), design=design)]
    if design.reversals:
        try:
            ordered = planned(replace(setting, shape="ordered"), budget)
            row = compared.row("planned, ordered", "", ordered.table, budget.totals(ordered))
            rows.append(replace(row, design=ordered))
        except BudgetError:
            pass
    prices = setting.votes_totals(budget.queries, budget.delta, budget.voters)
    if any(price > budget.own(kind) for kind, price in prices.items()):
        bound = least_cost(setting, budget) if small(setting) else math.nan
        bound = bound if math.isnan(bound) else min(bound, design.expected_cost)
        for baseline in raised(setting.model, setting.objective):
            rows += compared.raised(baseline)
        near = [row.name for row in rows[1:] if np.abs(setting.stored(row.table) - design.table).max() <= _NEAR]
        rows[0] = replace(rows[0], setting=f"nearly {near[0].removeprefix('planned, ')}" if near else "")
        rows += compared.noise_in_votes()
    else:
        bound = max(0.0, design.expected_cost - design.gap)  # all votes may be released, so nothing is better
    plain = "plain majority" if setting.model.binary else "plain plurality"
    rows.append(compared.row(plain, "no output noise", setting.majority()))
    if budget.voters == "fresh" and setting.base is None:
        totals = setting.votes_totals(budget.queries, budget.delta, "fixed")
        if math.isfinite(max(totals.values())):
            said = "if each were private once, for all its answers"
            row = compared.row(f"{plain} of fixed voters", said, setting.majority(), totals)
            rows.append(replace(row, aggregator=row.total))
    each = (budget.queries, budget.epsilon, budget.delta, budget.voters, budget.fallback)
    return Comparison(tuple(rows), *each, bound, rests_on(setting.problem(1.0, 0.5)))


@dataclass(frozen=True)
class _Compared:
    setting: Setting
    budget: Budget
    cost: float  # of a label of the planned design, near which others are searched

    def row(
        self,
        name: str,
        said: str,
        table: Array,
        totals: Mapping[str, float] | None = None,
        setting: Setting | None = None,
    ) -> Entry:
        """The entry of a mechanism, whose totals for each kind of change are computed if they are not given."""
        setting = self.setting if setting is None else setting
        budget, label = self.budget, self._label(setting, table)
        if totals is None:
            totals = budget.totals(label)
        of = of_kinds(budget, label, totals)
        fallback = budget.fallback_total(label) if setting.model.known else math.nan
        fallbacks = {kind: own.fallback for kind, own in of.items()} or {"": fallback}
        return Entry(
            name,
            said,
            table,
            setting.cost(table),
            setting.wrong(table),
            setting.disagreement(table),
            total=max(totals.values()),
            within=all(total <= budget.own(kind) for kind, total in totals.items())
            and not any(total > budget.own_fallback(kind) for kind, total in fallbacks.items()),
            fallback=fallback,
            aggregator=setting.votes_total(budget.queries, budget.delta, budget.voters),
            of=of,
        )

    def _label(self, setting: Setting, table: Array) -> OneLabel:
        """A label for the accountant; certified where no delta is left to cover rounding of its region."""
        if self.budget.delta == 0:
            with suppress(CertificateError, InputError):
                certificate = verify(table, setting.problem(1.0, 0.0))
                return OneLabel(setting.certified(certificate, 0.0, 1 + 1e-12), table, {})
        return setting.label(table)

    def raised(self, baseline: Baseline) -> list[Entry]:
        """The mechanism of the largest parameter within the budget, as a list of one, or of none.

        Of a family with `Family.mixed` also the largest share of the one that would equal the plan, if that is better.
        """
        family = baseline.family(self.setting.model, self.setting.objective)
        near = as_costly(self.setting, family, self.cost)
        found = self._largest(family, family.guess if near is None else near)
        if not found or found[0][0] == family.said(family.most):
            baseline.check_ends(family, self.setting.model)
        if family.mixed is not None and near is not None:
            mixed = family.mixed(near)
            found = found + self._largest(mixed, mixed.guess)
        tables = sorted(found, key=lambda one: self.setting.cost(one[1]))
        return [self.row(baseline.name, said, table, self._spent(epsilon)) for said, table, epsilon in tables[:1]]

    def _largest(self, family: Family, near: float) -> list[tuple[str, Array, float]]:
        """The largest parameter within the budget in words, with its table and total, as a list of one, or of none."""

        def label(parameter: float) -> OneLabel:
            return self._label(self.setting, self.setting.table(family.table(parameter)))

        spent = spend(label, self.budget, near, least=_LEAST, most=family.most, **_CLOSELY)
        return [] if spent is None else [(family.said(spent.parameter), spent.release.table, spent.epsilon)]

    def _spent(self, cost: float) -> Mapping[str, float] | None:
        """The total of a mechanism by its cost; None where another budget may have decided."""
        return {"": cost} if self.budget.fallback == math.inf and not self.budget.of else None

    def noise_in_votes(self) -> list[Entry]:
        """More private votes in place of output noise; only where votes are randomized answers."""
        setting, budget = self.setting, self.budget
        if setting.base is None:
            return []
        epsilons = [group.epsilon for group in setting.groups]
        shares = first_shares(budget, budget.of.values())[: len(epsilons)] if budget.of else [1.0] * len(epsilons)
        most = max(min(own, 700.0) / share for own, share in zip(epsilons, shares, strict=True))

        def votes(x: float) -> Setting:
            more = setting
            for g, (own, share) in enumerate(zip(epsilons, shares, strict=True)):
                if own > x * share:
                    more = more.with_epsilon(x * share, (g,))
            return more

        def said(x: float) -> str:
            each = [min(own, x * share) for own, share in zip(epsilons, shares, strict=True)]
            return f"epsilon {' and '.join(at_most(one, 4) for one in (each if budget.of else [max(each)]))} a vote"

        low, high = 0.0, most
        for _ in range(60):
            check_time()
            middle = (low + high) / 2
            totals = votes(middle).votes_totals(budget.queries, budget.delta, budget.voters)
            within = all(total <= budget.own(kind) for kind, total in totals.items())
            low, high = (middle, high) if within else (low, middle)
        rows = []
        if low > 0:
            more = votes(low)
            totals = more.votes_totals(budget.queries, budget.delta, budget.voters)
            # By a known randomizer the labels cost less than these votes, to which the total is raised.
            of_labels = None if setting.model.known else totals
            rows.append(self.row("local noise only", said(low), more.majority(), of_labels, more))

        def label(x: float) -> OneLabel:
            return self._label(votes(x), setting.majority())

        spent = spend(label, budget, max(2 * low, 1e-3), least=_LEAST, most=most, **_CLOSELY)
        if spent is not None:
            more = votes(spent.parameter)
            plain = "majority" if setting.model.binary else "plurality"
            rows.append(
                self.row(
                    f"plain {plain} of noisier votes",
                    said(spent.parameter),
                    more.majority(),
                    self._spent(spent.epsilon),
                    more,
                )
            )
        return rows
