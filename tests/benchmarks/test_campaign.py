"""A short run of tests/tools/campaign.py, and that it finds a guarantee, a gap and bits that are planted wrong."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pytest
from scripts import TOOLS

import darrm
from darrm.problem import groups


@pytest.fixture
def campaign(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "path", [str(TOOLS), *sys.path])
    import campaign

    return campaign


def wrong(campaign: Any, model: str, numbers: range) -> list[str]:
    """What is wrong with the problems of these numbers."""
    verdicts = [campaign.one(7, number, model)[0] for number in numbers]
    assert any(verdict.outcome == "judged" for verdict in verdicts)
    return [text for verdict in verdicts for text in verdict.wrong]


@pytest.mark.thorough
@pytest.mark.first(2)
def test_a_short_run_finds_nothing(campaign: Any) -> None:
    for model in campaign.MODELS:
        assert wrong(campaign, model, range(1 if model == campaign.SLOW else 4)) == []


@pytest.mark.thorough
def test_a_guarantee_that_fails_is_found(campaign: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    solve = darrm.solve

    def careless(problem: Any, **options: Any) -> Any:
        return solve(replace(problem, epsilon=1.1 * problem.epsilon), **options)

    monkeypatch.setattr(darrm, "solve", careless)
    assert any("needs delta" in text for text in wrong(campaign, "known randomizers, colluders", range(8, 11)))


def test_a_gap_that_is_wrong_is_found(campaign: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "treats_alike", lambda randomizer: True)
    assert any("costs less" in text for text in wrong(campaign, "known randomizers, colluders", range(21, 22)))


@pytest.mark.thorough
def test_a_table_of_other_bits_is_found(campaign: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    solve = darrm.solve
    monkeypatch.setattr(darrm, "solve", lambda problem, bits, **options: solve(problem, **options))
    assert any("bits" in text for text in wrong(campaign, "tables of few bits", range(4)))
