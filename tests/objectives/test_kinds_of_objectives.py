"""What files say of objectives: every kind of the registry comes back, and nothing else does."""

from typing import Any

import pytest

from darrm import objectives, priors
from darrm.errors import InputError
from darrm.objectives.stored import OBJECTIVES

EXAMPLES = {
    "truth": objectives.truth([0.8, 0.7], prior=[0.9, 0.1]),
    "rule": objectives.rule("majority", [0.8]),
    "dissent": objectives.dissent([0.8], [0.3, 0.7]),
    "costs": objectives.costs([[0.0, 0.5], [0.25, 0.0]]),
    "paper": objectives.paper(priors.common(2.0, 3.0), "disagreement"),
}


def test_every_kind_has_an_example() -> None:
    assert EXAMPLES.keys() == OBJECTIVES.keys()


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_what_a_file_says_comes_back(kind: str) -> None:
    said = EXAMPLES[kind].as_dict()
    assert said["kind"] == kind
    again = objectives.from_dict(said)
    assert again == EXAMPLES[kind]
    assert again.as_dict() == said


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_what_is_missing_or_too_much_is_refused(kind: str) -> None:
    said: dict[str, Any] = EXAMPLES[kind].as_dict()
    parameter = next(name for name in said if name != "kind")
    for wrong in (
        {name: value for name, value in said.items() if name != parameter},
        {**said, "more": 1},
        {**said, "kind": f"{kind}s"},
        {name: value for name, value in said.items() if name != "kind"},
    ):
        with pytest.raises(InputError, match=r"objective must have a kind \(truth, rule, dissent, costs, paper\)"):
            objectives.from_dict(wrong)
