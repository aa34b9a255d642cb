"""The command line: every command with arguments and option values of all kinds, in-process.

Commands and options are those that the program has. Values that ask for more than some seconds of honest work (many
voters, millions of labels, clusters) are left out, and so are devices and paths outside the working folder.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import warnings
from pathlib import Path
from typing import Any

import click
from hypothesis import strategies as st
from judging import Finding, confirm
from material import GROUPS, LEDGERS, PROBLEMS, good
from mutate import Draw, broken, rarely, words

SKIPPED = {"explore"}  # it serves until it is interrupted
SLOW = {"demo": 40, "report": 6}  # one case of so many
NAMES = words(
    """gamma.json gamma.json failing.json even.json one.json groups.json absent.json none.json classes.json named.json
    both.json whole.json votes3.csv votes3.csv votes3.parquet votes4.csv votes5.csv
    fresh.json fixed.json basic.json table.csv table.jsonl table.parquet eta.csv problems.csv spoiled empty folder
    missing new.json new.csv new.jsonl new.parquet new.png new.svg new.pdf new.html new . .. folder/new.csv - --out
    missing/new.csv gamma.json/new \udcff.csv \u00e9.csv link.json loop.json ~"""
)
NAMES += ["", "a b.json", "x" * 300, "x" * 300 + ".csv"]
ODD = words(
    """nan inf -inf -1 0 -0 1e400 -1e400 1e-400 5e-324 1e308 0x10 1_0 \uff11\uff11 \u0661\u0661 1e99999999 true 1,2 1:2
    1:1e9 0:1:1e-9 , : :: a \udcff \x1b[31m [bold] %s {} ' " -- -h None [] 1e-5"""
)
ODD += ["", " ", " 3 ", "3\n", "3\r4", "\u2028", "\x85", "9" * 400, "9" * 5000, "x" * 2000]
USUAL = {
    "K": ["1", "2", "3", "3", "4", "5", "7", "11", "21", "3002", "1e9"],
    "m": ["1", "2", "1.5", "3", "11"],
    "epsilon": ["0.1", "1", "0.5", "1e-3", "5", "50", "745", "1e6", "1e-300", "5e-324"],
    "Delta": ["0", "1e-5", "0.01", "0.3", "0.999", "1e-300"],
    "delta": ["0", "1e-5", "0.01", "0.5", "0.999", "1e-300"],
    "max_affected": ["1", "2", "3"],
    "queries": ["1", "2", "10", "100", "1e3", "9007199254740993"],
    "total_epsilon": ["0.1", "1", "3", "10", "100", "1e6"],
    "total_delta": ["0", "1e-6", "1e-5", "0.01", "0.5"],
    "draws": ["1", "2", "100", "1000"],
    "n": ["1", "5", "1000", "1e10"],
    "seed": ["0", "1", "99999999999999999999999"],
    "jobs": ["1", "1", "1", "0", "-2", "5000"],
    "time_limit": ["0", "1e-9", "0.01", "1", "5"],
    "prior": [
        "uniform",
        "common",
        "common:2,2",
        "independent:0.5,0.9",
        "votes:1,2,3,4",
        "votes:votes3.csv",
        "fixed:0.5,0.6,0.7",
    ],
    "priors": ["uniform", "common:2,2", "votes:1,2,3,4"],
    "voters": ["fresh", "fresh", "fixed"],
    "adjacency": ["add-remove", "[bold]x"],
    "eta": ["eta.csv", "beta:1,2", "beta:0.5,0.5", "model:x"],
    "group": ["3:1", "2:1", "2:1:0.001:1", "1:inf", "4:0.5", "3:auto", "2:0.3:1e-5", "1:1:0:1", "1:5e-324"],
    "accuracy": ["0.7", "0.7,0.6", "0.7,0.6,0.5", ".9:.1/.2:.8", ".8:.1:.1/.1:.8:.1/.1:.1:.8", "1", "0"],
    "base_accuracy": ["0.85", "0.9,0.8", "0.5", "1"],
    "cost": ["0,5,1,0", "0,1,1,0,.3,.3", "0,1,1,1,0,1,1,1,0", "0,0,0,0"],
    "classes": ["2", "3", "no,yes", "a,b,c", "255", "256"],
    "none": ["0.3", "0", "1", "5"],
    "objective": ["tv", "disagreement", "truth", "majority", "plurality", "at-least:2", "weights:1,2", "weights:1"],
    "profile": ["0.5:0.2,inf:0", "0:0.5", "1:0.1"],
    "at_most": ["1", "2"],
    "aggregator_epsilon": ["1", "50"],
    "noise_multiplier": ["1", "3", "0.3", "30", "1e-3", "1e6"],
    "sampling_rate": ["0.01", "1", "0.5"],
    "steps": ["1", "10", "100"],
    "times": ["1", "2", "100", "9007199254740993"],
    "note": ["a count", "two\nlines", "x" * 301],
    "rule": ["exact", "in-advance", "renyi-filter", "basic-filter"],
    "names": ["rr", "llp", "llp-laplace", "llp-geometric", "darrm"],
    "randomizer": ["response", "response", ".9:.1/.1:.9", ".7:.3/.2:.8", "1:0/0:1"],
    "colluders": ["0", "1", "0,1", "3"],
    "fallback_epsilon": ["1", "6", "inf"],
    "bits": ["1", "4", "16", "50", "51"],
    "release_epsilon": ["1", "0.5", "0.5,1", "0.3,1,2"],
    "noisy_max": ["4", "40", "1e-3", "1e9"],
    "columns": ["a,b,c", "a", "a,a,b"],
    "party": ["a", "b"],
    "rows": ["1", "100"],
    "M": ["2", "4", "0", "1e9"],  # of three and more parties each is a process
    "timeout": ["1e-9", "0", "nan"],
    "extra": ["mine=0,0.5,0.5,0", "mine"],
    "kind": ["group 1", "several groups"],
    "max_minutes": ["1", "0"],
    "epsilons": ["1", "0.5,1", "0,inf", "0.1"],
    "sizes": ["1", "2", "2,4"],
}
# What a command needs beside what it always does: voters in groups, or all alike.
NEEDED = {
    "solve": words("group total_epsilon accuracy"),
    "plan": words("group max_affected voters base_accuracy"),
    "compare": words("group max_affected voters base_accuracy queries total_epsilon total_delta"),
}
ALIKE = {
    "solve": words("K m epsilon"),
    "plan": words("K epsilon max_affected voters base_accuracy"),
    "compare": words("K m epsilon"),
    "table": words("K m epsilon"),
    **dict.fromkeys(("budget", "ledger"), ("voters", "total_epsilon", "total_delta", "delta", "queries")),
}
OF_GROUPS = words("group cost classes none ordered absent accuracy at_most aggregator_epsilon")
OF_ALIKE = words("K m epsilon Delta shape both_shapes engine randomized_response prior draws objective")
FORBIDDEN = {"jobs": {"-1"}, "scheduler": None}  # many processes, and the network


def leaves(command: click.Command, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], click.Command]]:
    """All commands that do something, with the words that call them."""
    if isinstance(command, click.Group):
        return [found for name, inner in command.commands.items() for found in leaves(inner, (*path, name))]
    return [] if path[0] in SKIPPED else [(path, command)]


def _value(draw: Draw, param: click.Parameter, command: str, *, calm: bool) -> str:
    kind = 5 if calm else draw(st.integers(0, 11))
    name = str(param.name)
    if kind == 0:
        value = draw(st.sampled_from(ODD))
    elif kind == 1:
        value = draw(st.text(st.characters(exclude_characters="/\0"), max_size=6))
    elif isinstance(param.type, click.Choice) and kind < 10:
        value = draw(st.sampled_from(list(param.type.choices)))
    elif name in USUAL and kind < 11:
        value = draw(st.sampled_from(USUAL[name]))
    else:
        value = draw(st.sampled_from(NAMES))
    if isinstance(value, str) and name == "backend" and value == "dask":
        return "loky"
    if name == "K" and command in ("plan", "compare") and value == "3002":  # honest work for minutes
        return "2"
    return "1" if value.strip() in FORBIDDEN.get(name, ()) else value


def _path_value(draw: Draw, param: click.Parameter, command: str, *, calm: bool) -> str:
    """Mostly a file of the right kind."""
    likely = {
        "file": [*PROBLEMS, *GROUPS],
        "designs": ["gamma.json", "failing.json", "groups.json", "classes.json"],
        "ledger": [*LEDGERS, "new.json"],
        "ledger_path": [*LEDGERS],
        "votes_path": ["votes3.csv", "votes3.parquet", "votes4.csv", "votes5.csv"],
        "out": ["new.csv", "new.json", "new.parquet", "new.jsonl", "new.html"],
        "problems": ["problems.csv"],
        "plot": ["new.png", "new.svg"],
    }
    if command == "verify" and draw(st.booleans()):
        return str(draw(st.sampled_from(["table.csv", "table.jsonl", "table.parquet"])))
    if calm or draw(st.integers(0, 4)):
        return str(draw(st.sampled_from(likely.get(str(param.name), NAMES))))
    return str(draw(st.sampled_from(NAMES)))


@st.composite
def commands(draw: Draw) -> dict[str, Any]:
    from darrm.cli import app

    path, command = draw(st.sampled_from(leaves(app)))
    rare = SLOW.get(path[0], 1)
    if rare > 1 and draw(st.integers(1, rare)) > 1:
        path, command = draw(st.sampled_from([one for one in leaves(app) if one[0][0] not in SLOW]))
    groups: list[list[str]] = []
    of_groups, calm = draw(st.booleans()), draw(st.integers(0, 2)) > 0
    for param in command.params:
        name = str(param.name)
        if name == "scheduler" or (name == "plot" and draw(st.integers(0, 19))):
            continue
        needed = param.required or name in (NEEDED if of_groups and path[0] in NEEDED else ALIKE).get(path[0], ())
        other = name in (OF_ALIKE if of_groups else OF_GROUPS) and path[0] in NEEDED
        if rarely(draw, 60 if calm else 30):
            continue
        if not needed and not rarely(draw, 60 if other and calm else 30 if other else 2):
            continue
        twice = isinstance(param, click.Option) and rarely(draw, 5 if param.multiple else 60)  # only some take several
        for _ in range(2 if twice else 1):
            value = (
                _path_value(draw, param, path[0], calm=calm)
                if isinstance(param.type, click.Path)
                else _value(draw, param, path[0], calm=calm)
            )
            if isinstance(param, click.Argument):
                groups.append([value])
            elif param.is_flag:
                groups.append([draw(st.sampled_from([*param.opts, *param.secondary_opts]))])
            else:
                flag = draw(st.sampled_from(param.opts))
                groups.append([f"{flag}={value}"] if draw(st.integers(0, 5)) == 0 else [flag, value])
    if rarely(draw, 14):
        odd = [
            "--",
            "-h",
            "--help",
            "--version",
            "--nonsense",
            "-x",
            "extra",
            "--json=1",
            "",
            "-",
            "--=",
            "=",
            "\udcff",
        ]
        groups.insert(draw(st.integers(0, len(groups))), [draw(st.sampled_from(odd))])
    args = [*path, *(word for group in groups for word in group)]
    if rarely(draw, 40):
        args = args[draw(st.integers(0, len(args))) :]
    case: dict[str, Any] = {"args": args, "columns": draw(st.sampled_from(["80", "80", "20", "1", "0", "300", "x"]))}
    if "spoiled" in args:
        case["spoiled"] = broken(draw, good()[draw(st.sampled_from(sorted(good())))])
    return case


def run_command(case: dict[str, Any]) -> str:

    import darrm
    from darrm.cli import main
    from darrm.cli.endings import BAD_INPUT, BUDGET_SPENT, DEFECT, ENDINGS, NOT_WRITTEN

    args = case["args"]
    if "explore" in args or any(word.strip() in ("dask", "--scheduler") or word.startswith("/") for word in args):
        return "left out"
    for name, content in good().items():
        Path(name).write_bytes(content)
    Path("spoiled").write_bytes(case.get("spoiled", b"\xff{"))
    Path("empty").write_bytes(b"")
    Path("folder").mkdir()
    Path("link.json").symlink_to("gamma.json")
    Path("loop.json").symlink_to("loop.json")
    before = _tree()
    os.environ["COLUMNS"] = case["columns"]
    out, err = io.StringIO(), io.StringIO()
    with (
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        warnings.simplefilter("always")
        status = main(args)
    after = _tree()
    said = err.getvalue().split("\n")[:-1]
    if status not in {ending.status for ending in ENDINGS} - {DEFECT.status}:
        raise Finding(f"exit status {status!r}: {said[-1:]}")
    refused = status in {BAD_INPUT.status, BUDGET_SPENT.status, NOT_WRITTEN.status}  # a table ends with others, too
    if caught:
        raise Finding(f"a warning: {caught[0].category.__name__} at {_near(caught[0].filename)}: {caught[0].message}")
    if "--log-json" in args:
        said = [str(json.loads(line)["message"]) for line in said if line.startswith("{")] or said
    said = [line for line in said if not line.startswith("darrm: The prior ")]  # a warning
    errors = [line for line in said if line.startswith("darrm: ")]
    others = [line for line in said if not line.startswith("darrm: ")]
    if any("Traceback" in line for line in said):
        raise Finding(f"a traceback: {said}")
    if refused and not any(line.startswith("Usage:") for line in said):
        if len(errors) != 1 or not all(line.startswith("Wrote ") for line in others):
            raise Finding(f"not one line on standard error: {said}")
        if out.getvalue() and "--json" not in args and len(others) == 0 and args[0] != "demo":
            raise Finding(f"an error after output: {out.getvalue()[:300]!r}, {said}")
    if status == 0 and errors:
        raise Finding(f"an error and exit status 0: {said}")
    strange = {name for name in after if name not in before and (".part" in name or ".waiting" in name)}
    if strange:
        raise Finding(f"left behind: {strange}")
    if refused:
        # What was written before a picture fails stays; what stood there must, too, or be the whole of an output.
        gone = before.keys() - after.keys()
        changed = [
            name for name in before if name in after and after[name] != before[name] and name not in " ".join(args)
        ]
        if gone or changed:
            raise Finding(f"exit status {status}, and {gone} are gone, {changed} changed")
    options = args[: args.index("--")] if "--" in args else args
    if "--json" in options and not {"-h", "--help", "--version"} & set(args):
        try:
            json.loads(out.getvalue(), parse_constant=_refuse)
        except ValueError as error:
            raise Finding(f"--json printed no JSON object: {error}: {out.getvalue()[:300]!r}") from None
    if status == 0 and args[0] in ("solve", "plan"):
        for name in after:
            if name.endswith(".json") and before.get(name) != after[name]:
                return confirm(darrm.load(name))
    return f"status {status}"


def _tree() -> dict[str, bytes | None]:
    """All files of the working folder; locks, which stay, left out."""
    found = {}
    for path in Path().rglob("*"):
        if path.suffix != ".lock":
            found[str(path)] = path.read_bytes() if path.is_file() else None
    return found


def _near(file: str) -> str:
    return "/".join(Path(file).parts[-3:])


def _refuse(name: str) -> None:
    raise ValueError(name)
