"""Titles of pictures fit their pictures."""

import pytest

import darrm
from darrm.show.plots import plot, plot_comparison

pytest.importorskip("matplotlib")


@pytest.mark.first(1)
@pytest.mark.parametrize("Delta", [0.0, 1.2345e-5])
def test_no_title_is_cut_off(Delta: float) -> None:
    problem = darrm.MajorityProblem(11, 3, 0.1234, Delta)
    ax = plot(darrm.solve(problem))
    left, _ = plot_comparison(problem, darrm.compare(problem))
    for figure, title in ((ax.figure, ax.title), (left.figure, left.figure._suptitle)):
        figure.draw_without_rendering()
        box, page = title.get_window_extent(), figure.bbox
        assert "max_affected = 11" in title.get_text()
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
