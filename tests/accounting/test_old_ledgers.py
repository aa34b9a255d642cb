"""Ledgers of an earlier darrm are imported once, with the same totals: tests/test_stored.py has each kind."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import ledgers
import pytest

import darrm
from darrm.accounting import Ledger
from darrm.accounting.old_ledgers import import_ledger
from darrm.cli import main
from darrm.storage import sealed_json

STORED = Path(__file__).parents[1] / "golden" / "stored.zip"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A ledger of format 4, with ids."""
    with zipfile.ZipFile(STORED) as stored:
        for ending in ("", ".ids"):
            (tmp_path / f"old.json{ending}").write_bytes(stored.read(f"ledgers/exact ids{ending}"))
    return tmp_path / "old.json"


@pytest.mark.thorough
def test_a_ledger_is_imported_once(old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = tmp_path / "new.db"
    with pytest.raises(darrm.InputError, match=r"Run: darrm ledger import \S*old.json"):
        Ledger(old)
    assert main(["ledger", "import", str(old), str(new)]) == 0
    assert "2 labels released" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.db", "old.json.ids.imported", "old.json.imported"]
    ledger = Ledger(new)
    assert (ledger.status()["released"], ledger.status()["ids"]) == (2, 2)
    assert [note["charged"] for note in ledgers.content(new)["notes"]] == [2]
    with closing(sqlite3.connect(new)) as db:
        assert db.execute("SELECT count(*) FROM charged").fetchone() == (2,)
        assert db.execute("SELECT time, host FROM charges").fetchall() == [(None, None)]
    for again in (old, old.with_name("old.json.imported")):
        assert main(["ledger", "import", str(again), str(tmp_path / "second.db")]) == 2
    assert "imported before" in capsys.readouterr().err
    assert not (tmp_path / "second.db").exists()


def test_an_interrupted_import_ends_in_the_same_ledger(
    old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(self: Path, name: Path) -> Path:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            import_ledger(old, tmp_path / "new.db")
    with pytest.raises(darrm.InputError, match=rf"Run: darrm ledger import \S*old.json {tmp_path / 'new.db'}"):
        import_ledger(old, tmp_path / "two.db")
    assert not (tmp_path / "two.db").exists()
    assert import_ledger(old, tmp_path / "new.db").status()["released"] == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.db", "old.json.ids.imported", "old.json.imported"]
    with pytest.raises(darrm.InputError, match="was imported before"):
        import_ledger(old, tmp_path / "new.db")


def test_an_old_ledger_whose_ids_were_deleted_is_not_imported(old: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(old.with_name("old.json.ids"))) as db, db:
        db.execute("DELETE FROM charged")
    with pytest.raises(darrm.InputError, match="has none of the ids of 2 charged labels"):
        import_ledger(old, tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()


def test_a_second_name_of_an_old_ledger_is_refused(old: Path, tmp_path: Path) -> None:
    (tmp_path / "second.json").hardlink_to(old)
    with pytest.raises(darrm.InputError, match="has a second name"):
        import_ledger(old, tmp_path / "new.db")


def test_what_was_interrupted_is_finished(old: Path, tmp_path: Path) -> None:
    part, out = tmp_path / ".out.csv.x.waiting", tmp_path / "out.csv"
    part.write_text("id,label\na,1\n", encoding="utf-8")
    changed(old, leaving=[{"part": str(part), "out": str(out)}])
    with pytest.warns(darrm.errors.RecoveredLabelsWarning, match="they are in"):
        import_ledger(old, tmp_path / "new.db")
    assert out.read_text(encoding="utf-8") == "id,label\na,1\n"


def changed(path: Path, **entries: Any) -> None:
    content = json.loads(path.read_bytes())
    del content["sha256"]
    sealed_json.write(path, {**content, **entries})


def other_ids(path: Path) -> None:
    with closing(sqlite3.connect(path.with_name("old.json.ids"))) as db, db:
        db.execute("UPDATE about SET last = 7")


WRONG: dict[str, Callable[[Path], object]] = {
    "checksum does not match": lambda path: path.write_bytes(path.read_bytes().replace(b"9.0", b"99.0")),
    "not a whole JSON file": lambda path: path.write_bytes(path.read_bytes()[:99]),
    "has format version 3": lambda path: changed(path, version=3),
    "must count all charges": lambda path: changed(path, notes=[]),
    "an entry is missing": lambda path: changed(path, notes=None),
    "not a complete ledger": lambda path: changed(path, total_delta=-1.0),
    "ids is missing": lambda path: path.with_name("old.json.ids").unlink(),
    "of another time": other_ids,
    "not a complete file of ids": lambda path: path.with_name("old.json.ids").write_bytes(b"x" * 999),
    "exists already": lambda path: path.with_name("new.db").touch(),
}


@pytest.mark.every
@pytest.mark.parametrize("message", WRONG)
def test_what_is_not_imported(old: Path, message: str) -> None:
    WRONG[message](old)
    with pytest.raises(darrm.InputError, match=message):
        import_ledger(old, old.with_name("new.db"))
    assert old.exists()
    assert message == "exists already" or not old.with_name("new.db").exists()
