"""What errors say to who begins: one wording wherever the same thing is wrong."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import darrm
from darrm.cli import main
from darrm.numerics.printed import counted, left
from darrm.problem.limits import ANY_NUMBER

DESIGN = darrm.solve(K=3, m=2, epsilon=0.5)
MECHANISM = darrm.mechanisms.DaRRM(DESIGN)
PROBLEM = {"K": 3, "m": 2.0, "epsilon": 0.5, "Delta": 0.0}
NAN = [math.nan, np.float64("nan"), np.float32("nan")]


@pytest.mark.parametrize("nan", NAN, ids=lambda nan: type(nan).__name__)
@pytest.mark.parametrize(
    "call",
    [
        *[lambda nan, name=name: darrm.MajorityProblem(**(PROBLEM | {name: nan})) for name in PROBLEM],
        lambda nan: darrm.priors.common(nan),
        lambda nan: darrm.priors.fixed([0.5, nan]),
        lambda nan: MECHANISM.release([[0, nan, 1]]),
        lambda nan: darrm.votes.write_labels("labels.csv", ["1"], np.array([nan])),
        lambda nan: darrm.accounting.compose(DESIGN, nan, delta=0.1, voters="fresh"),
    ],
)
def test_nan_is_called_not_a_number(
    call: Callable[[float], Any], nan: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(darrm.InputError, match=r"Got NaN \(not a number\)"):
        call(nan)


@pytest.mark.parametrize("voters", ["Fresh", " FIXED", "fixed "])
def test_voters_in_capitals_are_refused_in_a_short_line(
    voters: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    DESIGN.save("gamma.json")
    right = voters.strip().lower()
    said = f'voters must be "fresh" or "fixed". Got {voters!r}. Pass "{right}".'
    with pytest.raises(darrm.InputError, match=f"^{re.escape(said)}$"):
        darrm.accounting.compose(DESIGN, 2, delta=0.1, voters=voters)
    with pytest.raises(darrm.InputError, match=f"^{re.escape(said)}$"):
        darrm.accounting.max_queries(DESIGN, 2.0, 0.1, voters=voters)
    assert main(["budget", "gamma.json", "--queries", "2", "--total-delta", "0.1", "--voters", voters]) == 2
    assert capsys.readouterr().err == f"darrm: --{said}\n"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: darrm.expected_error(np.ones(12), [0.6] * 10), r"p must hold .* K \+ 1 .*\(10,\) and \(12,\)"),
        (lambda: darrm.solve(pior="uniform", **PROBLEM), r"'pior'.* help\(darrm.solve\) has the others"),
        (lambda: darrm.accounting.compose(DESIGN.gamma, 2, delta=0.1, voters="fresh"), r"darrm.Design\(problem, table"),
        (lambda: darrm.DecisionDesign(DESIGN.problem, DESIGN.gamma, 1), "prior must be a prior"),
    ],
)
def test_who_mistakes_one_argument_for_another_is_told_which(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(darrm.InputError, match=said):
        call()


def test_a_vote_for_a_third_class_is_told_where_to_go(tmp_path: Path) -> None:
    said = "This is for two answers. .*classes=3, .*DecisionProblem .*--classes.*GaussianNoisyMax or Laplace"
    with pytest.raises(darrm.InputError, match=rf"Got 2 in row 0, column 1\. {said}"):
        MECHANISM.release([[0, 2, 1]])
    (tmp_path / "votes.csv").write_text("a,b,c\n0,1,2\n", encoding="utf-8")
    with pytest.raises(darrm.InputError, match=rf"Got '2'\. {said}"):
        darrm.votes.read(tmp_path / "votes.csv")
    for other in (-1, 0.5, math.inf, 10**9):
        with pytest.raises(darrm.InputError, match=r"column 1\.$"):
            MECHANISM.release([[0, other, 1]])


def test_what_stands_in_a_name_makes_no_second_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    name = "a\nb\x1b[31m.json"
    with pytest.raises(darrm.InputError) as caught:
        darrm.load(name)
    assert str(caught.value).startswith(r"a b\x1b[31m.json could not be read")
    with pytest.raises(darrm.OutputError) as full:
        DESIGN.save(f"missing/{name}")
    assert len(str(full.value).splitlines()) == 1
    assert main(["solve", "--K", "3", "--m", "2", "--epsilon", "0.5", "--out", name]) == 0
    assert r"Wrote a b\x1b[31m.json." in capsys.readouterr().err.splitlines()
    assert main(["verify", name]) == 0
    assert not any(c in capsys.readouterr().out for c in ("a\nb", "\x1b[31m"))


WRONG: list[tuple[Callable[[Any], Any], Any, str]] = [
    (lambda x: darrm.VoterGroup(x, 1.0), "3", "count must be an integer in .* Got '3'"),
    (lambda x: darrm.VoterGroup(3, 1.0, names=x), np.array(3), r"names must be .* Got array\(3\)"),
    (lambda x: darrm.DecisionProblem([x], 1.0), 3, r"groups must be a list of darrm\.VoterGroup\. Got \[3\]"),
    (
        lambda x: darrm.Design(x, [0.0] * 4, DESIGN.prior),
        "3",
        r"problem must be a darrm\.MajorityProblem or .* Got '3'",
    ),
    (lambda x: darrm.Design(DESIGN.problem, [0.0] * 4, DESIGN.prior, fewer=x), [1], "fewer "),
    (lambda x: darrm.repair([0.0] * 4, x), "3", r"problem must be a darrm\.MajorityProblem or .* Got"),
    (lambda x: darrm.privacy_profile([0.0] * 4, x, [1.0]), "3", "problem must be .* Got '3'"),
    (lambda x: darrm.baselines.constant(x), "3", r"problem must be a darrm\.MajorityProblem\. Got '3'"),
    (lambda x: darrm.measures.least_error(x, 0.6), "3", r"problem must be a darrm\.MajorityProblem\. Got '3'"),
    (lambda x: darrm.objectives.truth(x), np.array(0.7), r"accuracy must be a list .* Got array\(0\.7\)"),
    (lambda x: darrm.load(x), None, "path must be the path of a file. Got None"),
    (lambda x: darrm.votes.read(x), 3, "path must be the path of a file. Got 3"),
    (lambda x: darrm.votes.write_labels("x.csv", x, np.array([1])), None, "ids must be a list of texts.* Got None"),
    (lambda x: darrm.votes.example(x), ["x"], r"no votes called \['x'\]"),
    (lambda x: darrm.priors.parse(x), None, "prior must be a prior of darrm.priors, or a text .* Got None"),
    (lambda x: darrm.independent.cost(x), [], r"must be parts with names, not \[\]"),
    (lambda x: DESIGN.of_kind(x), [1], r"kind must be left out: .* Got \[1\]"),
    (lambda x: MECHANISM.release(x), DESIGN, "votes must be"),
]


@pytest.mark.parametrize(("call", "wrong", "said"), WRONG)
def test_what_is_of_another_type_is_named(
    call: Callable[[Any], Any], wrong: Any, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(darrm.InputError, match=said):
        call(wrong)


@pytest.mark.parametrize("epsilon", [[0.5, 1.0], (0.5,), np.array([0.5, 1.0]), "0.5,1"], ids=str)
def test_several_epsilons_are_told_where_to_go(epsilon: Any) -> None:
    with pytest.raises(darrm.InputError, match=r"one number, .*darrm\.VoterGroup.*darrm\.DecisionProblem.*--group"):
        darrm.MajorityProblem(3, 1, epsilon)


@pytest.mark.thorough
def test_no_finite_epsilon_is_called_infinite(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--K", "3", "--m", "1", "--epsilon", "0.5", "--Delta", "1e-3"]) == 0
    [row] = [line for line in capsys.readouterr().out.splitlines() if line.strip().startswith("plain majority")]
    assert "infinite" in row
    assert "none" not in row


@pytest.mark.thorough
def test_a_plan_in_place_of_its_design_is_told_apart_from_other_things() -> None:
    plan = darrm.plan(
        K=3, epsilon=1.0, accuracy=0.9, max_affected=1, queries=2, total_epsilon=1.5, total_delta=1e-6, voters="fresh",
        compare=False,
    )  # fmt: skip
    for takes in (darrm.mechanisms.PrivateDecision, darrm.mechanisms.DaRRM):
        with pytest.raises(darrm.InputError, match=r"Got Plan\. Pass its design: plan\.design"):
            takes(plan)  # type: ignore[arg-type]
    mechanism = darrm.mechanisms.DaRRM(darrm.solve(K=3, m=1, epsilon=1.0))
    with pytest.raises(darrm.InputError, match=r"Got PrivateDecision\.$"):
        darrm.mechanisms.DaRRM(mechanism)  # type: ignore[arg-type]
    with pytest.raises(darrm.InputError, match="K must be an integer"):
        darrm.votes.read("votes.csv", plan.design)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: darrm.plan(K=25, epsilon=1.0), "plan needs queries, total_epsilon and total_delta."),
        (lambda: darrm.accounting.compose(), "compose needs design, queries and delta. Got none of them."),
        (lambda: darrm.VoterGroup(3), "VoterGroup needs epsilon. Got none. Pass epsilon="),
        (lambda: darrm.MajorityProblem(), "MajorityProblem needs K. Got none. Pass K="),
        (lambda: darrm.load(), "load needs path. Got none."),
        (lambda: darrm.accounting.Ledger.create("a.db"), "Ledger.create needs total_epsilon and total_delta."),
        (lambda: darrm.solve(K=3), "Missing: m, epsilon."),
        (lambda: darrm.mechanisms.PrivateDecision(), "PrivateDecision needs design. Got none."),
        (lambda: darrm.mechanisms.GaussianNoisyMax(), "GaussianNoisyMax needs sigma. Got none."),
        (lambda: darrm.mechanisms.RandomizedResponse(), "RandomizedResponse needs "),
        (lambda: darrm.accounting.Ledger(), "Ledger needs path. Got none. Pass path="),
        (lambda: darrm.votes.read(), "read needs path. Got none."),
        (lambda: darrm.objectives.truth(), "truth needs "),
        (lambda: darrm.tables.Grid(), "Grid needs "),
    ],
)
def test_missing_arguments_are_named(call: Callable[[], object], said: str) -> None:
    with pytest.raises(darrm.InputError, match=re.escape(said)):
        call()


@pytest.mark.every
@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: darrm.load("a.json", foo=1),
            "load: got an unexpected keyword argument 'foo'. It takes path (see help(",
        ),
        (
            lambda: darrm.solve(11, 3, 0.1),
            "solve: too many positional arguments. It takes problem, and by name prior, ",
        ),
        (
            lambda: darrm.VoterGroup(3, 1.0, count=3),
            "VoterGroup: multiple values for argument 'count'. It takes count, ",
        ),
    ],
)
def test_what_a_function_does_take_is_named(call: Callable[[], object], said: str) -> None:
    with pytest.raises(darrm.InputError, match=re.escape(said)):
        call()


def test_numbers_agree_with_what_they_count() -> None:
    assert [counted(n, "label") for n in (0, 1, 2)] == ["0 labels", "1 label", "2 labels"]
    assert [left(n) for n in (0, 1, 2)] == ["None is left.", "1 is left.", "2 are left."]
    with pytest.raises(darrm.InputError, match="Got 1 id and 2 labels"):
        darrm.votes.write_labels("labels.csv", ["1"], np.array([0, 1]))
    with pytest.raises(darrm.InputError, match="each of 1 group"):
        darrm.solve(
            darrm.DecisionProblem([darrm.VoterGroup(3, 1.0)], 0.5), objective=darrm.objectives.truth([0.7, 0.8])
        )


def test_no_number_is_made_to_agree_by_hand() -> None:
    """Where it is, 0 has no plural sooner or later: `printed.counted` knows."""
    package = Path(darrm.__file__).parent
    by_hand = re.compile(r"""['"]e?s['"] (\*|if) |\{['"]['"] if [^}]* else ['"]e?s['"]\}""")
    found = [path.name for path in package.rglob("*.py") if by_hand.search(path.read_text(encoding="utf-8"))]
    assert found == ["printed.py"]


def test_what_a_total_of_noisy_max_holds_for_has_one_wording() -> None:
    """It was said of teachers, voters and votes: one name for one thing, in messages and documents."""
    package = Path(darrm.__file__).parent
    said = {path: path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    pages = (path for path in (package.parent / "docs").rglob("*.md") if "_build" not in path.parts)
    said |= {path: path.read_text(encoding="utf-8") for path in pages}
    other = re.compile(r"any numbers of (teachers|voters|votes|both)|any number of (teachers|voters) and classes")
    assert [path.name for path, text in said.items() if other.search(text)] == []
    assert [path.name for path, text in said.items() if f'"{ANY_NUMBER}"' in text] == ["limits.py"]
