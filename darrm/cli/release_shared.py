"""darrm release-shared"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from darrm.cli import common
from darrm.cli.long_run import progress
from darrm.cli.needed import Command, Given
from darrm.cli.outputs import LEDGER
from darrm.errors import DarrmError, InputError
from darrm.numerics.printed import counted

if TYPE_CHECKING:
    from darrm.design.design import Design
    from darrm.interop import Parties

_MOST_VALUES = 255  # that a cell of a votes file can have; half as many beside -1 for an absent voter
_WAIT = 10  # seconds for the other processes of a trial to end


def _missing(given: Given) -> list[str]:
    return ["'-M' (or '--parties' and '--party')"] * (not {"M", "parties_path"} & given.keys())


@click.command("release-shared", cls=Command, also=_missing, short_help="Release labels over secret shares of votes.")
@common.file_argument
@click.option(
    "--votes",
    "votes_path",
    type=common.PATH,
    required=True,
    help="CSV or .parquet with the votes that this party brings, a column for each of its voters by name, and id. All "
    "parties have the same rows in the same order. Where voters are no parties: this party's shares of all votes, and "
    "id.",
)
@click.option("--parties", "parties_path", type=common.PATH, help="JSON file that says who the parties are.")
@click.option("--party", metavar="NAME", help="The name of this party in --parties.")
@click.option(
    "-M",
    "M",
    metavar="NUMBER",
    type=common.Number(),
    help="To try it: this many parties on this machine, among which the columns of --votes are divided.",
)
@click.option(
    "--out", type=common.PATH, help="Write the labels here, as CSV (or .parquet, .json) with id and label [nowhere]."
)
@click.option("--overwrite", is_flag=True, help="Replace the labels of an earlier release in --out.")
@click.option(
    "--ledger",
    "ledger_path",
    type=LEDGER,
    help="Charge this party's own ledger for each block before the block is opened.",
)
@click.option("--again", is_flag=True, help="With --ledger: rows may have been released before; see darrm release.")
@click.option(
    "--votes-are-public",
    is_flag=True,
    help="The votes from which the design's prior was read are public, so --votes may contain them.",
)
@click.option("--tls", is_flag=True, help="Encrypt connections, with the certificates of MPyC in the folder .config.")
@common.number("--rows", "Rows of a block, the same at all parties [some seconds' worth].")
@common.number("--timeout", "End if a step takes more than this many seconds [60].", default=60.0)
@common.json_option
def command(
    file: Path,
    votes_path: Path,
    parties_path: Path | None,
    party: str | None,
    M: Any,
    out: Path | None,
    overwrite: bool,
    ledger_path: Path | str | None,
    again: bool,
    votes_are_public: bool,
    tls: bool,
    rows: Any,
    timeout: Any,
    as_json: bool,
) -> None:
    """Release labels by the noise of the design in FILE together with other parties, over secret shares.

    Only the labels are opened, if fewer than half of the parties pool what they see and all follow the protocol. Who is
    absent is public.
    """
    from darrm import votes
    from darrm.accounting.ledger import Ledger
    from darrm.cli.outputs import is_taken, refuse_ledger, why_taken
    from darrm.design.loading import load
    from darrm.interop import Parties, shared_labels
    from darrm.interop.shared import pooling
    from darrm.show.wording import budgets, condition, guarantee, listed, voters_of
    from darrm.storage.atomic import check_place
    from darrm.storage.kinds import kind_of

    if (M is None) == (parties_path is None) or (parties_path is None) != (party is None):
        raise click.UsageError("Pass --parties and --party, or -M to try it on this machine.")
    if out is not None:
        refuse_ledger(out)
        check_place(out)
    for option, given in {"--votes": votes_path, "--parties": parties_path, "--ledger": ledger_path}.items():
        common.refuse_swapped(given, file, option, ["release-shared", given, option, file])
    if kind_of(file) == "mechanism":
        raise InputError(
            f"{file} is a file of noisy max, and noisy max is not offered over shares. Pass a design that was made "
            "with --bits, or release by darrm release, with an aggregator."
        )
    design = load(file)
    problem, ledger = design.problem, None if ledger_path is None else Ledger(ledger_path)
    with ExitStack() as kept:
        if parties_path is not None:
            parties = Parties.read(parties_path)
        else:
            parties = _of_trial(votes_path, design, M)
            party = parties.parties[0].name
        if out is not None and parties.index(str(party)) not in parties.receivers:
            raise click.UsageError(f"Party {party} gets no labels: labels_to names others. Do without --out.")
        names = problem.names if not parties.voters else tuple(map(str, range(_of_shares(design, parties))))
        mine = parties.brought(str(party))
        read = partial(votes.blocks, votes_path, names=names, absent=design.absent, voters=mine)
        blocks = _with_ids(votes_path, read() if mine else _no_votes(votes_path))
        if out is not None and not overwrite and is_taken(out):
            known = ((block.ids if block.has_ids else None, b"") for block in blocks)
            raise why_taken(out, "", ledger, design, known, again=again)
        of_all = ""
        if votes_path.is_file() or not votes_path.exists():  # a pipe can be read once
            checked = read() if M is None else read(voters=parties.columns)
            # so that a fault is named by the file, and not as late parties or after labels are opened
            all_rows = sum(
                len(block.votes) for block in _with_ids(votes_path, checked if mine else _no_votes(votes_path))
            )
            of_all = f" of {all_rows:,}"
        if M is not None:
            shared = ("--rows", rows) if rows is not None else ()
            also = (*shared, "--timeout", timeout, *["--votes-are-public"] * votes_are_public, *["--tls"] * tls)
            kept.enter_context(_others(file, votes_path, parties, also))
        labels = shared_labels(
            design,
            blocks,
            parties,
            str(party),
            ledger=ledger,
            again=again,
            public=votes_are_public,
            rows=rows,
            timeout=timeout,
            tls=tls,
        )
        open_to_all = M is None and not tls and not all(one.is_here for one in parties.parties)
        if open_to_all:  # before a share leaves
            common.note(
                "Without --tls, whoever reads the network between the parties can compute all votes, and whoever "
                "reaches a port can take the place of a party. Pass --tls at all parties, with certificates in the "
                "folder .config (docs/howto/shared.md)."
            )
        report = kept.enter_context(progress(lambda n: (n, None, f"{n:,}{of_all} labels opened")))
        stopped: BaseException | None = None
        n = 0
        with nullcontext() if out is None else votes.writing_labels(out, names=problem.answers) as target:
            try:
                for block in labels:
                    if target is not None:
                        target.write(block.ids, block.labels)
                    n += len(block.ids)
                    report(n)
            except (DarrmError, KeyboardInterrupt) as error:
                if not n:
                    raise
                stopped = error  # labels that are opened and charged are kept
    if stopped is not None:
        where = f"{out} has" if out is not None else "There are"
        common.note(f"{where} the {counted(n, 'label')} opened before. Release the other rows in another run.")
        raise stopped
    status = None if ledger is None else ledger.status()
    if as_json:
        common.print_json(
            {
                "labels": n,
                "out": None if out is None else str(out),
                "parties": [one.name for one in parties.parties],
                "threshold": parties.threshold,
                "trial": M is not None,
                **({} if status is None else {"ledger": status}),
            }
        )
    labels_of = counted(n, "label")
    wrote = f"Wrote {labels_of} to {out}" if out is not None else f"Opened {labels_of}"
    if out is None and parties.labels_to:
        wrote += f" for {', '.join(parties.labels_to)}"
    pooled, more = pooling(design, parties)
    promised = "A trial: this machine has all votes, so nothing was protected."
    if M is None:
        who = f"Up to {pooled} of them, who pool what they see, learn" if pooled else "Each of them learns"
        rests_on = ["all follow the protocol", *["no one else reads the network between them"] * open_to_all]
        rests_on += ["all voters of the others draw as stated"] * bool(problem.known)
        promised = f"{who} labels alone, if {listed(rests_on)}."
    if more and M is None:
        of = (f"{n} in group {g + 1}" if len(problem.groups) > 1 else f"{n}" for g, n in more.items())
        promised += f" For up to {parties.threshold} plan with --colluders {' and '.join(of)}."
    common.note(f"{wrote}, drawn over shares of {len(parties.parties)} parties. {promised}")
    if M is None:
        common.note(f"Single-label guarantee: {guarantee(problem)}, {condition(problem, absent=design.absent)}")
        if ledger is None:
            common.note("Without --ledger, this party does not notice that a row comes again.")
    if ledger is not None and status is not None:
        remaining = ledger.remaining(design)
        left = "" if remaining is None else f", {remaining} left"
        whose = voters_of(status, [problem])
        common.note(
            f"Charged to {ledger.path}: {counted(status['released'], 'label')} of {whose} voters so far{left}, of "
            f"the budget {budgets(status, [problem])}. darrm ledger show says what that rests on."
        )


def _of_shares(design: Design, parties: Parties) -> int:
    """The values that a share can have."""
    from darrm.interop.shared import circuit_of

    prime, most = circuit_of(design, parties).prime, _MOST_VALUES >> design.absent
    if prime > most:
        raise InputError(
            f"Files of shares are read for primes up to {most}. This design needs {prime}. Pass the shares as "
            "arrays to darrm.interop.shared_labels."
        )
    return prime


def _no_votes(path: Path) -> Iterator[Any]:
    """The ids of a party that brings no votes: of its file, whose other columns are not looked at."""
    import numpy as np

    from darrm import votes
    from darrm.votes.rows import VotesBlock

    for block in votes.blocks(path):
        yield VotesBlock(np.zeros((len(block.votes), 0), dtype=np.uint8), block.ids, None, has_ids=block.has_ids)


def _with_ids(path: Path, blocks: Iterable[Any]) -> Iterator[Any]:
    """The same blocks; `InputError` if the file has no ids, which are all that tells parties of another order."""
    for block in blocks:
        if not block.has_ids:
            raise InputError(
                f"{path} must have a column id, by which parties notice other rows or another order. Got none. Give "
                "each row the id that it has at all parties."
            )
        yield block


def _of_trial(path: Path, design: Design, M: Any) -> Parties:
    """Parties on this machine that divide the columns of a votes file among them."""
    from darrm import votes
    from darrm._validation import whole
    from darrm.interop import Parties

    problem = design.problem
    m = whole("-M", M, 3, problem.K, allowed=f"(at least 3 parties, at most one for each of the {problem.K} voters)")
    first = partial(votes.blocks, path, K=problem.K, names=problem.names, absent=design.absent)
    voters = problem.voters or next(first()).voters
    ends = [i * problem.K // m for i in range(m + 1)]
    return Parties.of(
        {"name": f"party {i + 1}", "address": f"127.0.0.1:{port}", "voters": list(voters[ends[i] : ends[i + 1]])}
        for i, port in enumerate(_free_ports(m))
    )


def _free_ports(n: int) -> list[int]:
    with ExitStack() as open_ones:
        sockets = [open_ones.enter_context(socket.socket()) for _ in range(n)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@contextmanager
def _others(file: Path, votes_path: Path, parties: Parties, also: Sequence[Any]) -> Iterator[None]:
    """The other parties of a trial, each a process, which do not outlive this one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "parties.json")
        each = [
            {"name": one.name, "address": f"{one.host}:{one.port}", "voters": list(one.voters)}
            for one in parties.parties
        ]
        path.write_text(json.dumps({"parties": each}), encoding="utf-8")
        run = [sys.executable, "-m", "darrm", "release-shared", str(file), "--votes", str(votes_path)]
        run += ["--parties", str(path), *map(str, also)]
        nothing: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        started = [
            subprocess.Popen([*run, "--party", one.name], env=os.environ, **nothing) for one in parties.parties[1:]
        ]
        try:
            yield
            for process in started:
                process.wait(_WAIT)
        except subprocess.TimeoutExpired:
            pass
        finally:
            for process in started:
                process.kill()
                process.wait()
