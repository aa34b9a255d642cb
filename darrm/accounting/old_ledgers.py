"""The import of ledgers of format 4: a JSON file, with the digests of ids in a database beside it."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from darrm.accounting.ledger import Ledger
from darrm.accounting.ledger_state import AGAIN, FORMAT, VERSION, State, state_of
from darrm.accounting.ledger_store import Change, Charge, Store, path_of
from darrm.errors import ExistsError, InputError, OutputError
from darrm.storage import sealed_json
from darrm.storage.atomic import replacing
from darrm.storage.locks import locked

_OLD, _DONE, _BEGUN = 4, ".imported", ".import"  # version of the format; endings of names
_SAVED = "SELECT digest FROM charged WHERE batch <= ?"


def import_ledger(old: str | os.PathLike[str], new: str | os.PathLike[str]) -> Ledger:
    """Make the ledger ``new`` with the budget and the charges of a ledger of an earlier darrm, and rename that one.

    The old ledger, and its file of ids, get the ending ".imported": two ledgers of one budget would spend it twice. A
    file with the ending ".import" beside it names the new one meanwhile, so that an interrupted import ends there.
    Charges of one mechanism with one note are one charge of the new ledger, without a time.

    Parameters
    ----------
    old : path
        A JSON file, as darrm wrote ledgers before they were databases.
    new : path
        As of `Ledger.create`.

    Raises
    ------
    InputError
        If ``old`` is no such file, was imported before, or was edited; if its file of ids is missing or of another
        time; if there is a file at ``new``.
    OutputError
        If ``new`` cannot be written, or ``old`` cannot be renamed.
    """
    path, store = path_of(old), Store(new)
    path_of(f"{path}.ids{_DONE}")  # the longest name that an import gives, before it begins
    if path.suffix == _DONE or (not path.exists() and path.with_name(path.name + _DONE).exists()):
        raise InputError(f"{path} was imported before, and a second import would be a second budget. Use that ledger.")
    ids, goal = (path.with_name(path.name + ending) for ending in (".ids", _BEGUN))
    with locked(path):
        if path.is_file() and path.stat().st_nlink > 1:
            raise InputError(f"{path} has a second name, which would be a second budget. Delete the other name first.")
        begun = goal.read_text(encoding="utf-8") if goal.is_file() else ""
        if begun not in ("", str(store.path)):
            raise InputError(
                f"The import of {path} into {begun} was interrupted, and another one would be a second budget. Run: "
                f"darrm ledger import {path} {begun}"
            )
        content = sealed_json.read(path, FORMAT, _OLD, "old ledger", AGAIN)
        state, notes, batches = _state(content, path)
        if batches and not ids.is_file():
            raise InputError(f"{ids} is missing, which holds the charged ids of {path}. {AGAIN}")

        def fill(change: Change) -> None:
            for number, note in enumerate(notes, 1):
                change.append(Charge(number, None, None, note["name"], note["charged"], note["note"]))
            for digest in _digests(ids, content["ids"]) if batches else ():
                change.run("INSERT INTO charged VALUES (?, 1)", (digest,))
            change.count_rows(0)
            if state.ids and not state.rows:
                raise InputError(f"{ids} has none of the ids of {state.ids} charged labels. {AGAIN}")

        # Labels that wait are in folders of this host.
        state.leaving = [replace(waiting, host=store.host) for waiting in state.leaving]
        if not (begun and store.exists()):
            with replacing(goal) as file:
                file.write(str(store.path).encode())
            try:
                store.create(state, fill)
            except ExistsError:
                goal.unlink()
                raise
        _, charges = store.history()  # which are those that it counts
        made = [(charge.account, charge.n, charge.note) for charge in charges[: len(notes)]]
        if made != [(note["name"], note["charged"], note["note"]) for note in notes]:
            raise InputError(f"{store.path} does not have the charges of {path}. Pass another path for the new ledger.")
        try:
            for one in (path, ids):
                if one.exists():
                    one.rename(one.with_name(one.name + _DONE))
            goal.unlink()
        except OSError as error:
            raise OutputError(
                f"{path} was imported, and could not be renamed: {error.strerror}. Delete it: two ledgers of one "
                "budget would spend it twice."
            ) from error
    return Ledger(new)


def _state(content: dict[str, Any], path: Path) -> tuple[State, list[dict[str, Any]], int]:
    """The state of the old content, its notes, and the number of batches of ids."""
    kept = {name: value for name, value in content.items() if name not in ("sha256", "notes", "ids")}
    known = content.get("ids", {"labels": 0, "batches": 0})
    try:
        if type(known["batches"]) is not int:
            raise TypeError(known["batches"])
        notes = [{"name": note["name"], "note": note["note"], "charged": note["charged"]} for note in content["notes"]]
        counts = Counter[str]()
        for note in notes:
            counts[note["name"]] += note["charged"]
        state = state_of({**kept, "version": VERSION, "ids": known["labels"]}, path)
        if {name: account.charged for name, account in state.accounts.items() if account.charged} != dict(counts):
            raise InputError(f"{path} is not a complete ledger (the notes must count all charges). {AGAIN}")
        return state, notes, known["batches"]
    except (KeyError, TypeError) as error:
        raise InputError(
            f"{path} is not a complete ledger (an entry is missing or has another type). {AGAIN}"
        ) from error


def _digests(ids: Path, known: dict[str, Any]) -> Iterator[bytes]:
    """The digests of the charged ids."""
    try:
        with closing(sqlite3.connect(f"{ids.as_uri()}?mode=rw", uri=True)) as db:
            token, last = db.execute("SELECT token, last FROM about").fetchone()
            if token != known["token"] or last not in (known["batches"], known["batches"] + 1):
                raise InputError(f"{ids} is not the file of ids of this ledger, or of another time. {AGAIN}")
            for (digest,) in db.execute(_SAVED, (known["batches"],)):
                yield digest
    except sqlite3.Error as error:
        raise InputError(f"{ids} is not a complete file of ids ({error}). {AGAIN}") from error
