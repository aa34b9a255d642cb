"""The common parts of the pages: the frame, tables that fold, totals of labels, how to verify."""

from __future__ import annotations

import hashlib
import math
import platform
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from darrm.baselines.entries import Entry
from darrm.certificate.certificate import beyond_profile
from darrm.design.design import Design
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.numerics.exact import rounded_up
from darrm.numerics.printed import at_least, at_most
from darrm.problem.class_corners import entries
from darrm.problem.class_tables import is_symmetric
from darrm.problem.groups import OF_ANY_OTHERS, ByGroups, called, rests_on, without_privacy
from darrm.show import plots, wording
from darrm.show.figures import NARROW, new_figure, tables_of
from darrm.show.markup import (
    DIGITS,
    SHORT,
    TIMES,
    Markup,
    details,
    element,
    join,
    number,
    paragraph,
    picture,
    shown,
    table,
    template,
    var,
)
from darrm.show.report.worst_case import WorstCounts

if TYPE_CHECKING:
    from darrm.accounting.releases import OneLabel

QUERIES = (1, 10, 100, 1000, 100_000)
_COARSELY = 1000  # queries, from which on the coarsest grid is as good as others, and a lower bound takes long
_ROWS = 61  # up to which a table stands in the text; a longer one is folded away, and so many rows of it are shown:
_SAMPLE = 12
_MOST_ENTRIES = 4000  # probabilities of cases, up to which labels of several answers are composed exactly
_MOST_LABELS = 1000  # beyond, what is proved for them from the guarantee alone stands there
PACKAGE = "darrm.show.report"
_ONE_OF_FIXED = (
    " One label of fixed voters can cost less than the voters do, but do not add the cost of a second label to it."
)
_NON_PRIVATE = paragraph(
    "All voters are non-private: only the output noise hides their records, and it is new for each label. So the total "
    "is the same whether the voters are fresh or fixed. Labels compose, also if each query is chosen after seeing "
    "earlier labels, and the total grows with the number of labels."
)
_NOTHING = 1e-12  # a probability below is rounding
_ROUNDING = 1 + Fraction(1, 10**40)  # more than that of a least delta


def page(title: str, body: str, values: Mapping[str, object]) -> Markup:
    """The whole page around the template ``body``."""
    return template(PACKAGE, "page.html", {"title": title, "body": template(PACKAGE, body, values)})


def assumed(problem: ByGroups) -> dict[str, str]:
    """What the guarantee rests on, in the words of the page; where no voter is private, on output noise alone."""
    among = "the voters are as private as stated and independent given the data, no more of them are affected than "
    among += "stated, and these votes are released once."
    depends, independent = "depends on whether the voters are fresh or fixed", "The votes are independent"
    if without_privacy(problem.groups):
        among = "no more voters are affected than stated, and every label has new output noise. Votes may depend on "
        among += "each other."
        depends, independent = "is the same for fresh and for fixed voters", "Independent votes are the worst case"
    return {
        "among": among,
        "depends": f"The total of several labels {depends}:",
        "such": wording.such_voters(problem),
        "independent": independent,
    }


def figure(value: float) -> str:
    """An error or a cost."""
    return f"{value:.6f}" if abs(value) >= 1e-3 else shown(value, 4)


def given(value: float) -> Markup:
    """What a vote is assumed to be: all who are more private are so too, so digits that are cut make it less."""
    short = shown(value, SHORT)
    return number(value, short if float(short) == value else at_most(value, SHORT))


def limit(value: float) -> Markup:
    """What a label is guaranteed: digits that are cut make it more."""
    return number(value, at_least(value, SHORT))


def private(epsilon: float, delta: float) -> Markup:
    """How private a vote is assumed to be."""
    return join(["(", given(epsilon), ", ", given(delta), ")-DP"])


def chance(value: float) -> Markup:
    """A probability that is released by; one that is rounding is said to be so."""
    return number(value, f"< {_NOTHING:g}" if 0 < value < _NOTHING else None)


def minimised(design: Design) -> str:
    """What the expected cost counts, in words, and that no design has less where that is proved."""
    least = "minimised" if math.isfinite(design.gap) else "expected cost"
    return f"{least}: {design.objective.cost_in_words}"


def beside(
    name: str,
    heads: Sequence[str],
    entries: Iterable[Entry],
    figures: Sequence[Sequence[float]],
    design: Design,
) -> Markup:
    """Mechanisms for one problem: their figures, and whether each is verified, also for the profile of the design."""
    rows: list[Sequence[object]] = []
    for entry, own in zip(entries, figures, strict=True):
        kept = [entry.within]
        if design.profile:
            kept.append(not beyond_profile(entry.table, design.problem, design.profile))
        cells = (figure(value) if value else f"{value:.6f}" for value in own)  # 0 looks like the others of its column
        rows.append((entry.called, *cells, wording.tight(entry.tight_epsilon), *("yes" if it else "no" for it in kept)))
    last = ("tight epsilon", "private enough", *["for the profile too"] * bool(design.profile))
    found = table(name, (*heads, *last), rows)
    if not design.profile:
        return found
    note = (
        "This design also satisfies a profile: further guarantees of one label, on which the total of many labels "
        "rests. A mechanism without “yes” for both can have a larger total for many labels than this design."
    )
    return join([found, paragraph(note, class_="note")])


def folded(
    name: str,
    heads: Sequence[object],
    rows: Sequence[Sequence[object]],
    weights: Sequence[tuple[Decimal, Decimal]] | None = None,
    words: Sequence[int] = (0,),
) -> Markup:
    """A table, or some rows of a long one, those of most weight, and all of it folded away."""
    if len(rows) <= _ROWS:
        return table(name, heads, rows, words)
    if weights is None:
        picked = sorted({round(at * (len(rows) - 1) / (_SAMPLE - 1)) for at in range(_SAMPLE)})
    else:
        picked = sorted(sorted(range(len(rows)), key=weights.__getitem__)[-_SAMPLE:])
    few = table(f"{name}, some rows", heads, [rows[at] for at in picked], words)
    return join([few, details(f"All {len(rows):,} rows", table(f"{name}, all rows", heads, rows, words))])


def left_out(what: str) -> Markup:
    """The note of a short report in its place."""
    missing = f"{what} is left out of this short report, because it can take long."
    return paragraph(missing, " The option --full, or full=True, adds it.", class_="note")


def one_label(design: Design, full: bool) -> dict[str, object]:
    """The privacy of one label: at the guarantee, and the whole profile."""
    problem, certificates = design.problem, [part.certificate for part in tables_of(design)]
    values: dict[str, object] = {
        "tight": at_least(max(certificate.tight_epsilon for certificate in certificates)),
        "needed": at_least(max(certificate.needed_delta for certificate in certificates)),
        "delta": at_least(problem.delta),
        "total_epsilon": at_least(problem.release_epsilon),
        "profile": left_out("The privacy profile"),
    }
    if full:
        ax = plots.plot_profile(design, new_figure(NARROW).add_subplot())
        ax.set_title("")
        alternative = (
            f"Smallest delta over epsilon from 0 to {1.5 * problem.release_epsilon:.4g}: the certified profile "
            f"decreases, and lies at or below the point of the guarantee, {wording.guarantee(problem)}."
        )
        caption = "The exact, certified profile of one label, and the profile that its guarantee alone implies."
        values["profile"] = picture(ax, alternative, caption)
    return values


def many_labels(design: Design, delta: float, full: bool, also: int | None) -> Markup:
    """The section on the total of many labels, of fresh and of fixed voters; ``full`` composes exactly.

    ``also`` is one more number of labels.
    """
    from darrm.accounting.fixed import fixed_voters
    from darrm.accounting.releases import one_label

    problem, numbers = design.problem, sorted({*QUERIES} | ({also} if also else set()))
    # A plan for voters of one kind has no total of the other. What voters without privacy cost is no other if they are
    # fixed; voters of a known randomizer are fresh.
    alone = without_privacy(problem.groups)
    bare = alone or problem.known or design.planned_for == "fresh"
    of_fresh = bare or design.planned_for != "fixed"
    label = one_label(design)
    totals = list(_fresh(label, delta, full, numbers)) if of_fresh else [(n, math.inf, "") for n in numbers]
    others = [epsilon for _, epsilon, _ in _fresh(label.of_any_voters(), delta, full, numbers)] if problem.known else []
    fresh = {queries: epsilon for queries, epsilon, _ in totals}
    fixed = fixed_voters(problem, delta)
    rows = []
    for at, (queries, epsilon, rule) in enumerate(totals):
        paid = queries * Fraction(problem.delta) <= Fraction(delta)
        simple = rounded_up(queries * problem.exact_epsilon) if paid else math.inf
        of_label = [_total(epsilon), rule and wording.rule(rule), _total(simple)] if of_fresh else []
        rows.append([f"{queries:,}", *of_label])
        if others:
            rows[-1].append(_total(others[at]) if math.isfinite(others[at]) else "not computed")
        if not bare:
            of_fixed = min(fixed, epsilon) if queries == 1 else fixed
            told = _total(of_fixed)
            if math.isinf(of_fixed):
                told = _total(_of_fixed(design, queries, delta)) if full and queries <= _MOST_LABELS else "not computed"
            rows[-1].append(told)
    who = f"{called(problem, 'fresh')} voters"
    heads = ["labels", *[f"epsilon, {who}", "certified by", f"epsilon, {who}, simple composition"] * of_fresh]
    heads += ["epsilon, others any mechanism"] * problem.known
    heads += [] if bare else ["epsilon, fixed voters"]
    ax = plots.plot_budget(design, fresh, delta=delta, label=who, ax=new_figure(NARROW).add_subplot())
    ax.set_title("")
    costs = ", ".join(f"{queries:,} labels {_total(epsilon)}" for queries, epsilon in fresh.items())
    unavoidable = ""
    if not alone and any(math.isinf(group.epsilon) for group in problem.groups):
        unavoidable = " Non-private fixed voters have no finite epsilon of their own."
    elif fails(problem):
        least = shown(fails(problem), 4, up=True)
        unavoidable = f" Below a delta of {least} the fixed voters alone have no finite epsilon."
    rules = dict.fromkeys(rule for _, _, rule in totals if rule)
    how = "".join(f" {name[0].upper()}{name[1:]}: {meant}." for name, meant in (wording.RULES[rule] for rule in rules))
    if full and of_fresh:
        how += " Totals above about 690 have only coarser bounds."
    elif of_fresh and composable(design):
        how += " The option --full composes exactly."
    values = {
        "total_delta": shown(delta, 6),
        "voters": _NON_PRIVATE if alone else template(PACKAGE, "fresh_or_fixed.html", {"fixed": _fixed(design)}),
        "trap": "" if alone else template(PACKAGE, "trap.html", {}),
        "budget_table": table("Total epsilon of many labels", heads, rows, words=(2,) if of_fresh else ()),
        "how_fresh": how.strip(),
        "one_of_fixed": "" if bare else _ONE_OF_FIXED,
        "unavoidable": unavoidable,
        "budget_picture": "",
    }
    if of_fresh:
        values["budget_picture"] = picture(
            ax,
            f"Total epsilon over the number of labels. {who.capitalize()}: {costs}."
            + f" Fixed voters: {_total(fixed)} for any number." * (math.isfinite(fixed) and not bare),
            "Total epsilon of all labels together. " + _any_number(fixed, problem) * (not bare),
        )
    return template(PACKAGE, "many_labels.html", values)


def _of_fixed(design: Design, queries: int, delta: float) -> float:
    """The total of so many labels of fixed voters, with output noise counted; infinite if nothing is certified."""
    from darrm.accounting.composition import compose

    try:
        return compose(design, queries, delta=delta, voters="fixed").upper
    except InputError:
        return math.inf


def _any_number(fixed: float, problem: ByGroups) -> str:
    """The line of fixed voters, in words."""
    if math.isfinite(fixed):
        return "The bound for fixed voters does not depend on the number of labels."
    if without_privacy(problem.groups):
        return "No finite bound for every number of labels is certified."
    return (
        "No finite bound for every number of labels of fixed voters is certified; darrm budget looks for a bound for a "
        "given number of labels."
    )


def composable(design: Design) -> bool:
    """Whether the exact composition of its labels is computed: of one table, of several answers if cases are few."""
    if design.absent or design.problem.binary:
        return not design.absent
    return entries(design.problem, alike=is_symmetric(design.table, design.problem)) <= _MOST_ENTRIES


def fails(problem: ByGroups) -> float:
    """The probability that one of the affected voters fails, at most."""
    from darrm.accounting.voters import reached

    return reached(problem).failure


def _fixed(design: Design) -> str:
    """The bound on all labels of fixed voters together, in words."""
    problem = design.problem
    if problem.known:
        return (
            "This design is not for them, because voters of a known randomizer are fresh. Its totals count on the "
            f"randomness of other voters too: they hold if {rests_on(problem)} Those of the last column hold if "
            f"{OF_ANY_OTHERS}. If you do not know which of the two holds, claim the last column alone."
        )
    if design.planned_for == "fresh":
        return "This design is not for them: it was planned for fresh voters."
    reached = [kind for kind in problem.affected if kind.voters]
    if any(math.isinf(kind.epsilon) for kind in reached):
        return (
            "Affected voters may be non-private. Their answers have no finite epsilon of their own: only the output "
            "noise hides them, and the total grows with the number of labels."
        )
    # The least private voters need not be those that fail most often: `darrm.accounting.voters.reached` counts both.
    stay = math.prod((1 - Fraction(kind.Delta)) ** kind.voters for kind in reached)
    failing = Fraction(problem.exact_least_delta) > (1 - stay) * _ROUNDING
    copies = wording.listed(
        f"{kind.voters} {TIMES} {wording.pair(kind.epsilon, 0.0 if failing else kind.Delta)}-DP" for kind in reached
    )
    failure = f", and a failure event of probability {shown(fails(problem), 4, up=True)}" * failing
    return (
        "This design was planned for them, and is not for fresh voters. "
        * (design.planned_for == "fixed")
        + "For any queries, and any number of labels, all labels together cost at most the optimal composition of the "
        f"affected voters: {copies}{failure}. For a given number of labels darrm budget counts the output noise too, "
        "and can give a smaller total."
    )


def _total(epsilon: float) -> str:
    return "infinite" if math.isinf(epsilon) else shown(epsilon, 6, up=True)


def _fresh(of_one: OneLabel, delta: float, exact: bool, numbers: Sequence[int]) -> Iterator[tuple[int, float, str]]:
    """Total epsilon of fresh voters and the rule that certifies it; infinite where delta covers none.

    Exact composition, or optimal composition of the guarantee alone: an upper bound without any separation, and for
    all tables of absent voters.
    """
    from darrm.accounting.fresh import least_of_region, of_region
    from darrm.accounting.many_answers import of_rows
    from darrm.accounting.profile import region
    from darrm.accounting.rows import OutcomeRows
    from darrm.accounting.theorems import optimal

    problem, guaranteed = of_one.problem, of_one.guarantee
    # Once, where `compose` would need it for every number of labels.
    label = region(of_one.table, problem) if exact and problem.binary else None
    rows = of_one.gives() if exact and not problem.binary else None
    for queries in numbers:
        try:
            if isinstance(rows, OutcomeRows) and queries <= _MOST_LABELS:
                total = of_rows(rows, queries, delta, guaranteed=guaranteed, affected=problem.affected)
                yield queries, total.upper, min(total.bounds, key=total.bounds.__getitem__)
            elif label is None and guaranteed is None:
                yield queries, math.inf, ""
            elif label is None:
                epsilon = rounded_up(problem.exact_epsilon)
                yield queries, optimal(epsilon, problem.delta, queries, delta).epsilon, "optimal composition"
            elif queries >= _COARSELY:
                least, rule = least_of_region(label, problem.affected, queries, delta, guaranteed)
                yield queries, least, rule if math.isfinite(least) else ""
            else:
                total = of_region(label, problem.affected, queries, delta, guaranteed=guaranteed)
                yield queries, total.upper, min(total.bounds, key=total.bounds.__getitem__)
        except InputError:  # below what is unavoidable
            yield queries, math.inf, ""


def sums(worst: WorstCounts, factor: Markup, sides: tuple[Markup, Markup], design: Design) -> Markup:
    """The sums that make the excess of a worst case; ``sides`` name the terms of its two probabilities."""
    x, y = worst.probabilities
    on, off = (join([var("X"), "(", side, ")"]) for side in (var("p"), var("p\N{PRIME}")))
    rows = [
        (join([on, ", sum of ", sides[0]]), x),
        (join([off, ", sum of ", sides[1]]), y),
        (factor, worst.factor),
        (join([factor, " ", off]), worst.factor * y),
        (join([on, " - ", factor, " ", off]), _excess(worst)),
        *(
            (name, number(delta, shown(delta, SHORT, up=True)))
            for name, delta in (
                ("certified for every case, rounding included: at most", design.certificate.needed_delta),
                (join(["allowed: ", var("delta")]), design.problem.delta),
            )
        ),
    ]
    return table("Sums of the worst case", ("", "value"), rows)


def _excess(worst: WorstCounts) -> str | Decimal:
    """The excess to the digits that its terms are shown with; what is beyond, nobody can recompute from them."""
    if abs(worst.excess) < max(worst.probabilities).scaleb(-DIGITS):
        return f"0 to {DIGITS} digits ({shown(worst.excess, 2)})"
    return worst.excess


def digest(*tables: Array) -> str:
    """SHA-256 of tables of numbers: their entries as exact hex floats, one in a line, the last axis fastest."""
    values = (value.hex() for entries in tables for value in entries.ravel().tolist())
    return hashlib.sha256("\n".join(values).encode()).hexdigest()


def check(design: Design, name: str, stored: Mapping[str, Any] | None, what: str, entries: str, note: str) -> Markup:
    """The section on how to check the page.

    Parameters
    ----------
    design : Design
    name : str
        Of the design file.
    stored : mapping or None
        Checksum and versions in it.
    what : str
        What the checksum is over.
    entries : str
        Python for the list of its numbers.
    note : str
        In which order they are.
    """
    packages = ("darrm", "highspy", "numpy", "scipy", "matplotlib")
    here = {"python": platform.python_version(), **{package: version(package) for package in packages}}
    made = {} if stored is None else stored["made_with"]
    rows = [(package, made.get(package, "not stored"), number) for package, number in here.items()]
    tables = [part.table for part in tables_of(design)]
    digests: list[tuple[object, ...]] = [(what, element("code", digest(*tables), class_="any"))]
    if stored is not None:
        digests.append((f"design file {name}", element("code", stored["sha256"], class_="any")))
    values = {
        "command": f"darrm verify {shlex.quote(name)}",
        "what": what,
        "note": note,
        "code": (
            "import darrm, hashlib\n"
            f"design = darrm.load({name!r})  # refused if it was changed or does not hold\n"
            "print(design.certificate.holds, design.certificate.needed_delta, design.problem.delta)\n"
            f"numbers = {entries}\n"
            'print(hashlib.sha256("\\n".join(map(float.hex, numbers)).encode()).hexdigest())'
        ),
        "digest_table": table("Checksums", ("SHA-256 of", "value"), digests, words=(0, 1)),
        "version_table": table("Versions", ("version of", "design file", "this report"), rows),
    }
    return template(PACKAGE, "check.html", values)
