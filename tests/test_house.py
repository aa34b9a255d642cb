"""The plan of the house: which room a module is in, that imports go one way, and that documents name what is there."""

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from types import ModuleType

import pytest
from scripts import PROGRAMS, load

import darrm
import darrm_solvers

ROOT = Path(darrm.__path__[0])
REPOSITORY = Path(__file__).resolve().parents[1]
DOCUMENTS = [
    *REPOSITORY.glob("*.md"),
    *(path for path in (REPOSITORY / "docs").rglob("*.md") if "_build" not in path.parts),
    *(path for path in (REPOSITORY / "notebooks").iterdir() if path.is_file()),
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
    ("measures",),
    ("baselines",),
    ("planning",),
    ("tables", "ensemble", "columns", "interop"),
    ("labels",),
    ("show",),
    ("cli",),
    ("__main__",),
)
FLOOR = {name: floor for floor, names in enumerate(ROOMS) for name in names}


HOUSE, WORDS = load("house_map"), load("words")
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
    block = text.partition("The package is built in layers.")[2].partition("![A map")[0]
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
        public = getattr(face, "__all__", ())
        assert last not in public or isinstance(getattr(face, last), ModuleType), name


@pytest.mark.thorough
def test_the_proof_and_the_list_share_constants_and_no_algorithm() -> None:
    for one, other in (("certificate", "constraints"), ("constraints", "certificate")):
        for name, path in MODULES.items():
            if room(name) == one:
                assert other not in {room(target) for target in imports(path)}


# Where `problem.epsilon` and its like are still read; nowhere else.
OF_ONE_KIND = {
    "certificate.corner_pass",
    "certificate.moves",
    "certificate.rounding",
    "certificate.separation",
    "baselines.noise_functions",
    "cli.compare",
    "constraints.rows",
    "design.absent",
    "design.solve",
    "planning.designs",
}


def reads_of_one_kind(source: str) -> list[str]:
    """What is read of a problem that has another meaning, or none, for problems of another kind."""
    return [
        f"{ast.unparse(node)} in line {node.lineno}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
        and node.attr in {"epsilon", "m", "Delta"}
        and ast.unparse(node.value).endswith("problem")
    ]


def test_no_module_reads_what_depends_on_the_kind_of_a_problem() -> None:
    """``epsilon`` is a vote's or the release's by kind: `release_epsilon`, `allowance` and groups say which."""
    found = {
        name: reads
        for name, path in MODULES.items()
        if room(name) != "problem" and name not in OF_ONE_KIND
        if (reads := reads_of_one_kind(path.read_text(encoding="utf-8")))
    }
    assert found == {}


def test_a_read_that_depends_on_the_kind_is_seen() -> None:
    source = "p = problem.m\nq = self._problem.Delta, design.problem.epsilon, problem.release_epsilon, group.epsilon"
    assert len(reads_of_one_kind(source)) == 3


def test_nothing_is_loose() -> None:
    loose = {path.stem for path in ROOT.glob("*.py")} - {"__init__"}
    assert loose == {"_dp_accounting", "__main__", "_lazy", "_sklearn", "_validation", "columns", "errors"}


def test_folders_of_tests_mirror_the_rooms() -> None:
    """Besides: tests of scripts, what tests share and start, tools of development, and tests in a browser."""
    folders = {path.parent.relative_to(REPOSITORY / "tests").parts[0] for path in (REPOSITORY / "tests").glob("*/*.py")}
    assert folders - set(FLOOR) == {"benchmarks", "oracles", "programs", "proofs", "tools", "watched", "web"}


def documented() -> set[str]:
    """The dotted names of darrm in all documents; paths of files are none."""
    names = set()
    for document in DOCUMENTS:
        text = WORDS.written(document)
        names |= set(re.findall(r"(?<![\w./-])darrm(?:\.[A-Za-z_]\w*)+(?![\w/])", text))
        for module, imported in re.findall(r"^ *from (darrm[\w.]*) import ([\w, ]+)$", text, re.MULTILINE):
            names |= {f"{module}.{name.split()[0]}" for name in imported.split(",")}
    return {name for name in names if not name.endswith(".py")}


@pytest.mark.slow
def test_every_documented_name_follows_from_import_darrm() -> None:
    names = documented()
    assert {"darrm.solve", "darrm.accounting.Ledger"} <= names
    ended = subprocess.run(
        [sys.executable, PROGRAMS / "unreachable.py"],
        input=" ".join(sorted(names)), capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    assert ended.stdout.splitlines() == []


@pytest.mark.thorough
def test_a_name_that_is_not_there_is_seen() -> None:
    ended = subprocess.run(
        [sys.executable, PROGRAMS / "unreachable.py"],
        input="darrm.solve darrm.numerics.nothing", capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert ended.stdout == "darrm.numerics.nothing: module 'darrm.numerics' has no attribute 'nothing'\n"


def faces() -> Iterator[str]:
    for package in (darrm, darrm_solvers):
        root = Path(package.__path__[0])
        for stub in sorted(root.rglob("__init__.pyi")):
            yield ".".join(stub.parent.relative_to(root.parent).parts)


@pytest.mark.every
@pytest.mark.parametrize("name", [*faces()])
def test_a_face_lists_its_names_once_in_the_stub(name: str) -> None:
    """Type checkers read the stub in the place of ``__init__.py``, which so must not hold a public name of its own."""
    face = importlib.import_module(name)
    path = Path(face.__path__[0], "__init__.py")
    assert {held for held in vars(face) if held[0] != "_"} <= {"face"} | {p.stem for p in path.parent.iterdir()}
    stub = ast.parse(path.with_suffix(".pyi").read_text(encoding="utf-8"))
    listed = [(alias, line.module) for line in stub.body if isinstance(line, ast.ImportFrom) for alias in line.names]
    assert sorted(alias.name for alias, _ in listed) == face.__all__ == dir(face)
    assert len(set(face.__all__)) == len(listed) > 2
    for alias, home in listed:
        assert alias.asname == alias.name  # else type checkers take it for an import of the stub's own
        here = getattr(face, alias.name)  # first, since the face makes it name missing arguments
        assert here is getattr(importlib.import_module(home), alias.name), alias.name
