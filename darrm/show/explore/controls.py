"""Parts that several pages of the explorer have: the frame, controls, figures, bars, texts to copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from flask import url_for

from darrm import __version__
from darrm.show.explore.query import RANDOMIZERS
from darrm.show.markup import Markup, element, join, paragraph, row, template, text

CUT = "<!-- many labels -->"  # in the template of a design: explore.js and the pages put another part there
_TABS = {
    "plan.page": "Plan of many labels",
    "release.page": "One release",
}

_RANDOMIZER = (
    "How fresh voters draw every vote. If stated, the guarantee rests on it. The documentation says what breaks it: "
    "Voters of a known randomizer."
)


@dataclass(frozen=True)
class Look:
    """How a control looks: what it is called, what is said of it, and its slider if it has one."""

    hint: str
    label: str = ""
    placeholder: str | None = None
    slider: Mapping[str, object] = field(default_factory=dict)


def filled(name: str, **values: object) -> Markup:
    """A template of the explorer with its values."""
    return template("darrm.show.explore", f"templates/{name}.html", {"root": url_for("plan.page"), **values})


def frame(heading: str, main: Markup, lead: object = "", title: str | None = None, tab: str = "") -> Markup:
    """A whole page; ``tab`` is the endpoint that it is of."""
    title = f"{heading}: darrm explore" if title is None else title
    tabs = join(
        element("a", name, href=url_for(endpoint), aria_current="page" if endpoint == tab else None)
        for endpoint, name in _TABS.items()
    )
    return filled("base", title=title, heading=heading, tabs=tabs, lead=lead, main=main, version=__version__)


def refused(name: str, why: object) -> Markup:
    """A page that says why there is no other."""
    back = element("a", "To the explorer", href=url_for("plan.page"))
    return frame(name, element("main", join([paragraph(why), paragraph(back)]), class_="prose"))


def wrong(errors: Mapping[str, str], name: str) -> Markup:
    """What is wrong with a control."""
    return element("p", errors.get(name, ""), class_="wrong", id=f"wrong-{name}")


def box(name: str, look: Look, texts: Mapping[str, str], first: Mapping[str, str], errors: Mapping[str, str]) -> Markup:
    """A control for a number or a text, its slider if it has one, and what is wrong with it below."""
    label = element("label", look.label or name.replace("_", " "), for_=name)
    slider: object = ""
    if look.slider:
        kind = {"class_": "slider", "type": "range", "data_for": name, "aria_label": f"{name}, slider"}
        slider = element("input", **kind, **look.slider, hidden=True)
    field_ = entry(
        name, texts, first, errors, placeholder=look.placeholder, aria_describedby=f"hint-{name} wrong-{name}"
    )
    hint = element("p", look.hint, class_="hint", id=f"hint-{name}")
    return element("div", join([label, slider, field_, hint, wrong(errors, name)]), class_="control")


def entry(
    name: str, texts: Mapping[str, str], first: Mapping[str, str], errors: Mapping[str, str], **more: object
) -> Markup:
    """The box alone that takes a number or a text."""
    return element(
        "input",
        id=name,
        name=name,
        value=texts[name],
        data_first=first[name],
        spellcheck="false",
        aria_invalid="true" if name in errors else None,
        **{"inputmode": "decimal", **more},
    )


def chosen(
    name: str,
    values: Mapping[str, str],
    hint: str,
    texts: Mapping[str, str],
    first: Mapping[str, str],
    errors: Mapping[str, str],
) -> Markup:
    """A control for one of several values, each with what it is called."""
    options = join(
        element("option", said, value=value, selected=value == texts[name]) for value, said in values.items()
    )
    of = {"id": name, "name": name, "data_first": first[name], "aria_describedby": f"hint-{name} wrong-{name}"}
    parts = [element("label", name, for_=name), element("select", options, **of)]
    parts += [element("p", hint, class_="hint", id=f"hint-{name}"), wrong(errors, name)]
    return element("div", join(parts), class_="control")


def randomizer(texts: Mapping[str, str], first: Mapping[str, str], errors: Mapping[str, str]) -> Markup:
    """The choice of a known randomizer and, where there is one, the number of colluders."""
    look = Look(
        "Largest number of voters of each group that may tell their votes, learn from them, repeat them or forget to "
        "randomize: at least 1 if voters see the labels. Records at these voters have no guarantee.",
        placeholder="required",
    )
    colluders = element("div", box("colluders", look, texts, first, errors), class_="for-randomizer")
    return join([chosen("randomizer", RANDOMIZERS, _RANDOMIZER, texts, first, errors), colluders])


def group_rows(
    groups: Iterable[int],
    columns: Mapping[str, str],
    blank: Mapping[str, str],
    texts: Mapping[str, str],
    first: Mapping[str, str],
    errors: Mapping[str, str],
) -> Markup:
    """A row of boxes for each group, and what is wrong with them below.

    Of every column its name and its head; ``blank`` is what boxes stand for that are left empty.
    """
    parts = [element("span", ""), *(element("span", head, class_="head") for head in columns.values())]
    for g in groups:
        parts.append(element("span", str(g), class_="head"))
        for name, head in columns.items():
            slot = f"{name}{g}"
            look = {
                "placeholder": blank.get(name),
                "aria_label": f"{head} of group {g}",
                "aria_describedby": f"hint-groups wrong-{slot}",
                # A keyboard of digits alone has no letters for inf and auto.
                **({"inputmode": "text"} if name == "epsilon" else {}),
            }
            parts.append(entry(slot, texts, first, errors, **look))
        parts += [wrong(errors, f"{name}{g}") for name in columns]
    return join(parts)


def radio(name: str, value: str, chosen: str) -> Markup:
    """One of several that exclude each other; ``chosen`` is pressed."""
    button = element("input", type="radio", name=name, value=value, checked=value == chosen)
    return element("label", join([button, f" {value}"]), class_="choice")


def noted(value: object, note: str) -> Markup:
    """A value with a note in small letters."""
    return join([value, " ", element("small", note)]) if note else text(value)


def bars(entries: Iterable[tuple[str, float, bool, bool]]) -> Iterator[Markup]:
    """Rows of name, value and whether it is verified, each with a bar in percent of the longest.

    Of every entry: its name, its value, whether it is verified (else the bar is hollow), and whether it is the one that
    the page is about.
    """
    rows = list(entries)
    longest = max(value for _, value, _, _ in rows)
    for name, value, holds, this in rows:
        length = 100 * value / longest if longest > 0 else 0
        hollow = "" if holds else " hollow"
        bar = element("span", class_=f"bar{hollow}", style=f"width:{length:.2f}%") if length >= 0.005 else ""
        yield row((join([name, bar]), f"{value:.6f}", "yes" if holds else "no"), class_="this" if this else None)


def copied(name: str, content: str) -> Markup:
    """Text with a button that copies it."""
    button = element("button", "Copy", type="button", data_copy=name, hidden=True)
    return element("div", join([element("pre", content, id=name, tabindex=0), button]), class_="copy")


def pending(button: str) -> Markup:
    """What stands in a card until its part is there: explore.js looks for it, and asks for the part."""
    without = element("noscript", f" Press “{button}”.")
    return element("p", join(["Not computed yet.", without]), class_="pending hint")


def nothing() -> Markup:
    """What stands in a card while something is wrong."""
    return paragraph("Nothing is shown: see the messages beside the controls.")
