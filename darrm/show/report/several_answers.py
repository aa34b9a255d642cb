"""What the page of a decision says where it has several answers: the table, its reversals and the certificate."""

from __future__ import annotations

from decimal import Decimal

from darrm.design.design import Design
from darrm.numerics.exact import decimals
from darrm.problem.class_corners import bits, entries
from darrm.problem.class_tables import is_symmetric
from darrm.problem.counts import count_vectors
from darrm.problem.decision import DecisionProblem
from darrm.problem.limits import guarantee
from darrm.show import classes
from darrm.show.markup import Markup, element, join, number, paragraph, picture, shown, table, template, var
from darrm.show.plots_classes import caption
from darrm.show.plots_decision import described, not_drawn, plot_decision
from darrm.show.report import sections
from darrm.show.report.answers import NO_REVERSALS, answer, failures, forbids, largest, of_all
from darrm.show.report.sections import folded
from darrm.show.report.worst_classes import WorstClasses, says, set_chances, work_out_classes
from darrm.show.wording import listed

_NAMED = 12  # classes in a sentence


def words(design: Design) -> dict[str, object]:
    """What voters say and what is released, in sentences."""
    problem = design.problem
    of_each = " of each group" * (len(problem.groups) > 1)
    names = "" if problem.n_classes > _NAMED else f": {listed(answer(design, c) for c in range(problem.n_classes))}"
    none = ", or none" * problem.none
    return {
        **of_all(design),
        "says": (
            f"names one of {problem.n_classes} classes{names}. One label is released: one of the classes{none}, each "
            f"with a probability that depends on how many voters{of_each} name each class."
        ),
        "any_label": "a label, or of any set of labels together,",
        "by_votes": paragraph(classes.meaning(design)),
    }


def decision(design: Design) -> dict[str, object]:
    """Its picture, its table and its reversals."""
    shown_rows = classes.telling(design)
    often = shown_rows.often
    rows = [
        (
            classes.votes_text(votes),
            *map(sections.chance, chances.tolist()),
            *(() if often is None else (shown(often[at], 4),)),
        )
        for at, (votes, chances) in enumerate(zip(shown_rows.votes.tolist(), shown_rows.chances, strict=True))
    ]
    heads = [element("span", head, class_="any") for head in classes.answer_heads(design)]
    drawn: Markup = paragraph("A picture of several classes shows one group only.", class_="note")
    if not not_drawn(design.problem):
        drawn = picture(plot_decision(design, title=False), described(design, ""), caption(design))
    some = classes.selected(shown_rows)
    note = paragraph(f"{some} The design file has all of them.", class_="note") if some else ""
    return {
        "decision_picture": drawn,
        "decision_table": join(
            [table("The decision", ("votes", *heads, *["Pr[votes]"] * (often is not None)), rows), note]
        ),
        "reversals": _reversals(design),
    }


def _reversals(design: Design) -> Markup:
    if not design.reversals:
        return paragraph(NO_REVERSALS, class_="note")
    gives_up = ". This lowers the expected cost elsewhere. "
    return paragraph(classes.reversals(design), gives_up, forbids(design), class_="note")


def certificate(design: Design) -> Markup:
    """The section on the certificate."""
    problem, worst = design.problem, work_out_classes(design)
    epsilon, alike = guarantee(problem).epsilon, is_symmetric(design.table, problem)
    fails = bits(problem, alike=alike)[1]
    many, p, other = entries(problem, alike=alike, pure=bool(fails)), var("p"), var("p\N{PRIME}")
    terms = [join(["all products for ", side]) for side in (p, other)]
    with decimals(epsilon):
        places = [
            (
                f"group {place.group}",
                _names(design, place.says),
                place.voters,
                *_sides(place, problem, pure=bool(fails)),
            )
            for place in worst.places
        ]
        values = {
            **sections.assumed(problem),
            "largest": largest(
                problem,
                join(
                    [
                        "The left side is largest where every voter that is not affected surely says one class, and "
                        "every other is a private bit. A bit has two outcomes, or four if ",
                        var("Delta"),
                        " is above 0, and says one class for each. So only the number of voters of each group at each "
                        f"choice of classes matters. These are {f'{many:,}' if many < 10**9 else shown(many, 3)} "
                        f"probabilities to check{', up to the names of classes' * alike}.",
                    ]
                ),
            ),
            "no_other": "No other case is closer to the limit" + " while all voters are present" * design.absent,
            "failures": failures(fails),
            "worst_label": classes.answers_of([answer(design, o) for o in range(problem.n_answers)], worst.answers),
            "corner_table": table(
                "The worst case by group", ("", "says", "voters", p, other), places, words=(0, 1, 3, 4)
            ),
            "count_table": _counts(design, worst),
            "sum_table": sections.sums(
                worst, join(["e", element("sup", var("epsilon"))]), (terms[0], terms[1]), design
            ),
        }
        return template(sections.PACKAGE, "certificate_classes.html", values)


def _names(design: Design, says_: tuple[int, ...]) -> Markup:
    names = [answer(design, c) for c in says_]
    return element("span", "surely " * (len(names) == 1) + ", ".join(names), class_="any")


def _sides(place: classes.Place, problem: DecisionProblem, *, pure: bool) -> list[Markup]:
    """The probabilities of what a voter at a place says, for p and for p'; of a class that stands twice in all."""
    group = problem.groups[place.group - 1]
    sides = (says(place, group, side, problem.n_classes, pure=pure) for side in (0, 1))
    named = ([(f"{problem.names[c]}: ", number(chance)) for c, chance in side.items()] for side in sides)
    return [join(part for at, one in enumerate(side) for part in (", " * (at > 0), *one)) for side in named]


def _counts(design: Design, worst: WorstClasses) -> Markup:
    """How likely the votes of each group are in the worst case; of one group beside the probability of the label."""
    if not worst.p_side:
        return paragraph(
            "There are too many vectors of votes to list. The two probabilities below are those of the certificate, "
            "with about 15 digits.",
            class_="note",
        )
    problem, p, other = design.problem, var("p"), var("p\N{PRIME}")
    one = len(problem.groups) == 1
    release = dict(zip(_every(problem), set_chances(design, worst.answers), strict=True)) if one else {}
    rows: list[tuple[object, ...]] = []
    weights: list[tuple[Decimal, Decimal]] = []
    for g, (on, off) in enumerate(zip(worst.p_side, worst.q_side, strict=True), 1):
        for votes in sorted({*on, *off}, reverse=True):
            a, b = on.get(votes, Decimal(0)), off.get(votes, Decimal(0))
            label = (release[votes],) if one else ()
            rows.append((f"group {g}", ":".join(map(str, votes)), a, b, *label))
            weights.append((max(a, b), a))
    chances = [join(["Pr[votes], ", side]) for side in (p, other)]
    heads = ("", "votes", *chances, *["Pr[label]"] * one)
    return folded("The votes in the worst case", heads, rows, weights, words=(0, 1))


def _every(problem: DecisionProblem) -> list[tuple[int, ...]]:
    return [tuple(votes) for votes in count_vectors(problem.K, problem.n_classes).tolist()]
