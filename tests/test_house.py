"""The plan of the house: which room a module is in, and that imports go one way through the rooms."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import darrm

ROOT = Path(darrm.__path__[0])
# From the ground up: a room imports only from rooms above it in this list, and from itself.
ROOMS = (
    ("errors", "_lazy", "_validation", "_sklearn"),
    ("numerics",),
    ("randomness",),
    ("storage",),
    ("problem", "priors"),
    ("certificate",),
    ("constraints",),
    ("design",),
    ("votes",),
    ("accounting",),
    ("mechanisms",),
    ("measures",),
    ("tables", "ensemble", "columns"),
    ("labels",),
    ("show",),
    ("cli",),
)
FLOOR = {name: floor for floor, names in enumerate(ROOMS) for name in names}


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name below darrm; the face itself left out."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name:
            found[name] = path
    return found


MODULES = modules()


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


def room(module: str) -> str:
    return module.split(".")[0]


def test_every_module_is_in_a_room() -> None:
    assert {room(name) for name in MODULES} == set(FLOOR)


def test_imports_go_one_way_through_the_rooms() -> None:
    back = {
        (name, target)
        for name, path in MODULES.items()
        for target in imports(path)
        if room(target) in FLOOR and FLOOR[room(target)] > FLOOR[room(name)]
    }
    assert back == set()


def test_no_circle_between_modules() -> None:
    edges = {name: {t for t in imports(path) if t in MODULES and t != name} for name, path in MODULES.items()}
    done: set[str] = set()
    while True:
        free = {name for name, targets in edges.items() if name not in done and targets <= done}
        if not free:
            break
        done |= free
    assert set(edges) - done == set()


@pytest.mark.parametrize("name", sorted(MODULES))
def test_no_module_bears_the_name_of_a_public_function(name: str) -> None:
    """Importing such a module would replace the function in its package."""
    package, _, last = name.rpartition(".")
    face = importlib.import_module(f"darrm.{package}".rstrip("."))
    public = vars(face).get("__all__", ())
    assert last not in public or isinstance(getattr(face, last), ModuleType)


def test_the_proof_and_the_list_share_constants_and_no_algorithm() -> None:
    for one, other in (("certificate", "constraints"), ("constraints", "certificate")):
        for name, path in MODULES.items():
            if room(name) == one:
                assert other not in {room(target) for target in imports(path)}


def test_nothing_is_loose() -> None:
    loose = {path.stem for path in ROOT.glob("*.py")} - {"__init__"}
    assert loose == {"_lazy", "_sklearn", "_validation", "columns", "errors", "priors"}
