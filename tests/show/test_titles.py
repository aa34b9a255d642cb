"""Titles of pictures fit their pictures."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import darrm
from darrm.show.plots import plot, plot_comparison, plot_gamma
from darrm.show.plots_plan import plot_plan

pytest.importorskip("matplotlib")


@pytest.mark.thorough
@pytest.mark.parametrize("Delta", [0.0, 1.2345e-5])
def test_no_title_is_cut_off(Delta: float) -> None:
    problem = darrm.MajorityProblem(11, 3, 0.1234, Delta, max_affected=10)
    ax = plot(darrm.solve(problem))
    left, _ = plot_comparison(problem, darrm.compare(problem))
    for figure, title in ((ax.figure, ax.title), (left.figure, left.figure._suptitle)):
        figure.draw_without_rendering()
        box, page = title.get_window_extent(), figure.bbox
        assert "max_affected = 10" in title.get_text()
        assert page.x0 <= box.x0
        assert box.x1 <= page.x1
        assert box.y1 <= page.y1 + 1


@pytest.mark.thorough
def test_bars_carry_the_marks_of_their_lines() -> None:
    problem = darrm.MajorityProblem(11, 3, 0.1)
    left, right = plot_comparison(problem, darrm.compare(problem))
    lines = {(line.get_color(), line.get_marker()) for line in left.lines}
    assert lines == {(line.get_color(), line.get_marker()) for line in right.lines}
    assert len(lines) == 6


@pytest.mark.thorough
@pytest.mark.first(0, 2)
@pytest.mark.parametrize("K", [5, 11, 101])
def test_a_comparison_names_each_line_and_each_looks_otherwise_without_colour(K: int) -> None:
    problem = darrm.MajorityProblem(K, 2, 0.1)
    rivals = {f"rival {i}": np.full(K + 1, 0.02 * i) for i in range(4)}
    left, right = plot_comparison(problem, darrm.compare(problem, extra=rivals))
    [legend] = left.figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert {"gamma_opt", *rivals} <= {*names}
    assert names == [line.get_label() for line in left.lines]
    assert len({(line.get_marker(), line.get_linestyle()) for line in left.lines}) == len(names) >= 8
    assert all(
        len(line.get_xdata()[slice(line.get_markevery()[0], None, line.get_markevery()[1])]) <= 42
        for line in left.lines
    )
    left.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in right.get_yticklabels()]
    assert not any(one.overlaps(other) for one, other in pairwise(boxes))
    page, box = left.figure.bbox, legend.get_window_extent()
    assert page.x0 <= box.x0 < box.x1 <= page.x1
    assert not box.overlaps(left.xaxis.label.get_window_extent())


@pytest.mark.thorough
def test_a_legend_of_many_covers_nothing() -> None:
    problem = darrm.MajorityProblem(11, 3, 0.1)
    ax = plot_gamma(problem, {f"noise function {i}": np.full(12, i / 14) for i in range(14)})
    figure = ax.figure
    figure.draw_without_rendering()
    [legend] = figure.legends
    assert len({(line.get_marker(), line.get_linestyle()) for line in ax.lines}) == len(legend.get_texts()) == 14
    box = legend.get_window_extent()
    assert not box.overlaps(ax.xaxis.label.get_window_extent())
    assert box.y0 >= figure.bbox.y0 - 1
    assert ax.get_window_extent().height > 72 * 1.5


@pytest.mark.thorough
@pytest.mark.first(0, 1)
@pytest.mark.parametrize(("groups", "epsilon"), [(1, 1.0), (1, "auto"), (2, 1.25), (3, 1.25)])
def test_a_picture_of_a_plan_says_the_problem(groups: int, epsilon: Any) -> None:
    budget: dict[str, Any] = {
        "queries": 5,
        "total_epsilon": 2,
        "total_delta": 1e-5,
        "voters": "fresh",
        "max_affected": 1,
    }
    if groups == 1:
        at_most = {"at_most": 2.0} if epsilon == "auto" else {}
        made = darrm.plan(K=3, epsilon=epsilon, base_accuracy=0.9, **at_most, **budget)
    else:
        made = darrm.plan(groups=[darrm.VoterGroup(2, epsilon)] * groups, accuracy=[0.8] * groups, **budget)
    figure = plot_plan(made)
    figure.draw_without_rendering()
    title = figure._suptitle or figure.axes[0].title
    each = {
        1: "K = 3 voters of epsilon 1",
        2: "K = 4 voters (2 of epsilon 1.25, 2 of epsilon 1.25)",
        3: "K = 6 voters in 3 groups",
    }
    if epsilon != "auto":
        assert title.get_text().startswith(f"{each[groups]}, max_affected = 1\n")
    assert f"K = {made.design.problem.K} voters" in title.get_text()
    assert title.get_text().endswith("5 labels of fresh voters within (2, 1e-05)")
    box = title.get_window_extent()
    assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1


def test_a_picture_of_groups_names_them() -> None:
    groups = [
        darrm.VoterGroup(3, 1.0, names=["anna", "ben", "eve"]),
        darrm.VoterGroup(2, 0.5, names=[f"a long name {i}" for i in "ab"]),
    ]
    problem = darrm.DecisionProblem(groups, 0.123456, 1.2345e-5, classes=["no", "yes"])
    ax = plot(darrm.solve(problem, objective=darrm.objectives.truth([0.8, 0.7]))).axes[0]
    assert ax.get_ylabel() == 'votes "yes" of group 1\n(anna, ben, eve of epsilon 1)'
    assert ax.get_xlabel() == 'votes "yes" of group 2\n(2 voters of epsilon 0.5)'
    assert ax.get_title().startswith("K = 5 in 2 groups, epsilon = 0.123456, ")
    assert ax.get_title().endswith("\nobjective: the truth")
