"""Tables of columns in LaTeX, for papers: a tabular that needs no package."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from darrm.numerics.printed import at_least, exactly

_WIDE = 14  # columns, of which a page of a paper has no room for more
_DIGITS = 4  # significant ones; the other formats have all
_SMALL_GAP = 1e-9  # no figure of a paper has so many digits
_NOTHING = 1e-12  # a share or a probability that is rounding
# Certified bounds by their columns: fewer digits must not make one smaller.
_UP = {
    *("tight_epsilon", "needed_delta", "gap", "total", "fallback", "aggregator"),
    *("guaranteed_epsilon", "largest_log_odds_change", "delta"),
}
_GIVEN = {"m", "epsilon", "Delta", "total_epsilon"}  # of a problem: rounded, it would be another problem
_NOISE = re.compile(r"(?:gamma|table)(?:_(\d+))?")  # rounded, it may need a larger delta
_HEADS = {
    "within": "private enough",
    "name": "mechanism",
    "ones": "$l$",
    "gamma": r"$\gamma(l)$",
    "probability_0": r"$\Pr[0]$",
    "probability_1": r"$\Pr[1]$",
    "epsilon": r"$\varepsilon$",
    "tight_epsilon": r"tight $\varepsilon$",
    "delta": r"$\delta$",
    "Delta": r"$\Delta$",
}
_COST = "expected_cost"  # of a majority another error too
_ESCAPED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # Behind the end of a row the first two are arguments of it.
    **{character: f"{{{character}}}" for character in "[*]"},
    **{character: f"\\{character}" for character in "{}$&%#_"},
}


def tabular(columns: Mapping[str, Sequence[Any]], about: str = "", *, gammas: bool = False, note: str = "") -> str:
    r"""Columns of one length as a LaTeX tabular with lines by ``\hline``, for ``\input`` into a paper.

    Numbers have four significant digits, or as texts those that they come with. Certified bounds are rounded up, and
    what a problem was given stands in full.
    What is missing (None, NaN, an empty text) is an empty cell, and a column of nothing else is left out. So is an
    expected cost that another column has, and a gap of at most 1e-9 in all rows. A column with the same value in all of
    several rows stands in a comment above the table, but for columns gamma(l) and the first one. Columns gamma(l) that
    mirror others in all rows are left out, and a comment says so. Below noise functions a comment says that rounded
    ones are not certified. The first line is a comment, ``about``, which says what the table is of.

    ``gammas``: each column but the first is the noise function of the mechanism that the column is named for.
    ``note`` stands below the last line in small print, as wide as the text of the page.
    """
    kept = {name: values for name, values in columns.items() if not all(map(_missing, values))}
    if any(name != _COST and list(values) == list(kept[_COST]) for name, values in kept.items() if _COST in kept):
        del kept[_COST]
    gaps = [gap for gap in kept.get("gap", ()) if not _missing(gap)]
    if gaps and max(gaps) <= _SMALL_GAP:
        del kept["gap"]
    first = next(iter(kept), "")
    same = {
        name: values[0]
        for name, values in kept.items()
        if len(values) > 1
        and all(value == values[0] for value in values)
        and name != first
        and not _NOISE.fullmatch(name)
    }
    kept = {name: values for name, values in kept.items() if name not in same}
    halves = _halves(kept)
    kept = {name: halves.get(name, values) for name, values in kept.items() if halves.get(name, values)}
    sides = "".join("l" if any(map(_is_text, values)) else "r" for values in kept.values())
    heads = " & ".join(_text(name) if gammas else _head(name) for name in kept)
    rows = zip(*([_cell(name, value) for value in values] for name, values in kept.items()), strict=True)
    lines = [f"{' & '.join(row)} \\\\" for row in rows]
    alike = ", ".join(
        f"{name if gammas else name.replace('_', ' ')} = {_cell(name, value)}" for name, value in same.items()
    )
    whole = [
        *([f"% {' '.join(about.split())}."] if about else []),
        *([f"% In all rows, so not in the table: {alike}."] if same else []),
        f"\\begin{{tabular}}{{{sides}}}",
        r"\hline",
        f"{heads} \\\\",
        r"\hline",
        *lines,
        r"\hline",
        *([rf"\multicolumn{{{len(kept)}}}{{p{{0.9\linewidth}}}}{{\footnotesize {_text(note)}}} \\"] if note else []),
        r"\end{tabular}",
    ]
    if gaps and "gap" not in kept:
        whole.append(f"% No gap is above {_cell('gap', max(gaps))}.")
    if halves:
        whole.append("% gamma(K - l) = gamma(l) in all rows, so gamma(l) is left out for l > K / 2.")
    if len(kept) > _WIDE:
        narrow = " darrm export of one design has a row for each number of votes in place of a column."
        whole.append(
            f"% {len(kept)} columns: too wide for most pages.{narrow * any(_NOISE.fullmatch(name) for name in kept)}"
        )
    if gammas or any(_NOISE.fullmatch(name) for name in kept):
        whole.append(
            "% The noise functions above are rounded. Only the exact ones are certified: keep those, as CSV or JSON."
        )
    return "\n".join([*whole, ""])


def _halves(columns: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """The columns gamma_l without what mirrors others: empty for l > K / 2 of each row, and [] where all are.

    No columns at all if gamma(l) = gamma(K - l) does not hold in every row.
    """
    names = [name for name in columns if re.fullmatch(r"gamma_\d+", name)]
    rows = [
        [value for value in row if value is not None] for row in zip(*(columns[name] for name in names), strict=True)
    ]
    if any(gamma != gamma[::-1] for gamma in rows):
        return {}
    halves = [gamma[: (len(gamma) + 1) // 2] for gamma in rows]
    return {
        name: [half[l] if l < len(half) else None for half in halves] if any(l < len(half) for half in halves) else []
        for l, name in enumerate(names)
    }


def _head(name: str) -> str:
    """The head of a column: a value of gamma as a function, and other names with spaces."""
    noise = _NOISE.fullmatch(name)
    if noise and noise[1] and name.startswith("gamma"):
        return rf"$\gamma({noise[1]})$"
    return _HEADS.get(name) or _text(name.replace("_", " "))


def _missing(value: object) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def _is_text(value: object) -> bool:
    """Whether a value is no figure, such as one with the digits that it should have."""
    return isinstance(value, str) and not re.fullmatch(r"[0-9]+\.[0-9]+", value)


def _cell(name: str, value: Any) -> str:
    if _missing(value):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _number(name, value) if isinstance(value, float) else _text(str(value))


def _number(name: str, value: float) -> str:
    if math.isinf(value):
        return r"$\infty$" if value > 0 else r"$-\infty$"
    size = abs(value)
    if name in _GIVEN:
        text = exactly(size)
    elif name in _UP:
        text = at_least(size, _DIGITS)
    else:
        text = f"{size:.{_DIGITS}g}" if size >= _NOTHING else "0"
        if text != "0" and "e" not in text:
            text = f"{size:#.{_DIGITS}g}".removesuffix(".")  # as many digits as in the cells above
    digits, power, exponent = text.partition("e")
    if power:
        times = "" if digits == "1" else rf"{digits} \times "
        return f"${'-' if value < 0 else ''}{times}10^{{{int(exponent)}}}$"
    return f"$-{text}$" if value < 0 and text != "0" else text


def _text(text: str) -> str:
    plain = re.sub(r"[\x00-\x20\x7f]+", " ", text)  # an empty line would end the paragraph
    return "".join(_ESCAPED.get(character, character) for character in plain)
