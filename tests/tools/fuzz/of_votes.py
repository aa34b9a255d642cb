"""Votes files."""

from __future__ import annotations

import io
import math
from pathlib import Path

from hypothesis import strategies as st
from judging import Case, Finding, one_line
from material import good
from mutate import Draw, broken

from darrm.errors import DarrmError


@st.composite
def votes_files(draw: Draw) -> Case:
    K = draw(st.sampled_from([None, 3, 3, 4]))
    block = draw(st.sampled_from([1, 2, 3, 7, 64, 1 << 20]))
    if draw(st.integers(0, 2)):
        names = draw(st.lists(st.sampled_from(["a", "b", "c", "id", "label", "0", "1", "", '"', " id"]), max_size=5))
        rows = draw(
            st.lists(st.lists(st.sampled_from(["0", "1", "1", "0", "2", "", '"0"', "x"]), max_size=5), max_size=4)
        )
        end = draw(st.sampled_from(["\n", "\r\n", "\r", "\n\n"]))
        drawn = end.join(",".join(cells) for cells in [names, *rows]).encode()
        content = draw(st.sampled_from([good()["votes3.csv"], good()["votes4.csv"], drawn]))
        return {"content": broken(draw, content), "K": K, "block": block, "name": "votes.csv"}
    content = broken(draw, good()["votes3.parquet"]) if draw(st.booleans()) else draw(parquet_votes())
    return {"content": content, "K": K, "block": block, "name": "votes.parquet"}


@st.composite
def parquet_votes(draw: Draw) -> bytes:

    import pyarrow as pa
    import pyarrow.parquet as pq

    n = draw(st.integers(0, 4))
    types = [
        *(pa.int8(), pa.uint64(), pa.bool_(), pa.float32(), pa.float64(), pa.float16(), pa.string(), pa.large_string()),
        *(
            pa.binary(),
            pa.date32(),
            pa.timestamp("ns"),
            pa.decimal128(5, 2),
            pa.list_(pa.int8()),
            pa.null(),
            pa.time64("us"),
        ),
        *(pa.dictionary(pa.int8(), pa.int64()), pa.dictionary(pa.int32(), pa.string()), pa.struct([("a", pa.int8())])),
        *(
            pa.duration("s"),
            pa.decimal256(40, 3),
            pa.map_(pa.string(), pa.int8()),
            pa.dictionary(pa.int8(), pa.float64()),
        ),
    ]
    values = st.sampled_from(
        [0, 1, 0, 1, 0, 1, 2, -1, None, 0.5, math.nan, math.inf, "0", "x", b"1", True, [1], {"a": 1}]
    )
    fields, columns = [], []
    for name in draw(st.lists(st.sampled_from(["id", "a", "b", "c", "label", "", "é", "0"]), max_size=5)):
        kind = draw(st.sampled_from([*types[:5], *types]))
        try:
            cells = [draw(values) for _ in range(n)]
            column = pa.array(cells, type=kind)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            column = pa.nulls(n, kind) if draw(st.booleans()) else pa.array([1] * n)
        fields.append((name, column.type))
        columns.append(column)
    file = io.BytesIO()
    try:
        pq.write_table(
            pa.Table.from_arrays(columns, schema=pa.schema(fields)), file, row_group_size=draw(st.integers(1, 9))
        )
    except pa.ArrowException:
        return b"PAR1"
    return file.getvalue()


def run_votes(case: Case) -> str:
    import votes_csv as reference

    from darrm import votes
    from darrm.votes import csv as votes_csv

    name = Path(case["name"])
    name.write_bytes(case["content"])
    size, votes_csv._BLOCK = votes_csv._BLOCK, case["block"]
    try:
        found = votes.read(name, case["K"])
    except DarrmError as error:
        one_line(error)
        if name.suffix == ".csv" and case["K"] is None:
            try:
                reference.read(name)
            except (reference.Refused, reference.NotJudged):
                return "refused"
            raise Finding(f"the csv module alone reads what darrm refuses: {error}") from None
        return "refused"
    finally:
        votes_csv._BLOCK = size
    if found.votes.max(initial=0) > 1 or len(found.votes) != len(found.ids) or not len(found.votes):
        raise Finding("votes that are not 0 or 1, or not one id each")
    if name.suffix == ".csv":
        try:
            ids, cells, labels = reference.read(name)
        except reference.NotJudged:
            return "accepted, not judged"
        if (list(found.ids), found.votes.tolist()) != (ids, cells):
            raise Finding("the csv module alone reads other votes")
        if (None if found.labels is None else found.labels.tolist()) != labels:
            raise Finding("the csv module alone reads other labels")
    return "accepted"
