"""Release the labels of one night, once, however often this runs: python nightly.py 2026-11-28"""

import json
import subprocess
import sys
from datetime import date
from pathlib import Path

DARRM = [sys.executable, "-m", "darrm"]


def status(returncode: int) -> int:
    """The exit status as a shell has it. A darrm that a signal ends says nothing, and Python gives minus the signal."""
    if returncode < 0:
        print(f"Signal {-returncode} ended darrm. Run this again.", file=sys.stderr)
    return returncode if returncode >= 0 else 128 - returncode


def release(night: date) -> int:
    """The exit status of darrm. Only 5, one above 128, and 2 where votes have not arrived, are worth another run.

    0 done, 1 the design's guarantee does not hold, 2 a file is missing (votes that have not arrived) or wrong, 3 budget
    spent, 4 a search found no design (a release makes none), 5 try again, 6 other votes under an id of before, 128 + n
    signal n ended it (137: killed).
    """
    key, votes, out = Path(f"keys/{night:%Y-%m}.key"), Path(f"votes/{night}.csv"), Path(f"labels/{night}.csv")
    if not votes.exists():  # before a key is made for it
        print(f"{votes} is missing.", file=sys.stderr)
        return 2
    if not key.exists():
        made = subprocess.run([*DARRM, "key", str(key)], stderr=subprocess.PIPE, text=True)
        if made.returncode and not key.exists():  # else another run made it: a key with a name is whole
            print(made.stderr, end="", file=sys.stderr)
            return status(made.returncode)
    command = [*DARRM, "release", "design.json", "--votes", str(votes), "--out", str(out), "--overwrite"]
    command += ["--ledger", "ledger.db", "--key", str(key), "--note", str(night), "--json", "--log-json"]
    ended = subprocess.run(command, stdout=subprocess.PIPE)
    if ended.returncode:
        return status(ended.returncode)
    answer = json.loads(ended.stdout)
    left = answer["left"]
    print(f"{night}: {answer['labels']} labels, {answer['charged']} charged, left: {'any' if left is None else left}")
    if not answer["charged"]:
        print("All were charged before, and are written again: by the key the same labels, byte for byte.")
        print("If no other run released this night, these are the votes of another night.")
    if left is not None and left < 7 * answer["labels"]:
        print("The budget ends within a week." if left else "The budget is spent.", file=sys.stderr)
    return 0


if __name__ == "__main__":
    try:
        (night,) = map(date.fromisoformat, sys.argv[1:])
    except ValueError:
        print(f"nightly.py takes one date, such as 2026-11-28. Got {sys.argv[1:]}.", file=sys.stderr)
        sys.exit(2)
    sys.exit(release(night))
