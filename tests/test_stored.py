"""Files, ledgers and pickles that an earlier darrm wrote are read, and gone on with, as it did: tests/golden."""

from __future__ import annotations

import json
import pickle
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from programs.stored import DESIGNS, FURTHER, NUMBERS, PICKLED, STORED, further

import darrm
from darrm.accounting import Ledger
from darrm.accounting.accounts import Labels
from darrm.accounting.ledger_state import OLD_RULES
from darrm.accounting.old_ledgers import import_ledger
from darrm.cli import main
from darrm.independent import needed_delta

KNOWN = json.loads(NUMBERS.read_text(encoding="utf-8"))
HELD = zipfile.ZipFile(STORED).namelist()
EACH = dict.fromkeys(["gamma odd", "binary two groups", "symmetric", "full two groups"])  # encodings
ENDED = b' "made_with": {'
COMPUTED = re.compile(rb' *("(?:error|disagreement|expected_cost|needed_delta|tight_epsilon|rounding)": )?[-+.\de]+,?')


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("stored")
    with zipfile.ZipFile(STORED) as stored:
        stored.extractall(made)
    return made


def file_of(folder: Path, name: str) -> Path:
    return folder / "designs" / f"{name}.json"


def number(line: bytes) -> float:
    return float(line.rpartition(b" ")[2].rstrip(b","))


def test_all_is_stored() -> None:
    assert {name for name in HELD if name.startswith("designs/")} == {f"designs/{name}.json" for name in DESIGNS}
    assert KNOWN["names"].keys() == DESIGNS.keys()
    assert KNOWN["ledgers"].keys() == FURTHER.keys()
    for kind in ("ledgers", "databases"):
        assert FURTHER.keys() <= {name.partition("/")[2] for name in HELD if name.startswith(kind)}
    assert len(set(KNOWN["names"].values())) == len(DESIGNS)


@pytest.mark.every
@pytest.mark.parametrize("name", DESIGNS)
def test_a_file_is_read_and_written_as_it_was(folder: Path, tmp_path: Path, name: str) -> None:
    """Line by line but for what wrote it. What is computed anew may differ by rounding, on another machine."""
    design = darrm.load(file_of(folder, name))
    design.save(tmp_path / "again.json")
    then, now = (path.read_bytes().partition(ENDED)[0] for path in (file_of(folder, name), tmp_path / "again.json"))
    for before, after in zip(then.splitlines(), now.splitlines(), strict=True):
        if before != after:
            assert COMPUTED.fullmatch(before)
            assert number(after) == pytest.approx(number(before), rel=1e-9)
    assert Labels.of(design).name == KNOWN["names"][name]


def test_a_file_that_says_more_or_less_is_seen() -> None:
    assert COMPUTED.fullmatch(b'  "error": 0.25,')
    assert COMPUTED.fullmatch(b"   0.25")
    for line in (b'  "m": 3.0,', b'  "0x1.8p-1",', b'  "gap": 1e-15,', b'  "holds": true,'):
        assert not COMPUTED.fullmatch(line)


@pytest.mark.first(4)
@pytest.mark.parametrize("name", [*EACH, *(name for name in DESIGNS if name not in EACH)])
def test_a_file_is_verified(folder: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    file = str(file_of(folder, name))
    assert main(["verify", file, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["holds"] is True
    too_many = name == "binary many with delta"
    assert main(["verify", file, "--independent", "--json"]) == 2 * too_many
    said = json.loads(capsys.readouterr().out)
    assert "441,698,400 cases" in said["error"]["message"] if too_many else said["holds"]


@pytest.mark.parametrize("name", [name for name in DESIGNS if name.startswith("gamma")])
def test_noise_functions_that_are_objects_are_judged_from_the_definitions(folder: Path, name: str) -> None:
    design = darrm.load(file_of(folder, name))
    assert needed_delta(design.table, design.problem) <= design.problem.delta


def test_tables_that_are_objects_are_left_to_their_files(folder: Path) -> None:
    design = darrm.load(file_of(folder, "binary one group"))
    with pytest.raises(darrm.InputError, match="must be a MajorityProblem"):
        needed_delta(design.table, design.problem)


@pytest.mark.parametrize("name", PICKLED)
def test_a_pickle_is_what_it_was(folder: Path, name: str) -> None:
    design = darrm.load(file_of(folder, name))
    for kind, right in (("design", design), ("problem", design.problem)):
        for protocol in range(2, 6):
            made = pickle.loads((folder / "pickles" / name / f"{kind} {protocol}").read_bytes())
            assert type(made) is type(right)
            assert made == right


@pytest.mark.parametrize("name", FURTHER)
def test_a_ledger_of_format_4_is_imported_and_gone_on_with(folder: Path, name: str) -> None:
    gone_on_with(import_ledger(folder / "ledgers" / name, folder / f"{name}.db").path, folder, name, {})


@pytest.mark.parametrize("name", FURTHER)
def test_a_ledger_of_format_5_is_opened_and_gone_on_with(folder: Path, name: str) -> None:
    """Of the same charges, so with the same totals; and it has times."""
    path = folder / "databases" / name
    times = [charge["time"] for charge in Ledger(path).history()]
    assert times == sorted(times)
    assert all(time.startswith("2026-11-28T") for time in times)
    gone_on_with(path, folder, name, KNOWN["databases"])


def gone_on_with(path: Path | str, folder: Path, name: str, other: dict[str, Any]) -> None:
    """What an old ledger says before and after one more charge."""
    design = darrm.load(file_of(folder, FURTHER[name][0]))
    now = further(Path(path), name, design)
    for said, known in zip(now, other.get(name, KNOWN["ledgers"][name]), strict=True):
        assert said.pop("spent") == pytest.approx(known["spent"], rel=1e-9)
        # which older ledgers do not count
        newer = {"by_key": 0, "computational": False, "affected_votes": 1, "left_of": {}}
        known = newer | known | {"rule": OLD_RULES.get(known["rule"], known["rule"])}
        assert said == {key: value for key, value in known.items() if key != "spent"}
    if "ids" in FURTHER[name][1]:
        with pytest.raises(darrm.InputError, match="charged before"):
            Ledger(path).charge(design, ids=["a"])
