"""Labels over shares by processes that talk over MPyC: the law, ledgers, and parties that stop or say other things."""

import asyncio
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import darrm
from darrm.cli import main
from darrm.errors import InputError, MissingExtraError, PartyError
from darrm.interop import Parties, shared_labels, shared_talk, split_votes
from darrm.interop.shared import pooling

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("mpyc") is None, reason="MPyC is not installed: darrm[shared]"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the parties of these tests are forked"),
]
PROGRAM = Path(__file__).parent / "programs" / "shared_parties.py"
MAJORITY = darrm.solve(K=3, m=3, epsilon=0.5)  # without noise: no more than the voters' own privacy is asked for
NOISY = darrm.solve(K=3, m=1, epsilon=0.5, bits=4)
ALL = np.array([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)])
TRUE = [0, 0, 0, 1, 0, 1, 1, 1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    MAJORITY.save(tmp_path / "majority.json")
    NOISY.save(tmp_path / "noisy.json")
    return tmp_path


def told(folder: Path, votes: Any = ALL, design: str = "majority", **settings: Any) -> list[dict[str, Any]]:
    """Three parties that bring one column each."""
    common = {"design": str(folder / f"{design}.json"), "timeout": 20, **settings}
    return [{**common, "voters": [name], "votes": votes[:, i : i + 1].tolist()} for i, name in enumerate("abc")]


def runs(folder: Path, *each: list[dict[str, Any]] | dict[str, Any]) -> list[list[dict[str, Any]]]:
    given = [run if isinstance(run, dict) else {"told": run} for run in each]
    ended = subprocess.run(
        [sys.executable, PROGRAM, folder],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=300,
        cwd=folder,
    )
    assert ended.returncode == 0, ended.stderr
    assert not ended.stderr
    found: list[list[dict[str, Any]]] = json.loads(ended.stdout)
    return found


def ledgers(folder: Path, budgets: list[float], design: darrm.Design = NOISY) -> list[darrm.accounting.Ledger]:
    return [
        darrm.accounting.Ledger.create(
            folder / f"ledger{i}.json", design, total_epsilon=budget, total_delta=0, voters="fresh"
        )
        for i, budget in enumerate(budgets)
    ]


def test_all_parties_have_the_labels_in_blocks(folder: Path) -> None:
    """Each party has an address of its own; nothing that a party sends is unpickled."""
    (found,) = runs(folder, told(folder, rows=3))
    assert [one["blocks"] for one in found] == [[TRUE[:3], TRUE[3:6], TRUE[6:]]] * 3
    assert not any(one["error"] for one in found)


@pytest.mark.thorough
def test_the_law_of_the_design(folder: Path) -> None:
    """2,000 draws for each count; tests of the circuit draw more."""
    each = 2_000
    votes = np.repeat(np.array([[0, 0, 0], [0, 1, 0], [1, 0, 1], [1, 1, 1]]), each, axis=0)
    (found,) = runs(folder, told(folder, votes, "noisy", timeout=200))
    assert found[0]["blocks"] == found[1]["blocks"] == found[2]["blocks"]
    labels = np.concatenate(found[0]["blocks"]).reshape(4, each)
    chances = NOISY.release_probabilities[:, 1]
    assert np.all(np.abs(labels.mean(axis=1) - chances) < 5 * np.sqrt(chances * (1 - chances) / each))


@pytest.mark.thorough
def test_labels_for_one_party_alone(folder: Path) -> None:
    (found,) = runs(folder, {"told": told(folder, rows=4), "labels_to": ["p1"]})
    assert [one["blocks"] for one in found] == [[[], []], [TRUE[:4], TRUE[4:]], [[], []]]
    assert not any(one["error"] for one in found)


@pytest.mark.thorough
def test_shares_from_voters_that_are_no_parties(folder: Path) -> None:
    parties = Parties.of([{"name": name, "address": f"{name}:1"} for name in ("p0", "p1", "p2")], list("abc"))
    columns = [split_votes(MAJORITY, parties, ALL[:, i]) for i in range(3)]  # each voter splits its own
    common = {"design": str(folder / "majority.json"), "timeout": 20}
    of_each = [{**common, "votes": np.stack([column[i] for column in columns], 1).tolist()} for i in range(3)]
    damaged = np.array(of_each[1]["votes"])
    damaged[:, 0] = (damaged[:, 0] + 1) % 5  # of which a vote of 0 is no vote
    wrong = [of_each[0], {**of_each[1], "votes": damaged.tolist()}, of_each[2]]
    good, bad = runs(folder, *({"told": each, "voters": list("abc")} for each in (of_each, wrong)))
    assert [one["blocks"] for one in good] == [[TRUE]] * 3
    assert [one["error"] for one in bad] == ["InputError"] * 3
    assert "'a'" in bad[0]["message"]
    assert "is not a vote" in bad[0]["message"]


@pytest.mark.thorough
def test_absent_voters(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of several attendances in one block: of parties that bring votes, of shares, and by the command."""
    problem = darrm.DecisionProblem([darrm.VoterGroup(3, epsilon=0.5)], epsilon=1.5)
    one_is_enough = darrm.objectives.rule(darrm.objectives.at_least(1), [0.7])
    design = darrm.solve(problem, objective=one_is_enough, absent=True)  # without noise
    design.save(folder / "absent.json")
    votes = np.array([[i // 9 - 1, i // 3 % 3 - 1, i % 3 - 1] for i in range(27)])
    labels = (votes == 1).any(axis=1).astype(int).tolist()
    for present in [*design.fewer, (3,)]:
        np.testing.assert_allclose(design.with_present(present).table, [0] + [1] * present[0], atol=1e-12)
    assert design.without_votes == 0
    parties = Parties.of([{"name": name, "address": f"{name}:1"} for name in ("p0", "p1", "p2")], list("abc"))
    shares = split_votes(design, parties, votes)
    held = [{"design": str(folder / "absent.json"), "timeout": 20, "votes": share.tolist()} for share in shares]
    other = [*held[:2], {**held[2], "votes": np.where(shares[2] < 0, 0, shares[2]).tolist()}]  # of who is absent
    apart = {**told(folder, votes, "absent")[1], "votes": (votes[:, 1:2] % 2).tolist()}  # b is never absent
    as_votes = told(folder, votes, "absent", rows=20)
    of_shares = ({"told": each, "voters": list("abc")} for each in (held, other))
    darrm.solve(problem, objective=darrm.objectives.rule("majority", [0.7]), absent=True).save(folder / "most.json")
    of_few = np.array([(1, -1, -1), (-1, 1, -1), (0, 1, 1), (1, 1, -1), (0, -1, -1), (-1, -1, 1)])  # no ties, no noise
    few = told(folder, of_few, "most")
    found = runs(folder, as_votes, *of_shares, [as_votes[0], {**apart, "rows": 20}, as_votes[2]], few)
    assert [one["blocks"] for one in found[4]] == [[[1, 1, 1, 1, 0, 1]]] * 3  # an absent voter is no vote for 0
    assert [one["blocks"] for one in found[0]] == [[labels[:20], labels[20:]]] * 3
    assert [one["blocks"] for one in found[1]] == [[labels]] * 3
    assert {one["error"] for one in found[2]} == {"PartyError"}
    assert "has other rows" in found[2][0]["message"]
    one_more = [int(label or row[1] == -1) for label, row in zip(labels, votes.tolist(), strict=True)]
    assert np.concatenate(found[3][0]["blocks"]).tolist() == one_more
    monkeypatch.chdir(folder)
    rows = ["a,b,c", *(",".join("" if vote < 0 else str(vote) for vote in row) for row in votes.tolist())]
    Path("votes.csv").write_text("id," + "\n".join(f"{i},{row}" if i else row for i, row in enumerate(rows)))
    arguments = ["release-shared", "absent.json", "--votes", "votes.csv", "-M", "3", "--out", "labels.csv"]
    assert main(arguments) == 0, capsys.readouterr()
    assert [int(row.split(",")[1]) for row in Path("labels.csv").read_text().split()[1:]] == labels


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl: it makes the certificates")
def test_connections_are_encrypted_and_both_ends_show_certificates(folder: Path) -> None:
    """With --tls; a party is not let in by another's certificate, or by one that another authority signed."""
    kept = folder / ".config"
    kept.mkdir()

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=kept, check=True, capture_output=True)

    for authority in ("mpyc_ca", "other"):
        made = ("-keyout", f"{authority}.key", "-out", f"{authority}.crt", "-subj", f"/CN={authority}", "-days", "2")
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", *made)

    def certify(i: int, authority: str, name: int | None = None) -> None:
        (kept / "names").write_text(f"subjectAltName=DNS:MPyC party {i if name is None else name}")
        named = ("-keyout", f"party_{i}.key", "-out", "request", "-subj", f"/CN=MPyC party {i}")
        openssl("req", "-newkey", "rsa:2048", "-nodes", *named)
        signed = ("-CA", f"{authority}.crt", "-CAkey", f"{authority}.key", "-CAcreateserial", "-days", "2")
        openssl("x509", "-req", "-in", "request", *signed, "-out", f"party_{i}.crt", "-extfile", "names")

    for i in range(3):
        certify(i, "mpyc_ca")
    (found,) = runs(folder, told(folder, tls=True))
    assert [one["blocks"] for one in found] == [[TRUE]] * 3
    for i, authority, name in ((0, "mpyc_ca", 1), (1, "other", 1)):
        certify(i, authority, name)
        (found,) = runs(folder, told(folder, tls=True, timeout=4))
        assert [one["blocks"] for one in found] == [[]] * 3
        assert {one["error"] for one in found} == {"PartyError"}
        certify(i, "mpyc_ca")


@pytest.mark.thorough
def test_several_classes_and_five_parties_of_which_two_have_no_votes(folder: Path) -> None:
    problem = darrm.DecisionProblem([darrm.VoterGroup(3, epsilon=0.5)], classes=3, epsilon=1.5)
    sure = darrm.solve(problem, objective=darrm.objectives.truth([0.9])).rounded(6)
    sure.save(folder / "classes.json")
    votes = np.array([[2, 2, 2]] * 400)
    parts = told(folder, votes, "classes")
    parts += [{**parts[0], "voters": [], "votes": [[]] * len(votes)} for _ in range(2)]
    (found,) = runs(folder, parts)
    assert len({json.dumps(one["blocks"]) for one in found}) == 1
    labels = np.concatenate(found[0]["blocks"])
    chances = sure.probabilities([0, 0, 3])
    shares = np.bincount(labels, minlength=3) / len(labels)
    assert np.all(np.abs(shares - chances) <= 5 * np.sqrt(chances * (1 - chances) / len(labels)))


@pytest.mark.thorough
def test_parties_that_have_something_else_end_it_for_all(folder: Path) -> None:
    """Another design, other rows, another size of blocks, what is not a vote: nothing is opened, at any party."""
    base = {"rows": 4}
    other_design, other_rows, other_size, no_vote, fewer = (told(folder, **base) for _ in range(5))
    other_design[2]["design"] = str(folder / "noisy.json")
    other_rows[1]["ids"] = list("abcdefgh")
    other_size[0]["rows"] = 8
    no_vote[1]["false"] = 1
    fewer[2]["votes"] = fewer[2]["votes"][:6]
    found = runs(folder, other_design, other_rows, other_size, no_vote, fewer)
    for run, said in zip(
        found[:3], ("p2 has another design", "p1 has other rows", "p0 has another design"), strict=True
    ):
        assert [one["blocks"] for one in run] == [[]] * 3
        assert [one["error"] for one in run] == ["PartyError"] * 3
        assert sum(said in one["message"] for one in run) == 2
    assert [one["error"] for one in found[3]] == ["InputError"] * 3
    assert all("voter 'b'" in one["message"] and "is not a vote" in one["message"] for one in found[3])
    assert [one["blocks"] for one in found[3]] == [[]] * 3
    assert [one["blocks"] for one in found[4]] == [[TRUE[:4]]] * 3  # the block before
    assert [one["error"] for one in found[4]] == ["PartyError"] * 3


@pytest.mark.thorough
def test_each_party_charges_its_own_ledger(folder: Path) -> None:
    """A ledger that covers one block ends the run at the second, which no party opens."""
    books = ledgers(folder, [4.0, 1.0, 4.0])
    parts = told(folder, design="noisy", rows=2, ids=list("abcdefgh"))
    for part, book in zip(parts, books, strict=True):
        part["ledger"] = str(book.path)
    first, again = runs(folder, parts, parts)
    assert [one["error"] for one in first] == ["PartyError", "BudgetError", "PartyError"]
    assert [len(one["blocks"]) for one in first] == [1, 1, 1]
    assert "p1 stopped: its ledger does not cover" in first[0]["message"]
    assert [book.status()["released"] for book in books] == [2, 2, 2]  # none of the block that p1 ended
    assert [len(one["blocks"]) for one in again] == [0, 0, 0]  # the ids have a label
    assert [book.status()["released"] for book in books] == [2, 2, 2]
    assert {one["error"] for one in again} == {"RepeatedIdError"}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("how", "step"),
    # connect, compare settings, compare rows, share, check, compute, charge, open
    [*(("kill", step) for step in range(8)), ("stop", 2), ("stop", 5)],
)
def test_a_party_that_ends_at_any_step_ends_it_for_all(folder: Path, how: str, step: int) -> None:
    parts = told(folder, timeout=3 if how == "stop" or step == 0 else 20)
    parts[1][how] = step
    (found,) = runs(folder, parts)
    assert found[1]["status"] != 0
    for one in (found[0], found[2]):
        assert one["error"] == "PartyError", one
        assert not one["blocks"] or (step == 7 and one["blocks"] == [TRUE])  # while it was opened
        # a party may connect and be gone before another has seen its connection, which then waits for it
        assert "party p" in one["message"] or how == "stop" or (step <= 1 and "Not connected" in one["message"]), one
        assert step == 7 or "Nothing" in one["message"], one
        assert step > 0 or re.search(r" s: p1( \(p[02] may only be waiting for others\))?\. ", one["message"]), one


@pytest.mark.parametrize(
    ("absent", "me", "missing"),
    # of five parties 1 is missing, and then 1 and 3
    [
        ([1, 2, 3, 4], 0, [1]),
        ([0, 1], 2, [1]),
        ([0, 1], 4, [1]),
        ([0, 1, 3, 4], 2, [1, 3]),
        ([0, 1, 2, 3], 4, [3]),
    ],
)
def test_only_parties_that_are_surely_missing_are_named_so(absent: list[int], me: int, missing: list[int]) -> None:
    found, others = shared_talk.told_apart(absent, me)
    assert found == missing
    assert sorted(found + others) == absent


@pytest.mark.thorough
def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    rows = ["id,a,b,c", *(f"r{i},{','.join(map(str, row))}" for i, row in enumerate(ALL.tolist()))]
    Path("votes.csv").write_text("\n".join(rows))
    (book,) = ledgers(folder, [20.0], MAJORITY)
    arguments = ["release-shared", "majority.json", "--votes", "votes.csv", "-M", "3", "--out", "labels.csv"]
    arguments += ["--ledger", str(book.path), "--rows", "5", "--json"]
    assert main(arguments) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["labels"] == 8
    assert "A trial: this machine has all votes, so nothing was protected." in printed.err
    assert json.loads(printed.out)["trial"] is True
    assert f"8 labels of fresh voters so far, {book.remaining(MAJORITY)} left, of the budget (20, 0)-DP" in printed.err
    assert Path("labels.csv").read_text().split() == ["id,label", *(f"r{i},{label}" for i, label in enumerate(TRUE))]
    assert book.status()["released"] == 8
    small = darrm.accounting.Ledger.create("small.json", MAJORITY, total_epsilon=8, total_delta=0, voters="fresh")
    assert main([*arguments[:6], "--out", "some.csv", "--ledger", "small.json", "--rows", "5"]) == 3
    assert "some.csv has the 5 labels opened before" in capsys.readouterr().err
    assert Path("some.csv").read_text().split() == ["id,label", *(f"r{i},{TRUE[i]}" for i in range(5))]
    assert small.status()["released"] == 5
    assert main(arguments) == main([*arguments, "--overwrite"]) == 6  # the ids were charged
    at = arguments.index("--ledger")
    assert main([*arguments[:at], *arguments[at + 2 :]]) == 2  # it exists
    assert main([*arguments[:4], "-M", "2", "--out", "other.csv"]) == 2
    assert main([*arguments[:4], "--out", "other.csv"]) == 2
    assert not Path("other.csv").exists()
    assert sorted(path.name for path in folder.iterdir() if path.suffix == ".part") == []


@pytest.mark.every
@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (None, "votes.csv could not be read: No such file or directory"),
        (["id,b,c", "r1,1,0"], "It has none for 'a'"),
        (["id,a", "r1,1", "r2,0", "r3,7"], "line 4, column a: A vote must be 0 or 1. Got '7'"),
        (["id,a", "r1,1", "r1,0"], "has the id 'r1' twice"),
        (["a", "1", "0"], "votes.csv must have a column id"),
    ],
    ids=["file", "columns", "votes", "ids", "no ids"],
)
def test_the_command_looks_at_the_votes_before_anything_connects(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    rows: list[str] | None,
    said: str,
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("darrm.interop.shared.connected", None)  # not called
    parties = [{"name": n, "address": f"127.0.0.1:{1024 + i}", "voters": [n]} for i, n in enumerate("abc")]
    Path("parties.json").write_text(json.dumps({"parties": parties}))
    if rows is not None:
        Path("votes.csv").write_text("\n".join(rows))
    shared = ["release-shared", "majority.json", "--parties", "parties.json", "--party", "a", "--votes", "votes.csv"]
    assert main(shared) == 2
    err = capsys.readouterr().err
    assert said in err
    assert "--columns" not in err  # which this command has not


@pytest.mark.every
@pytest.mark.parametrize(
    ("host", "ledger", "tls", "unread"),
    [("10.0.0.1", True, False, True), ("10.0.0.1", False, True, False), ("127.0.0.1", False, False, False)],
)
def test_the_command_says_what_its_labels_rest_on(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    host: str,
    ledger: bool,
    tls: bool,
    unread: bool,
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("darrm.interop.shared_labels", lambda *given, **settings: iter(()))
    known = darrm.VoterGroup(3, 1.0, max_affected=1, randomizer="randomized response", colluders=1)
    design = darrm.Design(darrm.DecisionProblem([known], 1.01), [0, 0, 1, 1], darrm.objectives.truth([0.7]))
    design.save("known.json")
    book = ledgers(folder, [2.0], design)[0]
    at = {"a": f"{host}:1", "b": "localhost:2", "c": "[::1]:3"}
    Path("parties.json").write_text(
        json.dumps({"parties": [{"name": n, "address": address, "voters": [n]} for n, address in at.items()]})
    )
    Path("votes.csv").write_text("id,a\nr1,1\n")
    arguments = ["release-shared", "known.json", "--parties", "parties.json", "--party", "a", "--votes", "votes.csv"]
    assert main([*arguments, *["--ledger", str(book.path)] * ledger, *["--tls"] * tls]) == 0
    err = " ".join(capsys.readouterr().err.split())
    assert ("Without --tls, whoever reads the network between the parties can compute all votes" in err) is unread
    network = ", no one else reads the network between them" * unread
    assert f"labels alone, if all follow the protocol{network} and all voters of the others draw as stated." in err
    assert ("Without --ledger, this party does not notice that a row comes again." in err) is not ledger
    assert "Single-label guarantee: (1.01, 0)-DP, if every voter but 1" in err
    assert "Records at voters that collude have no guarantee." in err


@pytest.mark.parametrize(
    ("parties", "message"),
    [
        ([{"name": "a", "address": "x:1", "voters": ["a"]}], "three parties"),
        ([{"name": "a", "address": "x"}] * 3, "HOST:PORT"),
        ([{"name": "a", "address": "x:99999"}] * 3, "HOST:PORT"),
        ([{"name": "a"}] * 3, "must have a name"),
        ([{"name": "a", "address": "x:1", "voters": "abc"}] * 3, "list of texts"),
        ([{"name": "a", "address": "x:1", "voters": ["v"]}] * 3, "name 'a' twice"),
        ([{"name": n, "address": "x:1", "voters": [n]} for n in "abc"], "address 'x:1' twice"),
        ([{"name": n, "address": f"{n}:1", "voters": ["v"]} for n in "abc"], "voter 'v' twice"),
        ([{"name": n, "address": f"{n}:1"} for n in "abc"], "No party brings a vote"),
    ],
)
def test_parties_are_refused(parties: list[dict[str, Any]], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        Parties.of(parties)
    (tmp_path / "parties.json").write_text(json.dumps({"parties": parties}))
    with pytest.raises(InputError, match=message):
        Parties.read(tmp_path / "parties.json")


def test_what_cannot_be_used_is_refused_before_anything_connects(folder: Path) -> None:
    parties = Parties.of([{"name": n, "address": f"{n}:1", "voters": [n]} for n in "abc"])
    for settings in ({"rows": 0}, {"rows": 1.5}, {"timeout": 0}, {"timeout": float("nan")}, {"tls": 1}, {"again": 2}):
        with pytest.raises(InputError):
            shared_labels(NOISY, [ALL[:, :1]], parties, "a", **settings)  # type: ignore[arg-type]
    problem = darrm.DecisionProblem([darrm.VoterGroup(3, epsilon=0.5)], classes=3, epsilon=1.5)
    classes = darrm.solve(problem, objective=darrm.objectives.truth([0.9])).rounded(6)
    helpers = Parties.of([{"name": n, "address": f"{n}:1"} for n in "abc"], ["a", "b", "c"])
    with pytest.raises(InputError, match="between two answers"):
        shared_labels(classes, [ALL], helpers, "a")
    with pytest.raises(InputError, match="party must be one of a, b, c"):
        shared_labels(NOISY, [ALL[:, :1]], parties, "d")
    with pytest.raises(InputError, match="parties with 3"):
        shared_labels(darrm.solve(K=5, m=2, epsilon=0.5), [ALL[:, :1]], parties, "a")
    groups = [darrm.VoterGroup(3, epsilon=0.5, names=["d", "b", "a"])]
    design = darrm.Design(darrm.DecisionProblem(groups, epsilon=0.5), [0.5] * 4, darrm.objectives.truth([0.8]))
    with pytest.raises(InputError, match="bring the voters of the design"):
        shared_labels(design, [ALL[:, :1]], parties, "a")
    own = darrm.solve(K=3, m=1, epsilon=0.5, prior=darrm.priors.votes([1, 2, 3, 4]))
    with pytest.raises(InputError, match="votes-are-public"):
        shared_labels(own, [ALL[:, :1]], parties, "a")
    for wrong in ("parties.json", [{"name": "a"}], None):
        with pytest.raises(InputError, match=r"Parties\.of or Parties\.read"):
            split_votes(NOISY, wrong, [1, 0, 1])  # type: ignore[arg-type]
    for votes in ([0, 2], [0.5, 1], ["a"], [[np.nan]]):
        with pytest.raises(InputError):
            split_votes(NOISY, parties, votes)


def test_a_missing_certificate_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    parties = Parties.of([{"name": n, "address": f"{n}:1", "voters": [n]} for n in "abc"])
    (tmp_path / ".config").mkdir()
    for name in ("party_1.crt", "party_1.key", "mpyc_ca.crt"):
        with pytest.raises(InputError, match=rf"{re.escape(str(Path('.config', name)))} is missing"):
            shared_labels(NOISY, [ALL[:, :1]], parties, "b", tls=True)
        (tmp_path / ".config" / name).touch()
    shared_labels(NOISY, [ALL[:, :1]], parties, "b", tls=True)


def test_a_trial_says_how_many_parties_it_takes(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    Path("votes.csv").write_text("id,a,b,c\nr1,1,0,1\n")
    for many in ("2", "4"):
        assert main(["release-shared", "majority.json", "--votes", "votes.csv", "-M", many]) == 2
        assert "at least 3 parties, at most one for each of the 3 voters" in capsys.readouterr().err


@pytest.mark.parametrize("found", ["0.10", "0.12.1", "1.11"])
def test_other_versions_of_mpyc_are_refused(found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_talk, "version", lambda name: found)
    parties = Parties.of([{"name": n, "address": f"{n}:1", "voters": [n]} for n in "abc"])
    with pytest.raises(MissingExtraError, match=rf"MPyC 0\.11, .* Got {found}\. Run"):
        next(shared_labels(NOISY, [ALL[:, :1]], parties, "a"))


@pytest.mark.parametrize(
    ("columns", "colluders", "expected"),
    [
        ("a b c d e", 1, (1, {0: 2})),
        ("a b c d e", 2, (2, {})),
        ("ab c d e -", 2, (1, {0: 3})),
        ("ab cd e", 1, "Party p0 knows the votes of its 2 voters"),
        ("e a bcd", 1, "Party p2 knows the votes of its 3 voters"),
        ("all e- a- -", 0, (1, {})),
    ],
)
def test_parties_that_pool_are_no_more_than_the_colluders(columns: str, colluders: int, expected: Any) -> None:
    shares = columns.startswith("all ")
    each = [party.strip("-") if not shares else "" for party in columns.removeprefix("all ").split()]
    made = [{"name": f"p{i}", "address": f"127.0.0.1:{9000 + i}", "voters": [*own]} for i, own in enumerate(each)]
    parties = Parties.of(made, voters=[*"abcde"] if shares else ())
    known = darrm.VoterGroup(5, 1.0, max_affected=1, randomizer="randomized response", colluders=colluders)
    design = darrm.Design(darrm.DecisionProblem([known], 1.01), [0, 0, 0, 1, 1, 1], darrm.objectives.truth([0.7]))
    if isinstance(expected, str):
        with pytest.raises(InputError, match=rf"{expected}.* Plan with colluders of \d or more"):
            pooling(design, parties)
    else:
        assert pooling(design, parties) == expected


def test_labels_go_to_parties_alone() -> None:
    three = [{"name": n, "address": f"{n}:1", "voters": [n]} for n in "abc"]
    assert Parties.of(three).receivers == (0, 1, 2)
    assert Parties.of(three, labels_to=["c", "a"]).receivers == (2, 0)
    with pytest.raises(InputError, match="one of a, b, c"):
        Parties.of(three, labels_to=["d"])


def test_files_that_are_no_parties_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "parties.json"
    for text in ("", "[]", "{", '{"parties": 3}', '{"others": []}', "[" * 100_000):
        path.write_text(text)
        with pytest.raises(InputError):
            Parties.read(path)
    with pytest.raises(InputError, match="could not be read"):
        Parties.read(tmp_path / "none.json")


def test_shares_of_a_vote_are_the_vote_and_each_alone_is_uniform() -> None:
    parties = Parties.of([{"name": name, "address": f"{name}:1"} for name in "xyz"], list("abc"))
    votes = np.repeat([0, 1], 5_000)
    first, second, third = split_votes(NOISY, parties, votes)
    p = int(max(first.max(), second.max(), third.max())) + 1
    np.testing.assert_array_equal((3 * first - 3 * second + third) % p, votes)
    for share in (first, second, third):
        for half in (share[:5_000], share[5_000:]):
            counts = np.bincount(half, minlength=p)
            assert ((counts - 5_000 / p) ** 2 / (5_000 / p)).sum() < p + 6 * np.sqrt(2 * p)


@pytest.mark.parametrize("check", [True, False])
def test_a_ledger_whose_total_takes_too_long_is_not_charged(
    check: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = importlib.import_module("darrm.interop.shared")._Run
    monkeypatch.setattr(run, "labels", lambda self, cut, charge, *_: charge(next(cut), check=check))
    book = darrm.accounting.Ledger.create(
        tmp_path / "ledger", total_epsilon=9.0 + check, total_delta=1e-6, voters="fresh", rule="in-advance"
    )
    parties = Parties.of([{"name": n, "address": f"{n}:1", "voters": [n]} for n in "abc"])
    before = book.path.read_bytes()
    with pytest.raises(PartyError, match=r"a is late.* not charged.*Raise --timeout"):
        shared_labels(NOISY, [ALL[:, :1]], parties, "a", ledger=book, timeout=1e-6)
    assert book.path.read_bytes() == before
    shared_labels(NOISY, [ALL[:, :1]], parties, "a", ledger=book, timeout=60)
    assert book.status()["released"] == (0 if check else len(ALL))


def test_a_port_that_is_taken_is_named() -> None:
    async def start() -> None:
        raise OSError(98, "Address already in use")

    talk = object.__new__(shared_talk.Talk)
    talk._names, talk._me, talk._timeout, talk._loop = ["p0", "p1"], 1, 1.0, asyncio.new_event_loop()
    talk.mpc = SimpleNamespace(start=start)
    with pytest.raises(
        darrm.InputError, match=r"Party p1 cannot connect or listen: Address already in use\. Pass a free"
    ):
        talk.connect()
    talk._loop.close()
