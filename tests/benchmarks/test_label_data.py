"""Readers of labelled data sets, on files that are written here."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scripts import load

from darrm.errors import InputError

label_data = load("label_data")


def higgs_file(path: Path, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(n, 28)).astype(np.float32), rng.integers(0, 2, size=n)
    lines = [",".join(f"{value:.18e}" for value in [label, *row]) for label, row in zip(y, X.tolist(), strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return X, y


def test_higgs_is_read_as_it_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "HIGGS.csv"
    X, y = higgs_file(path, 25)
    monkeypatch.setattr(label_data, "_CHUNK", 10)
    found = label_data.higgs(path)
    assert found.X.dtype == np.float32
    assert np.array_equal(found.X, X)
    assert np.array_equal(found.y, y)
    for rows in (1, 10, 13, 25, 99):
        part = label_data.higgs(path, rows=rows)
        assert np.array_equal(part.X, X[:rows])
        assert np.array_equal(part.y, y[:rows])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1," + ",".join(["0.5"] * 27), "line 13: 28 columns"),
        ("2," + ",".join(["0.5"] * 28), "line 13: a label must be 0 or 1. Got '2'"),
        ("nan," + ",".join(["0.5"] * 28), "line 13: a label"),
        ("1," + ",".join(["0.5"] * 27 + ["x"]), "line 13: a feature is not a number"),
        ("1," + ",".join(["0.5"] * 27 + ["nan"]), "line 13: a feature is not finite"),
        ("1," + ",".join(["0.5"] * 27 + ["1e99"]), "line 13: a feature is not finite"),
        ("", "line 13: 1 columns"),
    ],
)
def test_bad_lines_of_higgs_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, message: str) -> None:
    path = tmp_path / "HIGGS.csv"
    higgs_file(path, 12)
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    monkeypatch.setattr(label_data, "_CHUNK", 5)
    with pytest.raises(InputError, match=message):
        label_data.higgs(path)
    assert len(label_data.higgs(path, rows=12).y) == 12  # what is beyond is not read


def test_hashed_features_of_click_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kddb"
    path.write_text("1 3:1 54686451:2.5\n-1 3:0.5 3:0.25\n0\n+1 0:1\n".replace("+1", "1.0"), encoding="utf-8")
    monkeypatch.setattr(label_data, "_CHUNK", 2)
    found = label_data.kddcup2012(path, n_features=1000)
    assert found.X.shape == (4, 1000)
    assert found.y.tolist() == [1, 0, 0, 1]

    def column(index: int) -> int:
        return (index + 1) * 0x9E3779B97F4A7C15 % 2**64 * 1000 // 2**64

    dense = np.zeros((4, 1000))
    dense[0, column(3)] += 1
    dense[0, column(54686451)] += 2.5
    dense[1, column(3)] += 0.75
    dense[3, column(0)] += 1
    assert np.array_equal(found.X.toarray(), dense)
    assert np.array_equal(label_data.kddcup2012(path, n_features=1000, rows=2).X.toarray(), dense[:2])
    assert label_data.kddcup2012(path, n_features=1).X.toarray().ravel().tolist() == [3.5, 0.75, 0, 1]


def test_hashing_spreads_neighbouring_indices(tmp_path: Path) -> None:
    path = tmp_path / "kddb"
    path.write_text("".join(f"1 {index}:1\n" for index in range(3000)), encoding="utf-8")
    X = label_data.kddcup2012(path, n_features=4096).X
    assert X.sum() == 3000
    assert X.sum(axis=0).max() <= 3


@pytest.mark.parametrize(
    "line",
    [
        "1 3",
        "1 x:1",
        "1 -1:1",
        "1 3:nan",
        "1 3:inf",
        "1 3:1e39",
        "1 :1",
        "1 3:",
        f"1 {2**63}:1",
        "5 1:1",
        "",
        "one 1:1",
    ],
)
def test_bad_lines_of_click_data_are_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "kddb"
    path.write_text(f"1 3:1\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 2: "):
        label_data.kddcup2012(path)


@pytest.mark.parametrize("read", [label_data.higgs, label_data.kddcup2012])
def test_files_that_are_none(tmp_path: Path, read: Callable[..., object]) -> None:
    with pytest.raises(InputError, match="could not be read"):
        read(tmp_path / "none")
    (tmp_path / "empty").touch()
    with pytest.raises(InputError, match="no examples"):
        read(tmp_path / "empty")
    (tmp_path / "packed").write_bytes(b"\x1f\x8b\xff\xfe")
    with pytest.raises(InputError, match="unpack"):
        read(tmp_path / "packed")
    for rows in (0, -1, 1.5, True):
        with pytest.raises(InputError, match="rows must be"):
            read(tmp_path / "empty", rows=rows)


def test_results_beyond_the_memory_are_refused_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "HIGGS.csv"
    higgs_file(path, 100)
    monkeypatch.setattr(label_data, "_CHUNK", 10)
    assert len(label_data.higgs(path, max_memory=11300).y) == 100
    for most in (11299, 5000, 1):
        with pytest.raises(InputError, match="max_memory"):
            label_data.higgs(path, max_memory=most)
    assert len(label_data.higgs(path, rows=10, max_memory=1130).y) == 10
    with path.open("a", encoding="utf-8") as file:
        file.write("no number\n")
    with pytest.raises(InputError, match=r"about 1\.1"):  # said after the first lines, not at the last
        label_data.higgs(path, max_memory=5000)
    click = tmp_path / "kddb"
    click.write_text("1 3:1 4:1\n" * 50, encoding="utf-8")
    assert len(label_data.kddcup2012(click, max_memory=50 * 25).y) == 50
    with pytest.raises(InputError, match="max_memory"):
        label_data.kddcup2012(click, max_memory=50 * 25 - 1)


@pytest.mark.parametrize("n_features", [0, 2**31, 1.5, True])
def test_columns_are_checked(tmp_path: Path, n_features: object) -> None:
    with pytest.raises(InputError, match="n_features"):
        label_data.kddcup2012(tmp_path / "none", n_features=n_features)  # type: ignore[arg-type]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "BOM"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_texts_of_other_systems_mean_the_same(tmp_path: Path, mark: bytes, end: bytes) -> None:
    features, clicks = tmp_path / "higgs.csv", tmp_path / "kdd.txt"
    features.write_bytes(mark + (b"1" + b",0.25" * 28 + end) * 3)
    clicks.write_bytes(mark + b"1 1:0.5 7:1" + end + b"0 3:1" + end)
    assert label_data.higgs(features).X.tolist() == [[0.25] * 28] * 3
    X = label_data.kddcup2012(clicks, n_features=16).X.toarray()
    assert X.sum(axis=1).tolist() == [1.5, 1]
