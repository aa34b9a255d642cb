"""The content of a ledger as plain values, and forged ledgers, whose seals match whatever they say."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any


def content(path: str | Path) -> dict[str, Any]:
    """The sealed content, without opening the ledger; its charges are "notes"."""
    with closing(sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=rw", uri=True, timeout=60)) as db:
        ((text,),) = db.execute("SELECT content FROM ledger").fetchall()
        rows = db.execute("SELECT account, note, n FROM charges ORDER BY number").fetchall()
    return {**json.loads(text), "notes": [dict(zip(("name", "note", "charged"), row, strict=True)) for row in rows]}


def forge(path: str | Path, found: dict[str, Any], *_: object) -> None:
    """Write this content into the ledger, with seals that match; its history has no times."""
    said = {key: value for key, value in found.items() if key not in ("notes", "sha256")}
    with closing(sqlite3.connect(path)) as db, db:
        if "notes" in found:
            said["chain"] = ""
            db.execute("DELETE FROM charges")
            notes = [part for note in found["notes"] for part in small(note)]
            said["charges"] = len(notes)
            for number, note in enumerate(notes, 1):
                row = [number, None, None, note["name"], note["charged"], note["note"], None, 0, None]
                said["chain"] = sealed(json.dumps([said["chain"], *row]))
                db.execute("INSERT INTO charges VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, said["chain"]))
        text = json.dumps(said)
        db.execute("UPDATE ledger SET content = ?, seal = ?", (text, sealed(text)))


def small(note: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A charge as charges that a database can count."""
    left = note["charged"]
    while left > 2**62:
        yield {**note, "charged": 2**62}
        left -= 2**62
    yield {**note, "charged": left}


def sealed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def recorded(path: str | Path) -> int:
    """Labels charged, as the file says, without opening the ledger."""
    return sum(account["charged"] for account in content(path)["designs"].values())
