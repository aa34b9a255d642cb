"""The content of a ledger as plain values, forged ledgers, whose seals match whatever they say, and workers."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parent / "accounting" / "programs"
FAST = {
    **os.environ,
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONWARNINGS": "error,ignore:An interrupted release",
}


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
                row = [number, None, None, note["name"], note["charged"], note["note"], None, 0, None, None]
                said["chain"] = sealed(json.dumps([said["chain"], *row]))
                db.execute("INSERT INTO charges VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, said["chain"]))
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


class Forker:
    """A process with everything imported, which forks the workers."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, PROGRAMS / "forker.py", folder]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=FAST, text=True, bufsize=1)
        assert self.line() == "warm"

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def start(self, **job: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()

    @contextmanager
    def looping(self, path: Path, folder: Path, seed: int) -> Iterator[None]:
        """A worker that releases until the block ends, and is killed then."""
        self.start(do="loop", ledger=str(path), out=str(folder), seed=seed)
        worker = next(int(line) for line in sorted([self.line(), self.line()]) if line != "ready")
        try:
            yield
        finally:
            os.kill(worker, signal.SIGKILL)
            assert int(self.line()) == -signal.SIGKILL

    def crash(self, place: object, n: int, out: Path, call: int, after: bool) -> int:
        """Exit code of a release that ends at one call: 9, or 0 if there are fewer."""
        self.start(do="crash", ledger=str(place), n=n, out=str(out), call=call, after=after)
        self.line()
        return int(self.line())
