"""Pictures hold what they should show."""

import struct
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from cases import slow
from scripts import PROGRAMS

import darrm
from darrm import baselines, compare
from darrm.cli import main
from darrm.show import figures, plots, plots_audit, plots_table
from darrm.show.plots import plot_gamma

matplotlib = pytest.importorskip("matplotlib")
BLUE = np.array([0x00, 0x72, 0xB2]) / 255
Gammas = dict[str, np.ndarray]


def save_gamma(path: Path | str, problem: darrm.MajorityProblem, gammas: Gammas) -> None:
    figures.save(path, plot_gamma(problem, gammas))


@pytest.fixture
def problem() -> darrm.MajorityProblem:
    return darrm.MajorityProblem(K=11, m=3, epsilon=0.1)


@pytest.fixture
def gammas() -> Gammas:
    return {"subsampling": baselines.subsampling(11, 3), "double": baselines.double_subsampling(11, 3)}


@pytest.mark.thorough
def test_png_is_a_picture(tmp_path: Path, problem: darrm.MajorityProblem, gammas: Gammas) -> None:
    path = tmp_path / "gamma.png"
    save_gamma(path, problem, gammas)
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", data[16:24])
    assert (width, height) == (1040, 760)
    pixels = matplotlib.image.imread(path)[..., :3]
    white = (pixels > 0.99).all(axis=-1).mean()
    assert 0.5 < white < 0.99
    assert (np.abs(pixels - BLUE).max(axis=-1) < 0.02).sum() > 500


@pytest.mark.thorough
def test_svg_names_what_it_shows(tmp_path: Path, problem: darrm.MajorityProblem, gammas: Gammas) -> None:
    path = tmp_path / "gamma.svg"
    save_gamma(str(path), problem, gammas)
    text = path.read_text(encoding="utf-8")
    assert ElementTree.fromstring(text).tag.endswith("svg")
    for word in ("K = 11", "epsilon = 0.1", "gamma(l)", "subsampling", "double"):
        assert word in text


@pytest.mark.thorough
@pytest.mark.parametrize("K", [8, *slow(1, 3, 11, 101)])
def test_votes_are_counted_in_whole_numbers(K: int) -> None:
    problem = darrm.MajorityProblem(K=K, m=1, epsilon=0.1)
    axes = [plot_gamma(problem, {"one": np.ones(K + 1)}), plots.plot_comparison(problem, compare(problem)[:1])[0]]
    for ax in axes:
        ax.figure.draw_without_rendering()
        ticks = ax.get_xticks()
        assert len(ticks) > 1
        assert (ticks == np.round(ticks)).all()


@pytest.mark.thorough
def test_pdf_is_a_whole_file(tmp_path: Path, problem: darrm.MajorityProblem, gammas: Gammas) -> None:
    path = tmp_path / "gamma.PDF"
    save_gamma(path, problem, gammas)
    data = path.read_bytes()
    assert data.startswith(b"%PDF-")
    assert data.rstrip().endswith(b"%%EOF")
    assert len(data) > 5000


@pytest.mark.parametrize("name", ["gamma", "gamma.gif", "gamma.jpg", "gamma.png.txt", ".png"])
def test_other_endings_are_refused(tmp_path: Path, problem: darrm.MajorityProblem, gammas: Gammas, name: str) -> None:
    with pytest.raises(darrm.InputError, match="png, svg, pdf"):
        save_gamma(tmp_path / name, problem, gammas)
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_path_is_an_output_error(tmp_path: Path, problem: darrm.MajorityProblem, gammas: Gammas) -> None:
    with pytest.raises(darrm.OutputError, match="could not be written"):
        save_gamma(tmp_path / "missing" / "gamma.png", problem, gammas)


def test_the_curves_are_the_tables(problem: darrm.MajorityProblem, gammas: Gammas) -> None:
    ax = plot_gamma(problem, gammas)
    assert [line.get_label() for line in ax.lines] == list(gammas)
    for line, gamma in zip(ax.lines, gammas.values(), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), np.arange(12))
        np.testing.assert_array_equal(line.get_ydata(), gamma)
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    low, high = ax.get_ylim()
    assert low <= 0 < 1 <= high


def test_curves_are_told_apart_without_colour(problem: darrm.MajorityProblem, gammas: Gammas) -> None:
    lines = plot_gamma(problem, {str(i): gammas["double"] for i in range(7)}).lines
    assert len({(line.get_marker(), line.get_linestyle()) for line in lines}) == 7
    assert len({line.get_color() for line in lines}) == 7


def test_no_curve_is_left_out(problem: darrm.MajorityProblem, gammas: Gammas) -> None:
    assert len(plot_gamma(problem, {str(i): gammas["double"] for i in range(9)}).lines) == 9


def test_a_tie_is_no_point() -> None:
    problem = darrm.MajorityProblem(K=4, m=2, epsilon=0.1)
    line = plot_gamma(problem, {"subsampling": baselines.subsampling(4, 1)}).lines[0]
    assert line.get_xdata().tolist() == [0, 1, 3, 4]


def test_given_axes_are_used(problem: darrm.MajorityProblem, gammas: Gammas) -> None:
    from matplotlib.figure import Figure

    left, right = Figure().subplots(1, 2)
    assert plot_gamma(problem, gammas, ax=right) is right
    assert (len(left.lines), len(right.lines)) == (0, 2)


ONE_AXES = {
    "gamma": lambda ax: plots.plot_gamma(darrm.MajorityProblem(K=3, m=1, epsilon=1), {"a": np.zeros(4)}, ax=ax),
    "profile": lambda ax: plots.plot_profile(darrm.solve(K=3, m=1, epsilon=1), ax=ax),
    "spindle": lambda ax: plots_audit.plot_spindle({"a": [[0.1, 0.2]]}, ax=ax),
    "cdf": lambda ax: plots_audit.plot_advantage_cdf({"a": [0.1, 0.2]}, ax=ax),
    "tradeoff": lambda ax: plots_audit.plot_tradeoff({"a": ([0.1], [0.2])}, ax=ax),
    "grid": lambda ax: plots_audit.plot_utility_grid([1, 2], {"a": [0.1, 0.2]}, ax=ax),
}


@pytest.mark.parametrize("name", ONE_AXES)
def test_every_picture_of_one_axes_takes_them(name: str) -> None:
    left, right = figures.new_figure().subplots(1, 2)
    assert ONE_AXES[name](right) is right
    assert not left.lines
    assert right.lines


@pytest.mark.thorough
def test_pictures_of_several_axes_take_them(problem: darrm.MajorityProblem) -> None:
    axes = figures.new_figure().subplots(2, 2).ravel()
    table = darrm.tables.solve_grid([3, 5], [1, 2], 0.1)
    assert all(one is given for one, given in zip(plots_table.plot_table(table, axes), axes, strict=True))
    assert all(ax.lines or ax.collections for ax in axes)
    entries = compare(problem)
    two = figures.new_figure().subplots(1, 2)
    assert all(one is given for one, given in zip(plots.plot_comparison(problem, entries, two), two, strict=True))
    assert len(two[1].patches) == len(entries)


@pytest.mark.thorough
@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_the_same_picture_is_the_same_bytes(
    tmp_path: Path, problem: darrm.MajorityProblem, gammas: Gammas, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / f"{name}.{ending}" for name in "ab"]
    for path, now in zip(paths, ("1000000000", "1700000000"), strict=True):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", now)  # what matplotlib takes for the time
        save_gamma(path, problem, gammas)
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.thorough
def test_pictures_need_no_display_and_leave_pyplot_alone(tmp_path: Path) -> None:
    program = [sys.executable, PROGRAMS / "picture.py", tmp_path / "g.png"]
    assert subprocess.run(program, timeout=60).returncode == 0


def test_without_matplotlib_the_error_names_the_remedy(
    monkeypatch: pytest.MonkeyPatch, problem: darrm.MajorityProblem, gammas: Gammas
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(darrm.MissingExtraError, match="pip install matplotlib"):
        plot_gamma(problem, gammas)
    with pytest.raises(ImportError):
        plot_gamma(problem, gammas)


@pytest.mark.thorough
@pytest.mark.parametrize("command", ["solve", "compare"])
@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_commands_draw(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, ending: str) -> None:
    path = tmp_path / f"gamma.{ending}"
    assert main([command, "--K", "5", "--m", "2", "--epsilon", "0.1", "--plot", str(path)]) == 0
    assert path.stat().st_size > 5000
    assert f"Wrote {path}." in capsys.readouterr().err
