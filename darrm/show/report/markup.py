"""Numbers, tables and pictures in HTML. Whatever is text goes through `text`."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal
from typing import Any

from darrm.numerics.exact import decimals
from darrm.show.figures import data_address

DIGITS = 12  # of a number that a reader may compute again
TIMES = "\N{MULTIPLICATION SIGN}"
_LONG = 30  # rows; a longer table scrolls, and may be cut between pages
_WIDE = 5  # columns; a wider table may reach beyond the text


class Markup(str):
    """HTML already; `text` leaves it as it is."""


def text(value: object) -> Markup:
    """Any value as HTML that shows it."""
    return value if isinstance(value, Markup) else Markup(html.escape(str(value)))


def join(parts: Iterable[object]) -> Markup:
    """Parts one after the other."""
    return Markup("".join(text(part) for part in parts))


def element(tag: str, content: object, **attributes: object) -> Markup:
    """One element; the attribute class is written class_."""
    given = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"' for name, value in attributes.items()
    )
    return Markup(f"<{tag}{given}>{text(content)}</{tag}>")


def paragraph(*parts: object) -> Markup:
    return element("p", join(parts))


def table(name: str, heads: Sequence[object], rows: Iterable[Sequence[object]], words: Sequence[int] = (0,)) -> Markup:
    """A table that scrolls on its own where it is wider than the page.

    Parameters
    ----------
    name : str
        What it holds, for readers who do not see it.
    heads : sequence
    rows : iterable of sequence
        A row may be shorter than the heads; its last cell then spans the rest.
    words : sequence of int
        Columns of text; the others are numbers, to the right.
    """
    kinds = ["words" if at in words else "number" for at in range(len(heads))]
    head = join(element("th", cell, scope="col", class_=kind) for cell, kind in zip(heads, kinds, strict=True))
    lines = []
    for row in rows:
        cells = []
        for at, cell in enumerate(row):
            span = {"colspan": len(heads) - at} if at == len(row) - 1 and at < len(heads) - 1 else {}
            kind = kinds[at] if not span else "words"
            attributes = {"scope": "row"} if at == 0 else {}
            cells.append(element("th" if at == 0 else "td", cell, class_=kind, **attributes, **span))
        lines.append(element("tr", join(cells)))
    kind = "scroll" + " long" * (len(lines) > _LONG) + " wide" * (len(heads) > _WIDE)
    whole = element("table", join([element("thead", element("tr", head)), element("tbody", join(lines))]))
    return element("div", whole, class_=kind, role="region", tabindex=0, aria_label=name)


def details(summary: object, content: object) -> Markup:
    """What is there but folded away."""
    return element("details", join([element("summary", summary), content]))


def picture(axes: Any, alternative: str, caption: object) -> Markup:
    """The figure of matplotlib axes as an SVG image inside the page: the same bytes on every run, ids of its own."""
    width, height = (round(96 * inches) for inches in axes.figure.get_size_inches())
    image = Markup(
        f'<img src="{data_address(axes.figure)}" width="{width}" height="{height}" alt="{html.escape(alternative)}">'
    )
    return element("figure", join([image, element("figcaption", caption)]))


def shown(value: float | Decimal, digits: int = DIGITS, up: bool = False) -> str:
    """A number to so many significant digits, without zeros at the end; in powers of 10 where it is far from 1.

    ``up`` rounds upwards: for a bound that is proved.
    """
    with decimals(Decimal(1)):  # the caller's context may round otherwise
        exact = Decimal(value)
        if exact.is_infinite():
            return "infinite"
        if not exact:
            return "0"
        place = Decimal(1).scaleb(exact.adjusted() - digits + 1)
        exact = exact.quantize(place, rounding=ROUND_CEILING if up else ROUND_HALF_EVEN).normalize()
        if -4 <= exact.adjusted() < max(digits, DIGITS):
            return f"{exact:f}"
        return f"{exact.scaleb(-exact.adjusted()):f}e{exact.adjusted()}"


def var(name: str) -> Markup:
    """A symbol of the paper."""
    return element(
        "var", {"epsilon": "ε", "Delta": "Δ", "delta": "δ", "gamma": "\N{GREEK SMALL LETTER GAMMA}"}.get(name, name)
    )
