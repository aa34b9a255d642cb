"""A limit for each group on the command line: solved, verified, planned, charged, refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import darrm
from darrm.cli import main

GROUPS = "--group 4:1 --group 5:1 --max-affected 1 --accuracy .7"
BUDGET = "--total-epsilon 2,8 --total-delta 1e-6 --voters fresh"


def printed(capsys: pytest.CaptureFixture[str], command: str, status: int = 0) -> str:
    capsys.readouterr()
    assert main(command.split()) == status
    captured = capsys.readouterr()
    return " ".join((captured.out if status == 0 else captured.err).split())


def values(capsys: pytest.CaptureFixture[str], command: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main([*command.split(), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.chdir(tmp_path)
    assert main(["solve", *GROUPS.split(), "--release-epsilon", "0.3,1", "--out", "d.json"]) == 0
    return "d.json"


@pytest.mark.thorough
def test_every_limit_is_printed(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert darrm.load(file).problem.kinds["group 2"].release_epsilon == 1.0
    both = "(0.3, 0)-DP for a change in group 1, (1, 0)-DP for a change in group 2"
    said = printed(capsys, f"verify {file}")
    assert both in said
    assert "affects at most 1 voter." in said
    assert "tight epsilon 0.3 at delta 0 for a change in group 1; " in said
    assert "worst case for a change in group 2: " in said
    found = values(capsys, f"verify {file}")
    assert found["problem"]["epsilon"] == [0.3, 1.0]
    assert [own["holds"] for own in found["certificate"]["kinds"].values()] == [True, True]
    said = printed(capsys, f"verify {file} --independent")
    assert "One release is (0.3, 0)-DP for a change in group 1 and (1, 0)-DP for a change in group 2." in said
    content = json.loads(Path(file).read_text())
    for name in ("format", "version", "sha256"):
        del content[name]
    content["problem"]["epsilon"] = [0.3, 0.9]
    from darrm.storage.sealed_json import write

    write(Path("forged.json"), {"format": "darrm-design", "version": 2, **content})
    assert "is not (0.9, 0)-DP" in printed_of_wrong(capsys, "verify forged.json --independent")
    assert "not certified (0.9, 0)-DP for a change in group 2" in printed(capsys, "verify forged.json", 1)


@pytest.mark.thorough
def test_several_voters_of_one_group(tmp_path: Path, monkeypatch: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a limit for changes in several groups, the condition says that there are none."""
    monkeypatch.chdir(tmp_path)
    groups = "--group 3:1 --group 3:1 --max-affected 2 --accuracy .7"
    assert main(["solve", *groups.split(), "--release-epsilon", "0.3,1", "--out", "two.json"]) == 0
    assert "affects at most 2 voters, all of one group" in printed(capsys, "verify two.json")
    assert "at most 2 of them, all of one group." in printed(capsys, "verify two.json --independent")
    assert main(["solve", *groups.split(), "--release-epsilon", "0.3,1,1.5", "--out", "any.json"]) == 0
    said = printed(capsys, "verify any.json")
    assert "(1.5, 0)-DP for a change in several groups" in said
    assert "all of one group" not in said
    assert "all of one group" not in printed(capsys, "verify any.json --independent")


def printed_of_wrong(capsys: pytest.CaptureFixture[str], command: str) -> str:
    capsys.readouterr()
    assert main(command.split()) == 1
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.thorough
def test_a_ledger_shows_a_balance_for_each_group(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = printed(capsys, f"ledger create l.json {file} {BUDGET}")
    assert "Privacy budget (2, 1e-06) for a change in group 1 and (8, 1e-06) for a change in group 2" in said
    assert "6 left" in said
    Path("v.csv").write_text("\n".join([",".join(f"v{i}" for i in range(9)), *["0,1,0,1,0,1,0,1,0"] * 4]) + "\n")
    assert main(["release", file, "--votes", "v.csv", "--out", "labels.csv", "--ledger", "l.json"]) == 0
    captured = capsys.readouterr()
    assert "(8, 1e-06)-DP for a change in group 2 together" in " ".join(captured.err.split())
    found = values(capsys, f"ledger show l.json {file}")
    assert (found["total_epsilon"], found["left"], found["released"]) == ([2.0, 8.0], 2, 4)
    assert found["of"]["group 1"]["epsilon"] == pytest.approx(1.2, rel=1e-3)
    assert found["of"]["group 2"]["epsilon"] == found["spent_epsilon"] == pytest.approx(4.0, rel=1e-3)
    assert "certified: (1.2, 1e-06) for a change in group 1" in printed(capsys, "ledger show l.json")
    assert main(["ledger", "charge", "l.json", file, "--times", "3"]) != 0
    assert "2 are left" in capsys.readouterr().err


@pytest.mark.thorough
def test_budget_of_each_group(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = printed(capsys, f"budget {file} --queries 10 --total-delta 1e-6 --voters fresh")
    assert "A change in group 1. Fresh voters: 10 labels together are (2.99975, 1e-06)-DP" in said
    assert "A change in group 2. Fresh voters: 10 labels" in said
    found = values(capsys, f"budget {file} --queries 10 --total-delta 1e-6 --voters fresh")
    assert found["upper"] == found["of"]["group 2"]["upper"] > found["of"]["group 1"]["upper"]
    said = printed(capsys, f"budget {file} --total-epsilon 1,4 --total-delta 1e-6 --voters fresh")
    assert "(1, 1e-06) for a change in group 1 and (4, 1e-06) for a change in group 2 cover 3 labels" in said


@pytest.mark.slow
def test_a_plan_of_two_budgets(tmp_path: Path, monkeypatch: Any, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    command = f"plan {GROUPS} --no-comparison --queries 3 --total-epsilon .5,1 --total-delta 1e-6 --voters fresh"
    found = values(capsys, command)
    assert list(found["of"]) == ["group 1", "group 2"]
    assert 0.49 < found["of"]["group 1"]["spent"] <= 0.5
    assert 0.98 < found["of"]["group 2"]["spent"] <= 1.0
    assert main([*command.split(), "--out", "p.json"]) == 0
    captured = capsys.readouterr()
    assert "within (0.5, 1e-06) and" in " ".join(captured.out.split())
    assert "No budget covers a change that affects voters of several groups" in " ".join(captured.out.split())
    assert "--total-epsilon 0.5,1.0 --total-delta 1e-06" in captured.err


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("command", "said"),
    [
        (f"solve {GROUPS} --release-epsilon 0.3,1,2", "epsilon must be a number, or a list of 2"),
        ("solve --K 5 --epsilon 1 --release-epsilon .3,1", "--release-epsilon must be a number"),
        ("profile d.json --kind several", "kind must be one of group 1, group 2"),
        ("report d.json", "kind must be one of group 1, group 2"),
        ("ledger create l.json d.json --total-epsilon 1,2,3 --total-delta 1e-6 --voters fresh", "a list of 2"),
        (
            "ledger create l.json --total-epsilon 1,2 --total-delta 1e-6 --voters fresh --rule basic-filter",
            "--total-epsilon",
        ),
    ],
)
def test_refused_in_one_line(file: str, command: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said in printed(capsys, command, 2)


@pytest.mark.thorough
def test_reports_and_profiles_of_one_kind(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    for kind, epsilon, g in (("group 1", "0.3", 1), ("group 2", "1", 2)):
        assert main(["report", file, "--kind", kind, "--short", "--out", "r.html"]) == 0
        page = " ".join(Path("r.html").read_text(encoding="utf-8").split())
        assert f"one label is ({epsilon}, 0)-DP" in page
        assert f"about a change that affects voters of group {g} alone" in page
        capsys.readouterr()
        assert main(["profile", file, "--kind", kind, "--epsilons", "0.29,0.31,1", "--json"]) == 0
        points = json.loads(capsys.readouterr().out)["profile"]
        assert [point["delta"] > 0 for point in points] == [True, kind == "group 2", False]
    both = values(capsys, f"profile {file} --epsilons 0.29,0.31,1 --plot p.svg")["of"]
    assert [[point["delta"] > 0 for point in both[kind]] for kind in ("group 1", "group 2")] == [
        [True, False, False],
        [True, True, False],
    ]
    assert "epsilon = 0.3 / 1" in Path("p.svg").read_text(encoding="utf-8").replace("&#160;", " ")
    said = printed(capsys, f"profile {file}")
    assert "The profile of a change in group 1 and group 2 holds for one release if" in said
    assert "(0.3, 0)-DP for a change in group 1, (1, 0)-DP for a change in group 2." in said
    assert main(["solve", "--K", "5", "--m", "1", "--epsilon", "1", "--out", "one.json"]) == 0
    assert "all changes have one limit" in printed_error(capsys, ["report", "one.json", "--kind", "group 1"])


@pytest.mark.slow
def test_mechanisms_are_compared_at_every_limit(capsys: pytest.CaptureFixture[str]) -> None:
    said = printed(capsys, f"compare {GROUPS} --release-epsilon 0.3,1")
    assert "0.3 / 1 yes" in said
    assert "all as the least private: held to epsilon 0.3 for all" in said
    assert "Several epsilons in a cell are for a change in group 1 / group 2." in said
    rows = values(capsys, f"compare {GROUPS} --release-epsilon 0.3,1")["mechanisms"]
    assert list(rows[0]["certificate"]["kinds"]) == ["group 1", "group 2"]
    voters = "--group 2:1 --group 2:1 --max-affected 1 --base-accuracy .8 --randomizer response --colluders 0"
    budget = "--queries 1 --total-epsilon .5,.8 --total-delta 1e-6 --voters fresh --fallback-epsilon .9"
    said = printed(capsys, f"compare {voters} {budget}")
    assert "budget (0.5, 1e-06) for a change in group 1 and (0.8, 1e-06) for a change in group 2" in said
    assert "within the second budget of 0.5625 / 0.9" in said
    rows = values(capsys, f"compare {voters} {budget}")["mechanisms"]
    for row in rows:
        kept = [own["spent"] <= own["total_epsilon"] for own in row["of"].values()]
        kept += [own["fallback"] <= 1.125 * own["total_epsilon"] for own in row["of"].values()]
        assert all(kept) == row["within"]
        assert row["total"] == max(own["spent"] for own in row["of"].values())
    assert [row["within"] for row in rows] == [True] * (len(rows) - 1) + [False]
    assert "not for a total of 1 label" in printed(capsys, f"compare {voters} {budget} --extra a=1,0", 2)


def printed_error(capsys: pytest.CaptureFixture[str], command: list[str]) -> str:
    capsys.readouterr()
    assert main(command) == 2
    return capsys.readouterr().err


def test_what_is_kept_in_no_file(file: str, tmp_path: Path) -> None:
    """The problem of one kind of change says nothing of other records, so a file of it could be taken for more."""
    design = darrm.load(file)
    one = design.of_kind("group 1")
    with pytest.raises(darrm.InputError, match="one kind of change"):
        one.save("one.json")
    with pytest.raises(darrm.InputError, match="one kind of change"):
        darrm.accounting.Ledger.create("one.json", one, total_epsilon=1.0, total_delta=1e-6, voters="fresh")
    assert not Path("one.json").exists()
