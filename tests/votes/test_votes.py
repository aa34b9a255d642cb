"""Votes files: what is read, what is written, what comes with the package."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import darrm
from darrm import votes
from darrm.accounting import Ledger
from darrm.votes import csv as votes_csv
from darrm.votes.rows import Texts


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "votes.csv"


def test_ids_votes_and_labels(path: Path) -> None:
    path.write_text("id,a,b,c,label\nx,1,0,1,0\n007,0,0,1,1\n", encoding="utf-8")
    table = votes.read(path)
    assert table.votes.tolist() == [[1, 0, 1], [0, 0, 1]]
    assert table.votes.dtype == np.uint8
    assert table.ids == ("x", "007")
    assert table.labels is not None
    assert table.labels.tolist() == [0, 1]
    assert table.labels.dtype == np.uint8


def test_ids_and_labels_are_optional(path: Path) -> None:
    path.write_text("a,b\n1,0\n0,0\n", encoding="utf-8")
    table = votes.read(str(path), K=2)
    assert table.votes.tolist() == [[1, 0], [0, 0]]
    assert table.ids == ("1", "2")
    assert table.labels is None


@pytest.mark.parametrize("header", ["label,a,id,b", " Label ,a,ID,b", "LABEL,a,Id,b"])
def test_id_and_label_may_stand_anywhere(path: Path, header: str) -> None:
    path.write_text(f"{header}\n1,0,x,1\n0,0,y,0\n", encoding="utf-8")
    table = votes.read(path, K=2)
    assert table.votes.tolist() == [[0, 1], [0, 0]]
    assert table.ids == ("x", "y")
    assert table.labels is not None
    assert table.labels.tolist() == [1, 0]


@pytest.mark.parametrize(
    "content",
    [
        b"id,a,b\nx,1,0\ny,0,1\n",
        b"id,a,b\nx,1,0\ny,0,1",
        b"id,a,b\r\nx,1,0\r\ny,0,1\r\n",
        b"\xef\xbb\xbfid,a,b\nx,1,0\ny,0,1\n",
        b"\xef\xbb\xbfid,a,b\r\nx,1,0\r\ny,0,1\r\n",
        b'"id","a","b"\n"x","1","0"\n"y","0","1"\n',
        b"id , a, b\nx,1,0\ny,0,1\n",
    ],
    ids=["plain", "no last line end", "CRLF", "BOM", "BOM and CRLF", "quotes", "spaces in the header"],
)
def test_all_common_dialects(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    table = votes.read(path, K=2)
    assert table.ids == ("x", "y")
    assert table.votes.tolist() == [[1, 0], [0, 1]]


def test_ids_survive_quoting(path: Path, tmp_path: Path) -> None:
    ids = ("plain", "with, comma", "two\nlines", 'a "quote"', "carriage\rreturn", " spaces ", "一", "'")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "a"])
        writer.writerows([name, 1] for name in ids)
    assert votes.read(path).ids == ids
    out = tmp_path / "labels.csv"
    votes.write_labels(out, ids, np.arange(len(ids), dtype=np.uint8) % 2)
    with out.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file, strict=True))
    assert rows == [["id", "label"], *([name, str(i % 2)] for i, name in enumerate(ids))]


def test_errors_name_the_line_of_the_file(path: Path) -> None:
    path.write_text('id,a\n"two\nlines",1\nx,2\n', encoding="utf-8")
    with pytest.raises(darrm.InputError, match="line 4"):
        votes.read(path)


def test_votes_may_have_any_number_of_rows(path: Path) -> None:
    rng = np.random.default_rng(5)
    expected = rng.integers(0, 2, (5000, 3), dtype=np.uint8)
    path.write_text("a,b,c\n" + "".join(f"{a},{b},{c}\n" for a, b, c in expected), encoding="utf-8")
    table = votes.read(path)
    np.testing.assert_array_equal(table.votes, expected)
    np.testing.assert_array_equal(table.histogram, np.bincount(expected.sum(axis=1, dtype=np.int64), minlength=4))


def test_histogram_has_a_place_for_every_count(path: Path) -> None:
    path.write_text("a,b,c\n1,1,0\n0,1,1\n0,0,0\n", encoding="utf-8")
    assert votes.read(path).histogram.tolist() == [1, 0, 2, 0]


def test_labels_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    out = tmp_path / "labels.csv"
    out.write_text("old", encoding="utf-8")
    with pytest.raises(darrm.InputError, match="Got 1 id and 2 labels"):
        votes.write_labels(out, ["x"], np.zeros(2, dtype=np.uint8))
    assert out.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_labels_of_large_blocks_are_counted(tmp_path: Path, suffix: str) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    sizes, out = (70_000, 1, 200_000, 65536), tmp_path / f"labels.{suffix}"
    with votes.writing_labels(out) as file:
        for i, n in enumerate(sizes):
            file.write(Texts.numbers(0, n), np.zeros(n, dtype=np.uint8))
            assert file.n == sum(sizes[: i + 1])
    if suffix == "csv":
        assert out.read_bytes().count(b"\n") == 1 + sum(sizes)


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let each write of ten rows put half of them into the file."""
    whole = votes_csv.label_lines

    def write(self: votes_csv.Labels, ids: Texts, labels: np.ndarray) -> None:
        lines = whole(ids, labels)
        self._file.write(lines[: len(lines) // 2] if len(ids) == 10 else lines)
        if len(ids) == 10:
            raise error

    monkeypatch.setattr(votes_csv.Labels, "write", write)


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), MemoryError(), KeyboardInterrupt()], ids=repr
)
@pytest.mark.parametrize("more", [0, 1])
def test_no_labels_are_released_after_a_write_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, more: int
) -> None:
    """The file could hold more labels than a ledger is charged for, so catching the error does not help."""
    design = darrm.solve(K=3, m=1, epsilon=0.1)
    options = {"total_epsilon": 10.0, "total_delta": 0.0, "voters": "fresh", "rule": "basic-filter"}
    book, out = Ledger.create(tmp_path / "ledger.json", design, **options), tmp_path / "labels.csv"
    bits = np.zeros(10, dtype=np.uint8)

    failing(monkeypatch, error)

    def use() -> None:
        with votes.writing_labels(out, book.releasing(design, lambda: file.n, out)) as file:
            file.write(["x"], bits[:1])
            with pytest.raises(darrm.OutputError if isinstance(error, OSError) else type(error)):
                file.write(["y"] * 10, bits)
            for _ in range(more):
                with pytest.raises(darrm.OutputError, match="earlier write of labels failed"):
                    file.write(["z"], bits[:1])

    with pytest.raises(
        darrm.OutputError, match=r"labels.csv is not written: an earlier write of labels failed"
    ) as caught:
        use()
    assert len(str(caught.value).splitlines()) == 1
    assert book.status()["released"] == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger.json"]


def test_refused_rows_do_not_spoil_the_file(tmp_path: Path) -> None:
    out = tmp_path / "labels.csv"
    with votes.writing_labels(out) as file:
        for ids, labels in ((["a"], [2]), ([1], [1]), (["a", "b"], [1])):
            with pytest.raises(darrm.InputError):
                file.write(ids, np.array(labels))
        file.write(["a", "b"], np.array([True, False]))
    assert out.read_text(encoding="utf-8") == "id,label\na,1\nb,0\n"


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("ids", "labels", "message"),
    [
        ([1, 2], [0, 1], r"^An id must be a text. Got a value of type int. Pass str\(id\).$"),
        (["a", b"b"], [0, 1], "type bytes"),
        (["a", "\ud800"], [0, 1], r"^An id must be a text that UTF-8 can hold. Got '\\ud800', a lone surrogate.$"),
        (["a", "b"], [0, 207], "^A label must be 0 or 1. Got 207 in row 1.$"),
        (["a", "b"], [0, -1], "Got -1 in row 1"),
        (["a", "b"], [0, 256], "Got 256 in row 1"),
        (["a", "b"], [0.5, 1], "Got 0.5 in row 0"),
        (["a", "b"], [0, float("nan")], r"Got NaN \(not a number\) in row 1"),
        (["a", "b"], np.array([1, 2], dtype=np.uint8).view(bool), "Got 2 in row 1"),
        (["a", "b"], ["0", "1"], "^labels must be a plain array of numbers 0 and 1"),
        (["a", "b"], [[0, 1]], r"shape \(1, 2\)"),
        (["a", "b"], np.ma.array([0, 1], mask=[True, False]), "Got a MaskedArray"),
    ],
)
def test_what_cannot_be_written_as_a_label(tmp_path: Path, suffix: str, ids: Any, labels: Any, message: str) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    with pytest.raises(darrm.InputError, match=message) as error:
        votes.write_labels(tmp_path / f"labels.{suffix}", ids, labels)
    assert len(str(error.value).splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_an_error_of_the_block_is_not_blamed_on_the_output(tmp_path: Path, suffix: str) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    out, own = tmp_path / f"labels.{suffix}", ConnectionResetError(104, "Connection reset by peer")

    def use(error: OSError) -> None:
        with votes.writing_labels(out) as file:
            file.write(["x"], np.ones(1, dtype=np.uint8))
            raise error

    with pytest.raises(ConnectionResetError) as raised:
        use(own)
    assert raised.value is own
    assert not isinstance(own.__context__, darrm.OutputError)
    other = darrm.OutputError("elsewhere.csv could not be written")
    with pytest.raises(darrm.OutputError, match=r"^elsewhere.csv could"):
        use(other)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_blamed_on_the_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, OSError(28, "No space left on device"))
    with pytest.raises(darrm.OutputError, match=r"labels.csv could not be written: No space left on device"):
        votes.write_labels(tmp_path / "labels.csv", ["x"] * 10, np.ones(10, dtype=np.uint8))
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_number_of_mechanisms(path: Path) -> None:
    path.write_text("a,b,c\n1,1,0\n", encoding="utf-8")
    with pytest.raises(darrm.InputError, match=r"K = 5 .*Got 3"):
        votes.read(path, K=5)


EXAMPLES = [
    *("clinics_t1", "clinics_t1_base", "clinics_t2", "clinics_t2_base"),
    *("fixed_t1", "fixed_t3", "fresh_t11", "fresh_t3"),
]


def test_the_examples() -> None:
    known = votes.examples()
    assert sorted(known) == EXAMPLES
    assert {about["kind"] for about in known.values()} == {"fixed", "fresh", "not private"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_what_it_says(name: str) -> None:
    about, table = votes.examples()[name], votes.example(name)
    rows, K = (100, 25) if name.startswith("clinics") else (600, 11)
    assert table.votes.shape == (about["rows"], about["K"]) == (rows, K)
    assert len(set(table.ids)) == rows
    assert table.labels is not None
    majority = table.votes.sum(axis=1) > K / 2
    assert (majority == table.labels).mean() == pytest.approx(about["majority_accuracy"], abs=5e-5)
    assert (table.votes == table.labels[:, None]).mean() == pytest.approx(about["mean_voter_accuracy"], abs=5e-5)
    assert table.histogram.sum() == rows
    # Both answers occur, so neither accuracy is that of a constant.
    assert rows / 3 < table.labels.sum() < rows * 2 / 3
    if about["kind"] != "not private":
        problem = {key: about[key] for key in ("K", "epsilon", "Delta", "max_affected", "adjacency")}
        darrm.MajorityProblem(m=1, **problem)


@pytest.mark.parametrize("name", ["clinics_t1", "clinics_t2"])
def test_votes_of_clinics_are_randomized_answers(name: str) -> None:
    """Of 2500 answers as many are flipped as epsilon says, within four standard deviations."""
    about, cast, base = votes.examples()[name], votes.example(name), votes.example(f"{name}_base")
    assert about["base_file"] == f"{name}_base.csv"
    assert list(cast.ids) == list(base.ids)
    assert base.labels is not None
    assert np.array_equal(cast.labels, base.labels)
    assert (base.votes == base.labels[:, None]).mean() == pytest.approx(about["base_accuracy"], abs=5e-5)
    chance = 1 / (1 + np.exp(float(str(about["epsilon"]))))
    n = base.votes.size
    assert (cast.votes != base.votes).mean() == pytest.approx(chance, abs=4 * np.sqrt(chance * (1 - chance) / n))


def test_an_unknown_example_names_the_known_ones() -> None:
    with pytest.raises(darrm.InputError, match="fixed_t1, fixed_t3, fresh_t11, fresh_t3"):
        votes.example("fresh")


def test_a_table_is_named_in_one_line_without_its_votes() -> None:
    assert repr(darrm.votes.example("fresh_t11")) == "<votes of 11 voters on 600 queries, with labels>"
