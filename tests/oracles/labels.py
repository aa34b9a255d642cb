"""Bags by the definition: every labelling of the bag, one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise, product

import numpy as np
from scipy.optimize import brentq

# Additive advantages and a posterior, by brute force over all labellings: Laplace of scale 1 / epsilon on the sum,
# two-sided geometric noise with alpha = e^-epsilon on the sum, clipped to 0..k.
ETA = [0.1, 0.3, 0.5, 0.8]
LLP = 0.117
LLP_INDIVIDUAL = [0.012, 0.107, 0.286, 0.063]
LAPLACE = {0.5: 0.023938854547424518, 1.0: 0.040337689476030315}
GEOMETRIC = {0.5: 0.025283795216962508, 1.0: 0.043991994169966575}
RANDOMIZED_RESPONSE = {0.5: 0.03061483280046365, 1.0: 0.06552928931500245}
LLP_POSTERIOR_SUM_2 = [0.08941176470588236, 0.32470588235294123, 0.6729411764705882, 0.9129411764705883]
HALF_HALF_LLP = 0.25  # eta = (1/2, 1/2)
HALF_HALF_LAPLACE_1 = 0.15803013970713942

Answer = Callable[[tuple[int, ...]], dict[object, float]]


def randomized_response(epsilon: float) -> Answer:
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))

    def answer(labels: tuple[int, ...]) -> dict[object, float]:
        return {
            out: math.prod(keep if o == y else 1 - keep for o, y in zip(out, labels, strict=True))
            for out in product((0, 1), repeat=len(labels))
        }

    return answer


def proportions(labels: tuple[int, ...]) -> dict[object, float]:
    return {sum(labels): 1.0}


def geometric(epsilon: float) -> Answer:
    def answer(labels: tuple[int, ...]) -> dict[object, float]:
        a, k, s = math.exp(-epsilon), len(labels), sum(labels)
        out: dict[object, float] = dict.fromkeys(range(k + 1), 0.0)
        far = math.ceil(45 / epsilon)  # a^far < 1e-19
        for z in range(-far, far + 1):
            out[min(max(s + z, 0), k)] += (1 - a) / (1 + a) * a ** abs(z)
        return out

    return answer


def of_counts(kernel: Sequence[Sequence[float]]) -> Answer:
    def answer(labels: tuple[int, ...]) -> dict[object, float]:
        return {o: float(p) for o, p in enumerate(kernel[sum(labels)])}

    return answer


def joint(answer: Answer, eta: Sequence[float]) -> list[dict[object, list[float]]]:
    """For each label: output -> [Pr[y_i = 0, output], Pr[y_i = 1, output]]."""
    tables: list[dict[object, list[float]]] = [{} for _ in eta]
    for labels in product((0, 1), repeat=len(eta)):
        chance = math.prod(p if y else 1 - p for p, y in zip(eta, labels, strict=True))
        for output, p in answer(labels).items():
            for i, y in enumerate(labels):
                tables[i].setdefault(output, [0.0, 0.0])[y] += chance * p
    return tables


def individual(answer: Answer, eta: Sequence[float]) -> list[float]:
    return [
        sum(max(pair) for pair in table.values()) - max(p, 1 - p)
        for p, table in zip(eta, joint(answer, eta), strict=True)
    ]


def moved(answer: Answer, eta: Sequence[float]) -> list[tuple[float, float]]:
    """(|change of the log odds|, probability) for every label with eta in (0, 1) and every output."""
    out = []
    for p, table in zip(eta, joint(answer, eta), strict=True):
        for zero, one in table.values():
            if zero + one > 0:
                log_odds = math.log(one) - math.log(zero) if zero > 0 and one > 0 else math.inf
                change = abs(log_odds - math.log(p) + math.log1p(-p))
                out.append((change, (zero + one) / len(eta)))
    return out


def laplace_mass(eta: Sequence[float], epsilon: float, i: int, ratio: float) -> tuple[float, float]:
    """Pr[y_i = v, output in the set where Pr[1, output] > ratio Pr[0, output]] for v = 0, 1; sums with Laplace noise.

    The set is found by its sign changes on a grid and by root finding, the integral by Gauss-Legendre quadrature.
    """
    table, k = joint(proportions, eta)[i], len(eta)
    sums = np.array(list(table), dtype=float)
    chances = np.array(list(table.values()))

    def density(t: np.ndarray) -> np.ndarray:
        return epsilon / 2 * np.exp(-epsilon * np.abs(np.subtract.outer(t, sums))) @ chances

    def excess(t: float) -> float:
        zero, one = density(np.array([t]))[0]
        return one - ratio * zero

    grid = np.unique(np.concatenate([np.linspace(0, k, 40 * k + 1), np.arange(k + 1)]))
    cuts = list(grid)
    for a, b in pairwise(grid):
        if excess(a) * excess(b) < 0:
            cuts.append(brentq(excess, a, b, xtol=1e-15))
    nodes, weights = np.polynomial.legendre.leggauss(12)
    total = np.zeros(2)
    for a, b in pairwise(sorted(cuts)):
        if b > a and excess((a + b) / 2) > 0:
            total += (b - a) / 2 * weights @ density((a + b) / 2 + (b - a) / 2 * nodes)
    for end, beyond in ((0.0, -1.0), (float(k), k + 1.0)):  # the ratio does not change beyond the ends
        if excess(beyond) > 0:
            total += density(np.array([end]))[0] / epsilon
    return float(total[0]), float(total[1])
