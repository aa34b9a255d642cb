"""The plan of the house: which room a module is in, that imports go one way, and that documents name what is there."""

import ast
import importlib
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from types import ModuleType

import pytest
from scripts import PROGRAMS, load

import darrm

ROOT = Path(darrm.__path__[0])
REPOSITORY = Path(__file__).resolve().parents[1]
DOCUMENTS = [
    *REPOSITORY.glob("*.md"),
    *(path for path in (REPOSITORY / "docs").rglob("*.md") if "_build" not in path.parts),
    *(REPOSITORY / "notebooks").glob("*.md"),
]
# From the ground up: a room imports only from rooms above it in this list, and from itself.
ROOMS = (
    ("errors", "_lazy", "_validation", "_sklearn", "_dp_accounting"),
    ("independent",),
    ("numerics",),
    ("randomness",),
    ("storage",),
    ("problem", "priors", "objectives"),
    ("certificate",),
    ("constraints",),
    ("design",),
    ("votes",),
    ("accounting",),
    ("mechanisms",),
    ("planning",),
    ("measures",),
    ("tables", "ensemble", "columns", "interop"),
    ("labels",),
    ("show",),
    ("cli",),
    ("__main__",),
)
FLOOR = {name: floor for floor, names in enumerate(ROOMS) for name in names}


HOUSE = load("house_map")
MODULES: dict[str, Path] = HOUSE.modules()


@cache
def imports(path: Path) -> tuple[str, ...]:
    return tuple(HOUSE.imports(path))


def room(module: str) -> str:
    return module.split(".")[0]


def test_every_module_is_in_a_room() -> None:
    assert {room(name) for name in MODULES} == set(FLOOR)


def test_the_map_has_every_room_in_its_order() -> None:
    text = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    block = text.partition("The package is a house of rooms.")[2].partition("![A map")[0]
    lines = re.findall(r"^ {4}(\S+(?: {1,2}\S+)*)", block, re.MULTILINE)
    assert " ".join(lines).split() == [name for floor in ROOMS for name in floor]


@pytest.mark.thorough
def test_imports_go_one_way_through_the_rooms() -> None:
    back = {
        (name, target)
        for name, path in MODULES.items()
        for target in imports(path)
        if room(target) in FLOOR and FLOOR[room(target)] > FLOOR[room(name)]
    }
    assert back == set()


@pytest.mark.thorough
def test_no_circle_between_modules() -> None:
    edges = {name: {t for t in imports(path) if t in MODULES and t != name} for name, path in MODULES.items()}
    TopologicalSorter(edges).prepare()  # raises CycleError


def test_no_module_bears_the_name_of_a_public_function() -> None:
    """Importing such a module would replace the function in its package."""
    for name in sorted(MODULES):
        package, _, last = name.rpartition(".")
        face = importlib.import_module(f"darrm.{package}".rstrip("."))
        public = vars(face).get("__all__", ())
        assert last not in public or isinstance(getattr(face, last), ModuleType), name


def test_the_proof_and_the_list_share_constants_and_no_algorithm() -> None:
    for one, other in (("certificate", "constraints"), ("constraints", "certificate")):
        for name, path in MODULES.items():
            if room(name) == one:
                assert other not in {room(target) for target in imports(path)}


def test_nothing_is_loose() -> None:
    loose = {path.stem for path in ROOT.glob("*.py")} - {"__init__"}
    assert loose == {"_dp_accounting", "__main__", "_lazy", "_sklearn", "_validation", "columns", "errors"}


def test_folders_of_tests_mirror_the_rooms() -> None:
    """Besides: tests of scripts, what tests share and start, and tests in a browser."""
    folders = {path.parent.relative_to(REPOSITORY / "tests").parts[0] for path in (REPOSITORY / "tests").glob("*/*.py")}
    assert folders - set(FLOOR) == {"benchmarks", "oracles", "programs", "watched", "web"}


def documented() -> set[str]:
    """The dotted names of darrm in all documents; paths of files are none."""
    names = set()
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        names |= set(re.findall(r"(?<![\w./-])darrm(?:\.[A-Za-z_]\w*)+(?![\w/])", text))
        for module, imported in re.findall(r"^ *from (darrm[\w.]*) import ([\w, ]+)$", text, re.MULTILINE):
            names |= {f"{module}.{name.split()[0]}" for name in imported.split(",")}
    return {name for name in names if not name.endswith(".py")}


@pytest.mark.thorough
def test_every_documented_name_follows_from_import_darrm() -> None:
    names = documented()
    assert {"darrm.solve", "darrm.accounting.Ledger"} <= names
    ended = subprocess.run(
        [sys.executable, PROGRAMS / "unreachable.py"],
        input=" ".join(sorted(names)), capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    assert ended.stdout.splitlines() == []


def test_a_name_that_is_not_there_is_seen() -> None:
    ended = subprocess.run(
        [sys.executable, PROGRAMS / "unreachable.py"],
        input="darrm.solve darrm.numerics.nothing", capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert ended.stdout == "darrm.numerics.nothing: module 'darrm.numerics' has no attribute 'nothing'\n"


FACES = sorted(name for name, path in {"": ROOT / "__init__.py", **MODULES}.items() if path.name == "__init__.py")


@pytest.mark.parametrize("name", FACES)
def test_a_face_lists_a_name_twice_at_most(name: str) -> None:
    """Once where it loads from, in the table or by an import, and once for type checking or in ``__all__``."""
    path = ROOT.joinpath(*name.split("."), "__init__.py") if name else ROOT / "__init__.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    public = getattr(importlib.import_module(f"darrm.{name}".rstrip(".")), "__all__", ())
    listed: list[str] = []
    for node in (node for statement in tree.body[1:] for node in ast.walk(statement)):
        if isinstance(node, ast.ImportFrom):
            listed += [alias.asname or alias.name for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            listed += node.value.split()
    assert [word for word in public if listed.count(word) > 2] == []
