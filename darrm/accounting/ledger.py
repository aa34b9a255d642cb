"""A ledger counts releases against a total budget and refuses the one that would overspend.

One set of voters needs one ledger. Budgets of two ledgers add up if the voters are fresh. If they are fixed, not even
the sum is a guarantee: only what the voters themselves cost covers the labels of both. Other voters on the same records
cost extra.

The charge is on disk before labels leave. One ledger serves one design, whose exact adaptive composition it charges;
or, by the rule "basic", any designs, whose epsilons and deltas it adds up. No charge ever depends on the votes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

from darrm._validation import check_count, check_total_delta, check_total_epsilon, check_voters
from darrm.accounting.composition import of_label
from darrm.accounting.fixed import fixed_voters
from darrm.accounting.fresh import exact_guarantee
from darrm.accounting.ledger_file import RULES, Account, State, charge_waiting, give_name, held, ledger_path, write
from darrm.accounting.planning import max_queries
from darrm.accounting.releases import AnyProblem
from darrm.certificate.certificate import verify
from darrm.design.design import AnyDesign
from darrm.errors import BudgetError, CertificateError, InputError
from darrm.numerics.exact import rounded_up
from darrm.storage.atomic import part_of, resolved
from darrm.storage.locks import lock_of, locked

_TOLERANCE = 1e-2  # how close the bounds of what is spent are driven, relatively
_SPENT = "Count it as spent."
_MOST_AT_ONCE = 2**53  # labels: what JSON can count


class Ledger:
    """A file that counts what was released; make one with `create`, open it with ``Ledger(path)``.

    Attributes
    ----------
    path : Path
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = ledger_path(path)
        if not self.path.is_file():
            what = "is no ledger file" if self.path.exists() else "does not exist"
            raise InputError(f"{path} {what}. Make one with Ledger.create. Run: darrm ledger create --help")
        self._state()

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        design: AnyDesign,
        *,
        total_epsilon: float,
        total_delta: float,
        voters: str | None = None,
        rule: str = "exact",
    ) -> Ledger:
        """A new ledger file.

        Parameters
        ----------
        path : path
            Must not exist. Keep it on a local disk: locks of network file systems cannot always be trusted.
        design : Design or DecisionDesign
        total_epsilon, total_delta : float
            The budget of all releases together.
        voters : {"fresh", "fixed"}
            No default; see `darrm.accounting.compose`. If the budget pays for the fixed voters themselves, their labels
            have no end. If it does not, it pays for as many as the coins of the release hide.
        rule : {"exact", "basic"}
            "exact": this design only, by its exact adaptive composition. "basic": any designs, by the sum of their
            (m epsilon, delta), which is a valid privacy filter when designs are chosen along the way (Rogers, Roth,
            Ullman, Vadhan, NeurIPS 2016); fresh voters only.

        Raises
        ------
        InputError, OutputError
        BudgetError
            If the budget does not allow a single label.
        """
        kind = check_voters(voters)
        _check_design(design)
        if rule not in RULES:
            raise InputError(f"rule must be one of {', '.join(RULES)}. Got {rule!r}.")
        if rule == "basic" and kind == "fixed":
            raise InputError('rule "basic" adds up single labels, which is wrong for fixed voters. Use rule "exact".')
        total_epsilon, total_delta = check_total_epsilon(total_epsilon), check_total_delta(total_delta, "total_delta")
        if rule == "exact":
            allowed = max_queries(design, total_epsilon, total_delta, voters=kind)
            pays = allowed > 0
        else:
            allowed = None
            epsilon, delta = exact_guarantee(design.problem)
            pays = epsilon <= Fraction(total_epsilon) and delta <= Fraction(total_delta)
        if not pays:
            raise BudgetError(
                f"A total of ({total_epsilon:g}, {total_delta:g}) does not pay for one label of this design. "
                "Raise the budget, or plan a design for it."
            )
        name, account = ledger_path(path), Account.of(design)
        with locked(name):
            if name.exists():
                raise InputError(f"{name} exists already. Use it, or pass the path of a new ledger.")
            write(name, State(total_epsilon, total_delta, kind, rule, allowed, {account.name: account}, []))
        return cls(name)

    def __repr__(self) -> str:
        return f"Ledger({os.fspath(self.path)!r})"

    def charge(self, design: AnyDesign, n: int) -> None:
        """Take ``n`` labels, 1 to 2^53, from the budget; on disk when this returns, so release them after it.

        Raises
        ------
        BudgetError
            If that would overspend. Nothing is charged then.
        InputError
            If the ledger is for another design, or was edited.
        """
        n = check_count("n", n, _MOST_AT_ONCE)
        with held(self.path) as state:
            self._take(state, design, n)
            write(self.path, state)

    @contextmanager
    def releasing(
        self, design: AnyDesign, n: int | Callable[[], int], out: str | os.PathLike[str]
    ) -> Iterator[IO[bytes]]:
        """A file for ``n`` labels, which gets its name ``out`` when the block ends and the charge is on disk.

        If ``n`` is only known then, it is a function that says it. A ledger that pays for no label at all refuses
        before the block.

        A crash before the charge leaves nothing but a file that only its owner can read, ``.out....``; after it
        the move is finished when the ledger is next used, beside ``out`` if somebody has taken that name meanwhile.

        Raises
        ------
        BudgetError, InputError
            As `charge`.
        OutputError
            If a file cannot be written. If the charge was made, the labels wait for the next use of the ledger.
        """
        if callable(n):
            self._take(self._state(), design, 1)  # in memory only
        else:
            check_count("n", n, _MOST_AT_ONCE)
        target = Path(os.path.abspath(out))
        if resolved(target) in (self.path, lock_of(self.path)):
            raise InputError(f"{out} is the ledger. Pass another path for the labels.")
        with part_of(target) as part:
            yield part.file
            part.finish()  # the labels are on disk, for their owner alone,
            labels = check_count("n", n() if callable(n) else n, _MOST_AT_ONCE)
            with held(self.path) as state:
                self._take(state, design, labels)
                waiting = charge_waiting(self.path, state, part, target)  # they are charged for,
                give_name(self.path, state, waiting)  # and have their name

    def status(self) -> dict[str, Any]:
        """What is spent.

        Returns
        -------
        dict
            ``total_epsilon``, ``total_delta``, ``voters``, ``rule``, ``released`` (labels in all), ``left`` (None if
            there is no end, or if it depends on the designs), ``waiting`` (files of labels that are charged for and
            could not yet be given their name).
        """
        state = self._state()
        unlimited = state.allowed is None or state.endless
        return {
            **{name: getattr(state, name) for name in ("total_epsilon", "total_delta", "voters", "rule")},
            "released": state.released,
            "left": None if unlimited else state.limit - state.released,
            "waiting": [waiting.part for waiting in state.leaving],
        }

    def problems(self) -> tuple[AnyProblem, ...]:
        """What the total rests on: the problems of the designs, one for each kind of voters."""
        problems = [account.problem for account in self._state().designs.values()]
        kinds = {(p.affected, p.adjacency): p for p in reversed(problems)}
        return tuple(reversed(kinds.values()))

    def spent(self) -> tuple[float, float]:
        """What the labels so far cost together: they are (epsilon, delta)-DP, for the labels of this ledger alone.

        This holds if the number of labels does not depend on what the labels say. If somebody stopped asking because of
        what the labels said, only the total budget is guaranteed.

        Returns
        -------
        (float, float)
            Rule "exact": the epsilon at ``total_delta`` of `compose`, at most the budget, and ``total_delta``; rule
            "basic": the sums. (0, 0) before the first label.

        Raises
        ------
        InputError
            If the labels certainly cost more than the budget: then the file says that more labels are allowed than are.

        Notes
        -----
        Rule "exact" composes anew at each call, to a percent: a fraction of a second at K = 11, more for larger K and
        thousands of labels.
        """
        state = self._state()
        if not state.released:
            return 0.0, 0.0
        if state.rule == "basic":
            epsilon, delta = _sums(state)
            return rounded_up(epsilon), rounded_up(delta)
        (account,) = state.designs.values()
        label = account.label()
        for problem, table in label.tables:
            if not verify(table, problem).holds:
                raise CertificateError(f"{self.path} holds a release that does not satisfy its guarantee. {_SPENT}")
        cost, least_cost = float(state.total_epsilon), 0.0
        if state.voters == "fixed":
            cost = min(cost, fixed_voters(label.problem, state.total_delta))
        # What was charged is within the budget, though `compose` has another grid than the proof of that, or none.
        with suppress(InputError):
            total = of_label(label, state.released, state.total_delta, state.voters, _TOLERANCE)
            cost, least_cost = min(cost, total.upper), total.lower
        if least_cost > float(state.total_epsilon):
            raise InputError(
                f"{self.path} allows too many labels: the {state.released} released ones cost at least "
                f"{least_cost:.6g} at delta {state.total_delta:g}, above its budget {state.total_epsilon:g}. {_SPENT}"
            )
        return cost, state.total_delta

    def _state(self) -> State:
        """What the file says now."""
        with held(self.path) as state:
            return state

    def _take(self, state: State, design: AnyDesign, n: int) -> None:
        """Count ``n`` labels of a design in ``state``, or none of them by an error."""
        _check_design(design)
        account = Account.of(design)
        name = account.name
        if state.rule == "exact":
            if name not in state.designs:
                remedy = (
                    "A second ledger has its own budget, and the two budgets add up. Or make one ledger by the rule "
                    '"basic".'
                    if state.voters == "fresh"
                    else "Budgets of two ledgers must not be added up for fixed voters: only what the voters "
                    "themselves cost covers the labels of both."
                )
                raise InputError(f"{self.path} is for another design. {remedy}")
            check_left(n, state.released, state.limit)
        else:
            adjacencies = {other.problem.adjacency for other in state.designs.values()}
            if design.problem.adjacency not in adjacencies:
                raise InputError(
                    f"{self.path} adds up guarantees for {adjacencies.pop()} neighbours. Got a design for "
                    f"{design.problem.adjacency} ones: such guarantees do not add up. Make a ledger for it."
                )
            each = exact_guarantee(design.problem)
            epsilon, delta = (so_far + n * more for so_far, more in zip(_sums(state), each, strict=True))
            if epsilon > Fraction(state.total_epsilon) or delta > Fraction(state.total_delta):
                raise BudgetError(
                    f"{n} more label{'s' * (n != 1)} would overspend: together ({float(epsilon):.6g}, "
                    f"{float(delta):.6g}) by basic composition, of ({state.total_epsilon:g}, {state.total_delta:g}). "
                    "Nothing was released."
                )
            state.designs.setdefault(name, account)
        state.designs[name].released += n


def check_left(n: int, released: int, allowed: int) -> None:
    """`BudgetError` if ``n`` labels more than ``released`` are more than ``allowed``."""
    if released + n > allowed:
        raise BudgetError(
            f"{n} more label{'s' * (n != 1)} would overspend: {released} of {allowed} are released. "
            f"{allowed - released} are left. Nothing was released."
        )


def _sums(state: State) -> tuple[Fraction, Fraction]:
    """(epsilon, delta) of all labels by basic composition."""
    epsilon = delta = Fraction(0)
    for account in state.designs.values():
        one_epsilon, one_delta = exact_guarantee(account.problem)
        epsilon, delta = epsilon + account.released * one_epsilon, delta + account.released * one_delta
    return epsilon, delta


def _check_design(design: object) -> None:
    if not isinstance(design, AnyDesign):
        raise InputError(
            f"A ledger takes a Design or DecisionDesign from darrm.solve or darrm.load. Got {type(design).__name__}."
        )
