"""Checks of arguments. Every error says what is wrong, what came, what is allowed and what to do.

A number is whatever Python registers as real and float64 holds exactly: int, float, Fraction, and the scalars of numpy.
Truth values, Decimal and text are not numbers. No numpy is loaded before an array is checked, so that problems stay
light.
"""

from __future__ import annotations

import math
import operator
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from inspect import signature
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeGuard, TypeVar

from darrm.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

P = ParamSpec("P")
T = TypeVar("T")
MAX_EPSILON = 1e6  # far above any useful value; certificates need e^(m epsilon) within the range of decimal arithmetic
MAX_COUNT = 10**7
MAX_SIZE = 10**9  # for the lengths of the caller's own arrays: examples, rows
MAX_CLASSES = 1000
VOTERS = ("fresh", "fixed")
_CHECKED = "_names_missing"  # of a function
_MOST_JOBS = 1024
_MOST_SHOWN = 200


def shown(value: object) -> str:
    """``value`` in one short line, for errors."""
    if isinstance(value, Real) and value != value:
        return "NaN (not a number)"
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python refuses to write an integer of thousands of digits
        text = f"a {type(value).__name__} too long to write"
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def refusal(name: str, allowed: str, value: object, hint: str = "") -> InputError:
    """The error "``name`` must be ``allowed``. Got ``value``. ``hint``"."""
    return InputError(f"{name} must be {allowed}. Got {shown(value)}.{hint and ' '}{hint}")


def real(
    name: str,
    value: object,
    low: float = -math.inf,
    high: float = math.inf,
    ends: str = "[]",
    *,
    allowed: str = "",
    hint: str = "",
) -> float:
    """``value`` as a float, refused unless it is a number between ``low`` and ``high`` that float64 holds exactly.

    Parameters
    ----------
    ends : "[]", "(]", "[)" or "()"
        Which ends are allowed themselves; with "()" and no bounds infinities are refused, with "[]" they are not.
    allowed : str, optional
        The range in words, where "in [low, high]" is not clear.
    hint : str, optional
        What to do.
    """
    if type(value) is float and (low < value < high or (value == low < high and ends[0] == "[")):
        return value  # the usual case, in a fraction of the time
    allowed = allowed or _interval(low, high, ends)
    kind = f"a number {allowed}".rstrip()
    number = _nearest(value)
    if number is None:
        raise refusal(name, kind, value, hint)
    if not math.isnan(number) and number != (operator.index(value) if isinstance(value, Integral) else value):
        raise InputError(
            f"{name} must be {kind} that float64 holds exactly: guarantees are about that number. "
            f"Got {shown(value)}. Pass {number!r} if that is what you mean."
        )
    at_end = (number == low and ends[0] == "(") or (number == high and ends[1] == ")")
    if not low <= number <= high or at_end:
        raise refusal(name, allowed or kind, value, hint)
    return number


def whole(name: str, value: object, low: int = 1, high: float = MAX_COUNT, *, allowed: str = "", hint: str = "") -> int:
    """``value`` as an int, refused unless it is an integer from ``low`` to ``high``; 3.0 is one."""
    if type(value) is int and low <= value <= high:
        return value
    number: int | None = None
    if _is_number(value):
        with suppress(OverflowError, ValueError):  # infinite, or NaN
            number = int(value)
    if number is None or number != value or not low <= number <= high:
        allowed = allowed or (f"of at least {low}" if high == math.inf else f"in [{low}, {high:g}]")
        raise refusal(name, f"an integer {allowed}", value, hint)
    return number


def truth(name: str, value: object) -> bool:
    """``value``, refused unless it is True or False."""
    if type(value).__name__ not in ("bool", "bool_"):  # Python's or numpy's, which need not be loaded
        raise refusal(name, "True or False", value)
    return bool(value)


def choice(name: str, value: object, allowed: Sequence[str], hint: str = "") -> str:
    """``value``, refused unless it is one of the texts ``allowed``."""
    if not isinstance(value, str) or value not in allowed:
        raise refusal(name, f"one of {', '.join(allowed)}", value, hint)
    return value


def path(name: str, value: object) -> Path:
    """``value`` as a path, refused unless it can be one."""
    if not isinstance(value, str | os.PathLike) or "\0" in str(value):
        raise refusal(name, "the path of a file", value)
    return Path(value)


def is_listed(value: object) -> TypeGuard[Iterable[Any]]:
    """Whether ``value`` has items that can be gone through; a text, an array without axes and a class have none."""
    try:
        iter(value)  # type: ignore[call-overload]
    except TypeError:
        return False
    return not isinstance(value, str | bytes)


def is_masked(value: object) -> bool:
    """Whether it is a masked array. No array is if numpy.ma is not loaded; importing it here would be slow."""
    masked = sys.modules.get("numpy.ma")
    return masked is not None and isinstance(value, masked.MaskedArray)


def plain(name: str, values: object, allowed: str, hint: str = "") -> NDArray[Any]:
    """``values`` as an array of any type, refused if rows differ in length or a mask would be lost."""
    import numpy as np

    try:
        given: NDArray[Any] = np.asarray(values)
    except ValueError:  # rows of several lengths
        raise refusal(name, allowed, values, hint) from None
    parts = values if isinstance(values, list | tuple) else [values]
    if any(map(is_masked, parts)):
        raise InputError(f"{name} must be a plain array. Got a masked one: leave its rows out, or fill its gaps.")
    return given


def array(
    name: str,
    values: ArrayLike,
    shape: tuple[str | int, ...] | None,
    low: float = -math.inf,
    high: float = math.inf,
    ends: str = "()",
    *,
    wholes: bool = False,
    hint: str = "",
) -> Array:
    """``values`` as a float64 array, refused unless all are numbers in a range that float64 holds exactly.

    Parameters
    ----------
    shape : tuple of str and int, optional
        A length for each axis, such as ("k", 2): a letter stands for any length but 0. None allows any shape.
    low, high, ends
        As in `real`; with the default all must be finite.
    wholes : bool
        Whether they must be integers.
    """
    import numpy as np

    form = "" if shape is None else f" of shape ({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"
    kind = f"{'integers' if wholes else 'numbers'}"
    given = plain(name, values, f"{kind}{form}", hint)
    if given.dtype.kind not in "iufO" or callable(values):
        raise refusal(name, f"{kind}{form}", values, hint)
    if shape is not None and (
        len(shape) != given.ndim
        or not all(n == m if isinstance(m, int) else n > 0 for n, m in zip(given.shape, shape, strict=True))
    ):
        raise InputError(f"{name} must be {kind}{form}. Got shape {given.shape}.{hint and ' '}{hint}")
    allowed = f"{'integers ' * wholes}{_interval(low, high, ends)}".strip()
    if given.dtype.kind == "f" and given.itemsize <= 8:
        numbers = np.asarray(given, dtype=np.float64)
    elif given.dtype.kind in "iu" and (given.itemsize < 8 or not given.size or abs(given).max() <= 2**53):
        numbers = given.astype(np.float64)
    else:
        numbers = np.array([real(name, x) for x in given.ravel().tolist()])
        numbers = numbers.reshape(given.shape).astype(np.float64)
    inside = numbers >= low if ends[0] == "[" else numbers > low
    inside &= numbers <= high if ends[1] == "]" else numbers < high
    if wholes:
        inside &= numbers == np.floor(numbers)
    if not inside.all():
        raise refusal(name, allowed or "numbers", float(numbers[~inside].flat[0]), hint)
    return numbers


def probabilities(name: str, values: ArrayLike) -> Array:
    """``values`` as a float64 array of at least one dimension, refused outside [0, 1]."""
    numbers = array(name, values, None, 0, 1, "[]")
    if numbers.ndim == 0 or numbers.shape[-1] == 0:
        raise InputError(f"{name} must be an array with one value for each vote. Got shape {numbers.shape}.")
    return numbers


def _nearest(value: object) -> float | None:
    """The float64 nearest to a number, NaN included; None if ``value`` is none, or is beyond the range of float64."""
    try:
        return float(value) if _is_number(value) else None
    except OverflowError:
        return None


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool)


def _interval(low: float, high: float, ends: str) -> str:
    """A range in words: "in [0, 1)", "at least 0", "finite and above 0", "finite", or nothing."""
    if high < math.inf:
        return f"in {ends[0]}{low:g}, {high:g}{ends[1]}"
    finite = "finite" * (ends[1] == ")")
    if low == -math.inf:
        return finite
    return f"{finite and 'finite and '}{'at least' if ends[0] == '[' else 'above'} {low:g}"


def check_given(function: Callable[..., object], arguments: Sequence[object], named: Mapping[str, object]) -> None:
    """`InputError` if a call that ended in a `TypeError` left arguments out, or gave some that there are not."""
    takes, called = signature(function), function.__qualname__.removesuffix(".__init__")
    try:
        given = takes.bind_partial(*arguments, **named).arguments
    except TypeError as error:
        listed = [one for one in takes.parameters.values() if one.name not in ("self", "cls")]
        at = [one.name for one in listed if one.kind in (one.POSITIONAL_OR_KEYWORD, one.VAR_POSITIONAL)]
        by_name = ["**" * (one.kind is one.VAR_KEYWORD) + one.name for one in listed if one.name not in at]
        ways = [", ".join(at)] * bool(at) + [f"by name {', '.join(by_name)}"] * bool(by_name)
        raise InputError(f"{called}: {error}. It takes {', and '.join(ways) or 'none'} (see help({called})).") from None
    missing = [
        name
        for name, one in takes.parameters.items()
        if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD) and name not in given
    ]
    if missing:
        *before, last = missing
        needed = f"{', '.join(before)} and {last}" if before else last
        raise InputError(
            f"{called} needs {needed}. Got {'none of them' if before else 'none'}. Pass "
            f"{', '.join(f'{name}=' for name in missing)} (see help({called}))."
        ) from None


def names_missing(function: Callable[P, T]) -> Callable[P, T]:
    """``function``, which raises `InputError` where arguments are missing; public ones of a face do so anyway."""
    if getattr(function, _CHECKED, False):
        return function

    @wraps(function)
    def checked(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return function(*arguments, **named)
        except TypeError:
            check_given(function, arguments, named)
            raise

    setattr(checked, _CHECKED, True)
    return checked


# Checks that several subpackages share.


def check_count(name: str, k: object, most: int = MAX_COUNT) -> int:
    """``k`` as an int, refused unless it is an integer in [1, most]."""
    return whole(name, k, 1, most)


def check_voters(voters: object, epsilons: Iterable[float] = (0.0,)) -> str:
    """``voters``, refused unless it is "fresh" or "fixed"; "fresh" if none is given and all ``epsilons`` are infinite.

    Of non-private voters only the output noise protects, and it is fresh for each label.
    """
    if voters is None and all(map(math.isinf, epsilons)):
        return "fresh"
    if not isinstance(voters, str) or voters not in VOTERS:
        if isinstance(voters, str) and voters.strip().lower() in VOTERS:
            right = voters.strip().lower()
            raise InputError(f'voters must be "fresh" or "fixed". Got {shown(voters)}. Pass "{right}".')
        raise InputError(
            'voters must be "fresh" or "fixed". Fresh: each answer of a voter is private by its own fresh randomness. '
            "Fixed: each voter is trained with DP once, and all its answers share that guarantee, such as a DP-SGD "
            f"model. Got {shown(voters)}. Pass the kind of yours (--voters fresh, --voters fixed): single labels "
            'compose for fresh voters only. For non-private voters (--group COUNT:inf) leave it out, or pass "fresh" '
            "where no design tells that they are."
        )
    return voters


SEVERAL_CLASSES = (
    "This is for two answers. For several classes pass classes=3, or their names, where votes are read and to "
    "darrm.DecisionProblem (--classes), and release by darrm.mechanisms.PrivateDecision. "
    "Or take darrm.mechanisms.GaussianNoisyMax or LaplaceNoisyMax on the votes for each class."
)


def several_classes(vote: object, classes: int = 2) -> str:
    """The hint for a vote one above the last class: a third class, or classes counted from 1; else empty."""
    text = str(vote.item() if hasattr(vote, "item") else vote)
    try:
        number = float(text)
    except ValueError:
        return ""
    if classes > 2:
        return f" Classes are numbered from 0: pass 0 to {classes - 1}." if number == classes else ""
    return f" {SEVERAL_CLASSES}" if 2 <= number < MAX_CLASSES and number == int(number) else ""


def check_one_epsilon(name: str, value: object) -> None:
    """`InputError` if several epsilons came where all voters share one."""
    several = isinstance(value, list | tuple) or (isinstance(value, str) and "," in value)
    if several or getattr(value, "shape", ()) != ():
        raise InputError(
            f"{name} must be one number, the same for all voters. Got {shown(value)}. For voters of different {name} "
            "pass a darrm.VoterGroup(count, epsilon) for each kind to darrm.DecisionProblem; on the command line, "
            "--group COUNT:EPSILON for each."
        )


def check_total_epsilon(value: object) -> float:
    """A total epsilon as a float in [0, 1e6]."""
    return real("total_epsilon", value, 0, MAX_EPSILON, hint="Pass nats, e.g. 1.0.")


def not_a_design(asked: str, value: object) -> InputError:
    """The error for a value that is not a design; ``asked`` names what takes one. A plan holds a design."""
    hint = " Pass its design: plan.design." if type(value).__name__ == "Plan" else ""
    if type(value).__name__ in ("ndarray", "list", "tuple"):
        hint = " A table becomes one by darrm.Design(problem, table)."
    return InputError(f"{asked} from darrm.solve or darrm.load. Got {type(value).__name__}.{hint}")


def check_total_delta(delta: object, name: str = "delta") -> float:
    """A total delta as a float in [0, 1)."""
    return real(name, delta, 0, 1, "[)", hint="Pass the total for all labels, e.g. 1e-5.")


def check_positive(name: str, value: object, high: float = math.inf) -> float:
    """``value`` as a float, refused unless it is finite, above 0 and at most ``high``."""
    return real(name, value, 0, high, "(]" if high < math.inf else "()")


def check_counts(counts: ArrayLike, name: str = "counts") -> Array:
    """Votes for each class as float64, shape (classes,)."""
    votes = array(name, counts, ("classes",), 0, math.inf, "[)", wholes=True)
    if not 2 <= votes.size <= MAX_CLASSES:
        raise InputError(f"{name} must have shape (classes,), 2 to {MAX_CLASSES} classes. Got shape {votes.shape}.")
    return votes


def check_orders(orders: ArrayLike) -> Array:
    """Orders of Renyi divergences as float64, finite and above 1."""
    return array("orders", orders, None, 1, math.inf)


def check_jobs(jobs: object, name: str = "jobs") -> int:
    """``jobs`` as an int, refused unless joblib can run that number of processes or threads."""
    allowed = f"in [1, {_MOST_JOBS}], or -1 for all cores"
    number = whole(name, jobs, -1, _MOST_JOBS, allowed=allowed)
    if number == 0:
        raise refusal(name, f"an integer {allowed}", jobs)
    return number
