"""The page of a majority: the template holds the text, this the numbers, tables and pictures in it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from darrm.baselines.entries import Entry
from darrm.constraints.multisets import corner_points, count_multisets
from darrm.design.design import Design
from darrm.errors import InputError, SolverError
from darrm.numerics.exact import decimals
from darrm.planning.comparison import compare, entry_of
from darrm.problem.decision import allowance
from darrm.problem.limits import adjacency_in_print, guarantee, rests_not_on
from darrm.show import plots, wording
from darrm.show.figures import NARROW, new_figure
from darrm.show.markup import (
    TIMES,
    Markup,
    element,
    join,
    paragraph,
    picture,
    shown,
    table,
    var,
)
from darrm.show.report import sections
from darrm.show.report.sections import figure, folded, left_out
from darrm.show.report.worst_case import WorstMultiset, work_out

_SAME = 1e-9  # optima this close are one; so are a gamma and 1


def render(
    design: Design, name: str, stored: Mapping[str, Any] | None, delta: float, full: bool, also: int | None
) -> str:
    """The whole page; see `darrm.show.report.html`."""
    problem = design.problem
    title = f"Private majority of {problem.K} vote{'s' * (problem.K > 1)}"
    total = guarantee(problem).epsilon
    with decimals(total):  # e^(m epsilon) can be beyond the caller's context
        certificate = _certificate(design, work_out(design))
    values = {
        "title": title,
        **_guarantee(design),
        **_noise(design),
        **_errors(design, full),
        **sections.one_label(design, full),
        "many_labels": sections.many_labels(design, delta, full, also),
        **certificate,
        "check": sections.check(
            design,
            name,
            stored,
            "gamma",
            "design.gamma.tolist()",
            f"gamma is over its entries for 0, ..., {problem.K} votes",
        ),
    }
    return sections.page(f"{title}: one label is {wording.guarantee(problem)}", "majority.html", values)


def _guarantee(design: Design) -> dict[str, object]:
    problem, total = design.problem, guarantee(design.problem).epsilon
    with decimals(total):
        factor = shown(total.exp(), 4, up=True)
    [votes] = problem.groups
    rows: list[tuple[object, ...]] = [
        (var("K"), problem.K, "voters"),
        (var("epsilon"), repr(votes.epsilon), "epsilon of one vote, in nats"),
        (var("Delta"), repr(votes.delta), "Delta, delta of one vote"),
        (var("m"), repr(allowance(problem)), "allowance of one label, in multiples of epsilon"),
        (
            join([var("m"), var("epsilon")]),
            wording.at_least(problem.release_epsilon, 12),
            "epsilon guaranteed for one label, in nats",
        ),
        (var("delta"), repr(problem.delta), "delta guaranteed for one label"),
        (var("t"), problem.max_affected, "max_affected: how many voters one change of the data can affect"),
        ("adjacency", element("span", problem.adjacency, class_="any"), "what one change of the data is"),
        ("prior", element("span", _short(str(design.prior)), class_="any"), "of the votes, for the errors alone"),
        ("objective", design.objective, "what was minimised"),
        ("shape", design.shape, "free, or monotone: clearer votes get no more noise"),
    ]
    rows += [
        ("profile", wording.pair(epsilon, delta), "one more limit that one label keeps, verified too")
        for epsilon, delta in design.profile
    ]
    return {
        "K": problem.K,
        "guarantee": wording.guarantee(problem),
        "holds": "yes" if design.certificate.holds else "no",
        "each_vote": f"{wording.pair(votes.epsilon, votes.delta)}-DP",
        "adjacency": adjacency_in_print(problem.adjacency),
        "reach": "all of them" if problem.max_affected == problem.K else f"at most {problem.max_affected} of them",
        "factor": factor,
        "failure": f" plus {shown(problem.delta, 6, up=True)}" if problem.delta else "",
        "problem_table": table("The problem", ("symbol", "value", "meaning"), rows, words=(0, 1, 2)),
    }


def _short(prior: str) -> str:
    return prior if len(prior) <= 90 else f"{prior[:80]}... ({prior.count(',') + 1} values)"


def _noise(design: Design) -> dict[str, object]:
    problem, K = design.problem, design.problem.K
    ax = plots.plot_gamma(problem, {"gamma": design.gamma}, new_figure(NARROW).add_subplot())
    ax.set_title("")
    half = range(K // 2 + 1, K + 1)
    alternative = (
        f"Curve of gamma over the number of votes for 1, from 0 to {K}, symmetric about {K / 2:g}: "
        f"{design.gamma[half[0]]:.4g} for the closest vote, {design.gamma[K]:.4g} when all agree."
    )
    rows: list[Sequence[object]] = [(f"{K // 2} : {K // 2}", "any", "0.500000")] if K % 2 == 0 else []
    gammas = ((l, float(design.gamma[l])) for l in half)
    rows += [(f"{K - l} : {l}", repr(gamma), f"{(1 + gamma) / 2:.6f}") for l, gamma in gammas]
    heads = ("minority : majority", "gamma", "label is the majority")
    return {
        "gamma_picture": picture(ax, alternative, "The noise function over the number of votes for 1."),
        "gamma_table": folded("The noise function", heads, rows),
        "gamma_notes": _gamma_notes(design),
    }


def _gamma_notes(design: Design) -> Markup:
    """Why gamma may fall where the vote is clearer, and why it may be nearly 1."""
    notes = []
    if design.shape == "free":
        before, after = wording.NOT_RISING
        notes.append(paragraph(before, element("code", "--shape monotone"), after))
    near = max((float(g) for g in design.gamma if 1 - _SAME < g < 1), default=None)
    if near is not None:
        hair = f"A value such as {near!r} is a hair below 1: it is rounded conservatively."
        notes.append(paragraph(hair, class_="note"))
    return join(notes)


def _errors(design: Design, full: bool) -> dict[str, object]:
    if math.isfinite(design.gap):
        optimal = (
            f"This design is at most {shown(design.gap, 2, up=True)} above the least possible {design.objective} of "
            f"its shape ({design.shape}){' and profile' * bool(design.profile)}, under the prior "
            f"{_short(str(design.prior))}."
        )
    else:
        optimal = (
            f"No gap is proved: another noise function with this guarantee may have less {design.objective}. The prior "
            f"is {_short(str(design.prior))}."
        )
    return {
        "error": figure(design.error),
        "disagreement": figure(design.disagreement),
        "optimal": optimal,
        "rests_not_on": rests_not_on("the prior"),
        "comparison": _comparison(design) if full else left_out("The comparison with other mechanisms"),
    }


def _comparison(design: Design) -> Markup:
    try:
        entries = _entries(design)
    except (InputError, SolverError) as error:
        return paragraph("There is no comparison with other mechanisms. ", error)
    figures = [(figure(entry.error), figure(entry.disagreement)) for entry in entries]
    heads = ("mechanism", "error", "disagreement")
    axes = new_figure((NARROW[0], 6.2)).subplots(2, 1, height_ratios=[3, 2])
    left, _ = plots.plot_comparison(design.problem, entries, axes)
    left.set_title("")
    others = ", ".join(f"{entry.name} {figure(entry.error)}" for entry in entries[1:])
    return join(
        [
            sections.beside("Errors beside other mechanisms", heads, entries, figures, design),
            picture(
                left,
                "Noise functions of the mechanisms that satisfy the guarantee, and a bar for the error of each: "
                f"{entries[0].name} {figure(design.error)}, {others}.",
                "Noise functions, and the errors in the same colours. Mechanisms marked “not verified” are not proved "
                "to keep the guarantee: they have no curves, and their errors are there for scale.",
            ),
        ]
    )


def _entries(design: Design) -> list[Entry]:
    """This design, then the others; gamma_opt or its monotone form is left out if this is it."""
    prior = design.prior
    objective = str(design.objective) if prior.default_objective == "tv" and str(design.objective) != "custom" else None
    others = compare(design.problem, prior, objective)
    same = [other.name for other in others.entries[:2] if abs(other.gamma - design.gamma).max() <= _SAME]
    name = f"this design ({same[0]})" if same else "this design"
    return [entry_of(name, design), *(other for other in others if other.name not in same)]


def _certificate(design: Design, worst: WorstMultiset) -> dict[str, object]:
    [votes] = design.problem.groups
    many = count_multisets(votes.count, len(corner_points(votes.epsilon, votes.delta).p), votes.max_affected)
    corners = [
        (name, f"{count:,}", shown(p_vote.one), shown(q_vote.one)) for name, count, p_vote, q_vote in worst.corners
    ]
    rows = list(zip(worst.p_side, worst.q_side, worst.release, strict=True))
    lines = [(l, *map(shown, (a, b, r, a * r, b * r))) for l, (a, b, r) in enumerate(rows)]
    x, y = worst.probabilities
    # By the larger of a row's shares in X(p) and in X(p'), times both; by its chance where nothing is released as 1.
    weights = [(max(a * y, b * x) * r, max(a, b)) for a, b, r in rows]
    p, other = var("p"), var("p\N{PRIME}")
    chance = join(["Pr[", var("L"), " = ", var("l"), "]"])
    chances = [join([chance, ", ", side]) for side in (p, other)]
    products = [join([var("r"), f" {TIMES} {which}"]) for which in ("first", "second")]
    heads = (var("l"), *chances, var("r"), *products)
    factor = join(["e", element("sup", join([var("m"), var("epsilon")]))])
    return {
        "multisets": f"{many:,}" if many < 10**9 else shown(many, 3),
        "corner_table": table("The worst case", ("corner", "voters", p, other), corners),
        "line_table": folded("The worst case line by line", heads, lines, weights),
        "sum_table": sections.sums(worst, factor, (products[0], products[1]), design),
    }
