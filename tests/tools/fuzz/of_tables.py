"""Tables and their journals."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import mutate
from hypothesis import strategies as st
from judging import Case, Finding, confirm, one_line
from material import JOURNAL, good, small_grid
from mutate import Draw, broken, dump, spoiled

from darrm.errors import DarrmError


@st.composite
def tables(draw: Draw) -> Case:
    kind = draw(st.sampled_from(["csv", "jsonl", "jsonl", "parquet"]))
    content = good()[f"table.{kind}"]
    if draw(st.integers(0, 2)) == 0:
        return {"name": f"table.{kind}", "content": broken(draw, content)}
    rows = [json.loads(line) for line in good()["table.jsonl"].splitlines()]
    start = draw(st.integers(0, len(rows) - 3))
    rows = spoiled(draw, rows[start : start + 3])
    if kind == "jsonl":
        content = "\n".join(map(dump, rows)).encode("utf-8", "surrogatepass")
    elif kind == "csv":
        content = _as_csv(rows)
    else:
        content = _as_parquet(rows) or content
    return {"name": f"table.{kind}", "content": content}


def _as_csv(rows: Any) -> bytes:

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    plain = [row for row in rows if isinstance(row, dict)]
    writer.writerow(plain[0] if plain else [])
    for row in plain:
        cells = [f"[{', '.join(map(str, x))}]" if isinstance(x, list) else x for x in row.values()]
        writer.writerow("" if x is None else x.text if isinstance(x, mutate.Raw) else x for x in cells)
    return text.getvalue().encode("utf-8", "surrogatepass")


def _as_parquet(rows: Any) -> bytes | None:

    import pyarrow as pa
    import pyarrow.parquet as pq

    file = io.BytesIO()
    try:
        plain = [{str(name): x for name, x in row.items()} for row in rows if isinstance(row, dict)]
        for row in plain:
            row |= {name: float(x) for name, x in row.items() if isinstance(x, str) and x in ("inf", "-inf")}
        pq.write_table(pa.Table.from_pylist(plain), file)
    except (pa.ArrowException, TypeError, ValueError, OverflowError, UnicodeError, RecursionError):
        return None
    return file.getvalue()


def run_table(case: Case) -> str:
    from darrm.tables import read, verify_table
    from darrm.tables.table import as_design

    Path(case["name"]).write_bytes(case["content"])
    try:
        table = read(case["name"])
    except DarrmError as error:
        one_line(error)
        return "refused"
    check = verify_table(table)
    if not check.holds:
        return "found wrong"
    for row in table:
        if row["failure"] is None:
            confirm(as_design(row))
    return "accepted"


@st.composite
def journals(draw: Draw) -> Case:

    content = good()["journal.jsonl.journal"]
    if draw(st.integers(0, 2)) == 0:
        return {"content": broken(draw, content)}
    header, *lines = content.splitlines(keepends=True)
    whole = [header]
    for line in lines:
        body = json.loads(line.partition(b" ")[2])
        rows = {at: json.loads(text) for at, text in body.items()}
        if draw(st.booleans()):
            rows = spoiled(draw, rows)
        if isinstance(rows, dict):
            rows = {at: dump(row) for at, row in rows.items()}
        text = json.dumps(rows) if not isinstance(rows, mutate.Twice) else dump(rows)
        if draw(st.integers(0, 5)) == 0:
            text = text.replace(
                '"1"', draw(st.sampled_from(['"-1"', '"99"', '"1_0"', '"x"', '" 1"', '"' + "9" * 5000 + '"']))
            )
        body = text.encode("utf-8", "surrogatepass") + b"\n"
        whole.append(hashlib.sha256(body).hexdigest().encode() + b" " + body)
    return {"content": b"".join(whole)}


def run_journal(case: Case) -> str:
    from darrm.tables import solve_grid, verify_table

    Path(f"{JOURNAL}.journal").write_bytes(case["content"])
    try:
        table = solve_grid(small_grid(), out=JOURNAL)
    except DarrmError as error:
        one_line(error)
        return "refused"
    untouched = [json.loads(line) for line in good()[JOURNAL].splitlines()]
    if len(table) != len(untouched):
        raise Finding(f"{len(table)} rows where the grid has {len(untouched)}")
    for row, then in zip(table, untouched, strict=True):
        if row["failure"] is None and abs(row["error"] - then["error"]) > 1e-9 and row["error"] < then["error"]:
            raise Finding(f"less error than the optimum: {row}")
    if not verify_table(JOURNAL).holds:
        raise Finding(f"a table made from a journal does not verify: {verify_table(JOURNAL).wrong[0]}")
    return "went on" if table.found else "began anew"
