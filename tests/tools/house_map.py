"""The map of the house: the rooms of darrm in layers, and which room imports which, read from the sources.

    python tests/tools/house_map.py [--out docs/house_map.svg]

Takes: two seconds.

CONTRIBUTING.md shows the picture. A room is a folder of darrm, or a module beside the folders. Its layer is one above
the highest room that it imports, so every arrow points down. Imports inside functions count, those for type checking
alone do not. An arrow is left out where a chain of other arrows says the same. Ends with status 1 if rooms import in
a circle.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks" / "paper"))
from pages import DOCS, save

import darrm
from darrm.show.figures import LOOKS, TEXT, WIDTH, new_figure

ROOT = Path(darrm.__path__[0])
# What every room uses, named in the picture's foot and not drawn.
GROUND = ("errors", "_lazy", "_validation", "_sklearn", "_dp_accounting")


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name below darrm; the face itself left out."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name:
            found[name] = path
    return found


def imports(path: Path) -> Iterator[str]:
    """What a module imports from darrm, inside functions too, but not for type checking alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if id(node) in typing:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "darrm":
            below = node.module.removeprefix("darrm").strip(".")
            for alias in node.names:
                inner = f"{below}.{alias.name}".strip(".")
                yield inner if inner in MODULES or not below else below
        elif isinstance(node, ast.Import):
            yield from (alias.name.removeprefix("darrm.") for alias in node.names if alias.name.startswith("darrm."))


MODULES = modules()


def rooms() -> dict[str, set[str]]:
    """Every room but the ground with the rooms that it imports."""
    found: dict[str, set[str]] = {}
    for name, path in MODULES.items():
        found.setdefault(name.split(".")[0], set()).update(target.split(".")[0] for target in imports(path))
    return {name: (to & found.keys()) - {name, *GROUND} for name, to in found.items() if name not in GROUND}


def layers(edges: dict[str, set[str]]) -> dict[str, int]:
    """Each room's layer, from 0; `graphlib.CycleError` for a circle."""
    layer: dict[str, int] = {}
    for name in TopologicalSorter(edges).static_order():
        layer[name] = 1 + max((layer[target] for target in edges[name]), default=-1)
    return layer


def shortest(edges: dict[str, set[str]]) -> dict[str, set[str]]:
    """The edges without those that a chain of others implies."""
    below: dict[str, set[str]] = {}
    for name in TopologicalSorter(edges).static_order():
        below[name] = edges[name].union(*(below[target] for target in edges[name]))
    return {name: {t for t in to if not any(t in below[other] for other in to)} for name, to in edges.items()}


def places(edges: dict[str, set[str]]) -> dict[str, tuple[float, float]]:
    """Where each room stands: its layer upwards, and near the rooms that it imports."""
    layer = layers(edges)
    at: dict[str, tuple[float, float]] = {}
    for height in range(max(layer.values()) + 1):
        here = [name for name in layer if layer[name] == height]
        wish = {name: sum(at[t][0] for t in edges[name]) / max(1, len(edges[name])) for name in here}
        for i, name in enumerate(sorted(here, key=lambda name: (wish[name], name))):
            at[name] = (i - (len(here) - 1) / 2 + (0.28 if height % 2 else -0.12), float(height))
    return at


def draw(edges: dict[str, set[str]]) -> Any:
    arrows, figure = shortest(edges), new_figure((WIDTH, 8.4))
    at, ax = places(arrows), figure.subplots()
    box = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": "black"}
    boxes = {}
    for name, (x, y) in at.items():
        boxes[name] = ax.text(x, y, name, ha="center", va="center", fontsize=10, bbox=box).get_bbox_patch()
    for i, name in enumerate(sorted(arrows)):
        for target in sorted(arrows[name]):
            look = {"arrowstyle": "-|>", "color": LOOKS[i % 4][0], "shrinkA": 0, "shrinkB": 1}
            ends = {"patchA": boxes[name], "patchB": boxes[target]}
            ax.annotate("", at[target], at[name], arrowprops=look | ends, zorder=0)
    across = [x for x, _ in at.values()]
    ax.set(xlim=(min(across) - 0.7, max(across) + 0.7), ylim=(-0.8, max(y for _, y in at.values()) + 0.5))
    ax.text(0.5, 0.0, "All rooms may use " + ", ".join(GROUND), ha="center", fontsize=TEXT, transform=ax.transAxes)
    ax.axis("off")
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=DOCS / "house_map.svg")
    options = parser.parse_args()
    edges = rooms()
    try:
        layer = layers(edges)
    except CycleError as error:
        raise SystemExit("Rooms import in a circle: " + " -> ".join(error.args[1]) + ".") from None
    for height in range(max(layer.values()) + 1):
        print(height, *(name for name in layer if layer[name] == height))
    save(draw(edges), options.out)


if __name__ == "__main__":
    main()
