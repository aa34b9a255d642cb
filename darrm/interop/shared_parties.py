"""Who computes labels over shares together, from a file that all of them have."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, NamedTuple

from darrm._validation import path as check_path
from darrm._validation import shown
from darrm.errors import InputError
from darrm.storage.sealed_json import parsed

FORM = 'Pass a file such as {"parties": [{"name": "north", "address": "10.0.0.1:11365", "voters": ["a", "b"]}, ...]}.'


class Party(NamedTuple):
    """A party: its name, where it listens, and the voters whose votes it brings, by the names of their columns."""

    name: str
    host: str
    port: int
    voters: tuple[str, ...]

    @property
    def is_here(self) -> bool:
        """Whether it listens on this machine's loopback device, which no network carries."""
        try:
            return ip_address(self.host.strip("[]")).is_loopback
        except ValueError:  # a name
            return self.host == "localhost"


@dataclass(frozen=True)
class Parties:
    """Who computes labels together: the same names and voters at every party, whose addresses may differ for each.

    Attributes
    ----------
    parties : tuple of Party
        Three or more, with different names and addresses.
    voters : tuple of str
        All voters, if they are no parties and each party holds shares of all votes. Empty if parties bring votes. If
        the design does not name its voters, they are in the order of its groups, there or over all parties.

    labels_to : tuple of str
        The names of the parties that get the labels; empty for all.

    Raises
    ------
    InputError
        If there are fewer than three, or two have a name, an address or a voter in common.

    Examples
    --------
    Three clinics, each with its own vote; any one of them learns the labels alone:

    >>> from darrm.interop import Parties
    >>> addresses = {"a": "10.0.0.1:11365", "b": "10.0.0.2:11365", "c": "10.0.0.3:11365"}
    >>> parties = Parties.of([{"name": n, "address": at, "voters": [n]} for n, at in addresses.items()])
    >>> parties.threshold, parties.columns
    (1, ('a', 'b', 'c'))
    """

    parties: tuple[Party, ...]
    voters: tuple[str, ...] = ()
    labels_to: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        each, columns = self.parties, [voter for party in self.parties for voter in party.voters]
        if len(each) < 3:
            raise InputError(
                f"There must be three parties or more: of two, each could compute the other's votes. Got {len(each)}."
            )
        if columns and self.voters:
            raise InputError("Either parties bring votes or hold shares of all voters. Got voters for both.")
        if not self.columns:
            raise InputError(f"No party brings a vote, because none has voters. {FORM}")
        for name in self.labels_to:
            self.index(name)
        for what, values in (
            ("name", [party.name for party in each]),
            ("address", [f"{party.host}:{party.port}" for party in each]),
            ("voter", [*self.columns]),
        ):
            twice = [value for i, value in enumerate(values) if value in values[:i]]
            if twice:
                raise InputError(f"Parties must be different. Got the {what} {shown(twice[0])} twice.")

    @classmethod
    def of(
        cls, parties: Iterable[dict[str, Any]], voters: Iterable[str] = (), labels_to: Iterable[str] = ()
    ) -> Parties:
        """Parties from plain values, as a file has them; `InputError` if they are others."""
        made = []
        for party in parties:
            if not isinstance(party, dict) or not {"name", "address"} <= party.keys() <= {"name", "address", "voters"}:
                raise InputError(f"A party must have a name, an address and perhaps voters. Got {shown(party)}. {FORM}")
            host, _, port = str(party["address"]).rpartition(":")
            if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
                raise InputError(f"An address must be HOST:PORT. Got {shown(party['address'])}. {FORM}")
            made.append(Party(_texts([party["name"]])[0], host, int(port), _texts(party.get("voters", []))))
        return cls(tuple(made), _texts(voters), _texts(labels_to))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Parties:
        """Parties from a JSON file; `InputError` if it is missing or holds others."""
        try:
            content = parsed(check_path("path", path).read_text(encoding="utf-8-sig"))
            keys = {"parties", "voters", "labels_to"}
            if not isinstance(content, dict) or not {"parties"} <= content.keys() <= keys:
                raise InputError(f"it must be an object with parties, and perhaps voters and labels_to. {FORM}")
            if not isinstance(content["parties"], list):
                raise InputError(f"parties must be a list. {FORM}")
            return cls.of(content["parties"], content.get("voters", []), content.get("labels_to", []))
        except OSError as error:
            raise InputError(f"{path} could not be read: {error.strerror}. {FORM}") from error
        except InputError as error:
            raise InputError(f"{path} does not say who the parties are: {error}") from None
        except ValueError as error:
            raise InputError(f"{path} is not a JSON file ({error}). {FORM}") from error

    @property
    def columns(self) -> tuple[str, ...]:
        """All voters; if the design does not name its own, in the order of its groups."""
        return self.voters or tuple(voter for party in self.parties for voter in party.voters)

    @property
    def threshold(self) -> int:
        """How many parties together see labels alone, if all follow the protocol: fewer than half."""
        return (len(self.parties) - 1) // 2

    @property
    def receivers(self) -> tuple[int, ...]:
        """The places of the parties that get the labels."""
        return tuple(map(self.index, self.labels_to)) or tuple(range(len(self.parties)))

    def index(self, name: str) -> int:
        """The place of a party; `InputError` if there is none of that name."""
        names = [party.name for party in self.parties]
        if name not in names:
            raise InputError(f"party must be one of {', '.join(names)}. Got {shown(name)}.")
        return names.index(name)

    def brought(self, name: str) -> tuple[str, ...]:
        """The columns that a party reads: of its votes, or of its shares of all votes."""
        return self.voters or self.parties[self.index(name)].voters


def _texts(values: object) -> tuple[str, ...]:
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) and value.strip() for value in values):
        raise InputError(f"Names must be a list of texts. Got {shown(values)}. {FORM}")
    return tuple(values)
