"""An independent check on a design file, from the definitions; shares no code with darrm, and needs only python-flint.

    python tests/oracles/independent_check.py gamma.json ...           exit status 0 if it agrees, 1 if not

K voters, each (epsilon, Delta)-DP, of which a change of the data affects at most t (max_affected), vote 1 with
chances p on the data and p' on the neighbour; with l ones the label is 1 with chance X(l) = (1 + sign(2l - K)
gamma(l)) / 2. In the worst case every voter is at a corner (p, p') of what one may do: still ones at (0,0), (1,1);
moved ones at (hi,lo), (lo,hi), (D,0), (0,D), (1-D,1), (1,1-D); hi = (e^epsilon + D) / (e^epsilon + 1), lo = 1 - hi, D
= Delta. Everything is computed in balls (real numbers with a proved radius) from the binary values in the file, and
compared with what it claims: (m epsilon, delta)-DP, needed delta, tight epsilon, worst multiset. Few multisets are
all listed. Of many, for each number of voters at the first four corners, those moved by Delta are split between the
two sides, which bound each other only by how many there are.
"""

from __future__ import annotations

import json
import sys
from functools import reduce
from itertools import pairwise, product
from math import comb
from pathlib import Path
from typing import Any

from flint import arb, ctx

NAMES = ("(0,0)", "(1,1)", "(hi,lo)", "(lo,hi)", "(D,0)", "(0,D)", "(1-D,1)", "(1,1-D)")
FEW = 20_000  # multisets
SLACK = 1e-6  # of the tight epsilon: that much less must not hold
MOST_ROUNDING = 1e-6  # of a probability: what a file may put down to rounding
NEAR = 1e-12  # relative: multisets that differ by less are equally bad
ROUNDING = 1e-9  # a tight epsilon below it may be rounding alone


class Voters:
    """Corners and acceptance probabilities in balls."""

    def __init__(self, problem: dict[str, Any], gamma: list[float]) -> None:
        self.K, self.t, self.D = problem["K"], problem["max_affected"], arb(problem["Delta"])
        least = min(x for x in (problem["epsilon"], problem["Delta"], *gamma, 1.0) if x > 0)
        # Tiny numbers must not drown in the radius; a float64 is at least 2^-1074.
        ctx.prec = 192 + int(3 * problem["m"] * problem["epsilon"]) + 2 * self.K + (0 if least > 1e-12 else 1200)
        e = arb(problem["epsilon"]).exp()
        self.hi, self.lo = (e + self.D) / (e + 1), (1 - self.D) / (e + 1)
        self.X = [(1 + ((2 * l > self.K) - (2 * l < self.K)) * arb(gamma[l])) / 2 for l in range(self.K + 1)]
        D, one, zero = self.D, arb(1), arb(0)
        corners = [(zero, zero), (one, one), (self.hi, self.lo), (self.lo, self.hi)]
        self.corners = corners + ([(D, zero), (zero, D), (1 - D, one), (one, 1 - D)] if problem["Delta"] else [])

    def accepted(self, counts: tuple[int, ...]) -> list[arb]:
        """Pr[release 1] on the data and on the neighbour, with so many voters at each corner."""
        both = []
        for side in (0, 1):
            table = self.X
            for pair, n in zip(self.corners, counts, strict=True):
                for _ in range(n):
                    table = average(table, pair[side])
            both.append(table[0])
        return both

    def listed(self, prices: list[arb]) -> list[arb]:
        """The largest Pr[1 | data] - price Pr[1 | neighbour] for each price, over every multiset."""
        best = [arb.neg_inf()] * len(prices)
        for moved in product(range(self.t + 1), repeat=len(self.corners) - 2):
            if sum(moved) <= self.t:
                for ones in range(self.K - sum(moved) + 1):
                    P, Q = self.accepted((self.K - sum(moved) - ones, ones, *moved))
                    best = [b.max(P - price * Q) for b, price in zip(best, prices, strict=True)]
        return best

    def split(self, prices: list[arb]) -> list[arb]:
        """The same, over the moved voters' two sides in turn."""
        best = [arb.neg_inf()] * len(prices)
        row = [self.X]  # of a + b = n moved voters at (hi,lo) and (lo,hi): the table for b = 0, ..., n
        for n in range(self.t + 1):
            for b in range(n + 1):
                there, here = row[n - b], row[b]
                for z in range(self.K - n + 1):
                    pairs = self.sides(here, there, z, self.t - n) if len(self.corners) > 4 else [(here[z], there[z])]
                    for P, Q in pairs:
                        best = [x.max(P - price * Q) for x, price in zip(best, prices, strict=True)]
            if n < self.t:
                row = [average(table, self.hi) for table in row] + [average(row[-1], self.lo)]
        return best

    def sides(self, here: list[arb], there: list[arb], z: int, left: int) -> list[tuple[arb, arb]]:
        """For each number of voters moved on the data's side, its probability and the least of the neighbour's.

        Of z voters at or near 1 and N - z at or near 0, i are at (D,0), j at (1-D,1), k at (0,D), l at (1,1-D).
        """
        N, D = len(here) - 1, self.D
        up, down = N - z, z
        P, Q = moves(here, z, up, down, D), moves(there, z, up, down, D)
        spare = max(0, N - left)  # voters that must stay still
        least: dict[tuple[int, int], arb] = {}
        for k in range(up + 1):
            for l in range(down + 1):
                if k + l >= spare:
                    window = [Q[x][k + l - spare - x] for x in range(max(0, k - spare), min(k, k + l - spare) + 1)]
                    window += [least[s] for s in ((k - 1, l), (k, l - 1)) if s in least]
                    least[k, l] = reduce(arb.min, window)
        return [
            (P[i][j], least[up - i, down - j]) for i in range(up + 1) for j in range(down + 1) if i + j + spare <= N
        ]


def average(table: list[arb], p: arb) -> list[arb]:
    """E table[c + Bernoulli(p)]."""
    return [x + p * (y - x) for x, y in pairwise(table)]


def moves(table: list[arb], z: int, up: int, down: int, D: arb) -> list[list[arb]]:
    """[i][j]: E table[z + Bin(i, D) - Bin(j, D)]."""
    grid, line = [], table
    for _ in range(up + 1):
        column, lower = [], line
        for j in range(down + 1):
            column.append(lower[z - j])
            lower = [y + D * (x - y) for x, y in pairwise(lower)]
        grid.append(column)
        line = average(line, D)
    return grid


def show(value: arb) -> str:
    return str(value.str(12, radius=False))


def steps(problem: dict[str, Any]) -> float:
    """About how many steps a check takes; a hundred thousand are some seconds."""
    K, t = problem["K"], problem["max_affected"]
    return float(K**5 / 60 if problem["Delta"] else K * t * t / 2)


def independent_check(content: dict[str, Any]) -> list[str]:
    """What the content of a design file claims and is not so; empty if all is."""
    problem, claim = content["problem"], content["certificate"]
    gamma = [float.fromhex(value) for value in content["gamma_hex"]]
    K, delta, tight = problem["K"], problem["delta"], claim["tight_epsilon"]
    if gamma != content["gamma"] or len(gamma) != K + 1 or not all(0 <= value <= 1 for value in gamma):
        return ["gamma is not K + 1 numbers in [0, 1], or another than gamma_hex"]
    if not (1 <= problem["max_affected"] <= K and 1 <= problem["m"] <= K and problem["epsilon"] > 0 <= delta < 1):
        return ["the problem is none"]
    symmetric = all(gamma[l] == gamma[K - l] for l in range(K + 1) if 2 * l != K)
    wrong = ["it is said not to hold"] * (not claim["holds"]) + ["gamma is not symmetric"] * (not symmetric)
    voters = Voters(problem, gamma)
    guaranteed = (arb(problem["m"]) * arb(problem["epsilon"])).exp()
    epsilons = [] if tight is None else [arb(tight), arb(tight) * (1 - arb(SLACK))]
    kinds = len(voters.corners) - 2
    multisets = sum(comb(n + kinds - 1, n) * (K - n + 1) for n in range(voters.t + 1))
    search = voters.listed if multisets <= FEW else voters.split
    excess, *rest = search([guaranteed, *(epsilon.exp() for epsilon in epsilons)])
    if not excess <= arb(delta):
        wrong.append(f"not ({problem['m']} * {problem['epsilon']}, {delta})-DP: delta is {show(excess)}")
    if not excess <= arb(claim["needed_delta"]):
        wrong.append(f"needed delta is {show(excess)}, above {claim['needed_delta']}")
    counts = tuple(claim["worst_case"].get(name, 0) for name in NAMES[: len(voters.corners)])
    P, Q = voters.accepted(counts)
    near = excess - 2 * arb(min(claim["rounding"], MOST_ROUNDING)) - abs(excess) * NEAR
    if sum(counts) != K or sum(counts[2:]) > voters.t or not P - guaranteed * Q >= near:
        wrong.append(f"the worst case is not {claim['worst_case']}: {show(P - guaranteed * Q)}, not {show(excess)}")
    if rest and not rest[0] <= arb(delta):
        wrong.append(f"the tight epsilon is above {tight}")
    if rest and tight > ROUNDING and not rest[1] > arb(delta):
        wrong.append(f"the tight epsilon is below {tight} by more than a part in a million")
    return wrong


if __name__ == "__main__":
    findings = {path: independent_check(json.loads(Path(path).read_text(encoding="utf-8"))) for path in sys.argv[1:]}
    for path, found in findings.items():
        print(f"{path}: {'; '.join(found) or 'agrees'}")
    sys.exit(any(findings.values()))
