"""The cumulative privacy loss of many labels of fresh voters, from the region of one release."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import islice

import numpy as np

from darrm._validation import MAX_COUNT
from darrm.accounting import adaptive, voters
from darrm.accounting.adaptive import Grid
from darrm.accounting.cover import cover
from darrm.accounting.hulls import by_reached_voters
from darrm.accounting.profile import BEYOND, Point, Region
from darrm.accounting.releases import AnyRelease, one_label
from darrm.accounting.rows import OutcomeRows
from darrm.accounting.theorems import MOST_LABELS, at_least_once, log_binomials, optimal
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.numerics.bisection import largest_that
from darrm.numerics.deadline import check_time
from darrm.numerics.exact import rounded_up
from darrm.numerics.printed import at_least, counted, exactly
from darrm.problem.limits import Affected, Problem, weakest

BLOCKS = 10_000  # largest number of queries for which the recursion runs one by one
_BLOCK = 2000  # largest block of queries that is composed with itself above that
UNDERFLOW = 1e-290  # smaller deltas are left to bounds without a grid
_FEW_COUNTS = 1000  # counts that a quick lower bound tries, to detect a total beyond every grid
FAR = 690.0  # nats; above it e^epsilon is not a float64, and no such budget is useful
LARGEST = 0.97 * FAR  # the budget to which labels are composed under any larger one; grids end at FAR
FINENESS = (6, 12, 24, 48)  # grid points to one standard deviation of the loss of a label
_SAME = 1e-6  # relative; closer bounds count as equal
_LEAST = 1e-9  # share of delta for all queries: allowed error of V far from the point where it is delta
_POINTS = (600, 40_000)  # least and largest number on each side
_COARSER = (8, 2, 1)  # coarsenings of the grid: a coarse one is often enough, and takes a small part of the time
_SIMPLE = "simple composition"
EXACT = "exact composition"
_WORK = 2_000_000  # largest queries times points for which a lower bound is computed too


@dataclass(frozen=True, repr=False)
class Total:
    """The cumulative privacy loss of ``queries`` labels: together they are (upper, delta)-DP.

    Attributes
    ----------
    lower : float
        Lower bound on the least epsilon that holds for all voters with the stated privacy (for fixed voters: on that of
        one label). It holds even if the same voters are affected at every query.
    estimate : float
        An estimate between the bounds; for fixed voters the upper one.
    upper : float
        Certified: the least of ``bounds``. Nats.
    delta : float
    queries : int
    voters : {"fresh", "fixed", "not private"}
    bounds : dict of str to float
        Every certified bound, by name; each only as sharp as needed to find the least of them.
    unavoidable : float
        Upper bound on the delta that no epsilon avoids.
    of : mapping from str to Total
        Where each group has a limit of its own, the total of each kind of change, such as ``of["group 1"]``. ``upper``
        and ``delta`` are then the largest over the kinds, a pair that holds for a change of any of them; ``lower`` is
        at that delta, and ``bounds`` are those of the kind with the largest ``upper``. Empty if all changes have one
        limit.
    K, classes : int, or None
        For noisy max and permute-and-flip: the total holds for labels of K votes for that many classes only. Among its
        bounds, "Renyi DP", "Gaussian DP" and "ladder of Gaussian profiles" hold for any number of both. None for a
        total of any numbers, and for a design, which has its own.
    answers : int, or None
        For `ConfidentNoisyMax`: the total holds if at most so many of the queries have a label. None elsewhere.
    assumption : str
        For voters of a known randomizer: what the total rests on besides, as a clause. "" elsewhere.
    """

    lower: float
    estimate: float
    upper: float
    delta: float
    queries: int
    voters: str
    bounds: dict[str, float]
    unavoidable: float
    K: int | None = None
    classes: int | None = None
    answers: int | None = None
    assumption: str = ""
    of: Mapping[str, Total] = field(default_factory=dict)

    def __repr__(self) -> str:
        pairs = [(f" for a change in {kind}", own) for kind, own in self.of.items()] or [("", self)]
        totals = ", ".join(f"({at_least(own.upper)}, {exactly(own.delta)}){of}" for of, own in pairs)
        voters = "non-private" if self.voters == "not private" else self.voters
        rests = f", if {self.assumption}" * bool(self.assumption)
        return f"<Total of {released(self.queries, self.answers)} of {voters} voters: {totals}{rests}>"


def released(queries: int, answers: int | None) -> str:
    """What a total is of, in words; ``answers`` as in `Total`."""
    if answers is None:
        return counted(queries, "label")
    asked = "1 query" if queries == 1 else f"{queries} queries"
    return asked if answers >= queries else f"{asked} with {counted(answers, 'label')} at most"


def of_region(
    release: Region,
    affected: tuple[Affected, ...],
    queries: int,
    delta: float,
    tolerance: float = 1e-3,
    guaranteed: tuple[Fraction, Fraction] | None = None,
) -> Total:
    """`compose` for labels with fresh randomness, from the region of one release.

    ``affected`` holds the privacy of the affected voters, and is empty for non-private ones; ``guaranteed`` is the
    certified (epsilon, delta) of one release, if there is one.
    """
    unavoidable = at_least_once(release.delta_infinity, queries)
    bounds = without_grid(release, affected, queries, delta, guaranteed)
    if delta < unavoidable and bounds.get(_SIMPLE) is None:  # with rounding, delta(infinity) can be above the guarantee
        fewer = ", or fewer queries" * (queries > 1 and delta > release.delta_infinity)
        raise InputError(
            f"delta must be above {unavoidable:.6g} for {'one label' if queries == 1 else f'{queries} labels'} of this "
            f"design. Got {delta:g}. Pass a larger delta{fewer}, or a design of delta 0 for one label "
            f"(darrm.solve(..., delta=0), --delta 0). A loss above {BEYOND:g} nats plus the epsilons of the affected "
            f"voters counts as infinite, and {unavoidable:.6g} is its certified probability."
        )
    sets = by_reached_voters(release.inner, sum(kind.voters for kind in affected))
    lower, points = max(((one_pair(points, queries, delta), points) for points in sets), key=lambda found: found[0])
    name = _exact(queries)
    upper = min(bounds.values(), default=math.inf)
    settled = lower >= FAR or upper - lower <= _SAME * upper < math.inf  # no grid extends that far, and none is needed
    for fineness in FINENESS:
        check_time()
        found = None if settled else by_grid(release, queries, delta, fineness)
        if found is None:
            continue
        exact, grid = found
        coarser, bounds[name] = bounds.get(name, math.inf), min(exact, bounds.get(name, math.inf))
        work = queries * grid.size
        if work <= _WORK:
            lower = max(lower, adaptive.most_epsilon(attained_sets(points, queries, grid), delta))
        upper = min(bounds.values())
        # The upper bound allows other affected voters at each query, so no grid brings the lower bound close to it.
        settled = upper - lower <= tolerance * upper or work > 10 * _WORK
        settled |= len(sets) > 1 and coarser - bounds[name] <= tolerance * upper
    if not bounds:
        raise InputError(f"No bound was found for {queries} queries at delta = {delta:g}. Pass a larger delta.")
    upper = min(bounds.values())
    lower = min(lower, upper)
    return Total(lower, (lower + upper) / 2, upper, delta, queries, "fresh", bounds, min(unavoidable, delta))


def upper_of_region(
    release: Region,
    affected: tuple[Affected, ...],
    queries: int,
    delta: float,
    guaranteed: tuple[Fraction, Fraction] | None = None,
) -> float:
    """The upper bound on the coarsest grid: certified, never below that of `of_region`; may be infinite."""
    return least_of_region(release, affected, queries, delta, guaranteed)[0]


def least_of_region(
    release: Region,
    affected: tuple[Affected, ...],
    queries: int,
    delta: float,
    guaranteed: tuple[Fraction, Fraction] | None = None,
) -> tuple[float, str]:
    """The value of `upper_of_region`, and the name of the bound."""
    bounds = without_grid(release, affected, queries, delta, guaranteed)
    if delta < at_least_once(release.delta_infinity, queries):
        return bounds.get(_SIMPLE, math.inf), _SIMPLE  # else `of_region` refuses
    plain = min(bounds.values(), default=math.inf)
    far = queries * release.largest_loss > FAR and one_pair(release.inner, queries, delta, most=_FEW_COUNTS) >= FAR
    found = by_grid(release, queries, delta, FINENESS[0]) if release.outer and not far else None
    # Where another bound is as good, `of_region` computes no grid.
    if found is not None and found[0] < plain * (1 - _SAME):
        return found[0], _exact(queries)
    return plain, min(bounds, key=bounds.__getitem__, default=_SIMPLE)


def _exact(queries: int) -> str:
    """The name of the exact composition among the bounds."""
    return EXACT if queries <= BLOCKS else f"{EXACT} of blocks"


def without_grid(
    release: Region | OutcomeRows,
    affected: tuple[Affected, ...],
    queries: int,
    delta: float,
    guaranteed: tuple[Fraction, Fraction] | None,
) -> dict[str, float]:
    """The bounds that need no exact composition, by name."""
    bounds = {}
    if not release.delta_infinity:
        bounds["largest loss, all queries"] = rounded_up(queries * Fraction(release.largest_loss))
    if guaranteed is not None and queries * guaranteed[1] <= Fraction(delta):
        bounds[_SIMPLE] = rounded_up(queries * guaranteed[0])
    single = _of_single_labels(release, queries, delta, guaranteed)
    if single is not None:
        bounds["optimal composition"] = single
    if affected and weakest(affected).voters * queries <= MAX_COUNT:
        votes = voters.epsilon_of(voters.among(affected, queries), delta)
        if votes < math.inf:
            bounds["the votes themselves"] = votes
    return bounds


def by_grid(release: Region | OutcomeRows, queries: int, delta: float, fineness: int) -> tuple[float, Grid] | None:
    """The least epsilon of the exact composition on a grid of this fineness, rounded up; None if beyond any grid."""
    if delta <= UNDERFLOW:
        return None
    reach, before = 1.0, 0.0
    while True:
        grid = grid_for(release, queries, delta, fineness, reach)
        exact = adaptive.least_epsilon(excess(release, queries, grid, delta), grid, delta)
        if math.isfinite(exact):
            return exact, grid
        end = grid.step * grid.size
        if end >= FAR or end <= before:  # no grid extends further: delta is within rounding of the unavoidable one
            return None
        reach, before = 1.6 * reach, end


def exact_guarantee(problem: Problem) -> tuple[Fraction, Fraction]:
    """(epsilon, delta) of one release, exactly, as certified."""
    return problem.exact_epsilon, Fraction(problem.delta)


def envelope(release: Region, queries: int, delta: float) -> float:
    """The bound of a PLD accountant: the whole privacy profile composed, in place of the binary release.

    An upper bound looser than `compose`; for comparison.
    """
    grid = grid_for(release, queries, delta, 48)
    losses = adaptive.repeated(adaptive.one_release(release, grid), queries)
    return adaptive.least_epsilon(adaptive.excess(losses), grid, delta)


def one_pair(points: Sequence[Point], queries: int, delta: float, most: int = 10**5) -> float:
    """A lower bound from one achieved pair of probabilities at every query; tries ``most`` counts of a label."""
    from scipy.special import betainc

    count = np.arange(queries + 1) if queries < most else np.unique(np.linspace(0, queries, most).astype(np.int64))
    best = 0.0
    for p in points:
        for x, y, not_y in ((p.x, p.y, p.not_y), (p.not_y, p.not_x, p.x)):
            # Pr[at least count of queries], which is 1 for none.
            on, off = (np.where(count > 0, betainc(np.maximum(count, 1), queries - count + 1, p), 1) for p in (x, y))
            on, off = np.where(on > UNDERFLOW, on * (1 - 1e-9), 0.0), off * (1 + 1e-9)
            good = (on > delta) & (off > 1e-290)
            if good.any():
                best = max(best, float(np.log((on[good] - delta) / off[good]).max()))
            tiny = (on > delta) & (off <= 1e-290) & (count > 0)
            if tiny.any() and 0 < y < 1:
                beyond = _log_tail(count[tiny].astype(np.float64), queries, y, not_y)
                best = max(best, float((np.log(on[tiny] - delta) - beyond).max()))
    return best * (1 - 1e-12)


def _log_tail(count: Array, queries: int, chance: float, other: float) -> Array:
    """Upper bound on ln Pr[at least ``count`` of ``queries``], by the first term and a geometric series."""
    first = log_binomials(queries, count) + count * math.log(chance) + (queries - count) * math.log(other)
    ratio = (queries - count) * chance / ((count + 1) * other)  # of the second term to the first; it falls from there
    size = queries * (math.log(queries + 2) - math.log(chance) - math.log(other))
    tail = first - np.log1p(-np.minimum(ratio, 0.999)) + 1e-14 * (size + 10)  # more than rounding
    return np.where(ratio < 0.999, tail, 0.0)


def _of_single_labels(
    release: Region | OutcomeRows, queries: int, delta: float, guaranteed: tuple[Fraction, Fraction] | None
) -> float | None:
    """The optimal composition of labels by the (epsilon, delta) of one."""
    each, failure = (math.inf, 0.0) if guaranteed is None else (rounded_up(guaranteed[0]), rounded_up(guaranteed[1]))
    if not release.delta_infinity and (release.largest_loss <= each or failure):
        each, failure = release.largest_loss, 0.0
    try:
        return optimal(each, failure, queries, delta).epsilon if 0 < each < FAR else None
    except InputError:
        return None


def grid_for(release: Region | OutcomeRows, queries: int, delta: float, fineness: int, reach: float = 1.0) -> Grid:
    """A grid that extends beyond the point where the excess is delta, by the mean and spread of the worst losses."""
    mean, spread = adaptive.as_rows(release).moments
    left = max(delta - at_least_once(release.delta_infinity, queries), 1e-6 * delta, 1e-300)
    far = reach * (
        queries * mean + 1.3 * math.sqrt(2 * queries * spread * math.log(4 / left)) + 2 * release.largest_loss
    )
    far = max(min(far, queries * release.largest_loss * (1 + 1e-9), FAR), 1e-12)
    size = math.ceil(min(_POINTS[1], max(_POINTS[0], far * fineness / math.sqrt(max(spread, 1e-300)))))
    return Grid(far / size, size)


def labels_within(design: AnyRelease, epsilon: float, delta: float, most: int, fineness: int = 24) -> int:
    """The certified number of labels of fresh voters, up to ``most``, that are (epsilon, delta)-DP together."""
    label = one_label(design)
    return within(label.gives(), label.guarantee, epsilon, delta, most, fineness)


def within(
    release: Region | OutcomeRows,
    guaranteed: tuple[Fraction, Fraction] | None,
    epsilon: float,
    delta: float,
    most: int,
    fineness: int = 24,
) -> int:
    """`labels_within`, from the region or rows of one release; ``guaranteed`` as for `of_region`.

    It runs the exact composition until the budget is spent, on coarse grids, and on finer ones if these do not reach
    ``most``. Each grid certifies its count, so the larger count holds. Above 10,000 labels it composes blocks of them
    with each other, and searches for the largest number.
    """
    if adaptive.is_silent(release):
        return most
    loss = Fraction(release.largest_loss)
    by_loss = min(most, int(Fraction(epsilon) // loss)) if loss and not release.delta_infinity else 0
    if guaranteed is not None:
        each, failure = guaranteed
        simply = min(most, Fraction(epsilon) // each if each else most, Fraction(delta) // failure if failure else most)
        by_loss = max(by_loss, int(simply))
    if by_loss == most or delta <= UNDERFLOW or (isinstance(release, OutcomeRows) and release.alike):
        return by_loss
    whole, epsilon = epsilon, min(epsilon, LARGEST)
    # Grids with a point at epsilon, up to a rounding error before it.
    if isinstance(release, OutcomeRows) and epsilon < FAR:
        guess = _guess(release, epsilon, delta, most)
        release = cover(release, *guess).rows
        fine = 2 * grid_for(release, guess[0], delta, fineness).step
    else:
        fine = grid_for(release, 1, 0.5, fineness).step
    index = math.floor(min(_POINTS[1] / 2, epsilon / fine))  # delta at 0 is larger than at epsilon
    for count in [index // times for times in _COARSER if index >= times * _POINTS[0]] or [index]:
        step = epsilon / count * (1 - 1e-15) if count else fine
        size = max(_POINTS[0], count + math.ceil((0.5 * epsilon + 4 * release.largest_loss) / step))
        if step * size > FAR:  # no grid reaches that far; beyond its end V counts as the last value
            by_loss = max(by_loss, _within_by_single_labels(release, guaranteed, whole, delta, most))
            size = int(min(FAR / step, _POINTS[1]))
            if size <= count or by_loss == most:
                continue
        by_loss = max(by_loss, _within_on(release, Grid(step, size), count, delta, by_loss, most))
        if by_loss == most:
            break
    return by_loss


def _within_on(release: Region | OutcomeRows, grid: Grid, at: int, delta: float, known: int, most: int) -> int:
    """The largest number of labels, up to ``most``, whose excess at a grid point is at most delta on this grid.

    ``known`` labels are within the budget by another grid or bound; a number below it may be returned unsearched.
    """

    @cache
    def holds(blocks: tuple[int, int]) -> bool:
        return float(_of_blocks(release, blocks, grid, delta)[at]) <= delta

    least = max(known, BLOCKS)
    queries = 0
    for V in adaptive.upper_bounds(release, grid, least=_LEAST * delta / most):
        check_time()
        if V[at] > delta or queries == min(most, BLOCKS):
            break
        queries += 1
        if queries == _BLOCK and most > least:  # there may be far too many to count one by one
            if holds(_blocks(most)):
                return most
            if holds(_blocks(least + 1)):
                return least + largest_that(most - least, lambda more: holds(_blocks(least + more)))
            if known >= BLOCKS:  # single labels are counted no further than these
                break
    return queries


def _guess(rows: OutcomeRows, epsilon: float, delta: float, most: int) -> tuple[int, float, Grid]:
    """The approximate number of labels within a budget, by the spread of their losses, with a delta and a grid."""
    mean, spread = rows.moments
    tail = math.sqrt(2 * spread * math.log(1 / delta))
    root = (math.sqrt(tail**2 + 4 * mean * epsilon) - tail) / (2 * mean) if mean else 1.0
    queries = min(most, BLOCKS, max(1, math.ceil(root**2)))
    return queries, delta, grid_for(rows, queries, delta, FINENESS[0])


def _within_by_single_labels(
    release: Region | OutcomeRows, guaranteed: tuple[Fraction, Fraction] | None, epsilon: float, delta: float, most: int
) -> int:
    """`within` by the optimal composition of labels by the (epsilon, delta) of one."""

    def holds(n: int) -> bool:
        cost = _of_single_labels(release, n, delta, guaranteed)
        return cost is not None and cost <= epsilon

    return largest_that(min(most, MOST_LABELS), holds)


def excess(release: Region | OutcomeRows, queries: int, grid: Grid, delta: float) -> Array:
    """Upper bounds on V of ``queries`` labels at a = 1, e^step, ..., sharp near ``delta``."""
    return _of_blocks(release, _blocks(queries), grid, delta)


def _blocks(queries: int) -> tuple[int, int]:
    """The labels of a block, and how many blocks there are, a power of 2; some labels too many are conservative."""
    blocks = 2 ** math.ceil(math.log2(queries / _BLOCK)) if queries > BLOCKS else 1
    return math.ceil(queries / blocks), blocks


def _of_blocks(release: Region | OutcomeRows, of: tuple[int, int], grid: Grid, delta: float) -> Array:
    """`excess` of blocks of labels."""
    block, blocks = of
    bounds = adaptive.upper_bounds(release, grid, least=_LEAST * delta / (block * blocks))
    V = next(islice(bounds, block - 1, None))
    return V if blocks == 1 else adaptive.excess(adaptive.repeated(adaptive.of_bounds(V, grid), blocks))


def attained_sets(points: tuple[Point, ...] | OutcomeRows, queries: int, grid: Grid) -> adaptive.Sets:
    """Sets of label sequences from achieved points or rows, of the same affected voters if there are more queries."""
    return next(islice(adaptive.lower_bounds(points, grid), queries - 1, None))
