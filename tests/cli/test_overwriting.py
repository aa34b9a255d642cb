"""Labels that were paid for are not lost by a second release into the same file."""

import json
from pathlib import Path

import pytest

import darrm
from darrm.cli import main


def test_labels_of_an_earlier_release_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    design, votes, out = tmp_path / "gamma.json", tmp_path / "votes.csv", tmp_path / "labels.csv"
    ledger = tmp_path / "ledger.json"
    darrm.solve(K=3, m=1, epsilon=0.5).save(design)
    votes.write_text("a,b,c\n1,0,1\n0,0,0\n", encoding="utf-8")
    budget = ["--voters", "fresh", "--total-epsilon", "5", "--total-delta", "1e-6"]
    assert main(["ledger", "create", str(ledger), str(design), *budget]) == 0
    release = ["release", str(design), "--votes", str(votes), "--out", str(out), "--ledger", str(ledger)]
    assert main(release) == 0
    kept, charged = out.read_bytes(), darrm.accounting.Ledger(ledger).status()["released"]
    assert main([*release, "--json"]) == 2
    captured = capsys.readouterr()
    assert "labels.csv exists already. Pass another --out, or --overwrite" in captured.err
    assert json.loads(captured.out.splitlines()[-1])["error"]["code"] == "exists"
    assert out.read_bytes() == kept
    assert darrm.accounting.Ledger(ledger).status()["released"] == charged == 2
    assert main([*release, "--overwrite"]) == 0
    assert darrm.accounting.Ledger(ledger).status()["released"] == 4


@pytest.mark.every
@pytest.mark.parametrize(
    "made",
    [
        "solve --K 3 --m 1 --epsilon .5",
        "plan --K 3 --epsilon .5 --prior uniform --queries 1 --voters fresh --max-affected 1 --total-epsilon 1 "
        "--total-delta 0 --no-comparison",
    ],
)
def test_an_earlier_design_is_replaced_and_said(made: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "gamma.json"
    assert main([*made.split(), "--out", str(out)]) == 0
    assert "earlier file" not in capsys.readouterr().err
    assert main([*made.split(), "--out", str(out)]) == 0
    assert "gamma.json is in the place of an earlier file." in " ".join(capsys.readouterr().err.split())
    assert main([*made.split(), "--out", "/dev/null"]) == 0
    assert "earlier file" not in capsys.readouterr().err


@pytest.mark.parametrize("name", ["solve", "plan", "export", "release"])
def test_no_command_writes_over_a_ledger(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    design, votes, ledger = tmp_path / "gamma.json", tmp_path / "votes.csv", tmp_path / "ledger.json"
    solved = darrm.solve(K=3, m=1, epsilon=0.5)
    solved.save(design)
    votes.write_text("a,b,c\n1,0,1\n", encoding="utf-8")
    darrm.accounting.Ledger.create(ledger, solved, voters="fresh", total_epsilon=5, total_delta=1e-6)
    kept = ledger.read_bytes()
    command = {
        "solve": ["--K", "3", "--m", "1", "--epsilon", ".5"],
        "plan": [
            *(
                "--K",
                "3",
                "--epsilon",
                ".5",
                "--queries",
                "1",
                "--voters",
                "fresh",
                "--max-affected",
                "1",
                "--prior",
                "uniform",
            ),
            *("--total-epsilon", "1", "--total-delta", "0"),
        ],
        "export": [str(design)],
        "release": [str(design), "--votes", str(votes), "--overwrite"],
    }[name]
    assert main([name, *command, "--out", str(ledger)]) == 2
    assert "ledger.json is a ledger, and its charges would be lost" in capsys.readouterr().err
    assert ledger.read_bytes() == kept
    assert main([name, *command, "--out", str(tmp_path / "other.json")]) == 0
