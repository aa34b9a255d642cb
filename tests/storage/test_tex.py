"""Tables in LaTeX."""

import math
import shutil
import subprocess
from pathlib import Path

import pytest

from darrm.storage.frames import write
from darrm.storage.tex import tabular


def column(name: str, *values: object) -> list[str]:
    """The cells of a column that has something, besides one that always has."""
    lines = tabular({"n": list(range(len(values))), name: values}).splitlines()
    return [line.split(" & ")[1].removesuffix(r" \\") for line in lines[4:-2]]


def test_a_table_is_written_whole(tmp_path: Path) -> None:
    write(
        tmp_path / "t.TEX",
        {"name": ["a", "b"], "error": [0.123456, math.nan], "no": [None, ""], "holds": [True, False]},
    )
    assert (tmp_path / "t.TEX").read_text(encoding="utf-8").splitlines() == [
        r"\begin{tabular}{lrr}",
        r"\hline",
        r"mechanism & error & holds \\",
        r"\hline",
        r"a & 0.1235 & yes \\",
        r"b &  & no \\",
        r"\hline",
        r"\end{tabular}",
    ]


def test_numbers_have_sensible_digits() -> None:
    assert column("error", 0.5, 1 / 3, 2.4e-15, 1.25e-7, 1e-6, 123456.0, 7, -0.25, -2e-9, -1e-14, math.inf) == [
        *("0.5000", "0.3333", "0", r"$1.25 \times 10^{-7}$", "$10^{-6}$", r"$1.235 \times 10^{5}$", "7", "$-0.2500$"),
        *(r"$-2 \times 10^{-9}$", "0", r"$\infty$"),
    ]
    assert column("x", -math.inf) == [r"$-\infty$"]


def test_bounds_are_rounded_up_and_what_was_given_stands_in_full() -> None:
    for name in ("tight_epsilon", "total", "aggregator", "needed_delta", "gap", "delta"):
        assert column(name, 0.30000001, 1.2341e-7, 0.0) == ["0.3001", r"$1.235 \times 10^{-7}$", "0"]
    for name in ("epsilon", "Delta", "total_epsilon", "m"):
        assert column(name, 0.1234567, 1.234567e-6) == ["0.1234567", r"$1.234567 \times 10^{-6}$"]


def test_below_noise_functions_stands_that_rounded_ones_are_not_certified() -> None:
    for name in ("gamma_0", "gamma", "table_12"):
        assert tabular({name: [1 / 3]}).splitlines()[-1].startswith("% The noise functions above are rounded")
    assert tabular({"error": [1 / 3], "largest_gamma": [1.0]}).endswith("\\end{tabular}\n")


def test_texts_are_escaped() -> None:
    assert column("x", "50 % of {A #1} $x^2~y\\z <|>\n\n[*]") == [
        r"50 \% of \{A \#1\} \$x\textasciicircum{}2\textasciitilde{}y\textbackslash{}z "
        r"\textless{}\textbar{}\textgreater{} {[}{*}{]}"
    ]
    assert r"a b & c\&d \\" in tabular({"a_b": ["x"], "c&d": ["y"]})


def test_what_is_the_same_in_all_rows_stands_in_a_comment() -> None:
    columns = {"name": ["a", "a"], "m": [3, 3], "expected_cost": [0.1, 0.2], "error": [0.1, 0.2], "gamma_5": [1.0, 1.0]}
    lines = tabular(columns | {"tight_epsilon": [0.3, 0.3]}).splitlines()
    assert lines[3] == r"mechanism & error & $\gamma(5)$ \\"
    assert lines[5:7] == [r"a & 0.1000 & 1.000 \\", r"a & 0.2000 & 1.000 \\"]
    assert lines[0] == "% In all rows, so not in the table: m = 3, tight epsilon = 0.3."
    one = tabular({name: values[:1] for name, values in columns.items()})
    assert "In all rows" not in one
    assert r"mechanism & m & error" in one


def test_a_table_of_gammas_names_its_problem_and_the_constant_ones_first() -> None:
    columns = {"votes": ["1:2", "0:3"], "gamma_opt": [0.5, 1.0], "plain majority": [1.0, 1.0]}
    lines = tabular(columns, "K = 3", gammas=True).splitlines()
    assert lines[:2] == ["% K = 3.", "% In all rows, so not in the table: plain majority = 1.000."]
    assert lines[4] == r"votes & gamma\_opt \\"
    assert lines[-1].startswith("% The noise functions above are rounded")


def test_a_table_too_wide_for_a_page_says_what_is_narrow() -> None:
    rows = {f"gamma_{l}": [l / 26, 0.5] for l in range(26)}
    assert "darrm export of one design has a row for each number of votes" in tabular({"K": [3, 4], **rows})
    assert "too wide" not in tabular({"K": [3, 4], **dict(list(rows.items())[:13])})
    others = {f"figure {l}": [0.5] for l in range(26)}  # such as those of an audit, which no design has
    assert tabular(others).splitlines()[-1] == "% 26 columns: too wide for most pages."


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs LaTeX")
def test_latex_takes_it(tmp_path: Path) -> None:
    write(tmp_path / "t.tex", {"[name]": ["*a_b", "[0.5, 1]{}\\%"], "total": [1e-7, math.inf]})
    page = "\\documentclass{article}\\begin{document}\\input{t.tex}\\end{document}"
    (tmp_path / "page.tex").write_text(page, encoding="utf-8")
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "page.tex"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=120)


def test_half_of_each_noise_function_is_printed_whatever_its_length() -> None:
    rows = {"gamma_0": [1.0, 1.0], "gamma_1": [0.3, 0.4], "gamma_2": [0.3, 0.2], "gamma_3": [1.0, 0.4]}
    rows["gamma_4"] = [None, 1.0]  # type: ignore[list-item]
    lines = tabular({"K": [3, 4], **rows}).splitlines()
    assert lines[2] == r"K & $\gamma(0)$ & $\gamma(1)$ & $\gamma(2)$ \\"
    assert lines[4:6] == [r"3 & 1.000 & 0.3000 &  \\", r"4 & 1.000 & 0.4000 & 0.2000 \\"]
    assert "% gamma(K - l) = gamma(l) in all rows, so gamma(l) is left out for l > K / 2." in lines
    rows["gamma_4"] = [None, 0.9]  # type: ignore[list-item]
    assert tabular({"K": [3, 4], **rows}).splitlines()[2].endswith(r"$\gamma(4)$ \\")
