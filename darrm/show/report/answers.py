"""What pages of decisions say, whether they are between two answers or several."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from darrm.design.design import Design
from darrm.numerics.printed import counted
from darrm.objectives import OfVoters, Paper, Truth
from darrm.planning.comparison import beside
from darrm.problem.groups import ByGroups
from darrm.show import wording
from darrm.show.classes import maker
from darrm.show.markup import Markup, element, join, paragraph, shown, table, var
from darrm.show.report import sections
from darrm.show.report.sections import figure

NAMED = 8  # vectors of votes in a sentence
NO_REVERSALS = "The label that costs more is never the likelier one, at any counts."
OTHERS = "simpler decision rules"
_MOST_CLASSES = 8  # that have a column each for what is assumed
_FEWER = ", then those of fewer voters in the order of the file"
_ALL_TABLES = """[
    x for part in (design, *design.fewer.values()) for x in part.table.ravel().tolist()
]"""


def answer(design: Design, number: int) -> str:
    """The name of an answer, in quotation marks where it was given one."""
    problem = design.problem
    name = problem.answers[number]
    return name if isinstance(problem.classes, int) or number == problem.n_classes else f"“{name}”"


def forbids(design: Design) -> Markup:
    """How to get a design without reversals."""
    return join([element("code", f"darrm.{maker(design)}(..., ordered=True)"), " forbids it."])


def cell(design: Design, number: int, before: str = "") -> Markup:
    """The same for a table, where a long name may break anywhere."""
    return element("span", before + answer(design, number), class_="any")


def failures(fails: Decimal) -> Markup:
    """What the worst case leaves out where there are too many cases of voters with a delta."""
    if not fails:
        return join([])
    text = (
        " = 0, because the cases with a larger one are too many to check. The certified bound adds the deltas of the "
        f"affected voters, together at most {shown(fails, 4, up=True)} (Lemma D4), and may not be achieved."
    )
    return join(["This case has ", var("Delta"), text])


def largest(problem: ByGroups, others: Markup | str) -> Markup | str:
    """Where the excess is largest; ``others`` says it of voters of no known randomizer, for whom alone it is enough."""
    if not problem.known:
        return others
    return (
        "A voter of a known randomizer has the probabilities that the randomizer gives to its true answer, and a "
        "colluder says the same on both data sets. The left side is largest where each of these true answers and votes "
        "is sure, and each voter of no known randomizer is at one of finitely many cases that the privacy of its vote "
        "allows. So only the numbers of such voters in each group matter."
    )


def of_all(design: Design) -> dict[str, object]:
    """The words of the page that all decisions share."""
    problem = design.problem
    groups = len(problem.groups)
    return {
        "title": f"Private decision by {counted(problem.K, 'voter')}" + f" in {groups} groups" * (groups > 1),
        "lead": "A decision by groups of voters, its certified privacy, and its expected cost.",
        "what": "The decision",
        "costs": "The expected cost",
        "for_groups": ", for groups of voters",
        "theory": "Groups of voters: the theory",
    }


def symbols(design: Design) -> list[tuple[object, ...]]:
    """The letters of the problem."""
    problem = design.problem
    groups = len(problem.groups)
    return [
        (var("K"), problem.K, f"voters, in {counted(groups, 'group')}"),
        (
            var("epsilon"),
            sections.limit(problem.release_epsilon),
            "epsilon guaranteed for one label, in nats",
        ),
    ]


def goals(design: Design) -> list[tuple[object, ...]]:
    """The objective and the options of the design."""
    return [
        ("objective", str(design.objective), "rule that the label should follow"),
        (
            "ordered",
            "yes" if design.ordered else "no",
            "whether the label of least expected cost must be the likeliest",
        ),
        ("absent", "yes" if design.absent else "no", "whether voters may be absent"),
    ]


def assumed(design: Design) -> Markup:
    """The assumptions on votes and costs, on which only the expected cost rests."""
    problem, objective = design.problem, design.objective.of(design.problem)
    if isinstance(objective, Paper):
        prior = element("span", str(objective.prior), class_="any")
        mirrored = ", with votes and their mirror images equally likely. Only the expected cost rests on this."
        return paragraph("The prior of the votes is ", prior, mirrored, class_="note")
    if not isinstance(objective, OfVoters):
        return paragraph("The design file holds the cost of labels for every count.", class_="note")
    if problem.n_classes > _MOST_CLASSES:
        return paragraph("The design file holds the assumptions on the votes, and the costs of labels.", class_="note")
    tables: Any = objective.confusion
    rows: list[tuple[object, ...]] = [("prior", *map(float, objective.prior or ()))]
    said = range(1, 2) if problem.n_classes == 2 else range(problem.n_classes)
    for g, votes in enumerate(tables, 1):
        rows += [(cell(design, c, f"group {g} says "), *(float(vote[c]) for vote in votes)) for c in said]
    costs = objective.cost or () if isinstance(objective, Truth) else ()
    rows += [(cell(design, o, "cost of the label "), *map(float, cost)) for o, cost in enumerate(costs)]
    if not costs and objective.none is not None:
        none = float(objective.none)
        rows.append((cell(design, problem.n_classes, "cost of the label "), *[none] * problem.n_classes))
    truths = ["if the truth is ", *["if it is "] * (problem.n_classes - 1)]
    heads = ("probability, or cost", *(cell(design, c, before) for c, before in enumerate(truths)))
    note = "Only the expected cost rests on these assumptions, under the condition that is stated there."
    return join([paragraph(note, class_="note"), table("Assumptions on the votes", heads, rows)])


def cost(design: Design) -> dict[str, object]:
    """The expected cost."""
    expected = figure(design.expected_cost)
    return {
        "measure": sections.minimised(design),
        "cost": expected,
        "meaning": f"The expected cost is {expected}: {design.objective.cost_in_words}.",
    }


def optimal(design: Design, gap: str | None) -> str:
    """How far from the least of all decisions it is."""
    if gap is None:
        return (
            "No gap is certified: another decision with this guarantee may cost less. If darrm plan made this one for "
            "many labels, compare at their total instead: at equal guarantees of one label others can look better and "
            "cost more in total."
        )
    rival = "any ordered decision" if design.ordered else "any decision"
    return (
        f"That is at most {gap} above the cost of {rival} with this guarantee{' and profile' * bool(design.profile)}."
        f"{wording.of_bits(design)}"
    )


def comparison(design: Design) -> Markup:
    """The costs of simpler decision rules; `InputError` or `SolverError` if there is no comparison."""
    found = beside(design)
    figures = [(entry.expected_cost,) for entry in found]
    kept = sections.beside(
        "Expected cost beside simpler decision rules", ("decision", "expected cost"), found, figures, design
    )
    note = (
        "Decisions without “yes” are not certified for the guarantee; their cost is listed for scale. A decision "
        "exactly at its limit is not certified, because of rounding."
    )
    return join([kept, paragraph(note, class_="note")])


def checked(design: Design) -> tuple[str, str, str]:
    """The numbers of the checksum: in a word, in Python, and their order."""
    order = "the last group's count" if design.problem.binary else "the last answer"
    numbers = _ALL_TABLES if design.absent else "design.table.ravel().tolist()"
    return (
        "the probabilities",
        numbers,
        f"the probabilities is over all of them, {order} fastest{_FEWER * design.absent},",
    )
