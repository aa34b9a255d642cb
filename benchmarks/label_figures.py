"""The pictures of the papers on label inference attacks, on simulated labels and on data sets of scikit-learn.

    python benchmarks/label_figures.py [--docs]

Takes: ten seconds. --docs writes docs/label_privacy.md.

Layouts: Figures 1, 2 and 3 of Busa-Fekete et al., "Auditing privacy mechanisms via label inference attacks" (2024), and
Figures 1 and 2 of "A unified analysis of label inference attacks" (2023). Their data are two large sets that are not
shipped; label_data.py in benchmarks/paper reads them.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import darrm
from darrm import measures, mechanisms
from darrm.randomness.words import NotPrivateWarning
from darrm.show.figures import new_figure
from darrm.show.plots_audit import plot_advantage_cdf, plot_spindle, plot_tradeoff, plot_utility_grid

sys.path.insert(0, str(Path(__file__).resolve().parent / "paper"))

import pages

Array = NDArray[np.float64]
REPEATS = 5
RIDGE = 1e-3
STANDARD_ERRORS: list[float] = []  # of every AUC that is shown
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
SIZES = (1, 2, 4, 8, 16, 32, 64)


class Task(NamedTuple):
    """A data set in two halves, and what the attacker knows of the first."""

    X: Array
    y: NDArray[np.uint8]
    eta: Array
    X_test: Array
    y_test: NDArray[np.uint8]


def simulated() -> Task:
    """Labels that follow a logistic model, so that eta is known and not estimated."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(8000, 10))
    eta = 1 / (1 + np.exp(-1.2 * X @ rng.normal(size=10) / np.sqrt(2.5)))
    y = (rng.random(8000) < eta).astype(np.uint8)
    return Task(X[:4000], y[:4000], eta[:4000], X[4000:], y[4000:])


def bundled(name: str) -> Task:
    """Breast cancer, or digits from 5 on against the others; eta is learned on the half that is not released."""
    from sklearn.datasets import load_breast_cancer, load_digits
    from sklearn.linear_model import LogisticRegression

    X, y = (load_breast_cancer if name == "breast cancer" else load_digits)(return_X_y=True)
    labels = (y == 1 if name == "breast cancer" else y >= 5).astype(np.uint8)
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
    order = np.random.default_rng(12).permutation(len(X))
    first, second = order[: len(X) // 2], order[len(X) // 2 :]
    model = LogisticRegression(C=0.1, max_iter=1000).fit(X[second], labels[second])
    return Task(X[first], labels[first], darrm.labels.eta_from_model(model, X[first]), X[second], labels[second])


def learn(X: Array, bags: NDArray[np.intp], proportions: Array) -> Array:
    """Weights of a logistic model whose mean over each bag matches its proportion (proportion matching).

        min over w of  mean over bags of -a log q - (1 - a) log(1 - q) + ridge |w|^2 / 2,   q = mean of sigmoid(w'x)

    The loss is linear in a, so unbiased noisy proportions, bags of 1 for randomized response too, leave its mean as it
    is (Theorem 6.1 of the paper of 2023).
    """
    from scipy.optimize import minimize

    design = np.column_stack([X, np.ones(len(X))])[bags]
    n, k, d = design.shape

    def loss(w: Array) -> tuple[float, Array]:
        s = 1 / (1 + np.exp(-np.clip(design @ w, -35, 35)))
        q = np.clip(s.mean(axis=1), 1e-12, 1 - 1e-12)
        value = -(proportions * np.log(q) + (1 - proportions) * np.log1p(-q)).mean() + RIDGE * w @ w / 2
        slope = (q - proportions) / (q * (1 - q) * n * k)
        return float(value), np.einsum("bi,bid->d", slope[:, None] * s * (1 - s), design) + RIDGE * w

    return minimize(loss, np.zeros(d), jac=True, method="L-BFGS-B", options={"maxiter": 200}).x


def released(mechanism: Any, labels: NDArray[np.uint8], rng: np.random.Generator) -> Array:
    """Unbiased proportions of the bags labels (n, k), from the release."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)  # a simulation that can be run again
        output = mechanism.release(labels, rng=rng)
    if isinstance(mechanism, mechanisms.RandomizedResponse):
        pi = mechanism.flip_probability
        return ((output - pi) / (1 - 2 * pi)).mean(axis=1)
    if isinstance(mechanism, mechanisms.GeometricLabelProportions):
        output = mechanism.unbiased(output, labels.shape[1])
    return np.asarray(output) / labels.shape[1]


def utility(task: Task, mechanism: Any, bags: NDArray[np.intp], labels: NDArray[np.uint8]) -> dict[str, float]:
    """AUC and cross-entropy on the other half, means over repetitions of the release."""
    from sklearn.metrics import log_loss, roc_auc_score

    rng = np.random.default_rng(13)
    scores = []
    for _ in range(REPEATS):
        w = learn(task.X, bags, released(mechanism, labels[bags], rng))
        guess = 1 / (1 + np.exp(-np.clip(np.column_stack([task.X_test, np.ones(len(task.X_test))]) @ w, -35, 35)))
        scores.append((roc_auc_score(task.y_test, guess), log_loss(task.y_test, guess)))
    auc, loss = np.mean(scores, axis=0)
    STANDARD_ERRORS.append(float(np.std([score[0] for score in scores], ddof=1)) / REPEATS**0.5)
    return {"auc": float(auc), "cross_entropy": float(loss)}


def audited(task: Task, named: Mapping[str, Any], size: int) -> list[darrm.labels.AuditRow]:
    return darrm.labels.audit(
        named, task.eta, bag_size=size, labels=task.y, utility=partial(utility, task), rng=np.random.default_rng(14)
    )


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
        "LLP+Geom, k = 8": {
            f"epsilon = {e:g}": partial(pairs, mechanisms.GeometricLabelProportions(e), k=8) for e in (0.5, 1, 4)
        },
    }
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
        "LLP+Geom": (mechanisms.GeometricLabelProportions(1), 8),
    }
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


def tradeoffs(tasks: Mapping[str, Task]) -> tuple[Any, dict[str, dict[str, list[darrm.labels.AuditRow]]]]:
    """Figure 3 of 2024: AUC over both advantages; and the rows."""
    figure, axes = panels(2, len(tasks), 3.4)
    everything = {}
    for column, (name, task) in enumerate(tasks.items()):
        rows: dict[str, list[darrm.labels.AuditRow]] = {
            "RR": audited(task, {f"{e:g}": mechanisms.RandomizedResponse(e) for e in EPSILONS}, 1),
            "LLP": [row for k in SIZES for row in audited(task, {f"{k}": mechanisms.LabelProportions()}, k)],
        }
        for k in (4, 16):
            for title, kind in (
                ("Lap", mechanisms.LaplaceLabelProportions),
                ("Geom", mechanisms.GeometricLabelProportions),
            ):
                rows[f"LLP+{title}, k = {k}"] = audited(task, {f"{e:g}": kind(e) for e in EPSILONS}, k)
        everything[name] = rows
        for ax, measure, label in (
            (axes[0][column], "multiplicative_98", "98 % of |change of the log odds|, nats"),
            (axes[1][column], "additive_advantage", "additive advantage"),
        ):
            curves = {
                title: ([getattr(row, measure) for row in some], [row.auc for row in some])
                for title, some in rows.items()
            }
            plot_tradeoff(curves, ax, xlabel=label, legend=False)
        axes[0][column].set_title(name, fontsize=9)
    handles, names = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return figure, everything


def learning(task: Task, rows: Mapping[str, list[darrm.labels.AuditRow]]) -> Any:
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
        grid[f"epsilon = {epsilon:g}"] = [audited(task, named, k)[0].auc or 0.0 for k in SIZES]
    plot_utility_grid(SIZES, grid, axes[0][2])
    return figure


def panels(rows: int, columns: int, side: float) -> tuple[Any, Any]:
    figure = new_figure((side * columns + 1, side * rows + 0.4))
    return figure, figure.subplots(rows, columns, squeeze=False)


def tidy(ax: Any, line: Any, axes: Any, title: str, ylabel: str) -> None:
    """Names at the edges of a grid only."""
    ax.set_xlabel("before" if line is axes[-1] or np.array_equal(line, axes[-1]) else "")
    ax.set_ylabel(ylabel if ax is line[0] else "")
    if ax in axes[0]:
        ax.set_title(title, fontsize=9)


def reading(everything: Mapping[str, Mapping[str, list[darrm.labels.AuditRow]]]) -> list[str]:
    """AUC at equal advantage, read off the straight lines of the picture; and where LLP has infinite percentiles."""
    said = []
    for name, rows in everything.items():
        for measure, title, levels in (
            ("additive_advantage", "an additive advantage of", (0.01, 0.03)),
            ("multiplicative_98", "a 98th percentile of the multiplicative advantage of", (1.0, 1.5)),
        ):
            for level in levels:
                found = {one: at_level(some, measure, level) for one, some in rows.items()}
                listed = ", ".join(f"{one} {auc:.3f}" for one, auc in found.items() if auc is not None)
                said.append(f"{name}, AUC at {title} {level:g}: {listed}.")
        gone = [str(row.bag_size) for row in rows["LLP"] if np.isinf(row.multiplicative_98)]
        said.append(f"{name}: the 98th percentile of LLP is infinite for k = {', '.join(gone) or 'none'}.")
    said.append(
        f"Standard errors of these AUCs, over {REPEATS} releases: median {np.median(STANDARD_ERRORS):.2g}, largest "
        f"{max(STANDARD_ERRORS):.2g}."
    )
    return said


def at_level(rows: list[darrm.labels.AuditRow], measure: str, level: float) -> float | None:
    """AUC where the curve crosses that advantage; None if it does not."""
    points = sorted((getattr(row, measure), row.auc or 0.0) for row in rows if np.isfinite(getattr(row, measure)))
    x, y = np.array(points).T
    return float(np.interp(level, x, y)) if x[0] <= level <= x[-1] else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", action="store_true", help="write the pictures into docs")
    docs = parser.parse_args().docs
    folder = pages.DOCS if docs else Path(".")
    rng = np.random.default_rng(17)
    cancer, digits = bundled("breast cancer"), bundled("digits")
    etas = {"Beta(2, 2)": rng.beta(2, 2, 4000), "Beta(2, 30)": rng.beta(2, 30, 4000)}
    etas |= {"breast cancer": cancer.eta, "digits, >= 5": digits.eta}
    pages.save(spindles(etas), folder / "label_spindles.png")
    pages.save(distributions(etas), folder / "label_distributions.png")
    tasks = {"simulated": simulated(), "digits, >= 5": digits}
    figure, everything = tradeoffs(tasks)
    pages.save(figure, folder / "label_tradeoff.svg" if docs else folder / "label_tradeoff.png")
    figure = learning(tasks["simulated"], everything["simulated"])
    pages.save(figure, folder / "label_learning.svg" if docs else folder / "label_learning.png")
    said = pages.bullets(reading(everything))
    print(said)
    if docs:
        pages.put("label-figures", said, pages.DOCS / "label_privacy.md")


if __name__ == "__main__":
    main()
