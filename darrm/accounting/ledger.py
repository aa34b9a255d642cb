"""The ledger: counts releases against a privacy budget and refuses a release that would exceed it.

Keep one ledger for one set of voters. The budgets of two ledgers add up if the voters are fresh and no row of votes has
a label in both, which neither ledger can check. For fixed voters even the sum is not a guarantee: only the voters' own
cost covers the labels of both. Other voters on the same records cost extra.

A charge is on disk before labels are released. The rule of the ledger composes the charges: `darrm.accounting.rules`.
No charge depends on the votes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from darrm._validation import check_count, names_missing, truth
from darrm.accounting.accounts import checked_note
from darrm.accounting.charges import account_of, labels_of
from darrm.accounting.leases import Lease
from darrm.accounting.ledger_charging import charge, charged_as, check_one, take
from darrm.accounting.ledger_ids import Batch, batch_of
from darrm.accounting.ledger_making import new_state
from darrm.accounting.ledger_reading import COLUMNS as COLUMNS
from darrm.accounting.ledger_reading import Balance as Balance
from darrm.accounting.ledger_reading import LedgerReading
from darrm.accounting.ledger_store import Store
from darrm.accounting.noisy_max import CountMechanism
from darrm.design.design import Design
from darrm.errors import InputError
from darrm.storage.atomic import part_of, resolved

_MOST_AT_ONCE = 2**53  # labels; the largest exact integer of JSON


class _UndoneError(Exception):
    """Ends a transaction without effect."""


class Ledger(LedgerReading):
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
            hint = "Pass the path of a ledger, or make one; if one was lost, restore a copy of it, or count its whole "
            hint += "budget as spent. Run: darrm ledger create --help"
            raise InputError(f"{path} {what}. {hint}") from None if self.path.exists() else FileNotFoundError(path)
        self._state()
        self._store.history()

    @classmethod
    @names_missing
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
            if only the affected voters randomize as stated, the others may be any mechanism that learns no vote of
            others, and no vote is used twice or decides what to ask, draw again or release; at least ``total_epsilon``.
            A charge beyond it is refused. Without it, or infinite, there is none: see `fallback`. A plan keeps twice
            its ``total_epsilon`` unless it is given another, and its file does not say which.
        voters : {"fresh", "fixed"}
            No default, unless the rule is "exact" and all voters of the design are non-private; see
            `darrm.accounting.compose`. Fixed voters are one set of voters, whose cost is charged once for all their
            answers. You must make sure that all labels come from the same voters: a ledger sees only their number,
            their privacy parameters, and their names, if there are any. If the budget does not cover the voters' own
            cost, rule "exact" allows as many labels as the output noise protects.
        rule : {"exact", "in-advance", "renyi-filter", "basic-filter"}
            How charges add up, and whether they may be chosen by earlier outputs (adaptively):

            * "exact": queries, when to stop and the next sigma of the list may be; there is one design, or noisy max.
            * "in-advance": no, the list of charges is fixed in advance, unless all are labels of fixed voters.
            * "renyi-filter" and "basic-filter": yes, these are privacy filters.

            The last three were called "composed", "renyi" and "basic", names that are still taken.

            "exact": labels of this design only, by their exact adaptive composition. For noisy max, labels of this
            sigma, by `compose` for any number of votes and classes. Queries, and when to stop, may depend on
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
        store = Store(path)
        store.check_new()
        store.create(new_state(design, total_epsilon, total_delta, fallback_epsilon, voters, rule, adjacency))
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
            charge(change, account, n, note, batch, again=again)
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
            check_one(before, account, self.path)
            if not before.ids:  # else rows that have a label are told from a spent budget, when their ids are known
                take(before, account, 1, self.path)  # in memory only
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
                charge(change, account, labels, note, batch, again=again)
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
        account = charged_as(before, labels_of(design, before.adjacency, before.voters))
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
            charge(change, account, n, note, batch, again=False, lease=change.number)
            last = change.state.charges, change.state.chain
        return Lease(self._store, account.name, last, n, note, batch)
