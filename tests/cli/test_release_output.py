"""What darrm release prints for programs: --json, --log-json, and the note of the charge."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import darrm
from darrm.accounting import Ledger
from darrm.cli import long_run, main, release


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    darrm.solve(K=3, m=1, epsilon=0.5).save("gamma.json")
    Path("votes.csv").write_text("id,anna,ben,eve\nx,1,0,1\ny,0,0,1\n", encoding="utf-8")
    Ledger.create("book.json", darrm.load("gamma.json"), total_epsilon=1.5, total_delta=0.0, voters="fresh")


RELEASE = ["release", "gamma.json", "--votes", "votes.csv", "--out"]


def answer(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> tuple[Any, list[str]]:
    capsys.readouterr()
    assert main([*RELEASE, *arguments]) == status
    out, err = capsys.readouterr()
    return (json.loads(out) if out else None), err.splitlines()


def test_json_says_what_was_released_and_what_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    found, _ = answer(capsys, "labels.csv", "--ledger", "book.json", "--note", "Monday", "--json")
    spent = Ledger("book.json").spent()
    expected = {
        **{"labels": 2, "out": "labels.csv", "design": "gamma.json", "votes": "votes.csv", "by_key": False},
        **{"charged": 2, "left": 1, "spent_epsilon": spent[0], "spent_delta": spent[1]},
        "columns": {"group 1": ["anna", "ben", "eve"]},
    }
    assert {name: found[name] for name in expected} == expected
    assert Path(found["ledger_path"]) == Ledger("book.json").path
    assert before <= datetime.fromisoformat(found["time"]) <= datetime.now(UTC)
    assert 0 <= found["seconds"] < 600
    (charge,) = found["ledger"]["charges"]
    assert charge["note"] == "Monday"
    assert f"(design {found['design_digest'][:8]})" in charge["what"]


def test_a_retry_by_key_says_that_nothing_was_charged(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["key", "labels.key"]) == 0
    options = ["--ledger", "book.json", "--key", "labels.key", "--json"]
    assert answer(capsys, "one.csv", *options)[0]["charged"] == 2
    found, said = answer(capsys, "two.csv", *options)
    assert (found["labels"], found["charged"], found["left"], found["by_key"]) == (2, 0, 1, True)
    (charged,) = (line for line in said if "2 of these labels were charged before, and cost nothing more" in line)
    assert "-DP together, rule exact, a computational guarantee (in feasible time if keyed BLAKE2b is a " in charged


def test_an_interrupt_after_the_release_finds_that_it_was_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(ledger: Ledger) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "spent", interrupted)
    _, said = answer(capsys, "labels.csv", "--ledger", "book.json", "--json", status=130)
    assert any(line.startswith("Wrote ") for line in said)
    assert Path("labels.csv").exists()


def test_labels_that_stand_there_do_not_hide_that_an_id_was_charged(capsys: pytest.CaptureFixture[str]) -> None:
    """A job that runs again was done; other ids, and the same votes by the same key, are refused for the file alone."""
    assert main(["key", "labels.key"]) == 0
    key = ["--ledger", "book.json", "--key", "labels.key"]
    answer(capsys, "labels.csv", *key, "--json")
    kept = Path("labels.csv").read_bytes()
    votes = Path("votes.csv").read_text(encoding="utf-8")
    _, (line,) = answer(capsys, "labels.csv", *key[:2], status=6)
    assert line.startswith("darrm: labels.csv exists already. 2 ids were charged before")
    assert (
        "by the same key --overwrite writes the same labels again" in answer(capsys, "labels.csv", *key, status=2)[1][0]
    )
    Path("votes.csv").write_text(votes.replace("1,0,1", "0,0,1"), encoding="utf-8")
    assert "with other votes" in answer(capsys, "labels.csv", *key, status=6)[1][0]
    Path("votes.csv").write_text("id,a,b,c\nnew,1,0,1\n", encoding="utf-8")
    answer(capsys, "labels.csv", *key[:2], status=2)
    Path("votes.csv").unlink()
    assert "exists already" in answer(capsys, "labels.csv", *key[:2], status=2)[1][0]
    assert Path("labels.csv").read_bytes() == kept
    assert darrm.accounting.Ledger("book.json").status()["released"] == 2


def test_without_a_ledger_nothing_is_charged(capsys: pytest.CaptureFixture[str]) -> None:
    found, _ = answer(capsys, "labels.csv", "--json")
    assert found["labels"] == 2
    assert not {"charged", "left", "spent_epsilon", "ledger"} & found.keys()


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_every_line_of_the_log_is_an_object(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    _, lines = answer(capsys, "labels.csv", "--ledger", "book.json", "--log-json", *more)
    said = [json.loads(line) for line in lines]
    assert {one["event"] for one in said} == {"note"}
    assert said[0]["message"].startswith("Wrote 2 labels to labels.csv.")
    assert all(datetime.fromisoformat(one["time"]).tzinfo is UTC for one in said)
    _, (line,) = answer(capsys, "labels.csv", "--log-json", status=2)
    error = json.loads(line)
    assert (error["event"], error["code"], error["status"]) == ("error", "exists", 2)
    assert error["message"].startswith("labels.csv exists already. ")
    for out in ("more.csv", "labels.csv"):
        _, lines = answer(capsys, out, "--ledger", "book.json", "--log-json", status=6)
        assert json.loads(lines[-1])["code"] == "charged-before"


def test_the_log_says_how_many_rows_are_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(long_run.QUIET, raising=False)
    monkeypatch.setattr(long_run, "_FIRST", 0.01)
    monkeypatch.setattr(long_run, "_EVERY", 0.01)
    draws = release._draws

    def slowly(*arguments: Any) -> Any:
        draw = draws(*arguments)

        def one(*rows: Any) -> Any:
            time.sleep(0.1)
            return draw(*rows)

        return one

    monkeypatch.setattr(release, "_draws", slowly)
    monkeypatch.setattr(darrm.votes.csv, "_BLOCK", 8)
    Path("votes.csv").write_text("id,a,b,c\n" + "".join(f"q{i},1,0,1\n" for i in range(4)), encoding="utf-8")
    _, lines = answer(capsys, "labels.csv", "--log-json")
    news = [one for one in map(json.loads, lines) if one["event"] == "progress"]
    rows, seconds = [one["rows"] for one in news], [one["seconds"] for one in news]
    assert len(news) > 2
    assert rows == sorted(rows)
    assert seconds == sorted(seconds)
    assert any(f"{one['rows']:,} rows" in one["message"] for one in news if one["rows"])


def test_a_note_goes_with_a_ledger(capsys: pytest.CaptureFixture[str]) -> None:
    _, (line,) = answer(capsys, "labels.csv", "--note", "Monday", status=2)
    assert "--note goes with --ledger" in line
