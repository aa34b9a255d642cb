"""Random problems of every model of voters, each against a list of all its cases: is a guarantee wrong, or a gap?

    python tests/tools/campaign.py [--problems 2000] [--seed 1] [--begin 0] [--model absent ...] [--minutes 60] [--docs]

Takes: an hour for 20,000 problems on an idle core. --docs writes docs/trust.md.

Problems are small, so that all cases of voters fit in a list: K from 1 to 7, two to four classes. The list comes from
the oracles of the tests, which share no code with darrm, from plain values: laws of votes in exact fractions or in
decimals of 60 digits. For each design it says

* wrong: a worst case of the list, in exact fractions, needs more delta than is guaranteed or certified, or more epsilon
  than the tight epsilon; or another table within the guarantee, from HiGHS with all rows, costs less by more than the
  gap allows;
* above: a gap above 1e-9 (of tables of few bits: above that and what the full list says);
* loose: a certificate that states more delta than 1e-12, or a tight epsilon by more than a millionth, above the list's.

The table is made from the results that --results keeps.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from decimal import localcontext
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import chain, combinations
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.optimize import linprog

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / part) for part in ("tests", "benchmarks/studies", "benchmarks/paper")]

from gaps import epsilons, log_uniform, pick  # noqa: E402
from oracles import decisions, known_voters, several_classes  # noqa: E402

import darrm  # noqa: E402

LIMIT = 1e-9  # of a gap
ROUNDING = Fraction(1, 10**35)  # of the laws, which have forty digits
MOST = 60_000  # cases times entries of a table
RESPONSE = "randomized response"
Rng: TypeAlias = np.random.Generator
Spec: TypeAlias = dict[str, Any]
Law: TypeAlias = dict[tuple[int, ...], Any]


# Problems, as plain values


def a_group(rng: Rng, count: int, *, delta: bool = False) -> Spec:
    """Voters that may be any mechanism."""
    own = {"count": count, "epsilon": epsilons(rng), "delta": 0.0, "max_affected": int(rng.integers(1, count + 1))}
    if delta:
        own["delta"] = pick(rng, 1e-5, 1e-3, log_uniform(rng, 1e-12, 0.3))
    return own


def a_known(rng: Rng, count: int, classes: int) -> Spec:
    """Voters of a known randomizer, some of which collude."""
    colluders = int(pick(rng, 0, min(1, count - 1), rng.integers(0, count)))
    own = a_group(rng, count) | {"colluders": colluders, "randomizer": RESPONSE}
    own["max_affected"] = int(rng.integers(1, count - colluders + 1))
    own["epsilon"] = min(own["epsilon"], 12.0)
    if rng.random() < 0.4:
        rows = rng.dirichlet(np.full(classes, 2.0), int(pick(rng, 2, classes, 3))) * 0.95 + 0.05 / classes
        own["randomizer"] = rows.tolist()
        own["epsilon"] = float(np.log(rows.max(axis=0) / rows.min(axis=0)).max() * (1 + 1e-9))
    return own


def sizes(rng: Rng, most: int, groups: int) -> list[int]:
    """Numbers of voters of so many groups, ``most`` in all at most."""
    left, found = most, []
    for g in range(groups):
        found.append(int(rng.integers(1, max(1, (left - (groups - g - 1)) // max(1, groups - g)) + 1)))
        left -= found[-1]
    return found


def some_delta(rng: Rng, groups: Sequence[Spec]) -> float:
    own = max(group["delta"] for group in groups)
    if own:
        return float(min(0.9, pick(rng, own, 2 * own, own / 2, log_uniform(rng, 1e-9, 0.1))))
    return float(pick(rng, 0.0, 0.0, 1e-5, log_uniform(rng, 1e-9, 0.1)))


def asked(rng: Rng, groups: list[Spec], **more: Any) -> Spec:
    delta = some_delta(rng, groups)
    spec = {"groups": groups, "epsilon": epsilons(rng), "delta": delta, "classes": 2, "none": False, **more}
    most = sum(group["max_affected"] for group in groups)
    spec["max_affected"] = more.get("max_affected", int(pick(rng, 1, most, rng.integers(1, most + 1))))
    return spec


def known(rng: Rng) -> Spec:
    return asked(rng, [a_known(rng, int(rng.integers(1, 8)), 2)])


def known_classes(rng: Rng) -> Spec:
    classes = int(pick(rng, 3, 3, 4))
    return asked(rng, [a_known(rng, int(rng.integers(1, 4 if classes == 3 else 3)), classes)], classes=classes)


def known_groups(rng: Rng) -> Spec:
    return asked(rng, [a_known(rng, n, 2) for n in sizes(rng, 6, int(pick(rng, 2, 2, 3)))])


def mixed(rng: Rng) -> Spec:
    first, second, *rest = sizes(rng, 6, int(pick(rng, 2, 2, 3)))
    groups = [a_known(rng, first, 2), a_group(rng, second), *(a_group(rng, n) for n in rest)]
    if rng.random() < 0.1:
        groups[1]["epsilon"] = math.inf
    return asked(rng, [groups[i] for i in rng.permutation(len(groups))])


def several(rng: Rng) -> Spec:
    classes, delta = int(pick(rng, 3, 3, 3, 4)), bool(rng.random() < 0.15)
    groups = [a_group(rng, n) for n in pick(rng, [1], [2], [3], [4], [1, 1], [2, 1])]
    if delta or classes > 3:
        groups = [a_group(rng, 1 if delta else int(rng.integers(1, 3)), delta=delta)]
    return asked(rng, groups, classes=classes)


def with_none(rng: Rng) -> Spec:
    if rng.random() < 0.5:
        return several(rng) | {"none": True}
    return asked(rng, [a_group(rng, n) for n in pick(rng, [1], [2], [3], [5], [1, 2], [2, 2])], none=True)


def absent(rng: Rng) -> Spec:
    if rng.random() < 0.2:
        return asked(rng, [a_group(rng, 2)], classes=3, absent=True)
    return asked(rng, [a_group(rng, n) for n in pick(rng, [2], [3], [4], [5], [1, 1], [2, 1], [2, 2])], absent=True)


def promises(rng: Rng) -> Spec:
    """A limit for each group, and often a further one for changes that affect several."""
    known_too, n = rng.random() < 0.3, int(pick(rng, 2, 2, 3))
    groups = [a_known(rng, k, 2) if known_too and rng.random() < 0.5 else a_group(rng, k) for k in sizes(rng, 6, n)]
    classes = 2
    if not known_too and rng.random() < 0.2:
        groups, n, classes = [a_group(rng, 1), a_group(rng, int(rng.integers(1, 3)))], 2, 3
    several_too = rng.random() < 0.5
    own = [epsilons(rng) for _ in range(n)]
    deltas = [some_delta(rng, groups) for _ in range(n)]
    most = max(group["max_affected"] for group in groups)
    reach = int(rng.integers(1, most + 1))
    if several_too:
        reach = int(rng.integers(2, sum(group["max_affected"] for group in groups) + 1))
        own.append(max(own) * float(pick(rng, 1.0, 1.5)))
        deltas.append(max(deltas))
    return asked(rng, groups, classes=classes, epsilon=own, delta=deltas, max_affected=reach)


def limits(rng: Rng) -> Spec:
    """Several limits of one release: a profile."""
    spec = pick(rng, known, voters_delta, mixed, groups_of_two)(rng)
    points = np.sort(rng.uniform(0, 2 * spec["epsilon"], 2)).tolist()
    return spec | {"profile": [[x, y] for x, y in zip(points, np.sort(rng.uniform(1e-6, 0.2, 2))[::-1], strict=True)]}


def groups_of_two(rng: Rng) -> Spec:
    return asked(rng, [a_group(rng, n) for n in sizes(rng, 6, int(pick(rng, 1, 2, 3)))])


def second_budget(rng: Rng) -> Spec:
    """One label of a known randomizer, planned within two budgets: as stated, and as any voters."""
    spec = asked(rng, [a_known(rng, n, 2) for n in pick(rng, [3], [5], [6], [2, 2])])
    spec["epsilon"] = log_uniform(rng, 0.05, 4.0)
    return spec | {"second": spec["epsilon"] * float(pick(rng, 1.0, 1.2, 2.0, rng.uniform(1, 3)))}


def voters_delta(rng: Rng) -> Spec:
    return asked(rng, [a_group(rng, n, delta=bool(rng.random() < 0.8)) for n in pick(rng, [2], [3], [4], [5], [1, 2])])


def bits(rng: Rng) -> Spec:
    spec = pick(rng, known, known_classes, mixed, several, voters_delta, absent, promises)(rng)
    return spec | {"bits": int(rng.integers(3, 25))}


MODELS: dict[str, Callable[[Rng], Spec]] = {
    "known randomizers, colluders": known,
    "known randomizers, three and four classes": known_classes,
    "known randomizers of several groups": known_groups,
    "known beside any voters": mixed,
    "several classes": several,
    "the answer none": with_none,
    "absent voters": absent,
    "a promise for each group": promises,
    "several limits of one release": limits,
    "a second budget": second_budget,
    "tables of few bits": bits,
    "voters with a delta": voters_delta,
}


SLOW = "a second budget"  # a search by halves for each problem: one of eight is tried


# All cases of voters, from the oracles


class Cases(NamedTuple):
    """Of each case: how many voters of each group are reached, and the laws of all votes on both data sets."""

    moved: np.ndarray[Any, Any]  # (cases, groups)
    here: np.ndarray[Any, Any]  # (cases, vectors of votes), float64
    there: np.ndarray[Any, Any]
    exact: Callable[[int], tuple[list[Fraction], list[Fraction]]]


def fraction(x: Any) -> Fraction:
    return x if isinstance(x, Fraction) else Fraction(x)


def vectors(count: int, classes: int) -> list[tuple[int, ...]]:
    """Vectors of votes in the order of the tables: for two classes by rising ones, else as the oracle lists them."""
    if classes == 2:
        return [(count - n, n) for n in range(count + 1)]
    return [votes for (votes,) in several_classes.all_votes([several_classes.Group(count, 1.0, 0.0, 1)], classes)]


def of_group(group: Spec, classes: int) -> Iterator[tuple[int, Law, Law]]:
    """Every case of one group."""
    count, reach = group["count"], group["max_affected"]
    if group.get("randomizer") is not None:
        table = group["randomizer"]
        if table == RESPONSE:
            channel = known_voters.response(classes, known_voters.exponential(group["epsilon"]))
        else:
            sums = [sum(map(Fraction, row)) for row in table]
            channel = tuple(tuple(Fraction(p) / s for p in row) for row, s in zip(table, sums, strict=True))
        yield from known_voters.sides(known_voters.Group(count, reach, channel, group["colluders"]))
    elif classes == 2:
        for moved, corners in decisions.cases(decisions.Group(count, group["epsilon"], group["delta"], reach)):
            with localcontext(decisions._CONTEXT):
                sides = [decisions.ones([corner[side] for corner in corners]) for side in (0, 1)]
            here, there = ({(count - n, n): p for n, p in enumerate(side)} for side in sides)
            yield moved, here, there
    else:
        own = several_classes.Group(count, group["epsilon"], group["delta"], reach)
        yield from several_classes.cases(own, classes)


@lru_cache(maxsize=8)
def _listed(text: str, classes: int) -> tuple[list[int], Any, Any, list[tuple[Law, Law]], list[tuple[int, ...]]]:
    group = json.loads(text)
    places = vectors(group["count"], classes)
    found: dict[Any, tuple[int, Law, Law]] = {}
    for moved, here, there in of_group(group, classes):
        key = (moved, *(float(law.get(votes, 0)) for law in (here, there) for votes in places))
        found.setdefault(key, (moved, here, there))
    laws = [(here, there) for _, here, there in found.values()]
    here, there = (np.array([[float(law[side].get(v, 0)) for v in places] for law in laws]) for side in (0, 1))
    return [moved for moved, _, _ in found.values()], here, there, laws, places


def cases(groups: Sequence[Spec], classes: int, reach: int, alone: int | None = None) -> Cases | None:
    """All cases that reach ``reach`` voters at most, of one group if ``alone`` names it; None if they are too many."""
    of_each = []
    for g, group in enumerate(groups):
        own = group if alone in (None, g) else group | {"max_affected": 0}
        of_each.append(_listed(json.dumps(own), classes))
    chosen = np.zeros((1, 0), dtype=np.intp)
    moved = np.zeros((1, 0), dtype=np.intp)
    for own, *_ in of_each:
        n = len(own)
        chosen = np.hstack([np.repeat(chosen, n, axis=0), np.tile(np.arange(n), len(chosen))[:, None]])
        moved = np.hstack([np.repeat(moved, n, axis=0), np.tile(own, len(moved))[:, None]])
        kept = moved.sum(axis=1) <= reach
        chosen, moved = chosen[kept], moved[kept]
    entries = math.prod(len(places) for *_, places in of_each)
    if len(chosen) * entries * classes > MOST * 8:
        return None

    def side(which: int) -> Any:
        parts = [own[1 + which][chosen[:, g]] for g, own in enumerate(of_each)]
        return reduce(lambda left, right: (left[:, :, None] * right[:, None, :]).reshape(len(chosen), -1), parts)

    def exact(row: int) -> tuple[list[Fraction], list[Fraction]]:
        sides = []
        for which in (0, 1):
            every = [Fraction(1)]
            for g, (_, _, _, laws, places) in enumerate(of_each):
                law = laws[chosen[row, g]][which]
                every = [p * fraction(law.get(votes, 0)) for p in every for votes in places]
            sides.append(every)
        return sides[0], sides[1]

    return Cases(moved, side(0), side(1), exact)


# What a table answers


def answers(table: np.ndarray[Any, Any], groups: Sequence[Spec], classes: int, *, none: bool) -> list[list[Fraction]]:
    """The exact chances of all answers at all vectors of votes, as they are drawn."""
    if classes + none == 2:
        return [[1 - Fraction(x), Fraction(x)] for x in table.ravel().tolist()]
    own = [several_classes.Group(group["count"], 1.0, 0.0, 1) for group in groups]
    rows = table.reshape(-1, classes + none)
    if len(rows) == math.prod(len(vectors(group.count, classes)) for group in own):
        return [list(map(Fraction, several_classes.drawn(row))) for row in rows.tolist()]
    made = several_classes.symmetric(table, own[0].count, classes)
    return [list(map(Fraction, made[(votes,)])) for votes in vectors(own[0].count, classes)]


class Worst(NamedTuple):
    """The worst cases of one limit, for a table."""

    listed: Cases
    X: list[list[Fraction]]
    x: np.ndarray[Any, Any]

    def excess(self, epsilon: float | Fraction) -> Fraction:
        """The least delta at epsilon: the largest of the cases that are worst in float64, in exact fractions."""
        grow, n = known_voters.exponential(epsilon), len(self.X[0])
        A, B = self.listed.here @ self.x, self.listed.there @ self.x
        each = np.maximum(A - float(grow) * B, 0).sum(axis=1)
        found = Fraction(0)
        for row in np.argsort(each)[-2:]:
            p, q = self.listed.exact(int(row))
            excess = Fraction(0)
            for o in range(n):
                here, there = (sum(c * x[o] for c, x in zip(side, self.X, strict=True)) for side in (p, q))
                excess += max(Fraction(0), here - grow * there)
            found = max(found, excess)
        return found


def within(held: Sequence[tuple[Cases, float, float]], n_answers: int) -> tuple[Any, Any, Any]:
    """Rows and limits of the program that lists everything, and their rounding.

    There is a row for every case of every limit and every set of answers.
    """
    every = chain.from_iterable(combinations(range(n_answers), n) for n in range(1, n_answers))
    sets = np.array([[o in chosen for o in range(n_answers)] for chosen in every], dtype=float)
    rows, most, rounding = [], [], []
    for listed, epsilon, delta in held:
        moving = listed.moved.sum(axis=1) > 0
        each = listed.here[moving] - math.exp(epsilon) * listed.there[moving]
        size = math.expm1(epsilon) + 2 * delta
        rows.append((each[:, None, :, None] * sets[None, :, None, :]).reshape(-1, each.shape[1] * n_answers) / size)
        most.append(np.full(len(rows[-1]), delta / size))
        rounding.append(np.full(len(rows[-1]), 1e-15 * (1 + math.exp(epsilon)) / size))
    return np.concatenate(rows), np.concatenate(most), np.concatenate(rounding)


def best(costs: np.ndarray[Any, Any], held: Sequence[tuple[Cases, float, float]]) -> float | None:
    """The cost of a table that is within all limits: of the optimum of HiGHS, with as many coins as it needs."""
    entries, n = costs.shape
    A, b, rounding = within(held, n)
    if A.size > 4_000_000:
        return None
    _, kept = np.unique(np.round(A, 15), axis=0, return_index=True)
    equal = np.kron(np.eye(entries), np.ones(n))
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(costs.ravel(), A[kept], b[kept], equal, np.ones(entries), (0, 1), "highs", options=tight)
    if found.status:
        return None
    x = np.clip(found.x, 0, 1).reshape(entries, n)
    x /= x.sum(axis=1, keepdims=True)
    coin = np.full((entries, n), 1 / n)
    over, slack = A @ x.ravel() - b + rounding, b - A @ coin.ravel()
    broken = over > 0
    share = float((over[broken] / (over[broken] + slack[broken])).max(initial=0))
    return float((costs * ((1 - share) * x + share * coin)).sum())


# One problem


class Verdict(NamedTuple):
    """What became of one problem."""

    model: str
    number: int
    outcome: str  # "judged", "refused", "too large"
    gap: float
    wrong: list[str]
    loose: list[str]


def problem_of(spec: Spec, **other: Any) -> darrm.DecisionProblem:
    groups = []
    for group in spec["groups"]:
        randomizer = {name: group[name] for name in ("randomizer", "colluders") if name in group}
        groups.append(
            darrm.VoterGroup(group["count"], group["epsilon"], group["delta"], group["max_affected"], **randomizer)
        )
    values = {name: spec[name] for name in ("epsilon", "delta", "classes", "max_affected", "none")} | other
    return darrm.DecisionProblem(groups, **values)


def held_by(spec: Spec) -> list[tuple[Cases, float, float]] | None:
    """The cases of every limit, with its epsilon and delta."""
    groups, classes, reach = spec["groups"], spec["classes"], spec["max_affected"]
    found: list[tuple[Cases | None, float, float]] = []
    if isinstance(spec["epsilon"], list):
        for g, (epsilon, delta) in enumerate(zip(spec["epsilon"], spec["delta"], strict=True)):
            alone = g if g < len(groups) else None
            found.append((cases(groups, classes, reach, alone), epsilon, delta))
    else:
        listed = cases(groups, classes, reach)
        found += [
            (listed, epsilon, delta) for epsilon, delta in [(spec["epsilon"], spec["delta"]), *spec.get("profile", [])]
        ]
    if "second" in spec:
        as_any = [{name: group[name] for name in group if name not in ("randomizer", "colluders")} for group in groups]
        found.append((cases(as_any, classes, reach), spec["second"], spec["delta"]))
    return None if any(one[0] is None for one in found) else found  # type: ignore[return-value]


def judged(spec: Spec, design: Any, costs: np.ndarray[Any, Any], gap: float) -> tuple[list[str], list[str]] | None:
    """What is wrong with a design and what is loose; None if its cases are too many."""
    held = held_by(spec)
    if held is None:
        return None
    X = answers(design.table, spec["groups"], spec["classes"], none=spec["none"])
    x = np.array([[float(p) for p in row] for row in X])
    wrong, loose = [], []
    certificate = design.certificate
    several_kinds = isinstance(spec["epsilon"], list)
    own = list(certificate.kinds.values()) if several_kinds else [certificate]
    if several_kinds and len(own) != len(held):
        wrong.append(f"{len(own)} kinds for {len(held)} limits")
    for i, (listed, epsilon, delta) in enumerate(held):
        if epsilon > 300:
            continue
        worst = Worst(listed, X, x)
        needed = worst.excess(epsilon)
        if needed > Fraction(delta) + ROUNDING:
            wrong.append(f"limit {i} ({epsilon!r}, {delta!r}) needs delta {float(needed)!r}")
        if i >= len(own) or "second" in spec:
            continue
        if needed > Fraction(own[i].needed_delta) + ROUNDING:
            wrong.append(f"needed_delta {own[i].needed_delta!r} is below {float(needed)!r}")
        if own[i].needed_delta > float(needed) + 1e-12 * (math.expm1(epsilon) + 2 * delta) + 1e-13:
            loose.append(f"needed_delta {own[i].needed_delta!r}, needed {float(needed)!r}")
        tight = own[i].tight_epsilon
        if tight < 300:
            if worst.excess(tight) > Fraction(delta) + ROUNDING:
                wrong.append(f"tight_epsilon {tight!r} is too small")
            less = tight * (1 - 1e-6) - 1e-9
            if less > 0 and worst.excess(less) <= Fraction(delta) and float64_tells(worst, less, tight):
                loose.append(f"tight_epsilon {tight!r} is too large")
    if any(epsilon > 30 for _, epsilon, _ in held):
        return wrong, loose
    better = best(costs, held)
    room = 1e-13 * (1 + np.abs(costs).sum())
    if better is not None and better < design.expected_cost - gap - room:
        wrong.append(f"gap {gap!r}, but a table costs less by {design.expected_cost - better!r}")
    return wrong, loose


def float64_tells(worst: Worst, less: float, tight: float) -> bool:
    """Whether the excess of the worst case differs between the two epsilons by more than rounding."""
    A, B = worst.listed.here @ worst.x, worst.listed.there @ worst.x
    above = np.maximum(A - math.exp(tight) * B, 0)
    most = above.sum(axis=1).argmax()
    return bool(math.expm1(tight - less) * math.exp(less) * B[most][above[most] > 0].sum() > 1e-12)


def one(seed: int, number: int, model: str) -> tuple[Verdict, Spec]:
    """The problem of that number, designed and judged."""
    rng = np.random.default_rng([seed, number, list(MODELS).index(model)])
    spec = MODELS[model](rng)
    spec["seed"] = int(rng.integers(2**31))
    return judge(model, number, spec), spec


def judge(model: str, number: int, spec: Spec) -> Verdict:
    """A problem of plain values, designed by darrm and judged by the list."""
    rng = np.random.default_rng(spec["seed"])
    try:
        problem = problem_of(spec)
        costs = rng.random((*problem.table_shape, problem.n_answers))
        objective, flat = darrm.objectives.costs(costs), costs.reshape(-1, problem.n_answers)
        if "second" in spec:
            accuracy = [float(a) for a in rng.uniform(0.5, 1, len(problem.groups))]
            objective = darrm.objectives.truth(accuracy)
            flat = objective.costs(problem).reshape(-1, 2)
            plan = darrm.plan(
                problem.groups, queries=1, total_epsilon=spec["epsilon"], total_delta=spec["delta"],
                fallback_epsilon=spec["second"], max_affected=spec["max_affected"], voters="fresh",
                objective=objective, compare=number % 5 == 0,
            )  # fmt: skip
            design = plan.design
            gap = design.expected_cost - plan.comparison.cost_at_least if plan.comparison else math.inf
        else:
            if spec.get("absent") or rng.random() < 0.3:  # of one group: the classes are alike
                none = float(rng.uniform(0.05, 0.7)) if spec["none"] else None
                accuracy = [float(a) for a in rng.uniform(0.4, 1, len(spec["groups"]))]
                objective = darrm.objectives.truth(accuracy, none=none)
                flat = objective.costs(problem).reshape(-1, problem.n_answers)
            options = {name: spec[name] for name in ("absent", "bits", "profile") if name in spec}
            design = darrm.solve(problem, objective=objective, **options)
            gap = design.gap
    except darrm.DarrmError as error:
        return Verdict(model, number, f"refused: {type(error).__name__} {str(error)[:60]}", math.nan, [], [])
    parts = [(spec, design, flat)]
    for present, other in design.fewer.items():
        groups = [
            group | {"count": n, "max_affected": min(n, group["max_affected"])}
            for n, group in zip(present, spec["groups"], strict=True)
            if n
        ]
        most = min(spec["max_affected"], sum(group["max_affected"] for group in groups))
        fewer = {name: spec[name] for name in spec if name != "absent"} | {"groups": groups, "max_affected": most}
        parts.append((fewer, other, other.objective.costs(other.problem).reshape(-1, problem.n_answers)))
    wrong, loose, gaps = [], [], []
    for own, made, table_costs in parts:
        gap_here = gap if made is design else made.gap
        found = judged(own, made, table_costs, gap_here)
        if found is None:
            return Verdict(model, number, "too large", math.nan, [], [])
        if "bits" in spec and any(
            (p * 2 ** spec["bits"]).denominator > 1
            for row in answers(made.table, own["groups"], own["classes"], none=own["none"])
            for p in row
        ):
            wrong.append("no table of these bits")
        wrong, loose, gaps = wrong + found[0], loose + found[1], [*gaps, gap_here]
    return Verdict(model, number, "judged", max(gaps), wrong, loose)


class Kept(NamedTuple):
    """What is kept of one problem."""

    model: str
    number: int
    seed: int
    outcome: str
    gap: float  # NaN where the list alone says how far the optimum is
    wrong: int
    loose: int
    seconds: float


def tried(seed: int, number: int, model: str) -> Kept:
    """One problem; what is wrong, loose or refused is printed."""
    started = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", darrm.errors.ImpossiblePriorWarning)
        verdict, spec = one(seed, number, model)
    gap = math.nan if {"bits", "second"} & set(spec) else verdict.gap
    if verdict.wrong or verdict.loose or gap > LIMIT:
        print(
            f"{model}, number {number}: gap {gap:.3g}; {'; '.join(verdict.wrong + verdict.loose)}: {spec}", flush=True
        )
    elif verdict.outcome != "judged":
        print(f"  {model}, number {number}: {verdict.outcome}", flush=True)
    seconds = round(time.monotonic() - started, 2)
    return Kept(model, number, seed, verdict.outcome, gap, len(verdict.wrong), len(verdict.loose), seconds)


def table(found: Sequence[Kept]) -> str:
    """Markdown: a row for each model."""
    rows = ["| voters | problems | refused | wrong | gaps above 1e-9 | largest gap | described loosely |"]
    rows.append("| :-- |" + " --: |" * 6)
    for model in (*MODELS, "all"):
        own = [kept for kept in found if model in (kept.model, "all")]
        solved = [kept for kept in own if kept.outcome == "judged"]
        gaps = [kept.gap for kept in solved if not math.isnan(kept.gap)]
        cells = [len(solved), len(own) - len(solved), sum(kept.wrong > 0 for kept in own)]
        cells += [sum(gap > LIMIT for gap in gaps) if gaps else "-", f"{max(gaps):.1e}" if gaps else "-"]
        rows.append(f"| {model} | {' | '.join(map(str, [*cells, sum(kept.loose > 0 for kept in own)]))} |")
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=2000, help="the last number")
    parser.add_argument("--begin", type=int, default=0, help="the first number, to go on where a run was stopped")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", action="append", choices=list(MODELS), help="these only")
    parser.add_argument("--minutes", type=float, default=math.inf, help="start no problem after so many")
    parser.add_argument("--results", type=Path, help="append what became of each problem to this file")
    parser.add_argument("--docs", action="store_true", help="try nothing; write the table of --results into the docs")
    options = parser.parse_args()
    decisions._CONTEXT.prec = several_classes._CONTEXT.prec = 60  # digits, for speed; tests have 150
    if options.docs:
        lines = options.results.read_text(encoding="utf-8").splitlines()
        found = {(kept.seed, kept.number): kept for kept in (Kept(**json.loads(line)) for line in lines)}
        from pages import DOCS, put

        put("campaign", table(list(found.values())), DOCS / "trust.md")
        return 0
    models, found_here, began = options.model or list(MODELS), list[Kept](), time.monotonic()
    for number in range(options.begin, options.problems):
        if time.monotonic() - began > 60 * options.minutes:
            break
        model = models[number % len(models)]
        if model == SLOW and number // len(models) % 8 and not options.model:
            continue
        found_here.append(tried(options.seed, number, model))
        if options.results:
            with options.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(found_here[-1]._asdict()) + "\n")
    print(table(found_here))
    return 1 if any(kept.wrong or kept.gap > LIMIT for kept in found_here) else 0


if __name__ == "__main__":
    sys.exit(main())
