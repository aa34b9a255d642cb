"""The page of a decision by groups of voters: the template holds the text, this the numbers, tables and pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np

from darrm.design.decision import DecisionDesign
from darrm.errors import InputError, SolverError
from darrm.measures.decision_comparison import beside_others
from darrm.numerics.exact import decimals
from darrm.objectives import Costs, OfVoters, Truth
from darrm.problem.decision import DecisionProblem
from darrm.problem.group_corners import entries, group_corners
from darrm.problem.limits import guarantee
from darrm.show.markup import Markup, element, join, paragraph, picture, shown, table, var
from darrm.show.plots_decision import MOST_GROUPS, described, plot_decision
from darrm.show.report import sections
from darrm.show.report.sections import figure, folded, left_out, pair
from darrm.show.report.worst_case import work_out_groups
from darrm.show.wording import at_least, condition, listed

_NAMED = 8  # counts
_FEWER = ", then those of fewer voters in the order of the file"
_ALL_TABLES = """[
    x for part in (design, *design.fewer.values()) for x in part.table.ravel().tolist()
]"""


def render(design: DecisionDesign, name: str, stored: Mapping[str, Any] | None, delta: float, full: bool) -> str:
    """The whole page; see `darrm.show.report.html`."""
    problem = design.problem
    groups = len(problem.groups)
    title = f"Private decision by {problem.K} voter{'s' * (problem.K > 1)}" + f" in {groups} groups" * (groups > 1)
    values = {
        "title": title,
        "cost": figure(design.expected_cost),
        **_guarantee(design),
        **_problem(design),
        **_decision(design),
        **_costs(design, full),
        **sections.one_label(design, full),
        # Exact composition looks at one table; the guarantee holds for those of fewer voters too.
        "many_labels": sections.many_labels(design, delta, full and not design.absent),
        **_certificate(design),
        "check": sections.check(
            design,
            name,
            stored,
            "the probabilities",
            _ALL_TABLES if design.absent else "design.table.ravel().tolist()",
            f"the probabilities is over all of them, the last group's count fastest{_FEWER * design.absent},",
        ),
    }
    return sections.page(f"{title}: one label is {pair(problem.epsilon, problem.delta)}", "decision.html", values)


def _answer(design: DecisionDesign, answer: int) -> str:
    name = design.problem.names[answer]
    return name if isinstance(design.problem.classes, int) else f"“{name}”"


def _cell(design: DecisionDesign, answer: int, before: str = "") -> Markup:
    """The same for a table, where a long name may break anywhere."""
    return element("span", before + _answer(design, answer), class_="any")


def _guarantee(design: DecisionDesign) -> dict[str, object]:
    problem, total = design.problem, guarantee(design.problem).epsilon
    with decimals(total):
        factor = shown(total.exp(), 4, up=True)
    rows = [
        (
            f"group {g}",
            group.count,
            "not private" if math.isinf(group.epsilon) else pair(group.epsilon, group.delta),
            min(group.max_affected, problem.max_affected),
        )
        for g, group in enumerate(problem.groups, 1)
    ]
    if len(rows) > 1:
        rows.append(("all", problem.K, "", problem.max_affected))
    return {
        "K": problem.K,
        "zero": _answer(design, 0),
        "one": _answer(design, 1),
        "of_each": " of each group" * (len(problem.groups) > 1),
        "guarantee": pair(problem.epsilon, problem.delta),
        "holds": "yes" if design.certificate.holds else "no",
        "condition": condition(problem, absent=design.absent),
        "factor": factor,
        "failure": f" plus {at_least(problem.delta)}" if problem.delta else "",
        "group_table": table("The groups", ("", "voters", "each vote is", "reached at most"), rows, words=(0, 2)),
        "absent_note": _absent_note(design),
    }


def _absent_note(design: DecisionDesign) -> Markup:
    if not design.absent:
        return paragraph("All voters must be present: for fewer this page proves nothing.", class_="note")
    chance = design.without_votes
    nobody = "a fair coin decides" if chance == 0.5 else f"the label is {_answer(design, int(chance))}"
    parts = [
        element("h3", "Absent voters"),
        paragraph(
            "Voters may be absent: there is a table of its own for every number of present voters of each group, all "
            "proved to keep the same guarantee. ",
            element("strong", "Who is absent must depend neither on the data nor on votes or their noise."),
            " A server that is down is fine; a hospital that is silent because it has no such patient is not. If "
            f"nobody is present, {nobody}.",
        ),
    ]
    return element("aside", join(parts), class_="trap")


def _problem(design: DecisionDesign) -> dict[str, object]:
    problem, objective = design.problem, design.objective
    rows: list[tuple[object, ...]] = [
        (var("K"), problem.K, f"voters, in {len(problem.groups)} group{'s' * (len(problem.groups) > 1)}"),
        (var("epsilon"), repr(problem.epsilon), "epsilon guaranteed for one label, in nats"),
        (var("delta"), repr(problem.delta), "delta, failure probability of one label"),
        (var("t"), problem.max_affected, "max_affected: how many voters one change of the data can affect"),
        ("adjacency", element("span", problem.adjacency, class_="any"), "what one change of the data is"),
        ("objective", str(objective), "what the label should be"),
        ("ordered", "yes" if design.ordered else "no", "whether the label that costs less must be the likelier"),
        ("absent", "yes" if design.absent else "no", "whether voters may be absent"),
    ]
    rows += [
        ("profile", f"({shown(epsilon, 6)}, {shown(delta, 6)})", "one more limit that one label keeps, verified too")
        for epsilon, delta in design.profile
    ]
    return {
        "problem_table": table("The problem", ("symbol", "value", "meaning"), rows, words=(0, 1, 2)),
        "accuracy_table": _assumed(design),
    }


def _assumed(design: DecisionDesign) -> Markup:
    """What the expected cost, and nothing else, assumes of the votes and of wrong labels."""
    objective = design.objective.of(design.problem)
    if not isinstance(objective, OfVoters):
        return paragraph("What labels cost stands in the design file, for every count.", class_="note")
    tables: Any = objective.confusion
    rows: list[tuple[object, ...]] = [("prior", *map(shown, objective.prior or ()))]
    for g, votes in enumerate(tables, 1):
        rows.append((_cell(design, 1, f"group {g} says "), *(shown(vote[1]) for vote in votes)))
    if isinstance(objective, Truth):
        rows += [
            (_cell(design, answer, "cost of the label "), *map(shown, cost))
            for answer, cost in enumerate(objective.cost or ())
        ]
    heads = ("probability, or cost", _cell(design, 0, "if the truth is "), _cell(design, 1, "if it is "))
    note = "For the expected cost alone; the guarantee does not rest on it."
    return join([paragraph(note, class_="note"), table("What is assumed of the votes", heads, rows)])


def _decision(design: DecisionDesign) -> dict[str, object]:
    problem, table_ = design.problem, design.table
    one, gain = _answer(design, 1), _gains(design)
    heads = [f"group {g} (of {group.count})" for g, group in enumerate(problem.groups, 1)]
    rows = [
        (*n, repr(float(x)), "either" if gain[n] == 0 else _cell(design, int(gain[n] > 0)))
        for n, x in np.ndenumerate(table_)
    ]
    drawn: Markup = paragraph("A picture shows three groups at most; the table has all of them.", class_="note")
    if len(problem.groups) <= MOST_GROUPS:
        drawn = picture(
            plot_decision(design, title=False),
            described(design, one),
            f"The probability of {one} by how many voters of each group say {one}.",
        )
    return {
        "decision_picture": drawn,
        "decision_table": folded(
            "The decision", (*heads, _cell(design, 1, "probability of "), "costs less"), rows, words=(0, len(heads) + 1)
        ),
        "reversals": _reversals(design),
    }


def _gains(design: DecisionDesign) -> Any:
    """What the answer 1 costs less than the answer 0, for every count."""
    costs = design.objective.costs(design.problem)
    return costs[..., 0] - costs[..., 1]


def _reversals(design: DecisionDesign) -> Markup:
    """Where the label that costs more is the likelier one."""
    if not design.reversals:
        return paragraph("At no counts is the label that costs more the likelier one.", class_="note")
    reversed_ = (design.table - 0.5) * _gains(design) < 0
    at = np.argwhere(reversed_).tolist()
    named = [str(tuple(n)) if len(n) > 1 else str(n[0]) for n in islice(at, _NAMED)]
    where = listed(named) if len(at) <= _NAMED else f"{', '.join(named)} and {len(at) - _NAMED} more"
    often = ""
    if isinstance(design.objective, OfVoters):
        chance = float(design.objective.chances(design.problem).sum(axis=0)[reversed_].sum())
        often = f" They come up with a probability of {shown(chance, 2)}."
    return paragraph(
        f"At {len(at)} of {design.table.size} counts the label that costs more is the likelier one: at {where}.{often} "
        "The optimum gives up there what it gains elsewhere. ",
        element("code", "darrm.solve(..., ordered=True)"),
        " forbids it.",
        class_="note",
    )


def _costs(design: DecisionDesign, full: bool) -> dict[str, object]:
    if math.isfinite(design.gap):
        rival = "any ordered decision" if design.ordered else "any decision"
        optimal = f"That is at most {shown(design.gap, 2, up=True)} above that of {rival} with this guarantee."
    else:
        optimal = "How close this is to the least possible is not known."
    return {
        "meaning": _meaning(design),
        "optimal": optimal,
        "comparison": _comparison(design) if full else left_out("The comparison with simpler ways to decide"),
        "absent_table": _absent_table(design),
    }


def _meaning(design: DecisionDesign) -> str:
    objective = design.objective
    if isinstance(objective, Truth):
        if objective.plain:
            return "the probability of a wrong label"
        return "what a label costs on average, over the truth, the votes and the coins of the release"
    if isinstance(objective, Costs):
        return "the sum of the costs in its table, each times the probability of its label"
    return f"the probability that the label differs from the rule ({objective})"


def _comparison(design: DecisionDesign) -> Markup:
    try:
        found = beside_others(design)
    except (InputError, SolverError) as error:
        return paragraph("There is no comparison with simpler ways to decide. ", error)
    rows = [
        (
            entry.name,
            figure(entry.expected_cost),
            shown(entry.certificate.tight_epsilon, 6),
            "yes" if entry.certificate.holds else "no",
        )
        for entry in found
    ]
    heads = ("decision", "expected cost", "tight epsilon", "guarantee")
    note = "What has no “yes” does not keep the guarantee: its cost is there for scale."
    return join([table("Beside simpler ways to decide", heads, rows), paragraph(note, class_="note")])


def _absent_table(design: DecisionDesign) -> Markup:
    if not design.absent:
        return join([])
    everybody = tuple(group.count for group in design.problem.groups)
    rows = [
        (
            ", ".join(map(str, present)),
            figure(part.expected_cost),
            shown(part.gap, 2, up=True),
            shown(part.certificate.tight_epsilon, 6),
            "yes" if part.certificate.holds else "no",
        )
        for present, part in [*design.fewer.items(), (everybody, design)]
    ]
    heads = ("present in each group", "expected cost", "gap, at most", "tight epsilon", "guarantee")
    return join([element("h3", "With absent voters"), folded("With absent voters", heads, rows)])


def _failures(problem: DecisionProblem) -> Markup:
    """What the worst case leaves out where there are too many cases of voters that fail."""
    fails = group_corners(problem)[1]
    if not fails:
        return join([])
    text = (
        " = 0: cases with failures are too many to go through. The proved bound adds the probability that a reached "
        f"voter fails, at most {shown(fails, 4, up=True)} (Lemma D4), and need not be attained."
    )
    return join(["Here ", var("Delta"), text])


def _certificate(design: DecisionDesign) -> dict[str, object]:
    problem, worst = design.problem, work_out_groups(design)
    p, other = var("p"), var("p\N{PRIME}")
    corners = [
        (f"group {corner.group}", corner.name, corner.voters, shown(corner.p.one), shown(corner.q.one))
        for corner in worst.corners
    ]
    counts = [
        (f"group {g}", l, shown(a), shown(b))
        for g, (on, off) in enumerate(zip(worst.p_side, worst.q_side, strict=True), 1)
        for l, (a, b) in enumerate(zip(on, off, strict=True))
    ]
    heads = ("", var("l"), *(join(["Pr[", var("l"), " ones], ", side]) for side in (p, other)))
    many, terms = entries(problem), [join(["all products for ", side]) for side in (p, other)]
    with decimals(guarantee(problem).epsilon):
        return {
            "multisets": f"{many:,}" if many < 10**9 else shown(many, 3),
            "no_other": "No other case comes closer to the limit" + " while all voters are present" * design.absent,
            "failures": _failures(problem),
            "worst_label": _answer(design, worst.answer),
            "corner_table": table("The worst case by group", ("", "corner", "voters", p, other), corners, words=(0, 1)),
            "count_table": folded("The numbers of ones in the worst case", heads, counts),
            "sum_table": sections.sums(
                worst, join(["e", element("sup", var("epsilon"))]), (terms[0], terms[1]), design
            ),
        }
