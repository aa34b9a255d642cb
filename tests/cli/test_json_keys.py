"""What --json prints has all the names that it had: tests/golden/keys.json. There may be more, never fewer."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from cases import thorough
from programs.stored import STORED

from darrm.accounting.old_ledgers import import_ledger
from darrm.cli import app, main

KNOWN = json.loads(STORED.with_name("keys.json").read_text(encoding="utf-8"))
MAJORITY = "--K 5 --m 2 --epsilon .5"
GROUPS = "--group 3:1 --group 2:.4 --accuracy .7,.6"
BUDGET = "--total-epsilon 9 --total-delta 1e-5 --voters fresh"
LIMITED = f"{BUDGET} --max-affected 1"
FILES = {"gamma": "gamma odd", "binary": "binary two groups", "absent": "binary absent", "classes": "symmetric"}
COMMANDS = [
    f"solve {MAJORITY} --both-shapes",
    f"solve {GROUPS} --total-epsilon 1 --absent",
    "solve --group 3:1 --accuracy .6 --classes 3 --none .3 --total-epsilon 1",
    *(f"verify {name}.json" for name in FILES),
    *(f"verify {name}.json --independent" for name in FILES),
    "verify table.csv",
    f"compare {MAJORITY} --draws 100",
    f"compare --K 5 --epsilon 1 --base-accuracy .8 --queries 3 {LIMITED}",
    f"compare --group 5:1 --accuracy .7 --queries 3 {LIMITED}",
    f"plan --K 5 --epsilon 1 --base-accuracy .8 --queries 2 {LIMITED}",
    f"plan --K 5 --epsilon 1 --prior uniform --queries 2 {LIMITED}",
    f"plan --group 3:1 --group 2:.4 --accuracy .7,.6 --queries 2 {LIMITED}",
    f"plan --K 4 --epsilon auto --at-most 3 --base-accuracy .8 --queries 2 {LIMITED}",
    "key labels.key",
    "release gamma.json --votes votes.csv --out labels.csv",
    "release absent.json --votes absent.csv --out labels.csv",
    "release gamma.json --votes votes.csv --out labels.csv --ledger ledger",
    *(f"budget {name}.json --queries 3 --total-delta 1e-5 --voters fresh" for name in FILES),
    "budget gamma.json --queries 3 --total-delta 1e-5 --voters fixed",
    "budget gamma.json --total-epsilon 3 --total-delta 1e-5 --voters fresh",
    *(f"profile {name}.json" for name in FILES),
    *(f"export {name}.json --out table.csv" for name in FILES),
    f"ledger create new gamma.json {BUDGET}",
    f"ledger create new {BUDGET} --rule in-advance",
    "ledger show ledger gamma.json",
    "ledger show composed",
    "ledger charge composed gamma.json --times 2",
    "ledger charge composed --epsilon .5 --adjacency replace-one",
    "table --K 3,5 --m 1 --epsilon .5 --out made.csv",
    "audit --mechanism rr --mechanism llp --epsilon 1 --bag-size 2,4 --eta beta:2,3 --n 50 --seed 1",
    "audit --design gamma.json --eta beta:2,3 --n 50 --seed 1",
    "constraints --K 3 --m 1 --epsilon 1",
    "constraints --K 3 --count",
    "verify missing.json",
]
SLOW = ["demo", "release-shared gamma.json --votes votes.csv -M 3 --out labels.csv"]
SLOW += [f"report {name}.json --short --out page.html" for name in FILES]


def keys(value: Any, before: str = "") -> Iterator[str]:
    """All names in an object and in what it holds; the cases that a worst case names are not among them."""
    if isinstance(value, dict) and not before.endswith("worst_case."):
        for name, inner in value.items():
            yield before + name
            yield from keys(inner, f"{before}{name}.")
    for each in value if isinstance(value, list) else ():
        yield from keys(each, before)


@pytest.fixture
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(STORED) as stored:
        for name, design in FILES.items():
            (tmp_path / f"{name}.json").write_bytes(stored.read(f"designs/{design}.json"))
        for name, ledger in (("ledger", "exact"), ("composed", "composed")):
            (tmp_path / f"{name}.old").write_bytes(stored.read(f"ledgers/{ledger}"))
            import_ledger(tmp_path / f"{name}.old", tmp_path / name)
    (tmp_path / "votes.csv").write_text("id,a,b,c,d,e,f,g\nx,1,0,1,1,0,1,1\ny,0,0,0,1,0,1,1\n", encoding="utf-8")
    (tmp_path / "absent.csv").write_text("id,a,b,c\nx,1,0,1\ny,,0,1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)


def printed(command: str, capsys: pytest.CaptureFixture[str]) -> set[str]:
    if "table.csv" in command and command.startswith("verify"):
        assert main(["table", "--K", "3,5", "--m", "1", "--epsilon", ".5", "--out", "table.csv"]) == 0
        capsys.readouterr()
    assert main([*command.split(), "--json"]) == 2 * ("missing" in command)
    return {*keys(json.loads(capsys.readouterr().out))}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.usefixtures("_folder")
@pytest.mark.parametrize("command", [*COMMANDS, *thorough(*SLOW)])
def test_no_name_is_missing(capsys: pytest.CaptureFixture[str], command: str) -> None:
    now = printed(command, capsys)
    assert {*KNOWN[command]} - now == set(), sorted(now)


def test_every_command_that_prints_json_is_held() -> None:
    assert KNOWN.keys() == {*COMMANDS, *SLOW}
    context = click.Context(app)
    tried = {command.split()[0] for command in KNOWN}
    for name in app.list_commands(context):
        command = app.get_command(context, name)
        assert command is not None
        assert name in tried or not any("--json" in option.opts for option in command.params)
