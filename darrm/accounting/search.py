"""Searches within a privacy budget: the number of labels of a design, and the largest parameter of a family."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Generic, NamedTuple, TypeVar

from darrm._validation import check_count, check_total_delta, check_total_epsilon, check_voters
from darrm.accounting.fixed import fixed_within, of_fixed
from darrm.accounting.fresh import LARGEST, labels_within, upper_of_region
from darrm.accounting.many_answers import upper_of_rows
from darrm.accounting.noisy_max import CountMechanism, of_votes, queries_within, refuse_voters
from darrm.accounting.releases import AnyRelease, OneLabel, checked_voters, for_each_kind, one_label
from darrm.accounting.rows import OutcomeRows
from darrm.accounting.theorems import MOST_LABELS
from darrm.certificate.certificate import verify
from darrm.design.design import Design
from darrm.errors import InputError
from darrm.numerics.arithmetic import usual_arithmetic
from darrm.numerics.deadline import check_time, end_sooner
from darrm.problem.decision import DecisionProblem, decision_by

Release = TypeVar("Release", bound=AnyRelease)
FALLBACK = 2.0  # times the budget: that of plans, if an assumption on randomizers fails
LEAST_SPENT = 0.9985  # share of the budget; closer totals lower the error rate by less than a thousandth
AIM = 0.9993
_TRIES = 14
_CLOSE = 1e-4
_CLOSING = 1.2  # costs of a release, which take about as long as what follows the search
_POWERS = (0.25, 2.0)  # of the parameter of one family, with which another may begin
_TINY = 1e-300  # in place of the ratio of a budget to an infinite cost, which has no logarithm
_FLAT = 0.3  # power of the parameter; if the cost grows more slowly, steps are long


@dataclass
class Budget:
    """The privacy budget for all labels together, and the time limit of the search.

    Attributes
    ----------
    queries : int
    epsilon, delta : float
    voters : {"fresh", "fixed"}
    until : float
        The `time.monotonic` at which the search and what follows it end; searches run under
        `darrm.numerics.deadline.ends_at` of it, and each cost ends them so much sooner that there is time for the rest.
    fallback : float
        With a known randomizer: the budget of all labels, at the same delta, if `darrm.problem.groups.OF_ANY_OTHERS`.
    of : mapping from str to float
        Where each group has a budget of its own, that of each kind of change, at the same delta. ``epsilon`` is then
        the largest, and the share of ``fallback`` in it is that of every kind.
    late : bool
        Whether the time is over: the total of a design is then that found for its table, without its guarantee.
    second : bool
        Whether the last `cost` was that of the second budget, which is then asked first.
    power : float
        The power of the parameter with which costs near the budget rose last; families of noise have similar ones.
    """

    queries: int
    epsilon: float
    delta: float
    voters: str
    until: float = math.inf
    fallback: float = math.inf
    of: Mapping[str, float] = field(default_factory=dict)
    late: bool = False
    second: bool = field(default=False, init=False, repr=False, compare=False)
    power: float = field(default=1.0, init=False, repr=False, compare=False)
    _totals: dict[object, float] = field(default_factory=dict, init=False, repr=False, compare=False)

    def scaled(self, share: float) -> Budget:
        """A copy with that share of its epsilons; one below 1 is of no more than labels are composed for."""
        most = LARGEST if share < 1 else math.inf
        of = {name: min(epsilon, most) * share for name, epsilon in self.of.items()}
        share *= min(1.0, most / self.epsilon)
        made = replace(self, epsilon=self.epsilon * share, fallback=self.fallback * share, of=of)
        made._totals = self._totals
        return made

    def own(self, kind: str) -> float:
        """The total epsilon of a kind of change."""
        return self.of.get(kind, self.epsilon)

    def own_fallback(self, kind: str) -> float:
        """The second budget of a kind of change."""
        own = self.own(kind)
        return self.fallback if own == self.epsilon else own / self.epsilon * self.fallback

    def held(self, release: AnyRelease) -> list[tuple[OneLabel, float]]:
        """The label of each kind of change with its budget, then those without the assumption on randomizers."""
        kinds = one_label(release).kinds.items()
        found = [(label, self.own(name)) for name, label in kinds]
        if self.fallback == math.inf:
            return found
        return found + [(label.of_any_voters(), self.own_fallback(name)) for name, label in kinds]

    def cost(self, release: AnyRelease) -> float:
        """A certified total epsilon of all labels, infinite if there is none; at most ``epsilon`` if it is within.

        Where the total of another part of `held` takes a larger share of its own budget, that share of ``epsilon``.
        """
        most, begun, first, held = 0.0, time.monotonic(), self.second, self.held(release)
        # Where a budget is exceeded, the totals of the other one take as long and are not needed.
        for label, own in sorted(held, key=lambda part: bool(part[0].problem.known) == first):
            second = not label.problem.known and self.fallback < math.inf
            if most > self.epsilon and second != self.second:
                break
            total = self.total(label)
            share = total if own == self.epsilon else total / own * self.epsilon
            share = share if total <= own else max(share, math.nextafter(self.epsilon, math.inf))
            if share > most:
                most, self.second = share, second
        # What was found is composed once more after the search, on a ledger's grid.
        end_sooner(self.until - _CLOSING * (time.monotonic() - begun))
        return most

    def fallback_total(self, release: AnyRelease) -> float:
        """`total` if `darrm.problem.groups.OF_ANY_OTHERS`."""
        return self.total(one_label(release).of_any_voters())

    def totals(self, release: AnyRelease) -> dict[str, float]:
        """`total` of each kind of change."""
        return {kind: self.total(own) for kind, own in one_label(release).kinds.items()}

    def total(self, release: AnyRelease) -> float:
        """A certified total epsilon of all labels, infinite if there is none; the largest over kinds of change."""
        label = one_label(release)
        if len(label.kinds) > 1:
            return max(self.totals(label).values())
        tables = ((), label.table), *label.fewer.items()
        content = tuple((present, table.shape, table.tobytes()) for present, table in tables)
        key, same = (label.problem, content, label.guarantee), (label.problem.model, content)
        if self.late and same in self._totals:
            return self._totals[same]
        if key not in self._totals:  # a table is often asked for again: its row, a rival that was planned with
            self._totals[key] = self._totals[same] = self._total(label)
        return self._totals[key]

    def _total(self, label: OneLabel) -> float:
        total = self._composed(label)
        if self.queries > 1 or label.fewer or not isinstance(label.problem, DecisionProblem):
            return total
        with suppress(InputError):  # the certificate of one label, which needs no grid
            return min(total, verify(label.table, decision_by(label.problem.model, 1.0, self.delta)).tight_epsilon)
        return total

    def _composed(self, label: OneLabel) -> float:
        try:
            if self.voters == "fixed":
                return of_fixed(label, self.queries, self.delta).upper
            given, affected = label.gives(), label.problem.affected
            if isinstance(given, OutcomeRows):
                return upper_of_rows(given, self.queries, self.delta, label.guarantee, affected)
            return upper_of_region(given, affected, self.queries, self.delta, label.guarantee)
        except InputError:
            return math.inf  # delta is below what is unavoidable


def checked_budget(
    queries: object, total_epsilon: object, total_delta: object, voters: object, until: float = math.inf
) -> Budget:
    """The budget of a plan; `InputError` for invalid values."""
    kind, many = check_voters(voters), check_count("queries", queries)
    delta, epsilon = check_total_delta(total_delta, "total_delta"), check_total_epsilon(total_epsilon)
    if epsilon == 0:
        raise InputError("total_epsilon must be above 0 to plan for. Got 0. Pass nats, e.g. 1.0.")
    return Budget(many, epsilon, delta, kind, until)


class Spent(NamedTuple, Generic[Release]):
    """A release, the total cost of its labels, and its parameter in a search."""

    release: Release
    epsilon: float
    parameter: float = math.nan


def spend(
    make: Callable[[float], Release],
    budget: Budget,
    guess: float,
    *,
    least: float = 0.0,
    most: float = math.inf,
    hopeless: Callable[[Release], bool] = lambda release: False,
    found: Callable[[Spent[Release]], None] = lambda spent: None,
    tries: int = _TRIES,
    close: float = _CLOSE,
    enough: float = LEAST_SPENT,
) -> Spent[Release] | None:
    """The release with the largest parameter within the budget, to 0.15 percent of it if ``enough`` is not lower.

    Parameters
    ----------
    make : callable
        Maps a parameter > 0 to a release; a larger one is less private and better. `InputError` means too large.
    guess : float
        The first parameter to try.
    least, most : float
        Ends of the parameter.
    hopeless : callable
        Whether a release above the budget is no better than the best known one; if so, no release of this family is.
    found : callable
        Called with every release within the budget.
    tries : int
    close : float
        Least relative distance of tried parameters where the cost jumps.
    enough : float
        The share of the budget at which the search ends.

    Returns
    -------
    Spent or None
        None if nothing within the budget was found.
    """
    low: tuple[float, float] | None = None
    high: tuple[float, float] | None = None
    best: Spent[Release] | None = None
    tried: dict[bool, list[tuple[float, float]]] = {False: [], True: []}  # by the first budget, and by the second
    flat = False
    x = min(max(guess, least), most)
    for _ in range(tries):
        check_time()
        try:
            release = make(x)
        except InputError:
            cost = math.inf
        else:
            cost = budget.cost(release)
            if cost > budget.epsilon and hopeless(release):
                return best
        if 0 < cost < math.inf:
            tried[budget.second].append((x, cost))
            budget.power = _power(tried[budget.second], AIM * budget.epsilon, budget.power)
        if cost <= budget.epsilon:
            # Fixed voters cover most of it by their own privacy, and all of it if the budget covers their own cost.
            flat = low is not None and cost < low[1] * (x / low[0]) ** _FLAT
            low, best = (x, cost), Spent(release, cost, x)
            found(best)
            if cost >= enough * budget.epsilon or x >= most:
                break
        else:
            # The cost hardly falls until the output noise hides the voters: take long steps.
            flat = high is not None and cost > high[1] * (x / high[0]) ** _FLAT
            high = x, cost
            if x <= least:
                break
        x = min(max(_next(low, high, tried[budget.second], AIM * budget.epsilon, flat, budget.power), least), most)
        if low is not None and high is not None and high[0] <= low[0] * (1 + close):
            break
    return best


def _next(
    low: tuple[float, float] | None,
    high: tuple[float, float] | None,
    tried: Sequence[tuple[float, float]],
    aim: float,
    flat: bool,
    power: float,
) -> float:
    """A parameter whose cost is near ``aim``, if the cost is a ``power`` of the parameter near there."""
    if low is not None and high is not None:
        width, share = math.log(high[0] / low[0]), 0.5
        if low[1] > 0 and math.isfinite(high[1]):
            x, cost = _nearest(tried, aim)[0]
            share = (math.log(x / low[0]) + math.log(aim / cost) / power) / width
            if not 0 < share < 1:
                share = math.log(aim / low[1]) / math.log(high[1] / low[1])
        return low[0] * math.exp(width * min(max(share, 0.03), 0.97))
    if low is not None:
        longest = 3.0
        return low[0] * (longest if flat or not low[1] else _step(aim / low[1], power, 1.0, longest))
    if high is not None:
        longest = 0.3
        return high[0] * (0.2 if flat else _step(aim / high[1], power, longest, 1.0))
    return 0.0


def _step(ratio: float, power: float, least: float, most: float) -> float:
    """The factor of a parameter that makes its cost ``ratio`` times as large."""
    return math.exp(min(max(math.log(max(ratio, _TINY)) / power, math.log(least)), math.log(most)))


def _nearest(tried: Sequence[tuple[float, float]], aim: float) -> list[tuple[float, float]]:
    """The two tried parameters with costs nearest to ``aim``, on one side of it or on both."""
    return sorted(tried, key=lambda one: abs(math.log(one[1] / aim)))[:2]


def _power(tried: Sequence[tuple[float, float]], aim: float, default: float) -> float:
    """The power of the parameter with which the cost rises near ``aim``."""
    if len(tried) < 2:
        return min(max(default, _POWERS[0]), _POWERS[1])
    (x, cost), (other, other_cost) = _nearest(tried, aim)
    power = math.log(cost / other_cost) / math.log(x / other)
    return power if power > 0 else 1.0


def pays(design: Design, budget: Budget) -> bool:
    """Whether a ledger, which composes on another grid, also allows all labels of the budget."""
    within = fixed_within if budget.voters == "fixed" else labels_within
    held = budget.held(design)
    return all(
        within(label, epsilon, budget.delta, budget.queries) >= budget.queries
        or (budget.queries == 1 and budget.total(label) <= epsilon)
        for label, epsilon in held
    )


@usual_arithmetic
def max_queries(
    design: Design | CountMechanism,
    total_epsilon: float | Sequence[float],
    total_delta: float | Sequence[float],
    *,
    voters: str | None = None,
) -> int:
    """The certified number of labels of one design that are (total_epsilon, total_delta)-DP together.

    Parameters
    ----------
    design : Design, GaussianNoisyMax, ConfidentNoisyMax, LaplaceNoisyMax, PermuteAndFlip or ExponentialMechanism
        A mechanism with ``K`` and ``classes`` is counted exactly where `compose` does; one without, for any votes.
        Queries are counted, and of `ConfidentNoisyMax` at most ``answers`` of them have a label: with a cap they are
        counted for any votes.
    total_epsilon : float >= 0, nats, or a list of one for each kind of change
    total_delta : float in [0, 1), or a list of one for each kind of change
        Where each group of the design has a limit of its own, every budget must cover the labels.
    voters : {"fresh", "fixed"}
        No default, unless all voters are non-private; see `darrm.accounting.compose`.

    Returns
    -------
    int
        0 if the budget covers no label; at most 1,000,000, which is also returned if the budget covers fixed voters'
        own cost.

    Notes
    -----
    The exact composition on up to three grids, stopped by the budget; of blocks of labels where there are very many.

    Examples
    --------
    The labels within a total of (2, 1e-5); by simple composition there would be 20:

    >>> import darrm
    >>> design = darrm.solve(K=11, m=1, epsilon=0.1)
    >>> darrm.accounting.max_queries(design, 2.0, 1e-5, voters="fresh")
    28

    Labels of noisy max, for any number of votes and classes:

    >>> darrm.accounting.max_queries(darrm.mechanisms.GaussianNoisyMax(40.0), 2.0, 1e-5)
    305
    """
    if isinstance(design, CountMechanism):
        refuse_voters(design, voters)
        total = check_total_epsilon(total_epsilon), check_total_delta(total_delta, "total_delta")
        return queries_within(design, *total, MOST_LABELS, of_votes(design, None, None)).queries
    label, kind, most = one_label(design), checked_voters(design, voters), MOST_LABELS
    epsilons = for_each_kind(label.problem, "total_epsilon", total_epsilon)
    deltas = for_each_kind(label.problem, "total_delta", total_delta)
    for name, own in label.kinds.items():
        epsilon, delta = check_total_epsilon(epsilons[name]), check_total_delta(deltas[name], "total_delta")
        most = (fixed_within if kind == "fixed" else labels_within)(own, epsilon, delta, most) if most else 0
    return most
