"""Pictures of noise functions, of comparisons and of privacy profiles: legible at column width, units on the axes.

`darrm.show.figures.save` writes them to files.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from darrm._validation import refusal
from darrm.baselines.entries import of_name
from darrm.errors import InputError
from darrm.numerics.printed import at_least, exactly
from darrm.problem.decision import DecisionProblem, allowance
from darrm.problem.majority import MajorityProblem
from darrm.problem.noise_function import Given, noise_function
from darrm.show.figures import (
    LOOKS,
    REST,
    SIZE,
    TEXT,
    WIDTH,
    axes_of,
    curve,
    legend_below,
    legend_of_all,
    limits_of,
    looks,
    name_lines,
    new_figure,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from darrm.baselines.entries import Comparison, Entry
    from darrm.design.design import Design


_TITLE = 66  # characters
_DENSE = 41  # voters from which on lines have some marks only
_MARKS = 20  # of such a line, about
_ROW = 0.19  # inches, of a legend
_LONG_NAME = 30  # characters, of which three columns have no room
_BAR = 0.27  # inches, of a bar whose name may have two lines


def plot(design: Design, ax: Axes | None = None) -> Axes | Figure:
    """Draw a design: gamma by the number of ones, or the probabilities of the answers by the votes.

    Parameters
    ----------
    design : Design
    ax : matplotlib.axes.Axes, optional
        Of a noise function; a new figure if not given. A decision has a figure of its own.

    Returns
    -------
    matplotlib.axes.Axes, or matplotlib.figure.Figure of a decision

    Raises
    ------
    InputError
        If a decision has more groups or answers than a picture shows, or is to be drawn into ``ax``.
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> import darrm
    >>> ax = darrm.show.plots.plot(darrm.solve(K=5, m=2, epsilon=0.5))
    >>> ax.get_xlabel()
    'number of votes for 1, l'
    """
    if design.encoding.name == "gamma":
        name = "gamma_opt" if math.isfinite(design.gap) else "gamma"  # a given one was not optimised
        return plot_gamma(design.problem, {name: design.gamma}, ax)
    if ax is not None:
        raise refusal("ax", "left out for a decision, which has a figure of its own", ax)
    from darrm.show.plots_decision import plot_decision

    figure: Figure = plot_decision(design)
    return figure


def plot_gamma(problem: MajorityProblem, gammas: Mapping[str, Given], ax: Axes | None = None) -> Axes:
    """Draw noise functions over the number of ones.

    Parameters
    ----------
    problem : MajorityProblem
    gammas : mapping of str to array_like, shape (K + 1,), or to function
        Noise functions by name; a function is one of l.
    ax : matplotlib axes, optional
        Made if not given.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> import darrm
    >>> problem = darrm.MajorityProblem(K=5, m=2, epsilon=0.5)
    >>> gammas = {"gamma_opt": darrm.solve(problem).gamma, "none": [1.0] * 6}
    >>> darrm.show.plots.plot_gamma(problem, gammas).get_xlabel()
    'number of votes for 1, l'
    """
    own, several = ax is None, len(gammas) > 1
    if own and several:  # a legend of many names takes no room from what it names
        ax = new_figure((SIZE[0], SIZE[1] + _ROW * (math.ceil(len(gammas) / 2) - 1))).add_subplot()
    ax = axes_of(ax)
    styles = looks(gammas)
    for at, (name, gamma) in enumerate(gammas.items()):
        _draw_gamma(ax, noise_function(gamma, problem.K), styles[name], name, at if several else None)
    _gamma_axes(ax, problem)
    if own and several:
        legend_of_all(ax, 2)
    elif several:
        legend_below(ax)
    return ax


def _draw_gamma(
    ax: Axes, gamma: NDArray[np.float64], look: tuple[str, str, str], name: str, at: int | None = None
) -> None:
    """A noise function over the number of ones; at a tie it has no value.

    ``at`` is its place among several, whose marks are to be told apart.
    """
    l = np.arange(gamma.size)
    voted = 2 * l != gamma.size - 1
    every = gamma.size // _MARKS if gamma.size > _DENSE and at is not None else 1
    curve(ax, l[voted], gamma[voted], look, name, markevery=((at or 0) % every, every))


def _gamma_axes(ax: Axes, problem: MajorityProblem) -> None:
    """Names, limits and title of a picture of gamma; ticks at integers alone: there is no half vote."""
    from matplotlib.ticker import MaxNLocator

    ax.set(xlabel="number of votes for 1, l", ylabel="gamma(l), probability of no noise", ylim=(-0.03, 1.03))
    ax.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10], integer=True))
    _name_problem(ax, problem)


def _name_problem(ax: Axes, problem: MajorityProblem | DecisionProblem) -> None:
    if isinstance(problem, DecisionProblem):
        ax.set_title(limits_of(problem), fontsize=TEXT)
        return
    [votes] = problem.groups
    stated = f"epsilon = {exactly(votes.epsilon)}, Delta = {exactly(votes.delta)}"
    voters = f"K = {problem.K}, m = {at_least(allowance(problem))}, {stated},"
    fewer = f", max_affected = {problem.max_affected}" * (problem.max_affected < problem.K)
    release = f"delta = {at_least(problem.delta, 3)}{fewer}"
    wide = len(voters) + len(release) > _TITLE  # of a picture of its own, where more would be cut off
    ax.set_title(("\n" if wide else " ").join([voters, release]), fontsize=TEXT)


def plot_profile(design: Design, ax: Axes | None = None) -> Axes:
    """Draw the exact privacy profile of one release, beside the profile that its guarantee alone implies.

    With absent voters it is the largest of the profiles of all tables, point by point. Where each group has a limit of
    its own, there is a profile of each kind of change.

    ``ax``, what is returned and what is raised are those of `plot_gamma`.
    """
    from darrm.accounting.releases import one_label

    ax = axes_of(ax)
    kinds, top = one_label(design).kinds, []
    epsilons = np.linspace(0, 1.5 * max(label.problem.release_epsilon for label in kinds.values()), 61)
    for at, (name, label) in enumerate(kinds.items()):
        of, look = f", {name}" * bool(name), LOOKS[at % len(LOOKS)][0]
        problem, exact = label.problem, label.profile(epsilons)
        # The profile of the pair of distributions that is (m epsilon, delta)-DP and nothing better.
        below = np.minimum(0.0, epsilons - problem.release_epsilon)
        worst = problem.delta - (1 - problem.delta) * np.expm1(below) / (1 + math.exp(-problem.release_epsilon))
        ax.plot(epsilons, exact, color=look, label=f"exact, certified{of}")
        ax.plot(
            epsilons, worst, color=look if name else LOOKS[1][0], linestyle="--", label=f"implied by the guarantee{of}"
        )
        ax.plot(problem.release_epsilon, problem.delta, "kx", label="the guarantee" if at == 0 else None)
        top += [exact[0], worst[0]]
    ax.set(xlabel="epsilon of one release, nats", ylabel="delta", ylim=(-0.02 * max(top), 1.1 * max(top)))
    _name_problem(ax, design.problem)
    ax.legend(fontsize=TEXT)
    return ax


def plot_budget(
    design: Design,
    fresh: Mapping[int, float],
    *,
    delta: float,
    label: str = "fresh voters",
    ax: Axes | None = None,
) -> Axes:
    """Draw the total epsilon of labels, of fresh and of fixed voters, over their number; both axes logarithmic.

    Parameters
    ----------
    design : Design
    fresh : mapping of int to float
        Total epsilon of so many labels of fresh voters, such as ``upper`` of `darrm.accounting.compose`; an infinite
        one has no point. Two more lines are simple composition, where ``delta`` covers it, and the total of fixed
        voters for any number of labels: the optimal composition of the affected voters.
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

    Examples
    --------
    The total of 1, 10 and 100 labels of fresh voters, beside that of fixed voters:

    >>> import darrm
    >>> design = darrm.solve(K=5, m=1, epsilon=0.5)
    >>> totals = {n: darrm.accounting.compose(design, n, delta=1e-5, voters="fresh").upper for n in (1, 10, 100)}
    >>> darrm.show.plots.plot_budget(design, totals, delta=1e-5).figure.savefig("budget.png")
    """
    from darrm._validation import check_total_delta
    from darrm.accounting.fixed import fixed_voters

    ax = axes_of(ax)
    problem, delta = design.problem, check_total_delta(delta)
    each = problem.release_epsilon
    lines = {
        "simple composition": {q: q * each for q in fresh if q * problem.delta <= delta},
        label: fresh,
        "fixed voters,\nany number": {} if problem.known else dict.fromkeys(fresh, fixed_voters(problem, delta)),
    }
    for (name, line), look in zip(lines.items(), (LOOKS[1], LOOKS[0], LOOKS[2]), strict=True):
        points = {q: epsilon for q, epsilon in line.items() if 0 < epsilon < math.inf}
        if points:
            curve(ax, list(points), list(points.values()), look, name)
    ax.set(
        xscale="log", yscale="log", xlabel="number of labels", ylabel=f"total epsilon at delta = {exactly(delta)}, nats"
    )
    _name_problem(ax, problem)
    name_lines(ax)
    return ax


def plot_comparison(
    problem: MajorityProblem,
    entries: Comparison | Sequence[Entry],
    axes: Sequence[Axes] | None = None,
    *,
    curves: Collection[str] | None = None,
) -> list[Axes]:
    """Draw the noise functions of a comparison, and beside them the error of each.

    Parameters
    ----------
    problem : MajorityProblem
    entries : sequence of darrm.baselines.entries.Entry
        Of `darrm.compare`, of a majority. A mechanism without a curve has a grey bar, and a mechanism that is not
        private enough has a hollow bar, and says so in the legend.
    axes : two matplotlib axes, optional
        A legend is drawn on the figure made here, and none on your own axes: ``axes[0].legend()`` draws it.
    curves : names of mechanisms, optional
        Those whose noise functions are drawn. If not given, all of up to seven mechanisms, such as
        ``comparison[["gamma_opt", "Laplace noisy max"]]``; of more, all but the plain majority and the mechanisms with
        as little noise as the guarantee allows.

    Returns
    -------
    list of two matplotlib axes

    Raises
    ------
    InputError, MissingExtraError
        If no mechanism has one of the names, or matplotlib is not installed.

    Examples
    --------
    >>> import darrm
    >>> problem = darrm.MajorityProblem(K=5, m=2, epsilon=0.5)
    >>> comparison = darrm.compare(problem)
    >>> left, right = darrm.show.plots.plot_comparison(problem, comparison, curves=["gamma_opt", "permute-and-flip"])
    >>> right.get_xlabel()
    'expected TV error'
    """
    own = axes is None
    every = [entry.name for entry in entries]
    # Of many, mechanisms whose noise was looked for have a bar alone: so many lines are no picture.
    few = [
        entry.name
        for entry in entries
        if len(every) <= len(LOOKS) or (not entry.setting and entry.name != "plain majority")
    ]
    asked = {name: of_name(name, entries) for name in curves or ()}
    unknown = sorted(name for name, entry in asked.items() if entry is None)
    chosen = few if curves is None else [entry.name for entry in asked.values() if entry is not None]
    drawn = [name for name in every if name in chosen]
    if unknown or not drawn:
        raise InputError(f"curves must be names of mechanisms: {', '.join(every)}. Got {', '.join(unknown) or 'none'}.")
    names = {entry.name: entry.name + ", not private enough" * (not entry.within) for entry in entries}
    columns = 2 if any(len(names[name]) > _LONG_NAME for name in drawn) else 3
    if axes is None:
        high = max(3.0, _BAR * len(entries) + 0.8) + _ROW * math.ceil(len(drawn) / columns)
        axes = new_figure((WIDTH, high)).subplots(1, 2, width_ratios=[5, 4])
    left, right = axes
    styles = looks(drawn)
    for at, entry in enumerate(entries):
        look = styles.get(entry.name)
        colour = REST if look is None else look[0]
        right.barh(at, entry.error, color=colour if entry.within else "none", edgecolor=colour)
        if look is not None:
            _draw_gamma(left, entry.gamma, look, names[entry.name], drawn.index(entry.name))
            # The mark of its line at the end of its bar, for those who do not see colours.
            right.plot(entry.error, at, look[1], color=colour, markeredgecolor="white", markersize=6, clip_on=False)
        if entry.interval is not None:
            mean, low, high = entry.interval
            right.errorbar(mean, at, xerr=[[mean - low], [high - mean]], color="black", marker="|", capsize=3)
    _gamma_axes(left, problem)
    right.set(xlabel="expected TV error", yticks=range(len(entries)))
    right.set_yticklabels([names[entry.name].replace(", ", ",\n") for entry in entries], fontsize=TEXT)
    right.invert_yaxis()
    tidy(left)
    tidy(right, along="x")
    if own:  # a title as wide as the picture
        figure: Any = left.figure
        figure.suptitle(left.get_title().replace("\n", " "), fontsize=TEXT)
        left.set_title("")
        if len(drawn) > 1:
            legend_of_all(left, columns)
    return [left, right]
