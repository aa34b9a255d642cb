"""What all pictures share: looks, sizes, axes, names of lines, and files that are written whole or not at all."""

from __future__ import annotations

import base64
import io
import math
import os
import re
import textwrap
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from darrm._validation import path as check_path
from darrm.errors import InputError, MissingExtraError
from darrm.numerics.printed import at_least
from darrm.problem.limits import epsilon_in_print
from darrm.storage.atomic import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from darrm.design.design import Design
    from darrm.problem.decision import DecisionProblem

FORMATS = ("png", "svg", "pdf")
_DRAWING = threading.Lock()  # matplotlib keeps settings and fonts for all threads together
SIZE = (5.2, 3.8)  # inches, of a picture of one axes
NARROW = (4.6, 3.6)  # inches, where a phone may show it: the narrower, the larger its letters there
WIDTH = 7.2  # inches, of a page of the documentation: a wider picture is shrunk there, and its text with it
_TITLE = 60  # characters, of a line of a title: more would be cut off in the narrowest picture
TEXT = 9  # points, of the smallest text but numbers inside cells
GRID = 0.25  # opacity
REST = "#8a939c"  # what is shown for comparison
# Okabe and Ito's palette, safe for the colour-blind; told apart by marker and line style too.
LOOKS = (
    ("#0072B2", "o", "-"),
    ("#D55E00", "s", "--"),
    ("#009E73", "^", "-."),
    ("#CC79A7", "D", ":"),
    ("#E69F00", "v", "-"),
    ("#56B4E9", "P", "--"),
    ("#000000", "x", ":"),
)
_FURTHER = (
    "#882255",
    "#999933",
    "#663300",
    "#332288",
)  # where names without a colour of their own are more than are left
# Marks and lines for further names: none looks like another without its colour.
_LINES = ("-", "--", "-.", ":")
_MARKS = (tuple(marker for _, marker, _ in LOOKS), ("*", "<", "X", "d", ">", "p", "h"))
_SHAPES = tuple(
    (marker, _LINES[(_LINES.index(LOOKS[i][2]) + turn) % len(_LINES)])
    for turn in range(len(_LINES))
    for i, marker in enumerate(_MARKS[turn % 2])
)
# The place in LOOKS of a mechanism, by how its name begins: it has one colour in all pictures.
MECHANISMS = {
    "gamma_opt": 0,
    "planned": 0,
    "monotone": 1,
    "double subsampling": 2,
    "subsampling": 3,
    "randomized response": 4,
    "randomized response (A.1)": 5,
    "RandomizedResponse": 4,
    "RR": 4,
    "plain majority": 6,
    "LLP": 1,
    "label proportions": 1,
    "LabelProportions": 1,
    "LLP+Lap": 2,
    "Laplace proportions": 2,
    "LaplaceLabelProportions": 2,
    "LLP+Geom": 3,
    "GeometricLabelProportions": 3,
}


def looks(names: Iterable[str]) -> dict[str, tuple[str, str, str]]:
    """(colour, marker, line style) by name: a mechanism has its own colour, others one of the rest.

    Up to 28 names differ in mark or line, whatever their colours.
    """
    names = list(names)
    known = {name: _mechanism(name) for name in names}
    own = [LOOKS[i][1:] for i in known.values() if i is not None]
    colours = [colour for colour, *_ in LOOKS] + list(_FURTHER)
    left = [i for i in range(len(colours)) if i not in known.values()]
    taken: set[tuple[str, str]] = set()
    styles: dict[str, tuple[str, str, str]] = {}
    others = 0
    for name in names:
        colour = known[name]
        if colour is None:
            colour, others = left[others % len(left)], others + 1
        further = [*_SHAPES[colour + 1 :], *_SHAPES[: colour + 1]]
        shapes = [_SHAPES[colour], *(shape for shape in further if shape not in own)]
        shape = next((shape for shape in shapes if shape not in taken), further[len(styles) % len(further)])
        styles[name] = (colours[colour], *shape)
        taken.add(shape)
    return styles


def _mechanism(name: str) -> int | None:
    """Place in `LOOKS` of the mechanism with which the name begins."""
    begins = [known for known in MECHANISMS if re.match(rf"{re.escape(known)}(?![\w+])", name)]
    return MECHANISMS[max(begins, key=len)] if begins else None


def new_figure(size: tuple[float, float] = SIZE, layout: Literal["constrained"] | None = "constrained") -> Any:
    """An empty figure of ``size`` inches, which needs no display; `MissingExtraError` if matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError(
            "Pictures need matplotlib. Run: pip install matplotlib (the extra darrm[plot])."
        ) from None
    return Figure(figsize=size, layout=layout)


def limits_of(problem: DecisionProblem, objective: object = None) -> str:
    """Who decides, what that is held to, and the objective, for the title of a picture."""
    groups = len(problem.groups)
    kinds = problem.kinds.values()
    epsilons, deltas = (at_least(epsilon_in_print(kind)) for kind in kinds), (at_least(kind.delta, 3) for kind in kinds)
    said = (
        f"K = {problem.K}{f' in {groups} groups' * (groups > 1)}, epsilon = {' / '.join(epsilons)}, "
        f"delta = {' / '.join(dict.fromkeys(deltas))}, max_affected = {problem.max_affected}"
    )
    parts = [said] if objective is None else [said, f"objective: {objective}"]
    lines = (line for part in parts for line in textwrap.wrap(part.replace(" = ", "\xa0=\xa0"), _TITLE))
    return "\n".join(lines).replace("\xa0", " ")


def tables_of(design: Design) -> tuple[Design, ...]:
    """The design and, if voters may be absent, those for all other attendances."""
    return (design, *getattr(design, "fewer", {}).values())


def axes_of(ax: Axes | None) -> Any:
    """``ax``, or the axes of a new figure, with a faint grid."""
    ax = new_figure().add_subplot() if ax is None else ax
    tidy(ax)
    return ax


def tidy(*axes: Axes, along: Literal["both", "x", "y"] = "both") -> None:
    """A faint grid behind what is drawn, and no frame above and on the right."""
    for ax in axes:
        ax.grid(alpha=GRID, axis=along)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)


def curve(ax: Axes, x: Any, y: Any, look: tuple[str, str, str], name: str = "", **changes: Any) -> None:
    """A line with a mark at each of its points, in one of the `LOOKS`; ``changes`` are keywords of matplotlib's."""
    colour, marker, line = look
    ax.plot(x, y, **{"color": colour, "marker": marker, "linestyle": line, "markersize": 4, "label": name, **changes})


def name_lines(ax: Any) -> None:
    """Write the name of each line beside its right end, in its colour and below each other, instead of a legend.

    To be called last: limits and scales of ``ax`` must be what they will be.
    """
    limits = (ax.get_xlim(), ax.get_ylim())  # what matplotlib has put off is settled now
    points = 72 * ax.figure.get_figheight() * ax.get_position().height
    ends = []
    for line in ax.lines:
        name, (x, y) = str(line.get_label()), line.get_data()
        seen = [(a, b) for a, b in zip(x, y, strict=True) if math.isfinite(a) and math.isfinite(b)]
        if seen and not name.startswith("_"):
            at = ax.transAxes.inverted().transform(line.get_transform().transform(seen[-1]))[1]
            ends.append((min(max(at, 0.0), 1.0) * points, name, str(line.get_color())))
    ends.sort(key=lambda end: end[0])
    heights = [1.3 * TEXT * (1 + name.count("\n")) for _, name, _ in ends]
    places = [at for at, _, _ in ends]
    for _ in range(20 * len(ends)):
        for i in range(len(ends) - 1):
            overlap = (heights[i] + heights[i + 1]) / 2 - (places[i + 1] - places[i])
            if overlap > 0:
                places[i], places[i + 1] = places[i] - overlap / 2, places[i + 1] + overlap / 2
    for (_, name, colour), place in zip(ends, places, strict=True):
        ax.annotate(
            name, (1, place / points), (4, 0), "axes fraction", "offset points", color=ink(colour), fontsize=TEXT,
            va="center", annotation_clip=False,
        )  # fmt: skip
    ax.set(xlim=limits[0], ylim=limits[1])


def ink(colour: str) -> str:
    """A colour dark enough for text on white."""
    from matplotlib.colors import to_hex, to_rgb

    red, green, blue = to_rgb(colour)
    return to_hex((0.65 * red, 0.65 * green, 0.65 * blue))


def legend_below(ax: Axes, markerscale: float = 1) -> None:
    """A legend below the axes, where it covers nothing."""
    ax.legend(
        fontsize=TEXT, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False, markerscale=markerscale
    )


def legend_of_all(ax: Axes, columns: int = 3) -> None:
    """One legend below all axes of a figure, with the names of the lines of ``ax``."""
    figure: Any = ax.figure
    handles, names = ax.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=columns, fontsize=TEXT, frameon=False)


def picture_format(path: str | os.PathLike[str]) -> str:
    """png, svg or pdf by the ending of ``path``; any other is an `InputError`."""
    ending = check_path("path", path).suffix.lstrip(".").lower()
    if ending not in FORMATS:
        raise InputError(f"A picture must end in {', '.join(FORMATS)}. Got {str(path)!r}.")
    return ending


def save(path: str | os.PathLike[str], picture: Any, dpi: int = 200) -> None:
    """Write a figure, or that of one or several axes, by the ending of ``path``; the same picture is the same bytes.

    Raises
    ------
    InputError, OutputError
        If the ending is none of `FORMATS`, or the path cannot be written.
    """
    from matplotlib import rc_context

    kind = picture_format(path)
    figure = (picture[0] if isinstance(picture, list) else picture).figure
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with replacing(path) as file, rc_context({"svg.hashsalt": "darrm"}):
        figure.savefig(file, format=kind, dpi=dpi, metadata=undated)


def data_address(figure: Any, fonttype: str = "path") -> str:
    """A figure as an SVG inside an address that needs no file and no network, the same bytes for the same picture.

    May be called from many threads. ``fonttype`` is matplotlib's ``svg.fonttype``: letters as outlines ("path"), or as
    text ("none"), which is shorter and looks as the reader's fonts do. The figure loses its background.
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    drawn = io.BytesIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    for part in (figure, *figure.axes):
        part.patch.set(facecolor="none", edgecolor="none")
    with _DRAWING, rc_context({"svg.hashsalt": "darrm", "svg.fonttype": fonttype}):
        # savefig draws everything twice
        FigureCanvasSVG(figure).print_svg(drawn, metadata=nothing)  # type: ignore[no-untyped-call]
    return f"data:image/svg+xml;base64,{base64.b64encode(drawn.getvalue()).decode()}"
