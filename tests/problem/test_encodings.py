"""Every encoding of the registry: what it refuses, how noise is mixed in, what is drawn from it, and its file."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import darrm
from darrm import VoterGroup, objectives
from darrm.problem import encodings
from darrm.problem.class_tables import is_symmetric
from darrm.problem.decision import AnyProblem

TRUTH = objectives.truth([0.7])
CASES: dict[str, tuple[AnyProblem, objectives.Objective, str]] = {
    "odd majority": (darrm.MajorityProblem(5, 2, 0.3), objectives.paper(darrm.priors.independent()), "gamma"),
    "even majority": (darrm.MajorityProblem(4, 1.5, 0.5, 1e-4), objectives.paper(darrm.priors.common()), "gamma"),
    "two groups": (
        darrm.DecisionProblem([VoterGroup(2, 1.0), VoterGroup(3, 0.2)], 0.9),
        objectives.truth([0.8, 0.6]),
        "binary",
    ),
    "groups for three": (
        darrm.DecisionProblem([VoterGroup(2, 1.0), VoterGroup(1, 0.3)], 1.0, classes=3),
        objectives.truth([0.8, 0.6], [0.5, 0.3, 0.2]),
        "full",
    ),
    "three classes": (darrm.DecisionProblem([VoterGroup(4, 0.5)], 1.0, classes=3), TRUTH, "symmetric"),
    "none of three": (
        darrm.DecisionProblem([VoterGroup(3, 0.5)], 1.0, classes=3, none=True),
        objectives.truth([0.7], none=0.4),
        "symmetric",
    ),
}


@pytest.fixture(params=CASES)
def design(request: pytest.FixtureRequest) -> darrm.Design:
    problem, objective, name = CASES[request.param]
    made = darrm.solve(problem, objective=objective)
    assert made.encoding is encodings.ENCODINGS[name]
    assert encodings.of(problem, made.table) is made.encoding
    return made


def test_every_encoding_has_a_case() -> None:
    assert {name for *_, name in CASES.values()} == set(encodings.ENCODINGS)
    assert all(encoding.name == name for name, encoding in encodings.ENCODINGS.items())


def test_tables_of_other_shapes_and_numbers_are_refused(design: darrm.Design) -> None:
    table, checked = design.table, design.encoding.checked
    assert np.array_equal(checked(table.tolist(), design.problem), table)
    above, missing = table.copy(), table.copy()
    above.flat[0], missing.flat[0] = 1.5, np.nan
    for wrong in (above, missing, table[:-1], table[..., None], np.full(table.shape, "x")):
        with pytest.raises(darrm.InputError):
            checked(wrong, design.problem)


def test_what_is_drawn_is_exact_and_is_what_is_read(design: darrm.Design) -> None:
    rows = design.encoding.exact(design.table, design.problem)
    assert all(sum(row) == 1 and min(row) >= 0 for row in rows)
    read = design.encoding.probabilities(design.table).reshape(len(rows), -1)
    # One rounding of each number, and one for the chance that the others leave.
    assert np.array([[float(p) for p in row] for row in rows]) == pytest.approx(read, abs=2 * np.finfo(float).eps)
    if not design.problem.binary:
        return
    stored = design.table if design.encoding.name == "binary" else (1 + abs(design.table)) / 2
    for (zero, one), value in zip(rows, stored.ravel().tolist(), strict=True):
        assert {zero, one} & {Fraction(value)} or design.encoding.name == "gamma"


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_noise_mixed_in_is_any_answer(design: darrm.Design, share: float) -> None:
    encoding = design.encoding
    mixed = encoding.mixed(design.table, share)
    before, after = (encoding.probabilities(table) for table in (design.table, mixed))
    ties = np.zeros(before.shape[:-1], dtype=bool)  # of a majority: a fair coin, whatever gamma says there
    if encoding.name == "gamma" and design.problem.K % 2 == 0:
        ties[design.problem.K // 2] = True
    blend = share * before + (1 - share) / design.problem.n_answers
    assert after[~ties] == pytest.approx(blend[~ties], abs=1e-15)
    assert after[ties] == pytest.approx(0.5)


def test_a_file_keeps_every_bit(design: darrm.Design, tmp_path: Path) -> None:
    design.save(tmp_path / "one.json")
    again = darrm.load(tmp_path / "one.json")
    again.save(tmp_path / "two.json")
    assert again == design
    assert again.encoding is design.encoding
    assert again.table.tobytes() == design.table.tobytes()
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


def test_a_table_is_rebuilt_from_its_numbers_in_order(design: darrm.Design) -> None:
    values = [value.hex() for value in design.table.ravel().tolist()]
    assert np.array_equal(encodings.stored(values, design.problem), design.table)
    if design.problem.n_answers > 2:
        assert is_symmetric(design.table, design.problem) == (design.encoding.name == "symmetric")


def test_answers_of_a_majority_are_a_gamma() -> None:
    for K in (4, 5):
        problem = darrm.MajorityProblem(K, 1.5, 0.5)
        gamma = darrm.solve(problem).gamma
        ones = encodings.GAMMA.probabilities(gamma)[:, 1]
        assert encodings.of_answers(ones, problem) == pytest.approx(np.where(2 * np.arange(K + 1) == K, 0.0, gamma))
        assert encodings.of_answers(ones, darrm.DecisionProblem([VoterGroup(K, 0.5)], 0.75)) is ones
