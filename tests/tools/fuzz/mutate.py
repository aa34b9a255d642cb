"""Spoiling files: JSON by its structure, and bytes by what parsers trip over. Everything is drawn by Hypothesis."""

from __future__ import annotations

import copy
import hashlib
import json
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]


def words(text: str) -> list[str]:
    """The words of a text, for tables that would be long as lists."""
    return text.split()


def rarely(draw: Draw, n: int) -> bool:
    """About once in so many cases; Hypothesis draws the ends of a range more often than what is between."""
    return bool(draw(st.integers(0, n)) == n // 2)


class Raw(NamedTuple):
    """Text that `dump` writes as it is: literals that Python's own writer does not have."""

    text: str


class Twice(NamedTuple):
    """An object of which one name stands twice."""

    value: dict[str, Any]
    name: str
    second: Any


_LITERALS = words(
    r"""NaN Infinity -Infinity 1e400 -1e400 -0.0 1e-400 5e-324 2.2250738585072014e-308 100000000000000000000
    9007199254740993 1e99999999 01 +1 .5 1. 0x1p-1 "\ud800" "\u0000" 'a' nul tru // { ] \ """
)
_LITERALS += ["", '"', "9" * 400, "-" + "9" * 400, "9" * 5000, "1." + "0" * 5000]
_LITERALS += ["[" * 3000 + "]" * 3000, '{"a":' * 3000 + "1" + "}" * 3000, "[" * 200_000]
RAW = st.sampled_from(_LITERALS).map(Raw)
NUMBERS = st.one_of(
    st.sampled_from([0, 1, -1, 2, 3, 4, 5, 7, 2**31, 2**53, 2**63, 2**64, 10**30, True, False]),
    st.sampled_from(
        [0.0, -0.0, 0.5, 1.0, 2.0, 1e-9, 1e-300, 5e-324, 1e300, math.nan, math.inf, -math.inf, 3.0000000001]
    ),
    st.floats(),
    st.integers(-5, 12),
)
_WORDS = words(
    """0x1.0p+0 0x1p-1 -0x0p+0 0x1p99999 nan inf fresh fixed exact basic free monotone tv disagreement replace-one
    darrm-design darrm-ledger ../../x"""
)
TEXTS = st.one_of(st.sampled_from(["", "\0", "x" * 300, *_WORDS]), st.text(max_size=4))
VALUES = st.one_of(
    NUMBERS, TEXTS, RAW, st.none(), st.sampled_from([[], {}, [[]], [None], {"a": 1}, [0.5, 0.5], [0, "x"], {"": {}}])
).map(copy.deepcopy)  # they are changed in place


def dump(value: Any) -> str:
    """JSON text, with `Raw` and `Twice`."""
    if isinstance(value, Raw):
        return value.text
    if isinstance(value, Twice):
        inner = dump(value.value)[:-1]
        return f"{inner}{',' if value.value else ''}{json.dumps(value.name)}:{dump(value.second)}}}"
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{dump(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(dump, value)) + "]"
    return json.dumps(value)


def places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values in ``tree``."""
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [path, *(found for key, value in inner for found in places(value, (*path, key)))]


def at(tree: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def nudged(draw: Draw, value: Any) -> Any:
    """A number near ``value``, or anything else for what is no number."""
    if type(value) is int:
        return value + draw(st.sampled_from([1, -1, 2, -value, value, 10**9, 0.0]))
    if type(value) is float:
        return draw(
            st.sampled_from(
                [
                    *(math.nextafter(value, math.inf), math.nextafter(value, -math.inf), -value, 2 * value, value / 2),
                    *(value * (1 + 1e-12), value * (1 - 1e-12), value * (1 + 1e-10), value * (1 + 1e-8), value + 1),
                ]
            )
        )
    if isinstance(value, str) and value.startswith(("0x", "-0x")):
        try:
            return nudged(draw, float.fromhex(value)).hex()
        except (ValueError, OverflowError):
            return value
    return draw(VALUES)


def spoiled(draw: Draw, tree: Any, most: int = 3) -> Any:
    """A copy of ``tree`` with up to ``most`` changes."""
    tree = copy.deepcopy(tree)
    for _ in range(draw(st.integers(1, most))):
        path = draw(st.sampled_from(places(tree)))
        if not path:
            continue
        parent, key, value = at(tree, path[:-1]), path[-1], at(tree, path)
        kind = draw(st.integers(0, 9))
        if kind <= 3:
            parent[key] = nudged(draw, value)
        elif kind <= 5:
            parent[key] = draw(VALUES)
        elif kind == 6:
            del parent[key]
        elif kind == 7:
            parent[key] = copy.deepcopy(at(tree, draw(st.sampled_from(places(tree)))))
        elif isinstance(parent, list):
            parent.insert(key, copy.deepcopy(value))
        elif kind == 8:
            parent[draw(TEXTS)] = copy.deepcopy(value)
        else:
            above = path[:-1]
            double = Twice(dict(parent), key, nudged(draw, value))
            if above:
                at(tree, above[:-1])[above[-1]] = double
            else:
                return double
    return tree


def signed(text: str) -> str:
    """``text`` with the checksum that darrm's files have, if it is an object; written anew, not by darrm's code."""
    try:
        content = json.loads(text, parse_float=str, parse_int=str)
        body = {key: value for key, value in content.items() if key != "sha256"}
        digest = hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
        start = text[: text.rindex("}")].rstrip()
        return f'{start}{"" if start.endswith("{") else ","}"sha256":"{digest}"}}'
    except (ValueError, AttributeError, RecursionError):
        return text


TOKENS = [token.encode() for token in words(""" " , 0 1 2 - nan inf 1e400 [ { } : id label PAR1 \u0661 \U0001f600""")]
TOKENS += [b"", b" ", b"\t", b"\n", b"\r", b"\r\n", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\x1f\x8b"]
TOKENS += [b"9" * 400, b"9" * 5000, b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\0\0\x08\x03"]


def broken(draw: Draw, content: bytes, most: int = 4) -> bytes:
    """``content`` with up to ``most`` places cut, doubled, overwritten or filled."""
    found = bytearray(content)
    for _ in range(draw(st.integers(1, most))):
        start = draw(st.integers(0, len(found)))
        size = draw(st.sampled_from([0, 1, 1, 2, 4, 9, 60]))
        kind = draw(st.integers(0, 5))
        if kind == 0:
            del found[start:]
        elif kind == 1:
            found[start:start] = found[start : start + size]
        elif kind == 2 and start < len(found):
            found[start] ^= 1 << draw(st.integers(0, 7))
        elif kind == 3:
            found[start : start + size] = draw(st.binary(max_size=8))
        else:
            found[start : start + size] = draw(st.sampled_from(TOKENS))
    return bytes(found)
