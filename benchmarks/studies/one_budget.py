"""One budget for labels and other mechanisms: what darrm, dp-accounting and OpenDP prove of the same releases.

    python benchmarks/studies/one_budget.py [--docs] [--quick]

Takes: some three minutes, --quick two. --docs writes docs/benchmarks.md.

Neighbours are replace-one and the total delta is 1e-5 throughout. Every figure is an upper bound on epsilon, rounded
up, but for those of the wrong neighbours. Design A is K = 11, m = 3, epsilon = .1, design B is K = 21, m = 2,
epsilon = .1, both of fresh voters.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import budget_totals as totals
import dp_accounting
import numpy as np
from budget_totals import DELTA, RELATION, SIGMA, TRAINING, Charge, Pair
from dp_accounting.rdp import RdpAccountant

import darrm
from darrm import interop, objectives

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))
from pages import DOCS, put, table

PAGE = DOCS / "benchmarks.md"
# What a report says of a training: an epsilon at this delta.
TRAINING_DELTA = 5e-7
SEED = 20261122
DESIGNS = 40
EPSILONS = 200
NONE = ""


def shown(value: float) -> str:
    """Three decimals, rounded up."""
    return f"{math.ceil(value * 1000 - 1e-9) / 1000:.3f}"


def ways() -> Iterator[dict[str, str]]:
    """Two workloads by every way of adding up."""
    A, B = totals.design(11, 3), totals.design(21, 2)
    two: list[Charge] = [(A, 100), (B, 100)]
    noisy: list[Charge] = [(A, 100), (dp_accounting.GaussianDpEvent(SIGMA), 1)]
    noise = totals.known(totals.gaussian())
    at = noise.get_epsilon_for_delta

    def row(way: str, of_two: float | None, of_noisy: float) -> dict[str, str]:
        return {
            "accounting": way,
            "100 of A, 100 of B": NONE if of_two is None else shown(of_two),
            "100 of A, a Gaussian": shown(of_noisy),
        }

    yield row('ledger, rule "basic-filter"', totals.basic(two), totals.basic([(A, 100), (Pair(at(DELTA), DELTA), 1)]))
    half = DELTA / 2
    first = totals.labels(A, 100, half)
    yield row("two budgets, delta / 2 each, added", first + totals.labels(B, 100, half), first + at(half))
    yield row('ledger, rule "renyi-filter": least budget', totals.renyi(two), totals.renyi(noisy))
    a, b = totals.singles(A, 100), totals.singles(B, 100)
    yield row("distributions of single labels", totals.together(a, b), totals.together(a, noise))
    blocks = totals.block(A, 100), totals.block(B, 100)
    by_blocks = totals.together(*blocks), totals.together(blocks[0], noise)
    yield row("distributions of blocks of labels", *by_blocks)
    yield row("`PLDAccountant` with `dp_event`", totals.accountant(two), totals.accountant(noisy))
    yield row('ledger, rule "in-advance"', totals.composed(two, by_blocks[0]), totals.composed(noisy, by_blocks[1]))
    wrong = totals.gaussian(dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
    for name, part in (("single labels", a), ("blocks", blocks[0])):
        yield row(f"*wrong neighbours, {name}: too low*", None, warned(part, wrong))
    refused(blocks[0], wrong)


def gaussian_alone() -> str:
    """What two accountants of dp-accounting say of the Gaussian for replaced records."""
    event = dp_accounting.GaussianDpEvent(SIGMA)
    by_pld = totals.accountant([(event, 1)])
    by_renyi = RdpAccountant(neighboring_relation=RELATION).compose(event).get_epsilon(DELTA)
    return f"The Gaussian alone: {shown(by_pld)} by loss distributions; the Renyi accountant says {shown(by_renyi)}."


def warned(part: Any, unknown: Any) -> float:
    """The total with a distribution that does not say its neighbours; darrm must warn."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        total = totals.together(part, unknown)
    if not any("neighbouring" in str(one.message) for one in caught):
        raise SystemExit("Nothing warned of a distribution whose neighbours are not known.")
    return total


def refused(part: Any, wrong: Any) -> None:
    """A distribution that says that it is for other neighbours must be refused."""
    relation = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
    try:
        part.compose(interop.NeighboringPLD.of(wrong, relation))
    except darrm.InputError:
        return
    raise SystemExit("A distribution for other neighbours was composed.")


class Workload(NamedTuple):
    """Designs with their numbers of labels, and whether the training is beside them."""

    name: str
    charges: list[Charge]
    trained: bool


def workloads() -> list[Workload]:
    A, B = totals.design(11, 3), totals.design(21, 2)
    return [
        Workload("200 of A", [(A, 200)], False),
        Workload("100 of A, 100 of B", [(A, 100), (B, 100)], False),
        Workload("200 of A, training", [(A, 200)], True),
        Workload("20 of A, training", [(A, 20)], True),
    ]


def column(work: Workload) -> Iterator[tuple[tuple[str, str], float | None]]:
    """What each library proves of a workload."""
    charges, parts = work.charges, [(totals.each(one), n) for one, n in work.charges]
    run = totals.training() if work.trained else None
    pair = Pair(run.get_epsilon_for_delta(TRAINING_DELTA), TRAINING_DELTA) if run else None
    with_pair, with_event = ([*charges, (more, 1)] if run else charges for more in (pair, TRAINING))
    ours = "darrm"
    left = (DELTA - (pair.delta if pair else 0.0)) / len(charges)
    added = sum(totals.labels(one, n, left) for one, n in charges) + (pair.epsilon if pair else 0.0)
    yield (ours, "sums of epsilons"), totals.basic(with_pair)
    yield (ours, "a budget for each, added"), added
    yield (ours, 'ledger, "renyi-filter"'), totals.renyi(with_pair)
    yield (ours, 'ledger, "in-advance"'), totals.composed(with_pair, added)

    theirs = "dp-accounting"
    yield (theirs, "Renyi accountant"), None if run else totals.renyi_of_guarantees(parts)
    guarantees = [totals.guarantee(epsilon, 0.0).self_compose(n) for epsilon, n in parts]
    yield (theirs, "loss distributions"), totals.together(*guarantees, *([run] if run else []))

    yield ("OpenDP", "sums of epsilons"), totals.opendp_sums(parts, pair)
    yield ("OpenDP", "zero-concentrated"), totals.opendp_concentrated(parts, pair)

    more = "dp-accounting and darrm"
    yield (more, "single labels"), totals.together(*(totals.singles(*one) for one in charges), *([run] if run else []))
    yield (more, "`PLDAccountant`"), totals.accountant(with_event)
    if run:
        yield (more, 'ledger, "renyi-filter"'), totals.renyi(with_event)
        yield (more, 'ledger, "in-advance"'), totals.composed(with_event, added)
    yield ("OpenDP and darrm", "`opendp_measurement`"), totals.opendp_labels(charges, pair)


def libraries() -> list[dict[str, str]]:
    """All workloads by every library."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    works = workloads()
    order: list[tuple[str, str]] = []
    for work in reversed(works):  # those with a training have the most ways
        for way, value in column(work):
            if way not in order:
                order.append(way)
            found.setdefault(way, {})[work.name] = NONE if value is None else shown(value)
            print(work.name, way, value, flush=True)
    return [
        {"library": who, "accounting": way, **{work.name: found[who, way].get(work.name, NONE) for work in works}}
        for who, way in order
    ]


# Random designs -------------------------------------------------------------------------------------------------------


def random_designs(count: int) -> Iterator[tuple[str, Any]]:
    """Of one kind of voters, of two groups, and of three classes."""
    rng = np.random.default_rng(SEED)
    for i in range(count):
        epsilon = float(np.exp(rng.uniform(np.log(0.02), np.log(0.5))))
        Delta = float(rng.choice([0.0, 0.0, 1e-9]))
        if i % 10 < 6:
            K = int(rng.integers(3, 42))
            reached = int(rng.integers(1, K + 1))
            m = float(rng.uniform(0.3, min(reached, 6)))
            problem = darrm.MajorityProblem(K=K, m=m, epsilon=epsilon, Delta=Delta, max_affected=reached)
            yield "one kind", darrm.solve(problem)
            continue
        classes = 2 if i % 10 < 8 else 3
        counts = rng.integers(2, 8, size=2) if classes == 2 else rng.integers(3, 9, size=1)
        groups = [
            darrm.VoterGroup(int(n), epsilon * (1 + j), Delta, max_affected=int(rng.integers(1, 4 if n > 3 else 2)))
            for j, n in enumerate(counts)
        ]
        total = epsilon * float(rng.uniform(0.5, 2.5))
        decision = darrm.DecisionProblem(groups, total, 2e-9 if Delta else 0.0, classes)
        accuracy = [float(one) for one in rng.uniform(0.55, 0.9, len(groups))]
        kind = "two groups" if classes == 2 else "three classes"
        yield kind, darrm.solve(decision, objective=objectives.truth(accuracy))


class Trial(NamedTuple):
    """Of one random design: how far a distribution is above its profile, and above exact composition."""

    kind: str
    attained: float  # least of the distribution's delta less what some votes attain
    certified: float  # the same less the certificate's upper bound, relative to it
    single: float  # by how much single labels exceed the exact total, relatively
    block: float
    below: bool  # whether a distribution is below the lower bound of the total


def trial(kind: str, one: Any, rng: np.random.Generator) -> Trial:
    pld = totals.block(one, 1)
    half, largest = EPSILONS // 2, totals.each(one)
    epsilons = np.sort(np.append(rng.uniform(0, 1.1 * largest, half), largest * rng.beta(5, 1, half)))
    deltas = np.asarray(pld.get_delta_for_epsilon(epsilons))
    released = one.gamma if isinstance(one, darrm.Design) else one.table
    attained, certified = np.array(darrm.accounting.profile_bounds(released, one.problem, epsilons)).T
    # A profile never rises: what bounds it at one epsilon bounds it at every larger one.
    certified = np.minimum.accumulate(certified)
    real = certified > 1e-15
    n = int(rng.choice([20, 50, 100, 200]))
    total = darrm.accounting.compose(one, n, delta=DELTA, voters="fresh")
    found = [float(whole.get_epsilon_for_delta(DELTA)) for whole in (pld.self_compose(n), totals.block(one, n))]
    made = Trial(
        kind,
        float((deltas - attained).min()),
        float((deltas[real] / certified[real]).min() - 1),
        found[0] / total.upper - 1,
        found[1] / total.upper - 1,
        min(found) < total.lower,
    )
    print(f"K = {one.problem.K}, {n} labels, exactly {total.upper:.4f}:", made, flush=True)
    return made


def domination(count: int) -> tuple[list[dict[str, str]], str]:
    """A table of the trials, and what they found of the profile."""
    rng = np.random.default_rng(SEED + 1)
    trials = [trial(kind, one, rng) for kind, one in random_designs(count)]

    def percents(which: Callable[[Trial], float], of: list[Trial]) -> str:
        values = 100 * np.array([which(one) for one in of])
        spread = (values.min(), np.median(values), values.max())
        return " / ".join(f"{round(value, 2) + 0.0:.2f}" for value in spread)

    rows = []
    for kind in [*dict.fromkeys(one.kind for one in trials), "all"]:
        of = [one for one in trials if kind in (one.kind, "all")]
        rows.append(
            {
                "designs": kind,
                "number": str(len(of)),
                "single labels, % above": percents(lambda one: one.single, of),
                "blocks, % above": percents(lambda one: one.block, of),
            }
        )
    said = (
        f"{count} designs, seed {SEED}, {EPSILONS} epsilons each. Distributions below what some votes achieve: "
        f"{sum(one.attained < 0 for one in trials)}. Least distance to the certificate's upper bound, relative to it: "
        f"{min(one.certified for one in trials):.1e}. Totals below the lower bound of exact composition: "
        f"{sum(one.below for one in trials)}."
    )
    return rows, said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--quick", action="store_true", help="ten random designs")
    options = parser.parse_args()
    parts = {"ways": f"{table(list(ways()))}\n\n{gaussian_alone()}"}
    print(parts["ways"], flush=True)
    named = ", ".join(f"{name} {version(name)}" for name in ("dp-accounting", "opendp"))
    parts["libraries"] = f"{table(libraries())}\n\n{named}."
    print(parts["libraries"], flush=True)
    rows, said = domination(10 if options.quick else DESIGNS)
    parts["domination"] = f"{table(rows)}\n\n{said}"
    print(parts["domination"])
    if options.docs:
        for name, content in parts.items():
            put(name, content, PAGE)


if __name__ == "__main__":
    main()
