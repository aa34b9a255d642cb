"""What the page of a design says where it is a noise function: gamma, its errors and the certificate."""

from __future__ import annotations

import math
from collections.abc import Sequence

from darrm.baselines.entries import Entry
from darrm.constraints.multisets import corner_points, count_multisets
from darrm.design.design import Design
from darrm.numerics.exact import decimals
from darrm.numerics.printed import counted
from darrm.planning.comparison import compare, entry_of
from darrm.problem.decision import allowance
from darrm.problem.limits import guarantee
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
    template,
    var,
)
from darrm.show.report import sections
from darrm.show.report.sections import figure, folded
from darrm.show.report.worst_case import WorstMultiset, work_out

_SAME = 1e-9  # optima this close are one; so are a gamma and 1
OTHERS = "other mechanisms"


def words(design: Design) -> dict[str, object]:
    """What voters say and what is released, in sentences."""
    K = design.problem.K
    return {
        "title": f"Private majority of {counted(K, 'vote')}",
        "lead": "A noise function, its certified privacy, its errors, and its use of a privacy budget.",
        "says": (
            "votes 0 or 1. One label is released: the true majority of the votes, with a probability that depends on "
            "the size of the majority, and a fair coin otherwise."
        ),
        "any_label": "either label",
        "what": "The noise function",
        "by_votes": template(sections.PACKAGE, "gamma.html", {"at_a_tie": wording.AT_A_TIE * (K % 2 == 0)}),
        "costs": "The errors",
        "for_groups": "",
        "theory": "theory",
    }


def symbols(design: Design) -> list[tuple[object, ...]]:
    """The letters of the problem that tables of the paper have too."""
    problem = design.problem
    [votes] = problem.groups
    return [
        (var("K"), problem.K, "voters"),
        (var("epsilon"), sections.given(votes.epsilon), "epsilon of one vote, in nats"),
        (var("Delta"), sections.given(votes.delta), "Delta, delta of one vote"),
        (
            var("m"),
            sections.limit(allowance(problem)),
            "privacy allowance of one label, in multiples of epsilon",
        ),
        (
            join([var("m"), var("epsilon")]),
            sections.limit(problem.release_epsilon),
            "epsilon guaranteed for one label, in nats",
        ),
    ]


def goals(design: Design) -> list[tuple[object, ...]]:
    """The objective, its prior, and the shape."""
    what = "error that was minimised" if math.isfinite(design.gap) else "error that is measured: this gamma was given"
    if str(design.objective) == "custom":
        what = "terms of the user's own; the errors below are not what was minimised"
    return [
        ("prior", element("span", _short(str(design.prior)), class_="any"), "prior of the votes, for the errors alone"),
        ("objective", design.objective, what),
        ("shape", design.shape, "free, or monotone: a larger majority never has more noise"),
    ]


def assumed(design: Design) -> Markup:
    """Nothing: the prior stands in the table of the problem."""
    return join([])


def _short(prior: str) -> str:
    return prior if len(prior) <= 90 else f"{prior[:80]}... ({prior.count(',') + 1} values)"


def decision(design: Design) -> dict[str, object]:
    """Its picture, its table, and notes on its shape."""
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
    rows += [(f"{K - l} : {l}", sections.chance(gamma), f"{(1 + gamma) / 2:.6f}") for l, gamma in gammas]
    heads = ("minority : majority", "gamma", "Pr[label is the majority]")
    return {
        "decision_picture": picture(ax, alternative, "The noise function over the number of votes for 1."),
        "decision_table": folded("The noise function", heads, rows),
        "reversals": _notes(design),
    }


def _notes(design: Design) -> Markup:
    """Why gamma may fall where the vote is clearer, and why it may be nearly 1."""
    notes = []
    if design.shape == "free":
        before, after = wording.NOT_RISING
        notes.append(paragraph(before, element("code", "--shape monotone"), after))
    near = min((float(g) for g in design.gamma if 1 - _SAME < g < 1), default=None)
    if near is not None:
        less = shown(1 - near, 2, up=True)
        rounded = f"A value shown as 1 may be slightly below 1, by at most {less}: it is rounded conservatively."
        notes.append(paragraph(rounded, class_="note"))
    return join(notes)


def cost(design: Design) -> dict[str, object]:
    """The two errors."""
    error, disagreement = figure(design.error), figure(design.disagreement)
    return {
        **_minimised(design),
        "meaning": join(
            [
                "There are two errors. The ",
                element("em", "expected TV error"),
                " is the total variation distance between the label and the plain majority, on average over the prior: "
                f"{error}. The ",
                element("em", "disagreement rate"),
                " is the probability that the label differs from the majority of the votes that were cast: "
                f"{disagreement}.",
            ]
        ),
    }


def _minimised(design: Design) -> dict[str, object]:
    """What the design has the least of, in words, and how much; of terms of the user's own the disagreement."""
    if math.isnan(design.expected_cost):
        return {"measure": "disagreement rate", "cost": figure(design.disagreement)}
    prior, said = str(design.prior), sections.minimised(design)
    return {"measure": said.replace(prior, _short(prior)), "cost": figure(design.expected_cost)}


def optimal(design: Design, gap: str | None) -> str:
    """How far from the least of all noise functions it is."""
    prior = _short(str(design.prior))
    if gap is None:
        return (
            f"No gap is certified: another noise function with this guarantee may have a smaller {_figure(design)}. "
            f"The prior is {prior}."
        )
    return (
        f"This design is at most {gap} above the optimum for objective {design.objective} and shape {design.shape}"
        f"{' and profile' * bool(design.profile)}, under the prior {prior}.{wording.of_bits(design)}"
    )


def _figure(design: Design) -> str:
    """The name of what the objective minimises."""
    names = {"tv": "expected TV error", "disagreement": "disagreement rate"}
    return names.get(str(design.objective), "value of the user's own terms")


def comparison(design: Design) -> Markup:
    """The errors of other mechanisms, with their noise functions; `InputError` or `SolverError` if there is none."""
    entries = _entries(design)
    figures = [(entry.error, entry.disagreement) for entry in entries]
    heads = ("mechanism", "expected TV error", "disagreement rate")
    axes = new_figure((NARROW[0], 7.2)).subplots(2, 1)
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
                "Noise functions, and the errors in the same colours, grey without a curve. Mechanisms marked “not "
                "verified” are not certified for the guarantee: they have no curves, and their errors are shown for "
                "scale.",
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


def certificate(design: Design) -> Markup:
    """The section on the certificate."""
    with decimals(guarantee(design.problem).epsilon):  # e^(m epsilon) can be beyond the caller's context
        return template(sections.PACKAGE, "certificate_gamma.html", _worst_case(design, work_out(design)))


def _worst_case(design: Design, worst: WorstMultiset) -> dict[str, object]:
    [votes] = design.problem.groups
    many = count_multisets(votes.count, len(corner_points(votes.epsilon, votes.delta).p), votes.max_affected)
    corners = [(name, f"{count:,}", p_vote.one, q_vote.one) for name, count, p_vote, q_vote in worst.corners]
    rows = list(zip(worst.p_side, worst.q_side, worst.release, strict=True))
    lines = [(l, a, b, r, a * r, b * r) for l, (a, b, r) in enumerate(rows)]
    x, y = worst.probabilities
    # By the larger of a row's shares in X(p) and in X(p'), times both; by its probability where 1 is never released.
    weights = [(max(a * y, b * x) * r, max(a, b)) for a, b, r in rows]
    p, other = var("p"), var("p\N{PRIME}")
    chance = join(["Pr[", var("L"), " = ", var("l"), "]"])
    chances = [join([chance, ", ", side]) for side in (p, other)]
    products = [join([var("r"), f" {TIMES} {which}"]) for which in ("first", "second")]
    heads = (var("l"), *chances, var("r"), *products)
    factor = join(["e", element("sup", join([var("m"), var("epsilon")]))])
    return {
        "multisets": f"{many:,}" if many < 10**9 else shown(many, 3),
        "corner_table": table("The worst case", ("corner point", "voters", p, other), corners),
        "line_table": folded("The worst case line by line", heads, lines, weights),
        "sum_table": sections.sums(worst, factor, (products[0], products[1]), design),
    }


def checked(design: Design) -> tuple[str, str, str]:
    """The numbers of the checksum: in a word, in Python, and their order."""
    over = f"gamma is over its entries for 0, ..., {design.problem.K} votes"
    return "gamma", "design.gamma.tolist()", over
