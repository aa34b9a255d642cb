"""The search for the most accurate design whose labels all stay within one privacy budget."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from darrm._validation import MAX_EPSILON
from darrm.accounting.fixed import labels_allowance
from darrm.accounting.gaussian import gdp, gdp_mu
from darrm.accounting.releases import OneLabel
from darrm.accounting.search import AIM, Budget, Spent, pays, spend
from darrm.baselines.baseline import Family
from darrm.baselines.registry import PLANNED
from darrm.certificate.certificate import verify
from darrm.certificate.engines import engine
from darrm.certificate.scaling import repair
from darrm.design.design import Design
from darrm.design.program import optimum, variables
from darrm.design.renyi import RenyiProgram
from darrm.design.solve import solve
from darrm.errors import BudgetError, CertificateError, InputError
from darrm.numerics.arrays import Array
from darrm.numerics.deadline import check_time, ends_at
from darrm.planning.setting import Setting
from darrm.problem.counts import more_sorted_counts
from darrm.problem.decision import any_voters
from darrm.problem.limits import guarantees

MOST_MU, LEAST_MU = 12.0, 1e-4
BINARY = math.sqrt(math.pi / 2)  # largest ratio of the mu of two answers to that of released Gaussian noise
# Times the order at which Renyi DP is least, less 1: the best of a few tried, for two answers and for more.
_ORDERS, _ORDERS_OF_SEVERAL = (1.0, 1.5), (1.1,)
_BALANCES = (0.9, 0.95, 1.0)  # of the divergences by two budgets; one of them spends nearly all of both
_TRIES = 60  # of one Renyi divergence; few are needed, except where the answer hardly depends on the votes
_SHARE = 0.95  # of the mu of Gaussian noise, where a search under Renyi divergences begins
_MOST_VOTES = 400  # up to renaming of classes; above it an optimum for many labels takes tens of minutes
_ROUNDING = 1e-12  # relative, of costs; larger than any real difference
RESERVES = (0.0, 2e-3, 1e-2, 0.05)  # share of the total epsilon, as grids of composition differ


def design_within(setting: Setting, budget: Budget, found: Callable[[Design], None] = lambda design: None) -> Design:
    """The design of least expected cost found by the search, with all labels certified within the budget.

    For one label: the optimum within both budgets, by one program. For several: the optimum without noise, if the
    budget covers it. Otherwise each family below has one parameter, which is raised until the exact total of all labels
    reaches the budget:

    * Renyi: the optimum under a Renyi divergence, of orders near that at which Renyi DP is least; best where labels are
      many and voters private by themselves, or answers more than two. With a known randomizer it is that of the true
      answers; under a second budget another one, of the same voters as any voters, is limited too;
    * Gaussian, for two answers: the optimum under the profile of mu-Gaussian DP. It is a little better where several
      voters are affected, and by up to 4 percent where voters have a delta;
    * pure: the optimum under (epsilon, 0), best where labels are few;
    * the baselines of `darrm.baselines.registry.PLANNED`, which are not optima, where they are better than all of
      these: noisy max on the counts, constant noise and, for two answers, the majority of flipped votes. Only these are
      tried where one group has more than 400 vectors of counts for several classes, up to a renaming of the classes: 25
      voters and ten classes have 1455.

    Where voters have a delta of their own, each label is given an equal share of half the total delta. The Gaussian
    family is tried without such a share too. For fixed voters the labels are also designed as if the voters were
    non-private: the output noise then protects the records by itself (Theorem 1 of docs/theory.md).

    Raises
    ------
    InputError
        If the problem is too large for any design; raised before anything is listed.
    BudgetError
        If no noise within the budget was found.
    OutOfTime
        If the time limit of the budget ends; every design passed to ``found`` is within the budget.

    Examples
    --------
    Five labels of three voters:

    >>> import darrm
    >>> from darrm.accounting.search import Budget
    >>> from darrm.planning.designs import design_within
    >>> from darrm.planning.setting import Setting
    >>> setting = Setting((darrm.VoterGroup(3, epsilon=0.5),), 1, "replace-one", 2, darrm.objectives.truth([0.7]))
    >>> design = design_within(setting, Budget(5, 1.0, 1e-5, "fresh"))
    >>> round(design.expected_cost, 2)
    0.33
    >>> darrm.accounting.compose(design, 5, delta=1e-5, voters="fresh").upper <= 1.0
    True
    """
    problem = setting.problem(1.0, 0.5)
    engine(problem).check_size(problem)
    with ends_at(budget.until):
        return _within(setting, budget, found)


def _within(setting: Setting, budget: Budget, found: Callable[[Design], None]) -> Design:
    """`design_within`, with the time limit checked in all loops."""
    if setting.private and (setting.problem().release_epsilon <= budget.epsilon or budget.queries > 1):
        plain = without_noise(setting)
        if budget.cost(plain) <= budget.epsilon:
            return tight(setting, plain)
    if budget.queries == 1:
        if budget.until < math.inf:
            _Search(setting, budget, found).noisy_counts()  # passed to ``found``, should the time end
        design = tight(setting, one_label(setting, budget))
        if budget.cost(design) <= budget.epsilon:
            return design
    for reserve in RESERVES:
        search = _Search(setting, budget.scaled(1 - reserve), found)
        search.noisy_counts()  # so that there is a design if the time limit ends; optima can take hours
        for votes, total in _sides(setting, search.budget) if small(setting) else []:
            search.optima(votes, total)
        if search.best is not None:
            design = tight(setting, search.best)
            if pays(design, budget):
                return design
    raise BudgetError(
        f"No noise was found that keeps {budget.queries} labels within ({budget.epsilon:g}, {budget.delta:g}). "
        "Raise the budget, ask fewer queries, or make the voters more private."
    )


def one_label(setting: Setting, budget: Budget) -> Design:
    """The optimum for one label within every part of the budget: one program has the constraints of all."""
    problem = setting.problem(list(budget.of.values()) or budget.epsilon, budget.delta)
    held = guarantees(problem)
    if budget.fallback < math.inf:
        # Below it by more than rounding: a design states what the first budget covers, and this is certified anew.
        seconds = [min(budget.own_fallback(kind) * (1 - 1e-9), MAX_EPSILON) for kind in problem.kinds]
        held += guarantees(any_voters(setting.problem(seconds if budget.of else seconds[0], budget.delta)))
    for limit in held:
        engine(limit.problem).check_size(limit.problem)
    looked_for = variables(problem, setting.objective, setting.shape, budget.until)
    table, gap = optimum(looked_for, held, budget.until)
    return Design(problem, table, setting.objective, setting.shape, gap=gap)


def without_noise(setting: Setting) -> Design:
    """The Bayes rule at the cost of the votes, which covers any rule; no table is better, except by rounding."""
    problem = setting.problem(delta=None)
    rule = setting.best_rule()
    table = repair(rule, problem)
    gap = max(0.0, setting.cost(table) - setting.cost(rule)) + _ROUNDING * setting.most_cost()
    return Design(problem, table, setting.objective, setting.shape, gap=gap)


class _Search:
    """The best design so far, and the families that may improve on it."""

    def __init__(self, setting: Setting, budget: Budget, found: Callable[[Design], None]) -> None:
        self.setting, self.budget, self._found = setting, budget, found
        self.best: Design | None = None
        self._failing = budget.delta / (2 * budget.queries) if setting.failing else 0.0

    def optima(self, votes: Setting, total: tuple[float, float]) -> None:
        """The optima for ``votes``, with ``total`` as the budget of their labels."""
        each = total[0] / self.budget.queries
        most = self.setting.problem().release_epsilon if self.setting.private else math.inf

        def pure(epsilon: float) -> Design:
            return self._made(votes, min(epsilon, most), [])

        def gaussian(mu: float) -> Design:
            points = gdp(mu)
            profile = [(epsilon, delta + self._failing) for epsilon, delta in points]
            return self._made(votes, min(points[-1][0], most), profile)

        if total[1] == 0:
            self._raise(pure, each * (1 - 1e-9), each / 2, most)
            return
        self._renyi(votes, total)
        mu = min(MOST_MU, gdp_mu(*total) / math.sqrt(self.budget.queries) * BINARY)
        if votes.problem(1.0, 0.5).binary:
            self._raise(gaussian, mu, LEAST_MU, MOST_MU)
            if self._failing and votes is self.setting:
                # The same family without a share of delta for the voters' own, where the curve has room for all of it.
                self._raise(lambda mu: self._made(votes, None, gdp(mu)), mu, LEAST_MU, MOST_MU)
        self._raise(pure, max(each, 0.8 * mu) * (1 - 1e-9), each / 2, most)

    def _renyi(self, votes: Setting, total: tuple[float, float]) -> None:
        """The optima for ``votes`` under a Renyi divergence, of orders near that at which Renyi DP would be least.

        It is raised as that of Gaussian noise, order mu^2 / 2, each time from the last mu within the budget. For a
        second budget, any voters keep one of their own; the balance of both is chosen at the first order.
        """
        budget, setting, problem = self.budget, self.setting, votes.problem(1.0, 0.5)
        fallback = (budget.fallback, budget.delta) if budget.fallback < math.inf else None
        guess = _SHARE * gdp_mu(*total) / math.sqrt(budget.queries)
        balances = _BALANCES if fallback else (1.0,)
        for times in _ORDERS if problem.binary else _ORDERS_OF_SEVERAL:
            most, order = renyi_of(total, times)
            most_of_any, also = renyi_of(fallback, times) if fallback else (math.inf, math.inf)
            others = [(any_voters(problem), also)] if fallback else []
            try:
                program = RenyiProgram(problem, setting.objective, order, shape=setting.shape, also=others)
            except InputError:  # too large to optimise
                return
            for balance in balances:
                before = self.best
                beside = [balance * also * (most_of_any / most) ** 2] if fallback else []

                def label(
                    mu: float, table: Callable[..., Array] = program.table, orders: Sequence[float] = (order, *beside)
                ) -> OneLabel:
                    left = max(0.1, budget.until - time.monotonic())
                    return setting.label(table(*(each * mu**2 / 2 for each in orders), time_limit=left))

                spent = spend(
                    label,
                    budget,
                    guess,
                    most=MOST_MU,
                    hopeless=lambda release: setting.cost(release.table) >= self._least(),
                    found=self._take_better,
                    tries=_TRIES,
                )
                if spent is not None and spent.epsilon > 0:
                    guess = spent.parameter * AIM * budget.epsilon / spent.epsilon
                if self.best is not before:
                    balances = (balance,)

    def noisy_counts(self) -> None:
        """Noisy max mechanisms, each tried first at the parameter where it would equal the best design so far."""
        setting, budget = self.setting, self.budget
        for baseline in PLANNED:
            check_time()
            if not baseline.serves(setting.model, setting.objective):
                continue
            family = baseline.family(setting.model, setting.objective)

            def table(parameter: float, family: Family = family) -> Array:
                return setting.table(family.table(parameter))

            def label(parameter: float, table: Callable[[float], Array] = table) -> OneLabel:
                return setting.label(table(parameter))

            low, high = min(1e-4, family.most / 2), family.most
            best = self._least()
            if setting.cost(table(high)) >= best:
                continue
            while best < math.inf and high > low * (1 + 1e-5):
                check_time()
                middle = math.sqrt(low * high)
                low, high = (middle, high) if setting.cost(table(middle)) > best else (low, middle)
            start, least = (high, high) if best < math.inf else (min(family.guess, high), 0.0)
            if best < math.inf and budget.cost(label(high)) > budget.epsilon:
                continue
            spent = spend(label, budget, start, least=least, most=family.most, found=self._take_first)
            if spent is not None:
                self._take_table(spent.release.table)

    def _made(self, votes: Setting, epsilon: float | None, profile: Sequence[tuple[float, float]]) -> Design:
        """The optimum for ``votes`` as a design for the real voters; without an epsilon only the profile binds."""
        setting = self.setting
        problem = votes.problem(epsilon, None if epsilon is None else self._failing)
        design = solve(problem, objective=setting.objective, shape=setting.shape, profile=profile)
        if votes is setting:
            return design
        problem = setting.problem(epsilon, self._failing)
        for kept in (design.profile, ()):
            # For voters with a delta the certificate can be an upper bound that exceeds that of non-private voters.
            with suppress(CertificateError):
                return Design(problem, design.table, setting.objective, profile=kept, shape=setting.shape)
        raise InputError(f"No label of these voters is certified at epsilon = {epsilon:g}.")

    def _raise(self, make: Callable[[float], Design], guess: float, least: float, most: float) -> None:
        """Search a family, until it cannot win."""

        def hopeless(design: Design) -> bool:
            return design.expected_cost >= self._least()

        spend(make, self.budget, guess, least=least, most=most, hopeless=hopeless, found=self._take)

    def _take(self, spent: Spent[Design]) -> None:
        if spent.release.expected_cost < self._least():
            self.best = spent.release
            self._found(spent.release)

    def _take_table(self, table: Array) -> None:
        """Accept a table within the budget, if its own tight epsilon can be certified."""
        setting = self.setting
        with suppress(CertificateError, InputError):
            epsilon = verify(table, setting.problem(1.0, self._failing)).tight_epsilon
            problem = setting.problem(epsilon * (1 + 1e-9), self._failing)
            self._take(Spent(Design(problem, table, setting.objective, shape=setting.shape), math.nan))

    def _take_better(self, spent: Spent[OneLabel]) -> None:
        if self.setting.cost(spent.release.table) < self._least():
            self._take_table(spent.release.table)

    def _take_first(self, spent: Spent[OneLabel]) -> None:
        """Accept any design within the budget while there is none, so that there is one soon."""
        if self.best is None:
            self._take_table(spent.release.table)

    def _least(self) -> float:
        return math.inf if self.best is None else self.best.expected_cost


def renyi_of(total: tuple[float, float], times: float) -> tuple[float, float]:
    """The mu of Gaussian noise with this total, and ``times`` the order (less 1) at which its Renyi DP is least."""
    mu = gdp_mu(*total)
    return mu, 1 + times * math.sqrt(-2 * math.log(total[1])) / mu


def small(setting: Setting) -> bool:
    """Whether optima take minutes, by the number of count vectors of one group up to a renaming of the classes."""
    problem = setting.problem(1.0, 0.5)
    alone = not problem.binary and len(problem.groups) == 1
    return not alone or not more_sorted_counts(problem.K, problem.n_classes, _MOST_VOTES)


def _sides(setting: Setting, budget: Budget) -> list[tuple[Setting, tuple[float, float]]]:
    """The voters for whom the labels are designed, real or non-private, each with the budget of the labels."""
    allowed = None
    if budget.voters == "fixed":
        allowed = labels_allowance(setting.problem(1.0, 0.5), budget.epsilon, budget.delta)
    if allowed is None:
        return [(setting, (budget.epsilon, budget.delta))]
    return [(setting.silent(), (allowed.epsilon, allowed.delta)), (setting, (allowed.epsilon, allowed.delta))]


def tight(setting: Setting, design: Design) -> Design:
    """The same table with its own tight epsilon, if that is less than the epsilon it was solved for."""
    epsilon = design.certificate.tight_epsilon * (1 + 1e-12)  # larger than rounding, except for tiny epsilons
    if not 0 < epsilon < design.problem.release_epsilon:
        return design
    tighter = setting.problem(epsilon, design.problem.delta)
    with suppress(CertificateError):
        return Design(
            tighter, design.table, design.objective, design.shape, None, design.gap, design.profile, design.fewer
        )
    return design
