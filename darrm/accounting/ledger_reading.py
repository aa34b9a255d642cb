"""What a ledger tells of its charges, and their cumulative privacy loss. Nothing here charges."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from darrm.accounting import rules
from darrm.accounting.accounts import Labels, NoisyLabels
from darrm.accounting.charges import labels_of
from darrm.accounting.ledger_charging import charged_as
from darrm.accounting.ledger_state import State
from darrm.accounting.ledger_store import Store
from darrm.accounting.noisy_max import CountMechanism
from darrm.accounting.rules import noise
from darrm.accounting.rules.voters import other_voters, voters_of
from darrm.certificate.certificate import verify
from darrm.design.design import Design
from darrm.errors import CertificateError
from darrm.problem.decision import AnyProblem

# Of the history.
COLUMNS = ("number", "time", "host", "what", "digest", "n", "note", "stream", "ids", "ids_digest", "lease")


class Balance(NamedTuple):
    """The budget of one kind of change, and what its releases cost together; see `Ledger.balances`."""

    total_epsilon: float
    total_delta: float
    epsilon: float
    delta: float


class LedgerReading:
    """The part of `darrm.accounting.Ledger` that reads."""

    _store: Store
    path: Path | str

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
            * ``designs``: of each design and noise by which it charges labels, ``what`` in words and ``digest``, 16
              digits that tell it from others; by rule "exact" also before the first charge.
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
            "designs": [{"what": one.said, "digest": name} for name, one in state.of_labels.items()],
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
        return account.charged, rules.remaining(state, account) if _takes(state, account, design) else 0

    def _covers(self, design: Design | CountMechanism) -> bool:
        """Whether the ledger takes labels of a design, however much of the budget is left."""
        state = self._state()
        return _takes(state, _known(state, design), design)

    def _of_others(self, design: object) -> str:
        """Why labels of a design are those of other voters; "" if they are not."""
        return other_voters(self._state(), design.problem) if isinstance(design, Design) else ""

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
        """The cumulative privacy loss if only the affected voters draw votes by the known randomizer that is stated.

        The others may be any mechanism that learns no vote of others, and no vote is used twice or decides what to ask,
        draw again or release. This holds only if the charges, and the number of each, do not depend on what was
        released. If they do, the second budget is guaranteed in place of it, where the ledger has one (`create`).

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


def _takes(state: State, account: Labels | NoisyLabels, design: object) -> bool:
    """Whether labels of a design, whose account this is, may be charged at all."""
    if state.rule == "exact" and account.name not in state.of_labels:
        return False
    return not (isinstance(design, Design) and other_voters(state, design.problem))


def _known(state: State, design: object) -> Labels | NoisyLabels:
    """The account of a release, a new one if it was not charged before."""
    account = charged_as(state, labels_of(design, state.adjacency, state.voters))
    return state.of_labels.get(account.name, account)
