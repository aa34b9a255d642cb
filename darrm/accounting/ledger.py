"""The ledger: counts releases against a privacy budget and refuses a release that would exceed it.

Keep one ledger for one set of voters. The budgets of two ledgers add up if the voters are fresh and no row of votes has
a label in both, which neither ledger can check. For fixed voters even the sum is not a guarantee: only the voters' own
cost covers the labels of both. Other voters on the same records cost extra.

A charge is on disk before labels are released. The rule of the ledger composes the charges: `darrm.accounting.rules`.
No charge depends on the votes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

from darrm._validation import check_count, truth
from darrm.accounting import rules
from darrm.accounting.accounts import Account, Labels, NoisyLabels, Other, checked_note
from darrm.accounting.charges import account_of, labels_of
from darrm.accounting.leases import Lease
from darrm.accounting.ledger_ids import Batch, Entered, batch_of, enter
from darrm.accounting.ledger_making import new_state
from darrm.accounting.ledger_state import State
from darrm.accounting.ledger_store import Change, Store
from darrm.accounting.noisy_max import CountMechanism
from darrm.accounting.released_once import check_ids, take_again
from darrm.accounting.rules import noise
from darrm.accounting.rules.voters import check_names, keep_names, other_voters, voters_of
from darrm.certificate.certificate import verify
from darrm.design.design import Design
from darrm.errors import CertificateError, InputError
from darrm.problem.decision import AnyProblem
from darrm.storage.atomic import part_of, resolved

_MOST_AT_ONCE = 2**53  # labels; the largest exact integer of JSON
_HISTORY = "number time host what digest n note stream ids ids_digest lease"
COLUMNS = tuple(_HISTORY.split())


_Kind = TypeVar("_Kind", bound=Account)


class _UndoneError(Exception):
    """Ends a transaction without effect."""


class Balance(NamedTuple):
    """The budget of one kind of change, and what its releases cost together; see `Ledger.balances`."""

    total_epsilon: float
    total_delta: float
    epsilon: float
    delta: float


class Ledger:
    """A count of releases against a privacy budget; made by `create`, opened by ``Ledger(path)``.

    ``path`` is a file, an SQLite database, or the URL of a PostgreSQL server, ``postgresql://user@host/database#name``,
    which several hosts can charge. There ``name`` is a schema, "darrm" if none is given.

    Attributes
    ----------
    path : Path or str
        The path of the file, without links; of a ledger on a server its URL, without a password.

    Examples
    --------
    >>> import darrm
    >>> design = darrm.solve(K=11, m=3, epsilon=0.1)
    >>> ledger = darrm.accounting.Ledger.create(
    ...     "ledger.db", total_epsilon=4, total_delta=1e-6, voters="fresh", rule="in-advance"
    ... )
    >>> ledger.charge(design, 12, note="labels of Monday")
    >>> ledger.charge((0.5, 0.0), adjacency="replace-one", note="a count")
    >>> epsilon, delta = ledger.spent()
    >>> print(f"({epsilon:.3f}, {delta:g})")
    (3.600, 1e-06)
    >>> ledger.remaining(design)
    2
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._store = Store(path)
        self.path = self._store.path
        if isinstance(self.path, Path) and not self.path.is_file():
            what = "is not a ledger file" if self.path.exists() else "does not exist"
            hint = "Pass the path of a ledger, or make one. Run: darrm ledger create --help"
            raise InputError(f"{path} {what}. {hint}") from None if self.path.exists() else FileNotFoundError(path)
        self._state()
        self._store.history()

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        design: Design | CountMechanism | Sequence[CountMechanism] | None = None,
        *,
        total_epsilon: float | Sequence[float],
        total_delta: float | Sequence[float],
        fallback_epsilon: float | Sequence[float] | None = None,
        voters: str | None = None,
        rule: str = "exact",
        adjacency: str | None = None,
    ) -> Ledger:
        """Create a new ledger file.

        Parameters
        ----------
        path : path
            A path that does not exist yet. Keep the file on a local disk, because locks of network file systems are not
            always reliable; for several hosts pass the URL of a PostgreSQL server.
        design : Design, GaussianNoisyMax, ConfidentNoisyMax without a cap, or a list of the latter two, optional
            What releases the labels; needed by the rule "exact".
        total_epsilon, total_delta : float, or a list of one for each kind of change
            The privacy budget for all charges. A list is for a design with a limit for each group, by the rule "exact":
            labels end when the first budget is spent.
        fallback_epsilon : float, or a list of one for each kind of change, optional
            For labels by a known randomizer: a second budget, (fallback_epsilon, total_delta), which all charges keep
            if only the affected voters randomize as stated and the others may be any mechanism; at least
            ``total_epsilon``. A charge beyond it is refused. Without it, or infinite, there is none: see `fallback`.
        voters : {"fresh", "fixed"}
            No default, unless the rule is "exact" and all voters of the design are non-private; see
            `darrm.accounting.compose`. Fixed voters are one set of voters, whose cost is charged once for all their
            answers. You must make sure that all labels come from the same voters: a ledger sees only their number,
            their privacy parameters, and their names, if there are any. If the budget does not cover the voters' own
            cost, rule "exact" allows as many labels as the output noise protects.
        rule : {"exact", "in-advance", "renyi-filter", "basic-filter"}
            How charges add up, and whether they may be chosen by earlier outputs (adaptively):

            * "exact": queries and when to stop may be; there is one mechanism.
            * "in-advance": no, the list of charges is fixed in advance, unless all are labels of fixed voters.
            * "renyi-filter" and "basic-filter": yes, these are privacy filters.

            The last three were called "composed", "renyi" and "basic", names that are still taken.

            "exact": labels of this design only, by their exact adaptive composition. For noisy max, labels of this
            sigma, by `compose` for any numbers of votes and classes. Queries, and when to stop, may depend on
            earlier labels. Of a list of noisy max the next sigma may too: each label takes a share of the budget by its
            sigma (a privacy filter). Labels of more noise than one in the list are charged as that one.

            "in-advance": any mechanisms, by the composition of all of them, the tightest bound. The list of charges,
            and the number of uses of each, must be *fixed in advance*, independently of any release, and the whole list
            must be within the budget. The order of releases and the queries may depend on answers, and you may stop
            early. If the order depends on answers, do not charge another mechanism in place of a refused charge: that
            breaks the guarantee.

            "renyi-filter": any mechanisms, also chosen by earlier outputs (fully adaptive): a privacy filter by Renyi
            divergences of one order. A tenth of ``total_delta`` is reserved for events without a finite divergence. One
            use answers once: the checkpoints of a training run are charged one by one. A label of noisy max spends the
            divergence of its noisy counts, so fewer fit than by "exact", and their noise may depend on earlier labels.

            "basic-filter": designs and pairs (epsilon, delta), also chosen by earlier outputs (fully adaptive), by
            their sums (Rogers, Roth, Ullman, Vadhan, NeurIPS 2016).

            "renyi-filter" and "basic-filter" add up single labels, which is invalid for fixed voters.
        adjacency : str, optional
            The neighbouring relation of all charges; that of the design if one is given, else "replace-one".

        Raises
        ------
        InputError, OutputError
        BudgetError
            If the budget does not allow a single label of ``design``.
        """
        state = new_state(design, total_epsilon, total_delta, fallback_epsilon, voters, rule, adjacency)
        Store(path).create(state)
        return cls(path)

    def __repr__(self) -> str:
        return f"Ledger({os.fspath(self.path)!r})"

    def charge(
        self,
        what: object,
        n: int = 1,
        *,
        adjacency: str | None = None,
        note: str = "",
        ids: Iterable[str] | Batch | None = None,
        again: bool = False,
    ) -> None:
        """Charge ``n`` uses of a mechanism to the budget. The charge is on disk when this returns: release after it.

        Parameters
        ----------
        what : Design, GaussianNoisyMax, (epsilon, delta), or an event or privacy loss distribution of dp-accounting
            A design and noisy max mean one label; that of noisy max is for a change of its ``max_affected`` votes,
            whatever change of the records that is, and all charges of noisy max have the same ``max_affected``. A
            query of `ConfidentNoisyMax` is a check and a label, also if it has none.
            An event is composed under the ledger's neighbouring relation; a Gaussian's ``noise_multiplier`` counts
            half under "replace-one". A distribution must be pessimistic; the numbers of distributions and events are
            not verified.
        n : int in [1, 2^53]
            Number of uses; for a design and noisy max, of labels.
        adjacency : str
            The neighbouring relation of a pair or a distribution, which do not state it: required for those.
        note : str
            One line that describes the charge; see `status`.
        ids : iterable of str, optional
            For labels: the id of the row of votes behind each. Ids are public. The ledger keeps a digest of each, and
            refuses a repeated id, whatever the design. So rows of other votes need
            other ids, and labels of fresh voters without ids are refused from then on.
        again : bool
            Whether rows may be released a second time: those with an id that was charged before or, without ids, all of
            them. Each counts as one label more. For fixed voters that covers it. For fresh voters it does not: such
            rows are charged by the rule "exact" only, and only if the total covers all votes themselves.

        Raises
        ------
        BudgetError
            If that would exceed the budget, or the total does not cover repeated rows. Nothing is charged then.
        InputError
            If the rule does not take such a mechanism, it is for other neighbours, or the ledger was edited; if an id
            was charged before, or occurs twice.
        OutputError
            If a file cannot be written.
        """
        with self._charging(what, n, adjacency, note, ids, again):
            pass

    def check(
        self,
        what: object,
        n: int = 1,
        *,
        adjacency: str | None = None,
        ids: Iterable[str] | Batch | None = None,
        again: bool = False,
    ) -> None:
        """Raise what `charge` with these arguments would raise now; nothing is charged.

        Others may charge the ledger after this returns, so charge before you release.
        """
        with suppress(_UndoneError), self._charging(what, n, adjacency, "", ids, again):
            raise _UndoneError

    @contextmanager
    def _charging(
        self,
        what: object,
        n: int,
        adjacency: str | None,
        note: str,
        ids: Iterable[str] | Batch | None,
        again: bool,
    ) -> Iterator[None]:
        """Charge as `charge`, when the block ends well."""
        n, note, again = check_count("n", n, _MOST_AT_ONCE), checked_note(note), truth("again", again)
        before = self._state()
        account = account_of(what, adjacency, before.adjacency, before.voters)  # may take long, so without the lock
        with batch_of(ids) as batch, self._store.changing() as change:
            self._charge(change, account, n, note, batch, again)
            yield

    @contextmanager
    def releasing(
        self,
        design: Design | CountMechanism,
        n: int | Callable[[], int],
        out: str | os.PathLike[str],
        *,
        note: str = "",
        ids: Iterable[str] | Callable[[], Iterable[str] | Batch | None] | None = None,
        again: bool = False,
    ) -> Iterator[IO[bytes]]:
        """A file for ``n`` labels, which gets its name ``out`` when the block ends and the charge is on disk.

        ``n`` and ``ids`` may be functions, which are called at the end of the block. A ledger whose budget covers no
        label raises before the block. ``ids`` and ``again`` are those of `charge`.

        A crash before the charge leaves only a file whose name begins with a point and the name of ``out``, and that
        only its owner can read. After a crash behind the charge, the next use of the ledger finishes the move, beside
        ``out`` if that name has been taken meanwhile.

        Raises
        ------
        BudgetError, InputError
            As `charge`.
        OutputError
            If a file cannot be written. If the charge was made, the labels wait for the next use of the ledger.
        """
        checked_note(note)
        again = truth("again", again)
        before = self._state()
        account = labels_of(design, before.adjacency, before.voters)
        if callable(n):
            if not before.ids:  # else rows that have a label are told from a spent budget, when their ids are known
                self._take(before, account, 1)  # in memory only
        else:
            check_count("n", n, _MOST_AT_ONCE)
        target = Path(os.path.abspath(out))
        if resolved(target) in self._store.files:
            raise InputError(f"{out} is the ledger. Pass another path for the labels.")
        with part_of(target) as part:
            yield part.file
            part.finish()  # the labels are on disk, for their owner alone,
            labels = check_count("n", n() if callable(n) else n, _MOST_AT_ONCE)
            with (
                batch_of(ids() if callable(ids) else ids) as batch,
                self._store.leaving(part, target) as waiting,  # have their name in the end,
                self._store.changing() as change,  # and are charged for
            ):
                self._charge(change, account, labels, note, batch, again)
                change.state.leaving.append(waiting)

    def lease(
        self, design: Design | CountMechanism, n: int, *, note: str = "", ids: Iterable[str] | None = None
    ) -> Lease:
        """Charge ``n`` labels in advance, to be taken one after the other without the ledger; the rest is given back.

        Many workers then ask the ledger seldom. The labels of a worker that is killed stay charged, and its ids: the
        budget holds, and no other worker releases these rows.

        Parameters
        ----------
        design : Design or GaussianNoisyMax
        n : int in [1, 2^53]
        note : str
            As of `charge`.
        ids : iterable of str, optional
            As of `charge`: the ids of the rows in the order in which labels are taken. Ids that are given back can be
            charged again.

        Returns
        -------
        Lease
            A context manager with ``take(n)`` and ``left``; its ``close()`` gives the rest back.

        Raises
        ------
        BudgetError, InputError, OutputError
            As `charge`. `InputError` also by the rule "in-advance", whose charges are fixed in advance: labels that
            are given back would be charged for something else.

        Examples
        --------
        >>> import darrm
        >>> design = darrm.solve(K=11, m=3, epsilon=0.1)
        >>> ledger = darrm.accounting.Ledger.create(
        ...     "shared.db", design, total_epsilon=4, total_delta=1e-6, voters="fresh"
        ... )
        >>> with ledger.lease(design, 5) as lease:
        ...     first = lease.take(3)
        ...     print(first, ledger.released(design), lease.left)
        0 5 2
        >>> ledger.released(design)
        3
        """
        n, note = check_count("n", n, _MOST_AT_ONCE), checked_note(note)
        before = self._state()
        account = _charged_as(before, labels_of(design, before.adjacency, before.voters))
        if before.rule == "in-advance":
            raise InputError(
                f'{self.path} has the rule "in-advance", whose charges are fixed in advance. Charge the labels, or '
                'keep a ledger by the rule "exact", "renyi-filter" or "basic-filter".'
            )
        with batch_of(ids) as batch, self._store.changing() as change:
            if batch is not None and batch.tags:  # rows of an earlier charge are not charged, and cannot be given back
                raise InputError(
                    "A lease takes no labels by key, which a retry gets again at no charge. Charge them as they are "
                    "released: ledger= and key= of release_blocks, or darrm release --key."
                )
            number = change.number
            self._charge(change, account, n, note, batch, False, lease=number)
            charge = number, change.state.chain
        return Lease(self._store, account.name, charge, n, note, batch)

    def status(self) -> dict[str, Any]:
        """The charges and the remaining budget.

        Returns
        -------
        dict
            The budget: ``total_epsilon``, ``total_delta``, ``voters``, ``rule``, ``adjacency``. And:

            * ``condition``: the condition under which the total holds.
            * ``released``: number of charged labels in all.
            * ``left``: number of labels left for the one design or noise of rule "exact". None if unlimited, or if it
              depends on the design or noise (`remaining`).
            * ``left_of``: where rule "exact" has several sigmas, how many labels are left of each alone, by its name.
            * ``charges``: each charged mechanism, with its note and number of uses.
            * ``waiting``: files of charged labels that could not yet be moved to their name.
            * ``ids``: number of labels charged with ids.
            * ``by_key``: number of these that were drawn by key (`darrm.mechanisms.LabelKey`).
            * ``computational``: whether the total is computational because of them: it holds in feasible time, against
              whoever does not have the key. A total that covers the fixed voters themselves needs no secret key.
            * ``affected_votes``: the number of votes of a label of noisy max that one record can change.
            * ``streams``: number of rows without ids charged for each stream, by its name.
            * ``again``: number of labels of fresh voters whose rows may have had a label before.
            * ``fallback_epsilon``: the second budget, None without one.
        """
        self._state()  # which finishes interrupted moves
        state, history = self._store.history()
        budget = ("total_epsilon", "total_delta", "voters", "rule", "adjacency")
        one = state.rule == "exact" and len(state.of_labels) == 1
        left = rules.remaining(state, next(iter(state.of_labels.values()))) if one else None
        accounts, sums = state.accounts, dict[tuple[str, str], int]()
        for charge in history:
            key = charge.account, charge.note
            sums[key] = sums.get(key, 0) + charge.n
        return {
            **{name: getattr(state, name) for name in budget},
            "condition": rules.condition(state),
            "released": state.released,
            "left": left,
            "left_of": {} if one or state.rule != "exact" else noise.left_of_each(state),
            "charges": [{"what": accounts[name].said, "n": n, "note": note} for (name, note), n in sums.items()],
            "waiting": [waiting.part for waiting in state.leaving],
            "ids": state.ids,
            "by_key": state.by_key,
            "computational": state.computational,
            "affected_votes": state.affected_votes,
            "streams": dict(state.streams),
            "again": state.again,
            "fallback_epsilon": state.fallback_epsilon,
        }

    def history(self) -> list[dict[str, Any]]:
        """All charges in their order; `InputError` if one was changed after it was written.

        Returns
        -------
        list of dict
            * ``number``: 1 for the first charge.
            * ``time``: when it was charged, in UTC, as ``2026-01-31T23:59:59.123456Z``, by the clock of the server or
              of ``host``, if the ledger is a file. None for charges of an imported ledger.
            * ``host``: the name of the host that charged, or None.
            * ``what``: the mechanism in words, as in `status`.
            * ``digest``: 16 digits that tell it from other mechanisms; its design is the same if its digest is.
            * ``n``: number of labels, or of uses; negative for labels of a lease that were given back.
            * ``note``.
            * ``stream``: the name of the stream of rows without ids, None for other charges.
            * ``ids``: number of labels with ids.
            * ``ids_digest``: BLAKE2b (32 bytes) of the digests of these ids in the order of the labels, each the
              BLAKE2b (16 bytes) of an id in the form in which ids are compared. None without ids.
            * ``lease``: the number of the lease that was taken or given back, None for other charges.

        Examples
        --------
        >>> import darrm
        >>> ledger = darrm.accounting.Ledger.create(
        ...     "nightly.db", total_epsilon=1, total_delta=0, voters="fresh", rule="basic-filter"
        ... )
        >>> ledger.charge((0.5, 0.0), adjacency="replace-one", note="a count")
        >>> [(charge["number"], charge["n"], charge["note"]) for charge in ledger.history()]
        [(1, 1, 'a count')]
        """
        state, charges = self._store.history()
        said = {name: account.said for name, account in state.accounts.items()}
        rows = [{**asdict(charge), "what": said[charge.account], "digest": charge.account} for charge in charges]
        return [{name: row[name] for name in COLUMNS} for row in rows]

    def released(self, design: Design | CountMechanism) -> int:
        """The number of charged labels of a design."""
        state = self._state()
        return _known(state, design).charged

    def remaining(self, design: Design | CountMechanism) -> int | None:
        """The number of further labels of a design within the remaining budget; None if unlimited.

        The rule "in-advance" composes all charges once, which takes about a second; the result is at most 10,000.
        """
        return self.counts(design)[1]

    def counts(self, design: Design | CountMechanism) -> tuple[int, int | None]:
        """`released` and `remaining`, at the same moment."""
        state = self._state()
        account = _known(state, design)
        other = state.rule == "exact" and account.name not in state.of_labels
        if isinstance(design, Design):
            other |= other_voters(state, design.problem) is not None
        return account.charged, 0 if other else rules.remaining(state, account)

    def rests_on(self) -> tuple[tuple[AnyProblem, bool], ...]:
        """The assumptions of the total: a problem for each kind of voters, and whether these may be absent.

        They are those of the charged designs; before the first charge, of all designs.
        """
        state = self._state()
        nothing = not any(account.charged for account in state.accounts.values())
        kinds: dict[object, tuple[AnyProblem, bool]] = {}
        for account in state.designs.values():
            if account.charged or nothing:
                kind = voters_of(account.problem), account.problem.adjacency
                problem, absent = kinds.get(kind, (account.problem, False))
                kinds[kind] = problem, absent or bool(account.fewer)
        return tuple(kinds.values())

    def spent(self) -> tuple[float, float]:
        """The cumulative privacy loss: all releases charged to this ledger are together (epsilon, delta)-DP.

        This holds if the charges, and the number of each, do not depend on what was released. If they do, for example
        because somebody stopped early, the budget is guaranteed in place of it; by the rule "in-advance" only for a
        list that was fixed in advance and within the budget as a whole (see `create`). If only labels of fixed voters
        were charged, it holds for any use of these voters' labels alone.

        Returns
        -------
        (float, float)
            An epsilon at ``total_delta``, at most the budget, and ``total_delta``; by the rule "basic-filter" the sums.
            (0, 0) before the first charge.

        Raises
        ------
        InputError
            If the charges certainly cost more than the budget, so that the file allows more than is certified.

        Notes
        -----
        Each call composes again: a fraction of a second at K = 11, more for larger K and thousands of labels. Each call
        certifies a bound on its own grid, so after a small charge it can be lower by a hundredth of a percent.
        """
        return rules.spent(self._verified())

    def balances(self) -> dict[str, Balance]:
        """The budget and the cumulative privacy loss of each kind of change; of all, "", if there is one budget.

        Where each group of the design has a limit of its own, `spent` is the largest of them.
        """
        kinds = self._verified().kinds
        return {name: Balance(kind.total_epsilon, kind.total_delta, *rules.spent(kind)) for name, kind in kinds.items()}

    def fallback(self) -> dict[str, float]:
        """The cumulative privacy loss if only affected voters draw votes by the known randomizer that is stated.

        The voters that are not affected may then be any mechanism of their epsilon. This holds only if the charges, and
        the number of each, do not depend on what was released. If they do, the second budget is guaranteed in place of
        it, where the ledger has one (`create`).

        Returns
        -------
        dict of str to float
            An epsilon at ``total_delta`` of each kind of change, as of `balances`: certified, infinite if that delta
            covers none. Empty if no charged label rests on a known randomizer: then `spent` assumes no more than this.

        Notes
        -----
        Computed anew from the charges by `darrm.accounting.compose`; by the curves of rule "in-advance" if there are
        several mechanisms. The file keeps nothing of it. It takes as long as `spent`.

        Examples
        --------
        >>> import darrm
        >>> voters = darrm.VoterGroup(11, epsilon=1.0, max_affected=1, randomizer="randomized response", colluders=1)
        >>> problem = darrm.DecisionProblem([voters], epsilon=0.5)
        >>> design = darrm.solve(problem, objective=darrm.objectives.truth([0.7]))
        >>> ledger = darrm.accounting.Ledger.create(
        ...     "known.json", design, total_epsilon=6, total_delta=1e-6, voters="fresh"
        ... )
        >>> ledger.charge(design, 10)
        >>> round(ledger.spent()[0], 2), round(ledger.fallback()[""], 2)
        (4.07, 10.0)
        """
        totals = {name: rules.fallback(kind) for name, kind in self._state().kinds.items()}
        return {name: total for name, total in totals.items() if total is not None}

    def _charge(
        self, change: Change, account: Account, n: int, note: str, batch: Batch | None, again: bool, **more: Any
    ) -> None:
        """Add ``n`` uses of a mechanism to the ledger, with the ids of labels."""
        if batch is not None:
            if isinstance(account, Other):
                raise InputError("ids are for labels only. Pass a design or GaussianNoisyMax, or leave ids out.")
            rows = self._enter(change, batch, n, again=again)
        else:
            if not again:
                check_ids(change.state, account)
            rows = Entered(0, n if again else 0)
        if batch is None or batch.same < n:
            self._add(change, account, n - (0 if batch is None else batch.same), note, rows, batch, **more)

    def _enter(self, change: Change, batch: Batch, n: int, *, again: bool, skip: bool = False) -> Entered:
        """Enter the ids of ``n`` labels."""
        batch.check_for(n)
        return enter(change.run, change.number, batch, again=again, skip=skip)

    def _add(
        self,
        change: Change,
        account: Account,
        n: int,
        note: str,
        rows: Entered,
        batch: Batch | None,
        **more: Any,
    ) -> None:
        """Add ``n`` uses to the state and the history."""
        name = self._take(change.state, account, n, rows.repeated)
        if batch is not None:
            change.state.ids += n
            change.state.by_key += n if batch.tags else 0
            more |= {"ids": n, "ids_digest": batch.digest(rows.skipped)}
        change.add(name, n, note, **more)

    def _verified(self) -> State:
        """The current state, whose releases are certified again; `CertificateError` if one is not."""
        state, _ = self._store.history()
        for account in state.designs.values():
            for problem, table in account.label().tables if account.charged else ():
                if not verify(table, problem).holds:
                    raise CertificateError(
                        f"{self.path} holds a release that does not satisfy its guarantee. Count it as spent."
                    )
        return state

    def _state(self) -> State:
        """The current state of the file."""
        return self._store.read()

    def _take(self, state: State, account: Account, n: int, repeated: int = 0) -> str:
        """Add ``n`` uses of a mechanism to ``state``, ``repeated`` of them of rows with a label; or raise.

        Returns the name of the account to which they are charged.
        """
        account = _charged_as(state, account)
        name = account.name
        if state.rule == "exact" and name not in state.of_labels:
            if state.voters == "fresh" or state.noisy:
                remedy = (
                    "A second ledger has its own budget, and the two budgets add up if no row of votes has a label in "
                    'both. Or make one ledger by the rule "in-advance".'
                )
            else:
                labels = [*state.designs.values(), *([account] if isinstance(account, Labels) else [])]
                bare = any(math.isinf(kind.epsilon) for one in labels for kind in one.problem.affected)
                remedy = (
                    "Budgets of two ledgers must not be added up for the same fixed voters: only the voters' own cost "
                    "covers the labels of both. "
                    + (
                        "Non-private voters have no such cost. For several designs leave those voters out of all of "
                        'them, and make one ledger by the rule "in-advance".'
                        if bare
                        else 'Make one ledger by the rule "in-advance" for this design, which charges them once.'
                    )
                    + " Other voters need a ledger of their own, whose budget is added."
                )
            kind = "labels of one design only" if isinstance(account, Other) else "another design"
            kind += ", or more noise" if state.noisy and isinstance(account, NoisyLabels) else ""
            raise InputError(f"{self.path} is for {kind}. {remedy}")
        if isinstance(account, Labels):
            check_names(state, account.problem)
        kept = state.like(account).setdefault(name, replace(account))
        if isinstance(account, Labels):
            keep_names(kept, account.problem)
            take_again(state, kept, repeated)
        rules.take(state, kept, n)
        return name


def _known(state: State, design: object) -> Labels | NoisyLabels:
    """The account of a release, a new one if it was not charged before."""
    account = _charged_as(state, labels_of(design, state.adjacency, state.voters))
    return state.of_labels.get(account.name, account)


def _charged_as(state: State, account: _Kind) -> _Kind | NoisyLabels:
    """By the rule "exact" for noisy max, the account that a label is charged to: of those it covers, the cheapest."""
    if state.rule != "exact" or not isinstance(account, NoisyLabels) or account.name in state.noisy:
        return account
    accounts = state.noisy.values()
    shares = noise.shares_of(state) if len(accounts) > 1 else [1.0] * len(accounts)
    covering = [(share, one) for share, one in zip(shares, accounts, strict=True) if one.covers(account)]
    return min(covering, key=lambda one: one[0], default=(1.0, account))[1]
