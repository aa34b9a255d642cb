"""The explorer served on this machine."""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Callable

from darrm.errors import InputError
from darrm.show.explore import create_app, missing

_THREADS = 16
_LOOK = 0.2  # seconds between two looks for whether to end
_LONGEST_REQUEST = 16_384  # bytes of request line and headers; a fixed: prior of the largest K takes some 6000


class Server:
    """A socket that listens, and the explorer behind it.

    Parameters
    ----------
    host : str, default "127.0.0.1"
    port : int in [0, 65535]
        0 takes any that is free.
    allow_remote : bool
        Must be said for a host that other machines can reach: the page has no password.

    Raises
    ------
    InputError
        If the host is not loopback and that was not allowed, or the port cannot be had.
    MissingExtraError
        If flask, waitress or matplotlib is not installed.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 8000, *, allow_remote: bool = False) -> None:
        try:
            import waitress
        except ImportError as error:
            raise missing(error) from None
        if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535:
            raise InputError(f"--port must be an integer in [0, 65535]. Got {port!r}. 0 takes a free port.")
        self.remote = not is_loopback(host)
        if self.remote and not allow_remote:
            raise InputError(
                f"--host {host} can be reached from other machines, and the page has no password. Leave it at "
                "127.0.0.1, or add --allow-remote if that is what you want."
            )
        host = "127.0.0.1" if host == "localhost" else host  # one socket, not one for each kind of address
        shown = f"[{host}]" if ":" in host else host
        everywhere = host in ("0.0.0.0", "::")
        app = create_app(None if everywhere else ("localhost", "127.0.0.1", "[::1]", shown))
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            listening = socket.create_server((host, port), family=family)
        except OSError as error:
            raise InputError(
                f"Port {port} of {host} cannot be had: {error.strerror or error}. Pass another with --port, or 0 for "
                "a free port."
            ) from None
        self.port: int = listening.getsockname()[1]
        self._sockets: dict[int, object] = {}
        self._server = waitress.create_server(
            app,
            map=self._sockets,
            sockets=[listening],
            threads=_THREADS,
            max_request_header_size=_LONGEST_REQUEST,
            channel_request_lookahead=1,  # tells requests that wait whether their client is still there
            ident=None,
        )
        self._ending = threading.Event()
        self.url = f"http://{shown}:{self.port}/"

    def run(self, ready: Callable[[str], None] = lambda url: None) -> None:
        """Serve until interrupted, and then end at once; ``ready`` is called with the address."""
        # Work in progress is in threads that do not outlive this one: there is nothing to save.
        serving = threading.Thread(target=self._serve, daemon=True)
        serving.start()
        ready(self.url)
        while serving.is_alive():
            serving.join(_LOOK)

    def close(self) -> None:
        """End `run`, from another thread."""
        self._ending.set()

    def _serve(self) -> None:
        from waitress import wasyncore

        while not self._ending.is_set():
            wasyncore.loop(timeout=_LOOK, map=self._sockets, count=1)
        # Requests end before the sockets are closed: each writes into the pipe that wakes the loop, by its number.
        self._server.task_dispatcher.shutdown()
        wasyncore.close_all(self._sockets)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
