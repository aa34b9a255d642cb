"""The coefficients of the paper's objective, sampled as in its Algorithms 4 and 5, and in closed form.

    python benchmarks/paper/sampled_objective.py [--docs] [--pictures DIRECTORY]

Takes: half a minute. --docs writes docs/papers.md.

E[alpha_l - alpha_(K-l)] for independent p_i, uniform on [.5, 1], is Bin(K, .75)(l) - Bin(K, .75)(K - l): alpha_l is
affine in each p_i, so only the means count. The paper samples it: p_i uniform (Algorithm 4), or on the grid .5, .51,
..., .99 (Algorithm 5), whose points are drawn here in the two ways that its text allows: each p_i by itself, or every
multiset of K grid points as likely as any other. For each, the worst of ten seeded repetitions: how far the
coefficients are off, and how much true error the optimum under them has above the optimum under the closed form.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import DOCS, bullets, choose, put, save, table, whole

import darrm
from darrm import priors
from darrm.numerics.poisson_binomial import pmf
from darrm.show.figures import TEXT, WIDTH, curve, looks, name_lines, new_figure, tidy

Array = NDArray[np.float64]
Draw = Callable[[int, np.random.Generator], Array]
K, EPSILON, SEED, POINTS = 11, 0.1, 20242, 50
SIZES, REPEATS = (10, 100, 1_000, 10_000, 100_000, 1_000_000), 10
SETTINGS = ((2, 0.0), (3, 1e-5), (4, 0.0), (5, 1e-5))  # m, Delta
GRID = 0.5 + 0.5 / POINTS * np.arange(POINTS)
UNIFORM = priors.independent()


def uniform(n: int, rng: np.random.Generator) -> Array:
    return rng.uniform(0.5, 1.0, (n, K))


def grid_points(n: int, rng: np.random.Generator) -> Array:
    return rng.choice(GRID, (n, K))


def multisets(n: int, rng: np.random.Generator) -> Array:
    """Every multiset of K grid points equally likely: K stars among K + 49 places."""
    places = np.sort(np.argsort(rng.random((n, POINTS + K - 1)), axis=1)[:, :K], axis=1)
    return GRID[places - np.arange(K)]


WAYS: dict[str, Draw] = {
    "uniform (Algorithm 4)": uniform,
    "grid, each p_i (Algorithm 5)": grid_points,
    "grid, multisets (Algorithm 5)": multisets,
}


def closed_form() -> Array:
    """Coefficients for l = (K+1)/2, ..., K."""
    return priors.weights(UNIFORM, K, "tv")


def sampled(draw: Draw, sizes: tuple[int, ...], rng: np.random.Generator) -> dict[int, Array]:
    """Means of alpha_l - alpha_(K-l) over the first n draws, for each n of ``sizes`` (rising)."""
    total, done, found = np.zeros(K + 1), 0, {}
    for size in sizes:
        while done < size:
            n = min(50_000, size - done)
            total += pmf(draw(n, rng)).sum(axis=0)
            done += n
        found[size] = priors.combine(total / done, "tv")
    return found


def optimum(weights: Array, m: float, Delta: float) -> Array:
    """gamma_opt for coefficients of l = (K+1)/2, ..., K: of a histogram of votes that has them as counts."""
    counts = np.concatenate([np.zeros(K + 1 - weights.size), weights])
    return darrm.solve(K=K, m=m, epsilon=EPSILON, Delta=Delta, prior=priors.votes(counts)).gamma


def true_error(gamma: Array) -> float:
    return float(closed_form() @ (1 - gamma[(K + 1) // 2 :])) / 2


def rows(sizes: tuple[int, ...] = SIZES, repeats: int = REPEATS) -> list[dict[str, Any]]:
    exact = closed_form()
    best = {m: darrm.solve(K=K, m=m, epsilon=EPSILON, Delta=Delta).error for m, Delta in SETTINGS}
    lines = []
    for way, draw in WAYS.items():
        runs = [sampled(draw, sizes, np.random.default_rng([SEED, i])) for i in range(repeats)]
        for size in sizes:
            weights = [run[size] for run in runs]
            line: dict[str, Any] = {"p drawn": way, "draws": size}
            line["off by up to"] = max(float(np.abs(one - exact).max()) for one in weights)
            for m, Delta in SETTINGS:
                more = max(true_error(optimum(one, m, Delta)) for one in weights) - best[m]
                line[f"error lost, m = {m}"] = more if more > 1e-10 else 0.0
            lines.append(line)
    return lines


def grid_limit() -> Array:
    """What grid points drawn one by one tend to: a binomial of the mean of the grid."""
    return priors.combine(pmf(np.full(K, GRID.mean())), "tv")


def printed_factor() -> float:
    """What Algorithm 5 multiplies by, theta^K K! C(tau + K - 1, K), over the volume .5^K that it stands for."""
    return math.factorial(K) * math.comb(POINTS + K - 1, K) / POINTS**K


def findings(lines: list[dict[str, Any]]) -> list[str]:
    exact, limit = closed_form(), grid_limit()
    said = [
        "Closed form, l = 6, ..., 11: " + ", ".join(f"{value:.6f}" for value in exact) + ".",
        f"The grid has mean {GRID.mean():.3f} and not .75, so with more and more draws of each p_i the coefficients "
        f"tend to those of Bin(11, {GRID.mean():.3f}): {', '.join(f'{value:.6f}' for value in limit)}, off by up to "
        f"{np.abs(limit - exact).max():.4f}.",
        f"Algorithm 5's factor is {printed_factor():.3f} times the volume that it stands for, because K! counts "
        "multisets with repeated points too often; a common factor moves no optimum.",
    ]
    for way in WAYS:
        of_way = lines_of(lines, way)
        lossy = [line["draws"] for line in of_way if lost(line) > 0]
        last = of_way[-1]
        text = f"{way}: at {last['draws']:,} draws the coefficients are off by up to {last['off by up to']:.2g}, and "
        if last["draws"] in lossy:
            text += f"{lost(last):.2g} of error is lost: their limit has another optimum."
        else:
            text += f"no error is lost, nor at any number of draws above {max(lossy, default=0):,}."
        said.append(text)
    return said


def lost(line: dict[str, Any]) -> float:
    return max(value for name, value in line.items() if name.startswith("error lost"))


def lines_of(lines: list[dict[str, Any]], way: str) -> list[dict[str, Any]]:
    return [line for line in lines if line["p drawn"] == way]


def draw_picture(lines: list[dict[str, Any]]) -> Any:
    ax = new_figure((WIDTH, 3.6)).add_subplot()
    for way, look in looks(WAYS).items():
        of_way = lines_of(lines, way)
        curve(ax, [one["draws"] for one in of_way], [one["off by up to"] for one in of_way], look, way)
    ax.set(xscale="log", yscale="log", xlabel="draws of (p_1, ..., p_11)", ylabel="coefficients off by up to")
    ax.set_title("Sampled objective beside its closed form, K = 11", fontsize=TEXT)
    tidy(ax)
    name_lines(ax)
    return ax.figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", action="store_true", help="also put the table and the picture into docs/")
    parser.add_argument("--pictures", type=Path, metavar="DIRECTORY", help="also write the picture there, as PNG")
    options = parser.parse_args()
    lines = rows()
    said = bullets(findings(lines))
    print(table(lines), said, sep="\n\n")
    if options.pictures:
        save(draw_picture(lines), options.pictures / "sampled_objective.png")
    if options.docs:
        few = table(choose(lines, draws=(100, 10_000, 1_000_000)))
        put("objective", f"{few}\n\n{whole('objective', lines)}\n\n{said}")
        save(draw_picture(lines), DOCS / "paper_objective.svg")


if __name__ == "__main__":
    main()
