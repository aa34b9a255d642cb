"""What users are handed: a wheel that can be built again, files that run no code, and no word to the network."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripts import PROGRAMS, load
from test_package import FILES, label

import darrm

ROOT = Path(__file__).resolve().parents[1]
WATCHED = Path(__file__).parent / "watched"
EPOCH = "1700000000"
release_check = load("release_check")


# --- wheel and sdist ---------------------------------------------------------------------------------------------


def committed() -> list[str]:
    """The files of both packages, by their paths in the repository."""
    return [
        str(path.relative_to(ROOT).as_posix())
        for folder in release_check.PACKAGES
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what goes into the sdist, without what was built or tried in the repository."""
    pytest.importorskip("hatchling")
    found = tmp_path_factory.mktemp("tree") / "copy"
    left_out = shutil.ignore_patterns(".*", "_build", "jupyter_execute", "__pycache__", "dist", "demo", "build")
    shutil.copytree(ROOT, found, ignore=left_out)
    return found


@pytest.fixture(scope="module")
def wheel(tree: Path) -> list[str]:
    """The names in a wheel."""
    out = tree.parent / "out"
    made = release_check.build(tree, out, EPOCH, **release_check.PLACES[0])
    assert [name.rsplit(".", 1)[1] for name in made] == ["whl", "gz"]
    return zipfile.ZipFile(next(out.glob("*.whl"))).namelist()


@pytest.mark.thorough
def test_the_same_tree_gives_the_same_bytes_anywhere(tree: Path, wheel: list[str]) -> None:
    first, elsewhere = tree.parent / "out", tree.parent / "another" / "longer" / "path"
    shutil.copytree(tree, elsewhere)
    (elsewhere / "darrm" / "__init__.py").touch()
    made = [
        release_check.build(tree, first, EPOCH),
        release_check.build(elsewhere, tree.parent / "out2", EPOCH, 0o077, **release_check.PLACES[1]),
    ]
    assert release_check.differences(made) == []
    later = release_check.build(elsewhere, tree.parent / "out3", str(int(EPOCH) + 86400))
    assert len(release_check.differences([made[0], later])) == 2  # the sums do see what differs


@pytest.mark.thorough
def test_the_wheel_holds_the_packages_and_nothing_else(wheel: list[str]) -> None:
    assert release_check.wheel_problems(wheel, committed()) == []


@pytest.mark.thorough
@pytest.mark.parametrize(
    "lost",
    [
        "darrm/show/report/page.html",
        "darrm/show/explore/static/explore.js",
        "darrm/__init__.pyi",
        "darrm/py.typed",
        "darrm_solvers/py.typed",
    ],
)
def test_a_wheel_without_a_file_is_refused(wheel: list[str], lost: str) -> None:
    short = [name for name in wheel if name != lost]
    assert release_check.wheel_problems(short, committed()) == [f"the wheel lacks {lost}"]
    assert f"the wheel lacks {lost}" in release_check.wheel_problems(short, [])


@pytest.mark.thorough
@pytest.mark.parametrize("added", ["tests/test_supply.py", "darrm/__pycache__/x.pyc", "darrm/secret.json"])
def test_a_wheel_with_another_file_is_refused(wheel: list[str], added: str) -> None:
    (problem,) = release_check.wheel_problems([*wheel, added], committed())
    assert added in problem


def test_what_the_sdist_must_hold() -> None:
    names = [f"darrm-0/{name}" for name in release_check.SDIST_SAMPLE]
    names += [f"darrm-0/{folder}/x" for folder in ("darrm", "solvers", "tests", "docs", "benchmarks")]
    assert release_check.sdist_problems(names) == []
    assert release_check.sdist_problems([name for name in names if "SECURITY" not in name])
    assert release_check.sdist_problems([name for name in names if "tests/" not in name])
    assert release_check.sdist_problems([*names, "darrm-0/../x"])


# --- list of materials -------------------------------------------------------------------------------------------

NEEDED = {"numpy", "scipy", "highspy", "cvxpy", "joblib", "click", "rich"}


def bom() -> dict[str, Any]:
    """A list that nothing is wrong with."""
    components = [{"name": name, "version": "1", "purl": f"pkg:pypi/{name}@1"} for name in sorted(NEEDED)]
    return {"bomFormat": "CycloneDX", "metadata": {"component": {"name": "darrm"}}, "components": components}


def test_a_list_of_materials_holds_what_the_package_requires() -> None:
    assert release_check.required(ROOT / "pyproject.toml") == NEEDED
    assert release_check.bom_problems(json.dumps(bom()), NEEDED) == []
    named = bom()
    named["components"][0]["name"] = named["components"][0]["name"].upper()  # names do not differ by case
    assert release_check.bom_problems(json.dumps(named), NEEDED) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda it: it["components"].pop(), "lacks scipy"),
        (lambda it: it["components"][0].pop("version"), "without a version"),
        (lambda it: it["components"][0].pop("purl"), "without a purl"),
        (lambda it: it["metadata"].update(timestamp="2026-01-01T00:00:00Z"), "when it was made"),
        (lambda it: it.update(serialNumber="urn:uuid:1"), "when it was made"),
        (lambda it: it["components"][0].update(url="file:///home/x.whl"), "path of this machine"),
        (lambda it: it["metadata"]["component"].update(name="other"), "not of darrm"),
        (lambda it: it.update(bomFormat="SPDX"), "not CycloneDX"),
    ],
)
def test_a_list_of_materials_that_is_wrong_is_refused(change: Callable[[dict[str, Any]], Any], said: str) -> None:
    made = bom()
    change(made)
    (problem,) = release_check.bom_problems(json.dumps(made), NEEDED)
    assert said in problem


@pytest.mark.thorough
def test_the_list_of_an_environment_is_written_twice_alike(tmp_path: Path) -> None:
    """Of this environment: what it holds besides is no matter."""
    pytest.importorskip("cyclonedx_py")
    written = [tmp_path / "one.json", tmp_path / "two.json"]
    for path, place in zip(written, release_check.PLACES, strict=True):
        command = [sys.executable, "-m", "cyclonedx_py", "environment", sys.executable, "--output-reproducible"]
        ended = subprocess.run(
            [*command, "--pyproject", str(ROOT / "pyproject.toml"), "--of", "JSON", "-o", str(path)],
            env=os.environ | place, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
    assert written[0].read_bytes() == written[1].read_bytes()


# --- no file runs code -------------------------------------------------------------------------------------------

RUN_CODE = {"pickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "jsonpickle", "yaml", "dbm"}
CALLS = {"eval", "exec", "compile", "__import__"}
METHODS = {"read_pickle", "to_pickle", "yaml_load", "run_path", "run_module"}
OWNERS = {
    ("joblib", "load"), ("joblib", "dump"), ("torch", "load"), ("torch", "save"), ("np", "save"), ("numpy", "save")
}  # fmt: skip


def risks(source: str) -> list[str]:
    """Where a module imports or calls what may run code that a file holds."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] in RUN_CODE]
        elif isinstance(node, ast.ImportFrom):
            module = (node.module or "").split(".")[0]
            found += [module] if module in RUN_CODE else []
            found += [f"{module}.{alias.name}" for alias in node.names if (module, alias.name) in OWNERS]
        elif isinstance(node, ast.Call):
            found += ["allow_pickle" for word in node.keywords if word.arg == "allow_pickle"]
            match node.func:
                case ast.Name(name) if name in CALLS:
                    found.append(name)
                case ast.Attribute(attr=name) if name in METHODS:
                    found.append(name)
                case ast.Attribute(ast.Name(owner), name) if (owner, name) in OWNERS:
                    found.append(f"{owner}.{name}")
            match node:
                case ast.Call(ast.Name("import_module") | ast.Attribute(attr="import_module"), [ast.Constant(name)]):
                    found += [str(name)] if str(name).split(".")[0] in RUN_CODE else []
    return found


@pytest.mark.thorough
def test_no_file_format_that_runs_code() -> None:
    assert [(label(path), risk) for path in FILES for risk in risks(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    "line",
    [
        "import pickle", "from marshal import loads", "import os, shelve", "from yaml import load", "eval('1')",
        "from joblib import dump", "import joblib; joblib.load(f)", "np.load(f, allow_pickle=True)", "np.save(f, a)",
        "def f():\n    import cloudpickle.x", "pd.read_pickle(f)", "torch.load(f)", "import_module('pickle')",
    ],
)  # fmt: skip
def test_such_formats_are_found(line: str) -> None:
    assert risks(line)


# --- no network --------------------------------------------------------------------------------------------------


def watched(folder: Path, program: str, *arguments: str, told: str = "") -> list[str]:
    """What a fresh interpreter, and those it starts, tried while it ran a program, which must succeed.

    The program is a file of tests/programs, or ``-c``: then the first argument is its text.
    """
    notes = folder / "notes.txt"
    notes.unlink(missing_ok=True)
    places = [str(WATCHED), str(ROOT), str(ROOT / "solvers"), os.environ.get("PYTHONPATH", "")]
    environment = {"PYTHONPATH": os.pathsep.join(places), "DARRM_WATCH": str(notes), "MPLBACKEND": "agg"}
    ended = subprocess.run(
        [sys.executable, program if program == "-c" else PROGRAMS / program, *arguments],
        cwd=folder,
        env=os.environ | environment,
        input=told,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return notes.read_text(encoding="utf-8").splitlines() if notes.exists() else []


def left_the_machine(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith("socket.")]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "attempt",
    [
        "import socket; socket.create_connection(('192.0.2.1', 80), 1)",
        "import socket; socket.socket().connect_ex(('192.0.2.1', 80))",
        "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'', ('192.0.2.1', 53))",
        "import socket; socket.getaddrinfo('example.invalid', 80)",
        "import urllib.request; urllib.request.urlopen('http://example.invalid')",
    ],
)
def test_an_attempt_is_seen_even_if_its_refusal_is_caught(tmp_path: Path, attempt: str) -> None:
    assert left_the_machine(watched(tmp_path, "attempt.py", attempt))
    assert left_the_machine(watched(tmp_path, "attempt.py", "child", attempt))


def test_this_machine_may_be_reached_and_unpickling_is_seen(tmp_path: Path) -> None:
    lines = watched(tmp_path, "here_and_unpickled.py")
    assert left_the_machine(lines) == []
    assert any(line.startswith("unpickled fractions.") for line in lines)


@pytest.mark.thorough
def test_importing_leaves_the_network_alone(tmp_path: Path) -> None:
    assert left_the_machine(watched(tmp_path, "-c", release_check.IMPORT_ALL)) == []


@pytest.mark.thorough
def test_commands_leave_the_network_alone(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    darrm.solve(K=11, m=3, epsilon=1).save(tmp_path / "design.json")
    shutil.copyfile(ROOT / "darrm" / "votes" / "examples" / "fresh_t11.csv", tmp_path / "votes.csv")
    commands = [
        "solve --K 5 --m 2 --epsilon 0.5 --out new.json",
        "solve --K 5 --m 2 --epsilon 0.5 --engine full-list-cvxpy",
        "verify design.json",
        "release design.json --votes votes.csv --out labels.csv",
        "compare --K 5 --m 2 --epsilon 0.5",
        "report design.json --out design.html",
        "budget design.json --voters fresh --queries 10 --total-delta 1e-5",
        "plan --K 5 --epsilon 0.1 --max-affected 1 --accuracy 0.6 --voters fresh --queries 10 --total-epsilon 3 "
        "--total-delta 1e-5",
        "audit --mechanism rr --mechanism llp-laplace --eta beta:2,3 --n 20 --epsilon 1 --bag-size 4 --plot audit.png",
        "demo --out demo",
        "table --K 3,5 --m 1,2 --epsilon 0.5 --out grid.jsonl --jobs 2",
    ]
    assert left_the_machine(watched(tmp_path, "commands.py", told="\n".join(commands))) == []


@pytest.mark.thorough
def test_the_explorer_leaves_the_network_alone(tmp_path: Path) -> None:
    pytest.importorskip("flask")
    pytest.importorskip("matplotlib")
    assert left_the_machine(watched(tmp_path, "explorer_pages.py")) == []


@pytest.mark.thorough
def test_ensembles_leave_the_network_alone(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("dp_accounting")
    assert left_the_machine(watched(tmp_path, "train.py")) == []


@pytest.mark.thorough
def test_reading_unpickles_nothing(tmp_path: Path) -> None:
    darrm.solve(K=5, m=2, epsilon=0.5).save(tmp_path / "design.json")
    shutil.copyfile(ROOT / "darrm" / "votes" / "examples" / "fresh_t11.csv", tmp_path / "votes.csv")
    darrm.tables.solve_grid(K=[3, 5], m=[1], epsilon=[0.5], out=tmp_path / "grid.jsonl")
    assert watched(tmp_path, "read_files.py") == []
