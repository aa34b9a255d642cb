"""Is a darrm design as private as its file says?     python check_design.py gamma.json     exit status 0 if it is

Two answers, any groups of voters, absent voters, profiles; small designs, as all cases are listed. Exact fractions:
e^x is rounded up for voters, who so may do a little more, and down for the release, which so may do a little less."""

import json
import sys
from fractions import Fraction as F
from itertools import combinations_with_replacement, product
from math import ceil, comb, factorial, floor, prod


def exp(x, rounded):  # e^x, up or down
    n = ceil(x) + 1
    total = sum((x / n) ** i / factorial(i) for i in range(40)) + (rounded == ceil) * F(2, factorial(40))
    return F(rounded(F(rounded(total * 2**250), 2**250) ** n * 2**250), 2**250)


def corners(epsilon, D):  # (p, p') with p <= e p' + D, 1 - p <= e (1 - p') + D, and so for p' and p
    lo = F(floor((1 - D) / (1 + exp(F(epsilon), ceil)) * 2**250), 2**250) if epsilon is not None else F(0)
    return [(F(0), F(0)), (F(1), F(1)), (1 - lo, lo), (lo, 1 - lo), *[(D, 0), (0, D), (1 - D, 1), (1, 1 - D)] * (D > 0)]


def ones(chances):  # how likely 0, 1, ... of the voters say 1
    found = [F(1)]
    for p in chances:
        found = [(1 - p) * x + p * y for x, y in zip([*found, 0], [0, *found], strict=True)]
    return found


def holds(groups, X, most, limits):  # X: the chance of answer 1 for every number of ones in each group
    each = []
    for K, epsilon, Delta, own in groups:
        chosen = list(combinations_with_replacement(corners(epsilon, F(Delta)), K))
        sides = [(sum(p != q for p, q in pairs), *map(ones, zip(*pairs, strict=True))) for pairs in chosen]
        each.append([side for side in sides if side[0] <= own])
    for case in (case for case in product(*each) if sum(reached for reached, _, _ in case) <= most):
        _, *both = zip(*case, strict=True)
        P, Q = (sum(x * prod(w) for x, w in zip(X, product(*side), strict=True)) for side in both)
        if any((p - e * q if e else p * (q == 0)) > d for (e, d), (p, q) in product(limits, ((P, Q), (1 - P, 1 - Q)))):
            return False
    return True


with open(sys.argv[1]) as file:
    content = json.load(file)
problem, fewer = content["problem"], content.get("fewer", [])
K, most, epsilon = problem.get("K"), problem["max_affected"], problem["epsilon"]
known = "format version problem objective gap certificate profile made_with sha256 gamma gamma_hex shape prior error "
known += "disagreement table table_hex ordered expected_cost absent fewer present K m epsilon Delta delta max_affected "
known += "adjacency groups classes none count names planned_for"
if "groups" in problem:
    groups = [(g["count"], g["epsilon"], g["delta"], g["max_affected"]) for g in problem["groups"]]
    own = [[(n, e, D, min(n, t)) for n, (_, e, D, t) in zip(p["present"], groups, strict=True) if n] for p in fewer]
    tables = [(groups, content["table_hex"]), *zip(own, (p["table_hex"] for p in fewer), strict=True)]  # by presence
    tables = [(own, [F(float.fromhex(x)) for x in table]) for own, table in tables]
else:
    X = [(1 + F(float.fromhex(x)) * ((2 * l > K) - (2 * l < K))) / 2 for l, x in enumerate(content["gamma_hex"])]
    tables, epsilon = [([(K, epsilon, problem["Delta"], most)], X)], F(epsilon) * F(problem["m"])
some = sorted(product(*(range(n + 1) for n, *_ in tables[0][0])))[1:-1] if content.get("absent") else []
whole = some == sorted(tuple(part["present"]) for part in fewer) and type(epsilon) is not list and epsilon > 0
whole &= set().union(content, problem, *problem.get("groups", []), *fewer) <= {*known.split()}
whole &= all(len(X) == prod(n + 1 for n, *_ in own) for own, X in tables) and type(most) is int
whole &= all(type(n) is type(t) is int and 0 < t <= n and 0 <= D < 1 for n, _, D, t in tables[0][0])
whole &= all(e is None or e > 0 for _, e, *_ in tables[0][0])  # nothing is proved of voters that cannot exist
whole &= len(c if isinstance(c := problem.get("classes", 2), list) else range(c)) == 2 and not problem.get("none")
if not whole or most < 1 or (K and "groups" in problem) or not all(0 <= x <= 1 for _, X in tables for x in X):
    sys.exit("This is not a whole design with two answers, or it says what is not read here.")
limits = [(e is not None and exp(F(e), floor), F(d)) for e, d in [(epsilon, problem["delta"]), *content["profile"]]]
print(sum(prod(comb(n + (7 if D else 3), n) for n, _, D, _ in own) for own, _ in tables), "cases, some ms each")
print("It holds." if (fine := all(holds(own, X, most, limits) for own, X in tables)) else "It does not hold.")
sys.exit(not fine)
