"""A PostgreSQL server of our own on 127.0.0.1, in a folder that goes away; not as root, which the server refuses."""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path


class Server:
    """A server that runs until `stop`."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="darrm-postgres-"))
        self.data = self.folder / "data"
        self.prefix: list[str] = []
        if os.getuid() == 0:
            user = next(name for name in ("postgres", "nobody") if name in {known.pw_name for known in pwd.getpwall()})
            shutil.chown(self.folder, user)
            self.prefix = ["runuser", "-u", user, "--"]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.run("initdb", "-D", self.data, "-A", "trust", "-U", "darrm", "--no-sync", "-E", "UTF8", "--no-locale")
        self.start()

    @property
    def url(self) -> str:
        return f"postgresql://darrm@127.0.0.1:{self.port}/postgres"

    def run(self, program: str, *arguments: object) -> None:
        command = [*self.prefix, f"{binaries()}/{program}", *map(str, arguments)]
        log = (self.folder / "log").open("ab")
        with log:
            subprocess.run(command, cwd="/", check=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=120)

    def start(self, **settings: str) -> None:
        more = {"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "port": str(self.port), **settings}
        options = " ".join(f"-c {name}='{value}'" for name, value in more.items())
        self.run("pg_ctl", "-D", self.data, "-l", self.data / "server.log", "-w", "-o", options, "start")

    def stop(self, how: str = "fast") -> None:
        """``how``: "fast" ends transactions, "immediate" is a crash."""
        self.run("pg_ctl", "-D", self.data, "-m", how, "-w", "stop")

    def close(self) -> None:
        with suppress(subprocess.CalledProcessError):  # it does not run
            self.stop("immediate")
        for _ in range(20):  # its last process may still write
            shutil.rmtree(self.folder, ignore_errors=True)
            if not self.folder.exists():
                break
            time.sleep(0.1)


def binaries() -> str | None:
    """The folder of the server's programs, None if there is none."""
    found = shutil.which("pg_ctl")
    return os.path.dirname(found) if found else max(glob.glob("/usr/lib/postgresql/*/bin"), default=None)


def missing() -> str:
    """Why there can be no server here; empty if there can."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "needs psycopg: pip install 'darrm[postgres]'"
    if binaries() is None:
        return "needs a PostgreSQL server: install Debian's postgresql-15 or the like"
    if os.getuid() == 0 and shutil.which("runuser") is None:
        return "needs runuser, since the server does not run as root"
    return ""
