"""What the answers of a decision are called on its page, and what pages of two and of more answers both say."""

from __future__ import annotations

from decimal import Decimal

from darrm.design.decision import DecisionDesign
from darrm.show.markup import Markup, element, join, shown, var

NAMED = 8  # vectors of votes in a sentence
NO_REVERSALS = "At no counts is the label that costs more the likelier one."
FORBIDS = (element("code", "darrm.solve(..., ordered=True)"), " forbids it.")


def answer(design: DecisionDesign, number: int) -> str:
    """The name of an answer, in quotation marks where it was given one."""
    problem = design.problem
    name = problem.answers[number]
    return name if isinstance(problem.classes, int) or number == problem.n_classes else f"“{name}”"


def cell(design: DecisionDesign, number: int, before: str = "") -> Markup:
    """The same for a table, where a long name may break anywhere."""
    return element("span", before + answer(design, number), class_="any")


def failures(fails: Decimal) -> Markup:
    """What the worst case leaves out where there are too many cases of voters that fail."""
    if not fails:
        return join([])
    text = (
        " = 0: cases with failures are too many to go through. The proved bound adds the probability that a reached "
        f"voter fails, at most {shown(fails, 4, up=True)} (Lemma D4), and need not be attained."
    )
    return join(["Here ", var("Delta"), text])
