"""darrm verify"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from darrm.cli import common
from darrm.cli.endings import DONE, NOT_HELD, answered
from darrm.cli.long_run import counted, ending_at_once, progress
from darrm.cli.needed import Command
from darrm.errors import CertificateError, in_one_line
from darrm.numerics import printed
from darrm.numerics.exact import rounded_up
from darrm.problem.groups import AT_COLLUDERS, LEFT_OUT, NO_VOTE
from darrm.show import wording

if TYPE_CHECKING:
    from darrm.design.design import Design

_TABLES = (".parquet", ".csv", ".jsonl")
_MINUTES = 10


@click.command("verify", cls=Command, short_help="Verify the privacy claims of a design file or a table.")
@common.file_argument
@click.option(
    "--jobs", type=int, default=1, show_default=True, help="Number of processes, for a table; -1 for all cores."
)
@click.option(
    "--independent",
    is_flag=True,
    help="Verify a design file from the definitions, with code that shares nothing with the code that made it.",
)
@common.number(
    "--max-minutes", f"With --independent: refuse a verification that would take longer than about this [{_MINUTES}]."
)
@common.json_option
def command(file: Path, jobs: int, independent: bool, max_minutes: Any, as_json: bool) -> int:
    """Verify the privacy claims of a design file or of a table (.parquet, .csv, .jsonl) by computing them again.

    A file of noisy max makes none: its checksum is verified, and the mechanism is shown.

    The exit status is 0 if all claims hold, 1 if not. With --json the object has the keys holds and wrong too.
    """
    if independent or max_minutes is not None:
        return _independent(file, independent, max_minutes, as_json)
    if file.suffix.lower() in _TABLES:
        return _table(file, jobs, as_json)
    from darrm.cli.shown import show, worst_case
    from darrm.design.loading import load
    from darrm.storage.kinds import kind_of

    if kind_of(file) == "mechanism":
        return _noisy_max(file, as_json)
    try:
        design = load(file)
    except CertificateError as error:
        if as_json and error.certificate is not None:
            common.note(f"darrm: {error}")
            return _answer(_judged(error), [str(error)])
        raise
    if as_json:
        return _answer(_judged(design, common.account_of(design).name), [])
    show(design, from_file=True)
    worst_case(design)
    common.console().print(f"A ledger calls it {common.account_of(design).called}.")
    return 0


def _noisy_max(file: Path, as_json: bool) -> int:
    """Verify the checksum of a file of noisy max, which makes no claim, and show the mechanism."""
    from darrm.mechanisms.confident_noisy_max import load_noisy_max

    made = load_noisy_max(file)
    account = common.account_of(made)
    if as_json:
        return _answer({"mechanism": made.as_dict(), "design_digest": account.name}, [])
    votes: Any = made.problem  # that of a file is known
    console = common.console()
    named = "" if isinstance(votes.classes, int) else f" ({wording.some(votes.names)})"
    console.print(
        f"{file} is intact: noisy max of {printed.counted(votes.K, 'vote')} for {votes.n_classes} classes{named}. "
        f"Noise of each count: Gaussian, sigma {wording.exactly(made.sigma)}{wording.of_check(made)}."
    )
    console.print(
        "It states no guarantee: what labels cost depends on their number. Run: darrm budget "
        f"{shlex.quote(str(file))} --queries N --total-delta D"
    )
    console.print(wording.of_noisy_max(votes, "A total"))
    console.print(f"A ledger calls it {account.called}.")
    return DONE.status


def _judged(about: Design | CertificateError, digest: str | None = None) -> dict[str, object]:
    from darrm.design.content import problem_in_file

    judged = {"problem": problem_in_file(about.problem), "certificate": about.certificate.as_dict()}
    return {**judged, "design_digest": digest}


def _answer(values: dict[str, object], wrong: Sequence[str]) -> int:
    """Print what was found as JSON; the exit status."""
    ending = NOT_HELD if wrong else DONE
    common.print_json(answered({"holds": not wrong, **values, "wrong": list(wrong)}, ending))
    return ending.status


def _independent(file: Path, independent: bool, max_minutes: Any, as_json: bool) -> int:
    """Nothing of what makes or verifies designs is loaded here: the file is read as JSON and judged."""
    from darrm import independent as judge
    from darrm._validation import real
    from darrm.errors import InputError
    from darrm.storage.sealed_json import read

    if not independent:
        raise InputError("--max-minutes must come with --independent. Add it, or leave --max-minutes out.")
    if file.suffix.lower() in _TABLES and file.exists():
        raise InputError(
            f"--independent must have a design file (JSON). Got {file}. A row of a table that darrm wrote becomes one "
            'by darrm.tables.lookup(FILE, K=..., m=..., epsilon=...).save("row.json"). For numbers of another program: '
            "darrm.independent.needed_delta in Python."
        )
    limit = _MINUTES if max_minutes is None else real("--max-minutes", max_minutes, 0, ends="()")
    content = read(file, "darrm-design", 2, "design", "Restore a copy, or make it anew.")
    cost = judge.cost(content)
    minutes = cost.seconds / 60
    if minutes > limit:
        raise InputError(
            f"--max-minutes must be at least {minutes:.2g} for {cost.cases:,} cases in numbers of {cost.bits:,} bits. "
            f"Got {limit:g}. Raise it, or use darrm verify without --independent."
        )
    about = f"about {cost.seconds:.0f} s" if cost.seconds >= 1 else "less than a second"
    common.note(f"{cost.cases:,} cases in numbers of {cost.bits} bits: {about}.")
    with progress(lambda done, total: (done, total, f"{done:,}/{total:,} cases")) as report:
        found = judge.check(content, report)
    if as_json:
        return _answer(asdict(found), found.wrong)
    for line in found.wrong:
        click.echo(f"wrong: {in_one_line(line)}")
    for line in found.loose:
        click.echo(f"loosely described: {in_one_line(line)}")
    profile = ", profile" if content["profile"] else ""
    tables = "" if found.tables == 1 else f" of {found.tables} tables"
    told = "not all privacy claims hold" if found.wrong else "all privacy claims verified"
    click.echo(in_one_line(f"{file}: {told}."))
    click.echo(f"{'The file claims that one release is' if found.wrong else 'One release is'} {_guarantees(content)}.")
    click.echo(_voters(content["problem"]))
    click.echo(
        f"Verified from the definitions: guarantee{profile}, needed delta, tight epsilon and worst case{tables}, in "
        f"{found.cases:,} cases (counted again at each epsilon: guarantee{profile}, tight, and just below tight), in "
        f"integer arithmetic with denominator 2^{found.bits}, rounded against the file. Not verified: error, cost, "
        "gap, prior, objective, shape, adjacency and names."
    )
    each = content["problem"].get("groups", [content["problem"]])
    click.echo(
        ("Assumed: the voters are as stated" + _DEPENDENT[all(group["epsilon"] is None for group in each)])
        + _COINS * any("randomizer" in group for group in content["problem"].get("groups", []))
        + ("; who is absent depends neither on the data nor on votes." if found.tables > 1 else ".")
    )
    return NOT_HELD.status if found.wrong else DONE.status


def _guarantees(content: dict[str, Any]) -> str:
    """The guarantees that a file claims for one release, rounded up."""
    problem = content["problem"]
    names = [""]
    if isinstance(problem["epsilon"], list):
        each = [f"group {g}" for g in range(1, len(problem["groups"]) + 1)]
        names = [f" for a change in {name}" for name in [*each, "several groups"][: len(problem["epsilon"])]]
        pairs = list(zip(problem["epsilon"], problem["delta"], strict=True))
    else:
        epsilon = rounded_up(Fraction(problem["epsilon"]) * Fraction(problem.get("m", 1)))
        pairs = [(epsilon, problem["delta"]), *content["profile"]]
    return wording.listed(
        f"({'infinite' if epsilon is None else wording.at_least(epsilon)}, {wording.at_least(delta, 4)})-DP{of}"
        for (epsilon, delta), of in zip(pairs, names * (len(pairs) // len(names)), strict=True)
    )


_DEPENDENT = {
    False: ", and vote independently given the data",
    True: "; votes may depend on each other, because all voters are non-private",
}
_COINS = (
    "; voters of a known randomizer draw every vote with new, secret randomness and learn from no vote, "
    f"{LEFT_OUT}, and {NO_VOTE}"
)


def _voters(problem: dict[str, Any]) -> str:
    """The voters that a file states, to be compared with the real ones."""
    most = problem["max_affected"]
    alone = isinstance(problem["epsilon"], list) and len(problem["epsilon"]) == len(problem["groups"]) and most > 1
    one = {"count": problem.get("K"), "epsilon": problem["epsilon"], "delta": problem.get("Delta")}
    groups = []
    for group in problem.get("groups", [one | {"max_affected": most}]):
        private = group["epsilon"] is not None
        each = f"{wording.pair(group['epsilon'], group['delta'])}-DP each" if private else "non-private"
        if "randomizer" in group:
            known = group["randomizer"]
            own = f"randomized response of epsilon {wording.exactly(group['epsilon'])}"
            how = f"by {own if isinstance(known, str) else known}"
            but = f" but {group['colluders']}, which have no guarantee" * bool(group["colluders"])
            each = f"known to draw every vote from its true answer {how}, all{but}"
        fewer = (
            f", at most {group['max_affected']} affected" if group["max_affected"] < min(most, group["count"]) else ""
        )
        named = f" ({wording.some(group['names'])})" if "names" in group else ""
        groups.append(f"{group['count']}{named} that are {each}{fewer}")
    return (
        f"Voters: {'; '.join(groups)}. A change to a neighbouring data set ({problem['adjacency']!r}) affects at most "
        f"{most} of them{', all of one group' * alone}."
    )


def rests(rows: int) -> str:
    """The assumption of the rows of a table that rest on known randomizers, "" if there are none."""
    if not rows:
        return ""
    return (
        f"{printed.counted(rows, 'row')} {'rests' if rows == 1 else 'rest'} on an assumption: in a group "
        "COUNT:EPSILON:DELTA:MAX_AFFECTED:response:COLLUDERS every "
        "voter but COLLUDERS draws every vote from its true answer by randomized response with new, secret randomness "
        f"and learns from no vote, {LEFT_OUT}, and {NO_VOTE}.{AT_COLLUDERS}"
    )


def _table(file: Path, jobs: int, as_json: bool) -> int:
    from darrm.tables import read, verify_table

    with progress(counted("wrong")) as report, ending_at_once("Nothing was changed."):
        table = read(file)
        check = verify_table(table, jobs=jobs, progress=report)
    resting = rests(table.known)
    if as_json:
        found: dict[str, object] = {"rows": check.rows, "failures": check.failures} | (
            {"assumption": resting} if resting else {}
        )
        return _answer(found, check.wrong)
    failed = (
        f" {printed.counted(check.failures, 'row')} {'has' if check.failures == 1 else 'have'} no design."
        if check.failures
        else ""
    )
    click.echo(
        f"{check.rows - check.failures - len(check.wrong)} of {printed.counted(check.rows, 'row')} verified.{failed}"
    )
    if resting:
        click.echo(resting)
    for line in check.wrong[:20]:
        click.echo(f"wrong: {in_one_line(line)}")
    if len(check.wrong) > 20:
        click.echo(f"and {len(check.wrong) - 20} more")
    return DONE.status if check.holds else NOT_HELD.status
