"""A ledger counts what was released against a total budget and refuses what would overspend.

One set of voters needs one ledger. Budgets of two ledgers add up if the voters are fresh and no row of votes has a
label in both, which neither ledger can see. If they are fixed, not even the sum is a guarantee: only what the voters
themselves cost covers the labels of both. Other voters on the same records cost extra.

The charge is on disk before labels leave. How charges add up is the ledger's rule: `darrm.accounting.rules`. No charge
ever depends on the votes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from darrm._validation import check_count, check_total_delta, check_total_epsilon, check_voters, truth
from darrm.accounting import filters, rules
from darrm.accounting.accounts import Account, Labels, checked_note
from darrm.accounting.charges import account_of, checked_design, labels_of
from darrm.accounting.ledger_file import (
    FOR_FIXED,
    NO_SECOND,
    RULES,
    Note,
    State,
    charge_waiting,
    files_of,
    give_name,
    held,
    ids_of,
    ledger_path,
    write,
)
from darrm.accounting.ledger_ids import Batch, batch_of, entered
from darrm.accounting.released_once import take_again
from darrm.accounting.search import max_queries
from darrm.certificate.certificate import verify
from darrm.design.design import Design
from darrm.errors import BudgetError, CertificateError, InputError
from darrm.problem.decision import AnyProblem
from darrm.problem.limits import adjacency_text
from darrm.storage.atomic import part_of, resolved
from darrm.storage.locks import locked

_MOST_AT_ONCE = 2**53  # labels: what JSON can count
_NEIGHBOURS = "replace-one"


class Ledger:
    """A file that counts what was released; make one with `create`, open it with ``Ledger(path)``.

    Attributes
    ----------
    path : Path

    Examples
    --------
    >>> import darrm
    >>> design = darrm.solve(K=11, m=3, epsilon=0.1)
    >>> ledger = darrm.accounting.Ledger.create(
    ...     "ledger.json", total_epsilon=4, total_delta=1e-6, voters="fresh", rule="composed"
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
        self.path = ledger_path(path)
        if not self.path.is_file():
            what = "is not a ledger file" if self.path.exists() else "does not exist"
            raise InputError(f"{path} {what}. Make one with Ledger.create. Run: darrm ledger create --help")
        self._state()

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        design: Design | None = None,
        *,
        total_epsilon: float,
        total_delta: float,
        voters: str | None = None,
        rule: str = "exact",
        adjacency: str | None = None,
    ) -> Ledger:
        """A new ledger file.

        Parameters
        ----------
        path : path
            Must not exist. Keep it on a local disk: locks of network file systems cannot always be trusted.
        design : Design, optional
            What labels will be released by; needed by the rule "exact".
        total_epsilon, total_delta : float
            The budget of all that is charged.
        voters : {"fresh", "fixed"}
            No default; see `darrm.accounting.compose`. Fixed voters are one set of voters, which is paid for once,
            whatever they answer. You must make sure that all labels are of the same voters: a ledger sees only how many
            they are, how private, and their names, if there are any. If the budget does not pay for them, rule "exact"
            allows as many labels as the coins of the release hide.
        rule : {"exact", "composed", "renyi", "basic"}
            How charges add up.

            "exact": labels of this design only, by their exact adaptive composition.

            "composed": anything, by the composition of everything, the sharpest. The list of charges, and how often
            each occurs, must be *settled* without a look at any release, and the whole list must be within the budget.
            The order of releases and the questions may depend on answers, and you may stop early. If answers decide
            what comes first, do not charge something else in place of a refused charge: that breaks the guarantee.

            "renyi": anything, also chosen by what was released before: a privacy filter by Renyi divergences of one
            order. A tenth of ``total_delta`` is kept for what can fail, and nothing else may. One use answers once: the
            checkpoints of a training run are charged one by one.

            "basic": designs and pairs (epsilon, delta), also chosen along the way, by their sums (Rogers, Roth, Ullman,
            Vadhan, NeurIPS 2016).

            "renyi" and "basic" add up single labels, which is wrong for fixed voters.
        adjacency : str, optional
            What neighbouring means, for everything that is charged; that of the design if one is given, else
            "replace-one".

        Raises
        ------
        InputError, OutputError
        BudgetError
            If the budget does not allow a single label of ``design``.
        """
        kind = check_voters(voters)
        if rule not in RULES:
            raise InputError(f"rule must be one of {', '.join(RULES)}. Got {rule!r}.")
        if kind == "fixed" and rule not in FOR_FIXED:
            raise InputError(
                f'rule "{rule}" adds up single labels, which is wrong for fixed voters. Use rule "exact" or "composed".'
            )
        if design is None and rule == "exact":
            raise InputError('Rule "exact" is for one Design. Pass it, or take another rule.')
        total_epsilon, total_delta = check_total_epsilon(total_epsilon), check_total_delta(total_delta, "total_delta")
        known = _NEIGHBOURS if design is None else checked_design(design).problem.adjacency
        neighbours = known if adjacency is None else adjacency_text(adjacency)
        budget = (total_epsilon + 0.0, total_delta + 0.0)
        order = filters.best_order(*budget) if rule == "renyi" else None
        failure = None if order is None else filters.FAILURES * total_delta
        state = State(*budget, kind, rule, neighbours, order, failure, {}, {}, [], [])
        if order is not None and filters.filter_at(order, failure or 0.0, *budget).divergence <= 0:
            raise BudgetError(
                f'Rule "renyi" allows nothing for a total of ({total_epsilon:g}, {total_delta:g}). Raise the budget, '
                'or take rule "basic".'
            )
        if design is not None:
            account = labels_of(design, neighbours)
            state.designs[account.name] = account
            _check_pays(state, account, design)
        name = ledger_path(path)
        with locked(name, remedy=NO_SECOND):
            if name.exists():
                raise InputError(
                    f"{name} exists already. Use it: a second ledger for the same voters would be no guarantee. For "
                    "other voters pass another path."
                )
            if ids_of(name).exists():
                raise InputError(
                    f"{ids_of(name)} holds the ids of a ledger that stood here. Put that back if it was for the same "
                    "voters: its budget is spent as far as it was. For other voters pass another path."
                )
            write(name, state)
        return cls(name)

    def __repr__(self) -> str:
        return f"Ledger({os.fspath(self.path)!r})"

    def charge(
        self,
        what: object,
        n: int = 1,
        *,
        adjacency: str | None = None,
        note: str = "",
        ids: Iterable[str] | None = None,
        again: bool = False,
    ) -> None:
        """Take ``n`` uses of anything from the budget; on disk when this returns, so release after it.

        Parameters
        ----------
        what : Design, (epsilon, delta), or an event or privacy loss distribution of dp-accounting
            A design stands for one label. An event is accounted for under the ledger's neighbours; a Gaussian's
            ``noise_multiplier`` counts half under "replace-one". A distribution must be pessimistic; with an event,
            its numbers are believed. Of noise at the counts, charge the pair (epsilon, delta) that
            `darrm.accounting.compose` proves for all its labels together.
        n : int in [1, 2^53]
            Of a design: labels.
        adjacency : str
            What neighbouring means for a pair or a distribution, which do not say it: needed for those.
        note : str
            One line to remember the charge by; see `status`.
        ids : iterable of str, optional
            Of a design: the id of the row of votes that each label is of. Ids are public. A digest of each is kept in a
            file beside the ledger, PATH.ids, and an id that comes again is refused, whatever the design. So rows of
            other votes need ids of their own.
        again : bool
            Whether rows may have a label already: those with an id that was charged before or, without ids, all of
            them. Each counts as one label more. For fixed voters that covers it. For fresh voters it does not: such
            rows are charged by the rule "exact" only, if the total pays for all votes themselves.

        Raises
        ------
        BudgetError
            If that would overspend, or rows come again that the total does not cover. Nothing is charged then.
        InputError
            If the rule does not charge such a thing, it is for other neighbours, or the ledger was edited; if an id was
            charged before, or stands twice.
        OutputError
            If a file cannot be written.
        """
        n, note, again = check_count("n", n, _MOST_AT_ONCE), checked_note(note), truth("again", again)
        account = account_of(what, adjacency, self._state().adjacency)  # may take long, so without the lock
        with batch_of(ids) as batch, held(self.path) as state, self._taken(state, account, n, note, batch, again):
            write(self.path, state)

    @contextmanager
    def releasing(
        self,
        design: Design,
        n: int | Callable[[], int],
        out: str | os.PathLike[str],
        *,
        note: str = "",
        ids: Iterable[str] | Callable[[], Iterable[str] | Batch | None] | None = None,
        again: bool = False,
    ) -> Iterator[IO[bytes]]:
        """A file for ``n`` labels, which gets its name ``out`` when the block ends and the charge is on disk.

        If ``n`` is only known then, it is a function that says it, and so are ``ids``. A ledger that pays for no label
        at all refuses before the block. ``ids`` and ``again`` are those of `charge`.

        A crash before the charge leaves only a file ``.out....`` that its owner alone can read. After a later crash the
        next use of the ledger finishes the move, beside ``out`` if that name has been taken meanwhile.

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
        account = labels_of(design, before.adjacency)
        if callable(n):
            self._take(before, account, 1)  # in memory only
        else:
            check_count("n", n, _MOST_AT_ONCE)
        target = Path(os.path.abspath(out))
        if resolved(target) in files_of(self.path):
            raise InputError(f"{out} is the ledger. Pass another path for the labels.")
        with part_of(target) as part:
            yield part.file
            part.finish()  # the labels are on disk, for their owner alone,
            labels = check_count("n", n() if callable(n) else n, _MOST_AT_ONCE)
            with batch_of(ids() if callable(ids) else ids) as batch, held(self.path) as state:
                with self._taken(state, account, labels, note, batch, again):
                    waiting = charge_waiting(self.path, state, part, target)  # they are charged for,
                give_name(self.path, state, waiting)  # and have their name

    def status(self) -> dict[str, Any]:
        """The charges and the remaining budget.

        Returns
        -------
        dict
            The budget: ``total_epsilon``, ``total_delta``, ``voters``, ``rule``, ``adjacency``. And:

            * ``condition``: under what the total holds.
            * ``released``: how many labels were charged in all.
            * ``left``: how many the one design of rule "exact" has left. None if there is no end, or if that depends on
              the design (`remaining`).
            * ``charges``: what was charged, with its note and how often.
            * ``waiting``: files of labels that are charged for and could not yet be given their name.
            * ``ids``: how many labels were charged with ids.
            * ``streams``: how many rows without ids were charged of each stream, by its name.
            * ``again``: how many labels of fresh votes may have had one before.
        """
        state = self._state()
        budget = ("total_epsilon", "total_delta", "voters", "rule", "adjacency")
        left = rules.remaining(state, next(iter(state.designs.values()))) if state.rule == "exact" else None
        accounts = state.accounts
        return {
            **{name: getattr(state, name) for name in budget},
            "condition": rules.condition(state),
            "released": state.released,
            "left": left,
            "charges": [{"what": accounts[c.name].said, "n": c.charged, "note": c.note} for c in state.notes],
            "waiting": [waiting.part for waiting in state.leaving],
            "ids": 0 if state.ids is None else state.ids.labels,
            "streams": dict(state.streams),
            "again": state.again,
        }

    def released(self, design: Design) -> int:
        """How many labels of a design were charged."""
        state = self._state()
        return _known(state, design).charged

    def remaining(self, design: Design) -> int | None:
        """How many more labels of a design the budget pays for as it stands; None if their number has no limit.

        The rule "composed" composes all charges once, which takes about a second, and counts to 10,000 at most.
        """
        return self.counts(design)[1]

    def counts(self, design: Design) -> tuple[int, int | None]:
        """`released` and `remaining`, at one moment."""
        state = self._state()
        account = _known(state, design)
        other = state.rule == "exact" and account.name not in state.designs
        other |= rules.other_voters(state, checked_design(design).problem) is not None
        return account.charged, 0 if other else rules.remaining(state, account)

    def rests_on(self) -> tuple[tuple[AnyProblem, bool], ...]:
        """What the total rests on: the problem of one design for each kind of voters, and whether these may be absent.

        Of the designs that were charged; as long as nothing was charged, of all.
        """
        state = self._state()
        nothing = not any(account.charged for account in state.accounts.values())
        kinds: dict[object, tuple[AnyProblem, bool]] = {}
        for account in state.designs.values():
            if account.charged or nothing:
                kind = rules.voters_of(account.problem), account.problem.adjacency
                problem, absent = kinds.get(kind, (account.problem, False))
                kinds[kind] = problem, absent or bool(account.fewer)
        return tuple(kinds.values())

    def spent(self) -> tuple[float, float]:
        """What all charges so far cost together: they are (epsilon, delta)-DP, for what this ledger charged alone.

        This holds if what was charged, and how often, does not depend on what was released. If somebody stopped because
        of that, the budget is guaranteed; by the rule "composed" only for a settled list that was within it as a whole
        (see `create`). Where it charged labels of fixed voters and nothing else, it holds for any use of these alone.

        Returns
        -------
        (float, float)
            An epsilon at ``total_delta``, at most the budget, and ``total_delta``; by the rule "basic" the sums. (0, 0)
            before the first charge.

        Raises
        ------
        InputError
            If the charges certainly cost more than the budget: then the file allows more than is proved.

        Notes
        -----
        Composes anew at each call: a fraction of a second at K = 11, more for larger K and thousands of labels. Every
        call proves a bound on a grid of its own, so after a small charge it can be lower by a hundredth of a percent.
        """
        state = self._state()
        for account in state.designs.values():
            for problem, table in account.label().tables if account.charged else ():
                if not verify(table, problem).holds:
                    raise CertificateError(
                        f"{self.path} holds a release that does not satisfy its guarantee. Count it as spent."
                    )
        return rules.spent(state)

    @contextmanager
    def _taken(
        self, state: State, account: Account, n: int, note: str, batch: Batch | None, again: bool
    ) -> Iterator[None]:
        """Count ``n`` uses of a thing in ``state``, with the ids of labels on disk; the block writes the state."""
        if batch is None:
            self._take(state, account, n, note, n if again else 0)
        else:
            if not isinstance(account, Labels):
                raise InputError("ids are of labels. Pass a design, or leave ids out.")
            batch.check_for(n)
            with entered(self.path, state, batch, again=again) as rows:
                self._take(state, account, n, note, rows.repeated)
        yield

    def _state(self) -> State:
        """What the file says now."""
        with held(self.path) as state:
            return state

    def _take(self, state: State, account: Account, n: int, note: str = "", repeated: int = 0) -> None:
        """Count ``n`` uses of a thing in ``state``, or none of them by an error; some of rows that have a label."""
        name = account.name
        if state.rule == "exact" and name not in state.designs:
            if state.voters == "fresh":
                remedy = (
                    "A second ledger has its own budget, and the two budgets add up if no row of votes has a label in "
                    'both. Or make one ledger by the rule "composed".'
                )
            else:
                labels = [*state.designs.values(), *([account] if isinstance(account, Labels) else [])]
                bare = any(math.isinf(kind.epsilon) for one in labels for kind in one.problem.affected)
                remedy = (
                    "Budgets of two ledgers must not be added up for the same fixed voters: only their own price "
                    "covers the labels of both. "
                    + (
                        "Voters that are not private have none. For several designs leave those voters out of all of "
                        'them, and make one ledger by the rule "composed".'
                        if bare
                        else 'Make one ledger by the rule "composed" for this design, which pays once for them.'
                    )
                    + " Other voters need a ledger of their own, whose budget comes on top."
                )
            kind = "another design" if isinstance(account, Labels) else "labels of one design only"
            raise InputError(f"{self.path} is for {kind}. {remedy}")
        if isinstance(account, Labels):
            rules.check_names(state, account.problem)
            account = rules.with_names(state.designs.get(name) or replace(account), account.problem)
            state.designs.setdefault(name, account)
            take_again(state, account, repeated)
        else:
            account = state.others.setdefault(name, replace(account))
        rules.take(state, account, n)
        for known in state.notes:
            if (known.name, known.note) == (name, note):
                known.charged += n
                return
        state.notes.append(Note(name, note, n))


def _known(state: State, design: Design) -> Labels:
    """The account of a design, a new one if nothing of it was charged."""
    account = labels_of(design, state.adjacency)
    return state.designs.get(account.name, account)


def _check_pays(state: State, account: Labels, design: Design) -> None:
    """`BudgetError` if the budget does not pay for one label of the design. Rule "exact" finds how many it pays for."""
    try:
        if state.rule == "exact":
            account.allowed = max_queries(design, state.total_epsilon, state.total_delta, voters=state.voters) or None
            pays = account.allowed is not None
        else:
            rules.take(state, account, 1)
            account.charged, pays = 0, True
    except BudgetError:
        pays = False
    if not pays:
        raise BudgetError(
            f"A total of ({state.total_epsilon:g}, {state.total_delta:g}) does not pay for one label of this design. "
            + (
                "By rule composed fixed voters cost their whole price, epsilon and delta, which covers any number of "
                "labels. Raise the budget to it, or take rule exact for a design with noise."
                if state.voters == "fixed" and state.rule == "composed"
                else "Raise the budget, or plan a design for it."
            )
        )
