"""What many labels cost together, fresh voters or fixed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

import numpy as np

from darrm.accounting import adaptive
from darrm.accounting.adaptive import Grid
from darrm.accounting.profile import Point, Region, region
from darrm.accounting.theorems import MAX_COUNT, at_least_once, check_count, largest_count, optimal
from darrm.design.design import Design
from darrm.errors import InputError
from darrm.problem import MAX_EPSILON, MajorityProblem
from darrm.rounding import rounded_up

VOTERS = ("fresh", "fixed")
_EXACT = 10_000  # queries, up to which the recursion runs one by one
_BLOCK = 2000  # beyond, a block of at most so many is composed with itself
_UNDERFLOW = 1e-290  # deltas this small are left to bounds that do not compute them
_FAR = 690.0  # nats; beyond e^epsilon is no float64, and no such budget is private
_FINENESS = (6, 12, 24, 48)  # grid points to one standard deviation of the loss of a label
_POINTS = (600, 40_000)  # at least and at most, on either side
_WORK = 2_000_000  # queries times points, up to which a lower bound is computed beside the upper one


@dataclass(frozen=True)
class Total:
    """What ``queries`` labels cost together: they are (upper, delta)-DP.

    Attributes
    ----------
    lower : float
        No smaller epsilon holds for all voters that are as private as stated (for fixed voters: of one label at least).
    estimate : float
        Between the bounds; for fixed voters the upper one.
    upper : float
        Certified: the least of ``bounds``. Nats.
    delta : float
    queries : int
    voters : {"fresh", "fixed"}
    bounds : dict of str to float
        Every bound that is proved here, by name; each only as sharp as it took for the least of them.
    unavoidable : float
        No delta below this can be had at any epsilon (upper bound).
    """

    lower: float
    estimate: float
    upper: float
    delta: float
    queries: int
    voters: str
    bounds: dict[str, float]
    unavoidable: float


def check_voters(voters: object) -> str:
    """``voters``, refused unless it says which kind they are."""
    if voters not in VOTERS:
        raise InputError(
            f'voters must be "fresh" (they draw new randomness at every query) or "fixed" (made private once, such as '
            f"trained models, then they answer). Got {voters!r}. Single labels compose for fresh voters only."
        )
    return str(voters)


def compose(design: Design, queries: int, *, delta: float, voters: str | None = None, tolerance: float = 1e-3) -> Total:
    """The least epsilon with which ``queries`` labels of one design are (epsilon, delta)-DP together, with proof.

    Parameters
    ----------
    design : Design
    queries : int in [1, 1e7]
        Chosen adaptively: each query may depend on all labels before it.
    delta : float in [0, 1)
        For all labels together.
    voters : {"fresh", "fixed"}
        There is no default. Fresh voters draw new randomness at every query: the exact adaptive composition of the
        release. Fixed voters were made private once, then they answer: whatever the queries, their labels cost the
        optimal composition of ``changed`` copies of (epsilon, Delta), noise or no noise; a single label may cost less.
    tolerance : float
        Fresh: the grid is refined until upper and lower bound are this close, relatively, or time would go on.

    Returns
    -------
    Total

    Raises
    ------
    InputError
        If voters are not named, or ``delta`` is below what no epsilon avoids; the message gives that number.

    Notes
    -----
    docs/theory.md, "Many releases" and "Exact composition". Fresh: some 50 separations, then O(corners * grid) for each
    query; above 10,000 queries blocks are composed as privacy loss distributions, which costs some percent.
    """
    kind = check_voters(voters)
    if not isinstance(design, Design):
        raise InputError(f"compose takes a Design from darrm.solve or darrm.load. Got {type(design).__name__}.")
    queries = check_count("queries", queries)
    delta = check_delta(delta)
    if kind == "fixed":
        return _fixed(design, queries, delta)
    one = region(design.gamma, design.problem)
    return of_region(one, design.problem, queries, delta, tolerance, promise(design.problem))


def check_epsilon(value: object) -> float:
    """A total epsilon as a float; `InputError` if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_EPSILON:
        raise InputError(f"total_epsilon must be in [0, {MAX_EPSILON:g}]. Got {value!r}. Pass nats, e.g. 1.0.")
    return float(value)


def check_delta(delta: object, name: str = "delta") -> float:
    """A total delta as a float; `InputError` if it is none."""
    if isinstance(delta, bool) or not isinstance(delta, int | float | np.floating) or not 0 <= delta < 1:
        raise InputError(f"{name} must be in [0, 1). Got {delta!r}. Pass the total for all labels, e.g. 1e-5.")
    return float(delta)


def _fixed(design: Design, queries: int, delta: float) -> Total:
    problem = design.problem
    bounds: dict[str, float] = {}
    unavoidable = at_least_once(problem.Delta, problem.changed)
    voters = _of_copies(problem, problem.changed, delta)
    if voters is not None:
        bounds["the voters themselves"] = voters
    one = region(design.gamma, problem)
    lower = adaptive.most_epsilon(_sets(one, 1, _grid(one, 1, delta, 24)), delta)
    if queries == 1:
        if delta >= one.delta_infinity:
            bounds["one label"] = of_region(one, problem, 1, delta, promised=promise(design.problem)).upper
        unavoidable = min(unavoidable, one.delta_infinity)
    if not bounds:
        raise InputError(
            f"delta = {delta:g} is below what fixed voters spend at any epsilon: 1 - (1 - Delta)^changed = "
            f"{unavoidable:.6g}. Pass a delta above it."
        )
    upper = min(bounds.values())
    return Total(min(lower, upper), upper, upper, delta, queries, "fixed", bounds, unavoidable)


def of_region(
    one: Region,
    problem: MajorityProblem,
    queries: int,
    delta: float,
    tolerance: float = 1e-3,
    promised: tuple[Fraction, Fraction] | None = None,
) -> Total:
    """`compose` for fresh voters, from the region of one release, and (epsilon, delta) of one if that is proved."""
    unavoidable = at_least_once(one.delta_infinity, queries)
    simply = promised is not None and queries * promised[1] <= Fraction(delta)
    if delta < unavoidable and not simply:  # with rounding, delta(infinity) can be above the promised delta
        raise InputError(
            f"delta = {delta:g} is below what {queries} labels of fresh voters spend at any epsilon: "
            f"1 - (1 - delta(infinity))^queries = {unavoidable:.6g}. Pass a delta above it, or ask fewer queries."
        )
    bounds = {}
    if not one.delta_infinity:
        bounds["largest loss, all queries"] = rounded_up(queries * Fraction(one.largest_loss))
    if promised is not None and simply:
        bounds["simple composition"] = rounded_up(queries * promised[0])
    single = _of_single_labels(one, queries, delta, promised)
    if single is not None:
        bounds["optimal composition"] = single
    copies = problem.changed * queries
    votes = _of_copies(problem, copies, delta) if copies <= MAX_COUNT else None
    if votes is not None:
        bounds["the votes themselves"] = votes
    lower = one_pair(one.inner, queries, delta)
    name = "exact composition" if queries <= _EXACT else "exact composition of blocks"
    reach = 1.0
    for fineness in _FINENESS if delta > _UNDERFLOW else ():
        grid = _grid(one, queries, delta, fineness, reach)
        found = adaptive.least_epsilon(_excess(one, queries, grid), grid, delta)
        if math.isinf(found):
            if grid.step * grid.size >= _FAR:
                break
            reach *= 1.6
            continue
        bounds[name] = min(found, bounds.get(name, math.inf))
        work = queries * grid.size
        if work <= _WORK:
            lower = max(lower, adaptive.most_epsilon(_sets(one, queries, grid), delta))
        upper = min(bounds.values())
        if upper - lower <= tolerance * upper or work > 10 * _WORK:
            break
    if not bounds:
        raise InputError(f"No bound was found for {queries} queries at delta = {delta:g}. Pass a larger delta.")
    upper = min(bounds.values())
    lower = min(lower, upper)
    return Total(lower, (lower + upper) / 2, upper, delta, queries, "fresh", bounds, min(unavoidable, delta))


def promise(problem: MajorityProblem) -> tuple[Fraction, Fraction]:
    """(m epsilon, delta) of one release, exactly: what a certificate proves."""
    return Fraction(problem.m) * Fraction(problem.epsilon), Fraction(problem.delta)


def envelope(one: Region, queries: int, delta: float) -> float:
    """What an accountant of privacy loss distributions gives: the whole profile composed, not the binary release.

    An upper bound looser than `compose`; for comparison.
    """
    grid = _grid(one, queries, delta, 48)
    losses = adaptive.repeated(adaptive.one_release(one, grid), queries)
    return adaptive.least_epsilon(adaptive.excess(losses), grid, delta)


def one_pair(points: Sequence[Point], queries: int, delta: float) -> float:
    """A lower bound: one attained pair of probabilities, the same at every query."""
    from scipy.stats import binom

    count = np.arange(queries + 1) if queries < 10**5 else np.unique(np.linspace(0, queries, 10**5).astype(np.int64))
    best = 0.0
    for p in points:
        for x, y in ((p.x, p.y), (p.not_y, p.not_x)):
            on, off = binom.sf(count - 1, queries, x) * (1 - 1e-9), binom.sf(count - 1, queries, y) * (1 + 1e-9)
            good = (on > delta) & (off > 1e-290)
            if good.any():
                best = max(best, float(np.log((on[good] - delta) / off[good]).max()))
    return best * (1 - 1e-12)


def fixed_voters(problem: MajorityProblem, delta: float) -> float:
    """The epsilon of all that fixed voters answer, at a total ``delta``: ``changed`` copies of (epsilon, Delta).

    Infinite if ``delta`` is below 1 - (1 - Delta)^changed. No separation: milliseconds for any K.
    """
    found = _of_copies(problem, problem.changed, delta)
    return math.inf if found is None else found


def _of_single_labels(
    one: Region, queries: int, delta: float, promised: tuple[Fraction, Fraction] | None
) -> float | None:
    """The optimal composition of labels that are as private as one is, and no more is known of them."""
    each, failure = (math.inf, 0.0) if promised is None else (rounded_up(promised[0]), rounded_up(promised[1]))
    if not one.delta_infinity and (one.largest_loss <= each or failure):
        each, failure = one.largest_loss, 0.0
    try:
        return optimal(each, failure, queries, delta).epsilon if 0 < each < _FAR else None
    except InputError:
        return None


def _of_copies(problem: MajorityProblem, copies: int, delta: float) -> float | None:
    """The optimal composition of single votes; None if delta does not allow any epsilon."""
    try:
        return optimal(problem.epsilon, problem.Delta, copies, delta).epsilon
    except InputError:
        return None


def _grid(one: Region, queries: int, delta: float, fineness: int, reach: float = 1.0) -> Grid:
    """A grid that reaches beyond where the excess is delta, by the mean and the spread of the worst losses."""
    mean = spread = 0.0
    for p in one.outer:
        if not p.y:
            mean = max(mean, -math.log(p.not_x or 1.0))  # of the label that does not give everything away
        else:
            up = math.log(p.x / p.y)
            # Beyond some 36 nats the corner can be rounded to x = 1.
            down = math.log(p.not_x / p.not_y) if p.not_x else -one.largest_loss
            for chance, other in ((p.x, p.not_x), (p.y, p.not_y)):
                mean = max(mean, chance * up + other * down, -chance * up - other * down)
                spread = max(spread, chance * other * (up - down) ** 2)
    left = max(delta - at_least_once(one.delta_infinity, queries), 1e-6 * delta, 1e-300)
    far = reach * (queries * mean + 1.3 * math.sqrt(2 * queries * spread * math.log(4 / left)) + 2 * one.largest_loss)
    far = max(min(far, queries * one.largest_loss * (1 + 1e-9), _FAR), 1e-12)
    size = math.ceil(min(_POINTS[1], max(_POINTS[0], far * fineness / math.sqrt(max(spread, 1e-300)))))
    return Grid(far / size, size)


def labels_within(design: Design, epsilon: float, delta: float, most: int, fineness: int = 24) -> int:
    """How many labels of fresh voters, up to ``most``, are (epsilon, delta)-DP together, with proof.

    One run of the exact composition, stopped by the budget.
    """
    one = region(design.gamma, design.problem)
    if not one.outer:
        return most  # gamma = 0: every label is a fair coin
    each, failure = promise(design.problem)
    simply = min(most, Fraction(epsilon) // each, Fraction(delta) // failure if failure else most)
    by_loss = 0 if one.delta_infinity else min(most, Fraction(epsilon) // Fraction(one.largest_loss))
    by_loss = max(by_loss, int(simply))
    if by_loss == most or delta <= _UNDERFLOW:
        return by_loss
    # A grid with a point at epsilon, or a rounding error before it.
    fine = _grid(one, 1, 0.5, fineness).step
    index = math.ceil(min(_POINTS[1] / 2, epsilon / fine)) if epsilon else 0
    step = epsilon / index * (1 - 1e-15) if epsilon else fine
    size = max(_POINTS[0], index + math.ceil((0.5 * epsilon + 4 * one.largest_loss) / step))
    if step * size > _FAR:  # the exact composition does not reach that far
        promised = promise(design.problem)

        def single(n: int) -> bool:
            cost = _of_single_labels(one, n, delta, promised)
            return cost is not None and cost <= epsilon

        return max(by_loss, min(most, largest_count(single)))
    queries = 0
    for V in adaptive.upper_bounds(one, Grid(step, size)):
        if V[size + index] > delta or queries == most:
            break
        queries += 1
    return max(queries, by_loss)


def _excess(one: Region, queries: int, grid: Grid) -> np.ndarray:
    halvings = math.ceil(math.log2(queries / _BLOCK)) if queries > _EXACT else 0
    block = math.ceil(queries / 2**halvings)  # a few queries too many are on the safe side
    V = next(islice(adaptive.upper_bounds(one, grid), block - 1, None))
    if not halvings:
        return V
    return adaptive.excess(adaptive.repeated(adaptive.of_bounds(V, grid), 2**halvings))


def _sets(one: Region, queries: int, grid: Grid) -> adaptive.Sets:
    return next(islice(adaptive.lower_bounds(one.inner, grid), queries - 1, None))
