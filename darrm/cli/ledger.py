"""darrm ledger"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from darrm._validation import check_count
from darrm.cli import common
from darrm.cli.needed import Command, Given
from darrm.cli.outputs import CSV, LEDGER
from darrm.errors import RecoveredLabelsWarning
from darrm.numerics.printed import counted
from darrm.problem.groups import OF_ANY_OTHERS, without_privacy
from darrm.problem.limits import adjacency_in_print
from darrm.show import wording

if TYPE_CHECKING:
    from darrm.accounting.ledger import Balance, Ledger
    from darrm.design.design import Design
    from darrm.mechanisms.confident_noisy_max import Noisy
    from darrm.problem.groups import ByGroups

IN_FEASIBLE_TIME = "in feasible time if keyed BLAKE2b is a pseudorandom function and the key is as secret as the votes"


@click.group("ledger", short_help="Charge releases to a privacy budget.")
def command() -> None:
    """Charge releases to a privacy budget, and refuse a release that would overspend it: darrm release --ledger.

    Keep one ledger for one set of voters. The budgets of two ledgers add up if voters are fresh and no row of votes
    has a label in both. For fixed voters the sum is not a guarantee: only a budget that covers the voters' own cost
    covers both ledgers.
    """


def _missing(given: Given) -> list[str]:
    of_one = given.get("rule", "exact") == "exact" and not {"file", "noisy_max"} & given.keys()
    return [
        *["'FILE' (or '--noisy-max', or another '--rule')"] * of_one,
        *[common.UNLESS_BARE] * (not {"voters", "noisy_max"} & given.keys()),
    ]


@command.command("create", cls=Command, also=_missing, short_help="Create a ledger with a privacy budget.")
@click.argument("ledger", type=LEDGER)
@click.argument("file", type=common.PATH, required=False)
@common.budget_options
@click.option(
    "--fallback-epsilon",
    type=common.Numbers(),
    help=f"With a known randomizer: a second budget, total epsilon of all charges, if {OF_ANY_OTHERS}; E1,E2,... for "
    "each group. A charge beyond it is refused [none; that of darrm plan is twice --total-epsilon, unless it is given "
    "another].",
)
@common.choice(
    "--rule",
    "exact: labels of the design or noisy max in FILE only, or of noisy max of several sigmas (--noisy-max); when to "
    "stop, and the next sigma, may depend on earlier releases. in-advance: "
    "several designs and mechanisms, with the smallest total; charges must not depend on releases and are fixed in "
    "advance, unless all are labels of fixed voters. renyi-filter: several designs and mechanisms of fresh voters, a "
    "privacy filter; each charge may depend on earlier releases. basic-filter: the same with sums of epsilons and "
    "deltas, of designs and pairs.",
    "exact",
    "in-advance",
    "renyi-filter",
    "basic-filter",
    former={"composed": "in-advance", "renyi": "renyi-filter", "basic": "basic-filter"},
)
@click.option(
    "--noisy-max",
    multiple=True,
    type=common.Numbers(),
    metavar="SIGMA",
    help="With the rule exact: labels of noisy max with Gaussian noise of this sigma too, for any votes; repeat it for "
    "each. Labels of more noise are charged as the cheapest of these that has no more noise.",
)
@click.option(
    "--adjacency", help="Adjacency of neighbouring data sets, for all charges [that of FILE, else replace-one]."
)
@common.json_option
def create(ledger: Path | str, file: Path | None, noisy_max: tuple[Any, ...], as_json: bool, **values: Any) -> None:
    """Create LEDGER, for labels of one design, or of noisy max of one sigma or several.

    The design or the noise is in FILE, further sigmas are those of --noisy-max. With a rule other than exact it is for
    several mechanisms. LEDGER is a path, or a postgresql:// URL.
    """
    from darrm.accounting.ledger import Ledger
    from darrm.mechanisms.noisy_max import GaussianNoisyMax

    _refuse_swapped("create", ledger, file)
    of_file: Any = [] if file is None else [common.load_release(file)]
    t = getattr(of_file[0], "max_affected", 1) if of_file else 1
    listed = [*of_file, *(GaussianNoisyMax(sigma, max_affected=t) for sigma in noisy_max)]
    made = Ledger.create(ledger, listed if len(listed) > 1 else next(iter(listed), None), **values)
    _show(made, as_json, of_file[0] if of_file and values["rule"] != "exact" else None)  # by exact it says it anyway
    common.wrote(made.path)
    model = getattr(of_file[0], "problem", None) if of_file else None
    if getattr(model, "known", False) and values["fallback_epsilon"] is None:
        from darrm.accounting.search import FALLBACK

        given = values["total_epsilon"]
        twice = ",".join(wording.exactly(FALLBACK * own) for own in (given if isinstance(given, list) else [given]))
        common.note(
            "This ledger keeps no second budget, for the case that voters that are not affected do not randomize as "
            f"stated. To keep that of darrm plan, create one with --fallback-epsilon {twice}, the default of the plan, "
            "or with what the plan was given."
        )


@command.command("charge", cls=Command, short_help="Charge a release that darrm release does not make.")
@click.argument("ledger", type=LEDGER)
@click.argument("file", type=common.PATH, required=False)
@common.number("--times", "Number of labels of FILE, or of uses of the mechanism.", default=1, show_default=True)
@common.number("--noisy-max", "Without FILE: labels of noisy max with Gaussian noise of this sigma, for any votes.")
@common.number("--epsilon", "Without FILE: epsilon of one use of a mechanism, in nats.")
@common.number("--delta", "Without FILE: delta of one use of a mechanism [0].")
@click.option("--adjacency", help="Required with --epsilon: adjacency of that guarantee.")
@common.number("--noise-multiplier", "Without FILE: charge DP-SGD, or one Gaussian answer, with this noise multiplier.")
@common.number(
    "--sampling-rate", "With --noise-multiplier: probability that a record is in a batch (Poisson sampling) [1]."
)
@common.number("--steps", "With --noise-multiplier: number of steps [1].")
@click.option("--note", default="", help="A note that is stored with the charge.")
@common.json_option
def charge(
    ledger: Path | str,
    file: Path | None,
    times: Any,
    noisy_max: Any,
    epsilon: Any,
    delta: Any,
    adjacency: str | None,
    noise_multiplier: Any,
    sampling_rate: Any,
    steps: Any,
    note: str,
    as_json: bool,
) -> None:
    """Charge to LEDGER labels of the design or noisy max in FILE, a mechanism by its (epsilon, delta), or DP-SGD.

    Charge the ledger before you release.
    """
    from darrm.accounting.ledger import Ledger
    from darrm.mechanisms.noisy_max import GaussianNoisyMax

    if [file, noisy_max, epsilon, noise_multiplier].count(None) != 3:
        raise click.UsageError("Charge a design, FILE, or a mechanism by --noisy-max, --epsilon or --noise-multiplier.")
    if epsilon is None and delta is not None:
        raise click.UsageError("--delta goes with --epsilon.")
    if noise_multiplier is None and not (sampling_rate is None and steps is None):
        raise click.UsageError("--sampling-rate and --steps go with --noise-multiplier.")
    _refuse_swapped("charge", ledger, file)
    book = Ledger(ledger)
    if file is not None:
        what: object = common.load_release(file)
    elif noisy_max is not None:
        what = GaussianNoisyMax(noisy_max)
    elif epsilon is not None:
        what = (epsilon, 0.0 if delta is None else delta)
    else:
        from darrm.accounting.events import training

        what = training(noise_multiplier, 1 if sampling_rate is None else sampling_rate, 1 if steps is None else steps)
    book.charge(what, check_count("--times", times, 2**53), adjacency=adjacency, note=note)
    _show(book, as_json)


@command.command("import", cls=Command, short_help="Import a ledger of an earlier darrm.")
@click.argument("old", type=common.PATH)
@click.argument("new", type=LEDGER)
@common.json_option
def import_old(old: Path, new: Path | str, as_json: bool) -> None:
    """Make the ledger NEW of OLD, a JSON file in which an earlier darrm kept a ledger.

    OLD, and its file of ids, are renamed to OLD.imported: only one of the two may be charged.
    """
    from darrm.accounting.old_ledgers import import_ledger

    made = import_ledger(old, new)
    _show(made, as_json)
    common.wrote(made.path)


@command.command("show", cls=Command, short_help="Print the spent and the remaining budget.")
@click.argument("ledger", type=LEDGER)
@click.argument("file", type=common.PATH, required=False)
@common.json_option
def show(ledger: Path | str, file: Path | None, as_json: bool) -> None:
    """Print the spent budget of LEDGER, and how many labels of the design in FILE the remaining budget covers.

    LEDGER is a path, or a postgresql:// URL. The composition is computed again, which can take seconds.
    """
    from darrm.accounting.ledger import Ledger

    _refuse_swapped("show", ledger, file)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", RecoveredLabelsWarning)
        book = Ledger(ledger)
    for one in said:
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    recovered = [str(one.message) for one in said if issubclass(one.category, RecoveredLabelsWarning)]
    _show(book, as_json, None if file is None else common.load_release(file), recovered)


@command.command("export", cls=Command, short_help="Write all charges as CSV.")
@click.argument("ledger", type=LEDGER)
@click.option("--csv", "out", type=CSV, required=True, help="Write one row for each charge here.")
@common.json_option
def export(ledger: Path | str, out: Path, as_json: bool) -> None:
    """Write the charges of LEDGER: time (UTC), host, mechanism and its digest, number of labels, note, stream, ids."""
    from darrm.accounting.ledger import COLUMNS, Ledger
    from darrm.storage.frames import write_csv

    charges = Ledger(ledger).history()
    write_csv(out, {name: [charge[name] for charge in charges] for name in COLUMNS})
    if as_json:
        common.print_json({"charges": len(charges), "out": str(out)})
    common.wrote(out)


def _refuse_swapped(word: str, ledger: Path | str, file: Path | None) -> None:
    if file is not None:
        common.refuse_swapped(ledger, file, "the ledger", ["ledger", word, file, ledger])


def _show(ledger: Ledger, as_json: bool, design: Design | Noisy | None = None, recovered: Sequence[str] = ()) -> None:
    status = ledger.status()
    own = status.copy()
    given = None
    if design is not None:
        status |= {"left": ledger.remaining(design), "covers_file": ledger._covers(design)}
        given = common.account_of(design)
    balances = ledger.balances()
    epsilon, delta = (max(own) for own in zip(*((own.epsilon, own.delta) for own in balances.values()), strict=True))
    once = not status["again"]
    fallback = ledger.fallback()
    rests_on = ledger.rests_on()
    rests = [
        f"This holds {wording.condition(problem, status['voters'], absent=absent, once=once)}"
        for problem, absent in rests_on
    ]
    if status["rule"] == "exact" and not rests:
        rests = [wording.of_noisy_max(None, affected=status["affected_votes"])]
    rests += [of_key(status)] if status["by_key"] else []
    if as_json:
        status["history"] = ledger.history()
        of = {kind: own._asdict() for kind, own in balances.items() if kind}
        values = {**status, "spent_epsilon": epsilon, "spent_delta": delta, "rests_on": rests, "recovered": recovered}
        if fallback:
            values["fallback"] = max(fallback.values())
            for kind, own in of.items():
                own["fallback"] = fallback[kind]
        common.print_json({**values, "of": of} if of else values)
        return
    budget = wording.listed(_of_each(balances, lambda own: wording.pair(own.total_epsilon, own.total_delta)))
    spent = wording.listed(_of_each(balances, _spent))
    history = ledger.history()
    if status["rule"] == "exact":
        text = _of_one_design(own, budget, spent, [problem for problem, _ in rests_on])
    else:
        neighbours = adjacency_in_print(status["adjacency"])
        whose = wording.voters_of(status, [problem for problem, _ in rests_on])
        whose += f" voters and {neighbours} neighbours"
        text = f"Privacy budget {budget} for {whose}, rule {status['rule']}. Charged: "
        text += wording.listed([_charge(charge) for charge in status["charges"]]) if status["charges"] else "nothing"
        of_labels = {one["digest"] for one in status["designs"]}
        stated = any(one["digest"] not in of_labels for one in history)  # what the caller typed is not checked
        certified = "certified" + ", if each charged pair, event or distribution holds as it was stated" * stated
        text += f". Spent so far, {certified}: {spent}. This holds if {status['condition']}."
        if given is not None:
            from darrm.design.design import Design

            left = "any number" if status["left"] is None else f"{status['left']}"
            kind = "design" if isinstance(design, Design) else "noisy max"
            text += f" Labels of this {kind} ({given.short_name}) that the remaining budget covers: {left}."
    common.console().print(text)
    if status["rule"] == "exact":
        made_for = f"This ledger was made for {wording.listed(one['what'] for one in status['designs'])}."
        known = given is None or given.name in [one["digest"] for one in status["designs"]]
        if given is not None and status["left"] == 0 and (own["left"] != 0 or not known):
            made_for += f" It covers no label of the given file ({given.called}). {ledger._of_others(design)}".rstrip()
        common.console().print(made_for)
    for last in history[-1:]:
        if last["time"]:
            common.console().print(f"Last charge: {last['n']} x {last['what']}, at {last['time']} on {last['host']}.")
    for said in rests:
        common.console().print(said)
    if status["waiting"]:
        waiting = ", ".join(status["waiting"])
        common.console().print(
            f"Charged labels wait for their name in {waiting}. Do not release them again: the next use of the ledger "
            "moves them, if it can reach that folder and write there."
        )
    asked = {wording.of_neighbours(problem) for problem, _ in rests_on if status["voters"] == "fixed"}
    told_last = _otherwise(fallback, balances, status["fallback_epsilon"])
    for told in [of_rows(status, rests_on), of_other_totals(own, rests_on), *asked, told_last]:
        if told:
            common.console().print(told)


def _of_each(balances: Mapping[str, Balance], said: Callable[[Balance], str]) -> list[str]:
    """``said`` of the balance of each kind of change, by name if there are several."""
    return [said(own) + f" for a change in {kind}" * bool(kind) for kind, own in balances.items()]


def _spent(own: Balance) -> str:
    delta = wording.exactly(own.delta) if own.delta == own.total_delta else wording.at_least(own.delta)
    return f"({wording.at_least(own.epsilon)}, {delta})"


def _otherwise(fallback: Mapping[str, float], balances: Mapping[str, Balance], second: Any) -> str:
    """What the charges cost together if the assumption on known randomizers fails for voters that are not affected."""
    if not fallback:
        return of_second_budget(second)
    totals = [
        f"({wording.at_least(total)}, {wording.exactly(balances[kind].total_delta)})-DP"
        + f" for a change in {kind}" * bool(kind)
        for kind, total in fallback.items()
    ]
    kept = "The ledger keeps no budget for it: it holds if the charges do not depend on what was released."
    if second is not None:
        kept = (
            "If the charges depend on what was released, claim the second budget, epsilon "
            f"{_budgets(second)}, in place of it."
        )
    return (
        f"All charges together are {wording.listed(totals)} if {OF_ANY_OTHERS}. If you do not know which of the two "
        f"holds, claim this total alone. {kept}"
    )


def of_second_budget(second: Any) -> str:
    """That all charges keep the second budget; nothing without one."""
    if second is None:
        return ""
    return (
        f"The charges also keep the second budget, epsilon {_budgets(second)}, if {OF_ANY_OTHERS}. The labels that are "
        "left are within both."
    )


def _budgets(second: Any) -> str:
    """The second budget, or that of each kind of change."""
    return wording.listed([wording.exactly(one) for one in (second if isinstance(second, list) else [second])])


def of_rows(status: dict[str, Any], rests_on: Sequence[tuple[ByGroups, bool]]) -> str:
    """Whether rows of votes of fresh voters may have had a label before."""
    labels = status["released"]
    if status["voters"] != "fresh" or not labels or all(without_privacy(problem.groups) for problem, _ in rests_on):
        return ""
    if status["again"]:
        return (
            f"The votes of {status['again']} of them may have had a label before. The total covers all votes "
            "themselves, and so that too, if the rows to release again are fixed in advance, without a look at "
            "earlier releases."
        )
    if status["ids"] == labels:
        return "The ledger refuses an id that it charged before. You must make sure that no row of votes has two ids."
    none = "They have no ids" if not status["ids"] else f"Only {status['ids']} of {labels} have ids"
    goes_on = ""
    if status["streams"]:
        goes_on = " A stream that is started again continues after its rows, if they are the same in the same order."
    return f"{none}, so you must make sure that each row is released once.{goes_on}"


def of_key(status: dict[str, Any]) -> str:
    """How many labels were drawn by key, and whether the total rests on it."""
    be = "was" if status["by_key"] == 1 else "were"
    drawn = f"{status['by_key']} of {counted(status['released'], 'label')} {be} drawn by key"
    if not status["computational"]:
        return f"{drawn}. The total covers the voters themselves, so it holds without a secret key."
    return f"{drawn}, so the total is computational: it holds {IN_FEASIBLE_TIME}."


def of_other_totals(status: dict[str, Any], rests_on: Sequence[tuple[ByGroups, bool]]) -> str:
    """Whether the total of a ledger for fixed voters may be added to another total."""
    if status["voters"] != "fixed" or all(without_privacy(problem.groups) for problem, _ in rests_on):
        return ""
    # Whether it covers any number of labels: rule in-advance charges the voters themselves.
    paid = status["rule"] == "in-advance" or (status["rule"] == "exact" and status["left"] is None)
    return wording.THESE_ONLY if paid else wording.NOT_ADDED


def _of_one_design(status: dict[str, Any], budget: str, spent: str, problems: Sequence[ByGroups]) -> str:
    left = "any number left" if status["left"] is None else f"{status['left']} left"
    if status["left_of"]:
        left = f"left of one alone: {', '.join(f'{n} of {noise}' for noise, n in status['left_of'].items())}"
    whole, whose = f"the whole budget, {budget}", wording.voters_of(status, problems)
    if status["voters"] == "fixed" and status["left"] is None:
        from darrm.accounting.fixed import fixed_voters

        left = "any number left: the budget covers the cost of these voters themselves"
        for problem in problems:
            if len(problem.kinds) > 1:
                continue
            price = fixed_voters(problem, status["total_delta"])
            if price <= status["total_epsilon"]:
                voters = f"({wording.at_least(price)}, {wording.exactly(status['total_delta'])})"
                whole = f"the cost of the voters, {voters}" if voters != spent else ""
    asked = ""
    if any(status["left_of"].values() or [status["left"] != 0]) and status["released"] and whole:
        asked = f"; if the number of labels depends on the labels themselves, count {whole}, instead"
    return (
        f"Privacy budget {budget} for {whose} voters, rule exact: {counted(status['released'], 'label')} released, "
        f"{left}. Spent so far, certified: {spent}{asked}."
    )


def _charge(charge: dict[str, Any]) -> str:
    note = f" ({charge['note']})" if charge["note"] else ""
    return f"{charge['n']} x {charge['what']}{note}"
