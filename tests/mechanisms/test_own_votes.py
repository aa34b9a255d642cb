"""No design releases the very votes that its prior was read from, unless they are public."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import darrm
from darrm.cli import main
from darrm.votes import csv as votes_csv

K, N = 5, 60
VOTES = np.random.default_rng(5).integers(0, 2, (N, K))
ROWS = np.random.default_rng(6).permutation(N)
OTHERS = np.random.default_rng(7).integers(0, 2, (N, K))
SAID = r"read from votes with the same histogram as these 60 rows.*public=True \(--votes-are-public\)"


def mechanism_of(prior: Any) -> darrm.mechanisms.DaRRM:
    return darrm.mechanisms.DaRRM(darrm.solve(K=K, m=2, epsilon=0.5, prior=prior))


def histogram(votes: Any = VOTES) -> list[int]:
    return [sum(int(sum(row)) == l for row in votes.tolist()) for l in range(K + 1)]


@pytest.fixture(scope="module")
def mechanism() -> darrm.mechanisms.DaRRM:
    return mechanism_of(darrm.priors.votes(VOTES))


def frame(votes: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(votes, columns=[f"v{j}" for j in range(K)])


def arrow(votes: Any) -> Any:
    import pyarrow as pa

    return pa.table({f"v{j}": votes[:, j] for j in range(K)})


WAYS: dict[str, Callable[..., Any]] = {
    "array": lambda made, votes, **public: made.release(votes, **public),
    "list": lambda made, votes, **public: made.release(votes.tolist(), **public),
    "booleans": lambda made, votes, **public: made.release(votes.astype(bool), **public),
    "in another order": lambda made, votes, **public: made.release(votes[ROWS], **public),
    "voters in another order": lambda made, votes, **public: made.release(votes[:, ::-1], **public),
    "numbers of ones": lambda made, votes, **public: made.release_counts(votes.sum(axis=1), **public),
    "one block": lambda made, votes, **public: list(made.release_blocks([votes], **public)),
    "two blocks": lambda made, votes, **public: list(made.release_blocks([votes[:40], votes[40:]], **public)),
    "single rows": lambda made, votes, **public: list(made.release_blocks(iter(votes), rows=7, **public)),
    "frame": lambda made, votes, **public: darrm.columns.release(made, frame(votes), **public),
    "arrow": lambda made, votes, **public: darrm.columns.release(made, arrow(votes), **public),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_votes_of_the_prior_are_refused_whatever_their_form(mechanism: darrm.mechanisms.DaRRM, way: str) -> None:
    assert histogram(OTHERS) != histogram()
    with pytest.raises(darrm.InputError, match=SAID):
        WAYS[way](mechanism, VOTES)
    WAYS[way](mechanism, OTHERS)
    WAYS[way](mechanism, VOTES, public=True)


@pytest.mark.parametrize(
    "prior",
    [
        pytest.param(lambda: histogram(), id="counts"),
        pytest.param(lambda: [n / N for n in histogram()], id="shares"),
        pytest.param(lambda: [100 * n / 7 for n in histogram()], id="weights"),
    ],
)
def test_the_prior_may_be_counts_or_shares_and_may_stand_behind_noise(prior: Callable[[], list[float]]) -> None:
    for under in (
        darrm.priors.votes(prior()),
        darrm.priors.randomized_response(darrm.priors.votes(prior()), 0.5),
        darrm.priors.parse(darrm.priors.votes(prior()).text()),
    ):
        made = mechanism_of(under)
        with pytest.raises(darrm.InputError, match="read from votes"):
            made.release(VOTES)
        made.release(OTHERS)


def test_counts_are_of_so_many_rows_and_not_of_others_in_their_proportion() -> None:
    made = mechanism_of(darrm.priors.votes([10, 0, 10, 0, 0, 0]))
    two = np.array([[0, 0, 0, 0, 0], [1, 1, 0, 0, 0]])
    made.release(two)
    with pytest.raises(darrm.InputError, match="these 20 rows"):
        made.release(np.repeat(two, 10, axis=0))
    with pytest.raises(darrm.InputError, match="as this row"):
        mechanism_of(darrm.priors.votes(VOTES[:1])).release(VOTES[0])


@pytest.mark.thorough
def test_designs_read_back_and_planned_ones_refuse_too(tmp_path: Path) -> None:
    plan = darrm.plan(
        *(), K=K, epsilon=0.5, queries=N, total_epsilon=3, total_delta=1e-6, voters="fresh", max_affected=1,
        prior=darrm.priors.votes(VOTES),
    )  # fmt: skip
    plan.design.save(tmp_path / "gamma.json")
    with pytest.raises(darrm.InputError, match=SAID):
        darrm.mechanisms.DaRRM(darrm.load(tmp_path / "gamma.json")).release(VOTES)


@pytest.mark.parametrize("prior", ["uniform", "common:2,2"])
def test_other_priors_refuse_no_votes(prior: str) -> None:
    mechanism_of(prior).release(VOTES)
    with pytest.raises(darrm.InputError, match="public must be True or False"):
        mechanism_of(prior).release(VOTES, public="yes")  # type: ignore[arg-type]


def test_a_stream_refuses_the_block_that_completes_the_votes_and_does_not_charge_it(
    mechanism: darrm.mechanisms.DaRRM, tmp_path: Path
) -> None:
    ledger = darrm.accounting.Ledger.create(
        tmp_path / "ledger.json", total_epsilon=1000.0, total_delta=1e-5, voters="fresh", design=mechanism.design
    )
    stream = mechanism.release_blocks([VOTES[:40], VOTES[40:]], ledger=ledger)
    assert len(next(stream)) == 40
    with pytest.raises(darrm.InputError, match=SAID):
        next(stream)
    assert ledger.status()["released"] == 40
    with pytest.raises(darrm.InputError, match=SAID):
        darrm.columns.release(mechanism, frame(VOTES), ledger=ledger)
    assert ledger.status()["released"] == 40


# The command line.


def written(path: Path, votes: Any, *, ids: bool) -> None:
    if path.suffix == ".csv":
        lines = [",".join([*(["id"] if ids else []), *(f"v{j}" for j in range(K))])]
        lines += [
            ",".join([*([f"patient {i}"] if ids else []), *map(str, row)]) for i, row in enumerate(votes.tolist())
        ]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return
    import pyarrow.parquet as pq

    table = arrow(votes)
    if ids:
        table = table.add_column(0, "id", [[f"patient {i}" for i in range(len(votes))]])
    pq.write_table(table, path)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("ids", [False, True])
def test_release_refuses_the_file_of_the_prior(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: str, ids: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    written(Path(f"votes.{kind}"), VOTES, ids=ids)
    written(Path("same.csv"), VOTES[ROWS], ids=not ids)
    written(Path("others.csv"), OTHERS, ids=ids)
    problem = ["--K", str(K), "--m", "2", "--epsilon", "0.5"]
    assert main(["solve", *problem, "--prior", f"votes:votes.{kind}", "--out", "gamma.json"]) == 0
    said = capsys.readouterr().err
    assert f"The prior is the distribution of votes in the 60 rows of votes.{kind}." in said
    assert "a design file stores it exactly" in said
    ledger = ["ledger", "create", "ledger.json", "gamma.json", "--voters", "fresh", "--total-epsilon", "500"]
    assert main([*ledger, "--total-delta", "1e-5"]) == 0
    before = Path("ledger.json").read_bytes()
    capsys.readouterr()
    for votes in (f"votes.{kind}", "same.csv"):
        release = ["release", "gamma.json", "--votes", votes, "--out", "labels.csv"]
        for charged in ([], ["--ledger", "ledger.json"]):
            assert main([*release, *charged]) == 2
            assert "--votes-are-public" in capsys.readouterr().err
            assert not Path("labels.csv").exists()
    assert Path("ledger.json").read_bytes() == before
    assert main([*release, "--votes-are-public", "--ledger", "ledger.json"]) == 0
    assert len(Path("labels.csv").read_text(encoding="utf-8").splitlines()) == N + 1
    assert main(["release", "gamma.json", "--votes", "others.csv", "--out", "more.csv"]) == 0


def test_release_looks_at_the_whole_file_and_at_no_block_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file has several blocks, of which none falls as the prior does."""
    many = np.random.default_rng(8).integers(0, 2, (3000, 3))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(votes_csv, "_BLOCK", 1000)
    np.savetxt("votes.csv", many, "%d", ",", header="a,b,c", comments="")
    assert len(list(darrm.votes.blocks("votes.csv"))) > 1
    assert (
        main(["solve", "--K", "3", "--m", "1", "--epsilon", "1", "--prior", "votes:votes.csv", "--out", "g.json"]) == 0
    )
    assert main(["release", "g.json", "--votes", "votes.csv", "--out", "labels.csv"]) == 2
    assert "these 3,000 rows" in capsys.readouterr().err
    assert not Path("labels.csv").exists()


def test_the_file_of_a_design_is_as_before(tmp_path: Path) -> None:
    """Nothing but the histogram, which stood there, tells of the votes: no digest of them or of their ids."""
    import json

    darrm.solve(K=3, m=1, epsilon=0.5, prior=darrm.priors.votes(VOTES[:, :3])).save(tmp_path / "gamma.json")
    content = json.loads((tmp_path / "gamma.json").read_text(encoding="utf-8"))
    counted = [float(sum(int(sum(row)) == l for row in VOTES[:, :3].tolist())) for l in range(4)]
    assert content["prior"] == {"kind": "votes", "histogram": counted}


def test_a_measurement_of_opendp_says_so_when_it_is_made(mechanism: darrm.mechanisms.DaRRM) -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib", "honest-but-curious")
    given: dict[str, Any] = {
        "n_labels": 2,
        "voters": "fresh",
        "votes": lambda data: np.tile(data, (2, 1)),
        "input_domain": dp.vector_domain(dp.atom_domain(T=int), size=K),
        "input_metric": dp.hamming_distance(),
    }
    with pytest.raises(darrm.InputError, match="which a measurement must not release"):
        darrm.interop.opendp_measurement(mechanism.design, **given)
    design = darrm.solve(K=K, m=2, epsilon=0.5, prior=darrm.priors.votes(np.tile(VOTES[0], (2, 1))))
    assert len(darrm.interop.opendp_measurement(design, public=True, **given)(VOTES[0].tolist())) == 2
