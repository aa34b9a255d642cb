"""Tables of few bits: multiples of 2^-bits, certified as they are drawn, with a gap that has what rounding cost."""

from fractions import Fraction

import numpy as np
import pytest
from cases import thorough

import darrm
from darrm.problem import encodings

TRUTH = darrm.objectives.truth


def decision(*groups: darrm.VoterGroup, classes: int = 2, **settings: object) -> darrm.Design:
    problem = darrm.DecisionProblem(groups, classes=classes, epsilon=1.2)
    return darrm.solve(problem, objective=TRUTH([0.7, 0.6][: len(groups)]), **settings)


GROUP = darrm.VoterGroup
DESIGNS = {
    "majority": lambda: darrm.solve(K=11, m=3, epsilon=0.1),
    "monotone": lambda: darrm.solve(K=8, m=2, epsilon=0.5, shape="monotone"),
    "Delta": lambda: darrm.solve(K=7, m=2, epsilon=0.5, Delta=1e-3, profile=[(2.0, 1e-6)]),
    "groups": lambda: decision(GROUP(2, epsilon=1.0), GROUP(3, epsilon=0.2), ordered=True),
    "absent": lambda: decision(GROUP(3, epsilon=1.0), absent=True),
    "classes": lambda: decision(GROUP(3, epsilon=1.0), classes=3),
}


def sampled(design: darrm.Design) -> list[Fraction]:
    return [value for row in design.encoding.exact(design.table, design.problem) for value in row]


@pytest.mark.parametrize("name", [*DESIGNS][:1] + [*DESIGNS][3:4] + thorough(*[*DESIGNS][1:3], *[*DESIGNS][4:]))
@pytest.mark.parametrize("bits", [6, 16])
def test_what_is_sampled_is_a_multiple_and_certified(name: str, bits: int) -> None:
    design = DESIGNS[name]()
    short = design.rounded(bits)
    for part in (short, *short.fewer.values()):
        assert part.certificate.holds
        assert all(value * 2**bits == int(value * 2**bits) for value in sampled(part))
    assert short.bits <= bits < design.bits
    assert short.shape == design.shape
    assert short.profile == design.profile
    assert short.expected_cost - design.expected_cost <= short.gap
    assert darrm.verify(short.table, short.problem).holds  # whatever made it
    assert short.rounded(bits).bits <= bits


def test_probabilities_move_towards_noise_by_less_than_a_unit() -> None:
    gamma = np.array([1.0, 0.3, 0.1, 0.1, 0.3, 1.0])
    rounded = encodings.GAMMA.rounded(gamma, 5)
    assert np.all(rounded <= gamma)
    assert np.all(gamma - rounded < 2.0**-4)
    table = np.array([0.0, 0.01, 0.49, 0.5, 0.77, 1.0])
    rounded = encodings.BINARY.rounded(table, 4)
    assert np.all(np.abs(rounded - 0.5) <= np.abs(table - 0.5))
    assert np.all(np.abs(rounded - table) < 2.0**-4)
    rows = np.array([[1 / 3, 1 / 3, 1 / 3], [0.2, 0.5, 0.3], [1.0, 0.0, 0.0]])
    assert encodings.FULL.rounded(rows, 2).tolist() == [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [1.0, 0.0, 0.0]]


@pytest.mark.thorough
def test_rounding_costs_little_at_sixteen_bits() -> None:
    """For 25 voters, where the noise function is tight: epsilon stays near 2, and gamma moves by 2^-15."""
    design = darrm.solve(K=25, m=2, epsilon=1)
    short = darrm.solve(K=25, m=2, epsilon=1, bits=16)
    assert 1.9998 < short.certificate.tight_epsilon <= 2
    assert np.abs(short.gamma - design.gamma).max() <= 2.0**-15
    assert short.gap < 1e-5
    assert short == design.rounded(16)


def test_a_design_of_few_bits_is_filed(tmp_path: pytest.TempPathFactory) -> None:
    short = darrm.solve(K=5, m=1, epsilon=0.5, bits=8)
    short.save(tmp_path / "short.json")
    assert darrm.load(tmp_path / "short.json") == short
