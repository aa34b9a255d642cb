"""IDX files, probabilities, problems, data sets, and texts of options."""

from __future__ import annotations

import math
from pathlib import Path

from hypothesis import strategies as st
from judging import Case, Finding, one_line
from mutate import Draw, broken

from darrm.errors import DarrmError, InputError


@st.composite
def idx_files(draw: Draw) -> Case:
    import gzip

    axes = draw(st.sampled_from([1, 3]))
    shape = [draw(st.integers(0, 3)) for _ in range(axes)]
    content = bytes([0, 0, 8, axes]) + b"".join(n.to_bytes(4, "big") for n in shape) + bytes(math.prod(shape))
    if draw(st.booleans()):
        content = broken(draw, content)
    if draw(st.booleans()):
        content = gzip.compress(content, 1, mtime=0)
        if draw(st.booleans()):
            content = broken(draw, content)
    return {"content": content, "axes": axes}


def run_idx(case: Case) -> str:
    import idx

    Path("images").write_bytes(case["content"])
    try:
        found = idx.read(Path("images"), case["axes"])
    except InputError as error:
        one_line(error)
        return "refused"
    if found.ndim != case["axes"] or found.dtype != "uint8" or not found.size:
        raise Finding(f"no images: {found.dtype}, {found.shape}")
    return "accepted"


PRIORS = [b"independent:0.5,1", b"common:2,2", b"fixed:0.5,0.6,0.7", b"votes:1,2,3,4", b"uniform", b"votes:votes.csv"]
LISTS = [b"11", b"5,7,9", b"11:101:2", b"0.1:0.5:0.1", b"1e-3"]
ETAS = [b"p\n0.1\n0.5\n", b"0.1\n0.9", b'"0.5"\n', b"beta:1,2"]
PROBLEMS = [
    b"K,m,epsilon\n3,1,0.5\n",
    b"K,m,epsilon,Delta,delta,max_affected,adjacency,prior,shape,objective\n3,1,0.5,,,,,,,\n",
]
HIGGS = [b"1," + b",".join([b"0.5"] * 28) + b"\n", b"1 3:1 5:2\n0 7:1\n"]
TEXT_KINDS = {"prior": PRIORS, "values": LISTS, "eta": ETAS, "problems": PROBLEMS, "higgs": HIGGS, "kddcup": HIGGS}


@st.composite
def texts(draw: Draw) -> Case:
    kind = draw(st.sampled_from(sorted(TEXT_KINDS)))
    return {"kind": kind, "content": broken(draw, draw(st.sampled_from(TEXT_KINDS[kind])))}


def run_text(case: Case) -> str:
    import label_data

    from darrm import priors
    from darrm.cli.table import values
    from darrm.labels.audit_files import read_eta
    from darrm.tables import from_csv

    kind, content = case["kind"], case["content"]
    text = content.decode("utf-8", "surrogateescape")
    Path("file.csv").write_bytes(content)
    try:
        if kind == "prior":
            prior = priors.parse(text)
            if priors.from_dict(prior.as_dict()) != prior:
                raise Finding("a prior is not what its description says")
            mean = prior.ones(3)
            if not (abs(mean.sum() - 1) < 1e-9 and mean.min() > -1e-9):
                raise Finding(f"{prior} gives {mean}")
        elif kind == "values":
            found = values("K", text)
            if not found or len(found) > 10**7 or not all(math.isfinite(x) for x in found):
                raise Finding(f"values {found}")
        elif kind == "eta":
            found = read_eta("file.csv")
            if not ((found >= 0) & (found <= 1)).all():
                raise Finding(f"probabilities {found}")
        elif kind == "problems":
            from_csv("file.csv")
        elif kind == "higgs":
            label_data.higgs("file.csv")
        else:
            label_data.kddcup2012("file.csv", n_features=64)
    except DarrmError as error:
        one_line(error)
        return "refused"
    return "accepted"


def raw_text(data: bytes) -> Case:
    kinds = sorted(TEXT_KINDS)
    return {"kind": kinds[data[0] % len(kinds)] if data else "eta", "content": data[1:]}
