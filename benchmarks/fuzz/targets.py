"""What is fuzzed: for each target how a case is drawn, and what must hold when it is run.

A case is a dict of plain values and bytes, so that it can be kept and run again without Hypothesis. To run one returns
a word for what became of it ("accepted", "refused", ...); what is wrong is raised.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import mutate
from hypothesis import strategies as st
from material import JOURNAL, good, small_grid
from mutate import Draw, broken, dump, signed, spoiled

import darrm
from darrm.errors import CertificateError, DarrmError, InputError

Case = dict[str, Any]
JUDGED = 3000  # steps of the second opinion, at most
PRECISE = 20_000  # nats of m epsilon, at most: its balls need as many bits


class Finding(AssertionError):
    """Something that must not happen, and did."""


class Target(NamedTuple):
    """A thing to be fuzzed.

    Attributes
    ----------
    strategy : callable
        Makes the Hypothesis strategy of its cases.
    run : callable
        Takes a case, in an empty working folder.
    raw : callable, optional
        Makes a case of any bytes.
    """

    strategy: Callable[[], st.SearchStrategy[Case]]
    run: Callable[[Case], str]
    raw: Callable[[bytes], Case] | None = None


def confirm(design: darrm.Design) -> str:
    """`Finding` if the second opinion on a design that darrm accepted differs."""
    from darrm.design.files import as_dict
    from second_opinion import opinion

    problem = design.problem
    K, t = problem.K, problem.changed
    steps = K**5 / 60 if problem.Delta else K * t * t / 2
    if steps > JUDGED or problem.m * problem.epsilon > PRECISE:
        return "accepted, not judged"
    content = as_dict(design) | {"gamma_hex": [value.hex() for value in design.gamma.tolist()]}
    wrong = opinion(json.loads(json.dumps(content)))
    if wrong:
        raise Finding(f"wrong accept: {'; '.join(wrong)}: {problem}")
    return "accepted"


# Design files.

DESIGNS = ("gamma.json", "failing.json", "even.json", "one.json")


@st.composite
def design_files(draw: Draw) -> Case:
    content = good()[draw(st.sampled_from(DESIGNS))]
    if draw(st.integers(0, 4)) == 0:
        return {"content": broken(draw, content)}
    tree = json.loads(content)
    digest = tree.pop("sha256")
    gammas = draw(st.booleans())
    tree = spoiled(draw, tree)
    if gammas and isinstance(tree, dict) and isinstance(tree.get("gamma"), list):
        # Both ways of writing gamma agree, so that more than that is looked at.
        tree["gamma_hex"] = [x.hex() if type(x) is float else x for x in tree["gamma"]]
    text = dump(tree)
    if draw(st.integers(0, 9)):
        text = signed(text)
    elif isinstance(tree, dict):
        text = dump(tree | {"sha256": digest})
    content = text.encode("utf-8", "surrogatepass")
    return {"content": broken(draw, content, 1) if draw(st.integers(0, 19)) == 0 else content}


def run_design(case: Case) -> str:
    Path("gamma.json").write_bytes(case["content"])
    try:
        design = darrm.load("gamma.json")
    except DarrmError:
        return "refused"
    claimed = json.loads(case["content"])
    if [float.fromhex(value) for value in claimed["gamma_hex"]] != design.gamma.tolist():
        raise Finding("the design that was read has another gamma than the file")
    return confirm(design)


# Designs near the limit of what they promise, as files.

UNIT = st.one_of(st.sampled_from([0.0, 1.0, 0.5, 5e-324, 1 - 2**-53]), st.floats(0, 1))
DELTAS = st.one_of(st.just(0.0), st.sampled_from([1e-5, 1e-300, 5e-324, 0.3, 0.999, 1 - 2**-53]), st.floats(0, 0.5))
EPSILONS = st.one_of(
    st.sampled_from([0.1, 1.0, 5e-324, 1e-300, 1e-16, 1e-9, 30.0, 36.8, 40.0, 350.0, 709.0, 710.0, 745.2, 1e4, 1e6]),
    st.floats(1e-3, 10),
    st.floats(5e-324, 1e6),
)


@st.composite
def certificates(draw: Draw) -> Case:
    K = draw(st.integers(1, 7))
    problem = {
        "K": K,
        "m": draw(st.one_of(st.integers(1, K), st.floats(1, K))),
        "epsilon": draw(EPSILONS),
        "Delta": draw(DELTAS),
        "delta": draw(st.one_of(st.none(), DELTAS)),
        "changed": draw(st.integers(1, K)),
    }
    if draw(st.booleans()):
        half = [draw(UNIT) for _ in range(K // 2 + 1)]
        return {"problem": problem, "gamma": [half[min(l, K - l)] for l in range(K + 1)], "change": None}
    changes = ["repair", "solve", *(1 + x for x in (0.0, 2e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-10, 1e-9, 1e-6))]
    return {"problem": problem, "gamma": None, "change": draw(st.sampled_from(changes)), "at": draw(st.integers(0, K))}


def run_certificate(case: Case) -> str:
    try:
        problem, gamma = darrm.MajorityProblem(**case["problem"]), case["gamma"]
        if gamma is None:
            found = darrm.solve(problem, time_limit=5)
            confirm(found)
            gamma = found.gamma.tolist()
            change = case["change"]
            if change == "repair":
                gamma = darrm.repair([1.0] * (problem.K + 1), problem).tolist()
            elif change != "solve":
                for l in {case["at"], problem.K - case["at"]}:
                    gamma[l] = min(1.0, gamma[l] * change)
        design = darrm.Design(problem, gamma, darrm.priors.independent())
    except CertificateError:
        return "not proved"
    except DarrmError:
        return "refused"
    design.save("gamma.json")
    again = darrm.load("gamma.json")
    if again.gamma.tolist() != design.gamma.tolist() or again.problem != design.problem:
        raise Finding("a saved design is read as another")
    return confirm(again)


# Votes.


@st.composite
def votes_files(draw: Draw) -> Case:
    K = draw(st.sampled_from([None, 3, 3, 4]))
    block = draw(st.sampled_from([1, 2, 3, 7, 64, 1 << 20]))
    if draw(st.integers(0, 2)):
        names = draw(st.lists(st.sampled_from(["a", "b", "c", "id", "label", "0", "1", "", '"', " id"]), max_size=5))
        rows = draw(st.lists(st.lists(st.sampled_from(["0", "1", "1", "0", "2", "", '"0"', "x"]), max_size=5), max_size=4))
        end = draw(st.sampled_from(["\n", "\r\n", "\r", "\n\n"]))
        drawn = end.join(",".join(cells) for cells in [names, *rows]).encode()
        content = draw(st.sampled_from([good()["votes3.csv"], good()["votes4.csv"], drawn]))
        return {"content": broken(draw, content), "K": K, "block": block, "name": "votes.csv"}
    content = broken(draw, good()["votes3.parquet"]) if draw(st.booleans()) else draw(parquet_votes())
    return {"content": content, "K": K, "block": block, "name": "votes.parquet"}


@st.composite
def parquet_votes(draw: Draw) -> bytes:
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    n = draw(st.integers(0, 4))
    types = [
        *(pa.int8(), pa.uint64(), pa.bool_(), pa.float32(), pa.float64(), pa.float16(), pa.string(), pa.large_string()),
        *(pa.binary(), pa.date32(), pa.timestamp("ns"), pa.decimal128(5, 2), pa.list_(pa.int8()), pa.null(), pa.time64("us")),
        *(pa.dictionary(pa.int8(), pa.int64()), pa.dictionary(pa.int32(), pa.string()), pa.struct([("a", pa.int8())])),
        *(pa.duration("s"), pa.decimal256(40, 3), pa.map_(pa.string(), pa.int8()), pa.dictionary(pa.int8(), pa.float64())),
    ]
    values = st.sampled_from([0, 1, 0, 1, 0, 1, 2, -1, None, 0.5, math.nan, math.inf, "0", "x", b"1", True, [1], {"a": 1}])
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
        pq.write_table(pa.Table.from_arrays(columns, schema=pa.schema(fields)), file, row_group_size=draw(st.integers(1, 9)))
    except pa.ArrowException:
        return b"PAR1"
    return file.getvalue()


def run_votes(case: Case) -> str:
    import votes_csv as reference

    from darrm import votes, votes_csv

    name = Path(case["name"])
    name.write_bytes(case["content"])
    size, votes_csv._BLOCK = votes_csv._BLOCK, case["block"]
    try:
        found = votes.read(name, case["K"])
    except DarrmError as error:
        _one_line(error)
        if name.suffix == ".csv" and case["K"] is None:
            try:
                reference.read(name)
            except reference.Refused:
                return "refused"
            raise Finding(f"the csv module alone reads what darrm refuses: {error}") from None
        return "refused"
    finally:
        votes_csv._BLOCK = size
    if found.votes.max(initial=0) > 1 or len(found.votes) != len(found.ids) or not len(found.votes):
        raise Finding("votes that are not 0 or 1, or not one id each")
    if name.suffix == ".csv":
        ids, cells, labels = reference.read(name)
        if (list(found.ids), found.votes.tolist()) != (ids, cells):
            raise Finding("the csv module alone reads other votes")
        if (None if found.labels is None else found.labels.tolist()) != labels:
            raise Finding("the csv module alone reads other labels")
    return "accepted"


def _one_line(error: BaseException) -> None:
    if not str(error).strip():
        raise Finding(f"{type(error).__name__} says nothing") from error


# Tables and journals.


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
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    plain = [row for row in rows if isinstance(row, dict)]
    writer.writerow(plain[0] if plain else [])
    for row in plain:
        cells = [" ".join(map(str, x)) if isinstance(x, list) else x for x in row.values()]
        writer.writerow("" if x is None else x.text if isinstance(x, mutate.Raw) else x for x in cells)
    return text.getvalue().encode("utf-8", "surrogatepass")


def _as_parquet(rows: Any) -> bytes | None:
    import io

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
        _one_line(error)
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
    import hashlib

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
            text = text.replace('"1"', draw(st.sampled_from(['"-1"', '"99"', '"1_0"', '"x"', '" 1"', '"' + "9" * 5000 + '"'])))
        body = text.encode("utf-8", "surrogatepass") + b"\n"
        whole.append(hashlib.sha256(body).hexdigest().encode() + b" " + body)
    return {"content": b"".join(whole)}


def run_journal(case: Case) -> str:
    from darrm.tables import solve_grid, verify_table

    Path(f"{JOURNAL}.journal").write_bytes(case["content"])
    try:
        table = solve_grid(small_grid(), out=JOURNAL)
    except DarrmError as error:
        _one_line(error)
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


# Ledgers.


@st.composite
def ledgers(draw: Draw) -> Case:
    name = draw(st.sampled_from(["fresh.json", "fixed.json", "basic.json"]))
    content, beside, kind = good()[name], {}, draw(st.sampled_from(["bytes", "values", "signed", "signed", "signed"]))
    if kind == "bytes":
        content = broken(draw, content)
    else:
        tree = json.loads(content)
        digest = tree.pop("sha256")
        if draw(st.booleans()):
            part = draw(st.sampled_from([".labels.csv.x.waiting", "part", "", ".", "missing/x", "\0", "x" * 300, "folder"]))
            out = draw(st.sampled_from(["labels.csv", "labels.csv", "", "\0", "folder", "x" * 300, "/"]))
            tree["leaving"] = [{"part": f"@/{part}", "out": f"@/{out}"}]
            if draw(st.booleans()):
                beside[".labels.csv.x.waiting"] = b"id,label\n1,0\n"
        tree = spoiled(draw, tree)
        if kind == "values" and isinstance(tree, dict):
            tree["sha256"] = digest
        content = dump(tree).encode("utf-8", "surrogatepass")
    n = draw(st.sampled_from([1, 2, 10**9]))
    return {"name": name, "content": content, "signed": kind == "signed", "beside": beside, "n": n}


def run_ledger(case: Case) -> str:
    from darrm.accounting import Ledger

    Path("folder").mkdir()
    for name, content in case["beside"].items():
        Path(name).write_bytes(content)
    design = _design()
    Path("before.json").write_bytes(good()[case["name"]])
    before = Ledger("before.json")
    content = case["content"].replace(b"@/", f"{Path.cwd()}/".encode())  # paths in ledgers are absolute
    Path("ledger.json").write_bytes(signed(content.decode()).encode() if case["signed"] else content)
    try:
        ledger = Ledger("ledger.json")
        status = ledger.status()
        spent = ledger.spent()
    except DarrmError as error:
        _one_line(error)
        return "refused"
    for waiting in case["beside"].values():
        if [path.read_bytes() for path in Path().rglob("*") if path.is_file()].count(waiting) != 1:
            raise Finding(f"labels that waited are gone: {list(Path().iterdir())}")
    if not (spent[0] >= 0 and spent[1] >= 0):
        raise Finding(f"spent {spent}")
    left, then = _left(status["left"]), _left(before.status()["left"])
    if not case["signed"] and (left > then or status["released"] != before.status()["released"]):
        raise Finding(f"more is left of a spoiled ledger: {status}")
    if not (isinstance(status["released"], int) and status["released"] >= 0 and left <= 2**53 or left == math.inf):
        raise Finding(f"no counts: {status}")
    try:
        ledger.charge(design, case["n"])
    except DarrmError as error:
        _one_line(error)
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


# IDX files, probabilities, problems, and texts of options.


@st.composite
def idx_files(draw: Draw) -> Case:
    import gzip

    axes = draw(st.sampled_from([1, 3]))
    shape = [draw(st.integers(0, 3)) for _ in range(axes)]
    content = bytes([0, 0, 8, axes]) + b"".join(n.to_bytes(4, "big") for n in shape) + bytes(math.prod(shape))
    if draw(st.booleans()):
        content = broken(draw, content)
    if draw(st.booleans()):
        content = gzip.compress(content, 1, mtime=0)
        if draw(st.booleans()):
            content = broken(draw, content)
    return {"content": content, "axes": axes}


def run_idx(case: Case) -> str:
    import idx

    Path("images").write_bytes(case["content"])
    try:
        found = idx.read(Path("images"), case["axes"])
    except InputError as error:
        _one_line(error)
        return "refused"
    if found.ndim != case["axes"] or found.dtype != "uint8" or not found.size:
        raise Finding(f"no images: {found.dtype}, {found.shape}")
    return "accepted"


PRIORS = [b"independent:0.5,1", b"common:2,2", b"fixed:0.5,0.6,0.7", b"votes:1,2,3,4", b"uniform", b"votes:votes.csv"]
LISTS = [b"11", b"5,7,9", b"11:101:2", b"0.1:0.5:0.1", b"1e-3"]
ETAS = [b"p\n0.1\n0.5\n", b"0.1\n0.9", b'"0.5"\n', b"beta:1,2"]
PROBLEMS = [b"K,m,epsilon\n3,1,0.5\n", b"K,m,epsilon,Delta,delta,changed,adjacency,prior,shape,objective\n3,1,0.5,,,,,,,\n"]
HIGGS = [b"1," + b",".join([b"0.5"] * 28) + b"\n", b"1 3:1 5:2\n0 7:1\n"]
TEXT_KINDS = {"prior": PRIORS, "values": LISTS, "eta": ETAS, "problems": PROBLEMS, "higgs": HIGGS, "kddcup": HIGGS}


@st.composite
def texts(draw: Draw) -> Case:
    kind = draw(st.sampled_from(sorted(TEXT_KINDS)))
    return {"kind": kind, "content": broken(draw, draw(st.sampled_from(TEXT_KINDS[kind])))}


def run_text(case: Case) -> str:
    from darrm import label_data, priors
    from darrm.audit_files import read_eta
    from darrm.cli.table import values
    from darrm.tables import from_csv

    kind, content = case["kind"], case["content"]
    text = content.decode("utf-8", "surrogateescape")
    Path("file.csv").write_bytes(content)
    try:
        if kind == "prior":
            prior = priors.parse(text)
            if priors.from_dict(prior.as_dict()) != prior:
                raise Finding("a prior is not what its description says")
            mean = prior.ones(3)
            if not (abs(mean.sum() - 1) < 1e-9 and mean.min() > -1e-9):
                raise Finding(f"{prior} gives {mean}")
        elif kind == "values":
            found = values("K", text)
            if not found or len(found) > 10**7 or not all(math.isfinite(x) for x in found):
                raise Finding(f"values {found}")
        elif kind == "eta":
            found = read_eta("file.csv")
            if not ((found >= 0) & (found <= 1)).all():
                raise Finding(f"probabilities {found}")
        elif kind == "problems":
            from_csv("file.csv")
        elif kind == "higgs":
            label_data.higgs("file.csv")
        else:
            label_data.kddcup2012("file.csv", n_features=64)
    except DarrmError as error:
        _one_line(error)
        return "refused"
    return "accepted"


def _raw_text(data: bytes) -> Case:
    kinds = sorted(TEXT_KINDS)
    return {"kind": kinds[data[0] % len(kinds)] if data else "eta", "content": data[1:]}


def targets() -> dict[str, Target]:
    """All targets by name."""
    from commands import commands, run_command

    return {
        "command": Target(commands, run_command),
        "design": Target(design_files, run_design, lambda data: {"content": signed(data.decode("latin-1")).encode()}),
        "certificate": Target(certificates, run_certificate),
        "votes": Target(
            votes_files, run_votes, lambda data: {"content": data, "K": None, "block": 7, "name": "votes.csv"}
        ),
        "table": Target(tables, run_table, lambda data: {"name": "table.jsonl", "content": data}),
        "journal": Target(journals, run_journal),
        "ledger": Target(ledgers, run_ledger),
        "idx": Target(idx_files, run_idx, lambda data: {"content": data, "axes": 3}),
        "text": Target(texts, run_text, _raw_text),
    }
