"""Labels that were paid for are not lost by a second release into the same file."""

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
    assert main(release) == 2
    assert "labels.csv exists already. Pass another --out, or --overwrite" in capsys.readouterr().err
    assert out.read_bytes() == kept
    assert darrm.accounting.Ledger(ledger).status()["released"] == charged == 2
    assert main([*release, "--overwrite"]) == 0
    assert darrm.accounting.Ledger(ledger).status()["released"] == 4
