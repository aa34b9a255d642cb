"""Some hundred cases of every target of tests/tools/fuzz, what fuzzing found before, and that it can find anything."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import ledgers
import pytest
from cases import slow, thorough
from scripts import TOOLS

import darrm
from darrm.accounting import Ledger
from darrm.cli import main
from darrm.storage import sealed_json
from darrm.tables import journal

FUZZ = TOOLS / "fuzz"
KEPT_WITH = "python 3.11.7, darrm 0.1.0, highspy 1.15.1, numpy 2.4.6, scipy 1.17.1"
CASES = {"command": 15, "certificate": 15, "journal": 8, "design": 20, "table": 12}
CASES |= {"decision": 10, "charges": 4, "plan": 6, "page": 10, "place": 20, "key": 20, "old": 15}
TARGETS = ("command", "design", "certificate", "votes", "table", "journal", "ledger", "idx", "text")
TARGETS += ("decision", "charges", "plan", "page", "place", "parties", "key", "old")
LONG = ("command", "design", "ledger", "charges")


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(sys, "path", [str(FUZZ), *sys.path])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    import worker

    sys.path[:0] = worker.PLACES  # each test begins without them
    return worker


@pytest.fixture
def run(worker: Any) -> Any:
    import run

    assert set(run.NAMES) == set(TARGETS)
    return run


@pytest.mark.thorough
@pytest.mark.parametrize("target", [*(target for target in TARGETS if target not in LONG), *slow(*LONG)])
def test_a_short_run_finds_nothing(target: str, worker: Any, tmp_path: Path) -> None:
    runs = worker.Runs(target, tmp_path)
    worker.by_hypothesis(runs, 7, CASES.get(target, 100))
    assert not runs.findings, "\n".join(found["text"] for found in runs.findings.values())
    assert runs.cases == CASES.get(target, 100)
    assert len(runs.outcomes) > 1, "cases of one outcome only reach nothing"


@pytest.mark.first(2)
@pytest.mark.parametrize("path", sorted((FUZZ / "corpus").glob("*.json")), ids=lambda path: path.stem)
def test_a_case_that_was_kept_ends_as_it_did(
    path: Path, worker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = json.loads(path.read_text(encoding="utf-8"))
    monkeypatch.setattr(journal, "made_with", lambda: KEPT_WITH)  # a journal of other versions is refused
    runs = worker.Runs(kept["target"], tmp_path)
    runs.run(worker.unplain(kept["case"]))
    assert not runs.findings
    assert dict(runs.outcomes) == {kept["outcome"]: 1}


def planted(worker: Any, tmp_path: Path, target: str, cases: int = 60) -> dict[str, Any]:
    runs = worker.Runs(target, tmp_path)
    worker.by_hypothesis(runs, 7, cases)
    found: dict[str, Any] = runs.findings
    return found


@pytest.mark.thorough
def test_an_accepted_gamma_that_is_not_private_is_found(
    worker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from darrm.design import checks

    honest = checks.verify

    def careless(*given: Any) -> Any:
        found = honest(*given)
        object.__setattr__(found, "holds", True)
        return found

    monkeypatch.setattr(checks, "verify", careless)
    assert any("wrong accept" in name for name in planted(worker, tmp_path, "certificate"))


@pytest.mark.thorough
def test_an_accepted_decision_that_is_not_private_is_found(
    worker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from darrm.design import checks

    honest = checks.verify

    def careless(*given: Any) -> Any:
        found = honest(*given)
        object.__setattr__(found, "holds", True)
        return found

    problem = {"epsilon": 1.2, "delta": 0.0, "classes": 2, "max_affected": 2, "none": False}
    objective = {"accuracy": [0.7, 0.6], "prior": None, "cost": None, "none": None, "rule": None}
    case = {"groups": [[2, 1.0, 0.0, 2], [1, 0.3, 0.0, 1]], "problem": problem, "objective": objective}
    case |= {"options": {"absent": True}, "change": "drawn", "at": 0, "drawn": [0.0] * 3 + [1.0] * 5}
    runs = worker.Runs("decision", tmp_path)
    runs.run(case)
    assert runs.outcomes == {"not proved": 1}
    monkeypatch.setattr(checks, "verify", careless)
    runs.run(case)
    assert any("wrong accept" in name for name in runs.findings)


def charged(worker: Any, tmp_path: Path) -> dict[str, Any]:
    """What is found in one ledger that pays for labels, a guarantee and a Gaussian answer."""
    budget = {"total_epsilon": 20.0, "total_delta": 1e-3, "voters": "fresh", "rule": "in-advance", "adjacency": None}
    steps = [["design", "groups.json", 2, ""], ["pair", [0.5, 1e-9], 3, "a count"], ["gaussian", 3.0, 1, ""]]
    runs = worker.Runs("charges", tmp_path)
    runs.run({"budget": budget, "first": None, "steps": steps})
    found: dict[str, Any] = runs.findings
    return found


@pytest.mark.thorough
def test_a_ledger_that_adds_up_too_little_is_found(
    worker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from darrm.accounting import rules

    assert not charged(worker, tmp_path)
    honest = rules.spent
    monkeypatch.setattr(rules, "spent", lambda state: (0.8 * honest(state)[0], honest(state)[1]))
    assert any("certainly needs delta" in name for name in charged(worker, tmp_path))


@pytest.mark.thorough
def test_a_refusal_that_charges_is_found(worker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Ledger.charge

    def too_late(self: Ledger, *given: Any, **named: Any) -> None:
        honest(self, *given, **named)
        raise darrm.BudgetError("too late")

    monkeypatch.setattr(Ledger, "charge", too_late)
    assert any("a refusal changed the ledger" in name for name in charged(worker, tmp_path))


@pytest.mark.thorough
def test_a_plan_that_counts_half_the_labels_is_found(
    worker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from darrm.accounting import search
    from darrm.planning import designs

    honest = search.Budget.total
    monkeypatch.setattr(search.Budget, "total", lambda self, release: honest(self, release) / 2)
    monkeypatch.setattr(designs, "pays", lambda *given: True)
    case = {"K": 5, "epsilon": 1.0, "base_accuracy": 0.85, "max_affected": 1, "queries": 50}
    case |= {"total_epsilon": 3.0, "total_delta": 1e-6, "voters": "fresh", "compare": False}
    runs = worker.Runs("plan", tmp_path)
    runs.run(case)
    assert any("certainly need delta" in name for name in runs.findings), runs.outcomes


@pytest.mark.parametrize("defect", ["raises", "not escaped"])
def test_a_page_that_fails_is_found(worker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, defect: str) -> None:
    import of_pages

    from darrm.show.explore import plan_page

    honest = plan_page.explorer

    def broken(state: Any, *more: str) -> str:
        if defect == "raises":
            raise ZeroDivisionError
        return honest(state, *more) + str(state.texts["count1"])

    asked = {"path": "/", "raw": "", "headers": {"Host": "127.0.0.1:8000", "Sec-Fetch-Site": "none"}}
    case = asked | {"pairs": [["count1", of_pages.MARK]]}
    runs = worker.Runs("page", tmp_path)
    runs.run(case)
    assert runs.outcomes == {"status 400": 1}
    monkeypatch.setattr(plan_page, "explorer", broken)
    runs.run(case)
    assert len(runs.findings) == 1


@pytest.mark.slow
def test_an_unchecked_ledger_is_found(worker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("darrm.accounting.ledger_state._check", lambda state: None)
    monkeypatch.setattr("darrm.accounting.ledger_store.Store.history", lambda store: (store.read(), []))
    assert planted(worker, tmp_path, "ledger")


@pytest.mark.thorough
def test_a_checksum_that_is_not_compared_is_found(worker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import material
    import of_ledgers

    content = material.good()["fresh.json"].replace(b'"charged": 2', b'"charged": 1')
    case = {"name": "fresh.json", "content": content, "text": False, "signed": False, "beside": {}, "n": 1}
    runs = worker.Runs("ledger", tmp_path)
    runs.run(case)
    assert runs.outcomes == {"refused": 1}
    text = b'"charged": 1'.join(of_ledgers._text(material.good()["fresh.json"]).encode().split(b'"charged": 2'))
    monkeypatch.setattr("darrm.accounting.ledger_store._sealed", lambda text: mock.ANY)
    monkeypatch.setattr("darrm.accounting.ledger_store.Store.history", lambda store: (store.read(), []))
    runs.run({**case, "content": text, "text": True})
    assert any("more is left" in name for name in runs.findings)


@pytest.mark.thorough
def test_a_traceback_of_a_command_is_found(worker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import material

    material.good()
    monkeypatch.setattr("darrm.votes.files.blocks_of", lambda *given, **named: 1 / 0)
    case = {"args": ["release", "gamma.json", "--votes", "votes3.csv", "--out", "new.csv"], "columns": "80"}
    runs = worker.Runs("command", tmp_path)
    runs.run(case)
    (found,) = runs.findings.values()
    assert "ZeroDivisionError" in found["text"]
    assert worker.unplain(found["case"]) == case


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc: run on Linux")
@pytest.mark.parametrize(("limit", "said"), [("CPU", "hang"), *thorough(("MEMORY", "memory"))])
def test_what_hangs_or_grows_is_ended_and_kept(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, said: str
) -> None:
    monkeypatch.setattr(run, limit, 0.0)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (FUZZ.parents[1], FUZZ.parents[1] / "solvers"))))
    run.one_round("certificate", 1, 60.0, 10_000, False, tmp_path / "findings")
    (path,) = (tmp_path / "findings").glob("*.json")
    assert json.loads(path.read_text())["text"].startswith(said)


def test_cases_survive_being_kept(worker: Any) -> None:
    case = {"a": b"\xff", "b": [1, None, "\udcff", 5e-324, float("inf")], "c": {"d": True, "e": 10**30}}
    assert worker.unplain(json.loads(json.dumps(worker.plain(case)))) == case


# What was found, and mended.


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command that must be refused, in one line, in a folder with a design and a ledger."""
    monkeypatch.chdir(tmp_path)
    design = darrm.solve(K=3, m=2, epsilon=0.5)
    design.save("gamma.json")
    Ledger.create("book.json", design, total_epsilon=9.0, total_delta=1e-6, voters="fresh").charge(design, 2)

    def run(*arguments: str) -> str:
        capsys.readouterr()
        assert main(arguments) == 2
        said = capsys.readouterr().err
        assert len(said.splitlines()) == 1
        assert said.startswith("darrm: ")
        return said

    return run


@pytest.mark.parametrize(
    "arguments",
    [
        ("release", "loop", "--votes", "votes.csv", "--out", "labels.csv"),
        ("release", "gamma.json", "--votes", "loop", "--out", "labels.csv"),
        ("release", "gamma.json", "--votes", "votes.csv", "--out", "loop"),
        ("release", "gamma.json", "--votes", "votes.csv", "--out", "labels.csv", "--ledger", "loop"),
        ("ledger", "show", "loop"),
        ("report", "loop", "--out", "loop"),
    ],
)
def test_links_that_lead_to_themselves(refused: Callable[..., str], arguments: tuple[str, ...]) -> None:
    Path("loop").symlink_to("loop")
    refused(*arguments)


def book(**changes: Any) -> dict[str, Any]:
    """A ledger with changes, under a checksum of its own."""
    content = ledgers.content("book.json")
    (name,) = content["designs"]
    for key, value in changes.items():
        if key in ("problem", "table_hex", "charged", "allowed"):
            content["designs"][name][key] = value
        else:
            content[key] = value
    ledgers.forge("book.json", content)
    return content


@pytest.mark.first(8)
@pytest.mark.parametrize(
    "changes",
    [
        {"problem": {"K": 3, "m": 2, "epsilon": 0.5, "basic": 1}},
        {"problem": {}},
        {"problem": None},
        {"table_hex": ["0x1p99999"] * 4},
        {"table_hex": ["0x1.0p+0"] * 4},
        {"table_hex": []},
        {"charged": 10**30},
        {"charged": -1},
        {"charged": True},
        {"allowed": "9"},
        {"allowed": None},
        {"allowed": 1},
        {"total_epsilon": "3"},
        {"total_epsilon": -1.0},
        {"total_delta": []},
        {"voters": ["fresh"]},
        {"rule": "none"},
        {"rule": "basic-filter"},
        {"designs": {}},
        {"designs": []},
        {"adjacency": "add-remove"},
        {"adjacency": ""},
        {"others": {"x": {}}},
        {"leaving": 1},
        {"leaving": [{}]},
        {"leaving": [{"part": 1, "out": 2}]},
        {"leaving": [{"part": "\0", "out": "\0"}]},
        {"leaving": [{"part": "", "out": ""}]},
        {"leaving": [{"part": "/.", "out": "/"}]},
    ],
    ids=str,
)
def test_ledgers_that_no_ledger_wrote(refused: Callable[..., str], changes: dict[str, Any]) -> None:
    book(**changes)
    assert "not a complete ledger" in refused("ledger", "show", "book.json")


def test_a_ledger_moves_no_file_but_labels(refused: Callable[..., str], tmp_path: Path) -> None:
    """It is opened by whoever gets it, and must not rename what its author chose."""
    Path("diary.txt").write_text("mine", encoding="utf-8")
    for part in ("diary.txt", ".taken.csv.x.waiting/../diary.txt", "../diary.txt"):
        book(leaving=[{"part": str(tmp_path / part), "out": str(tmp_path / "taken.csv")}])
        assert "is not a file of labels" in refused("ledger", "show", "book.json")
    assert Path("diary.txt").read_text(encoding="utf-8") == "mine"
    assert not Path("taken.csv").exists()
    # What `releasing` itself leaves behind is still given its name.
    waiting = tmp_path / ".taken.csv.abc_1234.waiting"
    waiting.write_text("id,label\n1,0\n", encoding="utf-8")
    book(leaving=[{"part": str(waiting), "out": str(tmp_path / "taken.csv")}])
    assert main(["ledger", "show", "book.json"]) == 0
    assert Path("taken.csv").read_text(encoding="utf-8") == "id,label\n1,0\n"


@pytest.mark.thorough
def test_reading_json_twice_takes_the_memory_of_once(tmp_path: Path) -> None:
    import tracemalloc

    text = '{"format":"darrm-design","version":2,"a":[' + ",".join(['{"":0}'] * 50_000) + "]}"
    (tmp_path / "large.json").write_text(text, encoding="utf-8")
    tracemalloc.start()
    try:
        json.loads(text)
        alone = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        with pytest.raises(darrm.InputError, match="checksum"):
            darrm.load(tmp_path / "large.json")
        assert tracemalloc.get_traced_memory()[1] < 1.5 * alone
    finally:
        tracemalloc.stop()


def plan(**changes: str) -> list[str]:
    values = {"K": "3", "epsilon": "1", "queries": "2", "total-epsilon": "1", "total-delta": "0", "voters": "fresh"}
    values |= {"base_accuracy": "0.9", "max_affected": "1"}
    return [
        "plan",
        *(word for name, value in {**values, **changes}.items() for word in ("--" + name.replace("_", "-"), value)),
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("K", value) for value in ("x", "nan", "1e400", "0")),
        *(("epsilon", value) for value in ("0", "x", "-1")),
        *(("Delta", value) for value in ("x", "1")),
        *(("max_affected", value) for value in ("x", "4")),
    ],
)
def test_plans_for_voters_that_are_none(refused: Callable[..., str], name: str, value: str) -> None:
    assert f"{name.replace('_', '-')} must be" in refused(*plan(**{name: value}))


@pytest.mark.parametrize("name", ["delta", "max_affected", "classes", "none", "group delta", "group max_affected"])
def test_design_files_say_all_of_a_problem(tmp_path: Path, name: str) -> None:
    """Null stood for a default, which whoever else reads the file need not know."""
    problem = darrm.DecisionProblem([darrm.VoterGroup(2, 1.0)], 1.2)
    darrm.solve(problem, objective=darrm.objectives.truth([0.7])).save(tmp_path / "design.json")
    content = json.loads((tmp_path / "design.json").read_bytes())
    del content["sha256"]
    place = content["problem"]["groups"][0] if name.startswith("group ") else content["problem"]
    place[name.removeprefix("group ")] = None
    sealed_json.write(tmp_path / "design.json", content)
    with pytest.raises(darrm.InputError, match="must have a value for all its parameters"):
        darrm.load(tmp_path / "design.json")


@pytest.mark.thorough
def test_draws_have_an_end(refused: Callable[..., str]) -> None:
    assert "draws must be" in refused("compare", "--K", "3", "--m", "1", "--epsilon", "1", "--draws", "9" * 400)


@pytest.mark.thorough
def test_ranges_have_an_end(refused: Callable[..., str]) -> None:
    ranges = ",".join(["1:1e6"] * 3)  # each alone is allowed
    assert "--K must be" in refused("table", "--K", ranges, "--m", "1", "--epsilon", "1", "--out", "new.csv")


def test_a_table_is_read_no_further_than_its_first_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few hundred kilobytes of Parquet can stand for any number of rows."""
    from darrm.tables import files as tables
    from darrm.tables import solve_grid

    kinds = {".csv": "_read_csv", ".jsonl": "_read_jsonl", ".parquet": "_read_parquet"}
    (row,) = solve_grid(3, 1, 1.0).rows
    for ending, reader in kinds.items():
        path = tmp_path / f"table{ending}"
        tables.write(path, [row, row | {"K": -1}, row])
        honest, seen = getattr(tables, reader), []

        def counted(name: Path, honest: Any = honest, seen: Any = seen) -> Any:
            for one in honest(name):
                seen.append(one)
                yield one

        monkeypatch.setattr(tables, reader, counted)
        with pytest.raises(darrm.InputError, match="in row 2 K is not an integer"):
            tables.rows(path)
        assert len(seen) == 2
        tables.write(path, [row, row, row])
        assert len(tables.rows(path)) == 3
        monkeypatch.setattr(tables, "_MOST", 2)
        with pytest.raises(darrm.InputError, match="in row 3 is one more than a table may have, 2"):
            tables.rows(path)
        monkeypatch.undo()


def test_lines_of_tables_have_an_end(tmp_path: Path) -> None:
    from darrm.tables import files as tables

    (tmp_path / "table.jsonl").write_text('{"a":[' + ",".join(["{}"] * 400_000) + "]}\n", encoding="utf-8")
    with pytest.raises(darrm.InputError, match="longer than"):
        tables.rows(tmp_path / "table.jsonl")


def test_parquet_with_other_columns_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    from darrm.tables import files as tables

    pq.write_table(pa.table({"K": [1] * 10}), tmp_path / "table.parquet")
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", None)
    with pytest.raises(darrm.InputError, match="is a file of votes, not a table of designs"):
        tables.rows(tmp_path / "table.parquet")


@pytest.mark.parametrize(
    "text", ["[" * 10**5, '{"profile": ' + "[" * 10**5, f"[[{10**400}, 0.1]]"], ids=[1, 2, "large"]
)
def test_profiles_without_end(refused: Callable[..., str], text: str) -> None:
    Path("profile.json").write_text(text, encoding="utf-8")
    said = refused("solve", "--K", "3", "--m", "1", "--epsilon", "1", "--profile", "profile.json")
    assert "profile.json holds no profile" in said


@pytest.mark.parametrize("name", ["failure", "gamma", "needed_delta", "seconds"])
def test_journals_that_lack_a_column_are_refused(tmp_path: Path, name: str) -> None:
    """Under a checksum of their own."""
    from darrm.tables import grid, solve_grid
    from darrm.tables.journal import Journal

    todo, out = grid(3, [1, 2], 1.0), tmp_path / "table.jsonl"
    row = solve_grid(todo).rows[0]
    journal = Journal(out, todo)
    journal.record({0: {key: value for key, value in row.items() if key != name}})
    journal.close()
    with pytest.raises(darrm.InputError, match="its columns are not those of a table"):
        solve_grid(todo, out=out)


@pytest.mark.thorough
def test_an_import_that_leaves_the_old_ledger_is_found(
    worker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "rename", lambda self, target: None)
    assert any("can be imported again" in name for name in planted(worker, tmp_path, "old", 3))


@pytest.mark.thorough
def test_parties_that_are_not_checked_are_found(worker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from darrm.interop import Parties

    monkeypatch.setattr(Parties, "__post_init__", lambda self: None)
    assert planted(worker, tmp_path, "parties", 100)


@pytest.mark.thorough
def test_a_key_of_another_size_is_found(worker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from darrm.mechanisms import label_key

    monkeypatch.setattr(label_key, "SIZE", 31)
    assert any("are a key" in name for name in planted(worker, tmp_path, "key"))
