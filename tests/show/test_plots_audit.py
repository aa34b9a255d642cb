"""Pictures of audits show the numbers they are given."""

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import darrm
from darrm import labels, mechanisms
from darrm.errors import InputError

pytest.importorskip("matplotlib")

from darrm.show import figures, plots_audit

ETA = np.random.default_rng(4).beta(2, 3, size=(25, 4))


@pytest.mark.thorough
def test_spindles_show_pairs_within_their_bounds() -> None:
    mechanism = mechanisms.RandomizedResponse(1.0)
    points = darrm.labels.posterior_pairs(mechanism, ETA, np.ones_like(ETA, dtype=int))
    ax = plots_audit.plot_spindle({"rr": points}, [1.0])
    dots, _, upper, lower = ax.get_lines()
    assert np.array_equal(dots.get_xydata(), points)
    # One released by randomized response: every point is on the upper bound.
    assert np.interp(points[:, 0], *upper.get_xydata().T) == pytest.approx(points[:, 1], abs=1e-3)
    assert np.all(lower.get_ydata() <= lower.get_xdata() + 1e-12)


@pytest.mark.thorough
def test_distribution_functions_end_below_one_where_mass_is_infinite() -> None:
    both = {
        "llp": darrm.labels.multiplicative_advantage(darrm.labels.LabelProportions(), ETA),
        "rr": darrm.labels.multiplicative_advantage(mechanisms.RandomizedResponse(1.0), ETA),
    }
    ax = plots_audit.plot_advantage_cdf(both, top=50)
    llp, response = (line.get_ydata() for line in ax.get_lines())
    assert llp[-1] == pytest.approx(1 - both["llp"].infinite_mass, abs=1e-12)
    assert set(np.unique(response)) == {0.0, 1.0}
    own = darrm.labels.individual_advantage(darrm.labels.LabelProportions(), ETA)
    ax = plots_audit.plot_advantage_cdf({"llp": own}, multiplicative=False)
    x, y = ax.get_lines()[0].get_xydata()[300]
    assert y == (own <= x).mean()


def test_infinite_advantage_is_at_the_edge() -> None:
    ax = plots_audit.plot_tradeoff({"llp": ([math.inf, 1.0], [0.9, 0.8]), "rr": ([2.0], [0.7])})
    llp = ax.get_lines()[0]
    left, gap, right = llp.get_xdata()  # the line is broken
    assert left == 1
    assert math.isnan(gap)
    assert right > 2
    assert llp.get_ydata() == pytest.approx([0.8, math.nan, 0.9], nan_ok=True)
    assert [text.get_text() for text in ax.texts] == ["infinite"]
    assert not plots_audit.plot_tradeoff({"rr": ([2.0], [0.7])}).texts


def test_zero_advantage_is_at_the_edge_of_a_logarithmic_axis() -> None:
    ax = plots_audit.plot_tradeoff({"rr": ([0.0, 0.0, 0.1, 1.0, math.inf], [0.5, 0.6, 0.7, 0.8, 0.9])}, log=True)
    x = ax.get_lines()[0].get_xdata()
    assert x == pytest.approx([0.05, 0.05, math.nan, 0.1, 1, math.nan, 2], nan_ok=True)
    assert [text.get_text() for text in ax.texts] == ["infinite", "zero"]
    assert ax.get_xscale() == "log"
    assert not plots_audit.plot_tradeoff({"rr": ([0.0, 0.1], [0.5, 0.7])}).texts


def test_names_beyond_the_colours_have_looks_of_their_own() -> None:
    looks = figures.looks(map(str, range(20)))
    assert list(looks.values())[:7] == list(figures.LOOKS)
    assert len(set(looks.values())) == 20


def test_a_mechanism_has_one_colour_whatever_stands_beside_it() -> None:
    alone = figures.looks(["subsampling of 3 votes"])["subsampling of 3 votes"]
    names = [
        "mine",
        "double subsampling of 5 votes",
        "subsampling of 3 votes",
        "RR, k = 8",
        "RR, k = 64",
        "LLP+Lap",
        "LLP",
        "RRR",
    ]
    looks = figures.looks(names)
    assert looks["subsampling of 3 votes"] == alone == figures.LOOKS[3]
    assert looks["mine"] == figures.LOOKS[0]
    assert looks["RR, k = 8"][0] == looks["RR, k = 64"][0] == figures.LOOKS[4][0]
    assert looks["LLP"][0] != looks["LLP+Lap"][0] == looks["double subsampling of 5 votes"][0]
    assert looks["RRR"][0] == figures.LOOKS[5][0]
    assert len(set(looks.values())) == len(names)


@pytest.mark.thorough
def test_names_of_lines_stand_beside_their_ends_and_apart() -> None:
    ax = figures.axes_of(None)
    for i in range(4):
        figures.curve(ax, [1, 2, 3], [0.5, 1 + i / 100, np.nan], figures.LOOKS[i], f"line {i}")
    ax.axhline(0.0, label="nothing")
    ax.axhline(0.2)
    figures.name_lines(ax)
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert [text.get_text() for text in ax.texts] == ["nothing", *(f"line {i}" for i in range(4))]
    assert all(low.y1 <= high.y0 for low, high in pairwise(boxes))
    assert all(ax.get_window_extent().x1 <= box.x0 and box.x1 <= ax.figure.bbox.x1 for box in boxes)
    assert boxes[0].y0 < ax.transData.transform((0, 0))[1] < boxes[0].y1


def test_utility_over_bag_sizes() -> None:
    ax = plots_audit.plot_utility_grid([1, 2, 8], {"epsilon = 1": [0.9, 0.8, 0.7]})
    assert ax.get_lines()[0].get_ydata().tolist() == [0.9, 0.8, 0.7]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "8"]


@pytest.mark.thorough
@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_audits_are_saved(tmp_path: Path, ending: str) -> None:
    named = [(f"rr {e}", mechanisms.RandomizedResponse(e)) for e in (0.5, 1.0)]
    rows = labels.audit([*named, ("llp", darrm.labels.LabelProportions())], ETA.ravel(), bag_size=4)
    figures.save(tmp_path / f"audit.{ending}", plots_audit.plot_audit(rows))
    assert (tmp_path / f"audit.{ending}").stat().st_size > 1000
    with pytest.raises(InputError, match="must end in"):
        figures.save(tmp_path / "audit.txt", plots_audit.plot_audit(rows))


@pytest.mark.thorough
def test_an_audit_without_promises_is_drawn(tmp_path: Path) -> None:
    rows = labels.audit({"llp": darrm.labels.LabelProportions()}, ETA.ravel(), bag_size=[2, 4])
    figures.save(tmp_path / "audit.png", plots_audit.plot_audit(rows))
    certain = labels.audit({"llp": darrm.labels.LabelProportions()}, [0.0, 1.0], bag_size=2)
    figures.save(tmp_path / "nothing.png", plots_audit.plot_audit(certain))


@pytest.mark.thorough
def test_an_audit_has_one_curve_for_a_mechanism_over_epsilon() -> None:
    named = [(f"rr {e}", mechanisms.RandomizedResponse(e)) for e in (2.0, 0.5, 1.0)]
    named += [(f"lap {e}", darrm.labels.LaplaceLabelProportions(e)) for e in (0.5, 1.0)]
    rows = labels.audit([*named, ("llp", darrm.labels.LabelProportions())], ETA.ravel(), bag_size=[4, 5])
    additive, _ = plots_audit.plot_audit(rows)
    curves = {line.get_label(): line.get_xdata() for line in additive.get_lines()}
    assert set(curves) == {
        "RandomizedResponse, k = 1",
        *(f"{name}, k = {k}" for name in ("LaplaceLabelProportions", "llp") for k in (4, 5)),
    }
    assert list(curves["RandomizedResponse, k = 1"]) == [0.5, 1.0, 2.0]
    assert list(curves["LaplaceLabelProportions, k = 5"]) == [0.5, 1.0]


@pytest.mark.thorough
def test_mechanisms_at_one_utility_are_drawn() -> None:
    rows = darrm.labels.at_equal_utility(
        {"rr": (mechanisms.RandomizedResponse, 0.1, 9), "llp": darrm.labels.LabelProportions()}, ETA, "accuracy", 0.7
    )
    axes = plots_audit.plot_equal_utility(rows)
    assert [text.get_text() for text in axes[0].get_yticklabels()] == [f"rr, {rows[0].parameter:.3g} (k = 4)", "llp"]
    response, exact, line = axes[2].get_lines()
    assert response.get_xdata()[0] == rows[0].largest_log_odds_change
    assert exact.get_xdata()[0] > line.get_xdata()[0]  # infinite
    assert (response.get_markerfacecolor(), exact.get_markerfacecolor()) == (figures.LOOKS[0][0], "none")


@pytest.mark.thorough
def test_a_curve_of_one_name_has_it() -> None:
    releases = [("mine", darrm.labels.GeometricLabelProportions(epsilon)) for epsilon in (2.0, 0.5)]
    axes = plots_audit.plot_audit(labels.audit(releases, np.full(8, 0.3), bag_size=4))
    assert axes[0].get_legend_handles_labels()[1] == ["mine, k = 4"]
    named = [("low", releases[1][1]), ("high", releases[0][1])]
    axes = plots_audit.plot_audit(labels.audit(named, np.full(8, 0.3), bag_size=4))
    assert axes[0].get_legend_handles_labels()[1] == ["GeometricLabelProportions, k = 4"]
