"""Pictures of decisions between several classes by one group of voters: a triangle for three, else curves or dots."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from darrm.problem.class_votes import all_votes, class_probabilities
from darrm.problem.counts import Counts
from darrm.show.classes import alike, of_most_votes, rows
from darrm.show.figures import LOOKS, TEXT, curve, limits_of, name_lines, new_figure, tidy

if TYPE_CHECKING:
    from darrm.design.design import Design

_SIDE_BY_SIDE = 2  # triangles
_SMALLEST = 4.5  # points, of a number in a cell
_HEIGHT = math.sqrt(3) / 2  # of a triangle with sides of 1
_LONG_NAME = 12  # characters


def plot_classes(design: Design, *, title: bool = True) -> Any:
    """`darrm.show.plots_decision.plot_decision` of several answers, of one group."""
    problem = design.problem
    name = limits_of(problem, design.objective) if title else ""
    if problem.n_classes == 3:
        return _triangles(design, name)
    return _two_classes(design, name) if problem.n_classes == 2 else _leads(design, name)


def described(design: Design) -> str:
    """What `plot_classes` shows, for those who cannot see it."""
    problem = design.problem
    whole = rows(design)
    first = of_most_votes(whole, design)
    closest = int(np.argmin(_lead(whole.votes)))
    ends = (
        f"The class with the most votes has probability {first[0]:.4g} if all voters name "
        f"{'the same class' if alike(design) else problem.names[0]}, and {first[closest]:.4g} for the closest votes."
    )
    if problem.none:
        ends += (
            f" The answer none has probability {whole.chances[0, -1]:.4g} and {whole.chances[closest, -1]:.4g} there."
        )
    if problem.n_classes == 3:
        of = " and ".join(f'"{answer}"' for answer, _ in _panels(design))
        return f"A triangle of all votes for three classes, coloured by the probability of {of}. {ends}"
    if problem.n_classes == 2:
        return f"A line for each answer over the number of votes for {problem.names[1]}. {ends}"
    return f"The probability of the class with the most votes over its lead. {ends}"


def caption(design: Design) -> str:
    """What a reader sees in `plot_classes`."""
    problem = design.problem
    if problem.n_classes == 3:
        every = "The triangles of the other classes are rotations of it. " if alike(design) else ""
        return (
            "Each cell is one vector of votes for the three classes; in a corner all voters name the class written "
            f"there. The colour is the probability of the answer named above. {every}"
        ).strip()
    if problem.n_classes == 2:
        return f"The probability of each answer, by the number of votes for {problem.names[1]}."
    return "The probability of the class with the most votes, by its lead over the next class."


def _panels(design: Design) -> list[tuple[str, int]]:
    """The answers that have a triangle each: one class where all are alike, and none."""
    problem = design.problem
    which = [0] if alike(design) else [0, 1, 2]
    return [(problem.answers[o], o) for o in (*which, *range(3, problem.n_answers))]


def _triangles(design: Design, name: str) -> Any:
    problem = design.problem
    panels, votes = _panels(design), all_votes(problem)
    chances = class_probabilities(design.table, problem, votes)
    wide = min(len(panels), _SIDE_BY_SIDE)  # more would be too small to read on a narrow screen
    high, side = -(-len(panels) // wide), 3.6 if wide == 1 else 2.4
    figure = new_figure((side * wide + 0.8, 0.95 * side * high + 0.25 * bool(name)))
    axes = np.ravel(figure.subplots(high, wide, squeeze=False))
    for ax in axes:
        ax.set_axis_off()
    for ax, (answer, o) in zip(axes, panels, strict=False):
        cells = _triangle(ax, votes[:, 0], chances[:, o], problem.names, 17.0 * side)
        ax.set_title(f'probability of "{_short(answer)}"', fontsize=TEXT)
    figure.colorbar(cells, ax=list(axes), label="probability", shrink=0.8)
    if name:
        figure.suptitle(name, fontsize=TEXT)
    return figure


def _triangle(ax: Any, votes: Counts, chances: Any, names: tuple[str, ...], points: float) -> Any:
    """A cell for each vector of votes, in barycentric coordinates: class 0 on the left, 1 on the right, 2 on top.

    ``points`` is how much room the numbers of one line of cells have together.
    """
    from matplotlib.collections import PolyCollection

    K = int(votes[0].sum())
    x, y = votes[:, 1] + votes[:, 2] / 2, votes[:, 2] * _HEIGHT
    turns = np.pi / 6 + np.arange(6) * np.pi / 3
    hexagon = np.stack([np.cos(turns), np.sin(turns)], axis=-1) / math.sqrt(3)
    corners = np.stack([x, y], axis=-1)[:, None] + hexagon
    cells = PolyCollection(list(corners), cmap="cividis", edgecolors="face", linewidth=0.3)
    cells.set_array(chances)
    cells.set_clim(0, 1)
    ax.add_collection(cells)
    size = min(TEXT, points / (K + 1))
    if size >= _SMALLEST:
        for at_x, at_y, chance in zip(x, y, chances, strict=True):
            said = f"{chance:.2f}".lstrip("0") if chance >= 0.005 else "0"
            colour = "black" if chance > 0.55 else "white"
            ax.text(at_x, at_y, said, ha="center", va="center", fontsize=size, color=colour)
    room = 0.7 + 0.03 * K
    ends = (
        (-0.5, -room, "left", "top"),
        (K + 0.5, -room, "right", "top"),
        (K / 2, K * _HEIGHT + room, "center", "bottom"),
    )
    for name, (at_x, at_y, ha, va) in zip(names, ends, strict=True):
        ax.text(at_x, at_y, f"all {_short(name)}", ha=ha, va=va, fontsize=TEXT)
    ax.set(xlim=(-0.02 * K - 0.7, 1.02 * K + 0.7), ylim=(-0.1 * K - 1.2, K * _HEIGHT + 0.1 * K + 1.2), aspect="equal")
    return cells


def _two_classes(design: Design, name: str) -> Any:
    problem, figure = design.problem, new_figure()
    ax, votes = figure.add_subplot(), all_votes(problem)
    chances = class_probabilities(design.table, problem, votes)
    for o, (answer, look) in enumerate(zip(problem.answers, LOOKS, strict=False)):
        curve(ax, votes[:, 0, 1], chances[:, o], look, _short(answer))
    ax.set(xlabel=f'votes "{_short(problem.names[1])}" of {problem.K} voters', ylabel="probability", ylim=(-0.03, 1.03))
    ax.xaxis.get_major_locator().set_params(integer=True)
    tidy(ax)
    name_lines(ax)
    ax.set_title(name, fontsize=TEXT)
    return figure


def _leads(design: Design, name: str) -> Any:
    """A dot for each row: the lead of the class with the most votes, its probability, and how many votes it has."""
    problem, whole = design.problem, rows(design)
    lead, first, top = _lead(whole.votes), of_most_votes(whole, design), whole.votes[:, 0].max(axis=-1)
    sides = [("the class with the most votes", first)]
    if problem.none:
        sides.append(('"none"', whole.chances[:, -1]))
    figure = new_figure((5.2 if len(sides) == 1 else 7.4, 3.8))
    axes = np.ravel(figure.subplots(1, len(sides), sharey=True, squeeze=False))
    for ax, (what, chance) in zip(axes, sides, strict=True):
        dots = ax.scatter(
            lead, chance, c=top, cmap="cividis", vmin=0, vmax=problem.K, s=22, edgecolors="#55606e", linewidths=0.4
        )
        ax.set(xlim=(-0.05 * problem.K, 1.05 * problem.K), ylim=(-0.03, 1.03), xlabel="lead over the next class, votes")
        ax.set_title(f"probability of {what}", fontsize=TEXT)
        ax.xaxis.get_major_locator().set_params(integer=True)
        tidy(ax)
    axes[0].set_ylabel("probability")
    bar = figure.colorbar(dots, ax=list(axes), label="votes for that class")
    bar.ax.yaxis.get_major_locator().set_params(integer=True)
    if name:
        figure.suptitle(name, fontsize=TEXT)
    return figure


def _lead(votes: Counts) -> Any:
    """How many more votes the first class has than the next."""
    ranked = np.sort(votes[:, 0], axis=-1)
    return ranked[:, -1] - ranked[:, -2]


def _short(name: str) -> str:
    return name if len(name) <= _LONG_NAME else f"{name[: _LONG_NAME - 3]}..."
