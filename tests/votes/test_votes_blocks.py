"""Votes files read block by block: the same as row by row by the csv module, in memory that does not grow."""

import csv
import io
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracles import votes_csv as oracle

import darrm
from darrm import votes
from darrm._validation import SEVERAL_CLASSES
from darrm.votes import csv as votes_csv
from darrm.votes.answers import Answers
from darrm.votes.rows import Texts

TINY = (4, 16, 50, 1 << 20)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "votes.csv"


def outcome(path: Path) -> tuple[Any, ...]:
    """What darrm reads, or says."""
    try:
        table = votes.read(path)
    except darrm.InputError as error:
        return ("refused", str(error).removesuffix(f" {SEVERAL_CLASSES}"))
    labels = None if table.labels is None else table.labels.tolist()
    return ("read", list(table.ids), table.votes.tolist(), labels)


def expected(path: Path) -> tuple[Any, ...]:
    try:
        return ("read", *oracle.read(path))
    except oracle.Refused as error:
        return ("refused", str(error))


# Against the csv module


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Mostly plain files; then ids of all kinds, other line ends, cells that are wrong, and bytes changed at random."""
    ends = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    header = draw(
        st.sampled_from(["id,a,b,c", "a,b,c", "id,a", "a", "id,a,b,label", "a,label", '"id", a', "id", "0,1"])
    )
    k = header.count(",") + 1
    named = header.startswith(("id", '"id"'))
    plain_id = st.text(st.sampled_from("abc7 é\x00'"), max_size=9)
    any_id = st.text(st.sampled_from('ab,"\n\r é一'), max_size=4)
    lines = [header + ends]
    for line in range(draw(st.integers(0, 12))):
        cells = [draw(st.sampled_from("01")) for _ in range(k)]
        if named:
            cells[0] = f"{line}." * draw(st.sampled_from([1, 1, 1, 0])) + draw(st.one_of(plain_id, plain_id, any_id))
        if draw(st.integers(0, 30)) == 0:
            cells[draw(st.integers(0, k - 1))] = draw(st.sampled_from(["2", "", " 1", "1.0", '"', "-"]))
        if draw(st.integers(0, 40)) == 0:
            cells.append(draw(st.sampled_from(["1", "", " "])))
        if draw(st.integers(0, 40)) == 0:
            cells = draw(st.sampled_from([[], [""], [" "], [""] * k]))
        text = io.StringIO()
        csv.writer(text, lineterminator=ends).writerow(cells)
        lines.append(text.getvalue() if draw(st.integers(0, 9)) else ",".join(cells) + ends)
    content = bytearray("".join(lines).encode())
    if draw(st.booleans()):
        content = bytearray(b"\xef\xbb\xbf") + content
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        at = draw(st.integers(min(len(header) + 4, len(content)), len(content)))
        content[at : at + draw(st.integers(0, 2))] = draw(
            st.sampled_from([b"", b"\n", b"\r", b'"', b",", b"1", b"\xff"])
        )
    cut = draw(st.sampled_from([0, 0, 1, 2]))
    return bytes(content[: max(len(content) - cut, len(header) + 4)])


@pytest.mark.thorough
@settings(derandomize=True, max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(content=files(), size=st.sampled_from(TINY))
def test_files_mean_what_the_csv_module_says(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, size: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "drawn.csv"
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(votes_csv, "_BLOCK", size)
        result, wanted = outcome(path), expected(path)
    if wanted[0] == "refused":
        assert result[0] == "refused"
        # Another fault may be named first: one in an earlier block, or in the same.
        assert wanted[1] in result[1] or "not UTF-8" in wanted[1] or "twice" in wanted[1]
    else:
        assert result == wanted


@pytest.mark.parametrize("size", TINY)
@pytest.mark.parametrize("ends", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("last", [b"", b"end"], ids=["no last line end", "last line end"])
@pytest.mark.parametrize("named", [True, False])
def test_plain_files_need_no_csv_module(
    path: Path, monkeypatch: pytest.MonkeyPatch, size: int, ends: bytes, last: bytes, named: bool
) -> None:
    """Otherwise all tests of equality would pass with the fast way never taken."""
    rows = [(b"query %d," % i if named else b"") + b"1,%d,0" % (i % 2) for i in range(50)]
    path.write_bytes(ends.join([b"id,a,b,label" if named else b"a,b,label", *rows]) + (ends if last else b""))
    monkeypatch.setattr(votes_csv, "_BLOCK", size)
    monkeypatch.setattr(votes_csv, "_by_csv_module", None)
    table = votes.read(path)
    assert table.votes.tolist() == [[1, i % 2] for i in range(50)]
    assert table.ids == tuple(f"query {i}" if named else str(i + 1) for i in range(50))
    assert table.labels is not None
    assert not table.labels.any()


def test_plain_blocks_after_an_odd_one_are_read_fast(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text('id,a\n"two\nlines",1\n' + "".join(f"{i},0\n" for i in range(1000)), encoding="utf-8")
    monkeypatch.setattr(votes_csv, "_BLOCK", 100)
    slow, calls = votes_csv._by_csv_module, []
    monkeypatch.setattr(votes_csv, "_by_csv_module", lambda *given: calls.append(1) or slow(*given))
    assert votes.read(path).ids == ("two\nlines", *map(str, range(1000)))
    assert 0 < len(calls) <= 2


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("last", "message"),
    [
        ("x,1,2", "line 30002, column b: A vote must be 0 or 1. Got '2'"),
        ("x,1,0,1", "line 30002: 4 columns where the header has 3"),
        ("x,1", "line 30002: 2 columns"),
        ("", None),
        ('"x,1,0', "unexpected end of data"),
        ('"two\nlines",1,x', "line 30003, column b"),
    ],
)
def test_a_fault_in_the_last_block_is_named(
    path: Path, monkeypatch: pytest.MonkeyPatch, last: str, message: str | None
) -> None:
    path.write_text("id,a,b\n" + "".join(f"{i},1,0\n" for i in range(30_000)) + last, encoding="utf-8")
    monkeypatch.setattr(votes_csv, "_BLOCK", 1000)
    if message is None:
        assert len(votes.read(path).ids) == 30_000
    else:
        with pytest.raises(darrm.InputError, match=message):
            votes.read(path)


def test_rows_before_a_fault_are_given(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text("a,b\n" + "1,0\n" * 100 + "1,2\n", encoding="utf-8")
    monkeypatch.setattr(votes_csv, "_BLOCK", 40)
    seen = 0
    with pytest.raises(darrm.InputError, match="line 102"):  # noqa: PT012
        for block in votes.blocks(path, K=2):
            seen += len(block.votes)
    assert 80 < seen <= 100


@pytest.mark.thorough
def test_ids_are_as_long_as_the_csv_module_allows(path: Path) -> None:
    most = csv.field_size_limit()
    path.write_text(f"id,a\n{'x' * most},1\ny,0\n", encoding="utf-8")
    assert votes.read(path).ids == ("x" * most, "y")
    for ends in ("\n", "\r\n"):
        path.write_text(f"id,a{ends}y,0{ends}{'x' * (most + 1)},1{ends}", encoding="utf-8", newline="")
        with pytest.raises(darrm.InputError, match="field larger than field limit"):
            votes.read(path)


def test_an_endless_line_is_refused_without_reading_all_of_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(votes_csv, "_BLOCK", 100)
    monkeypatch.setattr(votes_csv, "_LONGEST", 10_000)
    file = io.BytesIO(b"a,b\n1,0\n" + b"1," * 100_000)
    with pytest.raises(darrm.InputError, match=r"not a CSV file \(a line of more than"):
        list(votes_csv.blocks(path, file, None, Answers()))
    assert file.tell() < 30_000


@pytest.mark.thorough
def test_memory_does_not_grow_with_the_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(votes_csv, "_BLOCK", 1 << 14)
    peaks = []
    for n in (5_000, 100_000):
        path.write_text("id,a,b,c\n" + "".join(f"query {i},1,0,1\n" for i in range(n)), encoding="utf-8")
        tracemalloc.start()
        with votes.writing_labels(path.with_name("labels.csv")) as out:
            for block in votes.blocks(path):
                out.write(block.ids, block.votes[:, 0])
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert out.n == n
    # Beside digests of the ids, which are 16 bytes each with some room to grow, and are copied when they do.
    assert peaks[1] - 95_000 * 40 < 1.2 * peaks[0] < 2_000_000


def test_blocks_say_whether_their_ids_are_those_of_a_column(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(votes_csv, "_BLOCK", 10)
    for header, first, named in (("id,a,b", "x", True), ("a,b", None, False)):
        lines = [",".join(([f"{first}{i}"] if first else []) + ["0", "1"]) for i in range(20)]
        path.write_text("\n".join([header, *lines]), encoding="utf-8")
        assert [block.has_ids for block in votes.blocks(path)] == [named] * len(list(votes.blocks(path)))
        parquet = {"id": [f"x{i}" for i in range(3)]} if named else {}
        written = write_parquet(path.with_suffix(".parquet"), parquet | {"a": [0, 1, 0]})
        assert {block.has_ids for block in votes.blocks(written)} == {named}


# Texts


@pytest.mark.parametrize(
    ("start", "n"), [(0, 0), (0, 1), (1, 8), (1, 9), (1, 1200), (95, 10), (10**7 - 3, 5), (10**18, 2)]
)
def test_row_numbers(start: int, n: int) -> None:
    assert list(Texts.numbers(start, n)) == [str(i) for i in range(start, start + n)]


def test_lines_of_labels() -> None:
    for ids in (["a", "", "é一", " x"], ["a,b", 'say "x"', "two\nlines", ""], []):
        labels = np.arange(len(ids), dtype=np.uint8) % 2
        text = io.StringIO(votes_csv.label_lines(Texts.of(ids), labels).decode(), newline="")
        assert list(csv.reader(text, strict=True)) == [[name, str(i % 2)] for i, name in enumerate(ids)]


# Parquet


def write_parquet(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    arrays = [value if isinstance(value, pa.Array) else pa.array(value) for value in columns.values()]
    pyarrow.parquet.write_table(pa.table(arrays, names=list(columns)), path, **options)
    return path


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["bool", "int8", "uint64", "float16", "float64"])
def test_parquet_is_read_as_csv_is(tmp_path: Path, kind: str) -> None:
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 2, (200_000, 3))
    names = [f"q{i}é" for i in range(len(cells))]
    columns = {"id": names, "a": cells[:, 0].astype(kind), "b": cells[:, 1].astype(kind), "label": cells[:, 2]}
    table = votes.read(write_parquet(tmp_path / "votes.parquet", columns, row_group_size=70_000), K=2)
    np.testing.assert_array_equal(table.votes, cells[:, :2])
    assert table.ids == tuple(names)
    assert table.labels is not None
    np.testing.assert_array_equal(table.labels, cells[:, 2])


@pytest.mark.thorough
def test_parquet_rows_are_counted_over_the_file(tmp_path: Path) -> None:
    n = 3 * 65536 + 100  # four batches
    column = np.arange(n) % 2
    path = write_parquet(tmp_path / "votes.parquet", {"a": column, "b": column})
    assert votes.read(path).ids == tuple(map(str, range(1, n + 1)))
    for row in (n - 50, 2 * 65536 + 1):
        wrong = column.copy()
        wrong[row - 1] = 5
        with pytest.raises(darrm.InputError, match=f"row {row}, column b: A vote must be 0 or 1. Got 5"):
            votes.read(write_parquet(path, {"a": column, "b": wrong}))
        ids: list[str | None] = [f"x{i}" for i in range(n)]
        ids[row - 1] = None
        with pytest.raises(darrm.InputError, match=f"row {row}, column id is empty"):
            votes.read(write_parquet(path, {"id": ids, "a": column}))


def test_parquet_ids(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    kinds = [[7, 123], ["x", "y"], pa.array(["x", "y"]).dictionary_encode(), pa.array(["é", " e"], pa.large_string())]
    for ids in kinds:
        path = write_parquet(tmp_path / "votes.PARQUET", {"id": ids, "a": [1, 0]})
        assert votes.read(path).ids == tuple(map(str, ids if isinstance(ids, list) else ids.to_pylist()))
    assert votes.read(write_parquet(tmp_path / "votes.parquet", {"a": [1, 0]})).ids == ("1", "2")


def test_ids_of_a_slice() -> None:
    """A part of an Arrow array begins somewhere in its buffers."""
    pa = pytest.importorskip("pyarrow")
    from darrm.votes.arrow import ids_of, of_schema

    for kind in (pa.string(), pa.large_string()):
        whole = pa.table({"id": pa.array(["abc", "g", "é", "de", "f"], kind), "a": [0] * 5})
        columns = of_schema("votes", whole.schema, 1, Answers())
        for part in (whole.slice(1, 3), pa.concat_tables([whole.slice(1, 1), whole.slice(2, 2)])):
            texts = ids_of(part, columns, "votes", 1)
            assert texts is not None
            assert (list(texts), texts.data) == (["g", "é", "de"], "géde".encode())


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1, 0, 2]}, "row 3, column a: A vote must be 0 or 1. Got 2"),
        ({"a": [1.0, float("nan")]}, "row 2, column a: A vote must be 0 or 1. Got NaN"),
        ({"a": [1, None]}, "row 2, column a: A vote must be 0 or 1. Got None"),
        ({"a": [1], "label": [3]}, "row 1, column label: A label must be 0 or 1. Got 3"),
        ({"a": ["2"]}, "row 1, column a: A vote must be 0 or 1. Got '2'"),
        ({"a": [b"1"]}, "column a must hold numbers 0 and 1, truth values or texts. Got type binary"),
        ({"id": ["x", None], "a": [1, 0]}, "row 2, column id is empty"),
        ({"id": [1.5], "a": [1]}, "column id must hold texts or integers. Got type double"),
        ({"id": [1]}, "at least 1 vote columns"),
        ({"a": []}, "column a must hold|holds no votes"),
    ],
)
def test_bad_parquet(tmp_path: Path, columns: dict[str, Any], message: str) -> None:
    with pytest.raises(darrm.InputError, match=message):
        votes.read(write_parquet(tmp_path / "votes.parquet", columns))


def test_broken_parquet(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "votes.parquet", {"a": np.random.default_rng(0).integers(0, 2, 100_000)})
    whole = path.read_bytes()
    for content in (b"", b"a,b\n1,0\n", whole[:-100], whole[: len(whole) // 2], b"PAR1" + whole[2000:]):
        path.write_bytes(content)
        with pytest.raises(darrm.InputError, match="not a whole Parquet file"):
            votes.read(path)
    with pytest.raises(darrm.InputError, match="could not be read"):
        votes.read(tmp_path / "missing.parquet")


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_parquet(tmp_path / "votes.parquet", {"a": [1]})
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(darrm.MissingExtraError, match=r"pip install 'darrm\[tables\]', or use .csv"):
        votes.read(path)
    with pytest.raises(darrm.MissingExtraError, match=r"darrm\[tables\]"):
        votes.write_labels(tmp_path / "labels.parquet", ["x"], np.ones(1, dtype=np.uint8))
    assert [path.name for path in tmp_path.iterdir()] == ["votes.parquet"]


def test_labels_as_parquet(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "labels.parquet"
    with votes.writing_labels(out) as file:
        file.write(["x", "é, y"], np.array([1, 0], dtype=np.uint8))
        file.write(Texts.numbers(1, 1), np.array([1], dtype=np.uint8))
    assert pq.read_table(out).to_pylist() == [
        {"id": "x", "label": 1},
        {"id": "é, y", "label": 0},
        {"id": "1", "label": 1},
    ]
    with pytest.raises(ZeroDivisionError), votes.writing_labels(out) as file:  # noqa: PT012
        file.write(["z"], np.zeros(1, dtype=np.uint8))
        raise ZeroDivisionError
    assert pq.read_metadata(out).num_rows == 3
    assert list(tmp_path.iterdir()) == [out]
    with pytest.raises(darrm.InputError, match="closed"):
        file.write(["z"], np.zeros(1, dtype=np.uint8))
