"""The pictures of the papers on label inference attacks, with the learners of darrm.

    python benchmarks/paper/label_figures.py [--higgs FILE] [--kdd FILE] [--rows N] [--search N] [--quick] [--docs]

Takes: a quarter of an hour; one minute with --quick. --docs writes docs/label_privacy.md.

Figures 1, 2 and 3 of Busa-Fekete et al., "Auditing privacy mechanisms via label inference attacks" (2024), and Figures
1 and 2 of "A unified analysis of label inference attacks" (2023). FILE is HIGGS.csv, and the features of KDD Cup 2012
(track 2) in LIBSVM form; without a file, synthetic data of its shape stand for it, under a name that says so. The
learners are linear and logistic, where the papers have deep networks. Time grows with the examples and with --search.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import darrm
from darrm import mechanisms
from darrm.show.figures import TEXT, WIDTH, legend_of_all, name_lines, new_figure
from darrm.show.plots_audit import plot_advantage_cdf, plot_spindle, plot_tradeoff, plot_utility_grid

sys.path.insert(0, str(Path(__file__).resolve().parent))

import pages
from label_points import PAPERS, QUICK, Point, Scale, floors, point, reading, utility
from label_tasks import Task, bags_of, release, tasks_of

Array = NDArray[np.float64]
NOISY: dict[str, Any] = {
    "LLP+Lap": darrm.labels.LaplaceLabelProportions,
    "LLP+Geom": darrm.labels.GeometricLabelProportions,
}


def pairs(mechanism: Any, eta: Array, k: int, most: int = 400) -> Array:
    """Before and after, for random bags and labels drawn as eta says."""
    rng = np.random.default_rng(15)
    bags = rng.permutation(eta)[: max(1, min(most, eta.size) // k) * k].reshape(-1, k)
    labels = (rng.random(bags.shape) < bags).astype(np.uint8)
    return darrm.labels.posterior_pairs(mechanism, bags, release(mechanism, labels, 15))


def spindles(etas: Mapping[str, Array]) -> Any:
    """Figure 1 of 2024: a row a mechanism, a column a data set."""
    rows: dict[str, dict[str, Callable[[Array], Array]]] = {
        "LLP": {f"k = {k}": partial(pairs, darrm.labels.LabelProportions(), k=k) for k in (2, 8, 32)},
        "RR": {f"epsilon = {e:g}": partial(pairs, mechanisms.RandomizedResponse(e), k=1) for e in (0.5, 1, 4)},
    }
    for row, kind in NOISY.items():
        rows[f"{row}, k = 8"] = {f"epsilon = {e:g}": partial(pairs, kind(e), k=8) for e in (0.5, 1, 4)}
    figure, axes = panels(len(rows), len(etas), 1.4)
    for line, (row, kinds) in zip(axes, rows.items(), strict=True):
        for ax, (column, eta) in zip(line, etas.items(), strict=True):
            bounds = () if row == "LLP" else (0.5, 1, 4)
            plot_spindle({name: draw(eta) for name, draw in kinds.items()}, bounds, ax, legend=False)
            tidy(ax, line, axes, title=column, ylabel=f"{row}\nafter")
        handles, names = line[-1].get_legend_handles_labels()
        line[-1].legend(
            handles, names, fontsize=TEXT, markerscale=2, loc="upper left", bbox_to_anchor=(1, 1), frameon=False
        )
    return figure


def distributions(etas: Mapping[str, Array]) -> Any:
    """Figure 2 of 2024: epsilon = 1 and k = 8."""
    named = {
        "RR": (mechanisms.RandomizedResponse(1), 1),
        "LLP": (darrm.labels.LabelProportions(), 8),
    } | {title: (kind(1), 8) for title, kind in NOISY.items()}
    figure, axes = panels(3, len(etas), 1.9)
    for column, (name, eta) in enumerate(etas.items()):
        bags = {title: eta[bags_of(eta.size, k)] for title, (_, k) in named.items()}
        points = {title: pairs(mechanism, eta, k) for title, (mechanism, k) in named.items()}
        plot_spindle(points, (1,), axes[0][column], legend=False)
        many = {title: darrm.labels.multiplicative_advantage(m, bags[title]) for title, (m, _) in named.items()}
        plot_advantage_cdf(many, axes[1][column], top=4, legend=False)
        own = {title: darrm.labels.individual_advantage(m, bags[title]) for title, (m, _) in named.items()}
        plot_advantage_cdf(own, axes[2][column], multiplicative=False, legend=False)
        axes[0][column].set_title(name.replace("synthetic, ", "synthetic,\n"), fontsize=TEXT)
        for row, label in zip(axes, ("chance before", "log-odds\nchange, nats", "individual\nadvantage"), strict=True):
            row[column].set_xlabel(label)
            if column:
                row[column].set_ylabel("")
    legend_of_all(axes[1][0], columns=4)
    return figure


def tradeoffs(tasks: Mapping[str, Task], scale: Scale) -> tuple[Any, dict[str, dict[str, list[Point]]]]:
    """Figure 3 of 2024: AUC over both advantages, the line is a learner of the labels themselves; and the points."""
    figure, axes = panels(2, len(tasks), 2.7)
    everything = {}
    for column, (name, task) in enumerate(tasks.items()):
        rows = {
            "RR": [point(task, scale, mechanisms.RandomizedResponse(e), 1) for e in scale.epsilons],
            "LLP": [point(task, scale, darrm.labels.LabelProportions(), k) for k in scale.sizes],
        }
        for k in scale.noisy_sizes:
            for title, kind in NOISY.items():
                rows[f"{title}, k = {k}"] = [point(task, scale, kind(e), k) for e in scale.epsilons]
        everything[name] = rows
        for ax, measure, label in (
            (axes[0][column], "multiplicative_98", "log-odds change, 98th percentile, nats"),
            (axes[1][column], "additive_advantage", "additive advantage"),
        ):
            curves = {
                title: ([getattr(row, measure) for row in some], [row.auc for row in some])
                for title, some in rows.items()
            }
            plot_tradeoff(curves, ax, xlabel=label, log=True, legend=False)
            ax.axhline(rows["LLP"][0].auc, color="black", linewidth=0.6)  # bags of one are the labels themselves
        axes[0][column].set_title(name, fontsize=TEXT)
    legend_of_all(axes[0][0])
    return figure, everything


def learning(task: Task, scale: Scale, rows: Mapping[str, list[Point]]) -> Any:
    """Figure 1 of 2023 (AUC and cross-entropy over advantage) and Figure 2 (AUC of LLP+Lap over k and epsilon)."""
    figure, axes = panels(1, 3, 2.7)
    for ax, measure, label in ((axes[0][0], "auc", "AUC"), (axes[0][1], "cross_entropy", "cross-entropy, nats")):
        curves = {
            title: ([row.additive_advantage for row in rows[title]], [getattr(row, measure) for row in rows[title]])
            for title in ("RR", "LLP")
        }
        plot_tradeoff(curves, ax, ylabel=label, log=True)
    known = {(row.guaranteed_epsilon, row.bag_size): row.auc for title in rows if "Lap" in title for row in rows[title]}
    grid = {}
    for epsilon in (0.5, 1.0, 2.0, 8.0):
        lap = darrm.labels.LaplaceLabelProportions(epsilon)
        grid[f"epsilon = {epsilon:g}"] = [
            known[epsilon, k] if (epsilon, k) in known else utility(task, scale, lap, k)[0] for k in scale.sizes
        ]
    plot_utility_grid(scale.sizes, grid, axes[0][2])
    return figure


def response(eta: Array, rows: Mapping[str, list[Point]], scale: Scale) -> Any:
    """Randomized response against noisy sums of the same epsilon: both advantages over k, and AUC over epsilon."""
    figure = new_figure((WIDTH, 5.6))
    axes = figure.subplot_mosaic([["additive", "multiplicative"], ["auc", "auc"]])
    audits = {
        f"{title}, epsilon = {epsilon:g}": [
            darrm.labels.audit({title: kind(epsilon)}, eta, bags=bags_of(eta.size, k))[0] for k in scale.sizes
        ]
        for epsilon in (0.5, 2.0)
        for title, kind in ({"RR": mechanisms.RandomizedResponse} | NOISY).items()
    }
    for ax, measure, label in (
        (axes["additive"], "additive_advantage", "additive advantage"),
        (axes["multiplicative"], "multiplicative_98", "log-odds change,\n98th percentile, nats"),
    ):
        curves = {title: [getattr(row, measure) for row in some] for title, some in audits.items()}
        plot_utility_grid(scale.sizes, curves, ax, ylabel=label, legend=False)
    name_lines(axes["multiplicative"])
    noisy = {
        title: ([row.guaranteed_epsilon for row in some], [row.auc for row in some])
        for title, some in rows.items()
        if title != "LLP"
    }
    plot_tradeoff(noisy, axes["auc"], xlabel="epsilon, nats", log=True, legend=False)
    axes["auc"].set_xscale("log", base=2)
    axes["auc"].set_xticks(scale.epsilons, [f"{epsilon:g}" for epsilon in scale.epsilons])
    name_lines(axes["auc"])
    return figure


def panels(rows: int, columns: int, side: float) -> tuple[Any, Any]:
    figure = new_figure((WIDTH, side * rows + 0.6))
    return figure, figure.subplots(rows, columns, squeeze=False)


def tidy(ax: Any, line: Any, axes: Any, title: str, ylabel: str) -> None:
    """Names at the edges of a grid only."""
    ax.set_xlabel("before" if line is axes[-1] or np.array_equal(line, axes[-1]) else "")
    ax.set_ylabel(ylabel if ax is line[0] else "")
    if ax in axes[0]:
        ax.set_title(title.replace("synthetic, ", "synthetic,\n"), fontsize=TEXT)


def how(tasks: Mapping[str, Task], scale: Scale, seconds: float) -> str:
    """What was computed, on what, and in which time."""
    data = "; ".join(f"{name}, {len(task.y) + len(task.y_test)} examples" for name, task in tasks.items())
    start = time.process_time()
    utility(next(iter(tasks.values())), scale, darrm.labels.LabelProportions(), 8)
    ratio = seconds / (time.process_time() - start)
    return (
        f"Computed on: {data}. Epsilon {scale.epsilons[0]:g} to {scale.epsilons[-1]:g}, k to {scale.sizes[-1]}, "
        f"{len(scale.rates)} learning rates, chosen by {scale.search} of {scale.trials} trials of {scale.epochs} "
        f"epochs; privacy of {scale.audited} labels at most. {seconds / 60:.2g} minutes of processor time, "
        f"{ratio:.0f} times that of one point (LLP, k = 8, first data set): {platform.machine()}, {os.cpu_count()} "
        f"cores, Python {platform.python_version()}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--higgs", type=Path, help="HIGGS.csv")
    parser.add_argument("--kdd", type=Path, help="KDD Cup 2012, track 2, in LIBSVM form")
    parser.add_argument("--rows", type=int, help="read so many examples of each file, make so many without one")
    parser.add_argument("--search", type=int, help="trials that choose the learning rate; the papers take all ten")
    parser.add_argument("--quick", action="store_true", help="fewer examples, parameters and trials")
    parser.add_argument("--docs", action="store_true", help="write the pictures into docs")
    given = parser.parse_args()
    scale = QUICK if given.quick else PAPERS
    scale = scale._replace(search=min(given.search or scale.search, scale.trials))
    folder, ending = (pages.DOCS, "svg") if given.docs else (Path("."), "png")
    start = time.process_time()
    tasks = tasks_of(given.higgs, given.kdd, given.rows, (scale.examples, scale.columns), scale.hashed)
    rng = np.random.default_rng(17)
    etas = {"Beta(2, 2)": rng.beta(2, 2, 4000), "Beta(2, 30)": rng.beta(2, 30, 4000)}
    etas |= {name: task.eta[: 8000 if given.quick else None] for name, task in tasks.items()}
    pages.save(spindles(etas), folder / "label_spindles.png")
    pages.save(distributions(etas), folder / "label_distributions.png")
    figure, everything = tradeoffs(tasks, scale)
    pages.save(figure, folder / f"label_tradeoff.{ending}")
    name, task = list(tasks.items())[-1 if given.kdd else 0]
    pages.save(learning(task, scale, everything[name]), folder / f"label_learning.{ending}")
    pages.save(response(etas["Beta(2, 2)"], everything[name], scale), folder / f"label_response.{ending}")
    lines = [*reading(everything, scale.trials), *floors(tasks, scale)]
    said = pages.bullets([*lines, how(tasks, scale, time.process_time() - start)])
    print(said)
    if given.docs:
        pages.put("label-figures", said, pages.DOCS / "label_privacy.md")


if __name__ == "__main__":
    main()
