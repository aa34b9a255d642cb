"""Pictures, all in one hand: colour-blind safe, legible at column width, units on the axes."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from darrm.atomic import replacing
from darrm.errors import InputError, MissingExtraError
from darrm.problem import MajorityProblem

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from darrm.comparison import Entry
    from darrm.design.design import Design

_FORMATS = ("png", "svg", "pdf")
# Okabe and Ito's palette, told apart by marker and line style too.
_LOOKS = [
    ("#0072B2", "o", "-"),
    ("#D55E00", "s", "--"),
    ("#009E73", "^", "-."),
    ("#CC79A7", "D", ":"),
    ("#E69F00", "v", "-"),
    ("#56B4E9", "P", "--"),
    ("#000000", "x", ":"),
]


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
    ax = _axes(ax)
    l = np.arange(problem.K + 1)
    voted = 2 * l != problem.K
    for (name, gamma), (colour, marker, line) in zip(gammas.items(), cycle(_LOOKS), strict=False):
        ax.plot(l[voted], gamma[voted], color=colour, marker=marker, linestyle=line, markersize=4, label=name)
    ax.set(xlabel="number of votes for 1, l", ylabel="gamma(l)", ylim=(-0.03, 1.03))
    ax.set_title(_title(problem), fontsize=9)
    ax.grid(alpha=0.25)
    if len(gammas) > 1:  # below the axes, where it covers nothing
        ax.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False)
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

    ax = _axes(ax)
    problem = design.problem
    epsilons = np.linspace(0, 1.5 * problem.total_epsilon, 121)
    exact = privacy_profile(design.gamma, problem, epsilons)
    # The profile of the pair of distributions that is (m epsilon, delta)-DP and nothing better.
    below = np.minimum(0.0, epsilons - problem.total_epsilon)
    worst = problem.delta - (1 - problem.delta) * np.expm1(below) / (1 + math.exp(-problem.total_epsilon))
    ax.plot(epsilons, exact, color=_LOOKS[0][0], label="exact, certified")
    ax.plot(epsilons, worst, color=_LOOKS[1][0], linestyle="--", label="all that the promise says")
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
    _write(path, plot_profile(design))


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
    from darrm.accounting.budget import check_delta, fixed_voters

    ax = _axes(ax)
    problem, delta = design.problem, check_delta(delta)
    lines = {
        "simple composition": {q: q * problem.total_epsilon for q in fresh if q * problem.delta <= delta},
        label: fresh,
        "fixed voters, any number": dict.fromkeys(fresh, fixed_voters(problem, delta)),
    }
    for (name, line), (colour, marker, style) in zip(lines.items(), (_LOOKS[6], _LOOKS[0], _LOOKS[1]), strict=True):
        points = [(q, epsilon) for q, epsilon in line.items() if 0 < epsilon < math.inf]
        if points:
            ax.plot(*zip(*points, strict=True), color=colour, marker=marker, linestyle=style, markersize=4, label=name)
    ax.set(xscale="log", yscale="log", xlabel="number of labels", ylabel=f"total epsilon at delta = {delta:g}, nats")
    ax.set_title(_title(problem), fontsize=9)
    ax.grid(alpha=0.25)
    if ax.lines:
        ax.legend(fontsize=8)
    return ax


def _axes(ax: Axes | None) -> Axes:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("Pictures need matplotlib. Run: pip install matplotlib.") from None
    return Figure(figsize=(5.2, 3.8), layout="constrained").add_subplot() if ax is None else ax


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
    entries : sequence of darrm.comparison.Entry
        Of `darrm.comparison.compare`. What is not verified has no line, and a hollow bar.
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
        figure: Any = _axes(None).figure
        figure.clear()
        figure.set_size_inches(9.6, 4.2)
        axes = figure.subplots(1, 2, width_ratios=[3, 2])
    left, right = axes
    looks = dict(zip([entry.name for entry in entries], cycle(_LOOKS), strict=False))
    l = np.arange(problem.K + 1)
    voted = 2 * l != problem.K
    for at, entry in enumerate(entries):
        (colour, marker, line), holds = looks[entry.name], entry.certificate.holds
        if holds:
            size = 4 if problem.K <= 41 else 0
            left.plot(l[voted], entry.gamma[voted], color=colour, marker=marker, linestyle=line, markersize=size)
        right.barh(at, entry.error, color=colour if holds else "none", edgecolor=colour)
        if entry.interval is not None:
            mean, low, high = entry.interval
            right.errorbar(mean, at, xerr=[[mean - low], [high - mean]], color="black", marker="|", capsize=3)
    left.set(xlabel="number of votes for 1, l", ylabel="gamma(l)", ylim=(-0.03, 1.03))
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
    _write(path, plot_comparison(problem, entries)[0])


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
    _write(path, plot_gamma(problem, gammas))


def _write(path: str | os.PathLike[str], ax: Axes) -> None:
    figure: Any = ax.figure
    with replacing(path) as file:
        figure.savefig(file, format=picture_format(path), dpi=200)


def picture_format(path: str | os.PathLike[str]) -> str:
    """png, svg or pdf by the ending of ``path``; any other is an `InputError`."""
    ending = Path(path).suffix.lstrip(".").lower()
    if ending not in _FORMATS:
        raise InputError(f"A picture must end in {', '.join(_FORMATS)}. Got {str(path)!r}.")
    return ending
