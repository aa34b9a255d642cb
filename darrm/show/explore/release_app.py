"""The routes of the page of one release."""

from __future__ import annotations

import os
import time

from flask import Blueprint, Response, request

from darrm.baselines.entries import Comparison
from darrm.design.design import Design
from darrm.design.solve import solve
from darrm.errors import DarrmError, InputError, SolverError
from darrm.numerics.deadline import OutOfTime, ends_at
from darrm.planning.comparison import beside
from darrm.show.explore import release_choices as choices
from darrm.show.explore import release_page, serving
from darrm.show.explore.cache import Cache
from darrm.show.explore.query import shortened
from darrm.show.explore.release_choices import Choice, Choices
from darrm.show.explore.serving import gone, offer, part


def _solved(choice: Choice) -> Design:
    try:
        with ends_at(time.monotonic() + serving.TIME_LIMIT):
            return solve(
                choice.problem,
                prior=choice.prior,
                objective=choice.objective,
                shape=choice.shape,
                time_limit=serving.TIME_LIMIT,
            )
    except OutOfTime:
        raise SolverError("The time is over.") from None


class _Answers:
    """Caches of designs, and of what they are compared with."""

    def __init__(self) -> None:
        workers = os.cpu_count() or 1
        self.designs: Cache[Choice, Design] = Cache(_solved, 64, workers)
        self.others: Cache[Choice, Comparison] = Cache(self._compared, 64, workers)

    def _compared(self, choice: Choice) -> Comparison:
        design = self.designs.get(choice)
        try:
            with ends_at(time.monotonic() + serving.TIME_LIMIT):
                return beside(design, time_limit=serving.TIME_LIMIT)
        except OutOfTime:
            raise SolverError("The time is over.") from None


def make() -> Blueprint:
    """The routes below /release/, with caches of their own."""
    pages = Blueprint("release", __name__, url_prefix="/release")
    found = _Answers()

    def design_part(state: Choices) -> str:
        choice = _valid(state)
        return release_page.design(state, choice, found.designs.get(choice, gone()))

    def others_part(state: Choices) -> str:
        choice = _valid(state)
        found.designs.get(choice, gone())  # what is wrong with it is said beside the controls
        try:
            return release_page.others(found.others.get(choice, gone()), choice.problem)
        except InputError as error:
            return release_page.no_others(error)
        except SolverError:
            return release_page.no_others(
                f"They take more than {serving.TIME_LIMIT:g} s. darrm compare takes its time."
            )

    def wanted() -> tuple[Design, str]:
        choice = _valid(_read())
        counts = "x".join(str(group.count) for group in choice.problem.groups)
        return found.designs.get(choice, gone()), f"design_{counts}_epsilon{choice.problem.release_epsilon:g}"

    @pages.get("/", endpoint="page")
    def page() -> tuple[str, int]:
        state = _read()
        design, others = "", ""
        try:
            if not state.errors:
                design = design_part(state)
                if "others" in request.args:
                    others = others_part(state)
        except DarrmError as error:
            _note(state, error)
        return release_page.explorer(state, design, others), 400 if state.errors else 200

    @pages.get("/design")
    def design() -> tuple[str | Response, int]:
        state = _read()
        return part(design_part, state, state.errors, _note)

    @pages.get("/others")
    def others() -> tuple[str | Response, int]:
        state = _read()
        return part(others_part, state, state.errors, _note)

    offer(pages, wanted)
    return pages


def _read() -> Choices:
    return choices.read(request.args.items(multi=True))


def _valid(state: Choices) -> Choice:
    if state.choice is None or state.errors:
        raise InputError(" ".join(state.errors.values()))
    return state.choice


def _note(state: Choices, error: DarrmError) -> None:
    """Put an error that came up on the way beside the control it belongs to."""
    if isinstance(error, InputError):
        choices.note(state.texts, state.errors, error)
        return
    state.errors["solve"] = str(error)
    if isinstance(error, SolverError):
        command = choices.solve_command(state.choice) if state.choice else "darrm solve"
        state.errors["solve"] = shortened(
            f"No optimum within {serving.TIME_LIMIT:g} s. Take fewer voters, or use the command line, which takes its "
            f"time: {command}"
        )
