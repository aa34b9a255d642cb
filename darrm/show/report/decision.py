"""The page of a decision by groups of voters: the template holds the text, this the numbers, tables and pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from darrm.design.design import Design
from darrm.errors import InputError, SolverError
from darrm.numerics.exact import decimals
from darrm.objectives import Costs, OfVoters, Paper, Truth
from darrm.planning.comparison import beside
from darrm.problem.limits import guarantee, rests_not_on
from darrm.show import wording
from darrm.show.markup import Markup, element, join, paragraph, shown, table, var
from darrm.show.report import sections, several_answers, two_answers
from darrm.show.report.answers import answer, cell
from darrm.show.report.sections import figure, folded, left_out
from darrm.show.wording import at_least, condition

_MOST_CLASSES = 8  # that have a column each for what is assumed
_FEWER = ", then those of fewer voters in the order of the file"
_ALL_TABLES = """[
    x for part in (design, *design.fewer.values()) for x in part.table.ravel().tolist()
]"""


def render(
    design: Design, name: str, stored: Mapping[str, Any] | None, delta: float, full: bool, also: int | None
) -> str:
    """The whole page; see `darrm.show.report.html`."""
    problem = design.problem
    groups = len(problem.groups)
    title = f"Private decision by {problem.K} voter{'s' * (problem.K > 1)}" + f" in {groups} groups" * (groups > 1)
    own = two_answers if problem.binary else several_answers
    order = "the last group's count" if problem.binary else "the last answer"
    values = {
        "title": title,
        "cost": figure(design.expected_cost),
        **_guarantee(design),
        **_problem(design),
        **own.words(design),
        **own.decision(design),
        **_costs(design, full),
        **sections.one_label(design, full),
        "many_labels": sections.many_labels(design, delta, full and sections.composable(design), also),
        "certificate": own.certificate(design),
        "check": sections.check(
            design,
            name,
            stored,
            "the probabilities",
            _ALL_TABLES if design.absent else "design.table.ravel().tolist()",
            f"the probabilities is over all of them, {order} fastest{_FEWER * design.absent},",
        ),
    }
    return sections.page(f"{title}: one label is {wording.guarantee(problem)}", "decision.html", values)


def _guarantee(design: Design) -> dict[str, object]:
    problem, total = design.problem, guarantee(design.problem).epsilon
    with decimals(total):
        factor = shown(total.exp(), 4, up=True)
    rows = [
        (
            f"group {g}",
            group.count,
            "not private" if math.isinf(group.epsilon) else f"{wording.pair(group.epsilon, group.delta)}-DP",
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
        "condition": condition(problem, absent=design.absent),
        "factor": factor,
        "failure": f" plus {at_least(problem.delta)}" if problem.delta else "",
        "group_table": table("The groups", ("", "voters", "each vote is", "reached at most"), rows, words=(0, 2)),
        "absent_note": _absent_note(design),
    }


def _absent_note(design: Design) -> Markup:
    if not design.absent:
        return paragraph("All voters must be present: for fewer this page proves nothing.", class_="note")
    likely = [answer(design, o) for o, chance in enumerate(design.answers_without_votes) if chance]
    nobody = f"the label is {likely[0]}" if len(likely) == 1 else f"each of {len(likely)} labels is equally likely"
    if design.problem.binary and len(likely) > 1:
        nobody = "a fair coin decides"
    parts = [
        element("h3", "Absent voters"),
        paragraph(
            "Voters may be absent: there is a table of its own for every number of present voters of each group, all "
            "proved to keep the same guarantee. ",
            element("strong", "Who is absent must depend neither on the data nor on votes or their noise."),
            " A server that is down is fine; a hospital that is silent because it has no such patient is not. If "
            f"no voter is present, {nobody}.",
        ),
    ]
    return element("aside", join(parts), class_="trap")


def _problem(design: Design) -> dict[str, object]:
    problem, objective = design.problem, design.objective
    rows: list[tuple[object, ...]] = [
        (var("K"), problem.K, f"voters, in {len(problem.groups)} group{'s' * (len(problem.groups) > 1)}"),
        (var("epsilon"), repr(problem.release_epsilon), "epsilon guaranteed for one label, in nats"),
        (var("delta"), repr(problem.delta), "delta guaranteed for one label"),
        (var("t"), problem.max_affected, "max_affected: how many voters one change of the data can affect"),
        ("adjacency", element("span", problem.adjacency, class_="any"), "what one change of the data is"),
        ("objective", str(objective), "what the label should be"),
        ("ordered", "yes" if design.ordered else "no", "whether the label that costs less must be the likelier"),
        ("absent", "yes" if design.absent else "no", "whether voters may be absent"),
    ]
    rows += [
        ("profile", wording.pair(epsilon, delta), "one more limit that one label keeps, verified too")
        for epsilon, delta in design.profile
    ]
    return {
        "problem_table": table("The problem", ("symbol", "value", "meaning"), rows, words=(0, 1, 2)),
        "accuracy_table": _assumed(design),
    }


def _assumed(design: Design) -> Markup:
    """What the expected cost, and nothing else, assumes of the votes and of wrong labels."""
    problem, objective = design.problem, design.objective.of(design.problem)
    if isinstance(objective, Paper):
        prior = element("span", str(objective.prior), class_="any")
        mirrored = ", with votes and their mirror images as likely. For the expected cost alone."
        return paragraph("Votes are taken to come from ", prior, mirrored, class_="note")
    if not isinstance(objective, OfVoters):
        return paragraph("What labels cost stands in the design file, for every count.", class_="note")
    if problem.n_classes > _MOST_CLASSES:
        return paragraph("The design file holds the assumptions on the votes, and the costs of labels.", class_="note")
    tables: Any = objective.confusion
    rows: list[tuple[object, ...]] = [("prior", *map(shown, objective.prior or ()))]
    said = range(1, 2) if problem.n_classes == 2 else range(problem.n_classes)
    for g, votes in enumerate(tables, 1):
        rows += [(cell(design, c, f"group {g} says "), *(shown(vote[c]) for vote in votes)) for c in said]
    costs = objective.cost or () if isinstance(objective, Truth) else ()
    rows += [(cell(design, o, "cost of the label "), *map(shown, cost)) for o, cost in enumerate(costs)]
    if not costs and objective.none is not None:
        none = shown(objective.none)
        rows.append((cell(design, problem.n_classes, "cost of the label "), *[none] * problem.n_classes))
    truths = ["if the truth is ", *["if it is "] * (problem.n_classes - 1)]
    heads = ("probability, or cost", *(cell(design, c, before) for c, before in enumerate(truths)))
    note = "For the expected cost alone; under which condition the guarantee does not rest on it stands there."
    return join([paragraph(note, class_="note"), table("Assumptions on the votes", heads, rows)])


def _costs(design: Design, full: bool) -> dict[str, object]:
    if math.isfinite(design.gap):
        rival = "any ordered decision" if design.ordered else "any decision"
        kept = " and profile" * bool(design.profile)
        optimal = f"That is at most {shown(design.gap, 2, up=True)} above that of {rival} with this guarantee{kept}."
    else:
        optimal = "No gap is proved: another decision with this guarantee may cost less."
    return {
        "meaning": _meaning(design),
        "optimal": optimal,
        "rests_not_on": rests_not_on(wording.assumed_of(design.objective)),
        "comparison": _comparison(design) if full else left_out("The comparison with simpler ways to decide"),
        "absent_table": _absent_table(design),
    }


def _meaning(design: Design) -> str:
    objective = design.objective
    if isinstance(objective, Paper):
        if objective.name == "disagreement":
            return "the probability that the label is not the majority of the votes cast"
        return "how far the chances of the label are from those of the plain majority (total variation)"
    if isinstance(objective, Truth):
        if objective.plain:
            return "the probability of a wrong label"
        return "what a label costs on average, over the truth, the votes and the coins of the release"
    if isinstance(objective, Costs):
        return "the sum of the costs in its table, each times the probability of its label"
    if isinstance(objective, OfVoters) and objective.none is not None:
        return (
            f"the probability that the label is a class other than that of the rule ({objective}), and what none costs"
        )
    return f"the probability that the label differs from the rule ({objective})"


def _comparison(design: Design) -> Markup:
    try:
        found = beside(design)
    except (InputError, SolverError) as error:
        return paragraph("There is no comparison with simpler ways to decide. ", error)
    figures = [(figure(entry.expected_cost),) for entry in found]
    kept = sections.beside("Beside simpler ways to decide", ("decision", "expected cost"), found, figures, design)
    note = (
        "What has no “yes” for the guarantee is not proved to keep it: its cost is there for scale. Rounding alone "
        "refuses a decision that is exactly at its limit."
    )
    return join([kept, paragraph(note, class_="note")])


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
    heads = ("present in each group", "expected cost", "gap, at most", "tight epsilon", "guarantee")
    return join([element("h3", "With absent voters"), folded("With absent voters", heads, rows)])
