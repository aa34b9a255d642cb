"""What stands on the explorer's first page: a plan of many labels within one total budget."""

from __future__ import annotations

import math

from flask import url_for

from darrm.baselines.entries import Comparison
from darrm.design.design import Design
from darrm.planning.answers import Plan
from darrm.show import plan_words, wording
from darrm.show.explore import plan_choices as choices
from darrm.show.explore import serving
from darrm.show.explore.controls import (
    CUT,
    Look,
    box,
    chosen,
    copied,
    filled,
    frame,
    group_rows,
    noted,
    nothing,
    pending,
    radio,
    wrong,
)
from darrm.show.explore.plan_choices import FIRST, GROUPS, MEANINGS, Choice, Choices
from darrm.show.inline import decision_table
from darrm.show.markup import Markup, element, grid, join, paragraph, row

_LOOKS = {
    "accuracy": Look(
        f"Of every group that has none of its own. {wording.NOT_RESTING}", slider={"min": 0.5, "max": 1, "step": 0.01}
    ),
    "max_affected": Look(
        "How many voters one change of the data (one record) can reach, over all groups.", placeholder="say it"
    ),
    "queries": Look("How many labels. Each is made of votes of its own.", "labels"),
    "total_epsilon": Look("Privacy of all labels together, in nats.", "total epsilon"),
    "total_delta": Look("Delta of all labels together.", "total delta"),
    "at_most": Look("The largest epsilon of a vote to consider, in nats.", "at most", placeholder="none"),
    "aggregator": Look(
        "The largest epsilon of all votes together, for whoever sees them, at the total delta.",
        "aggregator",
        placeholder="any",
    ),
}
_COLUMNS = {"count": "voters", "epsilon": "epsilon", "accuracy": "accuracy"}
_BLANK = {"accuracy": "as below"}
_MEANT = (
    "Before the noise (base): a vote is an answer of its voter after randomized response of its epsilon, and is right "
    "less often. Or of votes as cast."
)
_WHY = {
    "max_affected": (
        "Say how many voters one change of the data can reach (max_affected). darrm cannot see it. If a record is "
        "with one voter only, many labels may be good. If it can be with all voters, labels of the same budget may be "
        "hardly better than coin flips."
    ),
    "voters": ("Say whether your voters are fresh or fixed. Several labels do not cost the same for both."),
}
_FEW = 22  # entries of a table that is open at first
_BUTTON = "Plan"


def explorer(state: Choices, made: str, others: str) -> Markup:
    """The whole page; ``made`` and ``others`` are empty where there is none to show."""
    texts, errors = state.texts, state.errors
    if not made:
        made = _card(nothing() if errors else _say(state) if choices.unsaid(state) else pending(_BUTTON))
    if not others:
        others = nothing() if errors else nothing_beside() if choices.unsaid(state) else pending(_BUTTON)
    before, _, after = made.partition(CUT)
    auto = any(texts[f"epsilon{g}"] == choices.AUTO for g in GROUPS)
    main = filled(
        "plan",
        **{name: box(name, look, texts, FIRST, errors) for name, look in _LOOKS.items()},
        group_rows=group_rows(GROUPS, _COLUMNS, _BLANK, texts, FIRST, errors),
        meaning=chosen("meaning", MEANINGS, _MEANT, texts, FIRST, errors),
        kinds=join(radio("voters", kind, texts["voters"]) for kind in ("fresh", "fixed")),
        auto_open=Markup(" open" * (auto or "at_most" in errors or "aggregator" in errors)),
        **{f"wrong_{name}": wrong(errors, name) for name in ("groups", "voters", "solve")},
        status="See the messages beside the controls." if errors else "",
        plan=Markup(before),
        beside=Markup(after),
        others=Markup(others),
        button=_BUTTON,
    )
    lead = (
        "What one privacy budget buys for many labels of your voters: how often a label is right, and what it rests on."
    )
    return frame("darrm explore", main, paragraph(lead), "darrm explore", "plan.page")


def _card(content: object) -> Markup:
    head = element("h2", "What all labels guarantee", id="plan-heading")
    return element("section", join([head, content]), class_="card", aria_labelledby="plan-heading")


def _say(state: Choices) -> Markup:
    return join(paragraph(_WHY[name]) for name in choices.unsaid(state))


def unsaid(state: Choices) -> Markup:
    """What stands in place of a plan before all is said, and why."""
    return join([_card(_say(state)), Markup(CUT)])


def nothing_beside() -> Markup:
    """What stands in place of the comparison then."""
    return paragraph("Other mechanisms are calibrated to the same total budget once there is a plan.")


def no_others(choice: Choice) -> Markup:
    """Why there is no comparison, and where there is one."""
    return join(
        [
            paragraph(f"Nothing was compared: it takes more than {serving.TIME_LIMIT:g} s. The command line has it:"),
            copied("others-command", choices.plan_command(choice)),
        ]
    )


def plan(state: Choices, choice: Choice, answer: Plan, design: Design, curve: str) -> Markup:
    """A plan in the order in which people ask."""
    return filled(
        "planned",
        together=plan_words.together(answer),
        remarks=join(paragraph(remark, class_="remark") for remark in plan_words.remarks(answer)),
        right=_right(answer),
        one_label=plan_words.one_label(answer),
        aggregator=plan_words.aggregator(answer),
        curve=_curve(answer, choice, curve) if choice.free else "",
        assumptions=join(element("li", assumption) for assumption in answer.assumptions),
        command=copied("command", f"{choices.plan_command(choice)} --out decision.json"),
        python=copied("python", choices.plan_python(choice)),
        search=state.query(),
        table_open=Markup(" open" * (design.table.size <= _FEW)),
        table=decision_table(design),
    )


def _right(answer: Plan) -> Markup:
    """How often a label is right, beside no noise and no privacy."""
    ways = [
        ("this plan", "", answer.wrong),
        ("no noise at the labels", "majority of the same votes", answer.wrong_without_noise),
        ("no privacy at all", "majority of the answers before their noise", answer.wrong_without_privacy),
    ]
    rows = []
    for name, note, wrong_ in ways:
        if math.isnan(wrong_):
            continue
        length = element("span", class_="bar", style=f"width:{100 * (1 - wrong_):.2f}%")
        cells = (join([noted(name, note), length]), f"{1 - wrong_:.4f}", f"{wrong_:.4f}")
        rows.append(row(cells, class_=None if note else "this"))
    agrees = paragraph(
        f"A label of this plan is not the majority of its votes with probability {answer.disagreement:.4f}; a tie "
        "agrees with both.",
        class_="hint",
    )
    return join([grid(("one label", "right", "wrong"), rows, class_="bars"), agrees])


def _curve(answer: Plan, choice: Choice, picture: str) -> Markup:
    """What other epsilons of the votes would buy, and how private all votes would be."""
    head = element("h2", "Votes of other epsilons", id="curve-heading")
    shown: object = paragraph("The search was stopped before other epsilons were tried.")
    if picture:
        first, last = answer.curve[0], answer.curve[-1]
        words = (
            f"Wrong labels by the epsilon of one vote, from {first.wrong:.3g} at {first.epsilon:.3g} to "
            f"{last.wrong:.3g} at {last.epsilon:.3g}, the largest. Two further curves are epsilon of all "
            "labels: for those who see the labels, and for those who see the votes."
        )
        image = _picture(picture, words, "Picture of the votes of other epsilons")
        rows = plan_words.curve_rows(answer)
        note = (
            "all labels: epsilon of all labels together, for whoever sees the labels only. votes: epsilon of all votes "
            f"together, for whoever collects them. Both at delta {answer.total_delta:g}."
        )
        table = _scrolls(grid(plan_words.CURVE_HEADS, rows, class_="figures"), "Votes of other epsilons")
        shown = join([image, table, paragraph(note, class_="hint")])
    return element("section", join([head, shown]), class_="card", aria_labelledby="curve-heading")


def _scrolls(content: object, name: str) -> Markup:
    """What scrolls on its own where it is wider than the screen."""
    return element("div", content, class_="scroll", role="region", tabindex=0, aria_label=name)


def _picture(address: str, words: str, name: str) -> Markup:
    return _scrolls(element("img", class_="picture", src=address, alt=words), name)


def others(compared: Comparison, picture: str, search: str) -> Markup:
    """What else the same total buys, the plan first."""
    best = min(row.wrong for row in compared if row.within)
    words = (
        f"Bars of wrong labels: {compared[0].wrong:.3g} for the plan, {best:.3g} for the best within the "
        "budget; numbers are in the table below."
    )
    rows = [
        row((noted(one.name, one.setting), *cells), class_=None if at else "this")
        for at, (one, (_, *cells)) in enumerate(zip(compared, plan_words.mechanism_rows(compared), strict=True))
    ]
    table = _scrolls(
        grid(plan_words.mechanism_heads(compared), rows, class_="mechanisms"), "Mechanisms at the same total"
    )
    csv = element("a", "Mechanisms, CSV", class_="button", href=f"{url_for('plan.mechanisms')}?{search}", download=True)
    return join(
        [
            paragraph(f"{plan_words.mechanisms_title(compared)}. Mechanisms over that total are there for scale."),
            _picture(picture, words, "Picture of mechanisms at the same total"),
            table,
            paragraph(plan_words.columns_meant(compared), class_="hint"),
            paragraph(csv, class_="buttons"),
        ]
    )
