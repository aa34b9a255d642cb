"""What stands in the explorer's pages: the templates hold the text, this the controls, numbers and tables in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from flask import url_for

from darrm import __version__
from darrm.accounting.fresh import Total
from darrm.design.design import SHAPES, Design
from darrm.measures.comparison import Entry
from darrm.show import wording
from darrm.show.explore import choices
from darrm.show.explore.choices import DESIGN, FIRST, KEPT, Choice, Choices, Many
from darrm.show.inline import described, gamma_table
from darrm.show.markup import Markup, element, grid, join, paragraph, row, template, text

_CUT = "<!-- many labels -->"  # in the template of a design, where explore.js and `page` put what many labels cost
_HINTS = {
    "K": "How many voters there are.",
    "m": "What one release may cost, in multiples of epsilon.",
    "epsilon": "Privacy of one vote, in nats.",
    "Delta": "Failure probability of one vote.",
    "delta": "Failure probability of one release.",
    "max_affected": "How many voters one record can reach.",
    "prior": "Where votes come from: uniform, common, independent:LOW,HIGH, common:A,B, fixed:P1,…,PK, votes:C0,…,CK "
    "(public).",
    "queries": "How many labels.",
    "total_delta": "Failure probability of all labels together.",
}
_PLACEHOLDERS = {"delta": "1 \N{MINUS SIGN} (1 \N{MINUS SIGN} Delta)^m", "max_affected": "all K"}
_SLIDERS: dict[str, dict[str, object]] = {
    "K": {"min": 1, "max": 101, "step": 1},
    "m": {"min": 1, "max": 11, "step": 1},
    "epsilon": {"min": -3, "max": 1, "step": 0.01, "data_scale": "log"},
}
_FOLDED = DESIGN[3:]  # the form hides these until one of them is wrong or differs from what it is at first
_SAY_WHO = paragraph("Say first whether your voters are fresh or fixed: nothing about several labels is true of both.")


def _filled(name: str, **values: object) -> Markup:
    return template("darrm.show.explore", f"templates/{name}.html", {"root": url_for("page"), **values})


def _whole(heading: str, main: Markup, lead: object = "", title: str | None = None) -> Markup:
    title = f"{heading}: darrm explore" if title is None else title
    return _filled("base", title=title, heading=heading, lead=lead, main=main, version=__version__)


def explorer(state: Choices, design: str, budget: str) -> Markup:
    """The whole page; ``design`` and ``budget`` are empty where there is none to show."""
    texts, errors = state.texts, state.errors
    before, _, after = design.partition(_CUT)
    if not budget and not texts["voters"]:
        budget = _SAY_WHO
    elif not budget and errors:
        budget = paragraph("Nothing is shown: see what is said beside the controls.")
    elif not budget:
        budget = element("noscript", paragraph("Not computed yet: press “Show with what many labels cost”."))
    main = _filled(
        "page",
        **{name: _box(state, name) for name in _HINTS},
        **{f"wrong_{name}": _wrong(state, name) for name in ("shape", "voters", "kept", "solve")},
        more_open=Markup(" open" * any(texts[name] != FIRST[name] or name in errors for name in _FOLDED)),
        shapes=join(element("option", shape, value=shape, selected=shape == texts["shape"]) for shape in SHAPES),
        voters=join(_radio("voters", kind, texts["voters"]) for kind in ("fresh", "fixed")),
        kept=join(
            element("input", type="hidden", name=f"{KEPT}{name}", value=value)
            for name, value in state.kept_texts.items()
        ),
        status="See what is said beside the controls." if errors else "",
        design=Markup(before),
        beside=Markup(after),
        budget=Markup(budget),
    )
    lead = "The least noise with which the majority of K private votes may be released, as you choose K, m and epsilon."
    return _whole("darrm explore", main, paragraph(lead), "darrm explore")


def voters() -> Markup:
    """Why it matters who votes."""
    return _whole("Fresh voters, fixed voters", _filled("voters"))


def refused(name: str, why: object) -> Markup:
    """A page that says why there is no other."""
    back = element("a", "To the explorer", href=url_for("page"))
    return _whole(name, element("main", join([paragraph(why), paragraph(back)]), class_="prose"))


def _wrong(state: Choices, name: str) -> Markup:
    return element("p", state.errors.get(name, ""), class_="wrong", id=f"wrong-{name}")


def _box(state: Choices, name: str) -> Markup:
    """A control for a number or a prior, its slider if it has one, and what is wrong with it below."""
    label = element("label", name.replace("_", " "), for_=name)
    slider: object = ""
    if name in _SLIDERS:
        look = {"class_": "slider", "type": "range", "data_for": name, "aria_label": f"{name}, slider"}
        slider = element("input", **look, **_SLIDERS[name], hidden=True)
    box = element(
        "input",
        id=name,
        name=name,
        value=state.texts[name],
        data_first=FIRST[name],
        placeholder=_PLACEHOLDERS.get(name),
        inputmode="decimal",
        spellcheck="false",
        aria_describedby=f"hint-{name} wrong-{name}",
        aria_invalid="true" if name in state.errors else None,
    )
    hint = element("p", _HINTS[name], class_="hint", id=f"hint-{name}")
    return element("div", join([label, slider, box, hint, _wrong(state, name)]), class_="control")


def _radio(name: str, value: str, chosen: str) -> Markup:
    button = element("input", type="radio", name=name, value=value, checked=value == chosen)
    return element("label", join([button, f" {value}"]), class_="choice")


def design(
    state: Choices, choice: Choice, designs: Mapping[str, Design], entries: Sequence[Entry], picture: str
) -> Markup:
    """The design of ``choice`` and a kept one by name, the ``entries`` of other mechanisms, and how to go on."""
    present, *kept = designs.values()
    links = {"Keep this one to compare": state.query(keep=True)}
    if kept:
        links["Let the kept one go"] = state.query(keep=False)
    shape_note = paragraph("the shape monotone".join(wording.NOT_RISING), class_="hint")
    buttons = (
        element("a", label, class_="button", data_state=True, href=f"{url_for('page')}?{search}")
        for label, search in links.items()
    )
    return _filled(
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
        command=_copy("command", f"{choices.solve_command(choice)} --out gamma.json"),
        python=_copy("python", choices.solve_python(choice)),
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
    at = "" if kept else f" = {present.problem.delta:.4g}"
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
            ("m", "", lambda design: f"{design.problem.m:g}"),
            ("epsilon", "", lambda design: f"{design.problem.epsilon:g}"),
            ("Delta", "", lambda design: f"{design.problem.Delta:g}"),
            ("delta", "", lambda design: f"{design.problem.delta:.4g}"),
            ("max_affected", "", lambda design: design.problem.max_affected),
            ("prior", "", lambda design: element("span", str(design.prior)[:60], class_="text")),
            ("shape", "", lambda design: design.shape),
        ]
    lines = [[_noted(name, note), *map(show, designs.values())] for name, note, show in rows]
    return grid(["", *(designs if kept else [""])], lines, class_="figures")


def _tight(design: Design, with_delta: bool) -> Markup:
    return _noted(wording.at_least(design.certificate.tight_epsilon), f"at {design.problem.delta:.4g}" * with_delta)


def _noted(value: object, note: str) -> Markup:
    return join([value, " ", element("small", note)]) if note else text(value)


def _bars(present: Design, entries: Sequence[Entry]) -> Iterator[Markup]:
    """Each mechanism with its error and a bar as long, in percent of the longest; hollow if it is not verified."""
    longest = max(entry.error for entry in entries)
    for entry in entries:
        length = 100 * entry.error / longest if longest > 0 else 0
        hollow = "" if entry.certificate.holds else " hollow"
        bar = element("span", class_=f"bar{hollow}", style=f"width:{length:.2f}%") if length >= 0.005 else ""
        cells = (join([entry.name, bar]), f"{entry.error:.6f}", "yes" if entry.certificate.holds else "no")
        yield row(cells, class_="this" if entry.design is present else None)


def budget(many: Many | None, totals: Mapping[str, Total]) -> Markup:
    """What many labels of each design cost, by the names of the designs."""
    if many is None:
        return _SAY_WHO
    parts = []
    for name, total in totals.items():
        if len(totals) > 1:
            parts.append(element("h3", f"{name.capitalize()} design"))
        bounds = sorted(total.bounds.items(), key=lambda item: item[1])
        rows = [(_noted(name, wording.RULES.get(name, "")), wording.at_least(value)) for name, value in bounds]
        parts += [paragraph(wording.cost(total)), grid(("proved by", "epsilon"), rows, class_="figures")]
    if many.voters == "fresh":
        sharp = "Sharp to about a percent here; the command goes on to a tenth of that."
        parts.append(paragraph(sharp, class_="hint"))
    parts.append(_copy("budget-command", choices.budget_command(many)))
    parts.append(_copy("budget-python", choices.budget_python(many)))
    return join(parts)


def _copy(name: str, content: str) -> Markup:
    """Text with a button that copies it."""
    button = element("button", "Copy", type="button", data_copy=name, hidden=True)
    return element("div", join([element("pre", content, id=name, tabindex=0), button]), class_="copy")
