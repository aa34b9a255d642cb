"""The explorer's first page: a plan of many labels within one privacy budget."""

from __future__ import annotations

import math

from flask import url_for

from darrm.baselines.entries import Comparison
from darrm.design.design import Design
from darrm.numerics.printed import exactly
from darrm.planning.answers import Plan
from darrm.problem.groups import ByGroups
from darrm.show import comparison_words, plan_words, wording
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
    randomizer,
    wrong,
)
from darrm.show.explore.plan_choices import FIRST, GROUPS, MEANINGS, Choice, Choices
from darrm.show.inline import decision_table
from darrm.show.markup import Markup, element, grid, join, paragraph, row

_LOOKS = {
    "accuracy": Look(
        f"Accuracy of groups that have no accuracy of their own. {wording.NOT_RESTING}",
        slider={"min": 0.5, "max": 1, "step": 0.01},
    ),
    "max_affected": Look(
        "Largest number of voters, over all groups, affected by a change of one record.", placeholder="required"
    ),
    "queries": Look("Number of labels, each from a row of votes of its own.", "labels"),
    "total_epsilon": Look("Privacy budget: epsilon of all labels together, in nats.", "total epsilon"),
    "total_delta": Look("Privacy budget: delta of all labels together.", "total delta"),
    "at_most": Look("Largest epsilon of one vote, in nats.", "at most", placeholder="none"),
    "aggregator": Look(
        "Largest epsilon of all votes together, which the aggregator receives, at the total delta.",
        "aggregator",
        placeholder="any",
    ),
}
_COLUMNS = {"count": "voters", "epsilon": "epsilon", "accuracy": "accuracy"}
_BLANK = {"accuracy": "as below"}
_MEANT = (
    "Before the noise (base): a vote is an answer of its voter after randomized response with its epsilon, which is "
    "less accurate. Or the accuracy of votes as cast."
)
_WHY = {
    "max_affected": (
        "Give the largest number of voters that a change of one record affects (max_affected). darrm cannot see it. If "
        "only one voter is affected, many labels may be accurate. If all voters may be affected, labels of the same "
        "budget may be hardly better than coin flips."
    ),
    "voters": ("Choose whether your voters are fresh or fixed: the total of several labels depends on it."),
    "colluders": (
        "Give the number of colluders: how many voters of each group may tell their votes, repeat them or learn from "
        "them. Give 1 or more if voters see the labels, 0 if no one but a trusted aggregator knows a vote."
    ),
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
        randomizer=randomizer(texts, FIRST, errors),
        kinds=join(radio("voters", kind, texts["voters"]) for kind in ("fresh", "fixed")),
        auto_open=Markup(" open" * (auto or "at_most" in errors or "aggregator" in errors)),
        **{f"wrong_{name}": wrong(errors, name) for name in ("groups", "voters", "solve")},
        status="See the messages beside the controls." if errors else "",
        plan=Markup(before),
        beside=Markup(after),
        others=Markup(others),
        button=_BUTTON,
    )
    lead = "Plan many labels of your voters within one privacy budget: their guarantee, error rate and assumptions."
    return frame("darrm explore", main, paragraph(lead), "darrm explore", "plan.page")


def _card(content: object) -> Markup:
    head = element("h2", "Guarantee of all labels", id="plan-heading")
    return element("section", join([head, content]), class_="card", aria_labelledby="plan-heading")


def _say(state: Choices) -> Markup:
    return join(paragraph(_WHY[name]) for name in choices.unsaid(state))


def unsaid(state: Choices) -> Markup:
    """The card in place of a plan while a choice is missing, and why."""
    return join([_card(_say(state)), Markup(CUT)])


def nothing_beside() -> Markup:
    """What stands in place of the comparison then."""
    return paragraph("Once there is a plan, other mechanisms are calibrated to the same privacy budget.")


def no_others(choice: Choice) -> Markup:
    """Why there is no comparison, and where there is one."""
    return join(
        [
            paragraph(
                f"There is no comparison here: it takes more than {serving.TIME_LIMIT:g} s. This command computes it:"
            ),
            copied("others-command", choices.plan_command(choice)),
        ]
    )


def plan(state: Choices, choice: Choice, answer: Plan, design: Design, curve: str) -> Markup:
    """A plan in the order in which people ask."""
    return filled(
        "planned",
        together=plan_words.together(answer),
        otherwise=join(paragraph(said) for said in _otherwise(answer)),
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


def _otherwise(answer: Plan) -> list[str]:
    """What the guarantee rests on where the randomizer is known, and what holds if that fails."""
    said = plan_words.otherwise(answer)
    if not said:
        return []
    holds, fallback, *counts = said
    second = wording.pair(answer.fallback_epsilon, answer.total_delta)
    return [
        holds,
        f"{fallback} It is within the second budget, {second}; for another take darrm plan (--fallback-epsilon).",
        *counts,
    ]


def _right(answer: Plan) -> Markup:
    """The error rate of a label, beside no noise and no privacy."""
    ways = [
        ("planned noise", "", answer.wrong),
        ("no output noise", "majority of the votes", answer.wrong_without_noise),
        ("no privacy", "majority of the answers before randomization", answer.wrong_without_privacy),
    ]
    rows = []
    for name, note, wrong_ in ways:
        if math.isnan(wrong_):
            continue
        length = element("span", class_="bar", style=f"width:{100 * wrong_:.2f}%")
        cells = (join([noted(name, note), length]), f"{wrong_:.4f}")
        rows.append(row(cells, class_=None if note else "this"))
    agrees = paragraph(
        f"The disagreement rate of this plan is {answer.disagreement:.4f}: the probability that a label differs from "
        "the majority of its votes; at a tie both answers agree.",
        class_="hint",
    )
    return join([grid(("rule", "label error rate"), rows, class_="bars"), agrees])


def _curve(answer: Plan, choice: Choice, picture: str) -> Markup:
    """Plans for other epsilons of the votes, and the epsilon of all votes together."""
    head = element("h2", plan_words.CURVE_TITLE, id="curve-heading")
    shown: object = paragraph("The search was stopped before it tried other epsilons.")
    if picture:
        first, last = answer.curve[0], answer.curve[-1]
        words = (
            f"Label error rate by the epsilon of one vote, from {first.wrong:.3g} at {first.epsilon:.3g} to "
            f"{last.wrong:.3g} at {last.epsilon:.3g}, the largest. Two further curves are the epsilon of all labels "
            "together and that of all votes together."
        )
        image = _picture(picture, words, f"Picture: {plan_words.CURVE_TITLE}")
        rows = plan_words.curve_rows(answer)
        note = (
            "Epsilon, all labels: for all labels together. Epsilon, all votes: for all votes together, which the "
            f"aggregator receives. Both at delta {exactly(answer.total_delta)}."
        )
        if choice.colluders:
            note += " That of all labels rests on the assumption of the guarantee, with each epsilon in turn."
        table = _scrolls(grid(plan_words.CURVE_HEADS, rows, class_="figures"), plan_words.CURVE_TITLE)
        shown = join([image, table, paragraph(note, class_="hint")])
    return element("section", join([head, shown]), class_="card", aria_labelledby="curve-heading")


def _scrolls(content: object, name: str) -> Markup:
    """What scrolls on its own where it is wider than the screen."""
    return element("div", content, class_="scroll", role="region", tabindex=0, aria_label=name)


def _picture(address: str, words: str, name: str) -> Markup:
    return _scrolls(element("img", class_="picture", src=address, alt=words), name)


def others(compared: Comparison, problem: ByGroups, picture: str, search: str) -> Markup:
    """Mechanisms at the same privacy budget, the plan first; ``problem`` is that of the plan."""
    best = min(row.wrong for row in compared if row.within)
    words = (
        f"Bars of label error rates: {compared[0].wrong:.3g} for the plan, {best:.3g} for the best mechanism within "
        "the budget; the table below has the numbers."
    )
    rows = [
        row((noted(one.name, one.setting), *cells), class_=None if at else "this")
        for at, (one, (_, *cells)) in enumerate(zip(compared, comparison_words.mechanism_rows(compared), strict=True))
    ]
    table = _scrolls(
        grid(comparison_words.mechanism_heads(compared), rows, class_="mechanisms"),
        "Mechanisms at the same privacy budget",
    )
    csv = element("a", "Mechanisms, CSV", class_="button", href=f"{url_for('plan.mechanisms')}?{search}", download=True)
    return join(
        [
            paragraph(
                f"{comparison_words.mechanisms_title(compared)}. Mechanisms over budget are shown for scale only."
            ),
            _picture(picture, words, "Picture of mechanisms at the same privacy budget"),
            table,
            paragraph(comparison_words.columns_meant(compared, stated=True), class_="hint"),
            paragraph(f"Epsilon, all labels, holds {plan_words.known(problem)}", class_="hint")
            if problem.known
            else "",
            paragraph(csv, class_="buttons"),
        ]
    )
