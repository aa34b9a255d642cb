"""Options and tables that `darrm plan` and `darrm compare` at one total budget share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from darrm._validation import check_count, real
from darrm.cli import common
from darrm.cli.needed import Given
from darrm.errors import InputError
from darrm.show import comparison_words, typed

if TYPE_CHECKING:
    from darrm.baselines.entries import Comparison
    from darrm.planning.answers import Plan

voter_options = common.options(
    click.option(
        "--group",
        multiple=True,
        metavar=typed.GROUP,
        help="A group of equally private voters, in place of --K and --epsilon; repeat it for each group. EPSILON may "
        "be inf (non-private) or, in darrm plan, auto. NAME: column name of each voter in votes files.",
    ),
    click.option(
        "--base-accuracy",
        help="Accuracy of an answer before its voter randomizes it: B for all groups, or B1,B2,... "
        f"{common.NOT_RESTING}",
    ),
    click.option(
        "--accuracy",
        help="Accuracy of a vote as cast: A for all groups, or A1,A2,..., or tables, as darrm solve takes them. "
        f"{common.NOT_RESTING}",
    ),
    click.option("--classes", help="Number of classes of votes and labels, or their names, e.g. 3 or cat,dog [2]."),
)
options = common.options(
    common.number("--K", "Number of voters."),
    common.number("--epsilon", "Epsilon of one voter, in nats, or auto."),
    common.number("--voter-delta", "Delta of one voter: each voter is (epsilon, Delta)-DP [0].", "--Delta"),
    voter_options,
    common.number(
        "--max-affected",
        "Required. Largest number of voters, over all groups, affected by a change to a neighbouring data set.",
    ),
    common.number("--queries", "Number of labels.", required=True),
    common.budget_options,
    click.option(
        "--prior", help=f"Prior of the truth: P0,P1. Or, with --K alone, of votes: {common.PRIORS} {common.NOT_RESTING}"
    ),
    click.option(
        "--cost",
        help="C00,C01,..., row by row, where Cry is the cost of answer r if the truth is y [0 if r is y, else 1]. "
        f"{common.NOT_RESTING}",
    ),
    common.number(
        "--none",
        'Allow a further answer, "none" of the classes, that costs this, where an error costs 1, e.g. .2. The plan '
        "chooses at which votes it is likely. --cost may have a further row in place of it.",
    ),
    click.option(
        "--ordered",
        is_flag=True,
        help="Require that the answer of least expected cost is never less likely than another.",
    ),
    click.option(
        "--adjacency",
        default="replace-one",
        show_default=True,
        help="Which data sets are neighbours. Most DP-SGD libraries state epsilon for add-remove.",
    ),
)


def missing(given: Given) -> list[str]:
    """What a plan needs besides, and was not given."""
    groups = typed.take_groups(given.get("group", ()), "25:0.5", auto=True)
    voters = " and ".join(f"'--{name}'" for name in ("K", "epsilon") if name not in given) if not groups else ""
    reached = [count if most is None else most for count, _, _, most, _ in groups] or [given.get("K")]
    accuracy = {"base_accuracy", "accuracy", "prior"} & given.keys()
    private = not groups or any(epsilon != math.inf for _, epsilon, *_ in groups)
    return [
        *[f"{voters} (or '--group')"] * bool(voters),
        *["'--base-accuracy' (or '--accuracy', or '--prior')"] * (not accuracy),
        *["'--max-affected'"] * ("max_affected" not in given and reached != [1]),
        *["'--voters'"] * ("voters" not in given and private),
    ]


def take_setting(values: dict[str, Any]) -> dict[str, Any]:
    """What `darrm.plan` takes for the options of the voters, which are taken out of ``values``."""

    taken: dict[str, Any] = {}
    K, epsilon, Delta = values.pop("K"), values.pop("epsilon"), values.pop("Delta")
    groups = typed.take_groups(values.pop("group"), "25:0.5", auto=True)
    if groups and (K is not None or epsilon is not None or Delta):
        raise InputError("--group takes the place of --K, --epsilon and --voter-delta. Pass one or the other.")
    if not groups and (K is None or epsilon is None):
        raise InputError("The voters are missing. Pass --K and --epsilon, or --group COUNT:EPSILON.")
    if not groups:
        K, Delta = check_count("K", K), real("Delta", 0.0 if Delta is None else Delta, 0, 1, "[)")
        groups = [[K, epsilon, Delta, None, None]]
    groups = typed.randomized(groups, values.pop("randomizer", None), values.pop("colluders", None))
    taken["groups"] = typed.named(groups, values.pop("columns", None))
    base, accuracy = values.pop("base_accuracy"), values.pop("accuracy")
    if base is not None:
        each = typed.numbers("--base-accuracy", base)
        taken["base_accuracy"] = each[0] if len(each) == 1 else each
    if accuracy is not None:
        taken["accuracy"] = typed.accuracies(accuracy, len(groups))
    taken["classes"] = classes = typed.classes_of(values.pop("classes"))
    prior, cost = values.pop("prior"), values.pop("cost", None)
    if prior is not None:
        of_truth = base is not None or accuracy is not None
        taken["prior"] = typed.truths(prior, classes) if of_truth else common.take_prior(prior)
    if cost is not None:
        count = len(classes) if isinstance(classes, list) else classes
        taken["cost"] = typed.cost_rows(typed.numbers("--cost", cost), count if isinstance(count, int) else 2)
    none = values.pop("none", None)
    if none is not None or len(taken.get("cost", ())) > len(next(iter(taken.get("cost", ())), ())):
        taken["none"] = True if none is None else none
    return taken


def comparison_values(comparison: Comparison) -> list[dict[str, object]]:
    """The mechanisms of a comparison as plain values."""
    from darrm.baselines.entries import OF_ONE_TOTAL

    return [
        {
            "name": row.name,
            **{name: getattr(row, name) for name in OF_ONE_TOTAL},
            "binding": comparison.binding(row) or None,
            **({"of": {kind: own._asdict() for kind, own in row.of.items()}} if row.of else {}),
            "table": row.table.tolist(),
        }
        for row in comparison
    ]


def show_comparison(comparison: Comparison, *, stated: bool = False) -> None:
    """The mechanisms, and the meaning of the columns; ``stated`` as in `comparison_words.columns_meant`."""
    show_rows(
        comparison_words.mechanism_heads(comparison),
        comparison_words.mechanism_rows(comparison),
        comparison_words.mechanisms_title(comparison),
    )
    common.console().print(comparison_words.columns_meant(comparison, stated=stated))


def show_assumptions(answer: Plan) -> None:
    """The assumptions of a plan."""
    common.console().print("\nAssumed:")
    for assumption in answer.assumptions:
        common.console().print(f"- {assumption}")


def show_rows(heads: Sequence[str], rows: Sequence[Sequence[str]], title: str | None = None) -> None:
    """A table whose first column is a name or a number and whose others are figures; nothing of it is cut off."""
    table = common.table(*map(common.narrow, heads[1:]), name=heads[0], title=title, title_justify="left")
    for row in rows:
        table.add_row(*row)
    common.console().print(table)
