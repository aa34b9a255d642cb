"""Ledgers."""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from judging import Case, Finding, one_line
from material import LEDGERS, good
from mutate import Draw, broken, dump, spoiled

import darrm
from darrm.errors import DarrmError


@st.composite
def ledgers(draw: Draw) -> Case:
    name = draw(st.sampled_from(LEDGERS))
    content, beside, kind = good()[name], {}, draw(st.sampled_from(["bytes", "values", "signed", "signed", "signed"]))
    if kind == "bytes":
        content = broken(draw, content)
    else:
        tree = json.loads(_text(content))
        if draw(st.booleans()):
            part = draw(
                st.sampled_from([".labels.csv.x.waiting", "part", "", ".", "missing/x", "\0", "x" * 300, "folder"])
            )
            out = draw(st.sampled_from(["labels.csv", "labels.csv", "", "\0", "folder", "x" * 300, "/"]))
            tree["leaving"] = [{"part": f"@/{part}", "out": f"@/{out}"}]
            if draw(st.booleans()):
                beside[".labels.csv.x.waiting"] = b"id,label\n1,0\n"
        tree = spoiled(draw, tree)
        if draw(st.booleans()):
            _renamed(tree)
        content = dump(tree).encode("utf-8", "surrogatepass")
    n = draw(st.sampled_from([1, 2, 10**9]))
    text, signed = kind != "bytes", kind == "signed"
    return {"name": name, "content": content, "text": text, "signed": signed, "beside": beside, "n": n}


def _text(content: bytes) -> str:
    """The sealed text of a ledger in a file with this content."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.deserialize(content)
        ((text,),) = db.execute("SELECT content FROM ledger").fetchall()
    return str(text)


def _put(text: bytes, *, signed: bool) -> None:
    """Put a text into a ledger, with a seal that matches or the one that was there."""
    said = text.decode("utf-8", "replace")
    with closing(sqlite3.connect("ledger.json")) as db, db:
        db.execute("UPDATE ledger SET content = ?", (said,))
        if signed:
            db.execute("UPDATE ledger SET seal = ?", (hashlib.sha256(said.encode()).hexdigest(),))


def _renamed(tree: Any) -> None:
    """Give designs the names that go with them, so that more than that is looked at."""
    from darrm.accounting.accounts import Labels, Other

    for key, kind in (("designs", Labels), ("others", Other)):
        accounts = tree.get(key) if isinstance(tree, dict) else None
        if isinstance(accounts, dict):
            with suppress(Exception):  # what no name can be given keeps its own
                names = {name: kind.from_content(one).name for name, one in accounts.items()}
                tree[key] = {names[name]: one for name, one in accounts.items()}


def run_ledger(case: Case) -> str:
    from darrm.accounting import Ledger

    Path("folder").mkdir()
    for name, content in case["beside"].items():
        Path(name).write_bytes(content)
    design = _design()
    Path("before.json").write_bytes(good()[case["name"]])
    before = Ledger("before.json")
    content = case["content"].replace(b"@/", f"{Path.cwd()}/".encode())  # paths in ledgers are absolute
    if case.get("text"):
        Path("ledger.json").write_bytes(good()[case["name"]])
        _put(content, signed=case["signed"])
    else:
        Path("ledger.json").write_bytes(content)
    try:
        ledger = Ledger("ledger.json")
        status = ledger.status()
        spent = ledger.spent()
    except DarrmError as error:
        one_line(error)
        return "refused"
    for waiting in case["beside"].values():
        if [path.read_bytes() for path in Path().rglob("*") if path.is_file()].count(waiting) != 1:
            raise Finding(f"labels that waited are gone: {list(Path().iterdir())}")
    if not (spent[0] >= 0 and spent[1] >= 0):
        raise Finding(f"spent {spent}")
    left, then = _left(status["left"]), _left(before.status()["left"])
    if not case["signed"] and (left > then or status["released"] != before.status()["released"]):
        raise Finding(f"more is left of a spoiled ledger: {status}")
    if not ((isinstance(status["released"], int) and status["released"] >= 0 and left <= 2**53) or left == math.inf):
        raise Finding(f"no counts: {status}")
    try:
        ledger.charge(design, case["n"])
    except DarrmError as error:
        one_line(error)
        return "opened"
    after = ledger.status()
    if after["released"] != status["released"] + case["n"] or _left(after["left"]) < 0:
        raise Finding(f"{case['n']} charged: {status}, then {after}")
    if case["name"] == "fresh.json" and not case["signed"] and case["n"] > then:
        raise Finding(f"more was charged than was left, {then}")
    return "charged"


def _left(left: Any) -> float:
    return math.inf if left is None else left


_KEPT: list[darrm.Design] = []


def _design() -> darrm.Design:
    if not _KEPT:
        Path("kept.json").write_bytes(good()["gamma.json"])
        _KEPT.append(darrm.load("kept.json"))
    return _KEPT[0]
