"""Design files come back bit by bit, and nothing that was touched comes back at all."""

import copy
import errno
import json
import math
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scripts import PROGRAMS

import darrm
from darrm import compare, priors
from darrm.cli import main
from darrm.design import content
from darrm.design import design as module
from darrm.design.design import as_dict
from darrm.priors import Prior
from darrm.storage.atomic import replacing

PRIORS = {
    "uniform": lambda K: priors.independent(),
    "independent": lambda K: priors.independent(0.6, 0.95),
    "common": lambda K: priors.common(2.5, 1 / 3),
    "correlated": lambda K: priors.correlated(2 / 3, 1 / 11),
    "votes": lambda K: priors.votes([l * 0.1 for l in range(K + 1)]),
    "fixed": lambda K: priors.fixed([1 / (i + 2) for i in range(K)]),
    "confusion": lambda K: priors.confusion([[[0.7, 0.3], [1 / (i + 3), 1 - 1 / (i + 3)]] for i in range(K)]),
    "randomized-response": lambda K: priors.randomized_response(priors.common(2.5, 1 / 3), 1 / 11),
}
Forge = Callable[..., Path]


@pytest.fixture(scope="module")
def design() -> darrm.Design:
    return darrm.solve(K=5, m=2, epsilon=0.3, Delta=1e-5, prior="common:2,3")


@pytest.fixture(scope="module")
def text(design: darrm.Design, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("design") / "gamma.json"
    design.save(path)
    return path.read_text(encoding="utf-8")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "gamma.json"


@pytest.fixture
def forge(design: darrm.Design, path: Path, monkeypatch: pytest.MonkeyPatch) -> Forge:
    """Save the design with some content edited and a checksum that fits the edited content."""

    def save(**edits: Any) -> Path:
        honest = as_dict(design)
        for name, value in edits.items():
            inner = honest[name]
            honest[name] = {**inner, **value} if isinstance(inner, dict) and isinstance(value, dict) else value
        with monkeypatch.context() as patch:
            patch.setattr(module, "as_dict", lambda _: honest)
            design.save(path)
        return path

    return save


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


# Round trips


@pytest.mark.parametrize("shape", ["free", "monotone"])
@pytest.mark.parametrize("K", [6, 7])
@pytest.mark.parametrize(
    ("prior", "objective"),
    [(name, "disagreement") for name in PRIORS] + [(name, "tv") for name in ("uniform", "independent", "common")],
)
def test_a_design_comes_back_exactly(path: Path, prior: str, objective: str, K: int, shape: str) -> None:
    problem = darrm.MajorityProblem(
        K=K, m=2.5, epsilon=0.1, Delta=1e-6, delta=1e-3, max_affected=3, adjacency="add-remove"
    )
    before = darrm.solve(problem, prior=PRIORS[prior](K), shape=shape, objective=objective)
    before.save(path)
    after = darrm.load(path)
    assert same_bits(after.gamma, before.gamma)
    assert after.problem == before.problem
    assert after.prior == before.prior
    assert (after.shape, str(after.objective), after.gap) == (shape, objective, before.gap)
    assert after.certificate == before.certificate
    assert (after.error, after.disagreement) == (before.error, before.disagreement)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "p", [[0.1, 0.2, 0.3, 0.4, 0.45], [0.9, 0.8, 0.7, 0.6, 0.55], [0.1, 0.9, 0.2, 0.8, 0.3], [0.5] * 5]
)
def test_the_error_under_given_p_is_that_of_definition_2_4(
    path: Path, monkeypatch: pytest.MonkeyPatch, p: list[float]
) -> None:
    design = darrm.solve(K=5, m=1, epsilon=0.5, prior=priors.fixed(p))
    assert design.error >= 0
    assert math.copysign(1, design.error) == 1
    assert design.error == pytest.approx(float(darrm.expected_error(design.gamma, p)), abs=1e-15)
    for entry in compare(design.problem, prior=priors.fixed(p)):
        assert entry.error == pytest.approx(float(darrm.expected_error(entry.gamma, p)), abs=1e-15)
    earlier = {**as_dict(design), "error": -design.error}  # the sum without its absolute value
    monkeypatch.setattr(module, "as_dict", lambda _: earlier)
    design.save(path)
    monkeypatch.undo()
    assert darrm.load(path) == design
    assert darrm.load(path).error == design.error


def test_a_second_save_writes_the_same_bytes(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    darrm.load(path).save(path)
    assert path.read_text(encoding="utf-8") == text


def test_awkward_floats_come_back_exactly(path: Path) -> None:
    half = [5e-324, 1 / 3, math.nextafter(1 / 3, 1), 0.1 + 0.2, 2.0**-1074 * 7]
    table = np.array(half[::-1] + half)
    problem = darrm.MajorityProblem(K=9, m=9, epsilon=0.1)
    darrm.Design(problem, table, priors.independent()).save(path)
    assert same_bits(darrm.load(path).gamma, table)


def test_infinities_come_back(path: Path) -> None:
    problem = darrm.MajorityProblem(K=3, m=3, epsilon=800)
    before = darrm.Design(problem, np.full(4, 0.5), priors.independent())
    assert before.gap == math.inf
    before.save(path)
    assert "Infinity" not in path.read_text(encoding="utf-8")
    after = darrm.load(path)
    assert after.gap == math.inf
    assert after.certificate == before.certificate


def test_text_beyond_ascii_comes_back(path: Path) -> None:
    problem = darrm.MajorityProblem(K=3, m=2, epsilon=0.1, adjacency='one "Zeile" mehr, 一行 \\')
    darrm.solve(problem).save(path)
    assert darrm.load(path).problem.adjacency == problem.adjacency


def test_the_file_holds_what_it_promises(design: darrm.Design, text: str) -> None:
    content = json.loads(text)
    assert {"format", "version", "problem", "gamma", "gamma_hex", "prior", "certificate", "made_with"} <= content.keys()
    assert [float.fromhex(value) for value in content["gamma_hex"]] == content["gamma"] == design.gamma.tolist()
    assert content["made_with"]["darrm"] == darrm.__version__


# A design is always one that holds


def test_a_design_refuses_a_table_that_does_not_hold() -> None:
    problem = darrm.MajorityProblem(K=5, m=2, epsilon=0.3)
    with pytest.raises(darrm.CertificateError, match="is not"):
        darrm.Design(problem, np.ones(6), priors.independent())


def test_a_hair_above_the_optimum_does_not_hold() -> None:
    problem = darrm.MajorityProblem(K=11, m=1, epsilon=0.1)
    gamma = darrm.solve(problem).gamma.copy()
    darrm.Design(problem, gamma, priors.independent())
    gamma[[5, 6]] += 1e-9
    with pytest.raises(darrm.CertificateError):
        darrm.Design(problem, gamma, priors.independent())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"table": np.zeros(5)}, "shape"),
        ({"table": np.full(6, np.nan)}, "gamma"),
        ({"table": np.full(6, -0.1)}, "gamma"),
        ({"table": np.array([0, 0, 0, 0, 0, 0.1])}, "gamma"),
        ({"table": "none"}, "gamma"),
        ({"table": np.array([0.1, 0, 0, 0, 0, 0.1]), "shape": "monotone"}, None),
        ({"table": np.array([0, 0, 0.1, 0.1, 0, 0]), "shape": "monotone"}, "monotone"),
        ({"shape": "round"}, "shape"),
        ({"objective": "fun"}, "objective"),
        ({"gap": -1e-9}, "gap"),
        ({"gap": math.nan}, "gap"),
        ({"prior": priors.fixed([0.5] * 4)}, "fixed"),
        ({"prior": priors.votes([1] * 5)}, "histogram"),
    ],
)
def test_a_design_refuses_bad_arguments(changes: dict[str, Any], said: str | None) -> None:
    problem = darrm.MajorityProblem(K=5, m=2, epsilon=0.3)
    arguments = {"table": np.zeros(6), "prior": priors.independent(), **changes}
    if said is None:
        assert darrm.Design(problem, **arguments).certificate.holds
        return
    with pytest.raises(darrm.InputError, match=said):
        darrm.Design(problem, **arguments)


def test_gamma_is_read_only_and_a_copy(design: darrm.Design, path: Path) -> None:
    table = np.zeros(6)
    made = darrm.Design(design.problem, table, design.prior)
    table[:] = 1
    assert made.gamma.max() == 0
    design.save(path)
    for one in (made, design, darrm.load(path)):
        with pytest.raises(ValueError, match="read-only"):
            one.gamma[0] = 1.0
        with pytest.raises(AttributeError):
            one.gamma = table  # type: ignore[misc]


# Damage


def refuse(path: Path) -> None:
    with pytest.raises(darrm.DarrmError):
        darrm.load(path)


@pytest.mark.thorough
def test_no_digit_can_be_changed(text: str, path: Path) -> None:
    accepted = []
    for position, old in enumerate(text):
        if not old.isdigit():
            continue
        for new in "0123456789".replace(old, ""):
            path.write_text(text[:position] + new + text[position + 1 :], encoding="utf-8")
            try:
                darrm.load(path)
            except darrm.DarrmError:
                continue
            accepted.append(f"{text[max(0, position - 24) : position]}[{old} -> {new}]")
    assert not accepted


@pytest.mark.thorough
def test_no_digit_changes_what_is_loaded(design: darrm.Design, text: str, path: Path) -> None:
    for position, old in enumerate(text):
        if old.isdigit():
            path.write_text(text[:position] + str((int(old) + 1) % 10) + text[position + 1 :], encoding="utf-8")
            try:
                got = darrm.load(path)
            except darrm.DarrmError:
                continue
            assert (got.gamma.tolist(), got.problem, got.prior) == (design.gamma.tolist(), design.problem, design.prior)
            assert (got.gap, got.certificate) == (design.gap, design.certificate)


def test_a_number_written_as_text_is_refused_or_the_same(design: darrm.Design, text: str, path: Path) -> None:
    numbers = list(re.finditer(r"(?<=[ \[])-?\d[\d.e+-]*(?=[,\n])", text))
    assert len(numbers) > 20
    for found in numbers:
        path.write_text(f'{text[: found.start()]}"{found[0]}"{text[found.end() :]}', encoding="utf-8")
        try:
            got = darrm.load(path)
        except darrm.DarrmError:
            continue
        assert (got.gamma.tolist(), got.problem, got.prior) == (design.gamma.tolist(), design.problem, design.prior)
        assert (got.gap, got.certificate) == (design.gap, design.certificate)


def test_no_truncation_is_accepted(text: str, path: Path) -> None:
    whole = text.encode()
    # The last byte is the line end.
    for length in (*range(0, len(whole) - 1, 37), len(whole) - 2):
        path.write_bytes(whole[:length])
        refuse(path)


@pytest.mark.thorough
def test_no_byte_can_be_flipped_in_silence(design: darrm.Design, text: str, path: Path) -> None:
    whole = text.encode()
    for position in range(0, len(whole), 11):
        for bit in (0, 3, 5, 7):
            path.write_bytes(whole[:position] + bytes([whole[position] ^ 1 << bit]) + whole[position + 1 :])
            try:
                got = darrm.load(path)
            except darrm.DarrmError:
                continue
            assert (got.gamma.tolist(), got.problem) == (design.gamma.tolist(), design.problem)


FOREIGN: dict[str, Callable[[str], str | bytes]] = {
    "empty": lambda text: "",
    "blank": lambda text: " \n",
    "a number": lambda text: "1",
    "null": lambda text: "null",
    "a list": lambda text: f"[{text}]",
    "an empty object": lambda text: "{}",
    "foreign": lambda text: '{"format": "else", "version": 2}',
    "format only": lambda text: '{"format": "darrm-design"}',
    "no content": lambda text: '{"format": "darrm-design", "version": 2}',
    "twice": lambda text: text + text,
    "with a tail": lambda text: text + "}",
    "old version": lambda text: text.replace('"version": 2', '"version": 1'),
    "next version": lambda text: text.replace('"version": 2', '"version": 3'),
    "version as text": lambda text: text.replace('"version": 2', '"version": "2"'),
    "other format": lambda text: text.replace("darrm-design", "darrm-Design"),
    "a name twice": lambda text: text.replace('"version": 2', '"version": 2,\n "version": 2'),
    "gamma twice": lambda text: text.replace('"gamma": [', '"gamma": [],\n "gamma": ['),
    "an inner name twice": lambda text: text.replace('"K": 5', '"K": 5, "K": 5'),
    "NaN": lambda text: text.replace('"m": 2.0', '"m": NaN'),
    "Infinity": lambda text: text.replace('"m": 2.0', '"m": Infinity'),
    "-Infinity": lambda text: text.replace('"m": 2.0', '"m": -Infinity'),
    "a huge number": lambda text: text.replace('"m": 2.0', '"m": 1e999'),
    "a long number": lambda text: text.replace('"m": 2.0', f'"m": {"9" * 5000}'),
    "no checksum": lambda text: text[: text.index(',\n "sha256"')] + "\n}\n",
    "another name": lambda text: text.replace('"gap"', '"gab"'),
    "one name more": lambda text: text.replace('"version": 2', '"version": 2, "note": "x"'),
    "nested lists": lambda text: "[" * 100_000,
    "nested objects": lambda text: '{"a":' * 100_000,
    "not UTF-8": lambda text: text.replace("replace-one", "é").encode("latin-1"),
    "zeros": lambda text: b"\0" * 1000,
    "binary": lambda text: bytes(range(256)),
    "a BOM and half a file": lambda text: ("\ufeff" + text[:300]).encode(),
}


@pytest.mark.first(12)
@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_no_design_file_is_refused(kind: str, text: str, path: Path) -> None:
    content = FOREIGN[kind](text)
    assert content != text
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(darrm.InputError, match=r"gamma\.json") as refusal:
        darrm.load(path)
    assert len(str(refusal.value).splitlines()) == 1


def test_what_is_too_large_to_be_read_is_not_written(
    design: darrm.Design, text: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    design.save(path)
    size = path.stat().st_size
    monkeypatch.setattr("darrm.storage.sealed_json.MAX_BYTES", size)
    design.save(path)
    assert darrm.load(path) == design
    monkeypatch.setattr("darrm.storage.sealed_json.MAX_BYTES", size - 1)
    with pytest.raises(darrm.InputError, match=f"would have {size:,} bytes; at most {size - 1:,} can be read again"):
        design.save(path.with_name("other.json"))
    assert not path.with_name("other.json").exists()
    with pytest.raises(darrm.InputError) as refusal:
        darrm.load(path)
    assert str(refusal.value).count("bytes") == str(refusal.value).count(path.name) == 1


@pytest.mark.thorough
@pytest.mark.parametrize("groups", [[(1, 0.5)], [(40, 0.5)], [(6, 0.5), (1, 1.0), (4, 2.0)], [(1, 1.0)] * 7])
def test_a_design_file_is_no_larger_than_is_said_before_the_solve(
    groups: list[tuple[int, float]], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = darrm.DecisionProblem([darrm.VoterGroup(*group) for group in groups], epsilon=1.0, max_affected=1)
    tables = (
        np.random.default_rng(0).random(problem.table_shape) * 1e-200,
        np.nextafter(np.full(problem.table_shape, 0.5), 0),
    )
    for table in tables:
        objective = darrm.objectives.truth([0.7] * len(groups))
        made = darrm.DecisionDesign(problem, darrm.repair(table, problem), objective, gap=0.0)
        made.save(path)
        monkeypatch.setattr(content, "MAX_BYTES", path.stat().st_size - 1)
        with pytest.raises(darrm.InputError, match="can be read again"):
            content.check_writable(problem)


def test_commands_refuse_such_a_file_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("darrm.design.solve.variables", None)  # not called
    group = ["--group", "1000000:1", "--max-affected", "1", "--total-epsilon", "1", "--accuracy", "0.6"]
    assert main(["solve", *group, "--out", str(tmp_path / "d.json")]) == 2
    assert "can be read again. Do without --out, or take fewer voters." in capsys.readouterr().err
    monkeypatch.setattr("darrm.planning.planner.plan", None)
    group = ["--group", "25:inf", "--classes", "8", "--total-epsilon", "3", "--accuracy", "0.6", "--queries", "20"]
    group += ["--total-delta", "1e-6", "--max-affected", "1"]
    assert main(["plan", *group, "--out", str(tmp_path / "d.json")]) == 2
    said = r"Take fewer voters or fewer classes, or release .* by noisy max \(darrm\.mechanisms\.GaussianNoisyMax\)"
    assert re.search(said, capsys.readouterr().err)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
def test_any_depth_of_nesting_is_refused(path: Path) -> None:
    for depth in range(1, sys.getrecursionlimit() + 10):
        nested = "[" * depth + "]" * depth
        path.write_text(f'{{"format": "darrm-design", "version": 2, "sha256": {nested}, "x": {nested}}}')
        refuse(path)


@pytest.mark.parametrize("kind", ["empty", "foreign", "next version", "gamma twice", "nested lists", "not UTF-8"])
def test_verify_refuses_such_a_file_in_one_line(
    kind: str, text: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = FOREIGN[kind](text)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert main(["verify", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1


def test_a_file_of_absurd_size_is_refused(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)  # sparse: takes no room
    with pytest.raises(darrm.InputError, match="too large"):
        darrm.load(path)


# Forgery: the checksum fits


def test_a_forgery_without_edits_is_accepted(forge: Forge, design: darrm.Design) -> None:
    assert darrm.load(forge()).gamma.tolist() == design.gamma.tolist()


@pytest.mark.parametrize(("constant", "value"), [("VERSION", 3), ("VERSION", "2"), ("FORMAT", "foreign")])
def test_another_format_or_version_is_refused(
    design: darrm.Design, path: Path, monkeypatch: pytest.MonkeyPatch, constant: str, value: object
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(content, constant, value)
        design.save(path)
    with pytest.raises(darrm.InputError, match=constant.lower()):
        darrm.load(path)


def broken(design: darrm.Design, gamma: np.ndarray) -> darrm.Design:
    """The design with another table, as no honest hand can make it."""
    fake = copy.copy(design)
    object.__setattr__(fake, "table", gamma)
    return fake


@pytest.mark.parametrize("amount", [1e-9, 1e-3, 1.0])
def test_a_table_that_breaks_the_guarantee_is_refused(
    design: darrm.Design, path: Path, capsys: pytest.CaptureFixture[str], amount: float
) -> None:
    broken(design, np.minimum(1, design.gamma + amount)).save(path)
    with pytest.raises(darrm.CertificateError, match="is not"):
        darrm.load(path)
    assert main(["verify", str(path)]) == 1
    assert capsys.readouterr().out == ""


def test_a_table_that_holds_but_is_another_is_refused(design: darrm.Design, path: Path) -> None:
    broken(design, design.gamma / 2).save(path)
    with pytest.raises(darrm.InputError, match="as recomputed from the exact numbers"):
        darrm.load(path)


@pytest.mark.first(15)
@pytest.mark.parametrize(
    "edits",
    [
        {"error": 0.0},
        {"error": None},
        {"error": "0.1"},
        {"disagreement": 0.5},
        {"gap": -1e-12},
        {"gap": "0"},
        {"gap": [0]},
        {"certificate": {"holds": False}},
        {"certificate": {"needed_delta": 0.0}},
        {"certificate": {"tight_epsilon": 0.0}},
        {"certificate": {"proved_by": "me"}},
        {"certificate": None},
        {"gamma": [0.0] * 6},
        {"gamma": [0.0] * 5},
        {"gamma": None},
        {"shape": "round"},
        {"shape": None},
        {"objective": "fun"},
        {"prior": {"a": 2.5}},
        {"prior": {"kind": "psychic"}},
        {"prior": {"kind": "votes"}},
        {"prior": "common:2,3"},
        {"prior": None},
        {"problem": {"K": 7}},
        {"problem": {"K": 5.5}},
        {"problem": {"m": 3.0}},
        {"problem": {"m": 0.0}},
        {"problem": {"epsilon": 0.5}},
        {"problem": {"epsilon": 0.0}},
        {"problem": {"epsilon": "0.3"}},
        {"problem": {"Delta": 0.0}},
        {"problem": {"delta": 0.5}},
        {"problem": {"delta": 1.0}},
        {"problem": {"max_affected": 1}},
        {"problem": {"max_affected": 0}},
        {"problem": {"adjacency": ""}},
        {"problem": {"voters": 5}},
        {"problem": None},
        {"problem": []},
    ],
    ids=str,
)
def test_edited_content_is_refused(forge: Forge, edits: dict[str, Any]) -> None:
    with pytest.raises(darrm.InputError):
        darrm.load(forge(**edits))


def test_a_guarantee_that_was_tightened_is_refused(forge: Forge) -> None:
    with pytest.raises(darrm.CertificateError):
        darrm.load(forge(problem={"m": 1.0, "delta": 1e-5}))


def test_loading_verifies_anew(text: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text(text, encoding="utf-8")
    asked = []
    module = sys.modules["darrm.design.checks"]
    honest = module.verify
    monkeypatch.setattr(module, "verify", lambda *arguments: asked.append(arguments) or honest(*arguments))
    darrm.load(path)
    assert len(asked) == 1


# Writing: whole or not at all


def test_the_old_file_stays_until_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError("x"), OSError(errno.EIO, "x"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("existed", [True, False])
def test_an_error_inside_the_block_leaves_no_trace(tmp_path: Path, error: BaseException, existed: bool) -> None:
    path = tmp_path / "file"
    if existed:
        path.write_bytes(b"old")
    expected = darrm.OutputError if isinstance(error, OSError) else type(error)

    def write_half() -> None:
        with replacing(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(expected):
        write_half()
    assert [one.read_bytes() for one in tmp_path.iterdir()] == [b"old"] * existed


def test_a_save_that_fails_keeps_the_old_design(
    design: darrm.Design, text: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_text(text, encoding="utf-8")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(darrm.OutputError, match="No space left"):
        broken(design, design.gamma / 2).save(path)
    assert path.read_text(encoding="utf-8") == text
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions: run on Linux or macOS")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o664])
def test_permission_bits_are_kept(path: Path, design: darrm.Design, mode: int) -> None:
    path.touch()
    path.chmod(mode)
    design.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions: run on Linux or macOS")
@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_new_files_follow_the_umask(path: Path, design: darrm.Design, mask: int) -> None:
    before = os.umask(mask)
    try:
        design.save(path)
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


@pytest.mark.parametrize("name", ["x" * 250 + ".json", "é 一.json", ".json", "gamma"])
def test_any_file_name_will_do(tmp_path: Path, design: darrm.Design, name: str) -> None:
    design.save(tmp_path / name)
    assert [one.name for one in tmp_path.iterdir()] == [name]
    assert same_bits(darrm.load(str(tmp_path / name)).gamma, design.gamma)


@pytest.mark.parametrize("target", ["missing/gamma.json", "."])
def test_an_unwritable_path_is_an_output_error(tmp_path: Path, design: darrm.Design, target: str) -> None:
    with pytest.raises(darrm.OutputError, match="could not be written"):
        design.save(tmp_path / target)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork: run on Linux or macOS")
def test_a_killed_save_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "gamma.json"
    ended = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", str(PROGRAMS / "killed_saves.py"), str(path), "20"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) > 0  # the children did save
    assert list(tmp_path.glob("*.json")) == [path]
    strays = [one.name for one in tmp_path.iterdir() if one != path]
    assert all(name.startswith(".") and name.endswith(".part") for name in strays)


def test_every_kind_of_prior_is_covered() -> None:
    kinds = {make(3).kind for make in PRIORS.values()}
    assert kinds == {cls.kind for cls in Prior.__subclasses__()}
