"""What the page of a decision says where it has two answers: the table, its reversals and the certificate."""

from __future__ import annotations

from itertools import islice

import numpy as np

from darrm.design.design import Design
from darrm.numerics.exact import decimals
from darrm.objectives import OfVoters, gains
from darrm.problem.group_corners import entries, group_corners
from darrm.problem.limits import guarantee
from darrm.show.markup import Markup, element, join, paragraph, picture, shown, table, template, var
from darrm.show.plots_decision import described, not_drawn, plot_decision
from darrm.show.report import sections
from darrm.show.report.answers import NAMED, NO_REVERSALS, answer, cell, failures, forbids, largest, of_all
from darrm.show.report.sections import folded
from darrm.show.report.worst_case import work_out_groups
from darrm.show.wording import listed


def words(design: Design) -> dict[str, object]:
    """What voters say and what is released, in sentences."""
    zero, one = answer(design, 0), answer(design, 1)
    of_each = " of each group" * (len(design.problem.groups) > 1)
    return {
        **of_all(design),
        "says": (
            f"says {zero} or {one}. One label is released: {one} with a probability that depends on how many "
            f"voters{of_each} say {one}, and {zero} otherwise."
        ),
        "any_label": "either label",
        "by_votes": paragraph(f"The probability of {one} for every number of voters{of_each} that say {one}."),
    }


def decision(design: Design) -> dict[str, object]:
    """Its picture, its table and its reversals."""
    problem, table_ = design.problem, design.table
    one, gain = answer(design, 1), gains(design.objective.costs(problem))
    heads = [f"group {g} (of {group.count})" for g, group in enumerate(problem.groups, 1)]
    rows = [
        (*n, sections.chance(float(x)), "either" if gain[n] == 0 else cell(design, int(gain[n] > 0)))
        for n, x in np.ndenumerate(table_)
    ]
    drawn: Markup = paragraph("A picture shows at most three groups; the table shows all of them.", class_="note")
    if not not_drawn(problem):
        drawn = picture(
            plot_decision(design, title=False),
            described(design, one),
            f"The probability of {one} by how many voters of each group say {one}.",
        )
    return {
        "decision_picture": drawn,
        "decision_table": folded(
            "The decision",
            (*heads, cell(design, 1, "probability of "), "cheaper label"),
            rows,
            words=(0, len(heads) + 1),
        ),
        "reversals": _reversals(design),
    }


def _reversals(design: Design) -> Markup:
    """Where the label that costs more is the likelier one."""
    if not design.reversals:
        return paragraph(NO_REVERSALS, class_="note")
    reversed_ = (design.table - 0.5) * gains(design.objective.costs(design.problem)) < 0
    at = np.argwhere(reversed_).tolist()
    named = [str(tuple(n)) if len(n) > 1 else str(n[0]) for n in islice(at, NAMED)]
    where = listed(named) if len(at) <= NAMED else f"{', '.join(named)} and {len(at) - NAMED} more"
    often = ""
    if isinstance(design.objective, OfVoters):
        chance = float(design.objective.chances(design.problem).sum(axis=0)[reversed_].sum())
        often = f" These counts have probability {shown(chance, 2)}."
    return paragraph(
        f"At {len(at)} of {design.table.size} counts the label that costs more is the likelier one: at {where}.{often} "
        "This lowers the expected cost elsewhere. ",
        forbids(design),
        class_="note",
    )


def certificate(design: Design) -> Markup:
    """The section on the certificate."""
    problem, worst = design.problem, work_out_groups(design)
    p, other = var("p"), var("p\N{PRIME}")
    corners = [
        (f"group {corner.group}", corner.name, corner.voters, corner.p.one, corner.q.one) for corner in worst.corners
    ]
    counts = [
        (f"group {g}", l, a, b)
        for g, (on, off) in enumerate(zip(worst.p_side, worst.q_side, strict=True), 1)
        for l, (a, b) in enumerate(zip(on, off, strict=True))
    ]
    heads = ("", var("l"), *(join(["Pr[", var("l"), " ones], ", side]) for side in (p, other)))
    many, terms = entries(problem), [join(["all products for ", side]) for side in (p, other)]
    with decimals(guarantee(problem).epsilon):
        values = {
            **sections.assumed(problem),
            "one": answer(design, 1),
            "largest": largest(
                problem,
                "The left side is largest where each voter is at a corner point of the region that the privacy of its "
                "vote allows. So only the number of voters of each group at each corner point matters. These are "
                f"{f'{many:,}' if many < 10**9 else shown(many, 3)} cases for each label.",
            ),
            "no_other": "No other case is closer to the limit" + " while all voters are present" * design.absent,
            "failures": failures(group_corners(problem)[1]),
            "worst_label": answer(design, worst.answer),
            "corner_table": table(
                "The worst case by group",
                ("", "true answer or vote" if problem.known else "corner point", "voters", p, other),
                corners,
                words=(0, 1),
            ),
            "count_table": folded("The numbers of ones in the worst case", heads, counts),
            "sum_table": sections.sums(
                worst, join(["e", element("sup", var("epsilon"))]), (terms[0], terms[1]), design
            ),
        }
        return template(sections.PACKAGE, "certificate_ones.html", values)
