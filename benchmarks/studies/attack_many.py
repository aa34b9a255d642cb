"""Attacks of attack.py on absent voters, on the total of many labels, and on a whole ledger.

All chances are known exactly here, so who attacks knows the best test: the likelihood ratio of all answers together.
What is attacked is what the library releases.
"""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from attack_seen import Array, Labels, Random, Seen, tally
from dp_accounting.pld import privacy_loss_distribution as losses

import darrm
from darrm import mechanisms
from darrm.accounting import Ledger, plan

Pairs = list[tuple[float, float]]  # of each voter: chances of a 1 on D and on D'


# What is known of a release


def pairs_of(worst: dict[str, int], epsilon: float, delta: float = 0.0) -> Pairs:
    """The voters that a worst case names."""
    lo = (1 - delta) / (1 + math.exp(epsilon))
    value = {"hi": 1 - lo, "lo": lo, "0": 0.0, "1": 1.0, "D": delta, "1-D": 1 - delta}
    found = []
    for name, n in worst.items():
        one, other = name.strip("()").split(",")
        found += n * [(value[one], value[other])]
    return found


def pairs_of_groups(worst: dict[str, int], problem: Any) -> list[Pairs]:
    """The voters of every group of a decision with two answers."""
    found = []
    for g, group in enumerate(problem.groups, 1):
        own = {name.removeprefix(f"group {g} at "): n for name, n in worst.items() if name.startswith(f"group {g} at ")}
        found.append(pairs_of(own, group.epsilon, group.delta))
    return found


def ones(chances: Sequence[float]) -> Array:
    """Pr[so many ones], of independent voters."""
    law = np.ones(1)
    for p in chances:
        law = np.convolve(law, [1 - p, p])
    return law


def label_one(table: Array, groups: Sequence[Pairs]) -> tuple[float, float]:
    """Pr[label 1] on D and on D', by a table over the numbers of ones in the groups."""
    found = []
    for side in (0, 1):
        left = table
        for pairs in groups:
            left = np.tensordot(ones([pair[side] for pair in pairs]), left, axes=1)
        found.append(float(left))
    return found[0], found[1]


def majority_table(design: Any) -> Array:
    """Pr[label 1 | so many ones], for an odd number of voters."""
    K = design.problem.K
    return np.where(2 * np.arange(K + 1) > K, 1 + design.gamma, 1 - design.gamma) / 2


def cast(pairs: Pairs, side: int, runs: int, source: np.random.Generator) -> Labels:
    """Votes, shape (runs, voters)."""
    return (source.random((runs, len(pairs))) < [pair[side] for pair in pairs]).astype(np.int64)


def gains(x: float, y: float) -> Array:
    """Log-likelihood ratio of the labels 0 and 1."""
    with np.errstate(divide="ignore"):
        return np.array([math.log1p(-x) - math.log1p(-y), math.log(x) - math.log(y)])


# Absent voters


def absence(runs: int, rng: Random, source: np.random.Generator) -> Iterator[Seen]:
    """By chance; because the data is as it is; and the same voter with a coin in place of silence."""
    groups = [darrm.VoterGroup(2, 1.0), darrm.VoterGroup(3, 0.4)]
    problem = darrm.DecisionProblem(groups, epsilon=1.2)
    design = darrm.solve(problem, objective=darrm.objectives.truth(accuracy=[0.7, 0.6]), absent=True)
    yield by_chance(design, runs, rng, source)
    yield from by_data(runs, rng, source)


def by_chance(design: Any, runs: int, rng: Random, source: np.random.Generator) -> Seen:
    """Each voter is away with probability 0.3; votes are the worst for those who came, and all see who came."""
    sizes = [group.count for group in design.problem.groups]
    there = [k for k in itertools.product(*(range(n + 1) for n in sizes)) if any(k)]
    chance = [
        math.prod(math.comb(n, c) * 0.7**c * 0.3 ** (n - c) for n, c in zip(sizes, k, strict=True)) for k in there
    ]
    counts = np.zeros((2, len(there), 2), dtype=np.int64)
    mechanism, weights = mechanisms.PrivateDecision(design), np.array(chance) / sum(chance)
    kept = [own_pairs(design.with_present(k), k) for k in there]
    for side in (0, 1):
        for i, n in enumerate(source.multinomial(runs, weights)):
            votes = -np.ones((n, sum(sizes)), dtype=np.int64)
            at = 0
            for pairs, size in zip(kept[i], sizes, strict=True):
                votes[:, at : at + len(pairs)] = cast(pairs, side, n, source)
                at += size
            counts[side, i] = tally(mechanism.release(votes, rng), 2)
    here, away = counts.reshape(2, -1)
    return Seen("decision, voters absent by chance", "worst votes", "1", design.problem.epsilon, 0.0, here, away)


def own_pairs(design: Any, present: tuple[int, ...]) -> list[Pairs]:
    """The worst votes of those who are present, group by group of all groups."""
    left = iter(pairs_of_groups(darrm.verify(design.table, design.problem).worst_case, design.problem))
    return [next(left) if n else [] for n in present]


def by_data(runs: int, rng: Random, source: np.random.Generator) -> Iterator[Seen]:
    """A hospital that always says 0, but on D' says nothing; a practice says 1 on D and on D'."""
    groups = [darrm.VoterGroup(1, 1.0), darrm.VoterGroup(1, 0.5)]
    problem = darrm.DecisionProblem(groups, epsilon=0.8, max_affected=1)
    design = darrm.solve(problem, objective=darrm.objectives.truth(accuracy=[0.7, 0.6]), absent=True)
    release, lo = mechanisms.PrivateDecision(design), 1 / (1 + math.exp(1.0))
    for name, first, broken in (
        ("decision, a voter silent because of its data", lambda side: np.full(runs, (0, -1)[side]), True),
        (
            "the same, a coin in place of its silence",
            lambda side: (source.random(runs) < (lo, 0.5)[side]).astype(np.int64),
            False,
        ),
    ):
        votes = [np.column_stack([first(side), np.ones(runs, dtype=np.int64)]) for side in (0, 1)]
        counts = [tally(release.release(one, rng), 2) for one in votes]
        yield Seen(name, "chosen votes", "1", problem.epsilon, 0.0, *counts, broken=broken)


# The total of many labels


class Strategy(NamedTuple):
    """Which row to ask for, label by label, at points of a grid of ln a, and the excess there with all labels left."""

    logs: Array
    rows: list[Labels]
    excess: Array


def best_rows(rows: Array, queries: int, start: float) -> Strategy:
    """The strategy whose excess at e^start over all labels is the most.

    Rows are Pr[label 1] on D and on D', shape (rows, 2). Backwards: V_0(a) = max(0, 1 - a), and
    V_q(a) = max over rows of the sum over labels of P V_(q-1)(a Q / P), at points of a grid of ln a.
    """
    P = np.stack([1 - rows[:, 0], rows[:, 0]])
    Q = np.stack([1 - rows[:, 1], rows[:, 1]])
    shifts = np.log(Q) - np.log(P)
    far = abs(start) + queries * float(np.abs(shifts).max())
    logs = np.linspace(-far, far, 4001)
    V, chosen = np.maximum(0.0, 1 - np.exp(logs)), []
    for _ in range(queries):
        every = sum(P[o][:, None] * np.interp(logs + shifts[o][:, None], logs, V) for o in (0, 1))
        chosen.append(np.argmax(every, axis=0))
        V = every.max(axis=0)
    return Strategy(logs, chosen[::-1], V)


def any_votes(problem: Any) -> list[Pairs]:
    """Every multiset of voters that are as private as they may be, without a delta, or sure."""
    hi = 1 / (1 + math.exp(-problem.epsilon))
    kinds = [(hi, 1 - hi), (1 - hi, hi), (1.0, 1.0), (0.0, 0.0)]
    return [list(some) for some in itertools.combinations_with_replacement(kinds, problem.K)]


def asked_in_turn(
    design: Any, queries: int, start: float, side: int, runs: int, rng: Random, source: np.random.Generator
) -> Array:
    """The log-likelihood ratio of all labels of each run, each question the best after the labels before."""
    voters = any_votes(design.problem)
    rows = np.array([label_one(majority_table(design), [pairs]) for pairs in voters])
    strategy = best_rows(rows, queries, start)
    ratios = np.stack([gains(*row) for row in rows])
    chances = np.array(voters)[:, :, side]
    mechanism, found = mechanisms.DaRRM(design), np.zeros(runs)
    for choice in strategy.rows:
        asked = choice[np.searchsorted(strategy.logs, start - found).clip(0, choice.size - 1)]
        votes = (source.random((runs, design.problem.K)) < chances[asked]).astype(np.int64)
        found += ratios[asked, mechanism.release(votes, rng)]
    return found


def totals(runs: int, rng: Random, source: np.random.Generator) -> Iterator[Seen]:
    """A plan of five labels, of which five are asked for, or twenty."""
    delta, total = 0.01, 3.0
    design = plan(K=3, epsilon=1.0, queries=5, total_epsilon=total, total_delta=delta, voters="fresh")
    for queries in (5, 20):
        sides = [asked_in_turn(design, queries, total, side, runs, rng, source) for side in (0, 1)]
        name = "plan for a total of 5 labels" if queries == 5 else "the same, used for 20"
        yield Seen(name, "fresh", f"{queries}, adaptive", total, delta, *sides, broken=queries > 5)


# A whole ledger


def ledgers(runs: int, rng: Random, source: np.random.Generator) -> Iterator[Seen]:
    """Labels of a majority and of a decision and a randomized response, in one ledger; all is attacked at once."""
    delta = 0.01
    majority = darrm.solve(K=5, m=1, epsilon=0.5)
    groups = [darrm.VoterGroup(2, 1.0), darrm.VoterGroup(3, 0.2)]
    problem = darrm.DecisionProblem(groups, epsilon=0.6)
    decision = darrm.solve(problem, objective=darrm.objectives.truth(accuracy=[0.7, 0.6]))
    for times, name in ((1, "ledger of 8 labels, 4 decisions, 1 answer"), (2, "the same, all of it released twice")):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "ledger.db"
            ledger = Ledger.create(path, total_epsilon=10, total_delta=delta, voters="fresh", rule="in-advance")
            ledger.charge(majority, 8)
            ledger.charge(decision, 4)
            ledger.charge((0.5, 0.0), adjacency="replace-one")
            claim, _ = ledger.spent()
        sides = [of_ledger(majority, decision, times, side, runs, rng, source) for side in (0, 1)]
        yield Seen(name, "fresh", "all at once", claim, delta, *sides, broken=times > 1)
    yield by_answers(10 * runs, rng, source)


def of_ledger(
    majority: Any, decision: Any, times: int, side: int, runs: int, rng: Random, source: np.random.Generator
) -> Array:
    """The log-likelihood ratio of all that was released."""
    worst = darrm.verify(majority.gamma, majority.problem).worst_case
    own = pairs_of(worst, majority.problem.epsilon)
    groups = pairs_of_groups(darrm.verify(decision.table, decision.problem).worst_case, decision.problem)
    found = np.zeros(runs)
    for _ in range(8 * times):
        labels = mechanisms.DaRRM(majority).release(cast(own, side, runs, source), rng)
        found += gains(*label_one(majority_table(majority), [own]))[labels]
    for _ in range(4 * times):
        votes = np.concatenate([cast(pairs, side, runs, source) for pairs in groups], axis=1)
        labels = mechanisms.PrivateDecision(decision).release(votes, rng)
        found += gains(*label_one(decision.table, groups))[labels]
    for _ in range(times):
        labels = mechanisms.RandomizedResponse(0.5).release(np.full(runs, 1 - side), rng)
        found += np.where(np.asarray(labels) == 1, 0.5, -0.5)
    return found


def by_answers(runs: int, rng: Random, source: np.random.Generator) -> Seen:
    """A ledger that composes, where the first answer says what is charged next (docs/composition.md).

    X has a loss of 1.5 with probability q; Y publishes everything with probability f. Either fits into the budget
    after a randomized response. Who takes X after one answer and Y after the other has more than the budget.
    """
    epsilon, delta, loss = 1.0, 0.05, 1.5
    q, f = 0.12, 0.049
    X = pair_of({0: (q, q * math.exp(-loss)), 1: (1 - q, 1 - q * math.exp(-loss))})
    Y = pair_of({0: (f, 0.0), 1: (1 - f, 1.0)})
    with tempfile.TemporaryDirectory() as folder:
        for name, further in (("x", X), ("y", Y)):
            path = Path(folder) / f"{name}.json"
            ledger = Ledger.create(path, total_epsilon=epsilon, total_delta=delta, voters="fresh", rule="in-advance")
            ledger.charge((0.5, 0.0), adjacency="replace-one")
            ledger.charge(further, adjacency="replace-one")
    counts = []
    for side in (0, 1):
        first = np.asarray(mechanisms.RandomizedResponse(0.5).release(np.full(runs, 1 - side), rng))
        likely = np.where(first == 1, (q, q * math.exp(-loss))[side], (f, 0.0)[side])
        counts.append(tally(2 * first + (source.random(runs) < likely), 4))
    return Seen("ledger, charged by what an answer said", "fresh", "2, adaptive", epsilon, delta, *counts, broken=True)


def pair_of(chances: dict[int, tuple[float, float]]) -> Any:
    """The privacy loss distribution of dp-accounting, of a mechanism with these chances on D and on D'."""
    here, there = ({answer: math.log(p[side]) for answer, p in chances.items() if p[side]} for side in (0, 1))
    return losses.from_two_probability_mass_functions(there, here, symmetric=False)
