"""Runs of labels over shares, each party a process forked from this one, so that libraries load once.

Reads a JSON list of runs from standard input, each a list of parties with what they are told; prints a JSON list of
what each party had: its labels block by block, and its error. A party may be killed or stopped at a step.
"""

import json
import os
import pickle
import signal
import socket
import sys
import traceback
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

import darrm
from darrm.errors import DarrmError
from darrm.interop import Parties, shared_labels, shared_talk
from darrm.votes.rows import Texts, VotesBlock

HOSTS = [f"127.0.0.{i}" for i in range(1, 12)]


def refuse(*arguments: object, **settings: object) -> None:
    raise AssertionError("A message was unpickled.")


def at_step(step: int, number: int) -> None:
    """Send this process a signal before one of its steps with other parties; step 0 is to connect."""
    taken = [0]

    def stopping(of: Any) -> Any:
        def run(*arguments: Any, **settings: Any) -> Any:
            if taken[0] == step:
                os.kill(os.getpid(), number)
            taken[0] += 1
            return of(*arguments, **settings)

        return run

    shared_talk.Talk.connect = stopping(shared_talk.Talk.connect)  # type: ignore[method-assign]
    shared_talk.Talk.run = stopping(shared_talk.Talk.run)  # type: ignore[method-assign]


def one(told: dict[str, Any], parties: Parties, name: str) -> dict[str, Any]:
    """What one party has."""
    pickle.loads = refuse  # type: ignore[assignment]
    if "kill" in told:
        at_step(told["kill"], signal.SIGKILL)
    if "stop" in told:
        at_step(told["stop"], signal.SIGSTOP)
    if "false" in told:  # brings other values than votes, which its own checks would refuse
        from darrm.interop import shared_circuit

        honest = shared_circuit.Shared.secret

        def secret(self: Any, values: Any, sender: int) -> Any:
            return honest(self, values + 2 if values.ndim == 2 and told["false"] == sender else values, sender)

        shared_circuit.Shared.secret = secret  # type: ignore[method-assign]
    blocks, error, message = [], "", ""
    ledger = None if told.get("ledger") is None else darrm.accounting.Ledger(told["ledger"])
    votes = np.array(told["votes"])
    ids = Texts.of(told["ids"]) if "ids" in told else Texts.numbers(1, len(votes))
    rows = [VotesBlock(votes, ids, None, has_ids="ids" in told, voters=())]
    settings = {key: told[key] for key in ("rows", "timeout", "again", "tls") if key in told}
    try:
        for block in shared_labels(darrm.load(told["design"]), rows, parties, name, ledger=ledger, **settings):
            blocks += [block.labels.tolist()]
    except DarrmError as raised:
        error, message = type(raised).__name__, str(raised)
    return {"blocks": blocks, "error": error, "message": message}


def together(run: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    told = run["told"]
    with ExitStack() as kept:
        sockets = [kept.enter_context(socket.socket()) for _ in told]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        ports = [each.getsockname()[1] for each in sockets]
    parties = [
        {"name": f"p{i}", "address": f"{HOSTS[i]}:{port}", "voters": part.get("voters", [])}
        for i, (part, port) in enumerate(zip(told, ports, strict=True))
    ]
    known, started = Parties.of(parties, run.get("voters", []), run.get("labels_to", [])), []
    for i, part in enumerate(told):
        child = os.fork()
        if not child:
            status = 1
            try:
                made = json.dumps(one(part, known, f"p{i}"))
                (folder / f"{i}.json").write_text(made)
                status = 0
            except BaseException:
                traceback.print_exc()
            os._exit(status)
        started.append(child)
    found: list[dict[str, Any]] = []
    stopped = [i for i, part in enumerate(told) if "stop" in part]
    for i in sorted(range(len(told)), key=lambda i: i in stopped):
        if i in stopped:
            os.kill(started[i], signal.SIGKILL)
        _, status = os.waitpid(started[i], 0)
        path = folder / f"{i}.json"
        what = json.loads(path.read_text()) if path.exists() else {}
        path.unlink(missing_ok=True)
        found.append({"party": i, "status": status, **what})
    return sorted(found, key=lambda each: each["party"])


print(json.dumps([together(run, Path(sys.argv[1])) for run in json.load(sys.stdin)]))
