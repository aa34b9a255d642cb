"""Pictures of label audits, in the layout of the papers on label inference attacks.

Busa-Fekete et al. (2024), Figure 1 and Figure 2 (top): `plot_spindle`; Figure 2 (middle): `plot_advantage_cdf`;
Figure 3, and Figure 1 of Busa-Fekete et al. (2023): `plot_tradeoff`; Figure 2 of the latter: `plot_utility_grid`.
Each is drawn on the axes ``ax``, or on new ones, which it returns; without matplotlib it raises `MissingExtraError`.
Colours are those of `darrm.show.figures`, whose `save` writes pictures to files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm.labels.audit_row import AuditRow
from darrm.labels.measures.distribution import Distribution
from darrm.labels.measures.utility import EqualUtility
from darrm.show.figures import LOOKS, TEXT, WIDTH, axes_of, curve, legend_below, legend_of_all, looks, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]
# What is shown of mechanisms side by side, as narrow axes are called.
MEASURES = {
    "additive_advantage": "additive\nadvantage",
    "multiplicative_98": "98th percentile of\nlog-odds change, nats",
    "largest_log_odds_change": "largest log-odds\nchange, nats",
    "mean_leakage": "mean maximal\nleakage, nats",
}


def plot_spindle(
    pairs: Mapping[str, ArrayLike], epsilons: Sequence[float] = (), ax: Axes | None = None, *, legend: bool = True
) -> Axes:
    """Draw the probability of a one of every private label after a release over that before.

    Parameters
    ----------
    pairs : mapping of str to array_like, shape (labels, 2)
        Before and after, by mechanism; `darrm.labels.posterior_pairs`.
    epsilons : sequence of float
        Draw the bounds on which the log odds have changed by so much: an epsilon-label-DP mechanism stays between them.
    legend : bool

    Examples
    --------
    The sum 3 of a bag of four, and the bounds of epsilon 1:

    >>> import darrm
    >>> pairs = darrm.labels.posterior_pairs(darrm.labels.LabelProportions(), [0.9, 0.5, 0.6, 0.2], 3)
    >>> axes = darrm.show.plots_audit.plot_spindle({"sum": pairs}, epsilons=[1.0])
    >>> axes.figure.savefig("spindle.png")
    """
    ax, styles = axes_of(ax), looks(pairs)
    ax.grid(visible=False)
    for name, points in pairs.items():
        before, after = np.asarray(points, dtype=np.float64).T
        faint = {"linestyle": "none", "markersize": 2.5, "markeredgewidth": 0.4, "alpha": 0.5}
        curve(ax, before, after, styles[name], name, **faint)
    prior = np.linspace(0, 1, 201)
    ax.plot([0, 1], [0, 1], color="black", linestyle=":", linewidth=0.8)
    for epsilon in epsilons:
        for odds in (math.exp(epsilon), math.exp(-epsilon)):
            ax.plot(prior, prior * odds / (1 - prior + prior * odds), color="black", linewidth=0.6)
    ax.set(xlabel="before: Pr[y = 1 | x]", ylabel="after the release", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.set_aspect("equal")
    if legend:
        legend_below(ax, 4)
    return ax


def plot_advantage_cdf(
    distributions: Mapping[str, Distribution | ArrayLike],
    ax: Axes | None = None,
    *,
    multiplicative: bool = True,
    top: float | None = None,
    legend: bool = True,
) -> Axes:
    """Draw distribution functions of the multiplicative or the additive advantage.

    Parameters
    ----------
    distributions : mapping of str to a Distribution or an array_like of numbers
        `darrm.labels.multiplicative_advantage`, or the `individual_advantage` of all labels. A line that ends below 1
        at the right edge shows larger values or an infinite mass.
    multiplicative : bool
        What the axis is called.
    top : float, optional
        Right end of the axis; by default just beyond the largest finite 99th percentile.
    legend : bool

    Examples
    --------
    >>> import darrm
    >>> sums, noisy = darrm.labels.LabelProportions(), darrm.labels.GeometricLabelProportions(1.0)
    >>> laws = {
    ...     "sums": darrm.labels.multiplicative_advantage(sums, [0.5] * 8),
    ...     "noisy": darrm.labels.multiplicative_advantage(noisy, [0.5] * 8),
    ... }
    >>> darrm.show.plots_audit.plot_advantage_cdf(laws).figure.savefig("cdf.png")
    """
    ax, styles = axes_of(ax), looks(distributions)
    functions = {name: _function(given) for name, given in distributions.items()}
    if top is None:
        reach = [high(level) for _, high in functions.values() for level in (0.99, 0.9, 0.5)]
        finite = [value for value in reach if math.isfinite(value)]
        top = 1.15 * max(finite, default=1.0) or 1.0
    x = np.linspace(0, top, 601)
    for name, (cdf, _) in functions.items():
        curve(ax, x, [cdf(float(value)) for value in x], styles[name], name, marker="")
    name = "|change of the log odds|, nats" if multiplicative else "individual advantage"
    ax.set(xlabel=name, ylabel="share", ylim=(-0.02, 1.03), xlim=(0, top))
    if legend:
        legend_below(ax)
    return ax


def plot_tradeoff(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]],
    ax: Axes | None = None,
    *,
    xlabel: str = "additive advantage",
    ylabel: str = "AUC",
    log: bool = False,
    legend: bool = True,
) -> Axes:
    """Draw utility over advantage: one curve for each mechanism, one point for each value of its parameter.

    Parameters
    ----------
    curves : mapping of str to (advantages, utilities)
        Points of infinite advantage are drawn at the right edge, beyond a line marked "infinite". On a logarithmic axis
        points of advantage 0 are drawn at the left edge in the same way. They are not joined with the rest of their
        curve.
    xlabel, ylabel : str
    log : bool
        Whether the axis of advantages is logarithmic.
    legend : bool

    Examples
    --------
    Randomized response: accuracy of the attacker over the additive advantage, for three epsilons.

    >>> import darrm
    >>> eta, rr = [0.3, 0.6], [darrm.mechanisms.RandomizedResponse(epsilon) for epsilon in (0.5, 1.0, 2.0)]
    >>> gains = [darrm.labels.additive_advantage(mechanism, eta) for mechanism in rr]
    >>> right = [darrm.labels.attack_utility(mechanism, eta) for mechanism in rr]
    >>> axes = darrm.show.plots_audit.plot_tradeoff({"rr": (gains, right)}, ylabel="labels guessed right")
    >>> axes.figure.savefig("tradeoff.png")
    """
    ax, styles = axes_of(ax), looks(curves)
    points = {name: (np.asarray(x, float), np.asarray(y, float)) for name, (x, y) in curves.items()}
    everything = np.concatenate([x for x, _ in points.values()])
    shown = everything[np.isfinite(everything) & ((everything > 0) | (not log))]
    least, most = (float(shown.min()), float(shown.max())) if shown.size else (1.0, 1.0)
    edges = {math.inf: 2 * most if log else 1.12 * most or 1.0} | ({0.0: least / 2} if log else {})
    for name, (x, y) in points.items():
        order = np.argsort(x, kind="stable")
        x, y = x[order], y[order]
        breaks = np.flatnonzero([a != b and (a in edges or b in edges) for a, b in pairwise(x.tolist())]) + 1
        at = np.array([edges.get(value, value) for value in x.tolist()])
        curve(ax, np.insert(at, breaks, np.nan), np.insert(y, breaks, np.nan), styles[name], name)
    for value, edge in edges.items():
        if value in everything:
            nearest = most if value else least
            middle = math.sqrt(nearest * edge) if log else (nearest + edge) / 2
            ax.axvline(middle, color="black", linewidth=0.6, linestyle=":")
            said = "infinite" if value else "zero"
            place: dict[str, Any] = {"ha": "right", "xytext": (-1, 0)} if value else {"ha": "left", "xytext": (1, 0)}
            ax.annotate(said, (middle, 0.02), xycoords=ax.get_xaxis_transform(), textcoords="offset points",
                        fontsize=TEXT, rotation=90, **place)  # fmt: skip
    ax.set(xlabel=xlabel, ylabel=ylabel, xscale="log" if log else "linear")
    if legend:
        legend_below(ax)
    return ax


def plot_utility_grid(
    sizes: Sequence[int],
    curves: Mapping[str, ArrayLike],
    ax: Axes | None = None,
    *,
    ylabel: str = "AUC",
    legend: bool = True,
) -> Axes:
    """Draw utility over the bag size, one curve for each epsilon.

    Parameters
    ----------
    sizes : sequence of int, length s
        Bag sizes, on a logarithmic axis.
    curves : mapping of str to array_like, shape (s,)
        For instance by ``f"epsilon = {epsilon:g}"``.
    ylabel : str
    legend : bool

    Examples
    --------
    Accuracy of the best attacker, over the size of the bag:

    >>> import darrm
    >>> llp, sizes = darrm.labels.GeometricLabelProportions, [2, 4, 8]
    >>> curves = {
    ...     f"epsilon = {epsilon:g}": [darrm.labels.attack_utility(llp(epsilon), [0.5] * k) for k in sizes]
    ...     for epsilon in (0.5, 2.0)
    ... }
    >>> axes = darrm.show.plots_audit.plot_utility_grid(sizes, curves, ylabel="labels guessed right")
    >>> axes.figure.savefig("grid.png")
    """
    ax, styles = axes_of(ax), looks(curves)
    for name, y in curves.items():
        curve(ax, sizes, np.asarray(y, float), styles[name], name)
    ax.set_xscale("log", base=2)
    every = 1 + (len(sizes) - 1) // 6  # names have room for some six
    ax.set_xticks(list(sizes), ["" if i % every else str(size) for i, size in enumerate(sizes)], fontsize=TEXT)
    ax.set(xlabel="bag size k", ylabel=ylabel)
    if legend:
        legend_below(ax)
    return ax


def plot_equal_utility(rows: Sequence[EqualUtility]) -> list[Axes]:
    """Draw mechanisms side by side at one utility, as `darrm.labels.at_equal_utility` returns them.

    Four new axes, one for each measure: additive advantage, 98th percentile of the multiplicative, largest log-odds
    change, mean maximal leakage. A hollow mark is not at the utility; a mark beyond the dotted line is infinite.

    Examples
    --------
    Two mechanisms at which six labels of ten are guessed right:

    >>> import darrm
    >>> rr, geometric = darrm.mechanisms.RandomizedResponse, darrm.labels.GeometricLabelProportions
    >>> families = {"rr": (rr, 0.01, 20), "geometric": (geometric, 0.01, 20)}
    >>> rows = darrm.labels.at_equal_utility(families, [0.3, 0.5, 0.7, 0.6], "accuracy", 0.6, tolerance=0.001)
    >>> panels = darrm.show.plots_audit.plot_equal_utility(rows)
    >>> panels[0].figure.savefig("equal.png")
    """
    figure = new_figure((WIDTH, 1.4 + 0.35 * len(rows)))
    axes: list[Axes] = figure.subplots(1, 4, sharey=True).tolist()
    for ax, (name, title) in zip(axes, MEASURES.items(), strict=True):
        values = [getattr(row, name) for row in rows]
        edge = 1.15 * max((value for value in values if math.isfinite(value)), default=1.0) or 1.0
        for y, (row, value) in enumerate(zip(rows, values, strict=True)):
            fill = LOOKS[0][0] if row.matched else "none"
            ax.plot(min(value, edge), y, "o", color=LOOKS[0][0], markerfacecolor=fill, markersize=5)
        if any(map(math.isinf, values)):
            ax.axvline(0.94 * edge, color="black", linewidth=0.6, linestyle=":")
            ax.text(edge, 0.5, "infinite", transform=ax.get_xaxis_transform(), fontsize=TEXT, rotation=90, ha="center")
        ax.set_xlabel(title, fontsize=TEXT)
        ax.locator_params(axis="x", nbins=3)
        ax.tick_params(axis="x", labelsize=TEXT)
        ax.set_xlim(left=0, right=1.05 * edge)
        tidy(ax)
    names = [
        row.name if row.parameter is None else f"{row.name}, {row.parameter:.3g} (k = {row.bag_size})" for row in rows
    ]
    axes[0].set_yticks(range(len(rows)), names, fontsize=TEXT)
    axes[0].invert_yaxis()
    return axes


def plot_audit(rows: Sequence[AuditRow]) -> list[Axes]:
    """Draw an audit: additive advantage and 98th percentile of the multiplicative over the guaranteed epsilon.

    There is one curve for each kind of mechanism and bag size, over all its epsilons, whatever the rows are called; a
    mechanism without a guarantee is a horizontal line. Returns two new axes side by side.

    Examples
    --------
    >>> import darrm
    >>> llp = darrm.labels.GeometricLabelProportions
    >>> mechanisms = {f"geometric {epsilon:g}": llp(epsilon) for epsilon in (0.5, 2.0)}
    >>> rows = darrm.labels.audit(mechanisms, [0.5] * 64, bag_size=8)
    >>> panels = darrm.show.plots_audit.plot_audit(rows)
    >>> panels[0].figure.savefig("audit.png")
    """
    figure = new_figure((WIDTH, 4.0))
    axes: list[Axes] = figure.subplots(1, 2).tolist()
    groups = _by_kind(rows)
    _over_epsilon(axes[0], groups, "additive_advantage", "additive advantage")
    _over_epsilon(axes[1], groups, "multiplicative_98", MEASURES["multiplicative_98"])
    legend_of_all(axes[0])
    return axes


def _by_kind(rows: Sequence[AuditRow]) -> dict[str, list[AuditRow]]:
    """Rows of one kind of mechanism and bag size, by epsilon; the kind is their name, if they have one name."""
    kinds: dict[tuple[str, int], list[AuditRow]] = {}
    for row in rows:
        has_curve = row.released_by is not None and math.isfinite(row.guaranteed_epsilon)
        kinds.setdefault((_kind(row.released_by) if has_curve else row.mechanism, row.bag_size), []).append(row)
    groups: dict[str, list[AuditRow]] = {}
    for (kind, k), group in kinds.items():
        names = {row.mechanism for row in group}
        title = f"{names.pop() if len(names) == 1 else kind}, k = {k}"
        groups.setdefault(title, []).extend(sorted(group, key=lambda row: row.guaranteed_epsilon))
    return groups


def _kind(mechanism: Any) -> str:
    """Class of a mechanism; of several together, all classes."""
    parts = getattr(mechanism, "mechanisms", None)
    return type(mechanism).__name__ if parts is None else " + ".join(map(_kind, parts))


def _over_epsilon(ax: Axes, groups: Mapping[str, Sequence[AuditRow]], name: str, label: str) -> None:
    ax, styles = axes_of(ax), looks(groups)
    values = [getattr(row, name) for rows in groups.values() for row in rows]
    most = max((value for value in values if math.isfinite(value)), default=1.0)
    edge = 1.15 * most or 1.0
    for group, rows in groups.items():
        heights = [min(getattr(row, name), edge) for row in rows]
        if all(math.isfinite(row.guaranteed_epsilon) for row in rows):
            curve(ax, [row.guaranteed_epsilon for row in rows], heights, styles[group], group)
        else:
            colour, _, line = styles[group]
            ax.axhline(heights[0], color=colour, linestyle=line, label=group)
    if len(values) > sum(map(math.isfinite, values)):
        ax.text(0.02, edge, "infinite", transform=ax.get_yaxis_transform(), fontsize=TEXT, va="bottom")
    ax.set(xlabel="guaranteed epsilon, nats", ylabel=label, xscale="log", ylim=(0, 1.1 * edge))
    ticks = sorted({row.guaranteed_epsilon for rows in groups.values() for row in rows} - {math.inf})
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_xticks([], minor=True)


def _function(given: Any) -> tuple[Any, Any]:
    """Distribution function and quantiles."""
    if hasattr(given, "cdf"):
        return given.cdf, given.quantile
    numbers = np.sort(np.asarray(given, dtype=np.float64).ravel())

    def cdf(x: float) -> float:
        return float(np.searchsorted(numbers, x, side="right") / numbers.size)

    return cdf, lambda q: float(np.quantile(numbers, q))
