"""Pictures of noise functions, of comparisons and of privacy profiles: legible at column width, units on the axes."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from darrm.problem.majority import MajorityProblem
from darrm.show.figures import LOOKS, axes_of, legend_below, looks, new_figure, picture_format, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from darrm.design.design import Design
    from darrm.measures.comparison import Entry


def plot_gamma(problem: MajorityProblem, gammas: Mapping[str, NDArray[np.float64]], ax: Axes | None = None) -> Axes:
    """Draw noise functions over the number of ones.

    Parameters
    ----------
    problem : MajorityProblem
    gammas : mapping of str to ndarray, shape (K + 1,)
        Noise functions by name.
    ax : matplotlib axes, optional
        Made if not given.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    ax = axes_of(ax)
    l = np.arange(problem.K + 1)
    voted = 2 * l != problem.K
    for name, (colour, marker, line) in looks(gammas).items():
        ax.plot(l[voted], gammas[name][voted], color=colour, marker=marker, linestyle=line, markersize=4, label=name)
    ax.set(xlabel="number of votes for 1, l", ylabel="gamma(l)", ylim=(-0.03, 1.03))
    _whole_votes(ax)
    ax.set_title(_title(problem), fontsize=9)
    ax.grid(alpha=0.25)
    if len(gammas) > 1:
        legend_below(ax)
    return ax


def plot_profile(design: Design, ax: Axes | None = None) -> Axes:
    """Draw the exact privacy profile of one release, beside what its promise alone says.

    Parameters
    ----------
    design : Design
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    from darrm.accounting.profile import privacy_profile

    ax = axes_of(ax)
    problem = design.problem
    epsilons = np.linspace(0, 1.5 * problem.total_epsilon, 121)
    exact = privacy_profile(design.gamma, problem, epsilons)
    # The profile of the pair of distributions that is (m epsilon, delta)-DP and nothing better.
    below = np.minimum(0.0, epsilons - problem.total_epsilon)
    worst = problem.delta - (1 - problem.delta) * np.expm1(below) / (1 + math.exp(-problem.total_epsilon))
    ax.plot(epsilons, exact, color=LOOKS[0][0], label="exact, certified")
    ax.plot(epsilons, worst, color=LOOKS[1][0], linestyle="--", label="all that the promise says")
    ax.plot(problem.total_epsilon, problem.delta, "kx", label="the promise")
    ax.set(
        xlabel="epsilon of one release, nats", ylabel="delta", ylim=(-0.02 * exact[0], 1.1 * max(worst[0], exact[0]))
    )
    ax.set_title(_title(problem), fontsize=9)
    ax.grid(alpha=0.25)
    ax.legend(fontsize=8)
    return ax


def save_profile(path: str | os.PathLike[str], design: Design) -> None:
    """Write the picture of `plot_profile` as PNG, SVG or PDF, by the ending of ``path``; errors as `save_gamma`."""
    picture_format(path)  # a wrong ending is said before the work
    save(path, plot_profile(design))


def plot_budget(
    design: Design,
    fresh: Mapping[int, float],
    *,
    delta: float,
    label: str = "fresh voters",
    ax: Axes | None = None,
) -> Axes:
    """Draw what labels cost together, fresh voters and fixed, over their number; both axes logarithmic.

    Parameters
    ----------
    design : Design
    fresh : mapping of int to float
        Total epsilon of so many labels of fresh voters, such as ``upper`` of `darrm.accounting.compose`; an infinite
        one has no point. Beside it simple composition, where ``delta`` pays for it, and what fixed voters cost
        whatever the number of labels: the optimal composition of ``changed`` copies of (epsilon, Delta).
    delta : float in [0, 1)
        For all labels together.
    label : str
        Of the line of ``fresh``.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Raises
    ------
    InputError, MissingExtraError
        If delta is out of range, or matplotlib is not installed.
    """
    from darrm._validation import check_delta
    from darrm.accounting.fixed import fixed_voters

    ax = axes_of(ax)
    problem, delta = design.problem, check_delta(delta)
    lines = {
        "simple composition": {q: q * problem.total_epsilon for q in fresh if q * problem.delta <= delta},
        label: fresh,
        "fixed voters, any number": dict.fromkeys(fresh, fixed_voters(problem, delta)),
    }
    for (name, line), (colour, marker, style) in zip(lines.items(), (LOOKS[6], LOOKS[0], LOOKS[1]), strict=True):
        points = [(q, epsilon) for q, epsilon in line.items() if 0 < epsilon < math.inf]
        if points:
            ax.plot(*zip(*points, strict=True), color=colour, marker=marker, linestyle=style, markersize=4, label=name)
    ax.set(xscale="log", yscale="log", xlabel="number of labels", ylabel=f"total epsilon at delta = {delta:g}, nats")
    ax.set_title(_title(problem), fontsize=9)
    ax.grid(alpha=0.25)
    if ax.lines:
        ax.legend(fontsize=8)
    return ax


def _whole_votes(ax: Axes) -> None:
    """Ticks as usual, but at whole numbers alone: there is no half vote."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10], integer=True))


def _title(problem: MajorityProblem) -> str:
    return (
        f"K = {problem.K}, m = {problem.m:g}, epsilon = {problem.epsilon:g}, Delta = {problem.Delta:g}, "
        f"delta = {problem.delta:.3g}, changed = {problem.changed}"
    )


def plot_comparison(
    problem: MajorityProblem, entries: Sequence[Entry], axes: Sequence[Axes] | None = None
) -> list[Axes]:
    """Draw the noise functions of a comparison that hold, and beside them the error of each.

    Parameters
    ----------
    problem : MajorityProblem
    entries : sequence of darrm.measures.comparison.Entry
        Of `darrm.measures.comparison.compare`. What is not verified has no line, and a hollow bar.
    axes : two matplotlib axes, optional

    Returns
    -------
    list of two matplotlib axes

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    if axes is None:
        axes = new_figure((9.6, 4.2)).subplots(1, 2, width_ratios=[3, 2])
    left, right = axes
    styles = looks(entry.name for entry in entries)
    l = np.arange(problem.K + 1)
    voted = 2 * l != problem.K
    for at, entry in enumerate(entries):
        (colour, marker, line), holds = styles[entry.name], entry.certificate.holds
        if holds:
            size = 4 if problem.K <= 41 else 0
            left.plot(l[voted], entry.gamma[voted], color=colour, marker=marker, linestyle=line, markersize=size)
        right.barh(at, entry.error, color=colour if holds else "none", edgecolor=colour)
        if entry.interval is not None:
            mean, low, high = entry.interval
            right.errorbar(mean, at, xerr=[[mean - low], [high - mean]], color="black", marker="|", capsize=3)
    left.set(xlabel="number of votes for 1, l", ylabel="gamma(l)", ylim=(-0.03, 1.03))
    _whole_votes(left)
    right.set(xlabel="error, total variation", yticks=range(len(entries)))
    right.set_yticklabels([e.name if e.certificate.holds else f"{e.name}: not verified" for e in entries], fontsize=8)
    right.invert_yaxis()
    left.grid(alpha=0.25)
    right.grid(alpha=0.25, axis="x")
    left.set_title(_title(problem), fontsize=9)
    return [left, right]


def save_comparison(path: str | os.PathLike[str], problem: MajorityProblem, entries: Sequence[Entry]) -> None:
    """Write the picture of `plot_comparison` as PNG, SVG or PDF, by the ending of ``path``; errors as `save_gamma`."""
    picture_format(path)  # a wrong ending is said before the work
    save(path, plot_comparison(problem, entries)[0])


def save_gamma(
    path: str | os.PathLike[str], problem: MajorityProblem, gammas: Mapping[str, NDArray[np.float64]]
) -> None:
    """Write the picture of `plot_gamma` as PNG, SVG or PDF, by the ending of ``path``.

    Raises
    ------
    InputError, MissingExtraError, OutputError
        If the ending is another, matplotlib is missing, or the path cannot be written.
    """
    picture_format(path)  # a wrong ending is said before the work
    save(path, plot_gamma(problem, gammas))
