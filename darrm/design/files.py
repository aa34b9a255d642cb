"""Design files: JSON that holds gamma as exact hex floats, and is verified again whenever it is read."""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from darrm.design.design import Design
from darrm.errors import InputError
from darrm.priors import from_dict
from darrm.problem.majority import MajorityProblem
from darrm.storage.atomic import replacing

FORMAT, VERSION = "darrm-design", 1
_MAX_BYTES = 30_000_000
# Certificates are computed in float64 in a fixed order, errors through library functions: equal up to this.
_SAME = 1e-9


def finite(value: Any) -> Any:
    """JSON has no infinities: None stands for one."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return value


def as_dict(design: Design) -> dict[str, object]:
    """The design as plain JSON values; an infinite number is None."""
    values = {
        "problem": asdict(design.problem),
        "gamma": design.gamma.tolist(),
        "shape": design.shape,
        "objective": design.objective,
        "prior": design.prior.as_dict(),
        "error": design.error,
        "disagreement": design.disagreement,
        "gap": design.gap,
        "certificate": asdict(design.certificate),
        "profile": [[finite(epsilon), delta] for epsilon, delta in design.profile],
    }
    return {key: finite(value) for key, value in values.items()}


def _digest(text: str | bytes) -> str:
    """Checksum of every name and value, numbers digit by digit as they are written; only white space is free."""
    content = json.loads(text, parse_float=str, parse_int=str)
    body = {key: value for key, value in content.items() if key != "sha256"} if isinstance(content, dict) else content
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def save(design: Design, path: str | os.PathLike[str]) -> None:
    """Write ``design`` to ``path``; see `Design.save`."""
    content: dict[str, object] = {"format": FORMAT, "version": VERSION, **as_dict(design)}
    content["gamma_hex"] = [value.hex() for value in design.gamma.tolist()]
    content["made_with"] = {
        "python": platform.python_version(),
        **{name: version(name) for name in ("darrm", "highspy", "numpy", "scipy")},
    }
    write(path, content)


def write(path: str | os.PathLike[str], content: dict[str, object]) -> None:
    """Write ``content`` as JSON with a checksum, whole or not at all."""
    content = {**content, "sha256": _digest(json.dumps(content, allow_nan=False))}
    with replacing(path) as file:
        file.write(json.dumps(content, indent=1, allow_nan=False).encode() + b"\n")


def read(name: Path, form: str, edition: int, kind: str, again: str) -> dict[str, Any]:
    """The content of a file of `write`; `InputError` if it is missing, foreign, truncated or edited."""
    try:
        if name.stat().st_size > _MAX_BYTES:
            raise InputError(f"{name} is too large for a {kind} file ({_MAX_BYTES:,} bytes at most). {again}")
        text = name.read_bytes()
        digest = _digest(text)  # first, so that its copy of the content is gone when the other is made
        content = json.loads(text, object_pairs_hook=_unique)
    except OSError as error:
        raise InputError(f"{name} could not be read: {error.strerror}. Pass the path of a {kind} file.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is not a whole JSON file ({error}). {again}") from error
    if not isinstance(content, dict) or content.get("format") != form:
        raise InputError(f'{name} is not a {kind} file: its format is not "{form}". {again}')
    if type(content.get("version")) is not int or content["version"] != edition:
        raise InputError(f"{name} has format version {content.get('version')!r}; this darrm reads {edition}. {again}")
    if content.get("sha256") != digest:
        raise InputError(f"{name} was changed after it was written: its checksum does not match. {again}")
    return content


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    keys = [key for key, _ in pairs]
    if len(set(keys)) < len(keys):
        raise ValueError("a name stands twice")
    return dict(pairs)


def load(path: str | os.PathLike[str]) -> Design:
    """Read a design file, verify its noise function anew, and refuse what does not match.

    Gamma is taken from the exact hex values. The certificate and the errors are computed again and compared with
    what the file says.

    Returns
    -------
    Design

    Raises
    ------
    InputError
        If the file is missing, foreign, truncated or edited.
    CertificateError
        If its noise function does not keep the promise of its problem.
    """
    name = Path(path)
    again = "Export the design again with save, or solve it anew."
    content = read(name, FORMAT, VERSION, "design", again)
    try:
        gamma = [float.fromhex(value) for value in content["gamma_hex"]]
        if gamma != content["gamma"]:
            raise InputError(f"{name}: gamma and gamma_hex disagree. {again}")
        gap, names = content["gap"], tuple(content["problem"])
        if gap is not None and type(gap) is not float:
            raise InputError(f"{name}: gap must be a number with a point, or null. Got {gap!r}. {again}")
        if sorted(names) != sorted(MajorityProblem.__dataclass_fields__):
            raise InputError(f"{name}: problem must have exactly its own parameters. Got {', '.join(names)}. {again}")
        design = Design(
            problem=MajorityProblem(**content["problem"]),
            gamma=gamma,  # type: ignore[arg-type]
            prior=from_dict(content["prior"]),
            shape=content["shape"],
            objective=content["objective"],
            gap=math.inf if gap is None else gap,
            profile=tuple(
                (math.inf if epsilon is None else epsilon, delta) for epsilon, delta in content.get("profile", [])
            ),
        )
        now = as_dict(design)
        size = min(1.0, design.certificate.limit)
        for key in ("error", "disagreement", "certificate"):
            if not _same(now[key], content[key], size if key == "certificate" else 1.0):
                raise InputError(f"{name}: {key} is not what its gamma gives ({content[key]} for {now[key]}). {again}")
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise InputError(f"{name} is not a complete design file ({error!r}). {again}") from error
    except ValueError as error:
        if isinstance(error, InputError) and str(name) in str(error):
            raise
        raise InputError(f"{name} is not a valid design file ({error}). {again}") from error
    return design


def _same(now: object, then: object, size: float) -> bool:
    if isinstance(now, dict) and isinstance(then, dict):
        # Which of several equally bad multisets is named first may depend on the last bit.
        keys = now.keys() - {"worst_case", "probabilities", "rounding"}
        return now.keys() == then.keys() and all(_same(now[key], then[key], size) for key in keys)
    if isinstance(now, float) and isinstance(then, float):
        return math.isclose(now, then, rel_tol=_SAME, abs_tol=_SAME * size)
    return now == then
