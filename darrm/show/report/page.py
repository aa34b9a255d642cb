"""What stands in the page: the template holds the text, this the numbers, tables and pictures in it."""

from __future__ import annotations

import hashlib
import math
import platform
import shlex
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from importlib.metadata import version
from typing import Any

from darrm.constraints.multisets import corner_points, count_multisets
from darrm.design.design import Design
from darrm.errors import InputError, SolverError
from darrm.measures.comparison import Entry, compare
from darrm.numerics.exact import decimals, rounded_up
from darrm.problem.limits import guarantee
from darrm.show import plots, wording
from darrm.show.figures import new_figure
from darrm.show.markup import (
    DIGITS,
    TIMES,
    Markup,
    details,
    element,
    join,
    paragraph,
    picture,
    shown,
    table,
    template,
    var,
)
from darrm.show.report.worst_case import WorstMultiset, work_out

QUERIES = (1, 10, 100, 1000, 10_000, 100_000)
_ROWS = 61  # up to which a table stands in the text; a longer one is folded away, and so many rows of it are shown:
_SAMPLE = 12
_SAME = 1e-9  # optima this close are one; so are a gamma and 1


def render(design: Design, name: str, stored: Mapping[str, Any] | None, delta: float, full: bool) -> str:
    """The whole page; see `darrm.show.report.html`."""
    problem = design.problem
    title = f"Private majority of {problem.K} vote{'s' * (problem.K > 1)}"
    total = guarantee(problem).epsilon
    with decimals(total):  # e^(m epsilon) can be beyond the caller's context
        certificate = _certificate(design, work_out(design))
    values = {
        "title": title,
        "page_title": f"{title}: one label is {_pair(problem.total_epsilon, problem.delta)}",
        **_guarantee(design),
        **_noise(design),
        **_errors(design, full),
        **_one_label(design, full),
        **_many_labels(design, delta, full),
        **certificate,
        **_check(design, name, stored),
    }
    return template("darrm.show.report", "page.html", values)


def _pair(epsilon: float, delta: float) -> str:
    return f"({shown(epsilon, 6)}, {shown(delta, 6)})-DP"


def _figure(value: float) -> str:
    return f"{value:.6f}" if abs(value) >= 1e-3 else shown(value, 4)


def _guarantee(design: Design) -> dict[str, object]:
    problem, total = design.problem, guarantee(design.problem).epsilon
    with decimals(total):
        factor = shown(total.exp(), 4, up=True)
    rows: list[tuple[object, ...]] = [
        (var("K"), problem.K, "voters"),
        (var("epsilon"), repr(problem.epsilon), "epsilon of one vote, in nats"),
        (var("Delta"), repr(problem.Delta), "Delta, failure probability of one vote"),
        (var("m"), repr(problem.m), "allowance of one label, in multiples of epsilon"),
        (join([var("m"), var("epsilon")]), shown(problem.total_epsilon), "epsilon guaranteed for one label, in nats"),
        (var("delta"), repr(problem.delta), "delta, failure probability of one label"),
        (var("t"), problem.max_affected, "max_affected: how many voters one change of the data can affect"),
        ("adjacency", element("span", problem.adjacency, class_="any"), "what one change of the data is"),
        ("prior", element("span", _short(str(design.prior)), class_="any"), "of the votes, for the errors alone"),
        ("objective", design.objective, "what was minimised"),
        ("shape", design.shape, "free, or monotone: clearer votes get no more noise"),
    ]
    rows += [
        ("profile", f"({shown(epsilon, 6)}, {shown(delta, 6)})", "one more limit that one label keeps, verified too")
        for epsilon, delta in design.profile
    ]
    return {
        "K": problem.K,
        "guarantee": _pair(problem.total_epsilon, problem.delta),
        "holds": "yes" if design.certificate.holds else "no",
        "each_vote": _pair(problem.epsilon, problem.Delta),
        "adjacency": problem.adjacency,
        "reach": "all of them" if problem.max_affected == problem.K else f"at most {problem.max_affected} of them",
        "factor": factor,
        "failure": f" plus {shown(problem.delta, 6, up=True)}" if problem.delta else "",
        "problem_table": table("The problem", ("symbol", "value", "meaning"), rows, words=(0, 1, 2)),
    }


def _short(prior: str) -> str:
    return prior if len(prior) <= 90 else f"{prior[:80]}... ({prior.count(',') + 1} values)"


def _noise(design: Design) -> dict[str, object]:
    problem, K = design.problem, design.problem.K
    ax = plots.plot_gamma(problem, {"gamma": design.gamma})
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
        "gamma_table": _folded("The noise function", heads, rows),
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
        hair = f"A value such as {near!r} is a hair below 1: rounding is counted on the unsafe side."
        notes.append(paragraph(hair, class_="note"))
    return join(notes)


def _folded(
    name: str,
    heads: Sequence[object],
    rows: Sequence[Sequence[object]],
    weights: Sequence[tuple[Decimal, Decimal]] | None = None,
) -> Markup:
    """A table, or some rows of a long one, those of most weight, and all of it folded away."""
    if len(rows) <= _ROWS:
        return table(name, heads, rows)
    if weights is None:
        picked = sorted({round(at * (len(rows) - 1) / (_SAMPLE - 1)) for at in range(_SAMPLE)})
    else:
        picked = sorted(sorted(range(len(rows)), key=weights.__getitem__)[-_SAMPLE:])
    few = table(f"{name}, some rows", heads, [rows[at] for at in picked])
    return join([few, details(f"All {len(rows):,} rows", table(f"{name}, all rows", heads, rows))])


def _errors(design: Design, full: bool) -> dict[str, object]:
    if math.isfinite(design.gap):
        optimal = (
            f"This design is at most {shown(design.gap, 2, up=True)} above the least possible {design.objective} of "
            f"its shape ({design.shape}), under the prior {_short(str(design.prior))}."
        )
    else:
        optimal = f"How close this is to the least possible is not known; the prior is {_short(str(design.prior))}."
    return {
        "error": _figure(design.error),
        "disagreement": _figure(design.disagreement),
        "optimal": optimal,
        "comparison": _comparison(design) if full else _left_out("The comparison with other mechanisms"),
    }


def _left_out(what: str) -> Markup:
    return element(
        "p",
        f"{what} is left out of this short report: with many voters it takes long. --full, or full=True, adds it.",
        class_="note",
    )


def _comparison(design: Design) -> Markup:
    try:
        entries = _entries(design)
    except (InputError, SolverError) as error:
        return paragraph("There is no comparison with other mechanisms. ", error)
    rows = [
        (
            entry.name,
            _figure(entry.error),
            _figure(entry.disagreement),
            shown(entry.certificate.tight_epsilon, 6),
            "yes" if entry.certificate.holds else "no",
        )
        for entry in entries
    ]
    heads = ("mechanism", "error", "disagreement", "tight epsilon", "guarantee")
    axes = new_figure((5.2, 6.2)).subplots(2, 1, height_ratios=[3, 2])
    left, _ = plots.plot_comparison(design.problem, entries, axes)
    left.set_title("")
    others = ", ".join(f"{entry.name} {_figure(entry.error)}" for entry in entries[1:])
    return join(
        [
            table("Errors beside other mechanisms", heads, rows),
            picture(
                left,
                "Noise functions of the mechanisms that satisfy the guarantee, and a bar for the error of each: "
                f"{entries[0].name} {_figure(design.error)}, {others}.",
                "Noise functions, and the errors in the same colours. What is marked “not verified” does not keep the "
                "guarantee: it has no curve, and its error is there for scale.",
            ),
        ]
    )


def _entries(design: Design) -> list[Entry]:
    """This design, then the others; gamma_opt or its monotone form is left out if this is it."""
    prior = design.prior
    objective = design.objective if prior.default_objective == "tv" and design.objective != "custom" else None
    others = compare(design.problem, prior, objective)
    same = [other.name for other in others[:2] if abs(other.gamma - design.gamma).max() <= _SAME]
    name = f"this design ({same[0]})" if same else "this design"
    mine = Entry(name, design.gamma, design.certificate, design.error, design.disagreement, design)
    return [mine, *(other for other in others if other.name not in same)]


def _one_label(design: Design, full: bool) -> dict[str, object]:
    problem, certificate = design.problem, design.certificate
    values: dict[str, object] = {
        "tight": shown(certificate.tight_epsilon, 6),
        "needed": shown(certificate.needed_delta, 6),
        "delta": shown(problem.delta, 6),
        "total_epsilon": shown(problem.total_epsilon, 6),
        "profile": _left_out("The privacy profile"),
    }
    if full:
        ax = plots.plot_profile(design)
        ax.set_title("")
        alternative = (
            f"Least delta over epsilon from 0 to {1.5 * problem.total_epsilon:.4g}: the certified profile falls and "
            f"passes the guarantee ({problem.total_epsilon:.4g}, {problem.delta:.4g}) at or below it."
        )
        caption = "The exact profile of one label, certified, beside all that its guarantee says."
        values["profile"] = picture(ax, alternative, caption)
    return values


def _many_labels(design: Design, delta: float, full: bool) -> dict[str, object]:
    from darrm.accounting.fixed import fixed_voters
    from darrm.accounting.theorems import at_least_once

    problem = design.problem
    totals = list(_fresh(design, delta, full))
    fresh = {queries: epsilon for queries, epsilon, _ in totals}
    fixed = fixed_voters(problem, delta)
    each = Fraction(problem.m) * Fraction(problem.epsilon)
    rows = []
    for queries, epsilon, rule in totals:
        paid = queries * Fraction(problem.delta) <= Fraction(delta)
        simple = rounded_up(queries * each) if paid else math.inf
        any_number = min(fixed, epsilon) if queries == 1 else fixed
        rows.append((f"{queries:,}", _total(epsilon), rule, _total(simple), _total(any_number)))
    heads = ("labels", "fresh voters", "proved by", "fresh, simple composition", "fixed voters, at most")
    ax = plots.plot_budget(design, fresh, delta=delta)
    ax.set_title("")
    costs = ", ".join(f"{queries:,} labels {_total(epsilon)}" for queries, epsilon in fresh.items())
    unavoidable = ""
    if problem.Delta:
        least = shown(at_least_once(problem.Delta, problem.max_affected), 4, up=True)
        unavoidable = f" Below a delta of {least} the fixed voters alone have no finite epsilon."
    rules = dict.fromkeys(rule for _, _, rule in totals if rule)
    how = "".join(f" {rule[0].upper()}{rule[1:]}: {wording.RULES[rule]}." for rule in rules)
    how += " From totals of about 690 on there are only coarser bounds." if full else " --full composes exactly."
    return {
        "total_delta": shown(delta, 6),
        "fixed_copies": f"{problem.max_affected} {TIMES} {_pair(problem.epsilon, problem.Delta)}",
        "budget_table": table("Total epsilon of many labels", heads, rows, words=(2,)),
        "how_fresh": how.strip(),
        "unavoidable": unavoidable,
        "budget_picture": picture(
            ax,
            f"Total epsilon over the number of labels. Fresh voters: {costs}. Fixed voters: {_total(fixed)} for any.",
            "What labels cost together. The bound for fixed voters does not depend on their number.",
        ),
    }


def _total(epsilon: float) -> str:
    return "none" if math.isinf(epsilon) else shown(epsilon, 6, up=True)


def _fresh(design: Design, delta: float, exact: bool) -> Iterator[tuple[int, float, str]]:
    """Total epsilon of fresh voters and the rule that proves it; infinite where delta pays for none.

    Exact composition, or optimal composition of (m epsilon, delta) alone: an upper bound without any separation.
    """
    from darrm.accounting.fresh import exact_guarantee, of_region
    from darrm.accounting.profile import region
    from darrm.accounting.theorems import optimal

    problem = design.problem
    epsilon = rounded_up(problem.exact_epsilon)
    # Once, where `compose` would need it for every number of labels.
    label = region(design.gamma, problem) if exact else None
    for queries in QUERIES:
        try:
            if label is None:
                yield queries, optimal(epsilon, problem.delta, queries, delta).epsilon, "optimal composition"
            else:
                total = of_region(label, problem.affected, queries, delta, guaranteed=exact_guarantee(problem))
                yield queries, total.upper, min(total.bounds, key=total.bounds.__getitem__)
        except InputError:  # below what is unavoidable
            yield queries, math.inf, ""


def _certificate(design: Design, worst: WorstMultiset) -> dict[str, object]:
    problem, certificate = design.problem, design.certificate
    many = count_multisets(problem.K, len(corner_points(problem.epsilon, problem.Delta).p), problem.max_affected)
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
    on, off = join([var("X"), "(", p, ")"]), join([var("X"), "(", other, ")"])
    factor = join(["e", element("sup", join([var("m"), var("epsilon")]))])
    sums = [
        (join([on, ", sum of ", products[0]]), shown(x)),
        (join([off, ", sum of ", products[1]]), shown(y)),
        (factor, shown(worst.factor)),
        (join([factor, " ", off]), shown(worst.factor * y)),
        (join([on, " - ", factor, " ", off]), _excess(worst)),
        ("proved for every case, rounding included: at most", shown(certificate.needed_delta, up=True)),
        (join(["allowed: ", var("delta")]), shown(problem.delta)),
    ]
    return {
        "multisets": f"{many:,}" if many < 10**9 else shown(many, 3),
        "corner_table": table("The worst case", ("corner", "voters", p, other), corners),
        "line_table": _folded("The worst case line by line", heads, lines, weights),
        "sum_table": table("Sums of the worst case", ("", "value"), sums),
    }


def _excess(worst: WorstMultiset) -> str:
    """The excess to the digits that its terms are shown with; what is beyond, nobody can recompute from them."""
    if abs(worst.excess) < max(worst.probabilities).scaleb(-DIGITS):
        return f"0 to {DIGITS} digits ({shown(worst.excess, 2)})"
    return shown(worst.excess)


def gamma_digest(design: Design) -> str:
    """SHA-256 of gamma: its entries as exact hex floats, one in a line."""
    return hashlib.sha256("\n".join(value.hex() for value in design.gamma.tolist()).encode()).hexdigest()


def _check(design: Design, name: str, stored: Mapping[str, Any] | None) -> dict[str, object]:
    packages = ("darrm", "highspy", "numpy", "scipy", "matplotlib")
    here = {"python": platform.python_version(), **{package: version(package) for package in packages}}
    made = {} if stored is None else stored["made_with"]
    rows = [(package, made.get(package, "not stored"), number) for package, number in here.items()]
    digests: list[tuple[object, ...]] = [("gamma", element("code", gamma_digest(design), class_="any"))]
    if stored is not None:
        digests.append((f"design file {name}", element("code", stored["sha256"], class_="any")))
    return {
        "command": f"darrm verify {shlex.quote(name)}",
        "code": (
            "import darrm, hashlib\n"
            f"design = darrm.load({name!r})  # refused if it was changed or does not hold\n"
            "print(design.certificate.holds, design.certificate.needed_delta, design.problem.delta)\n"
            'print(hashlib.sha256("\\n".join(map(float.hex, design.gamma.tolist())).encode()).hexdigest())'
        ),
        "digest_table": table("Checksums", ("SHA-256 of", "value"), digests, words=(0, 1)),
        "version_table": table("Versions", ("version of", "design file", "this report"), rows),
    }
