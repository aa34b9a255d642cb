"""gamma_opt beside the others: in a fixed order, and judged by the certificate alone."""

from pathlib import Path

import numpy as np
import pytest

import darrm
from darrm import baselines, compare
from darrm.baselines.entries import Entry, never_of
from darrm.cli import main
from darrm.errors import InputError
from darrm.planning.comparison import mechanisms_of
from darrm.show.figures import save
from darrm.show.plots import plot_comparison

PROBLEMS = [
    darrm.MajorityProblem(K=11, m=3, epsilon=0.1),
    darrm.MajorityProblem(K=11, m=1, epsilon=0.1),
    darrm.MajorityProblem(K=7, m=2.5, epsilon=0.5, Delta=1e-4),
    darrm.MajorityProblem(K=8, m=2, epsilon=0.3),
    darrm.MajorityProblem(K=9, m=2, epsilon=0.2, max_affected=3),
    darrm.MajorityProblem(K=5, m=5, epsilon=1.0),
]


@pytest.fixture(scope="module", params=PROBLEMS, ids=lambda problem: f"K{problem.K}-m{problem.m:g}")
def case(request: pytest.FixtureRequest) -> tuple[darrm.MajorityProblem, list[Entry]]:
    return request.param, list(compare(request.param))


@pytest.fixture(scope="module")
def paper() -> dict[str, Entry]:
    return {entry.name: entry for entry in compare(PROBLEMS[0])}


@pytest.mark.thorough
def test_the_order_is_fixed(paper: dict[str, Entry]) -> None:
    assert list(paper) == [
        "gamma_opt",
        "monotone",
        "double subsampling of 5 votes",
        "subsampling of 3 votes",
        "randomized response (largest)",
        "randomized response (A.1)",
        "tuned subsampling",
        "Gaussian noisy max",
        "Laplace noisy max",
        "permute-and-flip",
        "exponential mechanism",
        "plain majority",
    ]


@pytest.mark.thorough
def test_a_comparison_is_printed_as_a_table() -> None:
    about, header, first, *others = str(compare(PROBLEMS[0])[["gamma_opt", "plain majority"]]).splitlines()
    assert about.startswith("MajorityProblem(K=11, m=3.0, epsilon=0.1")
    assert header.split() == ["name", "setting", "within", "disagreement", "expected_cost", "error", "tight_epsilon"]
    assert first.split() == ["gamma_opt", "yes", "0.045838", "0.041306", "0.041306", "0.3"]
    assert [len(line) for line in others] == [len(header)]
    spent = compare(PROBLEMS[0])["randomized response (A.1)"].tight_epsilon
    assert 0 <= float(str(compare(PROBLEMS[0])[["randomized response (A.1)"]]).split()[-1]) - spent < 1e-6
    assert others[0].split()[:3] == ["plain", "majority", "no"]


@pytest.mark.thorough
def test_gammas_are_a_table_of_their_own(tmp_path: Path) -> None:
    some = compare(K=5, m=2, epsilon=0.1)[["gamma_opt", "Laplace noisy max"]]
    assert some.gammas() == {
        "votes": ["2:3", "1:4", "0:5"],
        **{name: some[name].gamma[3:].tolist() for name in ("gamma_opt", "Laplace noisy max")},
    }
    some.write(tmp_path / "t.tex", gammas=True)
    text = (tmp_path / "t.tex").read_text()
    assert r"votes & gamma\_opt & Laplace noisy max" in text
    assert "2:3" in text
    decision = compare(
        darrm.DecisionProblem([darrm.VoterGroup(3, 1.0)], epsilon=1.0), objective=darrm.objectives.truth([0.8])
    )
    with pytest.raises(InputError, match="Only one release of a majority has gammas"):
        decision.gammas()


@pytest.mark.thorough
def test_the_parameters_of_a_majority_do_for_a_problem() -> None:
    given = {"K": 5, "m": 2, "epsilon": 0.1}
    problem = darrm.MajorityProblem(**given)
    assert [entry.error for entry in compare(**given)] == [entry.error for entry in compare(problem)]
    assert np.array_equal(darrm.linear_program(**given).A, darrm.linear_program(problem).A)
    with pytest.raises(InputError, match=r"compare needs a problem, or K, m .*\. Missing: m, epsilon\."):
        compare(K=5)
    with pytest.raises(InputError, match="linear_program has no parameter 'eps'"):
        darrm.linear_program(K=5, m=2, epsilon=0.1, eps=0.1)
    with pytest.raises(InputError, match="not both"):
        compare(problem, K=5)


@pytest.mark.thorough
def test_certificates_are_those_of_verify(case: tuple[darrm.MajorityProblem, list[Entry]]) -> None:
    problem, entries = case
    for entry in entries:
        assert entry.certificate == darrm.verify(entry.gamma, problem)


def test_gamma_opt_has_the_least_error(case: tuple[darrm.MajorityProblem, list[Entry]]) -> None:
    _, (best, *others) = case
    assert best.certificate.holds
    assert best.design is not None
    for entry in others:
        if entry.certificate.holds:
            assert best.error <= entry.error + best.design.gap + 1e-12


def test_the_solved_ones_hold_and_carry_their_design(case: tuple[darrm.MajorityProblem, list[Entry]]) -> None:
    problem, entries = case
    for entry in entries[:2]:
        assert entry.certificate.holds
        assert entry.design is not None
        assert entry.design.problem == problem
        np.testing.assert_array_equal(entry.gamma, entry.design.gamma)
        assert entry.error == pytest.approx(entry.design.error, abs=1e-15)
        assert entry.disagreement == pytest.approx(entry.design.disagreement, abs=1e-15)
    assert all(entry.design is None for entry in entries[2:])
    assert np.all(np.diff(entries[1].gamma[problem.K // 2 + 1 :]) >= 0)


def test_baselines_are_scaled_by_rounding_only(case: tuple[darrm.MajorityProblem, list[Entry]]) -> None:
    problem, entries = case
    m = int(problem.m)
    exact = {
        2: baselines.double_subsampling(problem.K, m),
        3: baselines.subsampling(problem.K, m),
        5: baselines.constant(problem),
    }
    for index, gamma in exact.items():
        np.testing.assert_allclose(entries[index].gamma, gamma, rtol=2e-9, atol=0)


@pytest.mark.thorough
def test_randomized_response_of_few_voters_that_fail() -> None:
    """Two votes cost .2 of the .5 that the release may cost, but fail, and the release must not."""
    problem = darrm.MajorityProblem(K=11, m=5.0, epsilon=0.1, Delta=1e-3, delta=0.0, max_affected=2)
    entry = compare(problem)[5]
    assert entry.name == "randomized response (A.1)"
    assert entry.certificate.holds
    assert 0.99 < entry.gamma[-1] < 0.995


def test_largest_response_is_one_constant_and_tight(case: tuple[darrm.MajorityProblem, list[Entry]]) -> None:
    problem, entries = case
    gamma = entries[4].gamma
    half = gamma[problem.K // 2 + 1 :]
    assert np.ptp(half) == 0
    assert entries[4].certificate.holds
    if half[0] < 1:
        assert not darrm.verify(np.minimum(gamma * (1 + 1e-6), 1), problem).holds
    assert half[0] >= entries[5].gamma[-1] - 1e-9


@pytest.mark.thorough
def test_totals_of_fresh_voters() -> None:
    problem = darrm.MajorityProblem(5, 2, 0.2)
    entries = compare(problem, queries=10, total_delta=1e-5)
    for entry in entries.entries[:2]:
        assert entry.design is not None
        total = darrm.accounting.compose(entry.design, 10, delta=1e-5, voters="fresh")
        assert entry.total == pytest.approx(total.upper, rel=2e-3)
    assert entries[-1].name == "plain majority"
    assert entries[-1].total > max(entry.total for entry in entries.entries[:-1])
    with pytest.raises(darrm.InputError, match="go together"):
        compare(problem, queries=10)


@pytest.mark.thorough
def test_subsampling_is_tight_for_one_vote() -> None:
    problem = PROBLEMS[1]
    entries = {entry.name.split(" (")[0]: entry for entry in compare(problem)}
    one_vote = entries["tuned subsampling"]
    assert one_vote.certificate.holds
    assert one_vote.certificate.tight_epsilon == pytest.approx(0.1, rel=1e-9)
    assert one_vote.certificate.tight_epsilon <= problem.release_epsilon
    np.testing.assert_allclose(one_vote.gamma, entries["gamma_opt"].gamma, rtol=0, atol=1e-8)
    assert one_vote.error == pytest.approx(entries["gamma_opt"].error, abs=1e-9)
    assert not darrm.verify(np.minimum(one_vote.gamma * (1 + 1e-6), 1), problem).holds


@pytest.mark.thorough
def test_plain_majority_does_not_hold(paper: dict[str, Entry]) -> None:
    plain = paper["plain majority"]
    assert not plain.certificate.holds
    assert plain.certificate.tight_epsilon > 0.3
    assert (plain.error, plain.disagreement) == (0, 0)
    assert plain.gamma.tolist() == [1] * 12


@pytest.mark.thorough
def test_double_subsampling_is_tight_but_worse(paper: dict[str, Entry]) -> None:
    double = paper["double subsampling of 5 votes"]
    assert double.certificate.holds
    assert double.certificate.tight_epsilon == pytest.approx(0.3, rel=1e-12)
    assert paper["gamma_opt"].error < 0.9 * double.error < 0.9 * paper["subsampling of 3 votes"].error


def test_with_an_allowance_for_all_votes_no_noise_is_left() -> None:
    entries = compare(PROBLEMS[-1])
    assert entries[0].error == pytest.approx(0, abs=1e-9)
    assert entries[-1].certificate.holds


@pytest.mark.thorough
@pytest.mark.parametrize("objective", ["tv", "disagreement"])
@pytest.mark.parametrize("prior", ["uniform", "common:2,2", darrm.priors.common(2, 2)], ids=str)
def test_prior_and_objective_are_those_of_solve(prior: str | darrm.priors.Prior, objective: str) -> None:
    problem = darrm.MajorityProblem(K=7, m=2, epsilon=0.2)
    solved = darrm.solve(problem, prior=prior, objective=objective)
    best = compare(problem, prior, objective)[0]
    assert best.design is not None
    assert str(best.design.objective) == objective
    np.testing.assert_array_equal(best.gamma, solved.gamma)
    assert best.disagreement == pytest.approx(solved.disagreement, abs=1e-15)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(darrm.InputError):
        compare(PROBLEMS[0], "psychic")
    with pytest.raises(darrm.InputError):
        compare(PROBLEMS[0], objective="fun")


@pytest.mark.thorough
def test_sampled_errors_stand_beside_the_exact_ones() -> None:
    entries = compare(PROBLEMS[0], draws=20_000, rng=np.random.default_rng(4))
    for entry in entries:
        assert entry.interval is not None
        spread = entry.interval.high - entry.interval.low
        assert abs(entry.interval.mean - entry.error) <= 2 * spread + 1e-12
    assert compare(PROBLEMS[1])[0].interval is None


@pytest.mark.slow
def test_the_picture_of_a_comparison_shows_all_of_it(tmp_path: Path) -> None:
    entries = compare(PROBLEMS[0], draws=100, rng=np.random.default_rng(4))
    left, right = plot_comparison(PROBLEMS[0], entries)
    shown = [entry for entry in entries if entry.within and not entry.setting]
    assert len(left.lines) == len(shown) < len(entries)
    assert [bar.get_width() for bar in right.patches] == [entry.error for entry in entries]
    names = [label.get_text() for label in right.get_yticklabels()]
    assert names[-1] == "plain majority,\nnot private enough"
    assert names[:-1] == [entry.name for entry in entries[:-1]]
    _, shown_legend = left.get_legend_handles_labels()
    assert shown_legend == [entry.name for entry in shown]
    own = np.full(PROBLEMS[0].K + 1, 0.999)
    left, _ = plot_comparison(PROBLEMS[0], compare(PROBLEMS[0], extra={"mine": own}))
    assert "mine, not private enough" in left.get_legend_handles_labels()[1]
    assert any(np.array_equal(line.get_ydata(), own) for line in left.lines)
    save(tmp_path / "all.svg", plot_comparison(PROBLEMS[0], entries))
    assert (tmp_path / "all.svg").read_text(encoding="utf-8").startswith("<?xml")
    with pytest.raises(darrm.InputError, match="must end in"):
        save(tmp_path / "all.txt", plot_comparison(PROBLEMS[0], entries))


@pytest.mark.thorough
def test_the_picture_of_a_comparison_draws_the_curves_that_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = PROBLEMS[0]
    left, right = plot_comparison(problem, compare(problem), curves=["permute-and-flip", "plain majority"])
    assert left.get_legend_handles_labels()[1] == ["permute-and-flip", "plain majority, not private enough"]
    assert len(right.patches) == len(compare(problem))
    asked = ["compare", "--K", "3", "--m", "1", "--epsilon", ".5", "--curves", "gamma_opt,Laplace noisy max"]
    assert main([*asked, "--plot", str(tmp_path / "some.svg")]) == 0
    files = ["--plot", str(tmp_path / "none.svg"), "--out", str(tmp_path / "none.csv")]
    assert main([*asked[:-1], "Laplace", *files]) == 2
    assert "--curves must be names of mechanisms: gamma_opt, " in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["some.svg"]
    assert main(asked) == 2
    assert "Got no --plot" in capsys.readouterr().err
    assert main([*asked, "--queries", "2", "--total-epsilon", "1", "--total-delta", "0", "--voters", "fresh"]) == 2
    assert "--curves is for one release" in capsys.readouterr().err


@pytest.mark.thorough
@pytest.mark.parametrize("delta", [None, "0"])
def test_a_total_that_a_delta_of_votes_makes_infinite_has_the_way_out_beside_it(
    delta: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["compare", "--K", "3", "--m", "1", "--epsilon", ".5", "--voter-delta", "1e-5", "--queries", "10"]
    assert main([*asked, "--total-delta", "1e-6", *(("--delta", delta) if delta else ())]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert ("Solve and compare with --delta 0" in said) == (delta is None)
    assert "Fixed voters: no total is certified at this delta" in said
    assert main(asked) == 2
    assert "--queries and --total-delta go together" in capsys.readouterr().err


@pytest.mark.parametrize("m", [0.5, 2])
def test_names_of_a_comparison_are_known_before_it(
    m: float, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    problem, none = darrm.MajorityProblem(K=3, m=m, epsilon=0.5), [1.0, 1.0, 1.0, 1.0]
    entries = compare(problem, extra={"mine": none})
    assert mechanisms_of(problem, ["mine"]) == [entry.name for entry in entries]
    assert never_of((entry.called for entry in entries), mechanisms_of(problem, ["mine"])) == []
    monkeypatch.setattr("darrm.planning.comparison.compare", None)
    asked = ["compare", "--K", "3", "--m", str(m), "--epsilon", ".5", "--plot", "none.svg"]
    assert main([*asked, "--curves", "gamma_opt,permute and flip,randomized response (A.2)"]) == 2
    assert "plain majority. Got permute and flip, randomized response (A.2)." in capsys.readouterr().err


@pytest.mark.thorough
def test_all_curves_of_a_few_chosen_mechanisms_are_drawn() -> None:
    some = compare(K=5, m=2, epsilon=0.1)[["gamma_opt", "Laplace noisy max", "plain majority"]]
    left, _ = plot_comparison(darrm.MajorityProblem(K=5, m=2, epsilon=0.1), some)
    assert [line.get_label().partition(",")[0] for line in left.lines] == [entry.name for entry in some]


@pytest.mark.thorough
def test_the_former_name_of_tuned_subsampling_is_taken_where_the_papers_is_not_meant() -> None:
    of_paper = compare(K=5, m=2, epsilon=0.1)
    with pytest.raises(KeyError, match=r"'subsampling' is none of .*subsampling of 2 votes, .*tuned subsampling"):
        of_paper["subsampling"]
    decision = darrm.DecisionProblem([darrm.VoterGroup(3, 1.0)], epsilon=1.0)
    found = compare(decision, objective=darrm.objectives.truth([0.8]))
    assert found["subsampling"] is found["tuned subsampling"]


@pytest.mark.thorough
def test_a_table_of_ones_own_stands_beside_the_others_as_it_is() -> None:
    problem = darrm.MajorityProblem(11, 3, 0.1)
    rising = np.array([1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.5, 0.6, 0.7, 0.8, 0.9, 1])
    found = darrm.compare(problem, extra={"mine": rising, "no noise": np.ones(12)})
    assert [entry.name for entry in found[:5]] == [
        "gamma_opt",
        "monotone",
        "mine",
        "no noise",
        "double subsampling of 5 votes",
    ]
    mine = darrm.Design(problem, rising, darrm.priors.independent())
    assert (found["mine"].error, found["mine"].disagreement) == pytest.approx((mine.error, mine.disagreement))
    assert found["mine"].within
    assert not found["no noise"].within
    groups = darrm.DecisionProblem([darrm.VoterGroup(2, 1.0)], 1.0)
    goal = darrm.objectives.truth([0.8])
    table = [0.2, 0.5, 0.8]
    assert darrm.compare(groups, objective=goal, extra={"mine": table})["mine"].table.tolist() == table
    with pytest.raises(InputError, match=r"names that no other mechanism has\. Got 'monotone'"):
        darrm.compare(problem, extra={"monotone": rising})
    with pytest.raises(InputError, match="gamma must"):
        darrm.compare(problem, extra={"mine": [1.0]})
    function = darrm.compare(problem, extra={"mine": lambda l: rising[l]})
    assert function["mine"].gamma.tolist() == list(rising)
    with pytest.raises(InputError, match="extra 'mine'"):
        darrm.compare(groups, objective=goal, extra={"mine": lambda l: 0.5})
    with pytest.raises(InputError, match="takes no 'extra'"):
        darrm.compare(groups, objective=goal, extra={"mine": table}, queries=2, total_epsilon=1.0, total_delta=0.0)
