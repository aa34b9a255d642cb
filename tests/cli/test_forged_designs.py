"""Designs of every kind, each changed by hand with a checksum that is right: both ways to verify find them all."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import darrm
from darrm.accounting.accounts import Labels
from darrm.cli import main
from darrm.storage.sealed_json import write

Content = dict[str, Any]
Voters = darrm.VoterGroup
GROUPS = [Voters(3, 1.0), Voters(4, 0.2)]


def majority(**more: Any) -> darrm.Design:
    return darrm.solve(K=7, m=2, epsilon=0.5, **more)


def decision(groups: list[darrm.VoterGroup], *problem: Any, **more: Any) -> darrm.DecisionDesign:
    settings = {name: more.pop(name) for name in ("classes", "max_affected", "none") if name in more}
    objective = darrm.objectives.truth([0.7, 0.6][: len(groups)], none=0.3 if settings.get("none") else None)
    made = darrm.solve(darrm.DecisionProblem(groups, *problem, **settings), objective=objective, **more)
    assert isinstance(made, darrm.DecisionDesign)
    return made


def put(content: Content, name: str, values: list[float]) -> None:
    """Numbers of a table, in decimals and exactly."""
    content[f"{name}_hex"] = [value.hex() for value in values]
    left = iter(values)

    def alike(shown: Any) -> Any:
        return [alike(part) for part in shown] if isinstance(shown, list) else next(left)

    content[name] = alike(content[name])


def exact(content: Content, name: str) -> list[float]:
    return [float.fromhex(value) for value in content[f"{name}_hex"]]


# The changes: each of a design of another kind, and each claims more privacy than there is.


def gamma_raised(content: Content) -> None:
    put(content, "gamma", [min(1.0, value * (1 + 1e-9)) for value in exact(content, "gamma")])


def total_lower(content: Content) -> None:
    content["problem"]["m"] *= 1 - 1e-9
    content["certificate"]["tight_epsilon"] *= 1 - 1e-9


def voter_delta_higher(content: Content) -> None:
    content["problem"]["Delta"] *= 1.001


def delta_lower(content: Content) -> None:
    content["problem"]["delta"] -= 1e-8
    content["certificate"]["needed_delta"] -= 1e-8


def needed_delta_lower(content: Content) -> None:
    content["certificate"]["needed_delta"] -= 1e-8


def tight_epsilon_lower(content: Content) -> None:
    content["certificate"]["tight_epsilon"] *= 1 - 1e-8


def profile_tighter(content: Content) -> None:
    content["profile"][0][1] -= 1e-9


def profile_added(content: Content) -> None:
    content["profile"] = [[0.1, 0.0], *content["profile"]]


def more_are_reached(content: Content) -> None:
    """The file of a release for one reached voter says that it is for two."""
    content["problem"]["max_affected"] += 1


def group_less_private(content: Content) -> None:
    content["problem"]["groups"][1]["epsilon"] *= 1 + 1e-8


def group_reached_more(content: Content) -> None:
    content["problem"]["groups"][0]["max_affected"] = 2
    content["problem"]["max_affected"] = 2


def class_row_moved(content: Content) -> None:
    """The surest row is surer by a part in 1e9."""
    values, answers = exact(content, "table"), content["problem"]["classes"] + content["problem"]["none"]
    rows = [values[i : i + answers] for i in range(0, len(values), answers)]
    sure, *others = rows[0]
    more = sure * (1 + 1e-9)
    rows[0] = [more, *(value * (1 - more) / (1 - sure) for value in others)]
    put(content, "table", [value for row in rows for value in row])


def class_row_scaled(content: Content) -> None:
    values = exact(content, "table")
    put(content, "table", [min(1.0, value * 1.001) if i < 3 else value for i, value in enumerate(values)])


def absent_table_without_noise(content: Content) -> None:
    part = max(content["fewer"], key=lambda part: sum(part["present"]))
    size = len(part["table_hex"])
    part["table_hex"] = [float(2 * i >= size).hex() for i in range(size)]


def attendance_dropped(content: Content) -> None:
    del content["fewer"][0]


def attendance_with_a_point(content: Content) -> None:
    part = content["fewer"][0]
    part["present"] = [float(count) for count in part["present"]]


def names_without_one(content: Content) -> None:
    content["problem"]["classes"] = content["problem"]["classes"][:2]


FORGED: dict[str, tuple[Callable[[], Any], Callable[[Content], None]]] = {
    "gamma a part in 1e9 higher": (majority, gamma_raised),
    "m epsilon said to be smaller": (lambda: majority(shape="monotone"), total_lower),
    "voters that fail more often": (lambda: majority(Delta=1e-4), voter_delta_higher),
    "a smaller delta": (lambda: majority(Delta=1e-4), delta_lower),
    "a smaller needed delta": (lambda: majority(Delta=1e-3), needed_delta_lower),
    "a smaller tight epsilon": (lambda: majority(max_affected=3), tight_epsilon_lower),
    "a point of the profile lowered": (lambda: majority(profile=[(0.5, 0.01), (0.9, 1e-4)]), profile_tighter),
    "a point of a profile added": (majority, profile_added),
    "max_affected of a majority": (lambda: darrm.solve(K=7, m=0.5, epsilon=0.5, max_affected=1), more_are_reached),
    "epsilon of one group": (lambda: decision(GROUPS, 1.0), group_less_private),
    "max_affected of a group": (
        lambda: decision([Voters(5, math.inf, 0.0, 1)], 1.0, max_affected=1), group_reached_more,
    ),
    "a row of classes surer": (lambda: decision([Voters(4, 1.0)], 0.5, classes=3), class_row_moved),
    "a row of classes scaled": (lambda: decision([Voters(4, 1.0)], 0.5, classes=3), class_row_scaled),
    "a row with none moved": (lambda: decision([Voters(3, 1.0)], 1.0, classes=2, none=True), class_row_moved),
    "classes that are not there": (
        lambda: decision([Voters(2, 1.0), Voters(1, 0.5)], 1.0, classes=["a", "b", "c"]), names_without_one,
    ),
    "an attendance without noise": (lambda: decision([Voters(2, 1.0), Voters(2, 0.5)], 0.8, absent=True),
                                    absent_table_without_noise),
    "an attendance left out": (lambda: decision([Voters(2, 1.0)], 0.5, absent=True), attendance_dropped),
    "present voters with a point": (lambda: decision([Voters(2, 1.0)], 0.5, absent=True), attendance_with_a_point),
}  # fmt: skip


def verdicts(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, int, str]:
    usual = main(["verify", str(path)])
    mine = main(["verify", str(path), "--independent"])
    told = capsys.readouterr()
    return usual, mine, told.out + told.err


@pytest.mark.parametrize("name", FORGED)
def test_both_find_it(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make, forge = FORGED[name]
    path, forged = tmp_path / "design.json", tmp_path / "forged.json"
    make().save(path)
    usual, mine, told = verdicts(path, capsys)
    assert (usual, mine) == (0, 0)
    assert "all privacy claims verified" in told
    assert "loosely" not in told

    content = json.loads(path.read_text(encoding="utf-8"))
    before = json.dumps(content)
    forge(content)
    assert json.dumps(content) != before
    del content["sha256"]
    write(forged, content)
    usual, mine, told = verdicts(forged, capsys)
    assert usual in (1, 2), told
    assert mine in (1, 2), told
    assert "Traceback" not in told
    assert "checksum" not in told


def test_a_row_that_would_be_read_as_another_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its sum is not 1, and the decimals are those of the row divided by it: the claim spoke of another table."""
    path = tmp_path / "design.json"
    design = decision([Voters(3, 1.0)], 1.2, classes=3)
    design.save(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    del content["sha256"]
    rows = design.table.copy()
    rows[1, 0] -= 3e-13
    content["table_hex"] = [value.hex() for value in rows.ravel().tolist()]
    content["table"] = (rows / rows.sum(axis=-1, keepdims=True)).tolist()
    write(path, content)
    assert verdicts(path, capsys)[:2] == (2, 2)
    with pytest.raises(darrm.InputError, match=r"row 2 of the table must sum to 1 .* of sum 0\.9999999999997"):
        darrm.load(path)
    content["table"] = rows.tolist()
    with pytest.raises(darrm.InputError, match=r"must sum to 1, but those of row 2 to 0\.9999999999997"):
        darrm.independent.check(content)
    kept = {"problem": content["problem"], "table_hex": content["table_hex"], "fewer": [], "charged": 0}
    with pytest.raises(darrm.InputError, match="row 2 of the table must sum to 1"):  # of a ledger
        Labels.from_content(kept)


def test_a_checksum_that_is_wrong_is_seen_by_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "design.json"
    majority().save(path)
    path.write_text(path.read_text(encoding="utf-8").replace('"K": 7', '"K": 9'), encoding="utf-8")
    usual, mine, told = verdicts(path, capsys)
    assert (usual, mine) == (2, 2)
    assert told.count("its checksum does not match") == 2


def test_there_are_ten_kinds_and_more() -> None:
    assert len(FORGED) >= 10
    assert len({forge for _, forge in FORGED.values()}) >= 10
