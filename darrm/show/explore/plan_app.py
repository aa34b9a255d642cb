"""The routes of the first page: what one total budget buys for many labels."""

from __future__ import annotations

import csv
import io
import math
import os
import re
import time
from collections.abc import Iterable, Sequence
from typing import Any

from flask import Blueprint, Response, request

from darrm.accounting.search import Budget
from darrm.baselines.entries import Comparison
from darrm.design.design import Design
from darrm.errors import DarrmError, InputError, SolverError
from darrm.numerics.deadline import OutOfTime
from darrm.planning.answers import Plan
from darrm.planning.asked import setting_of
from darrm.planning.at_one_total import at_one_total
from darrm.planning.planner import plan
from darrm.show.explore import plan_choices as chosen
from darrm.show.explore import plan_page, serving
from darrm.show.explore.cache import Cache
from darrm.show.explore.plan_choices import Choice, Choices
from darrm.show.explore.serving import download, gone, offer, part
from darrm.show.figures import data_address
from darrm.show.plots_plan import plot_comparison_at_one_total, plot_plan


class _Answers:
    """Caches of plans, of what else the same budget buys, and of pictures of both."""

    def __init__(self) -> None:
        workers = os.cpu_count() or 1
        self.plans: Cache[Choice, Plan] = Cache(_planned, 64, workers)
        self.others: Cache[Choice, Comparison | None] = Cache(self._compared, 64, workers)
        self.curves: Cache[Choice, str] = Cache(self._drawn, 32, 1)
        self.bars: Cache[Choice, str] = Cache(self._drawn_beside, 32, 1)

    def _compared(self, choice: Choice) -> Comparison | None:
        """What else the budget buys; None if that takes too long."""
        planned = self.plans.get(choice)
        design = design_of(planned)
        accuracies = choice.arguments()
        setting = setting_of(
            design.problem.groups,
            choice.max_affected,
            accuracies.get("base_accuracy"),
            accuracies.get("accuracy"),
            *(None, None, None, False, 2, "replace-one"),
            choice.voters,
        )
        until = time.monotonic() + serving.TIME_LIMIT
        fallback = planned.fallback_epsilon if design.problem.known else math.inf
        budget = Budget(choice.queries, choice.total_epsilon, choice.total_delta, choice.voters, until, fallback)
        try:
            return at_one_total(setting, budget, design)
        except OutOfTime:
            return None

    def _drawn(self, choice: Choice) -> str:
        return _address(plot_plan(self.plans.get(choice)), 4.4)

    def _drawn_beside(self, choice: Choice) -> str:
        compared = self.others.get(choice)
        return _address(plot_comparison_at_one_total(compared).figure, 4.6) if compared else ""


def _address(figure: Any, width: float) -> str:
    """A picture ``width`` inches wide, without its title: the narrower, the larger its letters on a small screen."""
    for ax in figure.axes:
        ax.set_title("")  # the page says it, and a narrow picture would cut it
    figure.set_size_inches(width, figure.get_size_inches()[1])
    return data_address(figure, fonttype="none")


def _planned(choice: Choice) -> Plan:
    return plan(**choice.arguments(), compare=False, time_limit=serving.TIME_LIMIT)


def design_of(answer: Plan) -> Design:
    """The design of a plan of this page, which is never one by a prior of votes."""
    if answer.design.encoding.name == "gamma":
        raise InputError("This page plans for groups of voters. Got a plan by a prior of votes. Use darrm plan.")
    return answer.design


def make() -> Blueprint:
    """The routes of the first page, with caches of their own."""
    pages = Blueprint("plan", __name__)
    found = _Answers()

    def plan_part(state: Choices) -> str:
        if state.choice is None:
            return plan_page.unsaid(state)
        answer = found.plans.get(state.choice, gone())
        curve = found.curves.get(state.choice, gone()) if len(answer.curve) > 1 else ""
        return plan_page.plan(state, state.choice, answer, design_of(answer), curve)

    def others_part(state: Choices) -> str:
        if state.choice is None:
            return plan_page.nothing_beside()
        compared = found.others.get(state.choice, gone())
        if compared is None:
            return plan_page.no_others(state.choice)
        problem = found.plans.get(state.choice, gone()).design.problem
        return plan_page.others(compared, problem, found.bars.get(state.choice, gone()), state.query())

    def wanted() -> tuple[Choice, Design, str]:
        choice = _valid(_read())
        counts = "x".join(str(count) for count, _ in choice.groups)
        name = f"plan_{counts}_labels{choice.queries}_epsilon{choice.total_epsilon:g}"
        return choice, design_of(found.plans.get(choice, gone())), re.sub(r"[^\w.+-]", "_", name)

    @pages.get("/", endpoint="page")
    def page() -> tuple[str, int]:
        state = _read()
        made, others = "", ""
        try:
            if state.choice is not None and not state.errors and "plan" in request.args:
                made = plan_part(state)
                others = others_part(state)
        except DarrmError as error:
            _note(state, error)
        return plan_page.explorer(state, made, others), 400 if state.errors else 200

    @pages.get("/plan")
    def plan_only() -> tuple[str | Response, int]:
        state = _read()
        return part(plan_part, state, state.errors, _note)

    @pages.get("/others")
    def others() -> tuple[str | Response, int]:
        state = _read()
        return part(others_part, state, state.errors, _note)

    @pages.get("/mechanisms.csv")
    def mechanisms() -> Response:
        choice, _, name = wanted()
        compared = found.others.get(choice, gone())
        if compared is None:
            raise SolverError(f"Nothing was compared within {serving.TIME_LIMIT:g} s. Use {_command(choice)}")
        rows = [{key: value for key, value in vars(row).items() if key != "table"} for row in compared]
        return _csv(list(rows[0]), (list(row.values()) for row in rows), f"{name}_mechanisms")

    offer(pages, lambda: wanted()[1:])
    return pages


def _csv(heads: Sequence[str], rows: Iterable[Sequence[object]], name: str) -> Response:
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(rows)
    return download(lines.getvalue().encode(), f"{name}.csv", "text/csv")


def _read() -> Choices:
    return chosen.read(request.args.items(multi=True))


def _command(choice: Choice | None) -> str:
    return "darrm plan" if choice is None else chosen.plan_command(choice)


def _valid(state: Choices) -> Choice:
    if state.errors:
        raise InputError(" ".join(state.errors.values()))
    if state.choice is None:
        raise InputError(
            f"Nothing is planned before it is given: {', '.join(chosen.unsaid(state))}. Choose it on the page."
        )
    return state.choice


def _note(state: Choices, error: DarrmError) -> None:
    """Put an error that came up on the way beside the control it belongs to."""
    late = isinstance(error, SolverError)
    if late:
        state.errors["solve"] = (
            f"No plan within {serving.TIME_LIMIT:g} s. Take fewer voters or labels, or use the command line, which "
            f"takes its time: {_command(state.choice)}"
        )
        return
    word = str(error).split(" ", 1)[0]
    known = isinstance(error, InputError) and word in chosen.FIRST
    aggregator = str(error).startswith("No epsilon of a vote")
    state.errors["aggregator" if aggregator else word if known else "solve"] = str(error)
