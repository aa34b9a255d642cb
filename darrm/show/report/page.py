"""The page of a design: the template holds the text, this the numbers, tables and pictures that all designs have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from darrm.design.design import Design
from darrm.errors import InputError, SolverError
from darrm.numerics.exact import decimals
from darrm.problem.limits import guarantee, rests_not_on
from darrm.show import wording
from darrm.show.markup import Markup, element, join, paragraph, shown, table, var
from darrm.show.report import answers, of_gamma, sections, several_answers, two_answers
from darrm.show.report.answers import answer
from darrm.show.report.sections import figure, folded, left_out, limit
from darrm.show.wording import at_least

# What differs from page to page, by the encoding of the table: its words, table and certificate; and its figures.
_OWN: dict[str, tuple[ModuleType, ModuleType]] = {
    "gamma": (of_gamma, of_gamma),
    "binary": (two_answers, answers),
    "full": (several_answers, answers),
    "symmetric": (several_answers, answers),
}


def render(
    design: Design, name: str, stored: Mapping[str, Any] | None, delta: float, full: bool, also: int | None
) -> str:
    """The whole page; see `darrm.show.report.html`."""
    own, figures = _OWN[design.encoding.name]
    words = own.words(design)
    values = {
        **words,
        **_guarantee(design),
        **sections.assumed(design.problem),
        **_problem(design, figures),
        **own.decision(design),
        **figures.cost(design),
        "optimal": figures.optimal(design, shown(design.gap, 2, up=True) if math.isfinite(design.gap) else None),
        "rests_not_on": rests_not_on(design.objective.assumed),
        "comparison": _comparison(design, figures) if full else left_out(f"The comparison with {figures.OTHERS}"),
        "absent_table": _absent_table(design),
        **sections.one_label(design, full),
        "many_labels": sections.many_labels(design, delta, full and sections.composable(design), also),
        "certificate": own.certificate(design),
        "check": sections.check(design, name, stored, *figures.checked(design)),
    }
    return sections.page(f"{words['title']}: one label is {wording.guarantee(design.problem)}", "design.html", values)


def _comparison(design: Design, figures: ModuleType) -> Markup:
    try:
        found: Markup = figures.comparison(design)
    except (InputError, SolverError) as error:
        return paragraph(f"There is no comparison with {figures.OTHERS}. ", error)
    return found


def _guarantee(design: Design) -> dict[str, object]:
    problem, total = design.problem, guarantee(design.problem).epsilon
    with decimals(total):
        factor = shown(total.exp(), 4, up=True)
    rows = [
        (
            f"group {g}" + (f": {wording.some(group.names)}" if group.names else ""),
            group.count,
            "non-private" if math.isinf(group.epsilon) else sections.private(group.epsilon, group.delta),
            min(group.max_affected, problem.max_affected),
        )
        for g, group in enumerate(problem.groups, 1)
    ]
    if len(rows) > 1:
        rows.append(("all", problem.K, "", problem.max_affected))
    return {
        "K": problem.K,
        "guarantee": wording.guarantee(problem),
        "holds": "yes" if design.certificate.holds else "no",
        "condition": wording.condition(problem, absent=design.absent),
        "factor": factor,
        "failure": f" + {at_least(problem.delta)}" if problem.delta else "",
        "group_table": table(
            "The groups", ("group", "voters", "privacy of each vote", "affected, at most"), rows, words=(0, 2)
        ),
        "absent_note": _absent_note(design),
    }


def _absent_note(design: Design) -> Markup:
    reached = [str(g) for g, group in enumerate(design.problem.groups, 1) if group.max_affected]
    alone = ""
    if len(reached) < len(design.problem.groups):
        alone = f"This page is about a change that affects voters of group {wording.listed(reached)} alone. "
        alone += "Changes in other groups have limits of their own. "
    if not design.absent:
        return paragraph(
            alone, "All voters must be present: this page certifies nothing for fewer voters.", class_="note"
        )
    likely = [answer(design, o) for o, chance in enumerate(design.answers_without_votes) if chance]
    nobody = f"the label is {likely[0]}" if len(likely) == 1 else f"each of {len(likely)} labels is equally likely"
    if design.problem.binary and len(likely) > 1:
        nobody = "a fair coin decides"
    parts = [
        element("h3", "Absent voters"),
        paragraph(
            "Voters may be absent: the design has a table for every number of present voters of each group, and all "
            "are certified for the same guarantee. ",
            element("strong", "Who is absent must depend neither on the data nor on votes or their noise."),
            " For example, a voter may be absent because its server is down, but a hospital must not be absent because "
            f"it has no such patient. If no voter is present, {nobody}.",
        ),
    ]
    if alone:
        parts.insert(0, paragraph(alone))
    return element("aside", join(parts), class_="trap")


def _problem(design: Design, figures: ModuleType) -> dict[str, object]:
    problem = design.problem
    rows: list[tuple[object, ...]] = [
        *figures.symbols(design),
        (var("delta"), limit(problem.delta), "delta guaranteed for one label"),
        (
            var("t"),
            problem.max_affected,
            "max_affected: largest number of voters that a change to a neighbouring data set affects",
        ),
        ("adjacency", element("span", problem.adjacency, class_="any"), "which data sets are neighbours"),
        *figures.goals(design),
    ]
    rows += [
        (
            "profile",
            join(["(", limit(epsilon), ", ", limit(delta), ")"]),
            "a further guarantee of one label, verified too",
        )
        for epsilon, delta in design.profile
    ]
    return {
        "problem_table": table("The problem", ("symbol", "value", "meaning"), rows, words=(0, 1, 2)),
        "accuracy_table": figures.assumed(design),
    }


def _absent_table(design: Design) -> Markup:
    if not design.absent:
        return join([])
    everybody = tuple(group.count for group in design.problem.groups)
    rows = [
        (
            ", ".join(map(str, present)),
            figure(part.expected_cost),
            shown(part.gap, 2, up=True),
            at_least(part.certificate.tight_epsilon),
            "yes" if part.certificate.holds else "no",
        )
        for present, part in [*design.fewer.items(), (everybody, design)]
    ]
    heads = ("voters present in each group", "expected cost", "gap, at most", "tight epsilon", "verified")
    return join([element("h3", "With absent voters"), folded("With absent voters", heads, rows)])
