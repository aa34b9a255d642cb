"""Decisions between several classes, from the design to labels in arrays, frames, Arrow tables and files."""

import copy
import csv
import json
import os
import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

import darrm
from darrm.cli import main
from darrm.mechanisms import PrivateDecision
from darrm.problem.class_tables import exact_rows
from darrm.problem.counts import sorted_counts
from darrm.randomness.words import NotPrivateWarning

NAMES = ("no", "may be", "yes")
LOUD = darrm.VoterGroup(3, epsilon=100.0)  # so private that nothing need be hidden


def most_votes(classes: Any, none: bool = False, epsilon: float = 1000.0) -> darrm.DecisionDesign:
    """No noise but for ties: the class with most votes; none if there is that answer and no class has two votes."""
    problem = darrm.DecisionProblem([LOUD], epsilon, classes=classes, none=none)
    table = np.zeros((3, problem.n_answers))
    table[:2, 0] = 1
    if none:
        table[2, -1] = 1
    else:
        table[2, :3] = 1 / 3
    goal = darrm.objectives.truth([0.8], none=0.5 if none else None)
    return darrm.DecisionDesign(problem, table, goal)


VOTES = np.array([[0, 1, 0], [2, 2, 2], [2, 1, 2], [1, 1, 0]])
LABELS = [0, 2, 2, 1]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "problem",
    [
        darrm.DecisionProblem([darrm.VoterGroup(4, 1.0)], 1.5, classes=3),
        darrm.DecisionProblem([darrm.VoterGroup(2, 1.0), darrm.VoterGroup(1, 0.5)], 1.0, classes=NAMES),
    ],
    ids=["alike", "groups"],
)
@pytest.mark.filterwarnings("ignore::darrm.randomness.words.NotPrivateWarning")
def test_a_solved_decision_has_its_probabilities(problem: darrm.DecisionProblem) -> None:
    design = darrm.solve(problem, objective=darrm.objectives.truth([0.7, 0.6][: len(problem.groups)]))
    mechanism, rng, n = PrivateDecision(design), np.random.default_rng(0), 30_000
    assert all(sum(row) == 1 for row in exact_rows(design.table, problem))
    for _ in range(5):
        row = rng.integers(0, 3, problem.K)
        ends = np.cumsum([0, *(group.count for group in problem.groups)])
        parts = [np.bincount(row[start:end], minlength=3) for start, end in pairwise(ends)]
        chances = design.probabilities(np.array(parts)[None])[0]
        for labels in (
            mechanism.release(np.tile(row, (n, 1)), rng=rng),
            mechanism.release_counts(np.tile(parts, (n, 1, 1)), rng=rng),
        ):
            seen = np.bincount(labels, minlength=3)
            likely = chances > 1e-9
            assert not seen[~likely].any()
            assert likely.sum() == 1 or (
                scipy.stats.chisquare(seen[likely], n * chances[likely] / chances[likely].sum()).pvalue > 1e-4
            )


@pytest.mark.parametrize("again", [lambda made: pickle.loads(pickle.dumps(made)), copy.deepcopy])
def test_pickles_copies_and_files_release_the_same(again: Any, tmp_path: Path) -> None:
    design = darrm.solve(
        darrm.DecisionProblem([darrm.VoterGroup(4, 1.0)], 1.5, classes=NAMES), objective=darrm.objectives.truth([0.7])
    )
    design.save(tmp_path / "decision.json")
    votes = np.random.default_rng(0).integers(0, 3, (500, 4))
    drawn = []
    loaded = darrm.load(tmp_path / "decision.json")
    assert isinstance(loaded, darrm.DecisionDesign)
    for made in (PrivateDecision(design), again(PrivateDecision(design)), PrivateDecision(loaded)):
        with pytest.warns(NotPrivateWarning):
            drawn.append(made.release(votes, rng=np.random.default_rng(3)).tolist())
    assert drawn[0] == drawn[1] == drawn[2]


def test_each_block_is_charged_by_its_rows_and_before_a_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of K votes is one label, however it is kept until it is paid for."""
    design, charged = most_votes(NAMES), list[int]()

    class Stream:
        def __init__(self, *given: object) -> None:
            assert given == ("ledger", design, "", False)

        def charge(self, n: int, ids: object) -> int:
            assert ids is None
            if sum(charged) + n > 8:
                raise darrm.BudgetError("no more")
            charged.append(n)
            return 0

    monkeypatch.setattr("darrm.accounting.streams.Stream", Stream)
    mechanism = PrivateDecision(design)
    labels = mechanism.release_blocks([VOTES, VOTES[:0], VOTES[1], VOTES], ledger="ledger")  # type: ignore[arg-type]
    assert (next(labels).tolist(), charged) == (LABELS, [4])
    assert (next(labels).tolist(), charged) == ([], [4])
    assert (next(labels).tolist(), charged) == ([2], [4, 1])
    with pytest.raises(darrm.BudgetError):
        next(labels)
    for bad, said in ([[0, 1, 3]], "Got 3 in row 4, column 2"), ([[0.5] * 3], "Got 0.5 in row 4, column 0"):
        labels = mechanism.release_blocks([VOTES[:0], *VOTES, bad], ledger="ledger")  # type: ignore[arg-type]
        with pytest.raises(darrm.InputError, match=said):
            list(labels)
    monkeypatch.setattr(mechanism, "_flip", lambda *given: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        next(mechanism.release_blocks([VOTES[:3]], ledger="ledger"))  # type: ignore[arg-type]
    assert charged == [4, 1, 3]


def test_words_come_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """One for each row, and one more where several classes are as good, but for the rare word too many."""
    asked: list[int] = []
    true = os.urandom

    def urandom(n: int) -> bytes:
        asked.append(n)
        return true(n)

    monkeypatch.setattr(os, "urandom", urandom)
    PrivateDecision(most_votes(3)).release(np.tile([[0, 1, 2], [1, 1, 0]], (500, 1)))
    assert asked[:2] == [8000, 4000]


# Columns


@pytest.mark.parametrize("kind", ["int64", "float32", "Int8", "uint8"])
def test_frames_of_numbers(kind: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(VOTES, columns=["a", "b", "c"], index=[5, 6, 7, 8]).astype(kind)
    labels = darrm.columns.release(PrivateDecision(most_votes(3)), frame)
    assert (labels.tolist(), str(labels.dtype), labels.index.tolist()) == (LABELS, "uint8", [5, 6, 7, 8])
    eleven = darrm.columns.release(PrivateDecision(most_votes(11)), frame + 8)
    assert eleven.tolist() == [label + 8 for label in LABELS]


def test_frames_of_names() -> None:
    pandas = pytest.importorskip("pandas")
    names = np.array(NAMES)[VOTES]
    mixed = pandas.DataFrame({"a": names[:, 0], "b": VOTES[:, 1], "c": pandas.Categorical(names[:, 2])})
    labels = darrm.columns.release(PrivateDecision(most_votes(NAMES)), mixed)
    assert labels.tolist() == [NAMES[label] for label in LABELS]
    assert tuple(labels.cat.categories) == NAMES
    bad = mixed.astype({"a": object})
    bad.loc[2, "a"] = "none"
    with pytest.raises(darrm.InputError, match=r"row 2, column a: A vote must be no, may be or yes\. Got 'none'"):
        darrm.columns.release(PrivateDecision(most_votes(NAMES, none=True)), bad)


@pytest.mark.parametrize("classes", [3, NAMES])
def test_none_is_a_name_among_others(classes: Any) -> None:
    pandas, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    mechanism, names = PrivateDecision(most_votes(classes, none=True)), (*most_votes(classes).problem.names, "none")
    votes = np.array([[0, 1, 2], [1, 1, 0]])
    assert mechanism.release(votes).tolist() == [3, 1]
    frame = pandas.DataFrame(votes, columns=["a", "b", "c"])
    labels = darrm.columns.release(mechanism, frame)
    assert labels.tolist() == ["none", names[1]]
    assert tuple(labels.cat.categories) == names
    array = darrm.columns.release(mechanism, pa.table(frame))
    assert array.to_pylist() == ["none", names[1]]
    assert array.dictionary.to_pylist() == list(names)


@pytest.mark.parametrize("bad", [3, -1, 0.5, float("nan"), None])
def test_cells_that_are_no_class(bad: Any) -> None:
    pandas, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    columns = {"a": [0, 1], "b": [0, bad], "c": [2, 2]}
    for table in (pandas.DataFrame(columns), pa.table(columns)):
        with pytest.raises(darrm.InputError, match=r"row 1, column b: A vote must be 0, 1 or 2\. Got"):
            darrm.columns.release(PrivateDecision(most_votes(3)), table)


def test_arrow_tables() -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"id": list("wxyz"), **{name: VOTES[:, j] for j, name in enumerate("abc")}})
    labels = darrm.columns.release(PrivateDecision(most_votes(3)), table)
    assert isinstance(labels, pa.UInt8Array)
    assert labels.to_pylist() == LABELS
    named = pa.table({name: pa.array(np.array(NAMES)[VOTES[:, j]]).dictionary_encode() for j, name in enumerate("abc")})
    assert darrm.columns.release(PrivateDecision(most_votes(NAMES)), named).to_pylist() == [NAMES[i] for i in LABELS]
    with pytest.raises(darrm.InputError, match=r"row 0, column a: A vote must be 0, 1 or 2\. Got '"):
        darrm.columns.release(PrivateDecision(most_votes(3)), named)


# darrm release


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
@pytest.mark.parametrize(
    ("classes", "none"), [(3, False), (NAMES, False), (NAMES, True), (3, True), (11, False)], ids=str
)
def test_the_command_reads_classes_and_writes_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, classes: Any, none: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    design = most_votes(classes, none)
    design.save("decision.json")
    votes = np.concatenate([VOTES, [[0, 1, 2]]]) if none else VOTES
    names, wanted = design.problem.answers, LABELS + [design.problem.n_classes] * none
    cells = [[names[vote] for vote in row] for row in votes.tolist()]
    lines = ["id,a,b,c,label", *(f"q{i},{','.join(row)},{row[0]}" for i, row in enumerate(cells))]
    Path("votes.csv").write_text("\n".join(lines), encoding="utf-8")
    out = Path(f"labels.{ending}")
    assert main(["release", "decision.json", "--votes", "votes.csv", "--out", str(out)]) == 0
    if ending == "csv":
        rows = list(csv.DictReader(out.read_text(encoding="utf-8").splitlines()))
    elif ending == "json":
        rows = json.loads(out.read_text(encoding="utf-8"))
    else:
        rows = pytest.importorskip("pyarrow.parquet").read_table(out).to_pylist()
    numbers = isinstance(classes, int) and not none and ending != "csv"
    assert rows == [{"id": f"q{i}", "label": o if numbers else names[o]} for i, o in enumerate(wanted)]


def test_the_command_refuses_a_vote_for_one_class_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    most_votes(3).save("decision.json")
    Path("votes.csv").write_text("a,b,c\n1,2,3\n", encoding="utf-8")
    assert main(["release", "decision.json", "--votes", "votes.csv", "--out", "labels.csv"]) == 2
    said = "line 2, column c: A vote must be 0, 1 or 2. Got '3'. Classes are numbered from 0: pass 0 to 2."
    assert said in capsys.readouterr().err
    assert not Path("labels.csv").exists()


def test_symmetric_tables_have_a_row_for_sorted_votes() -> None:
    """What the tables above are made for."""
    assert sorted_counts(3, 3).tolist() == [[3, 0, 0], [2, 1, 0], [1, 1, 1]]
    assert len(sorted_counts(3, 11)) == 3
