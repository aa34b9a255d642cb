"""Build the wheel and the sdist as for a release, check them, and keep them with a list of what they need.

    python tests/tools/release_check.py [--out dist] [--docs]

Takes: a minute or two. --docs writes docs/trust.md.

From the last commit, and from nothing else: what is not committed is refused.

1. Two clones, in folders, time zones, orders of hashing and umasks that differ, give the same bytes; so does the
   wheel made from the unpacked sdist. Their time is that of the commit (SOURCE_DATE_EPOCH).
2. The wheel holds exactly the committed files of both packages. No tests.
3. The metadata are valid and the README renders (twine). Tests of the unpacked sdist pass on the package in it.
4. In an environment with nothing but the wheel and what it requires, every module loads or waits for an extra.
   ``darrm demo`` and ``python -m darrm demo`` run from an empty folder, without git, make or any other program, and
   leave it empty. ``darrm --help`` and ``darrm verify`` run too, and commands that need an extra say which.
5. That environment as a CycloneDX list (SBOM): it holds what darrm requires, and a second environment gives the same
   bytes. What pip-audit knows against it.

Needs the extra ``release``, git and a package index. --docs writes the rows of docs/trust.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Collection, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path, PurePosixPath

from darrm.cli.endings import NO_LIBRARY

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks" / "paper"))

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"darrm": "darrm", "solvers/darrm_solvers": "darrm_solvers"}  # in the repository, in the wheel
# Of each kind one, lest a list of committed files that was read wrongly agrees with an empty wheel.
SAMPLE = {
    "darrm/__init__.py",
    "darrm/__init__.pyi",
    "darrm/py.typed",
    "darrm/show/report/page.html",
    "darrm/show/explore/templates/plan.html",
    "darrm/show/explore/templates/release.html",
    "darrm/show/explore/static/explore.css",
    "darrm/show/explore/static/explore.js",
    "darrm/votes/examples/votes.json",
    "darrm/votes/examples/fresh_t11.csv",
    "darrm_solvers/__init__.py",
    "darrm_solvers/__init__.pyi",
    "darrm_solvers/py.typed",
}
METADATA = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
SDIST_SAMPLE = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md", "PKG-INFO"}
# A part of the tests that takes seconds: the sdist must hold what they read beside the package.
SDIST_TESTS = ("tests/certificate", "tests/independent", "tests/test_readme.py", "tests/test_publish.py")
# What differs between two builds that must not differ: everything about the place where they are made.
PLACES: tuple[dict[str, str], ...] = (
    {"TZ": "UTC", "PYTHONHASHSEED": "1", "LC_ALL": "C"},
    {"TZ": "Asia/Tokyo", "PYTHONHASHSEED": "2", "LC_ALL": "C.UTF-8"},
)
# Every module loads, or misses a library of an extra; every public name is there, or says what to install.
IMPORT_ALL = """
import darrm, darrm_solvers, importlib, json, pkgutil
extras = {"flask", "waitress", "matplotlib", "sklearn", "dp_accounting", "pyarrow", "dask", "distributed"}
loaded, missing = 0, {}
for package in (darrm, darrm_solvers):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        try:
            importlib.import_module(found.name)
            loaded += 1
        except ImportError as error:
            if not isinstance(error, darrm.MissingExtraError) and (error.name or "").split(".")[0] not in extras:
                raise
            missing[found.name] = str(error)
for name in darrm.__all__:
    module = getattr(darrm, name)
    for inner in getattr(module, "__all__", ()):
        try:
            getattr(module, inner)
        except darrm.MissingExtraError as error:
            assert "pip install" in str(error), error
print(json.dumps([darrm.__file__, loaded, missing]))
"""
WITH_EXTRAS = (
    ("explore",),
    ("report", "demo/gamma.json"),
    ("solve", "--K", "3", "--m", "1", "--epsilon", "1", "--plot", "x.png"),
)


def run(*command: str | Path, cwd: Path = ROOT, umask: int = -1, **environment: str) -> str:
    """What the command prints; ends the script if the command fails."""
    ended = subprocess.run(
        command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, umask=umask, timeout=900
    )
    if ended.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: status {ended.returncode}\n{ended.stdout}\n{ended.stderr}")
    return ended.stdout


def build(tree: Path, out: Path, epoch: str, umask: int = -1, **environment: str) -> dict[str, str]:
    """The SHA-256 of the wheel and the sdist that hatchling makes of ``tree``, by file name."""
    run(
        *(sys.executable, "-m", "hatchling", "build", "-d", out),
        cwd=tree,
        umask=umask,
        SOURCE_DATE_EPOCH=epoch,
        **environment,
    )
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(out.iterdir())}


def differences(builds: Iterable[Mapping[str, str]]) -> list[str]:
    """Files that not all builds have, or not with the same bytes."""
    first, *others = builds
    return [
        f"{name} differs between builds: {first.get(name)} and {other.get(name)}"
        for other in others
        for name in sorted(first.keys() | other.keys())
        if first.get(name) != other.get(name)
    ]


def wheel_problems(names: Collection[str], committed: Collection[str]) -> list[str]:
    """What is wrong with a wheel that holds the files ``names``; ``committed`` are paths in the repository."""
    wanted = {
        place + path.removeprefix(folder) for folder, place in PACKAGES.items() for path in committed
        if path.startswith(f"{folder}/")
    }  # fmt: skip
    about = {name for name in names if PurePosixPath(name).parts[0].endswith(".dist-info")}
    held = set(names) - about
    return [
        *(f"the wheel lacks {name}" for name in sorted((wanted | SAMPLE) - held)),
        *(f"the wheel holds {name}, which is not a committed file of a package" for name in sorted(held - wanted)),
        *(f"the wheel lacks {name} in dist-info" for name in sorted(METADATA - {n.split("/", 1)[1] for n in about})),
        *(f"the wheel holds {name} twice" for name in sorted({n for n in names if list(names).count(n) > 1})),
    ]


def sdist_problems(names: Collection[str]) -> list[str]:
    """What is wrong with an sdist that holds these files, below its one folder."""
    held = {name.split("/", 1)[-1] for name in names}
    outside = [name for name in names if name.startswith("/") or ".." in PurePosixPath(name).parts]
    return [
        *(f"the sdist lacks {name}" for name in sorted(SDIST_SAMPLE - held)),
        *(f"the sdist holds {name}, outside its folder" for name in outside),
        *("the sdist lacks " + folder for folder in ("darrm/", "solvers/", "tests/", "docs/", "benchmarks/")
          if not any(name.startswith(folder) for name in held)),
    ]  # fmt: skip


def sdist_tests(unpacked: Path) -> str:
    """The last line of pytest on a part of the tests of the sdist, which run on the package beside them."""
    beside = os.pathsep.join(str(unpacked / folder) for folder in (".", "solvers"))
    where = run(sys.executable, "-c", "import darrm; print(darrm.__file__)", cwd=unpacked, PYTHONPATH=beside).strip()
    if not Path(where).is_relative_to(unpacked):
        raise SystemExit(f"The tests of the sdist would import darrm from {where}.")
    command = (sys.executable, "-m", "pytest", "-q", "-m", "not slow and not thorough", *SDIST_TESTS)
    return run(*command, cwd=unpacked, PYTHONPATH=beside).strip().splitlines()[-1]


def empty_environment(folder: Path, wheel: Path) -> Path:
    """The Python of an environment that holds the wheel, what it requires, and nothing else, not even pip."""
    venv.create(folder, with_pip=False)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check")
    run(*pip, "install", "--quiet", wheel)
    run(*pip, "check")
    return python


def use(python: Path, folder: Path) -> list[str]:
    """Use the installed wheel as one who has just installed it does; what was seen, in words."""
    empty = folder / "empty"
    empty.mkdir()
    # The demo needs no git and no make, so no other program is on the path.
    clean = {"PYTHONPATH": "", "PYTHONWARNINGS": "error", "PATH": str(empty)}
    place, loaded, missing = json.loads(run(python, "-c", IMPORT_ALL, cwd=folder, **clean))
    if not Path(place).is_relative_to(python.parent.parent):
        raise SystemExit(f"The environment imports darrm from {place}, not the wheel.")
    command = python.with_name("darrm" + python.suffix)
    run(command, "--help", cwd=folder, **clean)
    run(command, "demo", cwd=empty, **clean)
    run(python, "-m", "darrm", "demo", cwd=empty, **clean)
    if left_behind := sorted(path.name for path in empty.iterdir()):
        raise SystemExit(f"darrm demo leaves files where it runs: {', '.join(left_behind)}")
    run(command, "demo", "--out", "demo", cwd=folder, **clean)
    run(command, "verify", "demo/gamma.json", cwd=folder, **clean)
    for words in WITH_EXTRAS:
        ended = subprocess.run([command, *words], cwd=folder, env=os.environ | clean, capture_output=True, text=True)
        if ended.returncode != NO_LIBRARY.status or "pip install" not in ended.stderr:
            raise SystemExit(f"{' '.join(words)} does not say which extra it misses:\n{ended.stdout}{ended.stderr}")
    return [
        f"{loaded} modules load, {len(missing)} wait for an extra",
        "`--help`, `demo`, `verify` run, `demo` from an empty folder without git and make",
        f"{len(WITH_EXTRAS)} commands name the extra that they miss",
    ]


def materials(python: Path, out: Path) -> int:
    """Write the CycloneDX list of the environment to ``out``; how many packages it lists."""
    run(
        *(sys.executable, "-m", "cyclonedx_py", "environment", python, "--pyproject", ROOT / "pyproject.toml"),
        *("--mc-type", "library", "--output-reproducible", "--of", "JSON", "-o", out),
    )
    text = out.read_text(encoding="utf-8")
    if wrong := bom_problems(text, required(ROOT / "pyproject.toml")):
        raise SystemExit("\n".join(wrong))
    return len({component["name"] for component in json.loads(text)["components"]} - {"darrm"})


def required(project: Path) -> set[str]:
    """What a pyproject.toml says the package needs, without versions."""
    found = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["dependencies"]
    return {re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in found}


def bom_problems(text: str, needed: Collection[str]) -> list[str]:
    """What is wrong with a CycloneDX list: something needed is not in it, or it says where or when it was made."""
    bom = json.loads(text)
    if bom.get("bomFormat") != "CycloneDX":
        return ["the list of materials is not CycloneDX"]
    held = {component["name"].lower(): component for component in bom.get("components", ())}
    about = bom.get("metadata", {})
    return [
        *(f"the list of materials lacks {name}" for name in sorted(needed) if name.lower() not in held),
        *(f"the list of materials has {name} without a version" for name, c in held.items() if not c.get("version")),
        *(f"the list of materials has {name} without a purl" for name, c in held.items()
          if name != "darrm" and not c.get("purl")),
        *(["the list of materials is not of darrm"] if about.get("component", {}).get("name") != "darrm" else []),
        *(["the list of materials says when it was made"] if "timestamp" in about or "serialNumber" in bom else []),
        *(["the list of materials holds a path of this machine"] if "file://" in text else []),
    ]  # fmt: skip


def audit(python: Path) -> str:
    """What pip-audit says of the environment; a vulnerability ends the script, an index out of reach does not."""
    (site,) = [path for path in python.parent.parent.rglob("site-packages") if (path / "darrm").is_dir()]
    command = (sys.executable, "-m", "pip_audit", "--path", site, "--progress-spinner", "off", "--format", "json")
    ended = subprocess.run(command, capture_output=True, text=True, timeout=900)
    try:
        found = json.loads(ended.stdout)["dependencies"]
    except json.JSONDecodeError:
        reason = (ended.stderr.strip().splitlines() or ["no answer"])[-1]
        print(f"pip-audit could not look up anything: {reason}", file=sys.stderr)
        return "not looked up: no database of vulnerabilities could be reached"
    bad = [f"{one['name']} {one['version']}: {flaw['id']}" for one in found for flaw in one.get("vulns", ())]
    if bad:
        raise SystemExit("Known vulnerabilities:\n" + "\n".join(bad))
    skipped = [one["name"] for one in found if "skip_reason" in one]
    if len(skipped) == len(found):
        print(f"pip-audit looked up nothing: {found[0]['skip_reason']}", file=sys.stderr)
        return "not looked up: no database of vulnerabilities could be reached"
    return f"no known vulnerability in {len(found) - len(skipped)} packages; not looked up: {', '.join(skipped) or '-'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="keep what was built here")
    parser.add_argument("--docs", action="store_true", help="write the rows of docs/trust.md")
    asked = parser.parse_args()
    if changed := run("git", "status", "--porcelain"):
        raise SystemExit(f"A release is made of a commit. Commit or remove these first:\n{changed}")
    epoch = run("git", "log", "-1", "--format=%ct").strip()
    commit = run("git", "rev-parse", "HEAD").strip()
    committed = run("git", "ls-files").splitlines()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        builds = []
        for i, (place, umask) in enumerate(zip(PLACES, (0o022, 0o077), strict=True)):
            tree = work / ("clone" * (i + 1))
            run("git", "clone", "--quiet", "--no-local", ROOT, tree)
            run("git", "checkout", "--quiet", commit, cwd=tree)
            builds.append(build(tree, work / f"out{i}", epoch, umask, **place))
        wheel, sdist = next((work / "out0").glob("*.whl")), next((work / "out0").glob("*.tar.gz"))
        with tarfile.open(sdist) as archive:
            files = [entry.name for entry in archive.getmembers()]
            archive.extractall(work / "unpacked", filter="data")
        unpacked = work / "unpacked" / sdist.name.removesuffix(".tar.gz")
        again = build(unpacked, work / "out2", epoch)
        with zipfile.ZipFile(wheel) as archive_of_wheel:
            held = archive_of_wheel.namelist()
        wrong = [*differences([*builds, again]), *wheel_problems(held, committed), *sdist_problems(files)]
        if wrong:
            raise SystemExit("\n".join(wrong))
        print(f"commit {commit}, SOURCE_DATE_EPOCH={epoch}")
        print(*(f"{digest}  {file}" for file, digest in builds[0].items()), sep="\n")
        print(f"same bytes from 2 clones and from the sdist; wheel: {len(held)} files, sdist: {len(files)}")
        run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
        print("twine: the metadata are valid and the README renders")
        tested = sdist_tests(unpacked)
        print(f"tests of the sdist: {tested}")
        python = empty_environment(work / "environment", wheel)
        seen = use(python, work)
        print(*seen, sep="\n")
        asked.out.mkdir(parents=True, exist_ok=True)
        bom = asked.out / f"{sdist.name.removesuffix('.tar.gz')}.cdx.json"
        packages = materials(python, bom)
        (work / "elsewhere").mkdir()
        other = work / "elsewhere" / bom.name
        materials(empty_environment(work / "elsewhere" / "environment", work / "out1" / wheel.name), other)
        lists = [{bom.name: hashlib.sha256(path.read_bytes()).hexdigest()} for path in (bom, other)]
        if wrong := differences(lists):
            raise SystemExit("\n".join(wrong))
        print(f"{lists[0][bom.name]}  {bom.name}")
        print(f"{bom.name} lists {packages} packages, the same bytes from 2 environments")
        audited = audit(python)
        print(f"pip-audit: {audited}")
        for path in (wheel, sdist):
            shutil.copy(path, asked.out)
    if asked.docs:
        import pages

        again_by = "`make release`"
        rows = [
            ("wheel and sdist built from two clones, and from the sdist", "3 builds", "the same bytes", again_by),
            ("metadata of both, and the README in them (twine)", "2 files", "valid, and it renders", again_by),
            (
                "tests of certificates, the independent check and the README, run from the sdist",
                tested.split(" in ")[0], "on the package of the sdist", again_by,
            ),
            (
                "files of the wheel against the committed ones", f"{len(held)} files",
                "every file of both packages, nothing else", again_by,
            ),
            ("the wheel alone in an empty environment", f"{packages} packages", "; ".join(seen), again_by),
            (
                "CycloneDX list of that environment and of a second one", f"{packages} packages",
                "the same bytes; every library that darrm requires, with version and purl", again_by,
            ),
            ("known vulnerabilities of what darrm requires", f"{packages} packages", audited, again_by),
        ]  # fmt: skip
        shown = [dict(zip(("trial", "count", "outcome", "command"), row, strict=True)) for row in rows]
        made = f"Python {platform.python_version()}, {platform.system()}, hatchling {version('hatchling')}."
        pages.put("release", f"{left(pages.table(shown))}\n\n{made}", ROOT / "docs" / "trust.md")


def left(table: str) -> str:
    """The table with words at the left of their columns."""
    return table.replace(" --: ", " :-- ", 4)


if __name__ == "__main__":
    main()
