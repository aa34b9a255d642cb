"""What the answers of a decision are called on its page, and what pages of two and of more answers both say."""

from __future__ import annotations

from decimal import Decimal

from darrm.design.design import Design
from darrm.show.markup import Markup, element, join, shown, var

NAMED = 8  # vectors of votes in a sentence
NO_REVERSALS = "At no counts is the label that costs more the likelier one."
FORBIDS = (element("code", "darrm.solve(..., ordered=True)"), " forbids it.")


def answer(design: Design, number: int) -> str:
    """The name of an answer, in quotation marks where it was given one."""
    problem = design.problem
    name = problem.answers[number]
    return name if isinstance(problem.classes, int) or number == problem.n_classes else f"“{name}”"


def cell(design: Design, number: int, before: str = "") -> Markup:
    """The same for a table, where a long name may break anywhere."""
    return element("span", before + answer(design, number), class_="any")


def failures(fails: Decimal) -> Markup:
    """What the worst case leaves out where there are too many cases of voters with a delta."""
    if not fails:
        return join([])
    text = (
        " = 0, since cases of a larger one are too many to go through. The proved bound adds the deltas of the "
        f"reached voters, together at most {shown(fails, 4, up=True)} (Lemma D4), and need not be attained."
    )
    return join(["This case has ", var("Delta"), text])
