"""The explorer's page of one release."""

from __future__ import annotations

import math
from collections.abc import Mapping

from flask import url_for

from darrm.baselines.entries import Comparison
from darrm.design.design import Design
from darrm.problem.groups import ByGroups
from darrm.show import classes, wording
from darrm.show.explore.controls import (
    CUT,
    Look,
    bars,
    box,
    chosen,
    copied,
    filled,
    frame,
    group_rows,
    noted,
    nothing,
    pending,
    randomizer,
    wrong,
)
from darrm.show.explore.release_choices import (
    FIRST,
    GROUPS,
    KNOWN,
    MINIMISE,
    OF_GROUP,
    SHAPES,
    Choice,
    Choices,
    solve_command,
    solve_python,
)
from darrm.show.inline import picture, table_of, verified
from darrm.show.markup import Markup, grid, join, paragraph
from darrm.show.plan_words import known
from darrm.show.plots_classes import caption
from darrm.show.typed import goals

_NATS = {"min": -3, "max": 1, "step": 0.01, "data_scale": "log"}
_LOOKS = {
    "max_affected": Look("Largest number of affected voters, over all groups.", placeholder="all"),
    "m": Look("Privacy allowance of one label, in multiples of epsilon.", slider={"min": 1, "max": 11, "step": 1}),
    "release_epsilon": Look(
        "Or epsilon of one label, in nats; then leave m blank.", placeholder="m epsilon", slider=_NATS
    ),
    "delta": Look("Delta of one label.", placeholder="least"),
    "prior": Look(
        "uniform, common:A,B, independent:LOW,HIGH, fixed:P1,...,PK, votes:C0,...,CK (public), or another that "
        f"darrm solve takes. {wording.NOT_RESTING}"
    ),
    "base": Look(
        "Accuracy of a voter before its local noise, which is randomized response with its epsilon. The accuracy of a "
        f"group, which is that of votes as cast, replaces it. {wording.NOT_RESTING}",
        "base accuracy",
        slider={"min": 0.5, "max": 1, "step": 0.01},
    ),
    "objective": Look(f"{goals()}"),
    "truths": Look(f"P0,P1,...: the probability of each truth. {wording.NOT_RESTING}", "prior", placeholder="equal"),
    "cost": Look("C00,C01,C10,C11: Cry is the cost of answer r if the truth is y.", placeholder="1 if wrong"),
    "classes": Look("Number of classes, or their names."),
    "none": Look("Cost of a further answer, none of the classes.", placeholder="no such answer"),
}
_COLUMNS = dict(zip(OF_GROUP, ("voters", "epsilon", "delta", "affected", "accuracy"), strict=True))
_BLANK = {"delta": "0", "max_affected": "all", "accuracy": "base"}
_FEW = 60  # entries of a table that is open at first
_BUTTON = "Compare with other mechanisms"


def explorer(state: Choices, design: str, others: str) -> Markup:
    """The whole page; ``design`` and ``others`` are empty where there is none to show."""
    texts, errors = state.texts, state.errors
    before, _, after = design.partition(CUT)
    lists: dict[str, tuple[Mapping[str, str], str]] = {
        "known": (KNOWN, "A prior of votes is for one group and gives the paper's gamma. Accuracies give any table."),
        "minimise": (
            MINIMISE,
            "The expected TV error of Definition 2.4 (tv), or the disagreement rate with the majority of the votes.",
        ),
        "shape": (
            SHAPES,
            "free: the least cost. ordered: the answer of least expected cost is never less likely than another. "
            "monotone: a closer vote never has less noise.",
        ),
    }
    main = filled(
        "release",
        **{name: box(name, look, texts, FIRST, errors) for name, look in _LOOKS.items()},
        **{name: chosen(name, values, hint, texts, FIRST, errors) for name, (values, hint) in lists.items()},
        group_rows=group_rows(GROUPS, _COLUMNS, _BLANK, texts, FIRST, errors),
        randomizer=randomizer(texts, FIRST, errors),
        wrong_solve=wrong(errors, "solve"),
        status="See the messages beside the controls." if errors else "",
        design=Markup(before) or nothing(),
        beside=Markup(after),
        others=Markup(others) or (nothing() if errors else pending(_BUTTON)),
        button=_BUTTON,
    )
    lead = "Choose voters and a guarantee, and see the optimal noise of one label, which darrm solve finds."
    return frame("darrm explore", main, paragraph(lead), "One release: darrm explore", "release.page")


def design(state: Choices, choice: Choice, found: Design) -> Markup:
    """The design of ``choice``, and how to go on."""
    gamma = found.encoding.name == "gamma"
    image, one = picture(found), found.problem.names[1]
    seen = f"The probability of the answer {one}, by the number of voters of each group that say {one}."
    if gamma:
        seen = (
            "gamma(l): the probability that the true majority is released when l votes are 1; otherwise a fair coin is."
        )
        seen += wording.AT_A_TIE * (found.problem.K % 2 == 0)
        seen += " " + "the shape monotone".join(wording.NOT_RISING) * (found.shape == "free")
    elif not found.problem.binary:
        seen = caption(found)
    reversals = classes.reversals(found)
    return filled(
        "released",
        verified=verified(found),
        picture=image,
        seen=paragraph(seen, class_="hint") if image else "",
        figures=_figures(found),
        reversals=paragraph(f"{reversals}; the shape ordered forbids that.", class_="hint") if reversals else "",
        command=copied("command", f"{solve_command(choice)} --out design.json"),
        python=copied("python", solve_python(choice)),
        base=url_for("release.page"),
        search=state.query(),
        table_open=Markup(" open" * (classes.n_rows(found) <= _FEW)),
        table=table_of(found),
    )


def _figures(found: Design) -> Markup:
    problem, certificate = found.problem, found.certificate
    rows = [("expected cost", found.objective.cost_in_words, f"{found.expected_cost:.6g}")]
    if found.encoding.name == "gamma":
        rows = [
            ("expected TV error", "from the plain majority", f"{found.error:.6g}"),
            (
                "disagreement rate",
                "with the votes\N{RIGHT SINGLE QUOTATION MARK} majority",
                f"{found.disagreement:.6g}",
            ),
        ]
    rows += [
        ("tight epsilon", f"at delta = {wording.exactly(problem.delta)}", wording.at_least(certificate.tight_epsilon)),
        (
            "needed delta",
            f"at epsilon = {wording.at_least(problem.release_epsilon)}",
            wording.at_least(certificate.needed_delta),
        ),
        ("gap to the optimum", "at most", "not known" if math.isinf(found.gap) else f"{found.gap:.1e}"),
    ]
    return grid(["", ""], [(noted(name, note), value) for name, note, value in rows], class_="figures")


def others(entries: Comparison, problem: ByGroups) -> Markup:
    """Other mechanisms for the same guarantee, that of ``problem``, the design among them."""
    first = entries[0]
    rows = bars(
        (entry.called, entry.expected_cost, entry.within, entry is first)
        for entry in sorted(entries, key=lambda entry: not entry.within)
    )
    note = "Mechanisms that are not private enough are not certified for the guarantee; they are shown for scale only."
    if problem.known:
        note += f" The guarantee of each holds {known(problem)}"
    return join(
        [grid(("mechanism", "expected cost", "private enough"), rows, class_="bars"), paragraph(note, class_="hint")]
    )


def no_others(why: object) -> Markup:
    """Why there is no comparison."""
    return paragraph("There is no comparison with other mechanisms. ", why)
