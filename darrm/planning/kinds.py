"""The search for a design where each group has a privacy budget of its own, which every kind of change must keep.

A table is the optimum under a limit for each kind of change, whose parameter is x times the share of the kind. The
largest x within all budgets leaves some of them unspent: their shares are raised until all are spent, or until a larger
share gains nothing. A second budget, for the case that the assumption on known randomizers fails, is a part like these.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from darrm.accounting.gaussian import gdp, gdp_mu
from darrm.accounting.releases import OneLabel
from darrm.accounting.search import Budget, pays, spend
from darrm.baselines.baseline import Family
from darrm.baselines.registry import PLANNED
from darrm.certificate.certificate import verify
from darrm.certificate.engines import engine
from darrm.design.design import Design
from darrm.design.program import optimum, variables
from darrm.design.renyi import RenyiProgram
from darrm.errors import BudgetError, CertificateError, InputError
from darrm.numerics.arrays import Array
from darrm.numerics.deadline import ends_at
from darrm.numerics.printed import exactly
from darrm.planning.designs import (
    BINARY,
    LEAST_MU,
    MOST_MU,
    RESERVES,
    design_within,
    one_label,
    renyi_of,
    without_noise,
)
from darrm.planning.setting import Setting
from darrm.problem.decision import AnyProblem, decision_by
from darrm.problem.limits import Limit, guarantees, profile_limits

_ROUNDS = 6
_SPENT = 0.997  # share of a budget
_GAIN = 1e-4  # relative, of the cost: less is no reason to raise shares again
_MOST_RAISED = 4.0  # times, in one round


def planned(setting: Setting, budget: Budget, found: Callable[[Design], None] = lambda design: None) -> Design:
    """`design_for_kinds` if each group has a budget of its own, else `darrm.planning.designs.design_within`."""
    return (design_for_kinds if setting.shares else design_within)(setting, budget, found).for_plan(budget.voters)


def design_for_kinds(setting: Setting, budget: Budget, found: Callable[[Design], None] = lambda design: None) -> Design:
    """The design of least expected cost found by the search, within the budget of every kind of change.

    For one label: the optimum, by one program. Else the families are those of
    `darrm.planning.designs.design_within`, baselines left out, with a parameter for each kind. With a known randomizer,
    the second budget of each kind has a parameter of its own.

    Raises
    ------
    InputError
        If the problem is too large for any design.
    BudgetError
        If no noise within the budgets was found.
    OutOfTime
        If the time limit of the budget ends; every design passed to ``found`` is within the budget.

    Examples
    --------
    Ten labels of five voters, of which two are promised less than the other three:

    >>> import darrm
    >>> from darrm.accounting.search import Budget
    >>> from darrm.planning.kinds import design_for_kinds
    >>> from darrm.planning.setting import Setting
    >>> groups = darrm.VoterGroup(2, epsilon=0.5), darrm.VoterGroup(3, epsilon=0.5)
    >>> budget = Budget(10, 2.0, 1e-5, "fresh", of={"group 1": 1.0, "group 2": 2.0})
    >>> goal = darrm.objectives.truth([0.7, 0.7])
    >>> setting = Setting(groups, 1, "replace-one", 2, goal, shares=(0.5, 1.0))
    >>> total = darrm.accounting.compose(design_for_kinds(setting, budget), 10, delta=1e-5, voters="fresh")
    >>> total.of["group 1"].upper <= 1.0, 1.5 < total.of["group 2"].upper <= 2.0
    (True, True)
    """
    for kind in setting.problem(1.0, 0.5).kinds.values():
        engine(kind).check_size(kind)
    with ends_at(budget.until):
        if budget.queries == 1:
            if budget.until < math.inf:
                _Search(setting, budget, found).simple()
            design = one_label(setting, budget)
            if pays(design, budget):
                return design
        for reserve in RESERVES:
            search = _Search(setting, budget.scaled(1 - reserve), found)
            search.run()
            if search.best is not None and pays(search.best, budget):
                return search.best
    budgets = ", ".join(f"({exactly(epsilon)}, {exactly(budget.delta)})" for epsilon in budget.of.values())
    raise BudgetError(
        f"No noise was found that keeps {budget.queries} labels within {budgets}. Raise the budgets, ask fewer "
        "queries, or make the voters more private."
    )


class _Search:
    """The best design so far, and the families that may improve on it."""

    def __init__(self, setting: Setting, budget: Budget, found: Callable[[Design], None]) -> None:
        self._setting, self._budget, self._found = setting, budget, found
        self.best: Design | None = None
        self._failing = budget.delta / (2 * budget.queries) if setting.failing else 0.0

    def run(self) -> None:
        setting, budget = self._setting, self._budget
        if setting.private:
            plain = without_noise(setting)
            if budget.cost(plain) <= budget.epsilon:
                self._take(plain.table)
                return
        if budget.until < math.inf:
            self.simple()
        each = budget.epsilon / budget.queries
        if budget.delta == 0:
            self._spend(self._optimum(_pure), each * (1 - 1e-9))
            return
        mu = min(MOST_MU, gdp_mu(budget.epsilon, budget.delta) / math.sqrt(budget.queries) * BINARY)
        self._spend_renyi()
        if setting.model.binary:
            self._spend(self._optimum(_gaussian), mu)
        self._spend(self._optimum(_pure), max(each, 0.8 * mu) * (1 - 1e-9))

    def simple(self) -> None:
        """A design by simple noise, so that there is one if the time ends."""
        setting = self._setting
        for baseline in PLANNED:
            if baseline.serves(setting.model, setting.objective):
                family = baseline.family(setting.model, setting.objective)

                def label(parameter: float, family: Family = family) -> OneLabel:
                    return setting.label(setting.table(family.table(parameter)))

                spent = spend(label, self._budget, min(family.guess, family.most), most=family.most)
                if spent is not None:
                    self._take(spent.release.table)
                if self.best is not None:
                    return

    def _held(self) -> list[tuple[AnyProblem, float]]:
        """The problem of each part of the budget, with its first share."""
        label = self._setting.label(self._setting.majority())
        held = [(part.problem, epsilon) for part, epsilon in self._budget.held(label)]
        return list(
            zip([problem for problem, _ in held], first_shares(self._budget, [own for _, own in held]), strict=True)
        )

    def _optimum(self, family: Limits) -> Make:
        """The optimum under the limits of a family, from the parameters of all parts of the budget."""
        setting, budget = self._setting, self._budget
        problems = [problem for problem, _ in self._held()]
        looked_for = variables(setting.problem(1.0, 0.5), setting.objective, setting.shape, budget.until)

        def make(parameters: Sequence[float]) -> Array:
            parts = zip(problems, parameters, strict=True)
            limits = [limit for problem, parameter in parts for limit in family(problem, parameter, self._failing)]
            return optimum(looked_for, limits, budget.until)[0]

        return make

    def _spend_renyi(self) -> None:
        """The optima under a Renyi divergence for each part of the budget, raised as those of Gaussian noise."""
        setting, budget = self._setting, self._budget
        held = self._held()
        orders = [renyi_of((own, budget.delta), 1.0)[1] for _, own in budget.held(setting.label(setting.majority()))]
        first, *others = [(problem, order) for (problem, _), order in zip(held, orders, strict=True)]
        try:
            program = RenyiProgram(first[0], setting.objective, first[1], shape=setting.shape, also=others)
        except InputError:  # too large to optimise
            return

        def make(mus: Sequence[float]) -> Array:
            divergences = [order * mu**2 / 2 for order, mu in zip(orders, mus, strict=True)]
            return program.table(*divergences, time_limit=max(0.1, budget.until - time.monotonic()))

        self._spend(make, gdp_mu(budget.epsilon, budget.delta) / math.sqrt(budget.queries))

    def _spend(self, make: Make, guess: float) -> None:
        """Raise x within all parts of the budget, and the shares of those that are then not spent."""
        setting, budget, least = self._setting, self._budget, math.inf
        shares = [share for _, share in self._held()]
        for _ in range(_ROUNDS):

            def label(x: float, shares: Sequence[float] = tuple(shares)) -> OneLabel:
                return setting.label(make([x * share for share in shares]))

            spent = spend(label, budget, guess, most=MOST_MU, hopeless=self._hopeless)
            if spent is None:
                return
            cost = setting.cost(spent.release.table)
            self._take(spent.release.table)
            used = [budget.total(part) / own for part, own in budget.held(spent.release)]
            if min(used) >= _SPENT or cost > least * (1 - _GAIN):
                return
            least, most = min(cost, least), max(used)
            shares = [share * min(most / max(own, 1e-9), _MOST_RAISED) for share, own in zip(shares, used, strict=True)]

    def _hopeless(self, release: OneLabel) -> bool:
        return self.best is not None and self._setting.cost(release.table) >= self.best.expected_cost

    def _take(self, table: Array) -> None:
        """Accept a table within the budgets, if its own tight epsilons can be certified."""
        setting = self._setting
        if self.best is not None and setting.cost(table) >= self.best.expected_cost:
            return
        with suppress(CertificateError, InputError):
            certificate = verify(table, setting.problem(1.0, self._failing))
            problem = setting.certified(certificate, self._failing, 1 + 1e-9)
            self.best = Design(problem, table, setting.objective, setting.shape)
            self._found(self.best)


def _pure(problem: AnyProblem, epsilon: float, delta: float) -> tuple[Limit[Any], ...]:
    """(epsilon, delta) alone."""
    return guarantees(decision_by(problem.model, epsilon, delta))


def _gaussian(problem: AnyProblem, mu: float, delta: float) -> tuple[Limit[Any], ...]:
    """The profile of mu-Gaussian differential privacy, with ``delta`` beside."""
    return profile_limits(problem, [(epsilon, own + delta) for epsilon, own in gdp(min(max(mu, LEAST_MU), MOST_MU))])


Limits: TypeAlias = Callable[[AnyProblem, float, float], tuple[Limit[Any], ...]]
Make: TypeAlias = Callable[[Sequence[float]], Array]


def first_shares(budget: Budget, epsilons: Iterable[float]) -> list[float]:
    """The first shares: each part alone would spend its budget at the same x, by Gaussian differential privacy."""
    if budget.delta == 0 or budget.queries == 1:
        return [epsilon / budget.epsilon for epsilon in epsilons]
    most = gdp_mu(budget.epsilon, budget.delta)
    return [gdp_mu(epsilon, budget.delta) / most for epsilon in epsilons]
