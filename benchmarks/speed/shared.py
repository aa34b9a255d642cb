"""Labels over secret shares: labels a second, bytes and rounds, for some numbers of parties and voters; and a picture.

    python benchmarks/speed/shared.py [--quick] [--docs]

Takes: ten minutes, --quick one. --docs writes docs/howto/shared.md.

All parties are processes of this machine that are forked, so that libraries load once, and connect over the loopback
device. A rate is that of the blocks after the first, whose memory and caches are warm: by the clock, and by the CPU
seconds of the busiest party, which is the rate of parties that have a core each and a fast network. Bytes are what all
parties together send for a label. Rounds are counted by `Circuit.rounds`: a block takes at least as many times the time
that a message takes from one party to another.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import socket
import sys
import tempfile
import time
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))
from pages import DOCS, put, save, table

import darrm
from darrm.interop import Parties, shared_labels, shared_talk
from darrm.interop.shared_circuit import Circuit
from darrm.show.figures import LOOKS, REST, TEXT, WIDTH, new_figure

VOTERS = {11: (3, 0.1), 25: (2, 1.0), 101: (10, 0.1)}  # m and epsilon
PARTIES = {3: 1, 5: 5, 11: 40}  # and by how much a block is shorter, for the time it takes
BLOCKS = 3


def ports(n: int) -> list[int]:
    with ExitStack() as kept:
        sockets = [kept.enter_context(socket.socket()) for _ in range(n)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def one(design: darrm.Design, parties: Parties, me: int, rows: int) -> dict[str, float]:
    """What one party measures."""
    sent = [0]

    def ended(talk: Any) -> None:  # as long as all connections are there
        sent[0] = sum(getattr(peer.protocol, "nbytes_sent", 0) for peer in talk.mpc.parties)
        end(talk)

    end = shared_talk.Talk.end
    shared_talk.Talk.end = ended  # type: ignore[method-assign]
    name = parties.parties[me].name
    votes = np.random.default_rng(me).integers(0, 2, (BLOCKS * rows, len(parties.brought(name))))
    times = [
        (time.perf_counter(), time.process_time())
        for _ in shared_labels(design, [votes], parties, name, rows=rows, timeout=600)
    ]
    seconds, busy = (last - first for first, last in zip(times[0], times[-1], strict=True))
    done = rows * (BLOCKS - 1)
    return {"rate": done / seconds, "busy": done / busy, "bytes": sent[0] / len(votes)}


def measured(design: darrm.Design, m: int) -> dict[str, float]:
    """Labels a second, bytes a label and rows of a block, of m parties on this machine."""
    K = design.problem.K
    ends = [i * K // m for i in range(m + 1)]
    voters = [f"v{i}" for i in range(K)]
    parties = Parties.of(
        {"name": f"p{i}", "address": f"127.0.0.1:{port}", "voters": voters[ends[i] : ends[i + 1]]}
        for i, port in enumerate(ports(m))
    )
    rows = max(4, 200_000 // Circuit(design, m).work // PARTIES[m])
    with tempfile.TemporaryDirectory() as folder:
        children = []
        for i in range(m):
            child = os.fork()
            if not child:
                Path(folder, str(i)).write_text(json.dumps(one(design, parties, i, rows)))
                os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)
        found = [json.loads(Path(folder, str(i)).read_text()) for i in range(m)]
    return {
        "rate": found[0]["rate"],
        "busy": min(part["busy"] for part in found),
        "bytes": sum(part["bytes"] for part in found),
        "rows": rows,
    }


def figure(rate: float) -> str:
    return f"{rate:.0f}" if rate >= 10 else f"{rate:.1f}"


def lines(quick: bool) -> list[dict[str, Any]]:
    made = []
    for m in (3,) if quick else PARTIES:
        for K, (times, epsilon) in VOTERS.items():
            whole = darrm.solve(K=K, m=times, epsilon=epsilon)
            for design in (whole, whole.rounded(16)):
                found, circuit = measured(design, m), Circuit(design, m)
                made.append(
                    {
                        "parties": m,
                        "K": K,
                        "bits": design.bits,
                        "labels a second": figure(found["rate"]),
                        "labels a CPU second": figure(found["busy"]),
                        "bytes a label": f"{found['bytes']:,.0f}",
                        "rounds a block": circuit.rounds((m - 1) // 2),
                        "labels a block": found["rows"],
                    }
                )
                print(made[-1], flush=True)
    return made


def picture() -> Any:
    """Who sends what to whom."""
    figure = new_figure((WIDTH, 3.7))
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set_xlim(0, 10)
    axes.set_ylim(0, 5.2)
    heights = (4.3, 2.6, 0.9)
    for name, height, (color, _, _) in zip("abc", heights, LOOKS, strict=False):
        box = {"boxstyle": "round,pad=0.5", "facecolor": "white", "edgecolor": color, "linewidth": 1.6}
        axes.text(1.1, height, f"clinic {name}\nits own vote", ha="center", va="center", fontsize=TEXT, bbox=box)
        axes.text(
            5.1, height, f"party {name}\none share of each vote,\nof the count and of the coin", ha="center",
            va="center", fontsize=TEXT, bbox=box,
        )  # fmt: skip
        axes.text(
            9.0, height, f"party {name}\nthe label, charged\nto its own ledger", ha="center", va="center",
            fontsize=TEXT, bbox=box,
        )  # fmt: skip
        for other in heights:
            axes.annotate(
                "", (3.45, other), (1.95, height), arrowprops={"arrowstyle": "->", "color": color, "alpha": 0.8}
            )
        axes.annotate("", (7.85, height), (6.75, height), arrowprops={"arrowstyle": "->", "color": "black"})
    for high, low in ((4.3, 2.6), (2.6, 0.9)):
        axes.annotate("", (5.1, low + 0.62), (5.1, high - 0.62), arrowprops={"arrowstyle": "<->", "color": REST})
    heads = (
        (2.7, "shares of votes,\none to each"),
        (5.1, "shares of products,\neach to all"),
        (7.3, "shares of labels,\neach to all"),
    )
    for x, text in heads:
        axes.text(x, 5.15, text, ha="center", va="bottom", fontsize=TEXT)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="three parties alone")
    parser.add_argument("--picture", action="store_true", help="the picture alone")
    parser.add_argument("--docs", action="store_true", help="also put table and picture into docs")
    options = parser.parse_args()
    if options.docs or options.picture:
        save(picture(), (DOCS if options.docs else Path(".")) / "shared.svg")
    if options.picture:
        return
    load = os.getloadavg()[1]
    machine = (
        f"{platform.machine()}, {os.cpu_count()} cores for all parties, Python {platform.python_version()}, MPyC "
        f"{version('mpyc')} without gmpy2, loopback device, no TLS. The machine was busy with other work (load "
        f"{load:.0f}): labels a CPU second of the busiest party carry over to parties that have a core each, labels a "
        "second do not."
    )
    content = f"{machine}\n\n{table(lines(options.quick))}"
    print(content)
    if options.docs:
        put("shared", content, DOCS / "howto" / "shared.md")


if __name__ == "__main__":
    main()
