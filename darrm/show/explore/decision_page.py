"""What stands on the explorer's page of decisions by groups of voters."""

from __future__ import annotations

import math
from decimal import Decimal

from flask import url_for

from darrm.baselines.entries import Comparison
from darrm.design.design import Design
from darrm.numerics.exact import decimals
from darrm.show import classes, wording
from darrm.show.explore import decision_commands
from darrm.show.explore.controls import (
    CUT,
    Look,
    bars,
    box,
    copied,
    filled,
    frame,
    group_rows,
    noted,
    nothing,
    pending,
    wrong,
)
from darrm.show.explore.decision_choices import CLASSES, FIRST, GROUPS, OBJECTIVES, Choice, Choices
from darrm.show.inline import decision_table
from darrm.show.markup import Markup, element, grid, join, paragraph, shown
from darrm.show.plots_classes import caption
from darrm.show.plots_decision import described
from darrm.show.report.worst_case import WorstCounts, work_out_groups
from darrm.show.report.worst_classes import failures_apart, says, work_out_classes

_LOOKS = {
    "max_affected": Look("How many voters one record can reach, over all groups.", placeholder="all"),
    "base": Look(
        "How often a voter is right before its noise, which is randomized response of its epsilon: its vote is right "
        "less often. An accuracy of its group stands in place of this. "
        f"{wording.NOT_RESTING}",
        "base",
        slider={"min": 0.5, "max": 1, "step": 0.01},
    ),
    "epsilon": Look(
        "Privacy of one decision, in nats.", slider={"min": -2, "max": 1, "step": 0.01, "data_scale": "log"}
    ),
    "delta": Look("Delta of one decision.", placeholder="0"),
    "prior": Look(
        f"How often 1 is the truth. {wording.NOT_RESTING}",
        "prior of 1",
        slider={"min": 0.01, "max": 0.99, "step": 0.01},
    ),
    "k": Look("How many votes for 1 make the answer 1."),
    "miss": Look("Cost of the answer 0 where the truth is 1.", "miss"),
    "false_alarm": Look("Cost of the answer 1 where the truth is 0.", "false alarm"),
    "none": Look("Cost of a further answer, none of the classes; for one group.", "none", placeholder="no such answer"),
}
# Other objectives, or more than two classes, have no use for them.
_FOR = {"k": "for-k", "prior": "for-two", "miss": "for-truth for-two", "false_alarm": "for-truth for-two"}
_COLUMNS = {"count": "voters", "epsilon": "epsilon", "max_affected": "reached", "accuracy": "accuracy"}
_BLANK = {"max_affected": "all", "accuracy": "base"}
_FEW = 60  # entries of a table that is open at first
_SEEN = "The chance of the answer 1, by how many voters of each group say 1."
_BUTTON = "Show beside other ways"


def explorer(state: Choices, design: str, others: str) -> Markup:
    """The whole page; ``design`` and ``others`` are empty where there is none to show."""
    texts, errors = state.texts, state.errors
    before, _, after = design.partition(CUT)
    controls = {
        name: element("div", box(name, look, texts, FIRST, errors), class_=_FOR.get(name))
        for name, look in _LOOKS.items()
    }
    main = filled(
        "decisions",
        **controls,
        group_rows=group_rows(GROUPS, _COLUMNS, _BLANK, texts, FIRST, errors),
        objectives=join(
            element("option", name, value=value, selected=value == texts["objective"])
            for value, name in OBJECTIVES.items()
        ),
        classes=join(
            element("option", number, value=number, selected=number == texts["classes"]) for number in CLASSES
        ),
        ordered=element(
            "input",
            type="checkbox",
            id="ordered",
            name="ordered",
            value="yes",
            checked=texts["ordered"] == "yes",
            aria_describedby="hint-ordered wrong-ordered",
        ),
        **{f"wrong_{name}": wrong(errors, name) for name in ("groups", "classes", "objective", "ordered", "solve")},
        status="See the messages beside the controls." if errors else "",
        design=Markup(before) if design else element("section", nothing(), class_="card"),
        beside=Markup(after),
        others=Markup(others) or (nothing() if errors else pending(_BUTTON)),
        button=_BUTTON,
    )
    lead = "The best private decision from the votes of groups of voters, as you choose them and what it should be."
    return frame("darrm explore", main, paragraph(lead), "Decisions by groups: darrm explore", "decisions.page")


def design(state: Choices, choice: Choice, found: Design, picture: str) -> Markup:
    """The design of ``choice``, its worst case, and how to go on."""
    problem = found.problem
    return filled(
        "decision",
        K=problem.K,
        guarantee=wording.guarantee(problem),
        condition=wording.condition(problem),
        picture=picture,
        alternative=described(found, problem.names[1]),
        seen=_SEEN if problem.binary else caption(found),
        figures=_figures(choice, found),
        reversals=_reversals(found),
        worst=_worst(found),
        command=copied("command", f"{decision_commands.solve_command(choice)} --out decision.json"),
        python=copied("python", decision_commands.solve_python(choice)),
        base=url_for("decisions.page"),
        search=state.query(),
        table_open=Markup(" open" * (classes.n_rows(found) <= _FEW)),
        table=decision_table(found),
    )


def _figures(choice: Choice, found: Design) -> Markup:
    delta = found.problem.delta
    rows: list[tuple[str, str, object]] = [
        ("expected cost", wording.counted(found.objective), f"{found.expected_cost:.6g}"),
        ("tight epsilon", f"at delta = {wording.exactly(delta)}", wording.at_least(found.certificate.tight_epsilon)),
        (
            "needed delta",
            f"at epsilon = {wording.exactly(found.problem.release_epsilon)}",
            wording.at_least(found.certificate.needed_delta),
        ),
        ("a better table could save", "at most", "not known" if math.isinf(found.gap) else f"{found.gap:.1e}"),
    ]
    rows += [
        (f"accuracy of group {g}", "of a vote", f"{accuracy:.6g}") for g, accuracy in enumerate(choice.accuracies, 1)
    ]
    return grid(["", ""], [(noted(name, note), value) for name, note, value in rows], class_="figures")


def _reversals(found: Design) -> Markup:
    if not found.reversals:
        return join([])
    at = f"At {found.reversals} of {found.table.size} vectors of counts"
    said = f"{at} the answer that costs less is the less likely one"
    if not found.problem.binary:
        said = classes.reversals(found)
    return paragraph(f"{said}; “ordered” forbids that.", class_="hint")


def _worst(found: Design) -> Markup:
    """Where the guarantee is closest to its limit."""
    problem = found.problem
    if not problem.binary:
        return _worst_of_classes(found)
    worst = work_out_groups(found)
    rows = [
        (f"group {corner.group}", corner.voters, shown(corner.p.one, 4), shown(corner.q.one, 4))
        for corner in worst.corners
    ]
    heads = ("voters of", "how many", "say 1 with chance", "and with the other")
    said = _closest(found, worst, problem.names[worst.answer])
    return join([said, grid(heads, rows, class_="figures")]) if rows else said


def _worst_of_classes(found: Design) -> Markup:
    problem, worst = found.problem, work_out_classes(found)
    pure = failures_apart(found)
    rows: list[tuple[object, ...]] = []
    for place in worst.places:
        group = problem.groups[place.group - 1]
        sides = (says(place, group, side, pure=pure) for side in (0, 1))
        said = [", ".join(f"{problem.names[c]}: {shown(x, 4)}" for c, x in side.items()) for side in sides]
        rows.append((f"group {place.group}", place.voters, *said))
    heads = ("voters of", "how many", "say, with chance", "and with the other")
    closest = _closest(found, worst, classes.answers_of(problem.answers, worst.answers))
    return join([closest, grid(heads, rows, class_="figures")])


def _closest(found: Design, worst: WorstCounts, answer: str) -> Markup:
    (on, off), delta = worst.probabilities, found.problem.delta
    with decimals(on):
        most = worst.factor * off + Decimal(delta)
    more = f", and {wording.exactly(delta)} more" if delta else ""
    return paragraph(
        f"One change of the data comes closest to the limit for the answer {answer}, where "
        f"its chance is {shown(on, 6)} with one of the data sets and {shown(off, 6)} with the other. The guarantee "
        f"allows e^{wording.exactly(found.problem.release_epsilon)} times the other{more}: {shown(most, 6, up=True)}."
    )


def others(entries: Comparison) -> Markup:
    """Other ways to decide, the design among them."""
    first = entries[0]
    rows = bars(
        (entry.called, entry.expected_cost, entry.within, entry is first)
        for entry in sorted(entries, key=lambda entry: not entry.within)
    )
    note = "Rows that are not verified do not satisfy the guarantee; they are there for scale."
    return join(
        [grid(("way to decide", "expected cost", "verified"), rows, class_="bars"), paragraph(note, class_="hint")]
    )


def no_others(why: object) -> Markup:
    """Why there is no comparison."""
    return paragraph("There is no comparison with other ways. ", why)
