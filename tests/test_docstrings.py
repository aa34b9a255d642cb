"""Every public function and class shows by an example how it is used, and every example prints what it says."""

import doctest
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_entry_points import POINTS, is_record, members, methods

import darrm
import darrm_solvers

ROOT, SOLVERS = Path(darrm.__path__[0]), Path(darrm_solvers.__path__[0])
PAGES = [path for path in (ROOT.parent / "docs").rglob("*.md") if "_build" not in path.parts]
# Where examples are still to come.
LEFT_OUT: tuple[str, ...] = ()
# Extras of modules, or of their examples.
NEEDS = {
    "darrm.accounting.events": "dp_accounting",
    "darrm.accounting.loss_distributions": "dp_accounting",
    "darrm.ensemble": "sklearn",
    "darrm.interop.opendp": "opendp",
    "darrm.interop.shared": "mpyc",
    "darrm.labels.audits": "sklearn",
    "darrm.labels.learners": "sklearn",
    "darrm.planning.at_one_total": "pandas",
    "darrm.show": "matplotlib",
    "darrm.show.explore": "flask",
}


def within(name: str, package: str) -> bool:
    return f"{name}.".startswith(f"{package}.")


def resolved(point: str) -> tuple[str, Any]:
    """The full name and the value of a name below darrm; of a method those of its class."""
    name, value = "darrm", darrm
    for part in point.split("."):
        name, value = f"{name}.{part}", getattr(value, part)
        if isinstance(value, type):
            break
    return name, value


def documented() -> Iterator[str]:
    """Names that the documentation lists, without ``darrm.``."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in PAGES)
    for kind, name, options in re.findall(r"^\.\. auto(\w+):: darrm\.([\w.]+)((?:\n   :.*)*)", text, re.MULTILINE):
        if kind != "module":
            yield name
        elif listed := re.search(r":members:(.*)", options):
            every = listed[1].replace(",", " ").split() or [member for member, _ in members(resolved(name)[1])]
            yield from (f"{name}.{member}" for member in every)


def public() -> dict[str, Any]:
    """Functions and classes that users meet, by name: not what only holds results, which is shown where it is made."""
    found: dict[str, Any] = {}
    for point in [*POINTS, *documented()]:
        name, value = resolved(point)
        if any(value is other for other in found.values()):
            continue
        if not isinstance(value, type) or not is_record(value) or any(methods(value)):
            found[name] = value
    return found


def with_examples() -> dict[str, Path]:
    """Modules of darrm and of its solvers that hold examples, by name."""
    found = {}
    for root in (ROOT, SOLVERS):
        for path in sorted(root.rglob("*.py")):
            if ">>> " in path.read_text(encoding="utf-8"):
                parts = path.relative_to(root.parent).with_suffix("").parts
                found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


# What the reference leaves out: what priors and objectives are made of, and read from files by.
INNER = {"objectives.Objective", "objectives.OfVoters", "objectives.from_dict", "objectives.gains"}
INNER |= {"priors.Prior", "priors.combine", "priors.from_dict"}


@pytest.mark.thorough
def test_every_public_function_and_class_is_in_the_reference() -> None:
    there = [resolved(name)[1] for name in documented()]
    left = {name for name in POINTS if not any(resolved(name)[1] is value for value in there)}
    methods_of = {name for name in left if resolved(name)[0] != f"darrm.{name}"}
    missing = sorted(left - methods_of - INNER)
    assert not missing, f"Add {', '.join(missing)} to docs/reference.md."
    assert left - methods_of == INNER


MODULES = with_examples()


def test_everything_public_has_an_example() -> None:
    without = []
    for name, value in public().items():
        if any(within(place, left) for place in (name, value.__module__) for left in LEFT_OUT):
            continue
        _, _, shown = (inspect.getdoc(value) or "").partition("\nExamples\n--------\n")
        if not doctest.DocTestParser().get_examples(shown):
            without.append(name)
    assert without == []


def test_the_reference_has_what_the_solvers_export_with_an_example() -> None:
    reference = (ROOT.parent / "docs" / "reference.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\.\. auto\w+:: darrm_solvers\.(\w+)", reference, re.MULTILINE))
    made = {name: getattr(darrm_solvers, name) for name in darrm_solvers.__all__}
    # Status and the type of separators are shown where they are used.
    assert listed == set(made) - {"Separator", "Status"}
    for name, value in made.items():
        if name in listed and not (isinstance(value, type) and is_record(value)):
            assert doctest.DocTestParser().get_examples(inspect.getdoc(value) or ""), name


def test_what_is_public_is_found() -> None:
    """A function, a class, a record with methods, one without; by a face and by the documentation alone."""
    found = public()
    assert {"darrm.solve", "darrm.Design", "darrm.tables.Table", "darrm.labels.audit_files.read_eta"} <= set(found)
    assert "darrm.accounting.Privacy" not in found


@pytest.mark.thorough
@pytest.mark.parametrize("module", MODULES)
def test_examples_print_what_they_say(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each from nothing but its own imports, in an empty folder."""
    for package, extra in NEEDS.items():
        if within(module, package):
            pytest.importorskip(extra)
    tests = doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(module), module, globs={})
    lines = re.findall(r"^ *>>> ", MODULES[module].read_text(encoding="utf-8"), re.MULTILINE)
    assert sum(len(test.examples) for test in tests) == len(lines)
    said: list[str] = []
    for number, test in enumerate(tests):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        doctest.DocTestRunner().run(test, out=said.append)
    if said:
        pytest.fail("".join(said), pytrace=False)
