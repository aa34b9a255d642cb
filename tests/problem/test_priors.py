"""Priors in closed form against integration and sampling; errors of a noise function."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.integrate
import scipy.special
import scipy.stats

import darrm
from darrm import priors
from darrm.cli import main
from darrm.cli.common import PRIORS as HELP
from darrm.numerics.poisson_binomial import pmf
from darrm.priors.texts import PRIORS


@pytest.mark.parametrize(("low", "high"), [(0.5, 1.0), (0.7, 1.0), (0.6, 0.6)])
@pytest.mark.parametrize("K", [1, 4, 11])
def test_independent_by_sampling(K: int, low: float, high: float) -> None:
    n = 40_000
    drawn = pmf(np.random.default_rng(K).uniform(low, high, (n, K)))
    error = drawn.std(axis=0) / np.sqrt(n)
    # Six standard errors in each of at most 12 entries: a false alarm once in 10^7 runs.
    assert np.all(np.abs(drawn.mean(axis=0) - priors.independent(low, high).ones(K)) <= 6 * error + 1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (2.0, 2.0), (0.5, 3.0)])
@pytest.mark.parametrize("K", [1, 4, 11])
def test_common_by_integration(K: int, a: float, b: float) -> None:
    got = priors.common(a, b).ones(K)
    for l in range(K + 1):

        def alpha(q: float, l: int = l) -> float:
            p = max(q, 1 - q)
            return float(scipy.stats.binom.pmf(l, K, p) * scipy.stats.beta.pdf(q, a, b))

        value = sum(scipy.integrate.quad(alpha, *ends, epsabs=1e-12)[0] for ends in ((0, 0.5), (0.5, 1)))
        assert got[l] == pytest.approx(value, abs=1e-8)


def test_common_is_well_scaled_for_many_votes() -> None:
    mean = priors.common().ones(1001)
    assert mean.sum() == pytest.approx(1, abs=1e-9)
    assert priors.weights(priors.common(), 1001, "tv").min() > 1e-6 / 1001


@pytest.mark.thorough
@pytest.mark.parametrize(("p", "rho"), [(0.5, 0.0), (0.8, 0.3), (1.0, 0.5), (0.6, 1.0)])
def test_two_votes_have_the_correlation_of_their_prior(p: float, rho: float) -> None:
    prior = priors.correlated(p, rho)
    none, one, both = prior.ones(2)
    assert none + one + both == pytest.approx(1)
    assert one / 2 + both == pytest.approx(p)
    assert both - p**2 == pytest.approx(rho * p * (1 - p))
    drawn = prior.sample(20_000, 4, np.random.default_rng(3))
    mean = np.array([pmf(row) for row in np.unique(drawn, axis=0)])
    _, often = np.unique(drawn, axis=0, return_counts=True)
    assert often @ mean / 20_000 == pytest.approx(prior.ones(4), abs=0.02)
    assert (prior.reach == 1) == (rho > 0 or p == 1)
    # Where all vote 0 votes for 0 and for 1 cancel, so the error of the paper is refused, as for votes and fixed p.
    assert prior.default_objective == "disagreement"
    with pytest.raises(darrm.InputError, match="cancel"):
        priors.weights(prior, 5, "tv")


def test_histogram_and_fixed() -> None:
    assert priors.votes([1, 0, 3, 4]).ones(3).tolist() == [0.125, 0, 0.375, 0.5]
    assert priors.fixed([0.9, 0.2, 0.4]).ones(3).tolist() == pmf([0.9, 0.2, 0.4]).tolist()
    assert priors.votes([1e308, 1e308]).ones(1).tolist() == [0.5, 0.5]
    for prior in (priors.votes([1, 0, 3, 4]), priors.fixed([0.9, 0.2, 0.4])):
        assert str(darrm.solve(K=3, m=2, epsilon=0.1, prior=prior).objective) == "disagreement"
        with pytest.raises(darrm.InputError, match="cancel"):
            darrm.solve(K=3, m=2, epsilon=0.1, prior=prior, objective="tv")
        with pytest.raises(darrm.InputError):
            prior.ones(5)


def test_weights_of_both_objectives() -> None:
    mean = priors.independent().ones(4)
    assert priors.weights(priors.independent(), 4, "tv") == pytest.approx([mean[3] - mean[1], mean[4] - mean[0]])
    assert priors.weights(priors.common(), 4, "disagreement") == pytest.approx(
        [priors.common().ones(4)[[1, 3]].sum(), priors.common().ones(4)[[0, 4]].sum()]
    )
    with pytest.raises(darrm.InputError, match="0 under"):
        priors.weights(priors.independent(0.5, 0.5), 5, "tv")


TEXTS = [
    *["independent:0.5,1", "common:2,3", "fixed:0.5,0.25", "votes:1,2,3", "confusion:0.25,0.75:0.9,0.1,0.3,0.7"],
    *["confusion:0.5,0.5:1,0,0,1:0.6,0.4,0.5,0.5", "randomized-response:0.5:independent:0.9,0.9"],
    *["randomized-response:1:votes:1,2,3", "randomized-response:0.5:confusion:0.25,0.75:0.9,0.1,0.3,0.7"],
    *["randomized-response:0.5:randomized-response:1:common:1,2", "correlated:0.75,0.2"],
]


def test_every_kind_has_a_text() -> None:
    assert {text.partition(":")[0] for text in TEXTS} == PRIORS.keys()


@pytest.mark.parametrize("kind", PRIORS)
def test_the_error_names_the_form_of_every_kind(kind: str) -> None:
    """The error is made from the registry; the help of the command line must name the same forms."""
    with pytest.raises(darrm.InputError) as refused:
        priors.parse("unknown")
    assert PRIORS[kind].form in str(refused.value)
    assert PRIORS[kind].form in HELP  # written out there, for the help loads no priors
    assert PRIORS[kind].form.startswith(f"{kind}:")


@pytest.mark.parametrize("text", TEXTS)
def test_text_and_dict_round_trip(text: str) -> None:
    prior = priors.parse(text)
    assert str(prior) == text
    assert priors.parse(prior.text()) == prior
    assert priors.from_dict(json.loads(json.dumps(prior.as_dict()))) == prior
    assert hash(priors.parse(text)) == hash(prior)


@pytest.mark.parametrize("text", TEXTS)
def test_draws_have_the_mean_that_is_stated_and_stay_within_the_reach(text: str) -> None:
    prior, n = priors.parse(text), 4000
    if "votes" in text:
        with pytest.raises(darrm.InputError, match="no vote probabilities to draw"):
            prior.sample(1, 2, np.random.default_rng(0))
        return
    drawn = prior.sample(n, 2, np.random.default_rng(5))
    both = drawn.prod(axis=1)
    mean = [np.prod(1 - drawn, axis=1).mean(), (drawn.sum(axis=1) - 2 * both).mean(), both.mean()]
    assert mean == pytest.approx(prior.ones(2), abs=6 * 0.5 / np.sqrt(n))
    assert prior.reach is not None
    assert np.maximum(drawn, 1 - drawn).max() <= prior.reach + 1e-12


def test_short_texts() -> None:
    assert priors.parse("uniform") == priors.parse("independent") == priors.independent()
    assert priors.parse("common") == priors.common()
    assert priors.parse("randomized-response:0.5:0.9") == priors.randomized_response(0.9, 0.5)
    assert priors.parse("randomized-response:0.5:0.9,0.2") == priors.randomized_response([0.9, 0.2], 0.5)
    assert priors.parse("randomized-response:0.5:uniform") == priors.randomized_response(priors.independent(), 0.5)


@pytest.mark.parametrize("prior", [priors.fixed([1 / 3, 0.1 + 0.2]), priors.common(1 / 3, 0.1)], ids=str)
def test_text_has_all_digits(prior: priors.Prior) -> None:
    behind = priors.randomized_response(prior, 0.1 + 0.2)
    assert priors.parse(behind.text()) == behind
    assert priors.parse(str(behind)) != behind


@pytest.mark.first(12)
@pytest.mark.parametrize(
    "text",
    [
        *["", "unknown", "common:0,1", "common:1,2,3", "fixed", "fixed:2", "votes:-1,2", "votes:0,0"],
        *["independent:0.2", "uniform:", "common:", "confusion", "confusion:0.5,0.5", "confusion:0.5:1,0,0,1"],
        *["confusion:0.5,0.5:1,0,0", "confusion:0.5,0.6:1,0,0,1", "confusion:0.5,0.5:0.9,0.2,0,1"],
        *["confusion:0.5,0.5:0,0,0,1", "confusion:a,b:1,0,0,1", "randomized-response", "randomized-response:"],
        *["randomized-response:1", "randomized-response:1:", "randomized-response:0:0.9"],
        *["randomized-response:nan:0.9", "randomized-response:1,2:0.9", "randomized-response:1:0.4"],
        *["randomized-response:1:unknown", "randomized-response:a:0.9"],
    ],
)
def test_bad_priors(text: str) -> None:
    with pytest.raises(darrm.InputError):
        priors.parse(text)


# ---- histograms, as users have them


def test_votes_are_counted(tmp_path: Path) -> None:
    rows = np.array([[0, 1, 1], [0, 0, 0], [1, 1, 1], [0, 1, 1]], dtype=np.uint8)
    (tmp_path / "public.csv").write_text("a,b,c\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows.tolist()))
    for given in (rows, rows.tolist(), rows.astype(bool).astype(float), darrm.votes.read(tmp_path / "public.csv")):
        assert priors.votes(given) == priors.votes([1, 0, 2, 1])
    with pytest.raises(darrm.InputError, match="votes must be integers in"):
        priors.votes([[0, 2, 1]])


# ---- confusion matrices


@pytest.mark.parametrize("K", [1, 4])
def test_confusion_by_sampling(K: int) -> None:
    rng = np.random.default_rng(K)
    tables = rng.dirichlet([1, 1], (K, 2))
    prior = priors.confusion(tables, [0.3, 0.7])
    n = 200_000
    truth = (rng.random(n) < 0.7).astype(int)
    votes = rng.random((n, K)) < tables[:, :, 1].T[truth]
    seen = np.bincount(votes.sum(axis=1), minlength=K + 1) / n
    assert np.all(np.abs(seen - prior.ones(K)) <= 6 / np.sqrt(4 * n))
    drawn = pmf(prior.sample(4000, K, rng))
    assert np.all(np.abs(drawn.mean(axis=0) - prior.ones(K)) <= 6 * drawn.std(axis=0) / np.sqrt(4000) + 1e-12)


def test_confusion_of_one_matrix_is_that_of_every_voter() -> None:
    table = [[0.9, 0.1], [0.3, 0.7]]
    one = priors.confusion(table)
    np.testing.assert_allclose(one.ones(3), priors.confusion([table] * 3).ones(3))
    np.testing.assert_allclose(one.ones(3), (priors.fixed([0.1] * 3).ones(3) + priors.fixed([0.7] * 3).ones(3)) / 2)
    assert priors.confusion([[90, 10], [3, 7]]) == priors.confusion([[0.9, 0.1], [0.3, 0.7]])
    with pytest.raises(darrm.InputError, match="one, or one for each voter"):
        priors.confusion([table] * 2).ones(3)
    assert str(darrm.solve(K=3, m=2, epsilon=0.1, prior=one).objective) == "disagreement"


# ---- randomized response


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 3.0, 50.0])
@pytest.mark.parametrize("K", [1, 2, 7])
def test_randomized_answers_of_known_voters(K: int, epsilon: float) -> None:
    before = np.random.default_rng(K).random(K)
    after = priors.randomized_response(before, epsilon)
    shrink = np.tanh(epsilon / 2)
    np.testing.assert_allclose(after.ones(K), pmf(0.5 + (before - 0.5) * shrink), rtol=1e-12)
    alike = priors.randomized_response(priors.independent(0.6, 0.8), epsilon)
    middle = 0.5 + 0.2 * shrink
    np.testing.assert_allclose(alike.ones(K), priors.independent(middle, middle).ones(K), rtol=1e-12)
    assert middle == pytest.approx(darrm.objectives.randomized_response_accuracy(0.7, epsilon), rel=1e-14)
    same = priors.randomized_response(0.7, epsilon)
    np.testing.assert_allclose(same.ones(K), alike.ones(K), rtol=1e-12)


def test_randomized_answers_of_common_voters_by_integration() -> None:
    epsilon, K = 0.7, 5
    got = priors.randomized_response(priors.common(2.0, 3.0), epsilon).ones(K)
    for l in range(K + 1):

        def alpha(q: float, l: int = l) -> float:
            p = 0.5 + (max(q, 1 - q) - 0.5) * np.tanh(epsilon / 2)
            return float(scipy.stats.binom.pmf(l, K, p) * scipy.stats.beta.pdf(q, 2.0, 3.0))

        value = sum(scipy.integrate.quad(alpha, *ends, epsabs=1e-12)[0] for ends in ((0, 0.5), (0.5, 1)))
        assert got[l] == pytest.approx(value, abs=1e-9)


def test_randomized_public_votes_are_flipped_one_by_one() -> None:
    epsilon, keep = 0.4, np.exp(0.4) / (1 + np.exp(0.4))
    after = priors.randomized_response(priors.votes([0, 0, 1]), epsilon)
    np.testing.assert_allclose(after.ones(2), [(1 - keep) ** 2, 2 * keep * (1 - keep), keep**2], rtol=1e-14)
    assert str(darrm.solve(K=2, m=1, epsilon=epsilon, prior=after).objective) == "disagreement"
    released = darrm.mechanisms.RandomizedResponse(epsilon).release(np.ones((200_000, 2), dtype=int)).sum(axis=1)
    assert np.all(np.abs(np.bincount(released) / 200_000 - after.ones(2)) <= 6 / np.sqrt(4 * 200_000))


def test_randomized_answers_of_many_voters_are_well_scaled() -> None:
    K = 1001
    after = priors.randomized_response(priors.common(), 0.5).ones(K)
    assert after.min() >= 0
    assert after.sum() == pytest.approx(1, abs=1e-12)
    known = priors.randomized_response([0.9] * K, 0.5).ones(K)
    np.testing.assert_allclose(known, priors.fixed([0.5 + 0.4 * np.tanh(0.25)] * K).ones(K), atol=1e-14)


def test_samples_of_randomized_answers() -> None:
    prior = priors.randomized_response(priors.independent(), 0.5)
    p = prior.sample(1000, 3, np.random.default_rng(1))
    assert p.shape == (1000, 3)
    assert 0.5 <= p.min() < p.max() <= np.exp(0.5) / (1 + np.exp(0.5))


# ---- which priors can be true of randomized response

MOST = float(np.exp(0.5) / (1 + np.exp(0.5)))
POSSIBLE = [
    priors.randomized_response(priors.common(), 0.5),
    priors.randomized_response(1.0, 0.25),
    priors.randomized_response(priors.votes([1, 2]), 0.5),
    priors.independent(0.5, MOST),
    priors.fixed([MOST, 1 - MOST, 0.5]),
    priors.votes([0, 0, 0, 1]),
    priors.confusion([[MOST, 1 - MOST], [0.5, 0.5]]),
    priors.confusion([[0.0, 1.0], [0.5, 0.5]], truth=[0.0, 1.0]),
]
IMPOSSIBLE = [
    priors.independent(),
    priors.common(5.0, 5.0),
    priors.independent(0.5, MOST + 1e-9),
    priors.fixed([0.5, MOST + 1e-9]),
    priors.fixed([0.5, 1 - MOST - 1e-9]),
    priors.confusion([[0.5, 0.5], [0.3, 0.7]]),
    priors.randomized_response(0.5, 0.6),
    priors.randomized_response(priors.votes([1, 2]), 0.6),
]


@pytest.mark.parametrize("prior", POSSIBLE, ids=str)
def test_possible_priors(prior: priors.Prior) -> None:
    assert priors.check_possible(prior, 0.5)
    assert priors.check_possible(prior, 0.5, Delta=0.125)


@pytest.mark.parametrize("prior", IMPOSSIBLE, ids=str)
def test_impossible_priors(prior: priors.Prior) -> None:
    with pytest.warns(priors.ImpossiblePriorWarning, match=r"cannot be true of randomized response of epsilon 0\.5"):
        assert not priors.check_possible(prior, 0.5)
    assert issubclass(priors.ImpossiblePriorWarning, UserWarning)


def test_a_delta_makes_more_possible() -> None:
    most = (np.exp(0.5) + 0.25) / (1 + np.exp(0.5))
    assert priors.check_possible(priors.fixed([most]), 0.5, 0.25)
    with pytest.warns(priors.ImpossiblePriorWarning, match=f"{most:.6g} at most"):
        priors.check_possible(priors.fixed([most + 1e-9]), 0.5, 0.25)


def test_solve_warns_only_of_what_the_prior_says_itself() -> None:
    darrm.solve(K=3, m=2, epsilon=0.5, prior="uniform")
    darrm.solve(K=3, m=2, epsilon=0.5, prior=priors.randomized_response(0.9, 0.5))
    with pytest.warns(priors.ImpossiblePriorWarning, match="epsilon 0.5"):
        darrm.solve(K=3, m=2, epsilon=0.5, prior=priors.randomized_response(0.9, 0.6))


def test_a_prior_goes_through_files_and_tables(tmp_path: Path) -> None:
    prior = priors.randomized_response(priors.confusion([[0.9, 0.1], [0.3, 0.7]]), 0.5)
    design = darrm.solve(K=3, m=2, epsilon=0.5, prior=prior)
    design.save(tmp_path / "gamma.json")
    assert darrm.load(tmp_path / "gamma.json") == design
    table = darrm.tables.solve_grid([3], [2], 0.5, prior=prior, out=tmp_path / "t.csv")
    assert darrm.tables.verify_table(tmp_path / "t.csv").holds
    assert table.lookup(3, 2, 0.5, prior=prior).prior == prior


@pytest.mark.first(1)
@pytest.mark.parametrize(
    ("options", "warned"),
    [
        ([], False),
        (["--randomized-response"], True),
        (["--randomized-response", "--prior", "common"], True),
        (["--randomized-response", "--prior", "independent:0.5,0.6"], False),
        (["--randomized-response", "--prior", "randomized-response:0.5:0.9"], False),
        (["--randomized-response", "--prior", "randomized-response:0.6:0.9"], True),
        (["--prior", "randomized-response:0.6:0.9"], True),
        (["--prior", "randomized-response:0.5:votes:public.csv"], False),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
@pytest.mark.parametrize("command", ["solve", "compare"])
def test_the_command_line_warns_in_one_line(
    command: str,
    options: list[str],
    warned: bool,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("public.csv").write_text("a,b,c\n0,1,1\n1,1,1\n")
    assert main([command, "--K", "3", "--m", "2", "--epsilon", "0.5", *options, "--json"]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "cannot be true" in line]
    assert all(line.startswith("darrm: The prior ") for line in lines)
    assert bool(lines) == warned
    assert len(lines) <= 1


@pytest.mark.parametrize("K", [4, 5])
def test_errors_of_a_design_are_what_they_say(K: int) -> None:
    """Both errors by summing over all votes: |TV| for one p, and the chance that the label is not the majority."""
    p = np.linspace(0.55, 0.95, K)
    design = darrm.solve(K=K, m=1.5, epsilon=0.4, prior=priors.fixed(p))
    alpha, l = pmf(p), np.arange(K + 1)
    one = np.where(2 * l > K, (1 + design.gamma) / 2, np.where(2 * l < K, (1 - design.gamma) / 2, 0.5))
    majority = np.where(2 * l > K, 1.0, np.where(2 * l < K, 0.0, 0.5))
    assert darrm.expected_error(design.gamma, p) == pytest.approx(abs(alpha @ (one - majority)), abs=1e-15)
    assert design.error == pytest.approx(darrm.expected_error(design.gamma, p), abs=1e-15)
    wrong = np.where(2 * l > K, 1 - one, np.where(2 * l < K, one, 0.0))
    assert design.disagreement == pytest.approx(alpha @ wrong, abs=1e-15)


def test_design_error_is_the_mean_of_expected_error() -> None:
    design = darrm.solve(K=7, m=2, epsilon=0.3)
    p = np.random.default_rng(1).uniform(0.5, 1, (20_000, 7))
    errors = np.asarray(darrm.expected_error(design.gamma, p))
    assert abs(errors.mean() - design.error) <= 6 * errors.std() / np.sqrt(len(errors))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("common:1,0", "A and B above 0). Got 'common:1,0': b must be finite and above 0. Pass e.g. common:2,2."),
        ("common:1", "must be common:A,B (A and B above 0). Got 'common:1'. Pass e.g. common:2,2."),
        (
            "independent:.9,.1",
            "at least low = 0.9, and at most 1. Pass low first, e.g. independent:0.5,1.",
        ),
        ("independent:0,1", "low must be in [1/2, 1]. Below 1/2 errors at votes for 0 and for 1 would cancel"),
        ("votes:a", "how many rows have 0, 1, ..., K ones). Got 'votes:a'. Pass e.g. votes:1,2,4,8 for three voters."),
        ("randomized-response:1:", "BASE an accuracy in [1/2, 1], one for each voter, or another prior). Got"),
        ("randomized-response:1:common:1,0", "A prior common must be common:A,B (A and B above 0). Got 'common:1,0'"),
        ("votes:public.csv", "Read a file first: darrm.priors.votes(darrm.votes.read(FILE))."),
        ("confusion:0.5,0.5:1,0", "the probabilities of the truth, and those of a vote if the truth is 0"),
        ("randomized-response:x:0.9", "EPSILON above 0"),
        ("unifrom", "prior must be uniform, independent:LOW,HIGH, common:A,B"),
    ],
)
def test_a_text_that_is_no_prior_is_told_what_is_allowed(text: str, said: str) -> None:
    with pytest.raises(darrm.InputError, match=re.escape(said)) as error:
        priors.parse(text)
    assert str(error.value).count("e.g.") <= 1


def test_the_examples_of_priors_are_priors() -> None:
    for kind in PRIORS.values():
        priors.parse(kind.example.removesuffix(" for three voters"))
