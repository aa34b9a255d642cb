"""What all pictures share: looks, sizes, axes, and files that are written whole or not at all."""

from __future__ import annotations

import base64
import io
import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from darrm.errors import InputError, MissingExtraError
from darrm.storage.atomic import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from darrm.design.decision import DecisionDesign
    from darrm.design.design import Design
    from darrm.problem.decision import DecisionProblem

FORMATS = ("png", "svg", "pdf")
_DRAWING = threading.Lock()  # matplotlib keeps settings and fonts for all threads together
SIZE = (5.2, 3.8)  # inches, of a picture of one axes
GRID = 0.25  # opacity
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


def looks(names: Iterable[str]) -> dict[str, tuple[str, str, str]]:
    """(colour, marker, line style) by name; from the eighth name on colours come again, with another mark and line."""
    n = len(LOOKS)
    return {name: (LOOKS[i % n][0], *LOOKS[(i + i // n) % n][1:]) for i, name in enumerate(names)}


def new_figure(size: tuple[float, float] = SIZE, layout: Literal["constrained"] | None = "constrained") -> Any:
    """An empty figure of ``size`` inches, which needs no display; `MissingExtraError` if matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError(
            "Pictures need matplotlib. Run: pip install matplotlib (the extra darrm[plot])."
        ) from None
    return Figure(figsize=size, layout=layout)


def limits_of(problem: DecisionProblem) -> str:
    """What a decision is held to, for the title of a picture."""
    return f"epsilon = {problem.epsilon:g}, delta = {problem.delta:g}, max_affected = {problem.max_affected}"


def tables_of(design: Design | DecisionDesign) -> tuple[Design | DecisionDesign, ...]:
    """The design and, if voters may be absent, those for all other attendances."""
    return (design, *getattr(design, "fewer", {}).values())


def axes_of(ax: Axes | None) -> Any:
    """``ax``, or the axes of a new figure, with a faint grid."""
    ax = new_figure().add_subplot() if ax is None else ax
    ax.grid(alpha=GRID)
    return ax


def curve(ax: Axes, x: Any, y: Any, look: tuple[str, str, str], name: str = "", **changes: Any) -> None:
    """A line with a mark at each of its points, in one of the `LOOKS`; ``changes`` are keywords of matplotlib's."""
    colour, marker, line = look
    ax.plot(x, y, **{"color": colour, "marker": marker, "linestyle": line, "markersize": 4, "label": name, **changes})


def legend_below(ax: Axes, markerscale: float = 1) -> None:
    """A legend below the axes, where it covers nothing."""
    ax.legend(
        fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False, markerscale=markerscale
    )


def picture_format(path: str | os.PathLike[str]) -> str:
    """png, svg or pdf by the ending of ``path``; any other is an `InputError`."""
    ending = Path(path).suffix.lstrip(".").lower()
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
