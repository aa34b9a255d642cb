"""The pictures of the papers on label inference attacks, with the learners of darrm.

    python benchmarks/label_figures.py [--higgs FILE] [--kdd FILE] [--rows N] [--quick] [--docs]

Takes: two minutes with --quick; hours without. --docs writes docs/label_privacy.md.

Figures 1, 2 and 3 of Busa-Fekete et al., "Auditing privacy mechanisms via label inference attacks" (2024), and Figures
1 and 2 of "A unified analysis of label inference attacks" (2023). FILE is HIGGS.csv, and the features of KDD Cup 2012
(track 2) in LIBSVM form; without a file, synthetic data of its shape stand for it, under a name that says so. --quick
has fewer examples and parameters. The learners are linear and logistic, where the papers have deep networks.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import darrm
from darrm import measures, mechanisms
from darrm.labels.learners import BagClassifier, RandomizedResponseClassifier
from darrm.randomness.words import NotPrivateWarning
from darrm.show.figures import new_figure
from darrm.show.plots_audit import (
    plot_advantage_cdf,
    plot_equal_utility,
    plot_spindle,
    plot_tradeoff,
    plot_utility_grid,
)

sys.path.insert(0, str(Path(__file__).resolve().parent / "paper"))

import label_data
import pages

Array = NDArray[np.float64]
STANDARD_ERRORS: list[float] = []  # of every AUC that is shown
NOISY: dict[str, Any] = {
    "LLP+Lap": mechanisms.LaplaceLabelProportions,
    "LLP+Geom": mechanisms.GeometricLabelProportions,
}


class Scale(NamedTuple):
    """How much is computed."""

    examples: int  # of synthetic data, in two halves
    hashed: int  # columns of click data
    epsilons: tuple[float, ...]
    sizes: tuple[int, ...]
    noisy_sizes: tuple[int, ...]  # a curve each
    rates: tuple[float, ...]  # learning rates: the mean AUC of the best is shown, as the paper of 2023 says
    trials: int
    epochs: int


PAPERS = Scale(
    200_000,
    100_000,
    tuple(2.0**i for i in range(-4, 6)),
    tuple(2**i for i in range(10)),
    (8, 64, 512),
    (1e-6, 5e-6, 1e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2),
    10,
    20,
)
QUICK = Scale(
    4000, 500, (0.25, 0.5, 1.0, 2.0, 4.0, 8.0), (1, 2, 4, 8, 16, 32, 64), (4, 16), (1e-3, 1e-2), trials=3, epochs=10
)


class Task(NamedTuple):
    """A data set in two halves, and what the attacker knows of the first."""

    X: Any
    y: NDArray[np.uint8]
    eta: Array
    X_test: Any
    y_test: NDArray[np.uint8]


def simulated(n: int, features: int = 28) -> Task:
    """Numbers as features, like Higgs, and labels that follow a logistic model: eta is known and not estimated."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(n, features))
    eta = 1 / (1 + np.exp(-1.2 * X @ rng.normal(size=features) / np.sqrt(features / 4)))
    return halves(X, (rng.random(n) < eta).astype(np.uint8), eta)


def simulated_clicks(n: int, columns: int) -> Task:
    """11 categories as features, like KDD Cup 2012, one column a value; some 5 % of the labels are ones."""
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(18)
    values = (columns // 11 * rng.beta(0.5, 3, (n, 11))).astype(np.int64) + columns // 11 * np.arange(11)
    X = csr_matrix((np.ones(values.size, np.float32), values.ravel(), np.arange(0, values.size + 1, 11)), (n, columns))
    eta = 1 / (1 + np.exp(3.3 - X @ rng.normal(size=columns) / 3))
    return halves(X, (rng.random(n) < eta).astype(np.uint8), eta)


def halves(X: Any, y: NDArray[np.uint8], eta: Array) -> Task:
    half = len(y) // 2
    return Task(X[:half], y[:half], eta[:half], X[half:], y[half:])


def of_file(data: label_data.LabelledData) -> Task:
    """eta is what a model without any privacy learns on the half that is not released."""
    order = np.random.default_rng(12).permutation(len(data.y))
    X, y = data.X[order], data.y[order]
    if isinstance(X, np.ndarray):
        X = ((X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)).astype(np.float64)
    task = halves(X, y, np.zeros(len(y)))
    model = BagClassifier(tol=1e-4).fit(task.X_test, task.y_test)
    return task._replace(eta=darrm.labels.eta_from_model(model, task.X))


def learn(task: Task, mechanism: Any, bags: NDArray[np.intp], seed: int, rate: float, epochs: int) -> Any:
    """A classifier of darrm on one release of the labels in these bags."""
    settings: dict[str, Any] = {"solver": "adam", "learning_rate": rate, "epochs": epochs, "random_state": seed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)  # a simulation that can be run again
        released = mechanism.release(task.y[bags], rng=np.random.default_rng(seed))
    if isinstance(mechanism, mechanisms.RandomizedResponse):
        model = RandomizedResponseClassifier(mechanism=mechanism, **settings)
        return model.fit(task.X[bags.ravel()], released.ravel())
    return BagClassifier(mechanism, **settings).fit(task.X, released, list(bags))


def scores(task: Task, model: Any) -> tuple[float, float]:
    """AUC and cross-entropy on the other half."""
    from sklearn.metrics import log_loss, roc_auc_score

    guess = model.predict_proba(task.X_test)[:, 1]
    return roc_auc_score(task.y_test, guess), log_loss(task.y_test, np.clip(guess, 1e-12, 1 - 1e-12))


def utility(
    task: Task, scale: Scale, mechanism: Any, bags: NDArray[np.intp], labels: NDArray[np.uint8]
) -> dict[str, float]:
    """Mean scores over the trials, at the learning rate of the best mean AUC."""
    trials = [
        [scores(task, learn(task, mechanism, bags, seed, rate, scale.epochs)) for seed in range(scale.trials)]
        for rate in scale.rates
    ]
    best = max(trials, key=lambda of_rate: float(np.mean(of_rate, axis=0)[0]))
    auc, loss = np.mean(best, axis=0)
    STANDARD_ERRORS.append(float(np.std([score[0] for score in best], ddof=1)) / scale.trials**0.5)
    return {"auc": float(auc), "cross_entropy": float(loss)}


def audited(task: Task, scale: Scale, named: Mapping[str, Any], size: int) -> list[darrm.labels.AuditRow]:
    learner = partial(utility, task, scale)
    rng = np.random.default_rng(14)
    return darrm.labels.audit(named, task.eta, bag_size=size, labels=task.y, utility=learner, rng=rng)


def pairs(mechanism: Any, eta: Array, k: int, most: int = 400) -> Array:
    """Before and after, for random bags and labels drawn as eta says."""
    rng = np.random.default_rng(15)
    bags = rng.permutation(eta)[: max(1, min(most, eta.size) // k) * k].reshape(-1, k)
    labels = (rng.random(bags.shape) < bags).astype(np.uint8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        output = mechanism.release(labels, rng=rng)
    return measures.posterior_pairs(mechanism, bags, output)


def spindles(etas: Mapping[str, Array]) -> Any:
    """Figure 1 of 2024: a row a mechanism, a column a data set."""
    rows: dict[str, dict[str, Callable[[Array], Array]]] = {
        "LLP": {f"k = {k}": partial(pairs, mechanisms.LabelProportions(), k=k) for k in (2, 8, 32)},
        "RR": {f"epsilon = {e:g}": partial(pairs, mechanisms.RandomizedResponse(e), k=1) for e in (0.5, 1, 4)},
    }
    for row, kind in NOISY.items():
        rows[f"{row}, k = 8"] = {f"epsilon = {e:g}": partial(pairs, kind(e), k=8) for e in (0.5, 1, 4)}
    figure, axes = panels(len(rows), len(etas), 2.3)
    for line, (row, kinds) in zip(axes, rows.items(), strict=True):
        for ax, (column, eta) in zip(line, etas.items(), strict=True):
            bounds = () if row == "LLP" else (0.5, 1, 4)
            plot_spindle({name: draw(eta) for name, draw in kinds.items()}, bounds, ax, legend=False)
            tidy(ax, line, axes, title=column, ylabel=f"{row}\nafter")
        handles, names = line[-1].get_legend_handles_labels()
        line[-1].legend(
            handles, names, fontsize=7, markerscale=2, loc="upper left", bbox_to_anchor=(1, 1), frameon=False
        )
    return figure


def distributions(etas: Mapping[str, Array]) -> Any:
    """Figure 2 of 2024: epsilon = 1 and k = 8."""
    named = {
        "RR": (mechanisms.RandomizedResponse(1), 1),
        "LLP": (mechanisms.LabelProportions(), 8),
    } | {title: (kind(1), 8) for title, kind in NOISY.items()}
    figure, axes = panels(3, len(etas), 2.4)
    for column, (name, eta) in enumerate(etas.items()):
        bags = {
            title: eta[mechanisms.bags(eta.size, k, np.random.default_rng(16)).indices]
            for title, (_, k) in named.items()
        }
        points = {title: pairs(mechanism, eta, k) for title, (mechanism, k) in named.items()}
        plot_spindle(points, (1,), axes[0][column], legend=False)
        many = {title: measures.multiplicative_advantage(m, bags[title]) for title, (m, _) in named.items()}
        plot_advantage_cdf(many, axes[1][column], top=4, legend=False)
        own = {title: measures.individual_advantage(m, bags[title]) for title, (m, _) in named.items()}
        plot_advantage_cdf(own, axes[2][column], multiplicative=False, legend=False)
        axes[0][column].set_title(name, fontsize=9)
        for row in axes:
            if column:
                row[column].set_ylabel("")
    handles, names = axes[1][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return figure


def tradeoffs(tasks: Mapping[str, Task], scale: Scale) -> tuple[Any, dict[str, dict[str, list[darrm.labels.AuditRow]]]]:
    """Figure 3 of 2024: AUC over both advantages, the line is a learner of the labels themselves; and the rows."""
    figure, axes = panels(2, len(tasks), 3.4)
    everything = {}
    for column, (name, task) in enumerate(tasks.items()):
        rows: dict[str, list[darrm.labels.AuditRow]] = {
            "RR": audited(task, scale, {f"{e:g}": mechanisms.RandomizedResponse(e) for e in scale.epsilons}, 1),
            "LLP": [
                row for k in scale.sizes for row in audited(task, scale, {"LLP": mechanisms.LabelProportions()}, k)
            ],
        }
        for k in scale.noisy_sizes:
            for title, kind in NOISY.items():
                rows[f"{title}, k = {k}"] = audited(task, scale, {f"{e:g}": kind(e) for e in scale.epsilons}, k)
        everything[name] = rows
        alone = np.arange(len(task.y))[:, None]
        most = utility(task, scale, mechanisms.LabelProportions(), alone, task.y)["auc"]
        for ax, measure, label in (
            (axes[0][column], "multiplicative_98", "98 % of |change of the log odds|, nats"),
            (axes[1][column], "additive_advantage", "additive advantage"),
        ):
            curves = {
                title: ([getattr(row, measure) for row in some], [row.auc for row in some])
                for title, some in rows.items()
            }
            plot_tradeoff(curves, ax, xlabel=label, legend=False)
            ax.axhline(most, color="black", linewidth=0.6)
        axes[0][column].set_title(name, fontsize=9)
    legend(figure, axes[0][0])
    return figure, everything


def learning(task: Task, scale: Scale, rows: Mapping[str, list[darrm.labels.AuditRow]]) -> Any:
    """Figure 1 of 2023 (AUC and cross-entropy over advantage) and Figure 2 (AUC of LLP+Lap over k and epsilon)."""
    figure, axes = panels(1, 3, 3.4)
    for ax, measure, label in ((axes[0][0], "auc", "AUC"), (axes[0][1], "cross_entropy", "cross-entropy, nats")):
        curves = {
            title: ([row.additive_advantage for row in rows[title]], [getattr(row, measure) for row in rows[title]])
            for title in ("RR", "LLP")
        }
        plot_tradeoff(curves, ax, ylabel=label)
    grid = {}
    for epsilon in (0.5, 1.0, 2.0, 8.0):
        named = {"lap": mechanisms.LaplaceLabelProportions(epsilon)}
        grid[f"epsilon = {epsilon:g}"] = [audited(task, scale, named, k)[0].auc or 0.0 for k in scale.sizes]
    plot_utility_grid(scale.sizes, grid, axes[0][2])
    return figure


def response(eta: Array, rows: Mapping[str, list[darrm.labels.AuditRow]], scale: Scale) -> Any:
    """Randomized response against noisy sums of the same epsilon: both advantages over k, and AUC over epsilon."""
    figure, axes = panels(1, 3, 3.4)
    kinds = {"RR": mechanisms.RandomizedResponse, **NOISY}
    for ax, measure, label in (
        (axes[0][0], "additive_advantage", "additive advantage"),
        (axes[0][1], "multiplicative_98", "98 % of |log odds change|, nats"),
    ):
        curves = {}
        for epsilon in (0.5, 2.0):
            for title, kind in kinds.items():
                audits = [
                    darrm.labels.audit({title: kind(epsilon)}, eta, bags=bags_of(eta.size, k))[0] for k in scale.sizes
                ]
                curves[f"{title}, epsilon = {epsilon:g}"] = [getattr(row, measure) for row in audits]
        plot_utility_grid(scale.sizes, curves, ax, ylabel=label)
    noisy = {title: rows[title] for title in rows if title != "LLP"}
    curves = {
        title: ([row.guaranteed_epsilon for row in some], [row.auc for row in some]) for title, some in noisy.items()
    }
    plot_tradeoff(curves, axes[0][2], xlabel="epsilon, nats")
    axes[0][2].set_xscale("log", base=2)
    return figure


def bags_of(n: int, k: int) -> mechanisms.Bags:
    return mechanisms.bags(n, k, np.random.default_rng(16))


def at_one_auc(
    task: Task, k: int = 8, target: float = 0.85, tolerance: float = 1e-3
) -> tuple[list[measures.EqualUtility], float]:
    """The four mechanisms at one AUC of a learner, by one call; and its seconds."""
    bags = bags_of(len(task.y), k).indices

    def auc(mechanism: Any, size: int) -> float:
        own = bags_of(len(task.y), size).indices
        return float(np.mean([scores(task, learn(task, mechanism, own, seed, 1e-2, 20))[0] for seed in range(3)]))

    start = time.perf_counter()
    rows = measures.at_equal_utility(
        {
            "RR": (mechanisms.RandomizedResponse, 0.05, 8),
            "LLP+Lap": (mechanisms.LaplaceLabelProportions, 0.05, 8),
            "LLP+Geom": (mechanisms.GeometricLabelProportions, 0.05, 8),
            "LLP (k)": (lambda size: (mechanisms.LabelProportions(), size), [8, 16, 32, 64, 128]),
        },
        task.eta[bags],
        auc,
        target,
        tolerance=tolerance,
    )
    return rows, time.perf_counter() - start


def legend(figure: Any, ax: Any) -> None:
    handles, names = ax.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, fontsize=8, frameon=False)


def panels(rows: int, columns: int, side: float) -> tuple[Any, Any]:
    figure = new_figure((side * columns + 1, side * rows + 0.4))
    return figure, figure.subplots(rows, columns, squeeze=False)


def tidy(ax: Any, line: Any, axes: Any, title: str, ylabel: str) -> None:
    """Names at the edges of a grid only."""
    ax.set_xlabel("before" if line is axes[-1] or np.array_equal(line, axes[-1]) else "")
    ax.set_ylabel(ylabel if ax is line[0] else "")
    if ax in axes[0]:
        ax.set_title(title, fontsize=9)


def reading(everything: Mapping[str, Mapping[str, list[darrm.labels.AuditRow]]], trials: int) -> list[str]:
    """AUC at equal advantage, read off the straight lines of the picture; and where LLP has infinite percentiles."""
    said = []
    for name, rows in everything.items():
        for measure, words, levels in (
            ("additive_advantage", "an additive advantage of", (0.01, 0.03)),
            ("multiplicative_98", "a 98th percentile of the multiplicative advantage of", (1.0, 1.5)),
        ):
            for level in levels:
                at = {title: at_level(some, measure, level) for title, some in rows.items()}
                listed = ", ".join(f"{title} {auc:.3f}" for title, auc in at.items() if auc is not None)
                said.append(f"{name}, AUC at {words} {level:g}: {listed or 'no curve reaches it'}.")
        gone = [str(row.bag_size) for row in rows["LLP"] if np.isinf(row.multiplicative_98)]
        said.append(f"{name}: the 98th percentile of LLP is infinite for k = {', '.join(gone) or 'none'}.")
    said.append(
        f"Standard errors of these AUCs, over {trials} releases: median {np.median(STANDARD_ERRORS):.2g}, largest "
        f"{max(STANDARD_ERRORS):.2g}."
    )
    return said


def at_level(rows: list[darrm.labels.AuditRow], measure: str, level: float) -> float | None:
    """AUC where the curve crosses that advantage; None if it does not."""
    points = sorted((getattr(row, measure), row.auc or 0.0) for row in rows if np.isfinite(getattr(row, measure)))
    if not points:
        return None
    x, y = np.array(points).T
    return float(np.interp(level, x, y)) if x[0] <= level <= x[-1] else None


def tasks_of(higgs: Path | None, kdd: Path | None, rows: int | None, scale: Scale) -> dict[str, Task]:
    """The data sets by what they are called in the pictures."""
    tasks = {}
    if higgs is None:
        tasks["synthetic, like Higgs"] = simulated(scale.examples)
    else:
        tasks["Higgs"] = of_file(label_data.higgs(higgs, rows))
    if kdd is None:
        tasks["synthetic, like KDD12"] = simulated_clicks(scale.examples, scale.hashed)
    else:
        tasks["KDD12"] = of_file(label_data.kddcup2012(kdd, scale.hashed, rows))
    return tasks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--higgs", type=Path, help="HIGGS.csv")
    parser.add_argument("--kdd", type=Path, help="KDD Cup 2012, track 2, in LIBSVM form")
    parser.add_argument("--rows", type=int, help="read so many examples of each file")
    parser.add_argument("--quick", action="store_true", help="fewer examples, parameters and trials")
    parser.add_argument("--docs", action="store_true", help="write the pictures into docs")
    given = parser.parse_args()
    scale = QUICK if given.quick else PAPERS
    folder, ending = (pages.DOCS, "svg") if given.docs else (Path("."), "png")
    tasks = tasks_of(given.higgs, given.kdd, given.rows, scale)
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
    said = pages.bullets(reading(everything, scale.trials))
    rows, seconds = at_one_auc(simulated(20_000))
    pages.save(plot_equal_utility(rows)[0].figure, folder / f"label_equal_utility.{ending}")
    equal = pages.table([equal_row(row) for row in rows])
    print(f"{said}\n\n{equal}\n\n{seconds:.1f} seconds for the call of at_equal_utility")
    if given.docs:
        pages.put("label-figures", said, pages.DOCS / "label_privacy.md")
        pages.put("label-equal", f"{equal}\n\nThe call took {seconds:.0f} seconds.", pages.DOCS / "label_privacy.md")


def equal_row(row: measures.EqualUtility) -> dict[str, Any]:
    return {
        "mechanism": row.name + ("" if row.matched else " *"),
        "parameter": row.parameter,
        "k": row.bag_size,
        "AUC": row.utility,
        "additive": row.additive_advantage,
        "98 %": row.multiplicative_98,
        "infinite": row.infinite_mass,
        "largest log-odds change": row.largest_log_odds_change,
        "leakage, mean": row.mean_leakage,
    }


if __name__ == "__main__":
    main()
