"""HTML of the report, of the explorer and of notebooks: files with $names in them, elements, tables, pictures, numbers.

Whatever is text goes through `text`.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal
from importlib.resources import files
from string import Template
from typing import Any

from darrm.numerics.exact import decimals
from darrm.show.figures import data_address

DIGITS = 12  # of a number that a program may compute again
SHORT = 7  # of a number in a cell, for readers
TIMES = "\N{MULTIPLICATION SIGN}"
_LONG = 30  # rows; a longer table scrolls, and may be cut between pages
_VOID = {"img", "input"}  # elements without an end
_WIDE = 5  # columns; a wider table may reach beyond the text


class Markup(str):
    """HTML already; `text` leaves it as it is."""


def text(value: object) -> Markup:
    """Any value as HTML that shows it."""
    return value if isinstance(value, Markup) else Markup(html.escape(str(value)))


def join(parts: Iterable[object]) -> Markup:
    """Parts one after the other."""
    return Markup("".join(text(part) for part in parts))


def element(tag: str, content: object = "", /, **attributes: object) -> Markup:
    """One element; class is written class_, True is an attribute without a value, False and None are no attribute."""
    given = "".join(
        f" {_attribute(name)}" if value is True else f' {_attribute(name)}="{text(str(value))}"'
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    return Markup(f"<{tag}{given}>" if tag in _VOID else f"<{tag}{given}>{text(content)}</{tag}>")


def _attribute(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def paragraph(*parts: object, **attributes: object) -> Markup:
    return element("p", join(parts), **attributes)


def template(package: str, path: str, values: Mapping[str, object]) -> Markup:
    """A file of HTML in ``package`` with the ``values`` of its $names."""
    source = Template(files(package).joinpath(path).read_text(encoding="utf-8"))
    return Markup(source.substitute({name: text(value) for name, value in values.items()}))


def number(value: float | Decimal, said: str | None = None) -> Markup:
    """A number to `SHORT` digits, or as ``said``; where that is not all of it, the rest is there for programs."""
    short, exact = said or shown(value, SHORT), repr(float(value)) if isinstance(value, float) else shown(value)
    same = Decimal(short) == Decimal(exact) if math.isfinite(value) and said is None else short == exact
    return text(short) if same else element("data", short, value=exact)


def row(cells: Sequence[object], kinds: Sequence[str | None] = (), **attributes: object) -> Markup:
    """A row of a table, named by its first cell; ``kinds`` are the classes of the cells, numbers are as of `number`."""
    printed = (number(cell) if isinstance(cell, float | Decimal) else cell for cell in cells)
    name, *others = zip(printed, kinds or [None] * len(cells), strict=True)
    head = element("th", name[0], class_=name[1], scope="row")
    return element("tr", join([head, *(element("td", cell, class_=kind) for cell, kind in others)]), **attributes)


def grid(
    heads: Sequence[object],
    rows: Iterable[Sequence[object]],
    kinds: Sequence[str | None] = (),
    caption: str = "",
    **attributes: object,
) -> Markup:
    """A table of rows of cells; what is markup already is a whole `row`."""
    kinds = kinds or [None] * len(heads)
    head = join(element("th", cell, scope="col", class_=kind) for cell, kind in zip(heads, kinds, strict=True))
    body = join(cells if isinstance(cells, Markup) else row(cells, kinds) for cells in rows)
    parts = [element("caption", caption)] if caption else []
    parts += [element("thead", element("tr", head)), element("tbody", body)]
    return element("table", join(parts), **attributes)


def table(name: str, heads: Sequence[object], rows: Sequence[Sequence[object]], words: Sequence[int] = (0,)) -> Markup:
    """A table that scrolls on its own where it is wider than the page.

    Parameters
    ----------
    name : str
        What it holds, for readers who do not see it.
    heads : sequence
    rows : sequence of sequence
    words : sequence of int
        Columns of text; the others are numbers, to the right.
    """
    kinds = ["words" if at in words else "number" for at in range(len(heads))]
    kind = "scroll" + " long" * (len(rows) > _LONG) + " wide" * (len(heads) > _WIDE)
    return element("div", grid(heads, rows, kinds), class_=kind, role="region", tabindex=0, aria_label=name)


def details(summary: object, content: object, **attributes: object) -> Markup:
    """What is there but folded away."""
    return element("details", join([element("summary", summary), content]), **attributes)


def picture(axes: Any, alternative: str, caption: object) -> Markup:
    """The figure of matplotlib axes as an SVG image inside the page: the same bytes on every run, ids of its own."""
    width, height = (round(96 * inches) for inches in axes.figure.get_size_inches())
    image = element("img", src=data_address(axes.figure), width=width, height=height, alt=alternative)
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
