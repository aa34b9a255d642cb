"""Voters have names if they are given any; these go with designs and change nothing that is proved."""

import copy
import dataclasses
import json
import pickle
from pathlib import Path
from typing import Any

import ledgers
import pytest

import darrm
from darrm import DecisionProblem, InputError, VoterGroup
from darrm.accounting.accounts import Labels
from darrm.accounting.ledger import Ledger
from darrm.cli import main
from darrm.design import content as module
from darrm.design.content import problem_in_file, problem_of
from darrm.independent import check

NAMES = (("anna", "ben"), ("eve",))
TRUTH = darrm.objectives.truth([0.8, 0.7])


def problem(*names: Any, **more: Any) -> DecisionProblem:
    groups = [VoterGroup(2, 1.0, names=names[0] if names else None)]
    groups.append(VoterGroup(1, 0.5, names=names[1] if names else None))
    return DecisionProblem(groups, 1.0, **more)


@pytest.fixture(scope="module")
def plain() -> Any:
    return darrm.solve(problem(), objective=TRUTH)


@pytest.fixture(scope="module")
def named() -> Any:
    return darrm.solve(problem(*NAMES), objective=TRUTH)


def test_names_are_kept_in_the_order_of_the_groups() -> None:
    assert problem(*NAMES).voters == ("anna", "ben", "eve")
    assert problem().voters is None
    assert problem([" anna", "e\u0301 ve\t"], NAMES[1]).voters == ("anna", "\u00e9 ve", "eve")
    assert VoterGroup(2, 1.0).names is None
    assert repr(VoterGroup(1, 1.0, names=["a"])).endswith("max_affected=1, names=('a',))")
    assert repr(VoterGroup(1, 1.0)) == "VoterGroup(count=1, epsilon=1.0, delta=0.0, max_affected=1)"
    assert problem(*NAMES).with_present((1, 1)).voters is None


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["anna"], "2 different names, one for each voter. Got 1"),
        (["anna", "ben", "eve"], "Got 3"),
        (["anna", "anna "], "'anna' twice"),
        (["e\u0301", "\u00e9"], "twice"),
        (["anna", "eve"], "'eve' twice"),
        (["anna", ""], "name of one line"),
        (["anna", "\u00a0"], "name of one line"),
        (["anna", "b\nc"], "name of one line"),
        (["anna", "b\x1bc"], "name of one line"),
        (["anna", 3], "name of one line"),
        (["anna", "id"], "must not be called id or label"),
        (["anna", "Label"], "must not be called id or label"),
        ("ab", "names must be"),
        (7, "names must be"),
        (None, "Either all voters must have names or none. Got names in 1 of 2"),
    ],
)
def test_what_is_no_name_is_refused(names: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as refusal:
        problem(names, ["eve"])
    assert "\n" not in str(refusal.value)


def test_names_change_nothing_that_is_proved(plain: Any, named: Any) -> None:
    assert plain.problem == named.problem
    assert hash(plain.problem) == hash(named.problem)
    assert plain.table.tobytes() == named.table.tobytes()
    assert plain.certificate == named.certificate
    assert plain != named  # a design is used by its names, too
    assert named.problem.voters == ("anna", "ben", "eve")  # though the same problem was solved without


def test_copies_and_pickles_have_names(named: Any) -> None:
    for other in (copy.copy(named), copy.deepcopy(named), pickle.loads(pickle.dumps(named))):
        assert other == named
        assert other.problem.voters == named.problem.voters


def test_a_group_that_is_replaced_has_no_names_and_is_not_mixed_with_others_that_have() -> None:
    """`dataclasses.replace` passes on fields alone; the problem around it keeps its groups, names and all."""
    whole = problem(*NAMES)
    assert dataclasses.replace(whole, epsilon=2.0).voters == whole.voters
    other = dataclasses.replace(whole.groups[0], epsilon=2.0)
    assert other.names is None
    with pytest.raises(InputError, match="Either all voters must have names or none"):
        dataclasses.replace(whole, groups=(other, whole.groups[1]))


def test_a_group_that_was_pickled_before_there_were_names_has_none() -> None:
    old = VoterGroup(1, 1.0)
    del old.__dict__["names"]
    assert pickle.loads(pickle.dumps(old)).names is None


def test_files_have_names_if_voters_have(plain: Any, named: Any, tmp_path: Path) -> None:
    named.save(tmp_path / "named.json")
    plain.save(tmp_path / "plain.json")
    assert darrm.load(tmp_path / "named.json") == named
    assert darrm.load(tmp_path / "plain.json") == plain
    written = json.loads((tmp_path / "named.json").read_text(encoding="utf-8"))["problem"]
    bare = json.loads((tmp_path / "plain.json").read_text(encoding="utf-8"))["problem"]
    assert [group.pop("names") for group in written["groups"]] == [list(names) for names in NAMES]
    assert written == bare
    assert list(bare["groups"][0]) == ["count", "epsilon", "delta", "max_affected"]


@pytest.mark.thorough
def test_a_ledger_takes_labels_with_and_without_names_for_the_same(plain: Any, named: Any, tmp_path: Path) -> None:
    """Names are no part of the guarantee: what is charged is the same table for the same kinds of voters."""
    assert Labels.of(named).name == Labels.of(plain).name
    coin = darrm.DecisionDesign(problem(*NAMES), [[0.5, 0.5]] * 3, TRUTH)
    assert Labels.of(coin).name == "889afde52b4ac477"  # as before there were names: ledgers of then know their designs
    ledger = Ledger.create(tmp_path / "ledger.json", plain, total_epsilon=3.0, total_delta=0.0, voters="fresh")
    ledger.charge(plain, 1)
    ledger.charge(named, 1)
    assert ledger.status()["released"] == 2
    assert "names" not in json.dumps(ledgers.content(tmp_path / "ledger.json"))


def test_voters_may_be_absent_and_have_names(tmp_path: Path) -> None:
    design = darrm.solve(problem(*NAMES), objective=TRUTH, absent=True)
    design.save(tmp_path / "design.json")
    assert darrm.load(tmp_path / "design.json") == design
    content = json.loads((tmp_path / "design.json").read_text(encoding="utf-8"))
    assert (check(content).wrong, check(content).loose) == ((), ())


FORGED: dict[str, list[Any]] = {
    "too few": [["anna"], ["eve"]],
    "too many": [["anna", "ben", "dan"], ["eve"]],
    "in one group alone": [["anna", "ben"], None],
    "twice in a group": [["anna", "anna"], ["eve"]],
    "twice in all": [["anna", "eve"], ["eve"]],
    "twice up to the normal form": [["e\u0301", "\u00e9"], ["eve"]],
    "not in normal form": [["anna", "e\u0301"], ["eve"]],
    "with space": [["anna", " ben"], ["eve"]],
    "of two lines": [["anna", "b\nc"], ["eve"]],
    "empty": [["anna", ""], ["eve"]],
    "the id": [["anna", "ID"], ["eve"]],
    "no text": [["anna", 3], ["eve"]],
    "no list": ["ab", ["eve"]],
    "of objects": [{"anna": 1, "ben": 2}, ["eve"]],
    "null": [[None, None], [None]],
}


@pytest.mark.parametrize("kind", FORGED)
def test_names_that_are_none_are_refused(
    kind: str, named: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the reader of designs and by the independent check; the checksum fits."""
    forged = problem_in_file(named.problem)
    for group, names in zip(forged["groups"], FORGED[kind], strict=True):
        group["names"] = names
        if names is None:
            del group["names"]
    with monkeypatch.context() as patch:
        patch.setattr(module, "problem_in_file", lambda _: forged)
        patch.setattr("darrm.design.design.problem_in_file", lambda _: forged)
        named.save(tmp_path / "design.json")
    with pytest.raises(InputError):
        problem_of(json.loads(json.dumps(forged)))
    for command in ([], ["--independent"]):
        assert main(["verify", str(tmp_path / "design.json"), *command]) == 2
        said = capsys.readouterr().err.splitlines()
        assert said[-1].startswith("darrm: ")
        assert len(said) == 1


@pytest.mark.thorough
def test_plans_keep_names() -> None:
    asked = {"max_affected": 1, "queries": 3, "total_epsilon": 2.0, "total_delta": 1e-6, "voters": "fresh"}
    for groups in ([VoterGroup(3, 0.5, names=["a", "b", "c"])], [(3, 0.5, 0.0, None, ["a", "b", "c"])]):
        answer = darrm.plan(groups, base_accuracy=0.9, compare=False, **asked)  # type: ignore[arg-type]
        assert answer.design.problem.voters == ("a", "b", "c")  # type: ignore[union-attr]
    auto = [(3, "auto", 0.0, None, ["a", "b", "c"])]
    answer = darrm.plan(auto, base_accuracy=0.9, at_most=1.0, compare=False, **asked)  # type: ignore[arg-type]
    assert answer.design.problem.voters == ("a", "b", "c")  # type: ignore[union-attr]
    with pytest.raises(InputError, match="all alike and have no names"):
        darrm.plan([VoterGroup(3, 0.5, names=["a", "b", "c"])], prior="uniform", **asked)  # type: ignore[arg-type]


def solved(capsys: pytest.CaptureFixture[str], *groups: str) -> list[Any]:
    line = ["solve", *groups, "--total-epsilon", "1", "--accuracy", ".8,.7", "--json"]
    assert main(line) == 0
    made = json.loads(capsys.readouterr().out)["problem"]["groups"]
    return [(group["count"], group["delta"], group["max_affected"], group.get("names")) for group in made]


def test_the_command_line_names_voters(capsys: pytest.CaptureFixture[str]) -> None:
    one, both = "--group", [(2, 0.0, 2, ["anna", "ben"]), (1, 0.0, 1, ["eve"])]
    assert solved(capsys, one, "2:1:anna,ben", one, "1:.5:eve") == both
    assert solved(capsys, one, "2:1:0:anna, ben", one, "1:.5:0:1:eve") == both
    assert solved(capsys, one, "2:1", one, "1:.5", "--columns", "anna,ben,eve") == both
    assert solved(capsys, one, "2:1", one, "1:.5", "--columns", 'anna,"B, C",7')[0][3] == ["anna", "B, C"]
    assert solved(capsys, one, "2:1:0:1", one, "1:.5") == [(2, 0.0, 1, None), (1, 0.0, 1, None)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["2:1:anna", "1:.5:eve"], "names of --group 2:1:anna must be a list of 2 different names"),
        (["2:1:anna,ben", "1:.5:ben"], "'ben' twice"),
        (["2:1:anna,ben", "1:.5"], "Either all voters must have names"),
        (["2:1", "1:.5", "--columns", "anna,ben"], "--columns must be a list of 3 different names"),
        (["2:1", "1:.5", "--columns", "anna,ben,anna"], "'anna' twice"),
        (["2:1:a,b", "1:.5:c", "--columns", "a,b,c"], "takes the place of names in --group"),
        (["2:1:0:1:a,b:c", "1:.5"], "--group must be COUNT:EPSILON"),
    ],
)
def test_what_names_nobody_is_refused(options: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    groups = ["--group", options[0], "--group", *options[1:]]
    assert main(["solve", *groups, "--total-epsilon", "1", "--accuracy", ".8,.7"]) == 2
    assert words in capsys.readouterr().err


def test_verify_says_who_is_in_which_group(named: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    named.save(tmp_path / "design.json")
    assert main(["verify", str(tmp_path / "design.json")]) == 0
    assert "anna, ben in group 1; eve in group 2." in " ".join(capsys.readouterr().out.split())
    assert main(["verify", str(tmp_path / "design.json"), "--independent"]) == 0
    assert "2 (anna, ben) that are (1, 0)-DP each; 1 (eve) that" in capsys.readouterr().out
    assert main(["verify", str(tmp_path / "design.json"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["problem"]["groups"][1]["names"] == ["eve"]
