"""Releases as a column of a frame or an Arrow table."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import slow
from scripts import PROGRAMS

import darrm
from darrm.accounting import Ledger
from darrm.randomness.words import NotPrivateWarning

DESIGN = darrm.solve(K=3, m=1, epsilon=0.1, max_affected=1)  # no noise: labels are majorities
MECHANISM = darrm.mechanisms.DaRRM(DESIGN)
VOTES = np.random.default_rng(0).integers(0, 2, (200, 3))
MAJORITY = (VOTES.sum(axis=1) > 1).astype(int).tolist()
NAMES = ["a", "b", "c"]


def frame(votes: Any = VOTES) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(votes, columns=NAMES, index=range(1000, 1000 + len(votes)))


def table(votes: Any = VOTES) -> Any:
    pa = pytest.importorskip("pyarrow")
    return pa.table({name: votes[:, j] for j, name in enumerate(NAMES)})


@pytest.mark.parametrize("kind", ["int64", "bool", "float32", "Int64", "boolean", "Float64", "int8[pyarrow]"])
def test_frames(kind: str) -> None:
    given = frame().astype(kind)
    labels = darrm.columns.release(MECHANISM, given)
    assert (labels.name, str(labels.dtype), labels.tolist()) == ("label", "uint8", MAJORITY)
    assert labels.index.equals(given.index)
    given["label"] = labels
    given.insert(0, "id", [f"x{i}" for i in range(len(given))])
    assert darrm.columns.release(MECHANISM, given).tolist() == MAJORITY


@pytest.mark.parametrize("kind", ["int64", "bool", "float64", "uint8"])
def test_arrow_tables_and_batches(kind: str) -> None:
    pa = pytest.importorskip("pyarrow")
    whole = table(VOTES.astype(kind))
    chunked = pa.concat_tables([whole.slice(0, 70), whole.slice(70)])
    for given in (whole, chunked, chunked.combine_chunks().to_batches()[0]):
        labels = darrm.columns.release(MECHANISM, given)
        assert isinstance(labels, pa.UInt8Array)
        assert labels.to_pylist() == MAJORITY
    labelled = whole.append_column("label", labels)
    assert darrm.columns.release(MECHANISM, labelled).to_pylist() == MAJORITY
    assert len(darrm.columns.release(MECHANISM, whole.slice(0, 0))) == 0


def test_any_table_that_speaks_arrow() -> None:
    class Foreign:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return table().__arrow_c_stream__(requested_schema)

    assert darrm.columns.release(MECHANISM, Foreign()).to_pylist() == MAJORITY


def test_the_coins_are_those_of_release() -> None:
    noisy = darrm.mechanisms.DaRRM(darrm.solve(K=3, m=1, epsilon=0.1))
    with pytest.warns(NotPrivateWarning):
        wanted = noisy.release(VOTES, rng=np.random.default_rng(1)).tolist()
    with pytest.warns(NotPrivateWarning):
        assert darrm.columns.release(noisy, frame(), rng=np.random.default_rng(1)).tolist() == wanted
    assert wanted != MAJORITY


def test_bad_frames() -> None:
    missing = frame().astype("Int64")
    missing.iloc[7, 1] = None
    nan = frame().astype(float)
    nan.iloc[7, 1] = np.nan
    two = frame()
    two.iloc[7, 1] = 2
    for given, said in [
        (missing, "row 7, column b: A vote must be 0 or 1. Got None"),
        (nan, "row 7, column b: A vote must be 0 or 1. Got NaN"),
        (two, "row 7, column b: A vote must be 0 or 1. Got 2"),
        (frame().astype(str) + "x", "row 0, column a: A vote must be 0 or 1. Got '[01]x'"),
        (frame().astype("datetime64[ns]"), "column a must hold numbers 0 and 1, truth values or texts. Got dtype date"),
        (frame().astype(object).map(lambda vote: [vote]), "column a must hold numbers .* Got dtype object"),
        (frame().astype(object).map(lambda vote: b"1"), "column a must hold numbers .* Got a value of type bytes"),
        (frame().astype(complex), "column a must hold numbers"),
        (frame()[["a", "b"]], "K = 3 vote columns.* Got 2: a, b"),
        (frame()["a"], "must be a DataFrame of pandas or polars, or an Arrow table. Got Series"),
        (VOTES, "Got ndarray"),
        (None, "Got NoneType"),
    ]:
        with pytest.raises(darrm.InputError, match=said):
            darrm.columns.release(MECHANISM, given)
    with pytest.raises(darrm.InputError, match="mechanism must be"):
        darrm.columns.release(DESIGN, frame())  # type: ignore[arg-type]


def test_bad_arrow_tables() -> None:
    pa = pytest.importorskip("pyarrow")
    for max_affected, said in [
        (pa.array([None] + [1] * 199), "row 0, column b: A vote must be 0 or 1. Got None"),
        (pa.chunked_array([[1] * 150, [0] * 49 + [3]]), "row 199, column b: .* Got 3"),
        (pa.array(["1", "2"] * 100), "row 1, column b: A vote must be 0 or 1. Got '2'"),
        (pa.array([[1]] * 200), "column b must hold numbers 0 and 1, truth values or texts. Got type list"),
    ]:
        with pytest.raises(darrm.InputError, match=said):
            darrm.columns.release(MECHANISM, table().set_column(1, "b", max_affected))
    for given in (table()["a"], pa.array([1, 0])):
        with pytest.raises(darrm.InputError, match=r"must be a DataFrame of pandas or polars, or an Arrow table\. Got"):
            darrm.columns.release(MECHANISM, given)


def test_a_ledger_pays_for_the_column_or_for_none_of_it(tmp_path: Path) -> None:
    noisy = darrm.solve(K=3, m=1, epsilon=0.25)
    book = Ledger.create(
        tmp_path / "ledger.json", noisy, total_epsilon=1, total_delta=0, voters="fresh", rule="basic-filter"
    )
    mechanism = darrm.mechanisms.DaRRM(noisy)
    assert len(darrm.columns.release(mechanism, frame(VOTES[:3]), ledger=book)) == 3
    with pytest.raises(darrm.BudgetError):
        darrm.columns.release(mechanism, frame(VOTES[:2]), ledger=book)
    assert book.status()["released"] == 3


@pytest.mark.thorough
def test_arrow_needs_no_library_of_frames() -> None:
    pytest.importorskip("pyarrow")
    program = [PROGRAMS / "without.py", "pandas,polars", PROGRAMS / "arrow_column.py"]
    ended = subprocess.run([sys.executable, *program], capture_output=True, text=True, check=True)
    assert ended.stdout == "[1, 0]\n"


# Decisions


def last_voter_decides(absent: bool) -> darrm.mechanisms.PrivateDecision:
    """No noise: of the two voters in groups of one the second is the answer, and nobody's is "no"."""
    groups = [darrm.VoterGroup(1, epsilon=40.0), darrm.VoterGroup(1, epsilon=40.0)]
    problem = darrm.DecisionProblem(groups, epsilon=1000.0, classes=("no", "yes"))
    truth = darrm.objectives.truth([0.5, 1.0], prior=[0.75, 0.25])
    fewer = {}
    if absent:
        for present, table in (((0, 1), [0.0, 1.0]), ((1, 0), [0.0, 0.0])):
            own = problem.with_present(present)
            fewer[present] = darrm.DecisionDesign(own, table, truth.with_present(present))
    return darrm.mechanisms.PrivateDecision(darrm.DecisionDesign(problem, [[0, 1]] * 2, truth, fewer=fewer))


@pytest.mark.thorough
def test_decisions_of_a_frame_have_their_names() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": ["no", "yes", None], "b": [1.0, -1, float("nan")]}, index=[5, 6, 7])
    labels = darrm.columns.release(last_voter_decides(absent=True), frame)
    assert labels.tolist() == ["yes", "no", "no"]
    assert labels.index.tolist() == [5, 6, 7]
    assert labels.name == "label"
    nullable = frame.assign(b=pd.array([1, None, 0], dtype="Int8"))
    assert darrm.columns.release(last_voter_decides(absent=True), nullable).tolist() == ["yes", "no", "no"]
    for bad, said in (
        ("a", "row 2, column a: A vote must be no or yes. Got None"),
        ("b", r"row 1, column b: A vote must be no or yes\. Got -1\.0\. Voters may be absent"),
    ):
        given = frame.assign(**{"b" if bad == "a" else "a": 0})
        with pytest.raises(darrm.InputError, match=said):
            darrm.columns.release(last_voter_decides(absent=False), given)


@pytest.mark.thorough
def test_decisions_of_an_arrow_table_have_their_names() -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"id": [1, 2, 3], "a": pa.array(["no", None, "yes"]), "b": pa.array([1, 0, None], pa.int8())})
    labels = darrm.columns.release(last_voter_decides(absent=True), table)
    assert labels.to_pylist() == ["yes", "no", "no"]
    with pytest.raises(darrm.InputError, match="row 1, column a: A vote must be no or yes"):
        darrm.columns.release(last_voter_decides(absent=False), table)


def test_other_mechanisms_have_no_columns() -> None:
    with pytest.raises(darrm.InputError, match=r"must be a DaRRM\(design\) or PrivateDecision\(design\). Got"):
        darrm.columns.release(darrm.mechanisms.RandomizedResponse(1.0), None)  # type: ignore[arg-type]


# polars


@pytest.mark.parametrize("kind", ["Int64", "UInt8", "Boolean", "Float32"])
def test_polars_frames_give_polars_back(kind: str) -> None:
    pl = pytest.importorskip("polars")
    given = pl.DataFrame(VOTES, schema=NAMES, orient="row").cast(getattr(pl, kind))
    labels = darrm.columns.release(MECHANISM, given)
    assert isinstance(labels, pl.Series)
    assert (labels.name, labels.dtype, labels.to_list()) == ("label", pl.UInt8, MAJORITY)
    labelled = given.with_columns(labels).insert_column(0, pl.Series("id", range(len(given))))
    assert darrm.columns.release(MECHANISM, labelled).to_list() == MAJORITY
    assert darrm.columns.release(MECHANISM, given[:0]).to_list() == []
    twice = pl.concat([given[:70], given[70:]], rechunk=False)
    assert darrm.columns.release(MECHANISM, twice).to_list() == MAJORITY


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["String", "Categorical", "Enum"])
def test_decisions_of_a_polars_frame_have_their_names(kind: str) -> None:
    pl = pytest.importorskip("polars")
    kind = pl.Enum(["no", "yes"]) if kind == "Enum" else getattr(pl, kind)
    given = pl.DataFrame({"a": pl.Series(["no", "yes", None], dtype=kind), "b": [1, -1, None]})
    labels = darrm.columns.release(last_voter_decides(absent=True), given)
    assert labels.dtype == pl.Enum(["no", "yes"])
    assert labels.to_list() == ["yes", "no", "no"]
    with pytest.raises(darrm.InputError, match=r"row 2, column a: A vote must be no or yes\. Got None"):
        darrm.columns.release(last_voter_decides(absent=False), given.with_columns(b=0))


def test_bad_polars_frames() -> None:
    pl = pytest.importorskip("polars")
    given = pl.DataFrame(VOTES, schema=NAMES, orient="row")
    two = given.with_columns(b=pl.Series([0] * 7 + [2] + [0] * 192))
    for bad, said in [
        (two, "row 7, column b: A vote must be 0 or 1. Got 2"),
        (given.with_columns(b=pl.lit(None, pl.Int8)), "row 0, column b: A vote must be 0 or 1. Got None"),
        (given.cast(pl.Date), "column a must hold numbers 0 and 1, truth values or texts. Got type date"),
        (given.select("a", "b"), "K = 3 vote columns.* Got 2: a, b"),
        (given.lazy(), "Got LazyFrame.* collect a LazyFrame"),
        (given["a"], "Got Series"),
        (
            given.cast(pl.Int128),
            r"could not be read by Arrow \(.*\)\. Cast columns of types that Arrow lacks, such as Int128",
        ),
    ]:
        with pytest.raises(darrm.InputError, match=said):
            darrm.columns.release(MECHANISM, bad)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["Categorical", *slow("Enum", "String")])
def test_ids_of_a_polars_frame_may_be_categories(kind: str, tmp_path: Path) -> None:
    pl = pytest.importorskip("polars")
    given = with_ids("polars", ["x", "y", "z"])
    typed = given.cast({"id": pl.Enum(["z", "y", "x"]) if kind == "Enum" else getattr(pl, kind)})
    ledger = darrm.accounting.Ledger.create(
        tmp_path / "l.json", MECHANISM.design, total_epsilon=50, total_delta=1e-5, voters="fresh"
    )
    assert len(darrm.columns.release(MECHANISM, typed, ledger=ledger)) == 3
    with pytest.raises(darrm.InputError, match="3 ids were charged before, first 'x'"):
        darrm.columns.release(MECHANISM, given, ledger=ledger)


def with_ids(kind: str, ids: list[Any]) -> Any:
    """A table of as many rows, with a column of ids."""
    rows = VOTES[: len(ids)]
    if kind == "arrow":
        return table(rows).add_column(0, "id", [pytest.importorskip("pyarrow").array(ids)])
    if kind == "polars":
        return pytest.importorskip("polars").DataFrame(
            {"id": ids, **{name: rows[:, j] for j, name in enumerate(NAMES)}}
        )
    given = frame(rows)
    given.insert(0, "id", ids)
    return given


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_a_ledger_knows_the_ids_of_a_column(kind: str, tmp_path: Path) -> None:
    book = Ledger.create(tmp_path / "l.json", DESIGN, total_epsilon=2, total_delta=0, voters="fixed")
    assert len(darrm.columns.release(MECHANISM, with_ids(kind, ["x", "y"]), ledger=book)) == 2
    for _ in range(2):  # as an engine does that evaluates a column twice
        with pytest.raises(darrm.InputError, match="One id was charged before: 'y'"):
            darrm.columns.release(MECHANISM, with_ids(kind, ["z", "y"]), ledger=book)
    assert (book.status()["released"], book.status()["ids"]) == (2, 2)
    darrm.columns.release(MECHANISM, with_ids(kind, ["z", "y"]), ledger=book, again=True)
    darrm.columns.release(MECHANISM, with_ids(kind, [1, 2]), ledger=book)
    with pytest.raises(darrm.InputError, match="before: '2'"):
        darrm.columns.release(MECHANISM, with_ids(kind, ["2"]), ledger=book)
    assert book.status()["released"] == 6


def test_a_table_without_ids_has_no_place_in_a_stream(tmp_path: Path) -> None:
    book = Ledger.create(tmp_path / "l.json", DESIGN, total_epsilon=2, total_delta=0, voters="fresh")
    for _ in range(2):
        assert len(darrm.columns.release(MECHANISM, frame(VOTES[:2]), ledger=book)) == 2
    assert (book.status()["released"], book.status()["streams"]) == (4, {})
    assert book.status()["condition"].startswith("each row of votes is released once")
