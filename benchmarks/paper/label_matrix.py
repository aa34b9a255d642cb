"""All mechanisms beside all measures, at one utility: a vote or a bag of K = 11 labels.

    python benchmarks/paper/label_matrix.py [--docs]

Takes: five seconds. --docs writes docs/label_privacy.md.

Utility is the probability to find the majority of the K labels from the release, for a receiver who knows of each
label only that it is a one with E[eta]. The attacker behind the measures knows eta_i of every label, drawn from a beta
distribution.
Utilities and measures are exact for the bags drawn; only the bags are random, and seeded.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import darrm
from darrm import baselines, mechanisms
from darrm.labels import CountKernel
from darrm.labels.aggregates import worst_delta
from darrm.labels.noisy_aggregates import noisy_delta
from darrm.numerics.poisson_binomial import pmf
from darrm.show.figures import LOOKS, TEXT, WIDTH, legend_of_all, new_figure, tidy
from darrm.show.plots_audit import MEASURES

sys.path.insert(0, str(Path(__file__).resolve().parent))

import pages

Array = NDArray[np.float64]
K, BAGS, VOTER_EPSILON = 11, 2000, 0.1
PAGE = pages.DOCS / "label_privacy.md"
MAJORITY = 2 * np.arange(K + 1) > K
SHOWN = {
    "additive_advantage": "additive advantage",
    "multiplicative_98": "98 % of |log odds change|, nats",
    "largest_log_odds_change": "largest log-odds change, nats",
    "mean_leakage": "mean maximal leakage, nats",
}


class Setting(NamedTuple):
    """Labels, and the utility at which mechanisms are compared."""

    key: str
    a: float
    b: float
    target: float

    @property
    def p(self) -> float:
        return self.a / (self.a + self.b)

    @property
    def ones(self) -> Array:
        """Pr[l ones among K labels], for the receiver."""
        return pmf(np.full(K, self.p))


SETTINGS = (Setting("balanced", 2, 2, 0.9), Setting("skewed", 2, 4, 0.95))


class Line(NamedTuple):
    """One mechanism at its parameter."""

    name: str
    parameter: str
    matched: bool
    utility: float
    label_dp: float
    row: darrm.labels.EqualUtility


def label_dp(mechanism: Any) -> float:
    """Least epsilon of label differential privacy, whatever the labels are and whoever knows the others, nats.

    Of noise functions probabilities below 1e-12 count as 0: the solver scales gamma(l) = 1 down by so little.
    """
    if isinstance(mechanism, mechanisms.RandomizedResponse | darrm.labels.LaplaceLabelProportions):
        return mechanism.epsilon
    kernel = mechanism.kernel(K)
    if isinstance(mechanism, CountKernel):
        kernel = np.where(kernel < 1e-12, 0, kernel)
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.abs(np.diff(np.log(kernel), axis=0))
    return float(steps[~np.isnan(steps)].max())


def designed(shape: str, ones: Array) -> Callable[[float], CountKernel]:
    """gamma_opt for an allowance m, for the votes as the receiver expects them."""
    prior = darrm.priors.votes(ones)

    def make(m: float) -> CountKernel:
        return CountKernel.from_noise_function(
            darrm.solve(K=K, m=m, epsilon=VOTER_EPSILON, prior=prior, shape=shape).gamma
        )

    return make


def lines(setting: Setting) -> list[Line]:
    """Every mechanism at the utility of the setting, or as near as it has one."""
    free, monotone = (designed(shape, setting.ones) for shape in ("free", "monotone"))
    constant = lambda c: CountKernel.from_noise_function(np.full(K + 1, c))  # noqa: E731
    tables = {"subsampling": baselines.subsampling, "double subsampling": baselines.double_subsampling}
    named: dict[str, tuple[str, Any]] = {
        "RandomizedResponse": ("epsilon", (mechanisms.RandomizedResponse, 0.01, 20)),
        "LaplaceLabelProportions": ("epsilon", (darrm.labels.LaplaceLabelProportions, 0.01, 50)),
        "GeometricLabelProportions": ("epsilon", (darrm.labels.GeometricLabelProportions, 0.01, 50)),
        "gamma_opt (DaRRM)": ("m", (free, 1, K)),
        "monotone (DaRRM)": ("m", (monotone, 1, K)),
        "randomized response on the majority": ("gamma", (constant, 0.01, 1)),
        "LaplaceNoisyMax": ("gamma", (mechanisms.LaplaceNoisyMax, 0.01, 20)),
        "GaussianNoisyMax": ("1 / sigma", (lambda s: mechanisms.GaussianNoisyMax(1 / s), 0.01, 20)),
    }
    for name, shares in tables.items():
        named[name] = "m", (lambda m, f=shares: CountKernel.from_noise_function(f(K, m)), range(1, K + 1))
    named |= {"LabelProportions": ("", darrm.labels.LabelProportions()), "plain majority": ("", constant(1.0))}
    eta = np.random.default_rng(2024).beta(setting.a, setting.b, size=(BAGS, K))
    families = {name: family for name, (_, family) in named.items()}
    rows = darrm.labels.at_equal_utility(families, eta, "majority right", setting.target, p=setting.p)
    return [
        Line(
            row.name,
            "none" if row.parameter is None else f"{named[row.name][0]} = {row.parameter:.4g}",
            row.matched,
            row.utility,
            label_dp(row.mechanism),
            row,
        )
        for row in rows
    ]


def table(found: Sequence[Line]) -> list[Mapping[str, Any]]:
    return [
        {
            "mechanism": one.name + ("" if one.matched else " *"),
            "parameter": one.parameter,
            "utility": one.utility,
            "additive": one.row.additive_advantage,
            "largest": one.row.max_individual_advantage,
            "98 %": one.row.multiplicative_98,
            "infinite": one.row.infinite_mass,
            "largest log-odds change": one.row.largest_log_odds_change,
            "label-DP epsilon": one.label_dp,
            "leakage, mean": one.row.mean_leakage,
            "leakage, largest": one.row.max_leakage,
        }
        for one in found
    ]


def figures(one: Line) -> dict[str, float]:
    return {title: getattr(one.row, name) for name, title in SHOWN.items()} | {"label-DP epsilon": one.label_dp}


def less(a: float, b: float) -> bool:
    return a < b * (1 - 1e-6)


def reversed_pairs(fair: Sequence[Line], title: str, other: str) -> str:
    """How many pairs two measures put in different orders."""
    values = [(figures(one)[title], figures(one)[other]) for one in fair]
    found = sum(less(a[0], b[0]) and less(b[1], a[1]) for a in values for b in values)
    return f"{other} {found} of {len(fair) * (len(fair) - 1) // 2}"


def reading(setting: Setting, found: Sequence[Line]) -> list[str]:
    """What the numbers say, and nothing else."""
    fair = [one for one in found if one.matched]
    said = []
    for name, title in SHOWN.items():
        order = sorted(fair, key=lambda one: getattr(one.row, name))
        listed = ", ".join(f"{one.name} {getattr(one.row, name):.3g}" for one in order)
        said.append(f"{title}, from least to most: {listed}.")
    below = {
        one.name: [other.name for other in fair if all(map(less, figures(one).values(), figures(other).values()))]
        for one in fair
    }
    listed = "; ".join(f"{name} below {', '.join(others)}" for name, others in below.items() if others)
    said.append(f"Below in all of these and in label-DP epsilon: {listed or 'no mechanism any other'}.")
    unbounded = [one for one in found if math.isinf(one.label_dp)]
    some = [f"{one.name} ({one.row.infinite_mass:.2g})" for one in unbounded if one.row.infinite_mass > 0]
    said.append(f"No label-DP epsilon at all: {', '.join(one.name for one in unbounded) or 'none of them'}.")
    said.append(f"Outputs that give a label away to this attacker, and their probability: {', '.join(some) or 'none'}.")
    first, *others = figures(fair[0])
    swaps = ", ".join(reversed_pairs(fair, first, other) for other in others)
    said.append(f"Pairs of matched mechanisms in another order than by {first}: {swaps}.")
    least = float(max(setting.ones[MAJORITY].sum(), setting.ones[~MAJORITY].sum()))
    said.append(
        f"Without any release the receiver is right with {least:.4f}; the utility asked for is {setting.target}."
    )
    return said


def aggregates() -> list[Mapping[str, Any]]:
    """Delta of weighted aggregates of bags of K labels 0 and 1, for any labels that the floor allows."""
    rows: list[Mapping[str, Any]] = []
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        row: dict[str, Any] = {"epsilon": epsilon}
        for floor in (1.0, 2.0):
            bound = worst_delta(epsilon, floor, (0, 1), leverage=0.5)
            row[f"weighted aggregates, residual sum of squares >= {floor:g}"] = bound.upper
        for sigma in (1.0, 4.0):
            row[f"noisy weighted, all noised, sigma {sigma:g}"] = noisy_delta(epsilon, K, 1.0, sigma, (0, 1))
        rows.append(row)
    return rows


def picture(found: Mapping[str, Sequence[Line]], path: Path) -> None:
    """Measures side by side, one row a mechanism; infinities at the right edge."""
    figure = new_figure((WIDTH, 4.6))
    axes = figure.subplots(1, len(SHOWN), sharey=True)
    for ax, name in zip(axes, SHOWN, strict=True):
        values = [getattr(one.row, name) for group in found.values() for one in group]
        edge = 1.15 * max(value for value in values if math.isfinite(value))
        for place, (setting, group) in enumerate(found.items()):
            colour, marker, _ = LOOKS[place]
            for y, one in enumerate(group):
                value = min(getattr(one.row, name), edge)
                fill = colour if one.matched else "none"
                label = setting if y == 0 else None
                ax.plot(value, y + 0.2 * place, marker, color=colour, markerfacecolor=fill, markersize=5, label=label)
        if any(map(math.isinf, values)):
            ax.axvline(0.94 * edge, color="black", linewidth=0.6, linestyle=":")
            ax.text(edge, 0.2, "infinite", rotation=90, fontsize=TEXT, ha="center", va="top")
        ax.set_xlabel(MEASURES[name], fontsize=TEXT)
        ax.set_xlim(left=0)
        ax.locator_params(axis="x", nbins=3)
        tidy(ax)
    first = next(iter(found.values()))
    axes[0].set_yticks(range(len(first)), [one.name.replace(" on the", "\non the") for one in first], fontsize=TEXT)
    axes[0].invert_yaxis()
    legend_of_all(axes[0], columns=2)
    pages.save(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", action="store_true", help="write tables and picture into docs")
    docs = parser.parse_args().docs
    found = {}
    for setting in SETTINGS:
        one = lines(setting)
        found[f"eta ~ Beta({setting.a:g}, {setting.b:g}), utility {setting.target:g}"] = one
        shown, said = pages.table(table(one)), pages.bullets(reading(setting, one))
        print(f"\n{setting}\n\n{shown}\n\n{said}")
        if docs:
            pages.put(f"matrix-{setting.key}", f"{shown}\n\n{said}", PAGE)
    weighted = pages.table(aggregates())
    print(f"\n{weighted}")
    if docs:
        pages.put("matrix-aggregates", weighted, PAGE)
        picture(found, pages.DOCS / "label_matrix.svg")
    else:
        picture(found, Path("label_matrix.png"))


if __name__ == "__main__":
    main()
