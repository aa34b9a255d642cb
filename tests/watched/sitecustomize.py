"""Every Python that has this folder on PYTHONPATH, and all that it starts, refuses connections that leave the machine.

It writes what was refused to the file $DARRM_WATCH, since code may catch the refusal, and names there what was
unpickled. It watches audit events, which C code raises too and which cannot be taken off again.
"""

import os
import sys
from typing import Any

HERE = {"localhost", "127.0.0.1", "::1", b"localhost", b"127.0.0.1", b"::1", "", b"", None}


def watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = arguments[1]
        there = address[0] if isinstance(address, tuple) else None  # sockets of the file system have no host
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        there = arguments[0]
    elif event == "pickle.find_class":
        note(f"unpickled {arguments[0]}.{arguments[1]}")
        return
    else:
        return
    if there not in HERE:
        note(f"{event} {there!r}")
        raise PermissionError(f"{event} {there!r}: nothing may leave this machine")


def note(line: str) -> None:
    with open(os.environ["DARRM_WATCH"], "a", encoding="utf-8") as file:
        file.write(line + "\n")


if os.environ.get("DARRM_WATCH"):
    sys.addaudithook(watch)
