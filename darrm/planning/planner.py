"""`darrm.plan`: a design for many labels of given voters within one privacy budget."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import ArrayLike

from darrm._validation import check_voters, real
from darrm.accounting.counts import counts_total
from darrm.accounting.ladder import any_votes_sigma
from darrm.accounting.releases import AnyRelease, OneLabel
from darrm.accounting.search import Budget, pays
from darrm.baselines.entries import Comparison
from darrm.design.design import Design
from darrm.errors import InputError, SolverError
from darrm.numerics.arithmetic import usual_arithmetic
from darrm.numerics.deadline import OutOfTime, ends_at
from darrm.numerics.printed import at_least, counted, exactly
from darrm.objectives import Objective, OfVoters
from darrm.objectives.voters import checked_none
from darrm.planning.answers import Plan, Step
from darrm.planning.asked import budget_of, end_of, for_each_kind, groups_of, reached_of, series, setting_of
from darrm.planning.assumed import assumptions
from darrm.planning.at_one_total import at_one_total, of_kinds
from darrm.planning.beyond_tables import beyond_tables, noisy_max_plan
from darrm.planning.dependence import dependence, none_rate
from darrm.planning.designs import design_within, planned
from darrm.planning.majority import under_prior
from darrm.planning.setting import Setting
from darrm.priors import Prior
from darrm.problem.decision import decision_by
from darrm.problem.groups import VoterGroup, but, without_privacy
from darrm.problem.limits import ANY_NUMBER
from darrm.problem.majority import MajorityProblem
from darrm.problem.truths import OTHERWISE

_HINT = 1.0  # seconds to find the noise that the error at the end of the time names
_NOISE = 30.0  # seconds at most for noisy max after the time limit; some four are enough


@dataclass(frozen=True)
class Progress:
    """The progress of a plan; passed to ``report``.

    Attributes
    ----------
    doing : str
        The current step, in words.
    done, steps : int
        Number of finished steps, and of all steps.
    """

    doing: str
    done: int
    steps: int


@usual_arithmetic
def plan(
    groups: Iterable[VoterGroup | Sequence[Any]] | None = None,
    *,
    K: int | None = None,
    epsilon: float | str | None = None,
    Delta: float = 0.0,
    queries: int,
    total_epsilon: float | Sequence[float],
    total_delta: float,
    fallback_epsilon: float | None = None,
    voters: str | None = None,
    max_affected: int | None = None,
    base_accuracy: float | Sequence[float] | None = None,
    accuracy: float | Sequence[object] | None = None,
    prior: ArrayLike | Prior | str | None = None,
    cost: ArrayLike | None = None,
    objective: Objective | None = None,
    at_most: float | None = None,
    aggregator_epsilon: float | None = None,
    none: bool | float = False,
    ordered: bool = False,
    classes: int | Iterable[str] = 2,
    adjacency: str = "replace-one",
    compare: bool = True,
    time_limit: float = math.inf,
    report: Callable[[Progress], None] | None = None,
) -> Plan:
    """Find the most accurate design whose labels all stay within one privacy budget.

    Pass the accuracy of the voters as one of ``base_accuracy``, ``accuracy`` and ``objective``, or the distribution of
    the votes as a ``prior`` of `darrm.priors`.

    Where no table fits, as for 250 non-private teachers and ten classes, the plan is Gaussian noisy max with nearly the
    least noise for the budget, found in seconds. It takes no cost, objective or order, and needs no accuracy. If an
    accuracy is given and one vote changes, it is compared with other noise at the same budget. This is also the plan,
    without a comparison, where a time limit ends before any table for non-private voters and several classes was found.

    Parameters
    ----------
    groups : sequence of VoterGroup or of what it takes, such as (count, epsilon), optional
        The voters; an epsilon in a tuple may be "auto". Pass ``K``, ``epsilon`` and ``Delta`` instead for one group.
        The plan's design keeps the names of voters.
    K, epsilon, Delta : int, float or "auto", float in [0, 1), optional
        Each of K voters is (epsilon, Delta)-DP.
    queries : int in [1, 1e7]
        Number of labels, each made from its own votes, which are released once.
    total_epsilon : float > 0, nats, or a list of one for each group
    total_delta : float in [0, 1)
        The privacy budget for all labels together. A list promises each group its own, as in `darrm.DecisionProblem`: a
        change in group g alone costs at most (total_epsilon[g], total_delta).
    fallback_epsilon : float > 0, nats, default twice ``total_epsilon``
        With a known randomizer: a second budget, (fallback_epsilon, total_delta), which the same labels keep if only
        the affected voters randomize as stated, the others may be any mechanism that learns no vote of others, and no
        vote is used twice or decides what to ask, draw again or release. ``math.inf`` asks for none. If it is not known
        which assumption holds, claim this budget alone.
    voters : {"fresh", "fixed"}
        No default, unless all voters are non-private: then it makes no difference. See `darrm.accounting.compose`.
    max_affected : int
        The largest number of affected voters, over all groups. No default here: if all are affected, labels at a tight
        budget are hardly better than coin flips; if one is, they may be accurate.
    base_accuracy : float or one for each group, in [0, 1]
        The probability that an answer is right before its voter randomizes it, by randomized response of the group's
        epsilon, independently for every answer: for fresh voters. The guarantee does not rest on it, if it comes from
        elsewhere than these votes or records.
    accuracy : float or sequence, optional
        The probability that a vote as cast is right, or for each group that or a 2 x 2 confusion table: see
        `darrm.objectives.truth`. The guarantee does not rest on it, if it comes from elsewhere than these votes or
        records.
    prior, cost : optional
        The prior of the truth and the cost of errors: see `darrm.objectives.truth`. Or only a prior of the votes
        (`darrm.priors`, or its text), for K voters of one epsilon, where nothing is known of the truth. The design is
        then the noise function of least disagreement rate, and mechanisms are compared by that rate. These, the
        objective, and the budget too must come from elsewhere than these votes or records.
    objective : Objective, optional
        Any other goal of `darrm.objectives`.
    at_most : float, optional
        For epsilon "auto": the largest epsilon of a vote to consider, in nats.
    aggregator_epsilon : float, optional
        For epsilon "auto": the votes of all queries together, which the aggregator receives, must be
        (aggregator_epsilon, total_delta)-DP.
    none : bool or float
        Whether a label may be a further answer, "none" of the classes: its cost whatever the truth is, where an error
        costs 1; or True if ``cost`` or ``objective`` has a cost for it. The label error rate counts it as wrong.
    ordered : bool
        As in `darrm.solve`.
    classes, adjacency
        As in `darrm.DecisionProblem`.
    compare : bool
        Whether to compare with other mechanisms at the same budget.
    time_limit : float, seconds
        After about this time the best design so far is returned, also certified, with ``complete`` False: the search
        ends sooner by what the last total takes. Noisy max is tried first, so that there is a design soon. If there is
        none, `SolverError` is raised, but for non-private voters and several classes, whose plan is then noisy max by
        its total for any votes, some seconds later.
    report : callable, optional
        Called with a `darrm.planning.planner.Progress`.

    Returns
    -------
    Plan
        ``darrm.accounting.compose`` of its ``chosen`` release at ``total_delta`` is at most ``total_epsilon``.

    Raises
    ------
    InputError
    BudgetError
        If no noise is within the budget.
    SolverError
        If the time limit ends before there is a design.

    Notes
    -----
    The families of noise that are searched are listed at `darrm.planning.designs.design_within`. With epsilon "auto"
    the largest allowed epsilon is taken. For two answers it is best: votes of a smaller epsilon are noisier copies of
    votes of a larger one, so every release from the former is also a release from the latter (docs/decisions.md). The
    curve shows the error rate at smaller epsilons. An interrupt (Ctrl-C) returns the best design so far, if there is
    one.

    Examples
    --------
    >>> import darrm
    >>> answer = darrm.plan(K=25, epsilon=0.5, base_accuracy=0.85, max_affected=1, queries=200, total_epsilon=6,
    ...                     total_delta=1e-6, voters="fresh", compare=False)
    >>> round(answer.wrong, 2), answer.spent <= 6
    (0.26, True)
    """
    given, free = groups_of(groups, K, epsilon, Delta)
    voters = check_voters(voters, [group.epsilon for group in given])
    until = time.monotonic() + real("time_limit", time_limit, 0, ends="(]", hint="Pass seconds.")
    else_noisy = False
    budget, each = budget_of(given, queries, total_epsilon, total_delta, fallback_epsilon, voters, until)
    if each and free:
        raise InputError('epsilon "auto" is for one total_epsilon. Pass the epsilon of the votes, or one total.')
    if isinstance(prior, Prior | str):
        others = (base_accuracy, accuracy, cost, objective, at_most, aggregator_epsilon)
        several = len(given) > 1 or free or each or none is not False
        if several or any(other is not None for other in others):
            raise InputError(
                "A prior of votes is for K voters of one epsilon, and goes with no accuracy, cost, objective, none, "
                "at_most or aggregator_epsilon."
            )
        if given[0].randomizer is not None:
            raise InputError(
                "A prior of votes makes a design for any voters. Got a known randomizer. Leave the randomizer out, or "
                "pass base_accuracy or accuracy in place of the prior."
            )
        if given[0].names is not None:
            raise InputError(
                "A prior of votes makes a design whose voters are all alike and have no names. Leave the names out, "
                "and choose columns when you release (darrm release --columns)."
            )
        [votes] = given
        reached = reached_of(max_affected, votes.max_affected)
        voting = MajorityProblem(votes.count, 1, votes.epsilon, votes.delta, max_affected=reached, adjacency=adjacency)
        setting = under_prior(voting, prior)
    else:
        classes = tuple(classes) if isinstance(classes, Iterator) else classes
        may_be_none, at = _of_none(none)
        plain = budget.delta > 0 and not (each or ordered) and cost is None and objective is None
        beyond = beyond_tables(given, max_affected, classes, adjacency, may_be_none) if plain else None
        unknown = prior is None and base_accuracy is None and accuracy is None
        if beyond is not None and unknown and may_be_none:
            raise InputError(
                'Where no table fits, noise with the answer "none" is chosen by the accuracy of the votes. Got no '
                "accuracy. Pass accuracy=0.8 (--accuracy .8), or leave none out."
            )
        if beyond is not None and unknown:
            return noisy_max_plan(beyond, budget, None, compare=False)
        setting = setting_of(
            given,
            max_affected,
            base_accuracy,
            accuracy,
            prior,
            cost,
            objective,
            ordered,
            classes,
            adjacency,
            budget.voters,
            at,
            may_be_none=may_be_none,
        )
        if beyond is not None and isinstance(setting.objective, OfVoters):
            return noisy_max_plan(beyond, budget, setting.objective.of(beyond), compare=compare)
        else_noisy = plain and without_privacy(given) and not setting.problem(1.0, 0.5).binary
    setting, budget = for_each_kind(setting, budget, each)
    if free:
        end = end_of(setting, free, budget, at_most, aggregator_epsilon)
        steps = [(each, setting.with_epsilon(each, free)) for each in (*series(end), end)]
    elif at_most is not None or aggregator_epsilon is not None:
        raise InputError(
            'at_most and aggregator_epsilon are for epsilon "auto". Leave them out, or pass epsilon="auto" '
            "(--epsilon auto)."
        )
    else:
        steps = [(math.nan, setting)]
    try:
        return _Planner(budget, steps, compare, report, else_noisy).answer(bool(free))
    except OutOfTime:
        if not else_noisy or not isinstance(setting.objective, OfVoters):
            raise
        late = replace(budget, until=time.monotonic() + _NOISE)
        found = noisy_max_plan(setting.model, late, setting.objective.of(setting.model), compare=False)
        return replace(found, complete=False)


def _of_none(none: object) -> tuple[bool, float | None]:
    """Whether labels may be "none", and what that costs if it is said here."""
    if isinstance(none, bool):
        return none, None
    return True, checked_none(none)


def _spent(budget: Budget, setting: Setting, design: AnyRelease) -> dict[str, float]:
    """The cost of the labels for each kind of change; that of the votes where it is larger only by rounding.

    The cost of the votes covers more.
    """
    prices, found = setting.votes_totals(budget.queries, budget.delta, budget.voters), dict[str, float]()
    for kind, spent in budget.totals(design).items():
        nearly = spent < prices[kind] <= min(budget.own(kind), spent * (1 + 1e-9))
        found[kind] = prices[kind] if nearly else spent
    return found


def _otherwise(setting: Setting, budget: Budget, design: Design) -> tuple[float, float, float]:
    """The budget and the total of all labels without the assumption on known randomizers, and the total of counts."""
    if not setting.model.known:
        return math.nan, math.nan, math.nan
    return budget.fallback, budget.fallback_total(design), counts_total(setting.model, budget.queries, budget.delta)


def _if_colluding(setting: Setting, budget: Budget, design: Design) -> dict[int, float]:
    """The total of all labels for other numbers of colluders, where one group of a known randomizer votes."""
    group, *others = setting.groups
    if others or group.randomizer is None:
        return {}
    K, found = group.count, {}
    for colluders in sorted({0, 1, K // 4, group.colluders, group.colluders + 1}):
        if colluders <= K - setting.max_affected:
            voters = (but(group, colluders=colluders),)
            problem = decision_by(replace(setting.model, groups=voters), 1.0, 0.5)
            label = OneLabel(problem, design.table, {}, certified=False)
            found[colluders] = budget.total(design if colluders == group.colluders else label)
    return found


def _as_one_group(setting: Setting) -> str:
    """A hint that merges several groups into one: a guarantee for the least private voters holds for all voters."""
    if len(setting.groups) == 1:
        return ""
    K = sum(group.count for group in setting.groups)
    epsilon = max(group.epsilon for group in setting.groups)
    if math.isinf(epsilon):
        some_private = not without_privacy(setting.groups)
        alone = " Or plan for the private voters alone, which may need no noise." if some_private else ""
        return f"{alone} Or count all voters as one non-private group, {K}:inf."
    delta = max(group.delta for group in setting.groups)
    each = f"{K}:{epsilon!r}" + f":{delta!r}" * (delta > 0)
    return f" Or count all voters as one group, each as the least private of them, {each}."


def _noise_at_counts(setting: Setting, budget: Budget) -> str:
    """A hint with the noise of noisy max within the budget, for non-private voters of which at most one is affected."""
    problem = setting.problem(1.0, 0.5)
    if problem.binary or problem.max_affected > 1 or not budget.delta:
        return ""
    if not without_privacy(setting.groups):
        return ""
    sigma = any_votes_sigma(budget.queries, budget.epsilon, budget.delta)
    beyond = beyond_tables(setting.groups, setting.max_affected, setting.classes, setting.adjacency)
    returned = " This is the plan if cost, objective and ordered are left out (--cost, --ordered)."
    return (
        f" Noisy max takes any number of votes: darrm.mechanisms.GaussianNoisyMax(sigma={at_least(sigma, 4)}, "
        f"K={problem.K}, classes={problem.n_classes}) keeps {counted(budget.queries, 'label')} within "
        f"({budget.epsilon:g}, "
        f"{budget.delta:g}), for {ANY_NUMBER}.{returned * (beyond is not None)}"
    )


def _as_bare(setting: Setting, budget: Budget) -> str:
    """A hint that takes private voters for non-private ones where no table fits either, and the plan is noisy max."""
    if without_privacy(setting.groups) or not budget.delta or budget.of:
        return ""
    K, reached = sum(group.count for group in setting.groups), setting.max_affected
    bare = [VoterGroup(K, math.inf, max_affected=reached)]
    if beyond_tables(bare, reached, setting.classes, setting.adjacency, setting.none) is None:
        return ""
    accuracy = "" if setting.base is None else " with the accuracy of votes as cast (--accuracy)"
    return (
        f" Or count all voters as one non-private group, {K}:inf (--group {K}:inf){accuracy}, without cost, objective "
        "and ordered: the plan is then noisy max, whose total rests on no privacy of the votes and so holds for these "
        "voters too."
    )


def _covered(setting: Setting, budget: Budget) -> str:
    """A hint that labels need no noise, where the budget covers all votes."""
    prices = setting.votes_totals(budget.queries, budget.delta, budget.voters)
    if any(price > budget.own(kind) for kind, price in prices.items()):
        return ""
    return (
        " But these votes need no noise: the budget covers all of them, so release the class with most votes of each "
        f"row. {'Any number of labels' if budget.voters == 'fixed' else counted(budget.queries, 'label')} "
        f"are ({at_least(max(prices.values()))}, {exactly(budget.delta)})-DP then."
    )


class _Planner:
    """Runs the search for each epsilon of the votes in turn; the last is that of the plan."""

    def __init__(
        self,
        budget: Budget,
        steps: list[tuple[float, Setting]],
        compare: bool,
        report: Callable[[Progress], None] | None,
        else_noisy: bool,
    ) -> None:
        self._budget, self._steps, self._compare, self._report = budget, steps, compare, report
        self._else_noisy = else_noisy  # and then `OutOfTime` is raised where no design was found in time
        self._found: list[Design] = []
        self._done = 0
        self._complete = True

    def answer(self, curved: bool) -> Plan:
        budget, (end, setting) = self._budget, self._steps[-1]
        design = self._design(setting)
        curve: list[Step] = []
        comparison: Comparison | None = None
        colluding: dict[int, float] = {}
        spent, otherwise = _spent(budget, setting, design), _otherwise(setting, budget, design)
        try:
            with ends_at(budget.until):
                if self._compare and self._complete:
                    self._tell("comparing at the same total")
                    comparison = at_one_total(setting, budget, design)
                    self._done += 1
                for epsilon, smaller in self._steps[:-1] if self._complete else []:
                    self._tell(f"votes of epsilon {epsilon:g}")
                    curve.append(self._step(epsilon, smaller, design_within(smaller, budget)))
                    self._done += 1
                colluding = _if_colluding(setting, budget, design) if self._compare and self._complete else {}
        except (OutOfTime, KeyboardInterrupt):
            self._complete = False
        if curved:
            curve.append(self._step(end, setting, design))
        return Plan(
            design,
            budget.queries,
            budget.epsilon,
            budget.delta,
            budget.voters,
            max(spent.values()),
            setting.wrong(design.table),
            setting.disagreement(design.table),
            setting.wrong(setting.majority()),
            setting.without_privacy(),
            setting.votes_total(budget.queries, budget.delta, budget.voters),
            max(group.epsilon for group in setting.groups),
            tuple(curve),
            comparison,
            assumptions(setting, budget, spent),
            self._complete,
            dependence(setting, design.table),
            *otherwise,
            of_kinds(budget, design, spent),
            colluding,
            *((none_rate(setting, design.table), setting.cost(design.table)) if setting.none else ()),
        )

    def _design(self, setting: Setting) -> Design:
        covered = _covered(setting, self._budget)
        self._tell("certifying votes that need no noise" if covered else "searching for the best noise")
        try:
            design = planned(setting, self._budget, self._found.append)
        except (OutOfTime, KeyboardInterrupt) as stop:
            self._budget.late = True
            # A ledger composes on another grid than the search: the budget must cover the labels on both.
            paid = next((design for design in reversed(self._found) if pays(design, self._budget)), None)
            if paid is None:
                if isinstance(stop, KeyboardInterrupt) or self._else_noisy:
                    raise
                fewer = "voters" if setting.problem(1.0, 0.5).binary else "classes"
                try:
                    with ends_at(time.monotonic() + _HINT):
                        noise = _noise_at_counts(setting, self._budget)
                except OutOfTime:
                    noise = " Noisy max takes any number of votes: darrm.mechanisms.GaussianNoisyMax."
                raise SolverError(
                    "The time limit ended before any design was found. Pass a longer one, fewer queries, or fewer "
                    f"{fewer}.{_as_one_group(setting)}{noise}{covered}"
                ) from None
            self._complete = False
            design = paid.for_plan(self._budget.voters)
        except InputError as error:
            said, bare = str(error), _as_bare(setting, self._budget)
            others = f"{_as_one_group(setting)}{_noise_at_counts(setting, self._budget)}"
            if bare and said.endswith(OTHERWISE):  # no table fits these voters without the randomizer either
                said = f"{said.removesuffix(OTHERWISE)} C{bare.removeprefix(' Or c')}"
                bare = " Or take fewer voters or classes."
            raise InputError(f"{said}{others}{bare}{covered}") from None
        self._done += 1
        return design

    def _step(self, epsilon: float, setting: Setting, design: Design) -> Step:
        budget = self._budget
        return Step(
            epsilon,
            setting.wrong(design.table),
            budget.total(design),
            setting.votes_total(budget.queries, budget.delta, budget.voters),
        )

    def _tell(self, doing: str) -> None:
        if self._report is None:
            return
        self._report(Progress(doing, self._done, len(self._steps) + self._compare))
