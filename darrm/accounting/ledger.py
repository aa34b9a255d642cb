"""A ledger counts releases against a total budget and refuses the one that would overspend.

One set of voters needs one ledger. Budgets of two ledgers add up if the voters are fresh. If they are fixed, not even
the sum is a guarantee: only what the voters themselves cost covers the labels of both. Other voters on the same records
cost extra.

The charge is on disk before labels leave. One ledger serves one design, whose exact adaptive composition it charges;
or, by the rule "basic", any designs, whose epsilons and deltas it adds up. No charge ever depends on the votes.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

from darrm._validation import check_count, check_delta, check_epsilon, check_voters
from darrm.accounting.budget import promise
from darrm.accounting.composition import compose
from darrm.accounting.fixed import fixed_voters
from darrm.accounting.planning import max_queries
from darrm.design.design import Design
from darrm.errors import BudgetError, InputError, OutputError
from darrm.numerics.exact import rounded_up
from darrm.priors import independent
from darrm.problem.majority import MajorityProblem
from darrm.storage.atomic import keep_names, lock_of, locked, move, replacing, resolved, usual_mode
from darrm.storage.sealed_json import read, write

FORMAT, VERSION = "darrm-ledger", 1
RULES = ("exact", "basic")
_NAMES = {"format", "version", "total_epsilon", "total_delta", "voters", "rule", "allowed", "designs", "leaving"}
_CLOSE = 1e-2  # how close the bounds of what is spent are driven, relatively
_MOST = 2**53  # of labels at once: what JSON can count
_MANY = 2**64  # of labels in all, where there is no end to them
_AGAIN = "Restore it from a copy that is not older; if there is none, the budget counts as spent."


class Ledger:
    """A file that counts what was released; make one with `create`, open it with ``Ledger(path)``.

    Attributes
    ----------
    path : Path
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = _resolved(path)
        if not self.path.is_file():
            raise InputError(f"{path} is no ledger file. Make one with Ledger.create, or darrm ledger create.")
        with locked(self.path):
            self._state()

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        design: Design,
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
        design : Design
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
        total_epsilon, total_delta = check_epsilon(total_epsilon), check_delta(total_delta, "total_delta")
        allowed = None
        if rule == "exact":
            allowed = max_queries(design, total_epsilon, total_delta, voters=kind)
        elif any(
            one > Fraction(all_)
            for one, all_ in zip(promise(design.problem), (total_epsilon, total_delta), strict=True)
        ):
            allowed = 0
        if allowed == 0:
            raise BudgetError(
                f"A total of ({total_epsilon:g}, {total_delta:g}) does not pay for one label of this design. "
                "Raise the budget, or plan a design for it."
            )
        name = _resolved(path)
        content: dict[str, object] = {
            "format": FORMAT,
            "version": VERSION,
            "total_epsilon": total_epsilon,
            "total_delta": total_delta,
            "voters": kind,
            "rule": rule,
            "allowed": allowed,
            "designs": {_name(design): {"problem": asdict(design.problem), "gamma_hex": _hex(design), "released": 0}},
            "leaving": [],
        }
        with locked(name):
            if name.exists():
                raise InputError(f"{name} exists already. Use it, or pass the path of a new ledger.")
            write(name, content)
        return cls(name)

    def __repr__(self) -> str:
        return f"Ledger({os.fspath(self.path)!r})"

    def charge(self, design: Design, n: int) -> None:
        """Take ``n`` labels, 1 to 2^53, from the budget; on disk when this returns, so release them after it.

        Raises
        ------
        BudgetError
            If that would overspend. Nothing is charged then.
        InputError
            If the ledger is for another design, or was edited.
        """
        n = check_count("n", n, _MOST)
        with locked(self.path):
            state = self._state()
            self._take(state, design, n)
            write(self.path, state)

    @contextmanager
    def releasing(self, design: Design, n: int | Callable[[], int], out: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
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
            count = n
            with locked(self.path):
                self._take(self._state(), design, 1)
        else:
            known = check_count("n", n, _MOST)

            def count() -> int:
                return known

        target = Path(os.path.abspath(out))
        if resolved(target) in (self.path, lock_of(self.path)):
            raise InputError(f"{out} is the ledger. Pass another path for the labels.")

        def commit(part: Path, target: Path) -> None:
            n = check_count("n", count(), _MOST)
            waiting = part.with_suffix(".waiting")
            with locked(self.path):
                state = self._state()
                self._take(state, design, n)
                os.rename(part, waiting)
                try:
                    keep_names(waiting.parent)  # the charge must not outlive the labels
                    state["leaving"].append({"part": os.path.abspath(waiting), "out": os.path.abspath(target)})
                    write(self.path, state)
                except BaseException:
                    if not self._charged(waiting):
                        os.unlink(waiting)
                    raise
                try:
                    os.chmod(waiting, usual_mode(target))
                    move(waiting, target)
                    state["leaving"].pop()
                    write(self.path, state)
                except OSError as error:
                    raise OutputError(
                        f"{n} labels are charged for and wait in {waiting} ({error.strerror or error}). Do not release "
                        "them again: mend that, and the next use of the ledger gives them their name."
                    ) from error

        with replacing(target, commit) as file:
            yield file

    def status(self) -> dict[str, Any]:
        """What is spent.

        Returns
        -------
        dict
            ``total_epsilon``, ``total_delta``, ``voters``, ``rule``, ``released`` (labels in all), ``left`` (None if
            there is no end, or if it depends on the designs), ``waiting`` (files of labels that are charged for and
            could not yet be given their name).
        """
        with locked(self.path):
            state = self._state()
        released = sum(one["released"] for one in state["designs"].values())
        left = None
        if state["rule"] == "exact" and not _endless(state):
            left = state["allowed"] - released
        return {
            **{key: state[key] for key in ("total_epsilon", "total_delta", "voters", "rule")},
            "released": released,
            "left": left,
            "waiting": [one["part"] for one in state["leaving"]],
        }

    def problems(self) -> tuple[MajorityProblem, ...]:
        """What the total rests on: the problems of the designs, one for each kind of voters."""
        with locked(self.path):
            state = self._state()
        found = [MajorityProblem(**one["problem"]) for one in state["designs"].values()]
        kinds = {(one.epsilon, one.Delta, one.changed, one.adjacency): one for one in reversed(found)}
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
        with locked(self.path):
            state = self._state()
        released = sum(one["released"] for one in state["designs"].values())
        if not released:
            return 0.0, 0.0
        if state["rule"] == "basic":
            epsilon, delta = _sums(state["designs"])
            return rounded_up(epsilon), rounded_up(delta)
        (only,) = state["designs"].values()
        gamma = [float.fromhex(value) for value in only["gamma_hex"]]
        design = Design(MajorityProblem(**only["problem"]), gamma, independent())  # type: ignore[arg-type]
        most, overspent = float(state["total_epsilon"]), None
        if state["voters"] == "fixed":
            most = min(most, fixed_voters(design.problem, state["total_delta"]))
        # What was charged is within the budget, though `compose` has another grid than the proof of that, or none.
        with suppress(InputError):
            total = compose(design, released, delta=state["total_delta"], voters=state["voters"], tolerance=_CLOSE)
            if total.lower > float(state["total_epsilon"]):
                overspent = total.lower
            most = min(most, total.upper)
        if overspent is not None:
            raise InputError(
                f"{self.path} allows too many labels: the {released} released ones cost at least {overspent:.6g} at "
                f"delta {state['total_delta']:g}, above its budget {state['total_epsilon']:g}. Count it as spent."
            )
        return most, state["total_delta"]

    def _charged(self, part: Path) -> bool:
        """Whether the file on disk has the charge for ``part``: a write can fail after it took effect."""
        try:
            state = read(self.path, FORMAT, VERSION, "ledger", _AGAIN)
        except InputError:
            return True
        return any(one["part"] == os.path.abspath(part) for one in state["leaving"])

    def _state(self) -> dict[str, Any]:
        """What the file says, after finishing moves that were interrupted. Call it with the lock held."""
        if self.path.exists() and self.path.stat().st_nlink > 1:
            raise InputError(f"{self.path} has a second name (a hard link), so it cannot be replaced. Remove that.")
        state = read(self.path, FORMAT, VERSION, "ledger", _AGAIN)
        state.pop("sha256")
        unknown = sorted(state.keys() - _NAMES)
        if unknown:  # it may stand for something that is spent
            raise InputError(f"{self.path} has an entry {unknown[0]!r} that this darrm does not know. Use a newer one.")
        try:
            _check_state(state)
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            reason = str(error) if isinstance(error, InputError) else repr(error)
            raise InputError(f"{self.path} is not a complete ledger ({reason}). {_AGAIN}") from error
        waiting = [one for one in state["leaving"] if not _finished(Path(one["part"]), Path(one["out"]))]
        if waiting != state["leaving"]:
            state["leaving"] = waiting
            write(self.path, state)
        return state

    def _take(self, state: dict[str, Any], design: Design, n: int) -> None:
        _check_design(design)
        name, designs = _name(design), state["designs"]
        if state["rule"] == "exact":
            if name not in designs:
                remedy = (
                    "A second ledger has its own budget, and the two budgets add up. Or make one ledger by the rule "
                    '"basic".'
                    if state["voters"] == "fresh"
                    else "Budgets of two ledgers must not be added up for fixed voters: only what the voters "
                    "themselves cost covers the labels of both."
                )
                raise InputError(f"{self.path} is for another design. {remedy}")
            allowed, released = state["allowed"], designs[name]["released"]
            allowed = _MANY if _endless(state) else allowed
            if released + n > allowed:
                raise BudgetError(
                    f"{n} more label{'s' * (n != 1)} would overspend: {released} of {allowed} are released. "
                    f"{allowed - released} are left. Nothing was released."
                )
        else:
            names = {one["problem"]["adjacency"] for one in designs.values()}
            if design.problem.adjacency not in names:
                raise InputError(
                    f"{self.path} adds up guarantees for {names.pop()} neighbours. Got a design for "
                    f"{design.problem.adjacency} ones: such guarantees do not add up. Make a ledger for it."
                )
            designs.setdefault(name, {"problem": asdict(design.problem), "gamma_hex": _hex(design), "released": 0})
            each = promise(design.problem)
            epsilon, delta = (so_far + n * more for so_far, more in zip(_sums(designs), each, strict=True))
            if epsilon > Fraction(state["total_epsilon"]) or delta > Fraction(state["total_delta"]):
                raise BudgetError(
                    f"{n} more label{'s' * (n != 1)} would overspend: together ({float(epsilon):.6g}, "
                    f"{float(delta):.6g}) by basic composition, of ({state['total_epsilon']:g}, "
                    f"{state['total_delta']:g}). Nothing was released."
                )
        designs[name]["released"] += n


def _check_state(state: dict[str, Any]) -> None:
    """Refuse what no ledger writes, before any of it is used: a file may come from elsewhere."""
    check_epsilon(state["total_epsilon"])
    check_delta(state["total_delta"], "total_delta")
    voters, rule, allowed, designs = (state[key] for key in ("voters", "rule", "allowed", "designs"))
    check_voters(voters)
    if rule not in RULES or (voters, rule) == ("fixed", "basic"):
        raise InputError(f"rule {rule!r} for {voters} voters")
    exact = type(allowed) is int and allowed >= 1 and len(designs) == 1
    if not (exact if rule == "exact" else allowed is None):
        raise InputError(f"allowed must go with the rule and the designs, got {allowed!r}")
    counted = rule == "exact" and not _endless(state)
    for name, one in designs.items():
        MajorityProblem(**one["problem"])
        if name != _digest(one["problem"], [float.fromhex(value).hex() for value in one["gamma_hex"]]):
            raise InputError("a design is not the one that its name stands for")
        if type(one["released"]) is not int or not 0 <= one["released"] <= (allowed if counted else _MANY):
            raise InputError(f"released must be a whole number within what is allowed, got {one['released']!r}")
    for one in state["leaving"]:
        part, out = Path(one["part"]), Path(one["out"])
        # A file that is moved must be one that `releasing` made, whoever wrote the ledger.
        made = part.parent == out.parent and part.name.startswith(f".{out.name[:40]}.") and part.suffix == ".waiting"
        if not (made and out.is_absolute() and out.name and "\0" not in one["part"] + one["out"]):
            raise InputError(f"{one['part']!r} is no file of labels that waits for the name {one['out']!r}")


def _endless(state: dict[str, Any]) -> bool:
    """Whether the budget pays for the fixed voters themselves, and so for any number of labels."""
    if state["voters"] != "fixed":
        return False
    (only,) = state["designs"].values()
    budget = float(state["total_epsilon"])
    return fixed_voters(MajorityProblem(**only["problem"]), state["total_delta"]) <= budget


def _sums(designs: dict[str, Any]) -> tuple[Fraction, Fraction]:
    """(epsilon, delta) of all labels by basic composition."""
    epsilon = delta = Fraction(0)
    for one in designs.values():
        each = promise(MajorityProblem(**one["problem"]))
        epsilon, delta = epsilon + one["released"] * each[0], delta + one["released"] * each[1]
    return epsilon, delta


def _finished(part: Path, out: Path) -> bool:
    """Give labels that are charged for their name, or another if it is taken; whether nothing is left to do."""
    try:
        if not part.exists():
            return part.parent.is_dir()  # a folder that is gone may come back with the labels
        if out.exists() or out.is_symlink():
            out = out.with_name(f"{out.name}.{part.stem.rpartition('.')[2]}")
        os.chmod(part, usual_mode(out))
        move(part, out)
    except OSError:
        return False
    return True


def _resolved(path: str | os.PathLike[str]) -> Path:
    """One path for one file, whatever links lead to it: its lock must be the same for all."""
    try:
        found = resolved(path)
    except (TypeError, ValueError, OSError) as error:
        raise InputError(f"{path!r} cannot be the path of a ledger ({error}).") from None
    if not found.name or not os.fspath(path) or found.is_dir():
        raise InputError(f"{os.fspath(path)!r} cannot be the path of a ledger: it is a folder or no name.")
    return found


def _check_design(design: object) -> None:
    if not isinstance(design, Design):
        raise InputError(f"A ledger takes a Design from darrm.solve or darrm.load. Got {type(design).__name__}.")


def _hex(design: Design) -> list[str]:
    return [value.hex() for value in design.gamma.tolist()]


def _name(design: Design) -> str:
    """What a ledger knows a design by: its noise function and its problem, to the last bit."""
    return _digest(asdict(design.problem), _hex(design))


def _digest(problem: dict[str, Any], gamma_hex: list[str]) -> str:
    text = json.dumps([problem, gamma_hex], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
