"""Pictures of decisions by groups of voters: of two answers the probability of answer 1 over the numbers of ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from darrm.errors import InputError
from darrm.numerics.printed import counted, exactly
from darrm.show import plots_classes
from darrm.show.figures import LOOKS, TEXT, axes_of, curve, limits_of, new_figure

if TYPE_CHECKING:
    from darrm.design.design import Design
    from darrm.problem.decision import DecisionProblem

MOST_GROUPS = 3
_MOST_PANELS = 6
_SIDE_BY_SIDE = 3
_MOST_SQUARES = 200  # entries that have room for their number
_SMALLEST = 4.5  # points, of such a number
_MOST_NAMED = 24  # characters of names of voters that an axis has room for


def not_drawn(problem: DecisionProblem) -> str:
    """Why there is no picture of decisions of this problem; nothing if there is."""
    groups = len(problem.groups)
    if problem.binary:
        return (
            "" if groups <= MOST_GROUPS else f"A picture shows decisions of one to {MOST_GROUPS} groups. Got {groups}."
        )
    several = f"{problem.n_answers} answers and {groups} groups"
    return "" if groups == 1 else f"A picture of more than two answers shows decisions of one group. Got {several}."


def plot_decision(design: Design, *, title: bool = True) -> Any:
    """Draw the probability of answer 1: a line for one group, a heat map for two, several heat maps for three.

    For three groups the maps are over the first two; of more than six counts of the third some are shown. Of more than
    two answers by one group: for three classes a triangle of all votes for one class, for each class unless all are
    alike, and for "none"; for two classes a line for each answer; for more the probability of the class with the most
    votes over its lead.

    Parameters
    ----------
    design : Design
    title : bool
        Whether to name guarantee and objective above.

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    InputError
        If there are more than three groups, or more than one with more than two answers.
    MissingExtraError
        If matplotlib is not installed.
    """
    groups = design.problem.groups
    why = not_drawn(design.problem)
    if why:
        raise InputError(why)
    if not design.problem.binary:
        return plots_classes.plot_classes(design, title=title)
    name = limits_of(design.problem, design.objective) if title else ""
    if len(groups) == 1:
        ax = axes_of(None)
        curve(ax, np.arange(design.table.size), design.table, LOOKS[0])
        ax.set(xlabel=_counted(design, 0), ylabel=_answer(design), ylim=(-0.03, 1.03))
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_title(name, fontsize=TEXT)
        return ax.figure
    if len(groups) == 2:
        figure = new_figure()
        ax = figure.add_subplot()
        _map(ax, design.table, design)
        ax.set_title(name, fontsize=TEXT)
        figure.colorbar(ax.images[0], ax=ax, label=_answer(design))
        return figure
    last = np.unique(np.linspace(0, groups[2].count, _MOST_PANELS).round().astype(int))
    wide = min(len(last), _SIDE_BY_SIDE)
    high = -(-len(last) // wide)
    figure = new_figure((1.5 * wide + 1.1, 1.6 * high + 1.0))
    axes = np.ravel(figure.subplots(high, wide, sharex=True, sharey=True))
    for ax in axes[len(last) :]:
        ax.set_axis_off()
    axes = axes[: len(last)]
    for ax, count in zip(axes, last, strict=True):
        _map(ax, design.table[:, :, count], design)
        ax.set(title=f"{count} of group 3", xlabel="", ylabel="")
        ax.title.set_fontsize(TEXT)
    figure.supxlabel(_counted(design, 1), fontsize=TEXT)
    figure.supylabel(_counted(design, 0), fontsize=TEXT)
    if name:
        figure.suptitle(name, fontsize=TEXT)
    figure.colorbar(axes[-1].images[0], ax=list(axes), label=_answer(design))
    return figure


def described(design: Design, one: str) -> str:
    """What `plot_decision` shows, for those who cannot see it; ``one`` is what answer 1 of two is called."""
    if not design.problem.binary:
        return plots_classes.described(design)
    kinds = (
        "a line over the counts",
        "a heat map over the counts of two groups",
        "a heat map for each count of group 3",
    )
    return (
        f"Probability of {one}, {kinds[len(design.problem.groups) - 1]}: {design.table.flat[0]:.4g} if no voter says "
        f"{one}, {design.table.flat[-1]:.4g} if all do."
    )


def _map(ax: Any, table: Any, design: Design) -> None:
    ax.imshow(table, origin="lower", cmap="cividis", vmin=0, vmax=1, aspect="auto")
    ax.set(xlabel=_counted(design, 1), ylabel=_counted(design, 0))
    for axis in (ax.xaxis, ax.yaxis):
        axis.get_major_locator().set_params(integer=True)
    high, wide = table.shape
    size = min(TEXT, 120 / wide, 160 / high)  # points
    if table.size <= _MOST_SQUARES and size >= _SMALLEST and len(design.problem.groups) == 2:
        for (i, j), value in np.ndenumerate(table):
            colour = "black" if value > 0.55 else "white"
            ax.text(j, i, f"{value:.2f}".lstrip("0") or "0", ha="center", va="center", fontsize=size, color=colour)


def _counted(design: Design, g: int) -> str:
    group, votes = design.problem.groups[g], f'votes "{design.problem.names[1]}" of'
    who = counted(group.count, "voter")
    named = ", ".join(group.names or ())
    if 0 < len(named) <= _MOST_NAMED:
        who = named
    if len(design.problem.groups) == 1:
        return f"{votes} {who} of epsilon {exactly(group.epsilon)}"
    return f"{votes} group {g + 1}\n({who} of epsilon {exactly(group.epsilon)})"


def _answer(design: Design) -> str:
    return f'probability of "{design.problem.names[1]}"'
