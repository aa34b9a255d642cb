"""What stands in the explorer's pages: the templates hold the text, this the controls, numbers and tables in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from flask import url_for

from darrm.accounting.fresh import Total
from darrm.baselines.entries import Comparison
from darrm.design.design import SHAPES, Design
from darrm.problem.decision import allowance
from darrm.problem.majority import MajorityProblem
from darrm.show import wording
from darrm.show.explore import choices
from darrm.show.explore.choices import DESIGN, FIRST, KEPT, Choice, Choices, Many
from darrm.show.explore.controls import (
    CUT,
    Look,
    bars,
    box,
    copied,
    filled,
    frame,
    noted,
    nothing,
    pending,
    radio,
    wrong,
)
from darrm.show.inline import described, gamma_table
from darrm.show.markup import Markup, element, grid, join, paragraph

_LOOKS = {
    "K": Look("How many voters there are.", slider={"min": 1, "max": 101, "step": 1}),
    "m": Look("What one release may cost, in multiples of epsilon.", slider={"min": 1, "max": 11, "step": 1}),
    "epsilon": Look("Privacy of one vote, in nats.", slider={"min": -3, "max": 1, "step": 0.01, "data_scale": "log"}),
    "Delta": Look("Delta of one vote, which is (epsilon, Delta)-DP."),
    "delta": Look("Delta of one release.", placeholder="1 \N{MINUS SIGN} (1 \N{MINUS SIGN} Delta)^m"),
    "max_affected": Look("How many voters one record can reach.", placeholder="all K"),
    "prior": Look(
        "Where votes come from: uniform, common, independent:LOW,HIGH, common:A,B, fixed:P1,…,PK, votes:C0,…,CK "
        f"(public). {wording.NOT_RESTING}"
    ),
    "queries": Look("How many labels."),
    "total_delta": Look("Delta of all labels together."),
}
_FOLDED = DESIGN[3:]  # the form hides these until one of them is wrong or differs from what it is at first
_BUTTON = "Show with what many labels cost"
_SAY_WHO = paragraph("Say first whether your voters are fresh or fixed: several labels do not cost the same for both.")


def explorer(state: Choices, design: str, budget: str) -> Markup:
    """The whole page; ``design`` and ``budget`` are empty where there is none to show."""
    texts, errors = state.texts, state.errors
    before, _, after = design.partition(CUT)
    if not budget and not texts["voters"]:
        budget = _SAY_WHO
    elif not budget and errors:
        budget = nothing()
    elif not budget:
        budget = pending(_BUTTON)
    main = filled(
        "page",
        **{name: box(name, look, texts, FIRST, errors) for name, look in _LOOKS.items()},
        **{f"wrong_{name}": wrong(errors, name) for name in ("shape", "voters", "kept", "solve")},
        more_open=Markup(" open" * any(texts[name] != FIRST[name] or name in errors for name in _FOLDED)),
        shapes=join(element("option", shape, value=shape, selected=shape == texts["shape"]) for shape in SHAPES),
        voters=join(radio("voters", kind, texts["voters"]) for kind in ("fresh", "fixed")),
        kept=join(
            element("input", type="hidden", name=f"{KEPT}{name}", value=value)
            for name, value in state.kept_texts.items()
        ),
        status="See the messages beside the controls." if errors else "",
        design=Markup(before) if design else element("section", nothing(), class_="card"),
        beside=Markup(after),
        budget=Markup(budget),
        button=_BUTTON,
    )
    lead = "The least noise with which the majority of K private votes may be released, as you choose K, m and epsilon."
    return frame("darrm explore", main, paragraph(lead), "Noise functions: darrm explore", "noise.page")


def voters() -> Markup:
    """Why it matters who votes."""
    return frame("Fresh voters, fixed voters", filled("voters"))


def design(state: Choices, choice: Choice, designs: Mapping[str, Design], entries: Comparison, picture: str) -> Markup:
    """The design of ``choice`` and a kept one by name, the ``entries`` of other mechanisms, and how to go on."""
    present, *kept = designs.values()
    links = {"Keep this one to compare": state.query(keep=True)}
    if kept:
        links["Let the kept one go"] = state.query(keep=False)
    shape_note = paragraph("the shape monotone".join(wording.NOT_RISING), class_="hint")
    buttons = (
        element("a", label, class_="button", data_state=True, href=f"{url_for('noise.page')}?{search}")
        for label, search in links.items()
    )
    return filled(
        "design",
        K=present.problem.K,
        guarantee=wording.guarantee(present.problem),
        condition=wording.condition(present.problem),
        picture=picture,
        alternative=described(designs),
        height=390 if kept else 310,
        shape_note=shape_note if present.shape == "free" else "",
        figures=_figures(designs),
        keep=join(buttons),
        bars=grid(("mechanism", "error", "verified"), _bars(present, entries), class_="bars"),
        prior=str(present.prior)[:60],
        command=copied("command", f"{choices.solve_command(choice)} --out gamma.json"),
        python=copied("python", choices.solve_python(choice)),
        search=state.query(keep=False),
        gammas_open=Markup(" open" * (present.problem.K <= 21)),
        gammas=join(
            gamma_table(design, f"{name}, K = {design.problem.K}" if kept else "", class_="gamma")
            for name, design in designs.items()
        ),
    )


def _figures(designs: Mapping[str, Design]) -> Markup:
    """Errors and bounds of one design, or of two side by side with the problems that they are for."""
    present, *kept = designs.values()
    at = "" if kept else f" = {wording.exactly(present.problem.delta)}"
    rows: list[tuple[str, str, Callable[[Design], object]]] = [
        ("error", "total variation", lambda design: f"{design.error:.6g}"),
        (
            "disagreement",
            "with the votes\N{RIGHT SINGLE QUOTATION MARK} majority",
            lambda design: f"{design.disagreement:.6g}",
        ),
        ("tight epsilon", f"at delta{at}", lambda design: _tight(design, bool(kept))),
        ("a better gamma could save", f"{present.objective}, at most", lambda design: f"{design.gap:.1e}"),
    ]
    if kept:
        rows += [
            ("K", "", lambda design: design.problem.K),
            ("m", "", lambda design: f"{allowance(design.problem):g}"),
            ("epsilon", "", lambda design: f"{design.problem.groups[0].epsilon:g}"),
            ("Delta", "", lambda design: f"{design.problem.groups[0].delta:g}"),
            ("delta", "", lambda design: wording.exactly(design.problem.delta)),
            ("max_affected", "", lambda design: design.problem.max_affected),
            ("prior", "", lambda design: element("span", str(design.prior)[:60], class_="text")),
            ("shape", "", lambda design: design.shape),
        ]
    lines = [[noted(name, note), *map(show, designs.values())] for name, note, show in rows]
    return grid(["", *(designs if kept else [""])], lines, class_="figures")


def _tight(design: Design, with_delta: bool) -> Markup:
    return noted(
        wording.at_least(design.certificate.tight_epsilon), f"at {wording.exactly(design.problem.delta)}" * with_delta
    )


def _bars(present: Design, entries: Comparison) -> Iterator[Markup]:
    return bars((entry.called, entry.error, entry.within, entry.design is present) for entry in entries)


def budget(many: Many | None, totals: Mapping[str, tuple[Total, MajorityProblem]]) -> Markup:
    """What many labels of each design cost, and under which condition, by the names of the designs."""
    if many is None:
        return _SAY_WHO
    parts = []
    for name, (total, problem) in totals.items():
        if len(totals) > 1:
            parts.append(element("h3", f"{name.capitalize()} design"))
        bounds = sorted(total.bounds.items(), key=lambda item: item[1])
        rows = [(noted(name, wording.RULES.get(name, "")), wording.at_least(value)) for name, value in bounds]
        parts += [paragraph(wording.cost(total, problem)), grid(("proved by", "epsilon"), rows, class_="figures")]
        parts.append(paragraph(f"This holds {wording.condition(problem, many.voters)}"))
    if many.voters == "fresh":
        sharp = "Sharp to about a percent here; the command goes on to a tenth of that."
        parts.append(paragraph(sharp, class_="hint"))
    parts.append(copied("budget-command", choices.budget_command(many)))
    parts.append(copied("budget-python", choices.budget_python(many)))
    return join(parts)
