"""Addresses of ledgers on servers, files that say who the parties are, keys of labels, and ledgers of format 4."""

from __future__ import annotations

import json
import os
import re
import warnings
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from judging import Case, Finding, one_line
from mutate import TEXTS, Draw, broken, dump, rarely, signed, spoiled, words

from darrm.errors import DarrmError

SECRET = "tOpSeCr"
SCHEMES = [
    *["postgresql://"] * 4,
    "postgres://",
    "postgresql:/",
    "postgresql+psycopg://",
    "sqlite://",
    "POSTGRESQL://",
    "",
]
USERS = ["", "u@", f"u:{SECRET}@", f":{SECRET}@", f"u:{SECRET}@x@", f"u%40:%2F{SECRET}@", "@", "u:@"]
# None leaves this machine, and nothing listens at these ports.
HOSTS = words(
    "127.0.0.1:1 localhost:1 [::1]:1 127.0.0.1:99999 127.0.0.1:x 127.0.0.1:-1 127.0.0.1:1,127.0.0.1:2 [::1 :1"
)
BEHIND = ["", "/", "/d", "/d/e", "/%00", "/\u00e9", "/d%", "/a b", "/'", "/x" * 200]
QUERIES = [
    "",
    "?",
    "?port=1",
    "?nosuch=1",
    f"?password={SECRET}",
    f"?passfile={SECRET}&port=x",
    "?sslmode=x",
    "?host=%00",
]
QUERIES += ["?connect_timeout=0", "?target_session_attrs=any&x", "?&&=", "?application_name=%ff"]
SCHEMAS = ["", "#", "#darrm", "#pg_x", "#A", "#a;drop", "#a" * 40, "#\u00e9", "#a?b", "#_"]


@st.composite
def places(draw: Draw) -> Case:
    parts = (SCHEMES, USERS, HOSTS, BEHIND, QUERIES, SCHEMAS)
    url = "".join(draw(st.sampled_from(part)) for part in parts)
    return {"url": url + draw(TEXTS) if rarely(draw, 4) else url}


def run_place(case: Case) -> str:
    from darrm.accounting import Ledger

    url = case["url"]
    os.environ.update(PGHOST="127.0.0.1", PGPORT="1", PGCONNECT_TIMEOUT="2")
    try:
        Ledger(url)
    except DarrmError as error:
        one_line(error)
        if "\n" in str(error).strip():
            raise Finding(f"more than a line: {error}") from None
        if SECRET in str(error) and re.match("[A-Za-z+]+://", url):
            raise Finding(f"a password is repeated: {error}") from None
        return f"refused: {type(error).__name__}"
    raise Finding(f"a ledger at {url!r}")


@st.composite
def parties_files(draw: Draw) -> Case:
    tree: dict[str, Any] = {
        "parties": [
            {"name": name, "address": f"127.0.0.1:{11365 + i}", "voters": [f"v{i}"]} for i, name in enumerate("abc")
        ]
    }
    if rarely(draw, 3):
        tree = {
            "parties": [{key: value for key, value in party.items() if key != "voters"} for party in tree["parties"]],
            "voters": ["x", "y"],
            "labels_to": ["a"],
        }
    text = dump(spoiled(draw, tree) if draw(st.integers(0, 5)) else tree)
    content = text.encode("utf-8", "surrogatepass")
    return {"content": broken(draw, content) if rarely(draw, 4) else content}


def run_parties(case: Case) -> str:
    from darrm.interop import Parties

    Path("parties.json").write_bytes(case["content"])
    try:
        parties = Parties.read("parties.json")
    except DarrmError as error:
        one_line(error)
        return "refused"
    names = [party.name for party in parties.parties]
    if len(names) < 3 or len(set(names)) < len(names) or not 0 < parties.threshold < len(names) / 2:
        raise Finding(f"parties of {names}")
    brought = [voter for party in parties.parties for voter in party.voters]
    if len(set(parties.columns)) < len(parties.columns) or not parties.columns or (brought and parties.voters):
        raise Finding(f"voters {parties.columns}")
    if not all(isinstance(party.host, str) and party.host and 0 < party.port < 2**16 for party in parties.parties):
        raise Finding(f"addresses of {parties}")
    if any(parties.index(name) != i for i, name in enumerate(names)) or not parties.receivers:
        raise Finding(f"places of {parties}")
    return "accepted"


@st.composite
def keys(draw: Draw) -> Case:
    size = draw(st.sampled_from([32, 32, 0, 1, 31, 33, 64, 10**5]))
    return {"content": draw(st.binary(min_size=size, max_size=size)) if size < 99 else b"k" * size,
            "mode": draw(st.sampled_from([0o600, 0o600, 0o400, 0o640, 0o604, 0o777, 0o200]))}  # fmt: skip


def run_key(case: Case) -> str:
    from darrm.mechanisms import LabelKey

    Path("labels.key").write_bytes(case["content"])
    os.chmod("labels.key", case["mode"])
    fit = len(case["content"]) == 32 and not case["mode"] & 0o077
    try:
        key = LabelKey.load("labels.key")
    except DarrmError as error:
        one_line(error)
        if fit and case["mode"] & 0o400:
            raise Finding(f"a good key is refused: {error}") from None
        return "refused"
    if not fit:
        raise Finding(f"{len(case['content'])} bytes of mode {case['mode']:o} are a key")
    if repr(key) != "LabelKey(...)" or case["content"].hex() in repr(key.__dict__ if hasattr(key, "__dict__") else ""):
        raise Finding("a key is printed")
    return "accepted"


@cache
def stored() -> dict[str, tuple[bytes, bytes | None]]:
    """Ledgers of format 4, with their files of ids."""
    archive = Path(__file__).resolve().parents[2] / "golden" / "stored.zip"
    with zipfile.ZipFile(archive) as kept:
        names = [name for name in kept.namelist() if name.startswith("ledgers/") and not name.endswith((".ids", "/"))]
        found = {name: (kept.read(name), kept.read(f"{name}.ids") if f"{name}.ids" in kept.namelist() else None)
                 for name in names}  # fmt: skip
    return {name: pair for name, pair in found.items() if pair[0].lstrip()[:1] == b"{"}


@st.composite
def old_ledgers(draw: Draw) -> Case:
    name = draw(st.sampled_from(sorted(stored())))
    content, ids = stored()[name]
    kind = draw(st.sampled_from(["as it is", "bytes", "values", "signed", "signed", "ids"]))
    if kind == "bytes":
        content = broken(draw, content)
    elif kind in ("values", "signed"):
        tree = json.loads(content)
        tree.pop("sha256", None) if kind == "signed" else None
        text = dump(spoiled(draw, tree))
        content = (signed(text) if kind == "signed" else text).encode("utf-8", "surrogatepass")
    elif kind == "ids" and ids is not None:
        ids = broken(draw, ids)
    return {"name": name, "content": content, "ids": ids, "signed": kind == "signed"}


def run_old(case: Case) -> str:
    from darrm.accounting.old_ledgers import import_ledger

    def imported(content: bytes, ids: bytes | None, name: str) -> Any:
        Path(f"{name}.json").write_bytes(content)
        if ids is not None:
            Path(f"{name}.json.ids").write_bytes(ids)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_ledger(f"{name}.json", f"{name}.db")

    before = imported(*stored()[case["name"]], "before").status()
    try:
        after = imported(case["content"], case["ids"], "after")
    except DarrmError as error:
        one_line(error)
        if Path("after.db").exists() and not Path("after.json.import").exists():
            raise Finding(f"a refusal left a ledger: {error}") from None
        if not Path("after.json").exists():
            raise Finding(f"a refusal took the old ledger: {error}") from None
        return "refused"
    if Path("after.json").exists() or not Path("after.json.imported").exists():
        raise Finding("an imported ledger can be imported again")
    status = after.status()
    if not case["signed"] and (status["left"], status["released"]) != (before["left"], before["released"]):
        raise Finding(f"an import has {status}, not {before}")
    return "imported"
