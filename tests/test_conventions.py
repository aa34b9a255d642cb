"""Files that other tools read: the workflow, the forms of issues, pre-commit, Read the Docs, the metadata."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parents[1]
GITHUB = ROOT / ".github"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FORMS = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")
READ_BY_TOOLS = [*GITHUB.rglob("*.yml"), ROOT / ".pre-commit-config.yaml", ROOT / ".readthedocs.yaml"]

pytestmark = pytest.mark.skipif(not GITHUB.is_dir(), reason="these files are not in an sdist: run in the repository")


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def minor_versions() -> list[str]:
    return re.findall(r"Python :: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)


# --- Python versions, metadata -----------------------------------------------------------------------------------


def test_the_versions_of_python_are_said_alike() -> None:
    versions = minor_versions()
    assert versions == [f"3.{minor}" for minor in range(11, 11 + len(versions))]
    assert PROJECT["requires-python"] == f">={versions[0]}"
    assert read(GITHUB / "workflows" / "ci.yml")["jobs"]["checks"]["strategy"]["matrix"]["python"] == versions
    assert read(ROOT / ".readthedocs.yaml")["build"]["tools"]["python"] in versions
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert f"Python {versions[0]} to {versions[-1]}" in contributing


def test_classifiers_are_known_and_name_no_license() -> None:
    known = pytest.importorskip("trove_classifiers")
    assert set(PROJECT["classifiers"]) <= known.classifiers
    assert not set(PROJECT["classifiers"]) & set(known.deprecated_classifiers)
    assert len(set(PROJECT["classifiers"])) == len(PROJECT["classifiers"])
    assert PROJECT["license"] == "Apache-2.0"
    assert not any(name.startswith("License") for name in PROJECT["classifiers"])  # an SPDX license stands alone


def test_dev_has_every_extra_but_release() -> None:
    extras = PROJECT["optional-dependencies"]
    [own] = [name for name in extras["dev"] if name.startswith("darrm[")]
    assert set(own.removeprefix("darrm[").removesuffix("]").split(",")) == extras.keys() - {"dev", "release"}


# --- the workflow ------------------------------------------------------------------------------------------------


def test_the_workflow_runs_the_script_and_may_only_read() -> None:
    workflow = read(GITHUB / "workflows" / "ci.yml")
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow[True].keys() == {"push", "pull_request"}  # to YAML 1.1 the word "on" is true
    [job] = workflow["jobs"].values()
    assert "permissions" not in job
    assert job["strategy"]["fail-fast"] is False
    assert 60 <= job["timeout-minutes"] <= 180
    assert [step["run"] for step in job["steps"] if "run" in step] == ["bash .ci/run"]
    assert (ROOT / ".ci" / "run").is_file()
    [setup] = [step for step in job["steps"] if "setup-python" in step.get("uses", "")]
    assert setup["with"]["python-version"] == "${{ matrix.python }}"


def test_actions_are_pinned_and_no_secret_is_used() -> None:
    for path in (GITHUB / "workflows").glob("*.yml"):
        used = [step["uses"] for job in read(path)["jobs"].values() for step in job["steps"] if "uses" in step]
        assert used
        assert [
            action for action in used if not re.fullmatch(r"actions/[a-z-]+@(v\d+(\.\d+)*|[0-9a-f]{40})", action)
        ] == []
        assert "secrets." not in path.read_text(encoding="utf-8")
        checkouts = [
            step for job in read(path)["jobs"].values() for step in job["steps"] if "checkout" in step.get("uses", "")
        ]
        assert all(step["with"]["persist-credentials"] is False for step in checkouts)


# --- forms of issues ---------------------------------------------------------------------------------------------

FIELDS = {"markdown", "textarea", "input", "dropdown", "checkboxes"}


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_a_form_is_one_that_github_takes(path: Path) -> None:
    form = read(path)
    assert form.keys() <= {"name", "description", "title", "labels", "assignees", "projects", "type", "body"}
    assert all(isinstance(form[key], str) and form[key] for key in ("name", "description"))
    assert {field["type"] for field in form["body"]} <= FIELDS
    questions = [field for field in form["body"] if field["type"] != "markdown"]
    assert questions
    for field in form["body"]:
        assert field.keys() <= {"type", "id", "attributes", "validations"}
        assert isinstance(field["attributes"]["value" if field["type"] == "markdown" else "label"], str)
    for field in questions:
        assert re.fullmatch(r"[\w-]+", field["id"])
        assert isinstance(field.get("validations", {}).get("required", False), bool)
    for what in (lambda field: field["id"], lambda field: field["attributes"]["label"]):
        assert len({what(field) for field in questions}) == len(questions)
    for field in questions:
        if field["type"] == "dropdown":
            options = field["attributes"]["options"]
            assert len(set(options)) == len(options) > 1
            assert all(isinstance(option, str) for option in options)
        elif field["type"] == "checkboxes":
            assert all(isinstance(option["label"], str) for option in field["attributes"]["options"])


def test_the_form_of_guarantees_asks_for_what_security_asks_for() -> None:
    form = read(GITHUB / "ISSUE_TEMPLATE" / "guarantee.yml")
    required = {field["id"] for field in form["body"] if field.get("validations", {}).get("required")}
    assert {"versions", "command", "design", "claimed", "contradiction"} <= required
    assert "file" in {field.get("id") for field in form["body"]}
    first = form["body"][0]
    assert first["type"] == "markdown"
    assert "SECURITY.md" in first["attributes"]["value"]
    assert "in private first" in first["attributes"]["value"]
    [agreed] = [field for field in form["body"] if field["type"] == "checkboxes"]
    assert all(option["required"] for option in agreed["attributes"]["options"])


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_what_a_form_names_is_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for name in re.findall(r"\.\./blob/HEAD/([\w./]+)", text):
        assert (ROOT / name).is_file()
    for name in re.findall(r"\?template=([\w.]+)", text):
        assert (GITHUB / "ISSUE_TEMPLATE" / name).is_file()


def test_an_empty_issue_is_allowed() -> None:
    """SECURITY.md sends those there who may not say more than that they have a report."""
    assert read(GITHUB / "ISSUE_TEMPLATE" / "config.yml") == {"blank_issues_enabled": True}


# --- pre-commit, Read the Docs -----------------------------------------------------------------------------------


def test_pre_commit_fetches_nothing_and_checks_what_make_checks() -> None:
    [repository] = read(ROOT / ".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    hooks = {hook["id"]: hook for hook in repository["hooks"]}
    assert hooks.keys() == {"ruff-check", "ruff-format", "mypy"}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for hook in hooks.values():
        assert hook["language"] == "system"
        program, *words = shlex.split(hook["entry"])
        folder, name = program.rsplit("/", 1)
        assert folder == ".venv/bin"
        assert re.search(rf"^\t\$\(BIN\)/{' '.join([name, *words[: name == 'ruff']])}\b", makefile, re.MULTILINE)
    assert hooks["mypy"]["pass_filenames"] is False


def test_read_the_docs_builds_as_make_docs_does() -> None:
    settings = read(ROOT / ".readthedocs.yaml")
    assert settings["version"] == 2
    assert settings["sphinx"]["fail_on_warning"] is True
    assert (ROOT / settings["sphinx"]["configuration"]).is_file()
    assert settings["build"].keys() == {"os", "tools"}
    [install] = settings["python"]["install"]
    assert (install["method"], install["path"]) == ("pip", ".")
    assert set(install["extra_requirements"]) <= PROJECT["optional-dependencies"].keys()


@pytest.mark.parametrize("path", READ_BY_TOOLS, ids=lambda path: path.name)
def test_no_tab_and_no_space_at_an_end(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    assert re.findall(r"\t|[ ]+$", text, re.MULTILINE) == []
