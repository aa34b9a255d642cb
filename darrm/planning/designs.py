"""The search for the most accurate design whose labels all stay within one privacy budget."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from darrm._validation import MAX_EPSILON
from darrm.accounting.fixed import labels_allowance
from darrm.accounting.gaussian import gdp, gdp_mu
from darrm.accounting.releases import OneLabel
from darrm.accounting.search import AIM, LEAST_SPENT, Budget, Spent, pays, spend
from darrm.baselines.baseline import Family
from darrm.baselines.registry import tried
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
from darrm.numerics.printed import counted, exactly
from darrm.planning import kinds
from darrm.planning.kinds import LEAST_MU, MOST_MU, Limits, first_shares
from darrm.planning.setting import Setting
from darrm.problem.class_corners import MAX_ENTRIES, entries, nearest_that_fits
from darrm.problem.counts import more_sorted_counts
from darrm.problem.decision import AnyProblem, any_voters
from darrm.problem.limits import guarantees

_BINARY = math.sqrt(math.pi / 2)  # largest ratio of the mu of two answers to that of released Gaussian noise
# Times the order at which Renyi DP is least, less 1: the best of a few tried, for two answers and for more.
_ORDERS, _ORDERS_OF_SEVERAL = (1.0, 1.5), (1.1,)
_BALANCES = (0.9, 0.95, 1.0)  # of the divergences by two budgets; one of them spends nearly all of both
_TRIES = 60  # of one Renyi divergence; few are needed, except where the answer hardly depends on the votes
_SHARE = 0.95  # of the mu of Gaussian noise, where a search under Renyi divergences begins
_MOST_VOTES = 400  # up to renaming of classes; above it an optimum for many labels takes tens of minutes
_MORE = 1 + 5e-13  # times a tight epsilon: larger than rounding, except for tiny epsilons, and nothing in print
_ROUNDING = 1e-12  # relative, of costs; larger than any real difference
_SOON = 0.3  # share of the budget that a first design spends where optima are soon there
_QUICK = 128  # entries of a table of two answers, up to which they are
_ROUNDS = 6  # of raised shares
_GAIN = 1e-4  # relative, of the cost: less is no reason to raise shares again
_RESERVES = (0.0, 2e-3, 1e-2, 0.05)  # share of the total epsilon, as grids of composition differ and end


def planned(setting: Setting, budget: Budget, found: Callable[[Design], None] = lambda design: None) -> Design:
    """`design_within`, which knows the voters of its plan."""
    return design_within(setting, budget, found).for_plan(budget.voters)


def design_within(setting: Setting, budget: Budget, found: Callable[[Design], None] = lambda design: None) -> Design:
    """The design of least expected cost found by the search, with all labels certified within the budget.

    For one label: the optimum within both budgets, by one program. For several: the optimum without noise, if the
    budget covers it. Otherwise each family below has one parameter, which is raised until the exact total of all labels
    reaches the budget:

    * Renyi: the optimum under a Renyi divergence, of orders near that at which Renyi DP is least; best where labels are
      many and voters private by themselves, or answers more than two. With a known randomizer it is that of the true
      answers; under a second budget another one, of the same voters as any voters, is limited too;
    * Gaussian, for two answers: the optimum under the profile of mu-Gaussian DP. It is better by up to 4 percent where
      voters have a delta, and by some tenths of a percent elsewhere. With a known randomizer and one affected voter it
      is left out if the Renyi optima were found: there it gained less than .01 percent in the plans that tests compare;
    * pure: the optimum under (epsilon, 0), best where labels are few;
    * the baselines of `darrm.baselines.registry.tried`, which are not optima, where they are better than all of
      these: noisy max on the counts, constant noise and, for two answers, the majority of flipped votes and tuned
      subsampling. Only these are tried where one group has more than 400 vectors of counts for several classes, up to
      a renaming of the classes: 25 voters and ten classes have 1455.

    Where each group has a budget of its own, a family has a parameter for each kind of change, and every kind must stay
    within its budget; with a known randomizer, the second budget of each kind has one too (`darrm.planning.kinds`).

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
    for kind in setting.problem(1.0, 0.5).kinds.values():
        engine(kind).check_size(kind)
    _check_full(setting)
    with ends_at(budget.until):
        return _within(setting, budget, found)


def _within(setting: Setting, budget: Budget, found: Callable[[Design], None]) -> Design:
    """`design_within`, with the time limit checked in all loops."""
    if setting.private and (budget.queries > 1 or _covers_votes(setting, budget)):
        plain = without_noise(setting)
        if budget.cost(plain) <= budget.epsilon:
            return tight(setting, plain)
    if budget.queries == 1:
        if budget.until < math.inf:
            _Search(setting, budget, found).noisy_counts()  # passed to ``found``, should the time end
        design = tight(setting, one_label(setting, budget))
        if budget.cost(design) <= budget.epsilon:
            return design
    for reserve in _RESERVES:
        search = _Search(setting, budget.scaled(1 - reserve), found)
        # So that there is a design if the search is stopped; a good one where optima can take hours.
        search.noisy_counts(enough=_SOON if setting.model.binary and setting.majority().size <= _QUICK else LEAST_SPENT)
        for votes, total in _sides(setting, search.budget) if small(setting) else []:
            search.optima(votes, total)
        search.noisy_counts()
        if search.best is not None:
            design = tight(setting, search.best)
            if pays(design, budget):
                return design
    budgets = (f"({exactly(own)}, {exactly(budget.delta)})" for own in budget.of.values() or [budget.epsilon])
    raise BudgetError(
        f"No noise was found that keeps {counted(budget.queries, 'label')} within {', '.join(budgets)}. Raise "
        "the budget, ask "
        "fewer queries, or make the voters more private."
    )


def _check_full(setting: Setting) -> None:
    """Refuse an objective that treats classes unlike where its full table is too large: symmetric ones are smaller."""
    problem = setting.problem(1.0, 0.5)
    if problem.binary or len(problem.groups) > 1 or setting.objective.symmetric(problem):
        return
    if entries(problem, alike=False, pure=True, most=MAX_ENTRIES) > MAX_ENTRIES:
        raise InputError(
            f"Costs, accuracies or a prior that treat classes unlike need a full table. Got K = {problem.K} voters "
            f"with {problem.n_classes} classes, of {math.prod(problem.table_shape):,} vectors of counts, whose "
            f"certificate has more than {MAX_ENTRIES:,} probabilities to compute. "
            f"{nearest_that_fits(problem, alike=False)} Or treat all classes alike."
        )


def _covers_votes(setting: Setting, budget: Budget) -> bool:
    """Whether one label of any rule is within the budget, by the epsilon of the votes."""
    return all(kind.release_epsilon <= budget.own(name) for name, kind in setting.problem().kinds.items())


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


class _Part(NamedTuple):
    """A part of a budget: the problem and the total of its labels, and its share of the parameter of a search."""

    problem: AnyProblem
    total: tuple[float, float]
    share: float


class _Search:
    """The best design so far, and the families that may improve on it."""

    def __init__(self, setting: Setting, budget: Budget, found: Callable[[Design], None]) -> None:
        self.setting, self.budget, self._found = setting, budget, found
        self.best: Design | None = None
        self._failing = budget.delta / (2 * budget.queries) if setting.failing else 0.0

    def optima(self, votes: Setting, total: tuple[float, float]) -> None:
        """The optima for ``votes``, with ``total`` as the budget of their labels."""
        parts, each, mu, enough = self._parts(votes, total), total[0] / self.budget.queries, 0.0, False
        if total[1] > 0:
            one = votes.model.known and not self._failing and votes.model.max_affected == 1
            # Without a design so far a Gaussian optimum may be the first within the budget.
            enough = self._renyi(votes, total, parts) and self.best is not None and one
            mu = min(MOST_MU, gdp_mu(*total) / math.sqrt(self.budget.queries) * _BINARY)
        epsilon = max(each, 0.8 * mu) * (1 - 1e-9)
        if self.budget.of:
            if mu and votes.model.binary:
                self._spend(self._optimum(parts, kinds.gaussian), parts, mu)
            self._spend(self._optimum(parts, kinds.pure), parts, epsilon)
            return
        most = self.setting.problem().release_epsilon if self.setting.private else math.inf

        def pure(epsilon: float) -> Design:
            return self._made(votes, min(epsilon, most), [])

        def gaussian(mu: float) -> Design:
            points = gdp(mu)
            profile = [(epsilon, delta + self._failing) for epsilon, delta in points]
            return self._made(votes, min(points[-1][0], most), profile)

        if mu and votes.model.binary and not enough:
            self._raise(gaussian, mu, LEAST_MU, MOST_MU)
            if self._failing and votes is self.setting:
                # The same family without a share of delta for the voters' own, where the curve has room for all of it.
                self._raise(lambda mu: self._made(votes, None, gdp(mu)), mu, LEAST_MU, MOST_MU)
        self._raise(pure, epsilon, each / 2, most)

    def _parts(self, votes: Setting, total: tuple[float, float]) -> list[_Part]:
        """The problem, total and first share of each part of the budget."""
        budget, setting = self.budget, self.setting
        if not budget.of and budget.fallback == math.inf:
            return [_Part(votes.problem(1.0, 0.5), total, 1.0)]
        held = budget.held(setting.label(setting.majority()))
        shares = first_shares(budget, [own for _, own in held])
        return [
            _Part(part.problem, (own, budget.delta), share) for (part, own), share in zip(held, shares, strict=True)
        ]

    def _renyi(self, votes: Setting, total: tuple[float, float], parts: list[_Part]) -> bool:
        """The optima for ``votes`` under Renyi divergences, of orders near that at which Renyi DP would be least.

        Each is raised as that of Gaussian noise, order mu^2 / 2, each time from the last mu within the budget. The
        balance of a budget and its second is chosen at the first order. False if the program would be too large.
        """
        budget, setting = self.budget, self.setting
        guess = _SHARE * gdp_mu(*total) / math.sqrt(budget.queries)
        balances = _BALANCES if len(parts) > 1 and not budget.of else (1.0,)
        for times in _ORDERS if votes.model.binary else _ORDERS_OF_SEVERAL:
            orders = [renyi_order(part.total, times) for part in parts]
            first, *others = [(part.problem, order) for part, order in zip(parts, orders, strict=True)]
            try:
                program = RenyiProgram(first[0], setting.objective, first[1], shape=setting.shape, also=others)
            except InputError:  # too large to optimise
                return False

            def table(mus: Sequence[float], program: RenyiProgram = program, orders: Sequence[float] = orders) -> Array:
                divergences = [order * mu**2 / 2 for order, mu in zip(orders, mus, strict=True)]
                return program.table(*divergences, time_limit=max(0.1, budget.until - time.monotonic()))

            for balance in balances:
                before = self.best
                balanced = [parts[0], *(part._replace(share=part.share * math.sqrt(balance)) for part in parts[1:])]
                guess, raised = self._spend(table, balanced, guess)
                if self.best is not before:
                    balances = (balance,)
            if budget.of:
                parts = raised
        return True

    def _optimum(self, parts: Sequence[_Part], family: Limits) -> Callable[[Sequence[float]], Array]:
        """The optimum under the limits of a family, from the parameters of all parts of the budget."""
        setting, until = self.setting, self.budget.until
        looked_for = variables(setting.problem(1.0, 0.5), setting.objective, setting.shape, until)

        def table(parameters: Sequence[float]) -> Array:
            each = zip(parts, parameters, strict=True)
            limits = [limit for part, x in each for limit in family(part.problem, x, self._failing)]
            return optimum(looked_for, limits, until)[0]

        return table

    def _spend(
        self, table: Callable[[Sequence[float]], Array], parts: Sequence[_Part], guess: float
    ) -> tuple[float, list[_Part]]:
        """Raise x, the parameter of a part by its share, and with budgets of kinds the shares of what is not spent.

        Returns
        -------
        tuple
            The x for a similar family to begin with, and the parts with the last shares.
        """
        setting, budget, least, shares = self.setting, self.budget, math.inf, [part.share for part in parts]
        for _ in range(_ROUNDS if budget.of else 1):

            def label(x: float, shares: Sequence[float] = tuple(shares)) -> OneLabel:
                return setting.label(table([x * share for share in shares]))

            spent = spend(
                label,
                budget,
                guess,
                most=MOST_MU,
                hopeless=lambda release: setting.cost(release.table) >= self._least(),
                found=self._take_better,
                tries=_TRIES,
            )
            if spent is None:
                break
            if spent.epsilon > 0:
                guess = spent.parameter * AIM * budget.epsilon / spent.epsilon
            cost = setting.cost(spent.release.table)
            used = [budget.total(part) / own for part, own in budget.held(spent.release)]  # remembered, so cheap
            if min(used) >= kinds.SPENT or cost > least * (1 - _GAIN):
                break
            least, shares = min(cost, least), kinds.raised_shares(shares, used)
        return guess, [part._replace(share=share) for part, share in zip(parts, shares, strict=True)]

    def noisy_counts(self, enough: float = LEAST_SPENT) -> None:
        """Noisy max mechanisms, each tried first at the parameter where it would equal the best design so far.

        Where a small share of the budget is ``enough``, only the first of them that is within it.
        """
        setting, budget = self.setting, self.budget
        for baseline in tried(setting.model, setting.objective):
            check_time()
            if self.best is not None and enough < LEAST_SPENT:
                break
            family = baseline.family(setting.model, setting.objective)

            def label(parameter: float, family: Family = family) -> OneLabel:
                return setting.label(setting.table(family.table(parameter)))

            best, start, least = self._least(), min(family.guess, family.most), 0.0
            if best < math.inf:
                equal = as_costly(setting, family, best)
                if equal is None:
                    baseline.check_ends(family, setting.model)
                    continue
                if budget.cost(label(equal)) > budget.epsilon:
                    continue
                start = least = equal
            spent = spend(label, budget, start, least=least, most=family.most, found=self._take_first, enough=enough)
            if spent is None or spent.parameter >= family.most:
                baseline.check_ends(family, setting.model)
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
            table = setting.stored(table)
            certificate = verify(table, setting.problem(1.0, self._failing))
            problem = setting.certified(certificate, self._failing, _MORE)
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


def as_costly(setting: Setting, family: Family, cost: float) -> float | None:
    """The least parameter, up to rounding, at which a label of the family costs at most that; None if there is none."""
    low, high = min(1e-4, family.most / 2), family.most

    def as_cheap(parameter: float) -> bool:
        return setting.cost(setting.table(family.table(parameter))) <= cost

    if not as_cheap(high):
        return None
    while high > low * (1 + 1e-5):
        check_time()
        middle = math.sqrt(low * high)
        low, high = (low, middle) if as_cheap(middle) else (middle, high)
    return high


def renyi_order(total: tuple[float, float], times: float) -> float:
    """``times`` the order (less 1) at which the Renyi DP of Gaussian noise with this total is least."""
    return 1 + times * math.sqrt(-2 * math.log(total[1])) / gdp_mu(*total)


def small(setting: Setting) -> bool:
    """Whether optima take minutes, by the number of count vectors of one group up to a renaming of the classes."""
    problem = setting.problem(1.0, 0.5)
    alone = not problem.binary and len(problem.groups) == 1
    return not alone or not more_sorted_counts(problem.K, problem.n_classes, _MOST_VOTES)


def _sides(setting: Setting, budget: Budget) -> list[tuple[Setting, tuple[float, float]]]:
    """The voters for whom the labels are designed, real or non-private, each with the budget of the labels."""
    allowed = None
    if budget.voters == "fixed" and not budget.of:
        allowed = labels_allowance(setting.problem(1.0, 0.5), budget.epsilon, budget.delta)
    if allowed is None:
        return [(setting, (budget.epsilon, budget.delta))]
    return [(setting.silent(), (allowed.epsilon, allowed.delta)), (setting, (allowed.epsilon, allowed.delta))]


def tight(setting: Setting, design: Design) -> Design:
    """The same table with its own tight epsilons, if they are less than the epsilons it was solved for."""
    certificate, problem = design.certificate, design.problem
    each = [kind.tight_epsilon for kind in certificate.kinds.values() or [certificate]]
    solved = [kind.release_epsilon for kind in problem.kinds.values()]
    if not all(0 < epsilon * _MORE < most for epsilon, most in zip(each, solved, strict=True)):
        return design
    tighter = setting.certified(certificate, max(kind.delta for kind in problem.kinds.values()), _MORE)
    with suppress(CertificateError):
        return Design(
            tighter, design.table, design.objective, design.shape, None, design.gap, design.profile, design.fewer
        )
    return design
