"""The scripts that make the papers' figures again: their settings are the papers', and their numbers are right."""

import csv
import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scripts import load

import darrm
from darrm import baselines
from darrm.accounting import gnmax_rdp, gnmax_sigma, gnmax_sigma_analytic, optimal, privacy_profile
from darrm.accounting.gaussian import gdp_epsilon

composition, gamma_shapes, gnmax, leakage, objective, pages, pate_2018 = (
    load(name)
    for name in (
        "composition",
        "gamma_shapes",
        "gnmax",
        "leakage_examples",
        "sampled_objective",
        "pages",
        "pate_2018",
    )
)


def test_table_3() -> None:
    """Jiang, Zhang, Joshi (TMLR 2024), Table 3, as printed."""
    printed = {"tau": "14.0328", "lambda": "0.1003"}
    rows = [
        {"M": 10, "m": "6.4521", **printed, "m epsilon": "0.6452", "delta": "0.1001"},
        {"M": 13, "m": "7.5742", **printed, "m epsilon": "0.7574", "delta": "0.1001"},
        {"M": 15, "m": "8.2708", **printed, "m epsilon": "0.8271", "delta": "0.1001"},
        {"M": 20, "m": "9.8823", **printed, "m epsilon": "0.9882", "delta": "0.1002"},
    ]
    assert gamma_shapes.table_3() == rows


def test_whole_tables_are_written_beside_the_page(tmp_path: Path) -> None:
    rows = [{"data": "a, b", "total epsilon": 0.25, "_kept": 1}, {"data": "c", "total epsilon": 1 / 3, "_kept": 2}]
    link = pages.whole("name", rows, tmp_path / "papers")
    assert link == "[The whole table as CSV: 2 rows, 2 columns](papers/name.csv)"
    assert (tmp_path / "papers" / "name.csv").read_bytes() == b'data,total epsilon\n"a, b",0.25\nc,0.3333\n'
    assert pages.choose(rows, ("data",), total_epsilon=(0.25,)) == [{"data": "a, b"}]
    assert pages.choose(rows, total_epsilon=(0.3333,)) == [{"data": "c", "total epsilon": 1 / 3}]


def test_short_tables_of_the_page_are_rows_of_their_files() -> None:
    page = (pages.DOCS / "papers.md").read_text(encoding="utf-8")
    blocks = re.findall(r"<!-- ([\w-]+) -->\n(.*?)<!-- /\1 -->", page, re.DOTALL)
    linked = {}
    for name, block in blocks:
        for rows, columns, file in re.findall(r"CSV: (\d+) rows, (\d+) columns\]\((papers/[\w-]+\.csv)\)", block):
            linked[pages.DOCS / file] = name
            with (pages.DOCS / file).open(encoding="utf-8", newline="") as opened:
                written = list(csv.DictReader(opened))
            assert (len(written), len(written[0])) == (int(rows), int(columns)), name
            lines = [line[2:-2].split(" | ") for line in block.splitlines() if line.startswith("| ")]
            if lines and set(lines[0]) <= set(written[0]):
                head, _, *body = lines
                for cells in body:
                    shown = dict(zip(head, cells, strict=True))
                    assert any(shown.items() <= row.items() for row in written), (name, cells)
    assert set(linked) == set((pages.DOCS / "papers").glob("*.csv"))
    assert len(linked) == 20


def test_one_vote_of_allowance_is_subsampling() -> None:
    """Lemma 3.2: at m = 1 and Delta = 0 the optimum is the subsampling of one vote, 1/11, 3/11, ..., 1."""
    first = gamma_shapes.panels(7, draws=100)[0]
    wanted = [float(Fraction(2 * l - 11, 11)) for l in range(6, 12)]
    for name in ("gamma_opt", "monotone", "subsampling", "double subsampling"):
        assert first.gammas[name][6:] == pytest.approx(wanted, abs=1e-9)


@pytest.mark.thorough
def test_figure_2_is_solved_for_its_own_problem() -> None:
    found = gamma_shapes.panels(2, draws=200)
    assert [one.problem for one in found] == [darrm.MajorityProblem(11, m, 0.1, 1e-5) for m in (1, 3, 5, 7)]
    # Golden figure for K = 11, m = 3, epsilon = .1, Delta = 1e-5.
    half = [0.9392405761813, 0.5423404272148, 1, 1, 0.977695588276, 1]
    assert found[1].gammas["gamma_opt"][6:] == pytest.approx(half, abs=1e-8)
    lines = gamma_shapes.rows(found)
    assert len(lines) == 16
    verified = [line["panel"] + ", " + line["noise function"] for line in lines if line["verified"] != "yes"]
    assert verified == ["m = 1, subsampling"]  # tight, and off by rounding
    for line in lines:
        assert line["tight epsilon"] <= line["of m epsilon"] * (1 + 1e-12)
    said = " ".join(gamma_shapes.findings(2, found))
    assert "at m = 3 gamma_opt from gamma(6) = 0.9392405762 to gamma(7) = 0.5423404272 (the monotone" in said
    assert "subsampling has gamma(10) = 1.0000, gamma_opt 0.9777" in said


def test_the_errors_of_a_panel_are_those_of_its_design() -> None:
    problem = darrm.MajorityProblem(11, 3, 0.1)
    design = darrm.solve(problem)
    assert gamma_shapes.exact(design.gamma, "tv") == pytest.approx(design.error, abs=1e-14)
    assert gamma_shapes.exact(design.gamma, "disagreement") == pytest.approx(design.disagreement, abs=1e-14)
    one = gamma_shapes.panel("", problem, drawn=3, actual=("p = .5", "U[0, .1]"), draws=400)
    assert all(interval.mean == 0 for interval in one.errors["p = .5"].values())
    # Eleven voters for 0 with p at most .1 agree, so a constant gamma errs by half of what it leaves out.
    mean, low, high = one.errors["U[0, .1]"]["constant (RR)"]
    constant = baselines.constant(problem)[0]
    assert low <= mean <= high
    assert mean == pytest.approx((1 - constant) / 2, rel=1e-3)


def test_figure_6_needs_no_noise() -> None:
    """What (m epsilon, delta) allows in the paper's setting is more than the plain majority spends."""
    problem, tau, lam = gamma_shapes.composed(10)
    assert darrm.verify(np.ones(36), problem).holds
    assert np.all(darrm.solve(problem).gamma == 1)
    assert baselines.constant(problem, tau, lam)[0] < 0.6


def test_table_4_and_where_its_lambda_comes_from() -> None:
    for row, (epsilon, order, sigma) in zip(gnmax.rows(), gnmax.TABLE_4.values(), strict=True):
        assert float(row["sigma on the grid"]) == pytest.approx(sigma, abs=5e-3)
        assert float(row["sigma on the grid"]) >= gnmax_sigma(epsilon, 3e-4) - 1e-4
        assert order == pytest.approx(gnmax.least_order(epsilon) + 3, abs=5e-3)
        assert float(row["lambda of the minimum"]) == pytest.approx(order + 28 + (epsilon < 0.26), abs=0.01)
        assert float(row["sigma at the printed lambda"]) > 1.7 * sigma
    assert [row["lambda of the minimum"] for row in gnmax.rows()] == ["62.31", "64.74"]


def two_class_label(sigma: float, K: int) -> np.ndarray:
    """Pr[label 1 | l ones] of GNMax, by the error function."""
    return np.array([math.erfc((K - 2 * l) / (2 * sigma)) / 2 for l in range(K + 1)])


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (0.2676, 3e-4), (0.5, 1e-4), (3.5, 7e-4)])
@pytest.mark.parametrize("max_affected", [1, 3, 11])
def test_the_least_noise_of_a_label_is_tight(epsilon: float, delta: float, max_affected: int) -> None:
    """Against all pairs of counts in reach, both labels, and against the certified profile of the same release."""
    sigma = gnmax.label_sigma(epsilon, delta, 11, max_affected)

    def spent(sigma: float) -> float:
        ones = two_class_label(sigma, 11)
        pairs = [(i, j) for i in range(12) for j in range(12) if abs(i - j) <= max_affected]
        return max(x[i] - math.exp(epsilon) * x[j] for x in (ones, 1 - ones) for i, j in pairs)

    assert spent(sigma * (1 + 1e-6)) <= delta + 1e-12
    assert spent(sigma * 0.999) > delta
    assert all(spent(sigma * factor) > delta for factor in (0.2, 0.5, 0.9))  # so it is the least, not one of several
    half = 2 * two_class_label(sigma * (1 + 1e-6), 11)[6:] - 1
    problem = darrm.MajorityProblem(11, 11, 15.0, max_affected=max_affected)  # votes of next to no privacy
    certified = float(privacy_profile(np.concatenate([half[::-1], half]), problem, [epsilon])[0])
    assert certified == pytest.approx(delta, abs=11 * math.exp(epsilon - 15))


def test_the_least_noise_of_a_label_in_numbers() -> None:
    assert gnmax.label_sigma(1.0, 0.0, 11) == pytest.approx(3.432, abs=5e-4)
    # The sigma with which the noisy counts are (1, 1e-5)-DP: the label alone is far more private, and purely so.
    sigma = gnmax_sigma_analytic(1.0, 1e-5)
    assert sigma == pytest.approx(5.276, abs=5e-4)
    ones = two_class_label(5.276, 11)
    assert max(math.log(ones[l + 1] / ones[l]) for l in range(11)) == pytest.approx(0.4836, abs=5e-5)
    assert gnmax.label_sigma(0.4836, 0.0, 11) == pytest.approx(5.276, abs=5e-4)


@pytest.mark.slow
def test_totals_of_fixed_teachers_are_those_of_their_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(composition, "TEACHERS", {"MNIST": 0.0892})
    rows = [row for row in composition.totals("MNIST") if row["queries"] == 100]
    for row in rows:
        assert row[composition.FIXED_ONE] == pytest.approx(0.0892, rel=1e-9)
        assert row[composition.FIXED_ALL] == pytest.approx(optimal(0.0892, 1e-4, 11, row["delta"]).epsilon, rel=1e-9)
        assert row[composition.FIXED_ONE] < row[composition.FIXED_ALL] < row["exact"] < row["paper"]
    with (pages.DOCS / "papers" / "totals.csv").open(encoding="utf-8", newline="") as file:
        written = {(line["data"], line["m"], line["queries"]): line for line in csv.DictReader(file)}
    for row in rows:  # the file holds what the script prints
        line = written["MNIST", str(row["m"]), "100"]
        names = list(line)[3:]
        assert names == [name for name in row if name[0] != "_"][3:]
        assert [float(line[name]) for name in names] == pytest.approx([row[name] for name in names], rel=2e-3)
    said = composition.findings(rows)
    assert "0.0892 (MNIST) at delta 0.0001" in said[0]
    assert "0.981 (MNIST)" in said[1]
    assert "in 0 of 4 rows" in said[2]
    # A total that coins lowered is counted.
    assert "in 1 of 4 rows" in composition.findings([rows[0] | {"_voters": 1.0}, *rows[1:]])[2]


def test_algorithm_6_as_printed_by_its_own_lines() -> None:
    sigma, order, votes = gnmax.VOTES[0]
    q = sum(math.erfc((votes[0] - n) / (2 * sigma)) for n in votes[1:]) / 2
    mu_2 = sigma * math.sqrt(math.log(1 / q))
    epsilon_1, epsilon_2 = (mu_2 + 1) / sigma**2, mu_2 / sigma**2
    A = (1 - q) / (1 - (q * math.exp(epsilon_2)) ** ((mu_2 - 1) / mu_2))
    B = math.exp(epsilon_1) / q ** (1 / mu_2)
    inside = (1 - q) * A ** (order - 1) + q * B ** (order - 1)
    assert gnmax.as_printed(votes, sigma, order) == pytest.approx(inside / (order - 1), rel=1e-12)
    assert gnmax.as_printed(votes, sigma, order) == pytest.approx(0.111, abs=5e-4)
    assert float(gnmax_rdp(votes, sigma, order)) == pytest.approx(math.log(inside) / (order - 1), rel=1e-9)
    assert gnmax.as_printed((90, 10), sigma, order) == gnmax.line_9((90, 10), sigma, order) == 0.00625
    assert gnmax.line_9(votes, sigma, order) == pytest.approx(0.000218347, abs=1e-9)


def test_one_printed_leakage_is_not_ours() -> None:
    """Saeidian et al. (2021), Examples 14 and 17: all figures but 8.58e-2, which is not an upper bound."""
    first, *others = leakage.findings()
    assert first.startswith("8 printed figures")
    assert len(others) == 1
    assert "(3, 3, 2, 2)" in others[0]
    assert leakage.values((3, 3, 2, 2))["leakage"] == pytest.approx(0.08585434, abs=1e-8)


def test_sampled_coefficients_tend_to_binomials() -> None:
    exact = [math.comb(11, l) * (0.75**l * 0.25 ** (11 - l) - 0.25**l * 0.75 ** (11 - l)) for l in range(6, 12)]
    assert objective.closed_form() == pytest.approx(exact, abs=1e-15)
    grid = [math.comb(11, l) * (0.745**l * 0.255 ** (11 - l) - 0.255**l * 0.745 ** (11 - l)) for l in range(6, 12)]
    assert objective.grid_limit() == pytest.approx(grid, abs=1e-15)
    for draw, limit in ((objective.uniform, exact), (objective.grid_points, grid)):
        found = objective.sampled(draw, (10, 20_000), np.random.default_rng(4))
        assert found[20_000] == pytest.approx(limit, abs=2e-3)
        assert np.abs(found[10] - limit).max() > np.abs(found[20_000] - limit).max()


@pytest.mark.thorough
def test_multisets_of_grid_points_are_equally_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objective, "K", 2)
    monkeypatch.setattr(objective, "POINTS", 3)
    drawn = objective.multisets(60_000, np.random.default_rng(6))
    seen = np.unique(drawn, axis=0, return_counts=True)[1]
    assert seen.size == 6
    assert np.all(np.abs(seen - 10_000) <= 5 * math.sqrt(10_000))


def test_an_optimum_under_the_exact_coefficients_is_the_optimum() -> None:
    gamma = objective.optimum(objective.closed_form(), 3, 1e-5)
    design = darrm.solve(K=11, m=3, epsilon=0.1, Delta=1e-5)
    assert gamma == pytest.approx(design.gamma, abs=1e-8)
    assert objective.true_error(gamma) == pytest.approx(design.error, abs=1e-9)
    # The grid's mean is .745, and that is enough for another corner at m = 2 and Delta = 0.
    lost = objective.true_error(objective.optimum(objective.grid_limit(), 2, 0.0))
    lost -= darrm.solve(K=11, m=2, epsilon=0.1).error
    assert lost == pytest.approx(1.046e-6, rel=1e-3)


def test_pages_replace_what_is_between_their_markers(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- x -->\nold\n<!-- /x -->\nb\n", encoding="utf-8")
    pages.put("x", pages.table([{"l": 6, "gamma": 0.939702612175}]), page)
    pages.put("x", pages.table([{"l": 7, "gamma": 0.542090086874}]), page)
    assert page.read_text(encoding="utf-8") == (
        "a\n<!-- x -->\n\n| l | gamma |\n| --: | --: |\n| 7 | 0.5421 |\n\n<!-- /x -->\nb\n"
    )
    with pytest.raises(SystemExit, match="<!-- y -->"):
        pages.put("y", "", page)


@pytest.mark.thorough
def test_pictures_are_the_same_bytes_again(tmp_path: Path) -> None:
    found = gamma_shapes.panels(9, draws=50)
    for name in ("a.svg", "b.svg"):
        pages.save(gamma_shapes.draw(9, found), tmp_path / name)
    first = (tmp_path / "a.svg").read_bytes()
    assert first == (tmp_path / "b.svg").read_bytes()
    assert 10_000 < len(first) < 130_000
    assert b"opt under T_P" in first


@pytest.mark.thorough
def test_one_table_for_the_leakage_of_all_mechanisms() -> None:
    rows = {row["mechanism"]: row for row in leakage.one_table()}
    assert len(rows) == 9
    assert rows["plain majority"]["largest leakage, nats"] == pytest.approx(math.log(2))
    # Noisy max with Laplace noise is bounded by its log B1 for two classes, everywhere.
    bound = darrm.measures.laplace_leakage_bound(2, 0.15)
    found = rows["Laplace noisy max"]["largest leakage, nats"]
    assert bound - 1e-11 <= found <= bound


def test_pairs_of_votes_against_theorem_10() -> None:
    # (6, 0, 0), ..., (2, 2, 2): at gamma 1 only (4, 2, 0) leaks more than what it majorises, (4, 1, 1).
    assert leakage.against_theorem_10(6, 1.0) == (20, 1)
    assert "(5, 5, 0) majorise (5, 4, 1) and leak 0.37416 against 0.32780" in leakage.theorem_10()


@pytest.mark.thorough
@pytest.mark.parametrize("scale", [{"gamma": 1.0}, {"sigma": 1.0}])
def test_single_votes_against_theorem_10(scale: dict[str, float]) -> None:
    # Of one vote that moves to a class with the most votes Lemma 19 says that it never raises the leakage.
    assert leakage.single_moves(3, 7, scale) == (273, 0, 77, 60)
    assert leakage.single_moves(2, 7, scale)[1:] == (0, 0, 0)


@pytest.mark.parametrize("missing", ["opacus", "torch"])
def test_without_pytorch_the_network_says_what_to_install(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    network = load("dp_convolutional_classifier")

    def find(name: str) -> None:
        if name == missing:
            raise ImportError(name)

    monkeypatch.setattr(network.convolution, "import_module", find)
    with pytest.raises(darrm.MissingExtraError, match="pip install torch opacus"):
        network.DPConvolutionalClassifier(1.0, 1e-5).fit(np.eye(4), [0, 1, 0, 1])


def test_the_table_of_pate_2018() -> None:
    """Its settings, Renyi DP as in the paper, and Gaussian DP, rounded up; every bound is below the one before."""
    page = pate_2018.PAGE.read_text(encoding="utf-8")
    block = re.search(r"<!-- pate 2018 -->(.*)<!-- /pate 2018 -->", page, re.DOTALL)
    assert block is not None
    lines = [line[2:-2].split(" | ") for line in block[1].splitlines() if line.startswith("| ")]
    orders = np.linspace(1.01, 200, 200_000)
    for name, cells in zip(pate_2018.STUDIES, lines[2:], strict=True):
        study = pate_2018.STUDIES[name]
        assert cells[0] == name
        assert cells[1] == f"{study.queries:,} / {study.answers:,}"
        assert float(cells[3]) == study.delta
        converted, best, counts, ours, labels = map(float, cells[5:10])
        mechanism = darrm.mechanisms.ConfidentNoisyMax(study.threshold, study.sigma_check, study.sigma)
        cost = study.queries * mechanism.rdp(orders) - (study.queries - study.answers) * orders / study.sigma**2
        assert 0 <= converted - (cost - math.log(study.delta) / (orders - 1)).min() < 1.1e-3
        mu = math.sqrt(2 * study.answers / study.sigma**2 + study.queries / study.sigma_check**2)
        assert 0 <= counts - gdp_epsilon(mu, study.delta) < 1.1e-3
        assert converted > best > counts > ours > labels
        assert float(cells[10]) > ours  # without the cap on labels that the other columns rest on


def test_bounds_in_tables_are_rounded_away_from_what_is_not_proved() -> None:
    assert [pages.above(one) for one in (3.876069, 6.641495, 0.00012, 4.0, 0.0)] == [
        *("3.877", "6.642", "0.001", "4.000", "0.000"),
    ]
    assert [pages.below(one) for one in (3.829971, 11.1679, 0.0)] == ["3.829", "11.167", "0.000"]
    rows = [{"labels": 100, "exact": 5.31411, "lower": 5.31299, "error": 0.12346}]
    assert pages.bounds(rows, ("exact",), ("lower",)) == [rows[0] | {"exact": "5.315", "lower": "5.312"}]


@pytest.mark.thorough
def test_the_noise_of_the_page_is_enough() -> None:
    """The first line of each total, and one that needs a ladder."""
    page = pate_2018.PAGE.read_text(encoding="utf-8")
    block = re.search(r"<!-- least noise -->(.*)<!-- /least noise -->", page, re.DOTALL)
    assert block is not None
    lines = [line[2:-2].split(" | ") for line in block[1].splitlines() if line.startswith("| ")][2:]
    tried = [line for line in lines if line[1] == "1" or line[:2] == ["8", "100"]]
    assert len(tried) == 4
    for total, labels, sigma, _ in tried:
        mechanism = darrm.mechanisms.GaussianNoisyMax(float(sigma))
        assert darrm.accounting.compose(mechanism, int(labels), delta=1e-5).upper <= float(total)
