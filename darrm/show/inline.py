"""Designs as HTML, for notebooks, and their pictures as data addresses that need no file and no network."""

from __future__ import annotations

import numpy as np

from darrm.baselines.entries import Comparison
from darrm.design.design import Design
from darrm.errors import MissingExtraError
from darrm.numerics.printed import at_least, counted, exactly
from darrm.planning.answers import Plan
from darrm.problem.decision import allowance
from darrm.show import classes
from darrm.show.comparison_words import comparison_html
from darrm.show.figures import data_address, new_figure
from darrm.show.markup import Markup, details, element, grid, join, paragraph
from darrm.show.plan_words import plan_html
from darrm.show.wording import condition, guarantee


def notebook_html(shown: Design | Plan | Comparison) -> str:
    """A design with its guarantee, picture (if matplotlib is installed) and table, a plan, or a comparison."""
    if isinstance(shown, Plan):
        return plan_html(shown)
    return comparison_html(shown) if isinstance(shown, Comparison) else design_html(shown)


def design_html(design: Design) -> str:
    """Guarantee, picture (if matplotlib is installed) and table of a design, for a notebook."""
    try:
        image = picture(design)
    except MissingExtraError:
        image = join([])
    gamma, binary = design.encoding.name == "gamma", design.problem.binary
    of = "gamma" if gamma else f'probability of "{design.problem.names[1]}"' if binary else "probability of each answer"
    return join([paragraph(verified(design)), image, details(f"{of} by votes", table_of(design))])


def verified(design: Design) -> str:
    """The guarantee of a design, its condition, and the error of the design."""
    problem = design.problem
    what = f"a decision by {counted(problem.K, 'voter')}"
    errs = f"Expected cost {design.expected_cost:.6g} ({design.objective})."
    if design.encoding.name == "gamma":
        what = f"the majority of K = {problem.K} votes"
        errs = (
            f"Expected TV error {design.error:.6g}, disagreement rate {design.disagreement:.6g}, under {design.prior}."
        )
    rests = condition(problem, absent=design.absent)
    return f"Verified: one release of {what} is {guarantee(problem)}, {rests} {errs}"


def picture(design: Design) -> Markup:
    """`darrm.show.plot` of a design without its title, as an image that needs no file; nothing where none is drawn.

    The bytes are the same every time, and it may be called from many threads.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    from darrm.show.plots import plot_gamma
    from darrm.show.plots_decision import described, not_drawn, plot_decision

    if design.encoding.name == "gamma":
        # Margins by hand: a layout engine draws everything twice, and a page that follows a slider waits for it.
        figure, words = new_figure((5.7, 3.1), None), _described(design)
        figure.subplots_adjust(left=0.1, right=0.985, bottom=0.15, top=0.96)
        plot_gamma(design.problem, {"gamma": design.gamma}, figure.add_subplot()).set_title("")
    elif not_drawn(design.problem):
        return join([])
    else:
        figure, words = plot_decision(design, title=False), described(design, design.problem.names[1])
    return element("img", alt=words, src=data_address(figure, fonttype="none"), style="max-width:100%")


def _described(design: Design) -> str:
    """What a picture of gamma shows, for readers who cannot see it."""
    half, [votes] = design.gamma[design.problem.K // 2 + 1 :], design.problem.groups
    return (
        f"gamma for K = {votes.count}, m = {at_least(allowance(design.problem))}, epsilon = {exactly(votes.epsilon)}: "
        f"{half[0]:.3g} for the closest vote, {half[-1]:.3g} for a unanimous vote, and {half.min():.3g} at the minimum."
    )


def table_of(design: Design) -> Markup:
    """gamma by votes, or the probabilities of a decision."""
    return gamma_table(design) if design.encoding.name == "gamma" else decision_table(design)


def decision_table(design: Design) -> Markup:
    """The probability of answer 1: a column for each count of the last group, or one column if there is one group.

    Of more than two answers a column for each, at the votes that come up most often.
    """
    if not design.problem.binary:
        return _classes_table(design)
    groups, table = design.problem.groups, design.table
    named = [f"of {group.count} (group {g})" for g, group in enumerate(groups, 1)]
    if len(groups) == 1:
        return grid((named[0], "probability"), [(n, f"{x:.6f}") for n, x in enumerate(table)])
    heads = (", ".join(named[:-1]), f"0 {named[-1]}", *range(1, table.shape[-1]))
    rows = [(", ".join(map(str, n)), *(f"{x:.3f}" for x in table[n])) for n in np.ndindex(*table.shape[:-1])]
    return grid(heads, rows)


def _classes_table(design: Design) -> Markup:
    shown = classes.telling(design)
    often = [()] * len(shown.votes) if shown.often is None else [(f"{chance:.4f}",) for chance in shown.often]
    rows = [
        (classes.votes_text(votes), *(f"{chance:.6f}" for chance in chances), *more)
        for votes, chances, more in zip(shown.votes.tolist(), shown.chances, often, strict=True)
    ]
    heads = ("votes", *classes.answer_heads(design), *["Pr[votes]"] * (shown.often is not None))
    said = classes.meaning(design)
    some = classes.selected(shown)
    return join(
        [paragraph(f"{said} {some} The design file has all of them.".strip() if some else said), grid(heads, rows)]
    )


def gamma_table(design: Design) -> Markup:
    """gamma by votes, from the closest vote to the unanimous one."""
    K = design.problem.K
    rows = [(f"{K - l}:{l}", f"{design.gamma[l]:.6f}") for l in range(K // 2 + 1, K + 1)]
    return grid(("votes", "gamma"), rows)
