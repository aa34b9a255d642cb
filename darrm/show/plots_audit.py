"""Pictures of label audits, in the layout of the papers on label inference attacks.

Busa-Fekete et al. (2024), Figure 1 and Figure 2 (top): `plot_spindle`; Figure 2 (middle): `plot_advantage_cdf`;
Figure 3, and Figure 1 of Busa-Fekete et al. (2023): `plot_tradeoff`; Figure 2 of the latter: `plot_utility_grid`.
Colours and files are those of `darrm.show.figures`, errors those of `darrm.show.plots`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm.labels.audit_row import AuditRow
from darrm.measures.distribution import Distribution
from darrm.show.figures import axes_of, legend_below, looks, new_figure, picture_format, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]


def plot_spindle(
    pairs: Mapping[str, ArrayLike], epsilons: Sequence[float] = (), ax: Axes | None = None, *, legend: bool = True
) -> Axes:
    """Draw the chance of a one of every label after a release over that before.

    Parameters
    ----------
    pairs : mapping of str to array_like, shape (labels, 2)
        Before and after, by mechanism; `darrm.measures.posterior_pairs`.
    epsilons : sequence of float
        Draw the bounds on which the log odds have changed by so much: an epsilon-label-DP mechanism stays between them.
    ax : matplotlib axes, optional
    legend : bool

    Returns
    -------
    matplotlib axes

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    ax = axes_of(ax)
    for (name, points), (colour, marker, _) in zip(pairs.items(), looks(pairs).values(), strict=True):
        before, after = np.asarray(points, dtype=np.float64).T
        ax.plot(before, after, marker, color=colour, markersize=2.5, markeredgewidth=0.4, alpha=0.5, label=name)
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
        `darrm.measures.multiplicative_advantage`, or the `individual_advantage` of all labels. A line that ends below 1
        at the right edge shows larger values or an infinite mass.
    ax : matplotlib axes, optional
    multiplicative : bool
        What the axis is called.
    top : float, optional
        Right end of the axis; by default just beyond the largest finite 99th percentile.
    legend : bool

    Returns
    -------
    matplotlib axes

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    ax = axes_of(ax)
    functions = {name: _function(given) for name, given in distributions.items()}
    if top is None:
        reach = [high(level) for _, high in functions.values() for level in (0.99, 0.9, 0.5)]
        finite = [value for value in reach if math.isfinite(value)]
        top = 1.15 * max(finite, default=1.0) or 1.0
    x = np.linspace(0, top, 601)
    for (name, (cdf, _)), (colour, _, line) in zip(functions.items(), looks(functions).values(), strict=True):
        ax.plot(x, [cdf(float(value)) for value in x], color=colour, linestyle=line, label=name)
    name = "|change of the log odds|, nats" if multiplicative else "individual advantage"
    ax.set(xlabel=name, ylabel="share", ylim=(-0.02, 1.03), xlim=(0, top))
    ax.grid(alpha=0.25)
    if legend:
        legend_below(ax)
    return ax


def plot_tradeoff(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]],
    ax: Axes | None = None,
    *,
    xlabel: str = "additive advantage",
    ylabel: str = "AUC",
    legend: bool = True,
) -> Axes:
    """Draw utility over advantage, one curve a mechanism, one point a setting of its parameter.

    Parameters
    ----------
    curves : mapping of str to (advantages, utilities)
        Points of infinite advantage are drawn at the right edge, beyond a line, with a word on the axis.
    ax : matplotlib axes, optional
    xlabel, ylabel : str
    legend : bool

    Returns
    -------
    matplotlib axes

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    ax = axes_of(ax)
    found = {name: (np.asarray(x, float), np.asarray(y, float)) for name, (x, y) in curves.items()}
    everything = np.concatenate([x for x, _ in found.values()])
    finite = everything[np.isfinite(everything)]
    most = float(finite.max()) if finite.size else 1.0
    edge = 1.12 * most or 1.0
    for (name, (x, y)), (colour, marker, line) in zip(found.items(), looks(found).values(), strict=True):
        order = np.argsort(x, kind="stable")
        shown = np.where(np.isfinite(x[order]), x[order], edge)
        ax.plot(shown, y[order], color=colour, marker=marker, linestyle=line, markersize=4, label=name)
    if finite.size < everything.size:
        ax.axvline((most + edge) / 2, color="black", linewidth=0.6, linestyle=":")
        ax.text(edge, 0.02, "infinite", transform=ax.get_xaxis_transform(), fontsize=7, rotation=90, ha="center")
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.grid(alpha=0.25)
    if legend:
        legend_below(ax)
    return ax


def plot_utility_grid(
    sizes: Sequence[int], curves: Mapping[str, ArrayLike], ax: Axes | None = None, *, ylabel: str = "AUC"
) -> Axes:
    """Draw utility over the bag size, one curve an epsilon.

    Parameters
    ----------
    sizes : sequence of int, length s
        Bag sizes, on a logarithmic axis.
    curves : mapping of str to array_like, shape (s,)
        For instance by ``f"epsilon = {epsilon:g}"``.
    ax : matplotlib axes, optional
    ylabel : str

    Returns
    -------
    matplotlib axes

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    ax = axes_of(ax)
    for (name, y), (colour, marker, line) in zip(curves.items(), looks(curves).values(), strict=True):
        ax.plot(sizes, np.asarray(y, float), color=colour, marker=marker, linestyle=line, markersize=4, label=name)
    ax.set_xscale("log", base=2)
    ax.set_xticks(list(sizes), [str(size) for size in sizes])
    ax.set(xlabel="bag size k", ylabel=ylabel)
    ax.grid(alpha=0.25)
    legend_below(ax)
    return ax


def save_audit(path: str | os.PathLike[str], rows: Sequence[AuditRow]) -> None:
    """Write a picture of an audit as PNG, SVG or PDF, by the ending of ``path``.

    The additive advantage and the 98th percentile of the multiplicative over the promised epsilon, one curve for a
    mechanism and bag size. What promises none is a level.

    Raises
    ------
    InputError, MissingExtraError, OutputError
        If the ending is another, matplotlib is missing, or the path cannot be written.
    """
    picture_format(path)
    figure = new_figure((8.4, 4.2))
    axes = figure.subplots(1, 2)
    groups: dict[str, list[AuditRow]] = {}
    for row in rows:
        groups.setdefault(f"{row.mechanism}, k = {row.bag_size}", []).append(row)
    _over_epsilon(axes[0], groups, "additive_advantage", "additive advantage")
    _over_epsilon(axes[1], groups, "multiplicative_98", "98 % of |log odds change|, nats")
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    save(path, axes[0])


def _over_epsilon(ax: Axes, groups: Mapping[str, Sequence[AuditRow]], name: str, label: str) -> None:
    values = [getattr(row, name) for rows in groups.values() for row in rows]
    most = max((value for value in values if math.isfinite(value)), default=1.0)
    edge = 1.15 * most or 1.0
    for (group, rows), (colour, marker, line) in zip(groups.items(), looks(groups).values(), strict=True):
        look: dict[str, Any] = {"color": colour, "linestyle": line, "label": group}
        heights = [min(getattr(row, name), edge) for row in rows]
        if all(math.isfinite(row.promised_epsilon) for row in rows):
            ax.plot([row.promised_epsilon for row in rows], heights, marker=marker, markersize=4, **look)
        else:
            ax.axhline(heights[0], **look)
    if len(values) > sum(map(math.isfinite, values)):
        ax.text(0.02, edge, "infinite", transform=ax.get_yaxis_transform(), fontsize=7, va="bottom")
    ax.set(xlabel="promised epsilon, nats", ylabel=label, xscale="log", ylim=(0, 1.1 * edge))
    ticks = sorted({row.promised_epsilon for rows in groups.values() for row in rows} - {math.inf})
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_xticks([], minor=True)
    ax.grid(alpha=0.25)


def _function(given: Any) -> tuple[Any, Any]:
    """Distribution function and quantiles."""
    if hasattr(given, "cdf"):
        return given.cdf, given.quantile
    numbers = np.sort(np.asarray(given, dtype=np.float64).ravel())

    def cdf(x: float) -> float:
        return float(np.searchsorted(numbers, x, side="right") / numbers.size)

    return cdf, lambda q: float(np.quantile(numbers, q))
