"""Labels whose votes no one sees: `shared_labels` draws them over secret shares, with MPyC, and opens nothing else.

Every party holds shares of every vote: numbers of which fewer than half of the parties together know nothing. The
parties add votes, look up the table and draw coins over shares (`darrm.interop.shared_circuit`). Then they open the
labels. A label has exactly the law of `darrm.mechanisms.PrivateDecision`, to the last bit of the design's table.

What is promised.  If all parties follow the protocol, fewer than half of them who pool what they see learn the labels
and no more about others' votes. That is MPyC's promise for its operations (Shamir's secret sharing, multiplication by
Gennaro, Rabin and Rabin; passive adversaries), and each operation here is one of them or affine in shares. Nothing is
promised against parties that depart from the protocol: one that changes its part of a product can choose another
noise than the design's. Voters can spoil labels by false votes, but that they are votes is checked. Who is absent is
not hidden: every party sees it, so it must not depend on the data, on votes or on their noise.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import array, not_a_design, plain, real, refusal, shown, truth, whole
from darrm.accounting.ledger import Ledger
from darrm.design.content import problem_in_file
from darrm.design.design import Design
from darrm.errors import InputError, PartyError
from darrm.interop.shared_circuit import Circuit, Shared
from darrm.interop.shared_parties import FORM, Parties
from darrm.interop.shared_talk import check_certificates, connected
from darrm.mechanisms.own_votes import OwnVotes
from darrm.numerics.deadline import OutOfTime, ends_at
from darrm.problem.voter_names import compared
from darrm.votes.rows import Texts, VotesBlock

PROTOCOL = 4  # changes with every change of what parties exchange
_TWO = (
    "Shares of voters that are no parties are of votes between two answers. Got a design with more classes. Let "
    "parties bring the votes."
)
_OF_A_STEP = 0.8  # share of the timeout for the total of a ledger, so that others hear why a party is late
_WORK = 200_000  # products of a block, some seconds' worth


def split_votes(design: Design, parties: Parties, votes: ArrayLike) -> list[NDArray[np.int64]]:
    """Shares of votes for each party, for voters that are no parties: send each party its own over a safe channel.

    Any `Parties.threshold` of the shares of a vote are uniform and independent of it; more determine it.

    Parameters
    ----------
    design : Design
        Between two answers.
    parties : Parties
        Who gets the shares, and the voters, by `Parties.of` or, from the file that all parties have, `Parties.read`.
    votes : array_like of 0 and 1, shape (n,) or (n, voters)
        -1 for an absent voter, if the design is for absent voters; so are its shares.

    Returns
    -------
    list of ndarray of int64, of the shape of ``votes``, one for each party; values in [0, p), p the prime of the field

    Raises
    ------
    InputError
        If a vote is another number, or the design has more answers.

    Notes
    -----
    Shamir's secret sharing: the value at 0 of a polynomial of degree ``threshold`` with coefficients from the operating
    system; party i has the value at i + 1.

    Examples
    --------
    >>> import darrm
    >>> from darrm.interop import Parties, split_votes
    >>> three = [{"name": name, "address": f"{name}.example:11365"} for name in ("x", "y", "z")]
    >>> parties = Parties.of(three, voters=["a", "b", "c"])
    >>> shares = split_votes(darrm.solve(K=3, m=2, epsilon=0.5), parties, [1, 0, 1])
    >>> [share.shape for share in shares]
    [(3,), (3,), (3,)]
    """
    circuit = circuit_of(design, parties)
    if circuit.inputs > 1:
        raise InputError(_TWO)
    ones = array("votes", votes, None, -design.absent, 1, "[]", wholes=True).astype(np.int64)
    p, points = circuit.prime, range(1, len(parties.parties) + 1)
    made = [np.zeros(ones.shape, dtype=np.int64) for _ in points]
    for _ in range(parties.threshold):
        drawn = np.array([secrets.randbelow(p) for _ in range(ones.size)], dtype=np.int64).reshape(ones.shape)
        made = [(share + drawn) * x % p for share, x in zip(made, points, strict=True)]
    return [np.where(ones < 0, -1, (share + ones) % p) for share in made]


def circuit_of(design: Design, parties: Parties) -> Circuit:
    """The circuit of a design for given parties; `InputError` if they are not its voters."""
    if not isinstance(design, Design):
        raise not_a_design("Labels over shares are drawn from a Design", design)
    if not isinstance(parties, Parties):
        raise refusal("parties", "Parties, made by Parties.of or Parties.read", parties)
    places = _places(design, parties)
    return Circuit(design, len(parties.parties), None if design.problem.voters is None else places)


def _places(design: Design, parties: Parties) -> list[int]:
    """The place of each column among the voters of the design."""
    problem = design.problem
    if len(parties.columns) != problem.K:
        raise InputError(f"The design has {problem.K} voters. Got parties with {len(parties.columns)}. {FORM}")
    if problem.voters is None:
        return list(range(problem.K))
    columns, voters = list(map(compared, parties.columns)), list(problem.voters)
    if sorted(columns) != sorted(voters):
        raise InputError(
            f"Parties must bring the voters of the design: {shown(voters)}. Got {shown(list(parties.columns))}."
        )
    return [voters.index(name) for name in columns]


class Pooling(NamedTuple):
    """How many parties may pool what they see, and the labels keep their guarantee against these together.

    Attributes
    ----------
    parties : int
        Fewer than half; with a known randomizer no more than those whose voters are at most the ``colluders`` of each
        group, because a party knows the votes that it brings.
    colluders : dict of int to int
        For each group of a known randomizer with fewer, the ``colluders`` for which fewer than half of the parties may.
    """

    parties: int
    colluders: dict[int, int]


def pooling(design: Design, parties: Parties) -> Pooling:
    """How many parties may pool what they see; `InputError` if one that gets labels brings more than the colluders.

    Examples
    --------
    Of five parties with a voter each two may pool in general, and one if the noise counts on all voters but one:

    >>> import darrm
    >>> from darrm.interop.shared import pooling
    >>> each = [{"name": n, "address": f"{n}.example:11365", "voters": [n]} for n in "abcde"]
    >>> voters = darrm.VoterGroup(5, 1.0, max_affected=1, randomizer="randomized response", colluders=1)
    >>> design = darrm.solve(darrm.DecisionProblem([voters], 0.5), objective=darrm.objectives.truth([0.8]))
    >>> pooling(design, darrm.interop.Parties.of(each))
    Pooling(parties=1, colluders={0: 2})
    """
    groups = design.problem.groups
    known = [] if parties.voters else [g for g, group in enumerate(groups) if group.randomizer is not None]
    of_voter = np.repeat(np.arange(len(groups)), [group.count for group in groups])[_places(design, parties)]
    ends = np.cumsum([0, *(len(party.voters) for party in parties.parties)]).tolist()
    brought = np.array([np.bincount(of_voter[i:j], minlength=len(groups)) for i, j in pairwise(ends)])
    for g in known:
        most_of_one = max(parties.receivers, key=lambda i: brought[i, g])
        count, allowed = int(brought[most_of_one, g]), groups[g].colluders
        if count > allowed:
            raise InputError(
                f"Party {parties.parties[most_of_one].name} knows the votes of its {count} voters, and the noise "
                f"counts on the randomness of all voters but {allowed}: the labels would not keep their guarantee "
                f"against it. Plan with colluders of {count} or more (--colluders)."
            )
    together = {g: np.sort(brought[:, g])[::-1].cumsum() for g in known}  # votes of the parties that bring most
    enough = {g: int(votes[parties.threshold - 1]) for g, votes in together.items()}
    few = [int(np.searchsorted(votes, groups[g].colluders, side="right")) for g, votes in together.items()]
    return Pooling(min([parties.threshold, *few]), {g: n for g, n in enough.items() if n > groups[g].colluders})


class SharedBlock(NamedTuple):
    """Opened labels of some rows, with their ids; no labels at a party that does not get them."""

    ids: Texts
    labels: NDArray[np.uint8]


def shared_labels(
    design: Design,
    blocks: Iterable[VotesBlock | ArrayLike],
    parties: Parties,
    party: str,
    *,
    ledger: Ledger | None = None,
    again: bool = False,
    public: bool = False,
    rows: int | None = None,
    timeout: float = 60.0,
    tls: bool = False,
) -> Iterator[SharedBlock]:
    """Draw labels together with the other parties, of which each runs this in a process of its own, and open them.

    The parties compare the digest of design, parties and settings. For each block of rows they compare ids, and say
    whether their ledgers cover it; share votes; check over shares that they are votes; compute; charge their ledgers;
    and open the labels when all have charged. If a party stops, says something else or is late, the block ends for all
    before its labels are opened. Labels of the blocks before stay released and charged.

    Parameters
    ----------
    design : Design
        The same at all parties. Labels of `Design.rounded` cost less. If it is for absent voters, who is absent must
        not depend on the data, on votes or on their noise: all parties see it.
    blocks : iterable of VotesBlock or array_like, shape (n, voters of this party)
        The votes that this party brings, columns in the order of ``parties``, or its shares of all votes. Other parties
        must have the same rows in the same order. A party that brings no votes passes arrays of no columns. An absent
        voter has -1 if the design is for absent voters, and so has its share at every party.
    parties : Parties
    party : str
        The name of this one.
    ledger : Ledger, optional
        This party's own, charged for each block before it is opened.
    again : bool
        As in `Ledger.charge`.
    public : bool
        Whether the votes behind the prior of the design are public, if it was read from votes: over shares it
        cannot be seen whether they are these.
    rows : int, optional
        Rows of a block; by default so many that a block takes some seconds.
    timeout : float, seconds
        How long a step may take: to connect, or between two messages of a block, and for the total of a ledger.
    tls : bool
        Whether connections are encrypted and both ends show certificates: MPyC's, in the folder .config of the working
        directory (party_0.crt, party_0.key, mpyc_ca.crt). Without, run it on a network that no one else reaches.

    Yields
    ------
    SharedBlock

    Raises
    ------
    InputError
        If an argument cannot be used. If a vote is not one: it names row and column. If a party brings more voters of
        a known randomizer than the ``colluders`` of the design.
    PartyError
        If another party stopped or was late, or has another design, other rows or settings; or if the total of the
        ledger takes too long, before it is charged.
    BudgetError
        If the ledger does not cover a block.
    MissingExtraError
        If MPyC is not installed.

    Notes
    -----
    Products of each label, for one group of K voters, b bits and t = `Parties.threshold`: about 2 K + (2 + t) b; rounds
    of messages: about log2(K) + log2(b) + log2(t) + 12 for each block, and again for each further vector of present
    voters in it. A process can have one run at a time, because
    MPyC has one runtime.

    Examples
    --------
    Three processes on this machine, which `darrm release-shared -M 3` starts; each brings one column:

    >>> import darrm
    >>> import numpy as np
    >>> from darrm.cli import main
    >>> np.savetxt("votes.csv", [[1, 1, 0, 1], [2, 0, 0, 1]], "%d", ",", header="id,a,b,c", comments="")
    >>> darrm.solve(K=3, m=2, epsilon=0.5, bits=8).save("gamma.json")
    >>> main(["release-shared", "gamma.json", "--votes", "votes.csv", "-M", "3", "--out", "labels.csv"])
    0
    """
    circuit, me = circuit_of(design, parties), parties.index(party)
    pooling(design, parties)
    if parties.voters and circuit.inputs > 1:
        raise InputError(_TWO)
    if OwnVotes(design, public):
        raise InputError(
            "The prior of this design was read from votes, and over shares it cannot be seen whether from these. Solve "
            "with another prior, or pass public=True (--votes-are-public) if those votes are public."
        )
    if ledger is not None and not isinstance(ledger, Ledger):
        raise refusal("ledger", "a Ledger of darrm.accounting", ledger)
    size = max(1, _WORK // circuit.work) if rows is None else whole("rows", rows)
    again, tls = truth("again", again), truth("tls", tls)
    timeout = real("timeout", timeout, 0, ends="(]", hint="Pass seconds.")
    if tls:
        check_certificates(me)

    def charge(rows: _Rows, *, check: bool = False) -> tuple[bytes, None]:
        if ledger is not None:
            ids = rows.ids if rows.has_ids else None
            try:
                with ends_at(time.monotonic() + _OF_A_STEP * timeout):
                    if check:
                        ledger.check(design, len(rows.ids), ids=ids, again=again)
                    else:
                        ledger.charge(design, len(rows.ids), note="labels over shares", ids=ids, again=again)
            except OutOfTime:
                raise PartyError(
                    f"Party {party} is late: the total of its ledger takes longer than a step may, {timeout:g} s. "
                    "Its ledger was not charged, and nothing of this block was opened. Raise --timeout at all parties."
                ) from None
        return bytes(32), None

    below = circuit.prime if parties.voters else design.problem.n_classes
    cut = _cut(blocks, len(parties.brought(party)), size, below, absent=design.absent)
    return _Run(design, circuit, parties, me, size).labels(cut, charge, timeout, tls)


def _cut(
    blocks: Iterable[VotesBlock | ArrayLike], width: int, size: int, below: int, *, absent: bool
) -> Iterator[_Rows]:
    """The rows, ``size`` at a time, whatever came at once; `InputError` for a cell that is not in 0, ..., below - 1.

    A cell may be -1 if voters may be ``absent``.
    """
    kept: list[tuple[list[str], NDArray[Any]]] = []
    count, row, has_ids = 0, 1, False
    for block in blocks:
        if isinstance(block, VotesBlock):
            ids, cells, has_ids = list(block.ids), block.votes, block.has_ids
        else:
            cells = plain("votes", block, f"rows of one length, shape (n, {width})")
            ids = list(map(str, range(row, row + len(cells))))
        if cells.ndim != 2 or cells.shape[1] != width:
            raise InputError(f"votes must have shape (n, {width}), a column for each voter. Got shape {cells.shape}.")
        wrong = np.argwhere(~np.isin(cells, np.arange(-absent, below)))
        if len(wrong):
            i, j = wrong[0].tolist()
            raise InputError(
                f"A vote, or a share of one, must be an integer from 0 to {below - 1}"
                f"{' or, for an absent voter, -1' * absent}. Got {shown(cells[i, j].item())} in row {row + i}, column "
                f"{j}."
            )
        row, at = row + len(cells), 0
        while at < len(cells):
            part = slice(at, at + size - count)
            kept.append((ids[part], cells[part].astype(np.int64)))
            at, count = at + len(kept[-1][1]), count + len(kept[-1][1])
            if count == size:
                yield _Rows.of(kept, has_ids)
                kept, count = [], 0
    if count:
        yield _Rows.of(kept, has_ids)


class _Rows(NamedTuple):
    """Rows of a block: ids, which may be numbers of rows, and the cells of this party."""

    ids: Texts
    has_ids: bool
    cells: NDArray[np.int64]

    @classmethod
    def of(cls, parts: list[tuple[list[str], NDArray[Any]]], has_ids: bool) -> _Rows:
        ids = Texts.of(text for texts, _ in parts for text in texts)
        return cls(ids, has_ids, np.concatenate([cells for _, cells in parts]))

    def digest(self, *, attendance: bool) -> bytes:
        """Of the ids, and of who is absent if all parties have all columns."""
        absent = np.packbits(self.cells < 0).tobytes() if attendance else b""
        return hashlib.sha256(self.ids.ends.tobytes() + absent + self.ids.data).digest()


class _Run:
    """One party's part of a run."""

    def __init__(self, design: Design, circuit: Circuit, parties: Parties, me: int, size: int) -> None:
        self._design, self._circuit, self._parties, self._me = design, circuit, parties, me
        tables = (design, *design.fewer.values())
        agreed = {
            "protocol": PROTOCOL,
            "problem": problem_in_file(design.problem),
            "tables": [[value.hex() for value in each.table.ravel().tolist()] for each in tables],
            "without_votes": design.answers_without_votes if design.absent else None,
            "parties": [[party.name, *party.voters] for party in parties.parties],
            "voters": parties.voters,
            "labels_to": parties.labels_to,
            "rows": size,
        }
        self._digest = hashlib.sha256(json.dumps(agreed, sort_keys=True).encode()).digest()

    def labels(
        self, blocks: Iterator[_Rows], charge: Callable[..., tuple[bytes, None]], timeout: float, tls: bool
    ) -> Iterator[SharedBlock]:
        """The labels of each block; see `shared_labels`."""
        with connected(self._parties, self._me, timeout, tls) as talk:
            shared = Shared(talk.mpc, self._circuit)
            talk.agree("another design, other parties or other settings", lambda: (self._digest, None))
            while True:
                rows = talk.agree("other rows, or in another order", lambda: self._next(blocks, charge))
                if rows is None:
                    talk.end()
                    return
                inputs = talk.run(self._inputs(shared, rows.cells))
                wrong = talk.run(shared.of_inputs(inputs))
                if wrong.any():
                    talk.end()
                    raise self._no_vote(wrong, rows.ids)
                present = talk.run(self._present(shared, rows.cells)) if self._design.absent else None
                hidden = talk.run(shared.labels(inputs, present, self._parties.receivers[0]))
                talk.agree("", partial(charge, rows))
                opened = talk.run(shared.opened(hidden, self._parties.receivers), opening=True)
                none = np.zeros(0, dtype=np.uint8)
                yield SharedBlock(rows.ids, none if opened is None else shared.answers(opened))

    def _next(self, blocks: Iterator[_Rows], charge: Callable[..., tuple[bytes, None]]) -> tuple[bytes, _Rows | None]:
        """The next rows, which the ledger covers: else no party charges its own for what will not be opened."""
        rows = next(blocks, None)
        if rows is None:
            return bytes(32), None
        charge(rows, check=True)
        return rows.digest(attendance=bool(self._parties.voters)), rows

    async def _present(self, shared: Shared, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Who is present, which is public: 0 or 1, shape (K, n)."""
        if self._parties.voters:
            return np.asarray(cells.T >= 0, dtype=np.int64)
        parts = []
        for i, party in enumerate(self._parties.parties):
            if party.voters:
                own = cells.T if i == self._me else np.zeros((len(party.voters), len(cells)), dtype=np.int64)
                parts.append(shared.secret((own >= 0).astype(np.int64), i))
        opened = await shared.opened(shared.joined(parts))
        return np.asarray(opened != 0, dtype=np.int64)

    async def _inputs(self, shared: Shared, cells: NDArray[np.int64]) -> Any:
        """Shares of the votes of all voters, a row for each bit: shape (K (C - 1), n). Absent voters have 0."""
        if self._parties.voters:
            return await shared.again(np.maximum(cells, 0).T)
        parts, classes = [], np.arange(1, self._circuit.inputs + 1)
        for i, party in enumerate(self._parties.parties):
            if party.voters:
                own = cells.T if i == self._me else np.zeros((len(party.voters), len(cells)), dtype=np.int64)
                bits = (own[:, np.newaxis] == classes[:, np.newaxis]).astype(np.int64)
                parts.append(shared.secret(bits.reshape(-1, len(cells)), i))
        return shared.joined(parts)

    def _no_vote(self, opened: NDArray[np.int64], ids: Texts) -> InputError:
        """The error of all parties where an input was no vote."""
        at, row = np.argwhere(opened)[0].tolist()
        columns, classes = self._parties.columns, self._circuit.inputs
        bits = len(columns) * classes
        voter = columns[at // classes if at < bits else at - bits]
        return InputError(
            f"What voter {shown(voter)} brought for the row with id {shown(list(ids)[row])} is not a vote. Nothing of "
            "this block was opened."
        )
