"""The connections between parties, which MPyC makes: steps that end for all if one party ends, digests compared."""

from __future__ import annotations

import asyncio
import sys
import time
import warnings
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from darrm.errors import BudgetError, DarrmError, InputError, MissingExtraError, PartyError, RepeatedIdError
from darrm.interop.shared_parties import Parties

T = TypeVar("T")

_MPYC = "0.11"
_BYTES = 257  # the field in which digests are compared
_SAID: dict[type[DarrmError], tuple[int, str]] = {
    BudgetError: (1, "its ledger does not cover these labels"),
    RepeatedIdError: (2, "its ledger was charged for an id before"),
    PartyError: (4, "the total of its ledger takes longer than a step may; raise --timeout at all parties"),
    DarrmError: (3, "its votes or files cannot be used"),
}


class Talk:
    """The connections of one party: steps that end for all if one party ends, and comparisons of digests."""

    def __init__(self, parties: Parties, me: int, timeout: float, tls: bool) -> None:
        self._names, self._me, self._timeout = [party.name for party in parties.parties], me, timeout
        _check_version()
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        self.mpc = _runtime(parties, me, tls)
        self._came: set[int] = set()
        self.mpc.set_protocol = partial(self._register, self.mpc.set_protocol)
        if tls:
            self.mpc.set_protocol = partial(_let_in, self.mpc.set_protocol)
        self._loop.set_exception_handler(lambda loop, context: None)  # what ended is said once, by `run`

    def _register(self, register: Callable[[int, Any], None], peer: int, protocol: Any) -> None:
        register(peer, protocol)
        self._came.add(peer)

    def connect(self) -> None:
        start, late = time.monotonic(), False
        try:
            self._loop.run_until_complete(asyncio.wait_for(self.mpc.start(), self._timeout))
        except TimeoutError:
            late = True
        except OSError as error:
            raise InputError(
                f"Party {self._names[self._me]} cannot connect or listen: {error.strerror or error}. Pass a free port "
                "of this machine as its address, and with --tls the certificates in .config."
            ) from error
        absent = [i for i, _ in self._others() if i not in self._came]
        if absent or late:  # also without `late`: MPyC's start ends too if all others that came have left
            missing, unknown = ([self._names[i] for i in each] for each in told_apart(absent, self._me))
            also = f" ({', '.join(unknown)} may only be waiting for others)" if unknown else ""
            raise PartyError(
                f"Not connected after {time.monotonic() - start:.3g} s: {', '.join(missing) or 'a party that left'}"
                f"{also}. Nothing was opened. Start all parties within {self._timeout:g} s of each other, or raise "
                "--timeout at all, with the same file of parties and the same --tls, under which each shows its own "
                "certificate."
            )

    def run(self, step: Coroutine[Any, Any, T], *, opening: bool = False) -> T:
        """What a step returns; `PartyError` if a party is gone or late meanwhile."""
        nothing = "This block was charged; others may have its labels." if opening else "Nothing of it was opened."
        try:
            return self._loop.run_until_complete(self._watched(step, nothing))
        except DarrmError:
            raise
        except Exception as error:  # of MPyC, which stops its loop, as where it sends to a party that is gone
            gone = [name for i, name in self._others() if not _open(self.mpc.parties[i].protocol)]
            raise (_ended(gone[0], nothing) if gone else _not_read(nothing)) from error

    async def _watched(self, step: Coroutine[Any, Any, T], nothing: str) -> T:
        task, watch = asyncio.ensure_future(step), asyncio.ensure_future(self._gone())
        done, _ = await asyncio.wait({task, watch}, timeout=self._timeout, return_when=asyncio.FIRST_COMPLETED)
        for other in (task, watch):
            other.cancel()
        if task in done:
            return task.result()
        if watch in done:
            raise _ended(watch.result(), nothing)
        raise PartyError(
            f"A step took more than {self._timeout:g} s, because a party is late or gone, and the block ended. "
            f"{nothing} Raise --timeout if all are slow."
        )

    async def _gone(self) -> str:
        """The name of a party whose connection has ended, some time after, in which its last messages are read."""
        while True:
            gone = [name for i, name in self._others() if not _open(self.mpc.parties[i].protocol)]
            await asyncio.sleep(0.5 if gone else 0.1)
            if gone:
                return gone[0]

    def agree(self, what: str, action: Callable[[], tuple[bytes, T]]) -> T:
        """The second part of what ``action`` returns, if it raises nothing and all parties have the same first part."""
        error, made = None, None
        try:
            made = action()
        except DarrmError as raised:
            error = raised
        status = 0 if error is None else next(i for kind, (i, _) in _SAID.items() if isinstance(error, kind))
        own = bytes([status]) + (bytes(32) if made is None else made[0])
        try:
            said = self.run(self._exchanged(own))
        except PartyError:
            if error is None:
                raise
        if error is None and made is not None and all(message == own for message in said):
            return made[1]
        self.end()
        if error is not None:
            raise error
        for name, message in zip(self._names, said, strict=True):
            if message[0]:
                reason = next(words for i, words in _SAID.values() if i == message[0])
                raise PartyError(f"Party {name} stopped: {reason}. Nothing of this block was opened.")
        other = next(name for name, message in zip(self._names, said, strict=True) if message != own)
        raise PartyError(f"Party {other} has {what}. Nothing of this block was opened.")

    def end(self) -> None:
        """Say goodbye, where all parties end: so no one hangs up before all have heard what came before."""
        with suppress(PartyError):
            self.run(self._exchanged(bytes(33)))

    async def _exchanged(self, message: bytes) -> list[bytes]:
        """What every party says, in their order. Opened shares, because messages of MPyC are Python pickles."""
        kind = self.mpc.SecFld(_BYTES).array
        own = kind(np.array(list(message), dtype=object))
        said = [self.mpc.input(own, senders=i) for i in range(len(self._names))]
        return [bytes((await self.mpc.output(each)).value.tolist()) for each in said]

    def _others(self) -> Iterator[tuple[int, str]]:
        return ((i, name) for i, name in enumerate(self._names) if i != self._me)

    def close(self) -> None:
        """End all connections; what was sent is delivered."""
        with suppress(Exception):
            self._loop.run_until_complete(self._closed())
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        with suppress(Exception):
            self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.close()
        asyncio.set_event_loop(None)

    async def _closed(self) -> None:
        alive = [one for one in (self.mpc.parties[i].protocol for i, _ in self._others()) if _open(one)]
        ended = self.mpc.parties[self._me].protocol = self._loop.create_future()
        for one in alive:
            one.close_connection()
        if alive:
            await asyncio.wait_for(ended, 2)


def told_apart(absent: Sequence[int], me: int) -> tuple[list[int], list[int]]:
    """Of the parties that did not connect to party ``me``: those that are missing, and those that may wait for them.

    Each party connects to the later ones in their order and waits at one that does not answer. So the first later one
    that is absent did not answer, and those after it were not tried. Between the last earlier one that is absent and
    this party all are there, so it waits for none of them; those before it may wait for it.
    """
    missing = [*[i for i in absent if i < me][-1:], *[i for i in absent if i > me][:1]]
    return missing, [i for i in absent if i not in missing]


def _let_in(register: Callable[[int, Any], None], peer: int, protocol: Any) -> None:
    """Take a connection to be that of party number ``peer``, if its certificate says so; else hang up.

    MPyC looks at the name of the party that listens alone. The party that connects says its number itself, so one with
    a certificate could take the place of another beside its own, and have the shares of two.
    """
    names = protocol.transport.get_extra_info("peercert").get("subjectAltName", ())
    if ("DNS", f"MPyC party {peer}") in names:
        register(peer, protocol)
    else:
        protocol.transport.close()


def _ended(name: str, nothing: str) -> PartyError:
    return PartyError(
        f"The connection to party {name} ended, and the block with it. {nothing} Look for the party that ended first: "
        "the others end because of it."
    )


def _not_read(nothing: str) -> PartyError:
    return PartyError(f"A message of another party could not be read, and the block ended. {nothing}")


def _open(protocol: Any) -> bool:
    transport = getattr(protocol, "transport", None)
    return transport is not None and not transport.is_closing()


@contextmanager
def connected(parties: Parties, me: int, timeout: float, tls: bool) -> Iterator[Talk]:
    talk = Talk(parties, me, timeout, tls)
    try:
        talk.connect()
        yield talk
    finally:
        talk.close()


def check_certificates(me: int) -> None:
    """`InputError` that names the first file of certificates that MPyC would miss: its own error names none."""
    for name in (f"party_{me}.crt", f"party_{me}.key", "mpyc_ca.crt"):
        path = Path(".config", name).absolute()
        if not path.is_file():
            raise InputError(
                f"{path} is missing, which --tls (tls=True) needs. Make it, or run in the folder that has .config."
            )


def _check_version() -> None:
    """`MissingExtraError` unless MPyC is installed in the version whose promises darrm relies on."""
    try:
        found = version("mpyc")
    except ImportError:
        raise MissingExtraError("Labels over shares need MPyC. Run: pip install 'darrm[shared]'") from None
    if found.split(".")[:2] != _MPYC.split("."):  # others may send or promise other things
        raise MissingExtraError(
            f"Labels over shares need MPyC {_MPYC}, whose promises darrm relies on. Got {found}. Run: pip install "
            "'darrm[shared]'"
        )


def _runtime(parties: Parties, me: int, tls: bool) -> Any:
    """MPyC's runtime for this party.

    Its options are read from the arguments of the program. Without PRSS all randomness is the operating system's; with
    --mix32-64bit shares are sent as plain numbers, and nothing that a party sends is unpickled.
    """
    options = ["--no-log", "--no-prss", "--mix32-64bit", *["--ssl"] * tls, "-I", str(me)]
    for party in parties.parties:
        options += ["-P", f"{party.host}:{party.port}"]
    before, sys.argv = sys.argv, ["darrm", *options]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of event loops in new versions of Python
            from mpyc import runtime  # which sets one up, and takes its options away

            sys.argv = ["darrm", *options]
            return runtime.setup()
    finally:
        sys.argv = before
