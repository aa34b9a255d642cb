"""What do many releases cost when the voters are fixed? An adversary looks for the largest loss.

    python benchmarks/studies/fixed_voters.py [--epsilon 2] [--m 1] [--restarts 1000] [--seed 0]

Takes: a minute.

A fixed voter is made private once: its answers to all Q queries together, one of n = 2^Q vectors, are drawn from P on
the data and from P' on neighbouring data, where (P, P') is (epsilon, Delta)-indistinguishable AS A WHOLE, and P = P'
for all but `max_affected` voters. Voters are independent; the answers of one voter are not. Each query releases its
label with coins of its own. The loss of Q labels at a total delta is

    max over voters and sets S of outputs of  log((Pr[S] - delta) / Pr'[S]).

Given S and all voters but one, numerator and denominator are linear in that voter's (P, P'). Every such pair is a
mixture of points (Kairouz, Oh, Viswanath, "The composition theorem for differential privacy", ICML 2015, Theorem 2.5)

    P  = Delta z  + (1 - Delta) (e^epsilon x + y) / (e^epsilon + 1),
    P' = Delta z' + (1 - Delta) (x + e^epsilon y) / (e^epsilon + 1),      x, y, z, z' any distributions,

so the best answer of one voter to the others is found exactly, point by point, with Dinkelbach's iteration for the
ratio. The search lets the voters and S answer in turn until nothing improves. Every other start is random; the rest
redraw some voters of the best so far. What it finds is a true loss, with the voters to show for it; it need not be the
largest: for K = 5 more restarts find more.

The table compares it with Q m epsilon, the composition of the guarantee of one release, which does NOT hold for fixed
voters, and with the optimal composition of `max_affected` copies of (epsilon, Delta), which does (docs/theory.md, "Many
releases"), and with `darrm.accounting.compose`, which counts the coins of the labels too (Theorem 1 there). For
Delta > 0 all are at the same total delta.
"""

from __future__ import annotations

import argparse
import math
import time
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

import darrm

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

TINY = 1e-14  # of a probability: below it a numerator is rounding
GAIN = 1e-12  # relative; a smaller one ends the ascent
SWEEPS = 50


class Found(NamedTuple):
    """A loss (nats), the voters that cause it, one a row with an entry for each of `answers(Q)`, and the outputs S."""

    loss: float
    P: Floats
    P_neighbour: Floats
    outputs: list[tuple[int, ...]]


def answers(Q: int) -> list[tuple[int, ...]]:
    """All vectors of Q answers, in the order of the columns and outputs."""
    return list(product((0, 1), repeat=Q))


def release(K: int, Q: int, gamma: ArrayLike) -> Floats:
    """Pr[output | answer vectors of voters 1..K], indexed [output, vector of voter 1, ..., vector of voter K]."""
    gamma, ones = np.asarray(gamma, dtype=float), np.arange(K + 1)
    accept = (1 + np.sign(2 * ones - K) * gamma) / 2
    labels = np.stack([1 - accept, accept])
    table = np.ones((2**Q, *[2**Q] * K))
    for q in range(Q):
        bit = np.array([a[q] for a in answers(Q)])
        count = sum(np.ix_(*[bit] * K)) if K > 1 else bit
        table *= labels[bit.reshape(-1, *[1] * K), count]
    return table


def ratio(numerator: float, denominator: float) -> float:
    """numerator / denominator; above zero, infinity, and below every other ratio if that numerator is rounding."""
    if denominator > 0:
        return numerator / denominator
    return math.inf if numerator > TINY else -math.inf


def extreme(u: Floats, v: Floats, price: float, epsilon: float, Delta: float) -> tuple[Floats, Floats]:
    """The (epsilon, Delta)-indistinguishable pair of largest u.P - price v.P'."""
    e = math.exp(epsilon)
    hi, lo = (1 - Delta) * e / (e + 1), (1 - Delta) / (e + 1)
    P, P_neighbour = np.zeros(len(u)), np.zeros(len(u))
    x, y = np.argmax(e * u - price * v), np.argmax(u - price * e * v)
    for point, here, there in ((x, hi, lo), (y, lo, hi), (np.argmax(u), Delta, 0.0), (np.argmin(v), 0.0, Delta)):
        P[point] += here
        P_neighbour[point] += there
    return P, P_neighbour


def others(table: Floats, P: Floats, i: int) -> Floats:
    """Probability of the outputs as a linear function of voter i alone; tables are symmetric in the voters."""
    for j in range(len(P)):
        if j != i:
            table = (table.reshape(-1, P.shape[1]) @ P[j]).reshape(table.shape[:-1])
    return table


def best_outputs(here: Floats, there: Floats, delta: float) -> tuple[float, Bools]:
    """The set of outputs of largest (Pr - delta) / Pr', and that ratio: the likeliest by ratio, up to some rank."""
    order = sorted(range(len(here)), key=lambda o: -ratio(float(here[o]), float(there[o])))
    sums = zip((np.cumsum(here[order]) - delta).tolist(), np.cumsum(there[order]).tolist(), strict=True)
    ratios = [ratio(a, b) for a, b in sums]
    rank = int(np.argmax(ratios))
    chosen = np.zeros(len(here), dtype=bool)
    chosen[order[: rank + 1]] = True
    return ratios[rank], chosen


def answer_in_turn(
    table: Floats,
    P: Floats,
    P_neighbour: Floats,
    chosen: Bools,
    epsilon: float,
    Delta: float,
    max_affected: int,
    delta: float,
) -> None:
    """Let every voter, in place, answer best to the others and to the set of outputs."""
    total = table[chosen].sum(axis=0)
    for i in range(len(P)):
        u, v = others(total, P, i), others(total, P_neighbour, i)
        if i >= max_affected:
            point = int(np.argmax([ratio(a - delta, b) for a, b in zip(u.tolist(), v.tolist(), strict=True)]))
            P[i] = P_neighbour[i] = np.eye(len(u))[point]
            continue
        price = ratio(float(u @ P[i]) - delta, float(v @ P_neighbour[i]))
        while math.isfinite(price):
            pair = extreme(u, v, price, epsilon, Delta)
            better = ratio(float(u @ pair[0]) - delta, float(v @ pair[1]))
            if not better > price + GAIN * abs(price):
                break
            price, (P[i], P_neighbour[i]) = better, pair


def search(
    K: int,
    Q: int,
    gamma: ArrayLike,
    epsilon: float,
    Delta: float = 0.0,
    max_affected: int | None = None,
    *,
    delta: float = 0.0,
    restarts: int = 40,
    seed: int = 0,
) -> Found:
    """The largest loss found at a total delta for Q releases of K fixed voters; the first `max_affected` differ."""
    rng = np.random.default_rng(seed)
    max_affected = K if max_affected is None else max_affected
    n, table = 2**Q, release(K, Q, gamma)
    best = Found(-math.inf, np.empty(0), np.empty(0), [])
    for start in range(restarts):
        P, P_neighbour = np.empty((K, n)), np.empty((K, n))
        redrawn = np.arange(K)
        if start % 2:
            P, P_neighbour = best.P.copy(), best.P_neighbour.copy()
            redrawn = rng.choice(K, size=rng.integers(1, K + 1), replace=False)
        for i in redrawn:
            if i < max_affected:
                P[i], P_neighbour[i] = extreme(rng.random(n), rng.random(n), 1.0, epsilon, Delta)
            else:
                P[i] = P_neighbour[i] = np.eye(n)[rng.integers(n)]
        chosen = np.zeros(n, dtype=bool)
        chosen[rng.choice(n, size=1 if delta == 0 else rng.integers(1, n), replace=False)] = True
        last = 0.0
        for _ in range(SWEEPS):
            answer_in_turn(table, P, P_neighbour, chosen, epsilon, Delta, max_affected, delta)
            here, there = others(table, P, -1), others(table, P_neighbour, -1)
            value, chosen = best_outputs(here, there, delta)
            if not value > last * (1 + GAIN):
                break
            last = value
        loss = math.log(last) if last > 0 else -math.inf
        if loss > best.loss:
            outputs = [o for o, taken in zip(answers(Q), chosen, strict=True) if taken]
            best = Found(loss, P, P_neighbour, outputs)
    return best


def bound(epsilon: float, Delta: float, max_affected: int, delta: float) -> float:
    """What any number of releases cost at most: the models that one record reaches, composed."""
    if Delta == delta == 0:
        return max_affected * epsilon
    return darrm.accounting.optimal(epsilon, Delta, max_affected, delta).epsilon


def main() -> None:
    parser = argparse.ArgumentParser(description="The largest loss found for fixed voters, and what bounds it.")
    parser.add_argument("--epsilon", type=float, default=2.0, help="of one voter as a whole")
    parser.add_argument("--m", type=float, default=1.0, help="allowance of one release")
    parser.add_argument("--restarts", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    epsilon, m = options.epsilon, options.m

    start = time.perf_counter()
    print(f"epsilon = {epsilon:g}, m = {m:g}; * = the composition per query is broken")
    heads = ("found", "Q m eps", "voters", "compose")
    print(f"{'K':>2} {'max_affected':>7} {'Delta':>6} {'delta':>6} {'Q':>2}", *(f"{head:>8}" for head in heads))

    def row(K: int, max_affected: int, Q: int, Delta: float = 0.0, delta: float = 0.0) -> None:
        design = darrm.solve(K=K, m=min(m, K), epsilon=epsilon, Delta=Delta, max_affected=max_affected)
        found = search(
            K, Q, design.gamma, epsilon, Delta, max_affected, delta=delta, restarts=options.restarts, seed=options.seed
        ).loss
        each, whole = Q * min(m, K) * epsilon, bound(epsilon, Delta, max_affected, delta)
        proved = darrm.accounting.compose(design, Q, delta=delta, voters="fixed").upper
        broken = "*" if found > each * (1 + 1e-9) else ""
        values = (found, each, whole, proved)
        print(
            f"{K:2} {max_affected:7} {Delta:6g} {delta:6g} {Q:2}",
            *(f"{one:8.4f}" for one in values),
            broken,
            flush=True,
        )

    row(3, 3, 2)
    for K in range(1, 6):
        for max_affected in range(1, K + 1):
            for Q in (1, 2, 3):
                if (K, max_affected, Q) != (3, 3, 2):
                    row(K, max_affected, Q)
    for max_affected in (1, 2, 3):
        for Q in (1, 2, 3):
            row(3, max_affected, Q, Delta=1e-3, delta=1e-2)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
