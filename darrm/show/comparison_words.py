"""A comparison of mechanisms in words and rows, the same on the command line, on pages and in notebooks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from darrm.numerics.printed import at_most, counted, rate
from darrm.problem.groups import OF_ANY_OTHERS
from darrm.show.markup import Markup, grid, join, paragraph
from darrm.show.wording import at_least, exactly, tight

if TYPE_CHECKING:
    from darrm.baselines.entries import Comparison, Entry
    from darrm.certificate.certificate import Certificate

ERROR, DISAGREEMENT = "label error rate", "disagreement rate"
ALL_LABELS, ALL_VOTES = "epsilon, all labels", "epsilon, all votes"
_ANY = "same, others any mechanism"
_CONFIDENT = "Confident-GNMax"  # of tables, and where no table fits
_MEANT = {
    ERROR: "Label error rate: probability that a label differs from the truth.",
    DISAGREEMENT: "Disagreement rate: probability that a label differs from the majority of its votes, under the "
    "prior.",
}


def mechanism_heads(comparison: Comparison) -> tuple[str, ...]:
    """The columns of `mechanism_rows`: with costs if the objective is not the label error rate."""
    if comparison.held == "one release":
        return ("mechanism", *_figures(comparison), "tight epsilon", "private enough")
    return ("mechanism", *_of_labels(comparison), ALL_LABELS, *[_ANY] * _known(comparison), ALL_VOTES)


def _known(comparison: Comparison) -> bool:
    """Whether there is a total for voters of a known randomizer, and one for any voters."""
    return not math.isnan(comparison[0].fallback)


def mechanism_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """A row for each mechanism."""
    if comparison.held == "one release":
        return [
            (
                row.called,
                *(f"{getattr(row, name):.6f}" for name in _figures(comparison).values()),
                " / ".join(tight(own.tight_epsilon) for own in _certificates(row)),
                "yes" if row.within else "no",
            )
            for row in comparison
        ]
    figures = _of_labels(comparison).values()
    return [
        (
            row.called,
            *(rate(getattr(row, name), comparison.draws) for name in figures),
            *_totals(row, comparison),
            at_least(row.aggregator) + " *" * (comparison.binding(row) == "votes"),
        )
        for row in comparison
    ]


def _certificates(row: Entry) -> list[Certificate]:
    """The certificate of one release for each kind of change."""
    if row.certificate is None:
        return []
    return list(row.certificate.kinds.values()) or [row.certificate]


def _totals(row: Entry, comparison: Comparison) -> list[str]:
    """The totals of all labels, of each kind of change; those above their budgets marked, and those that bind."""
    held = [[(own.spent, own.total_epsilon) for own in row.of.values()] or [(row.total, comparison.total_epsilon)]]
    if _known(comparison):
        each = [(own.fallback, comparison.second(own)) for own in row.of.values()]
        held.append(each or [(row.fallback, comparison.fallback_epsilon)])
    binding = comparison.binding(row)
    return [
        " / ".join(f"{at_least(total)}{' (over)' * (total > budget)}" for total, budget in column)
        + " *" * (which == binding)
        for which, column in zip(("first", "second"), held, strict=False)
    ]


def by_kind(comparison: Comparison) -> str:
    """The kinds of change whose figures a cell has, in their order; "" if all changes have one limit."""
    certificate = comparison[0].certificate
    return " / ".join(comparison.of or (certificate.kinds if certificate else ()))


def _figures(comparison: Comparison) -> dict[str, str]:
    """The errors of mechanisms for one release: the column, and the attribute of an entry."""
    if not math.isnan(comparison[0].error):
        return {"expected TV error": "error", DISAGREEMENT: "disagreement"}
    return {"expected cost": "expected_cost", **({} if math.isnan(comparison[0].wrong) else {ERROR: "wrong"})}


def _of_labels(comparison: Comparison) -> dict[str, str]:
    """The errors of labels at one total: the column, and the attribute of an entry."""
    if math.isnan(comparison[0].wrong) and not math.isnan(comparison[0].disagreement):
        return {DISAGREEMENT: "disagreement"}  # where only a prior of votes is known
    differ = any(not math.isclose(row.wrong, row.expected_cost, rel_tol=1e-9) for row in comparison)
    return {ERROR: "wrong", **({"expected cost": "expected_cost"} if differ else {})}


def mechanisms_title(comparison: Comparison) -> str:
    """What the rows of `mechanism_rows` show."""
    if comparison.held == "one release":
        return "One release"
    labels = f"{counted(comparison.queries, 'label')} of {comparison.called} voters"
    return f"Mechanisms at the privacy budget {comparison.budget}, {labels}"


def columns_meant(comparison: Comparison, *, stated: bool = False) -> str:
    """The meaning of the columns, and what they rest on where the randomizer is known.

    ``stated``: whether that stands beside them already.
    """
    if comparison.held == "one release":
        return (
            "One release is (tight epsilon, delta)-DP, at the delta of the guarantee. A mechanism that is not private "
            f"enough is listed for scale only: it is not certified for the guarantee.{_check_meant(comparison)}"
            f"{_kinds_meant(comparison)}"
            f"{'' if stated or not comparison.note else f' {comparison.note}'}"
        )
    second = "."
    if _known(comparison):
        second = "." if stated else f", if {comparison.assumption}"
        second += f" Same, others any mechanism: if {OF_ANY_OTHERS}"
        if comparison.second_budget:
            second += (
                f", within the second budget of {comparison.second_budget}. An asterisk marks the total that binds: it "
                "reaches its budget first, or exceeds it by more; for local noise only it is that of the votes"
            )
        second += "."
    over = " A total marked (over) exceeds the privacy budget." * (not all(row.within for row in comparison))
    return (
        f"{_MEANT[next(iter(_of_labels(comparison)))]} Epsilon, all labels: certified, for all labels "
        f"together{second} Epsilon, all votes: for all votes together, which the aggregator receives. Both at delta "
        f"{exactly(comparison.total_delta)}.{over}{_check_meant(comparison)}{_kinds_meant(comparison)}"
        f"{_at_least(comparison)}"
        f"{'' if comparison.assumption or not comparison.note else f' {comparison.note}'}"
    )


def _check_meant(comparison: Comparison) -> str:
    """What the threshold is over, where a mechanism has one."""
    if not any(row.name == _CONFIDENT for row in comparison):
        return ""
    return f' {_CONFIDENT}: "none" where the largest count with the noise of the check is below the threshold.'


def _kinds_meant(comparison: Comparison) -> str:
    """What the several figures of a cell are for."""
    kinds = by_kind(comparison)
    return f" Several epsilons in a cell are for a change in {kinds}." * bool(kinds)


def _at_least(comparison: Comparison) -> str:
    """The bound on every table, where the plan is above it."""
    bound = comparison.cost_at_least
    if not comparison[0].expected_cost - bound >= 5e-5:  # nor NaN
        return ""
    *_, cost = _of_labels(comparison)
    planned = rate(comparison[0].expected_cost, comparison.draws)
    return (
        f" The {cost} of any one table that draws all these labels within the budget is at least {at_most(bound, 4)}; "
        f"that of the plan is {planned}."
    )


def comparison_html(comparison: Comparison, *, stated: bool = False) -> Markup:
    """The table of a comparison; ``stated`` as in `columns_meant`."""
    table = grid(mechanism_heads(comparison), mechanism_rows(comparison), caption=mechanisms_title(comparison))
    return join([table, paragraph(columns_meant(comparison, stated=stated))])
