"""Randomness by key: the same row has the same label, and over keys each label has its law."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import pickle
import subprocess
import sys
import traceback
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import ledgers
import numpy as np
import pytest
import scipy.stats
from numpy.typing import NDArray
from scripts import COMMAND

import darrm
from darrm.accounting import Ledger
from darrm.accounting.ledger_ids import Batch
from darrm.cli import main
from darrm.errors import BudgetError, ExistsError, InputError, RepeatedIdError
from darrm.mechanisms import (
    ExponentialMechanism,
    GaussianNoisyMax,
    LabelKey,
    LaplaceNoisyMax,
    PermuteAndFlip,
    PrivateDecision,
)
from darrm.mechanisms.class_votes import ClassVotes
from darrm.randomness.choices import Choices, uniform
from darrm.randomness.coins import Coins
from darrm.randomness.digits import exponential, gaussian, gumbel, laplace, winners
from darrm.randomness.keyed import KeyedRows, KeyedWords
from darrm.votes.rows import Texts, VotesBlock

posix = pytest.mark.skipif(os.name != "posix", reason="needs modes of files")
SECRET = bytes(range(32))
KEY = LabelKey(SECRET)
MAJORITY = darrm.solve(K=5, m=1, epsilon=0.5)
OTHER = darrm.solve(K=5, m=1, epsilon=0.4)
GROUPS = [darrm.VoterGroup(1, epsilon=1.0), darrm.VoterGroup(2, epsilon=0.5)]
ABSENT = darrm.solve(
    darrm.DecisionProblem(GROUPS, epsilon=0.6), objective=darrm.objectives.truth([0.75, 0.6]), absent=True
)
PLURALITY = darrm.objectives.rule("plurality", [0.6], none=0.5)
CLASSES = darrm.solve(
    darrm.DecisionProblem([darrm.VoterGroup(4, epsilon=1.0)], 0.8, classes=3, none=True), objective=PLURALITY
)
ABSENT_CLASSES = darrm.solve(
    darrm.DecisionProblem([darrm.VoterGroup(3, epsilon=1.0)], 0.8, classes=3, none=True),
    objective=PLURALITY,
    absent=True,
)
ROWS: dict[str, tuple[Any, list[int], list[float]]] = {  # a mechanism, a row for it, and the law of its label
    "majority": (
        PrivateDecision(MAJORITY),
        [1, 0, 1, 1, 1],
        [(1 - MAJORITY.gamma[4]) / 2, (1 + MAJORITY.gamma[4]) / 2],
    ),
    "absent": (
        PrivateDecision(ABSENT),
        [-1, 1, 0],
        [1 - ABSENT.with_present((0, 2)).table[1], ABSENT.with_present((0, 2)).table[1]],
    ),
    "classes": (PrivateDecision(CLASSES), [0, 1, 0, 1], CLASSES.probabilities([[[2, 2, 0]]])[0].tolist()),
    "absent classes": (
        PrivateDecision(ABSENT_CLASSES),
        [0, 1, -1],
        ABSENT_CLASSES.with_present((2,)).probabilities([[[1, 1, 0]]])[0].tolist(),
    ),
    "Gaussian noisy max": (
        GaussianNoisyMax(2.0),
        [3, 1, 2],
        GaussianNoisyMax(2.0).chances([[3, 1, 2]])[0].tolist(),
    ),
    **{
        name: (mechanism, [3, 1, 2], mechanism.chances([[3, 1, 2]])[0].tolist())
        for name, mechanism in {
            "Laplace noisy max": LaplaceNoisyMax(0.5),
            "permute-and-flip": PermuteAndFlip(0.9),
            "exponential mechanism": ExponentialMechanism(0.9),
        }.items()
    },
}
RUNS = 4000


def named(n: int, start: int = 0) -> list[str]:
    return [f"q{i}" for i in range(start, start + n)]


def drawn(n: int, K: int = 5) -> NDArray[np.uint8]:
    return np.random.default_rng(n).integers(0, 2, (n, K), dtype=np.uint8)


def p_value(labels: NDArray[Any], law: list[float]) -> float:
    """Of Pearson's test; a label of probability 0 must not occur."""
    counts, chances = np.bincount(labels, minlength=len(law)), np.array(law)
    assert counts[chances == 0].sum() == 0
    some = chances > 0
    return float(scipy.stats.chisquare(counts[some], labels.size * chances[some] / chances[some].sum()).pvalue)


@pytest.mark.first(1, 3)
@pytest.mark.parametrize("what", ROWS)
def test_over_keys_a_label_has_its_law(what: str) -> None:
    """One row by many keys: these fail together with a probability of about 1e-8."""
    mechanism, row, law = ROWS[what]
    runs = RUNS // 8
    labels = [mechanism.release([row], key=LabelKey(os.urandom(32)), ids=["q"])[0] for _ in range(runs)]
    assert p_value(np.array(labels), law) > 1e-9


@pytest.mark.parametrize("what", ROWS)
def test_over_ids_labels_have_their_law_and_are_independent(what: str) -> None:
    mechanism, row, law = ROWS[what]
    runs = 4 * RUNS
    key = LabelKey(os.urandom(32))
    labels = mechanism.release([row] * runs, key=key, ids=named(runs))
    assert p_value(labels, law) > 1e-9
    pairs = len(law) * labels[::2].astype(int) + labels[1::2]
    assert p_value(pairs, np.outer(law, law).ravel().tolist()) > 1e-9


@pytest.mark.thorough
@pytest.mark.parametrize("what", ["votes", "id", "design", "key"])
def test_whatever_differs_gives_independent_labels(what: str) -> None:
    """Labels of two votes out of five and of another row agree as often as independent ones, in 40,000 rows."""
    n, rows = 40_000, [[1, 1, 0, 0, 0]]
    first = PrivateDecision(MAJORITY).release(rows * n, key=KEY, ids=named(n))
    design = OTHER if what == "design" else MAJORITY
    key = LabelKey(SECRET[::-1]) if what == "key" else KEY
    votes = [[0, 0, 0, 1, 1] if what != "votes" else [1, 0, 0, 0, 0]]
    second = PrivateDecision(design).release(votes * n, key=key, ids=named(n, n if what == "id" else 0))
    one, two = (np.bincount(labels, minlength=2) / n for labels in (first, second))
    cells = np.bincount(2 * first + second, minlength=4)
    assert scipy.stats.chisquare(cells, n * np.outer(one, two).ravel(), ddof=2).pvalue > 1e-9


def test_only_what_the_law_depends_on_counts() -> None:
    """Which voter gave a vote changes no probability, and so no label: it would show that votes differ."""
    rows = drawn(300)
    mechanism = PrivateDecision(MAJORITY)
    assert np.array_equal(
        mechanism.release(rows, key=KEY, ids=named(300)), mechanism.release(rows[:, ::-1], key=KEY, ids=named(300))
    )


@pytest.mark.parametrize("what", ROWS)
def test_neither_order_nor_company_changes_a_label(what: str) -> None:
    mechanism, row, _ = ROWS[what]
    n, rng = 60, np.random.default_rng(5)
    rows = rng.permuted(np.tile(row, (n, 1)), axis=1)
    labels, order = mechanism.release(rows, key=KEY, ids=named(n)), rng.permutation(n)
    ids = [named(n)[i] for i in order]
    assert np.array_equal(mechanism.release(rows[order], key=KEY, ids=ids), labels[order])
    alone = [mechanism.release(rows[i : i + 1], key=KEY, ids=[f"q{i}"])[0] for i in range(n)]
    assert alone == labels.tolist()


@pytest.mark.every
@pytest.mark.parametrize(
    ("what", "counts"),
    [("majority", 4), ("absent", [1, 1]), ("classes", [2, 2, 0]), ("absent classes", [1, 2, 0])],
)
def test_counts_give_the_labels_of_their_votes(what: str, counts: Any) -> None:
    """Also where voters may be absent, and none is."""
    mechanism = ROWS[what][0]
    row = {"absent": [1, 1, 0], "absent classes": [0, 1, 1]}.get(what, ROWS[what][1])
    by_votes = mechanism.release([row] * 60, key=KEY, ids=named(60))
    by_counts = mechanism.release_counts([counts] * 60, key=KEY, ids=named(60))
    assert by_counts.tolist() == by_votes.tolist()
    assert len(set(by_votes.tolist())) > 1
    with pytest.raises(InputError, match="exclude each other"):
        mechanism.release_counts([counts], np.random.default_rng(0), key=KEY, ids=["q"])
    with pytest.raises(InputError, match="A key needs an id"):
        mechanism.release_counts([counts], key=KEY)


@pytest.mark.parametrize("size", [1, 7, 70_000])
def test_the_size_of_blocks_changes_no_label(size: int) -> None:
    n = 20 if size == 1 else 140_001
    rows, mechanism = drawn(n), PrivateDecision(MAJORITY)
    whole = mechanism.release(rows, key=KEY, ids=Texts.numbers(0, n))
    n = n if size > 7 else 140
    blocks = [
        VotesBlock(rows[i : i + size], Texts.numbers(i, len(rows[i : i + size])), None, has_ids=True)
        for i in range(0, min(n, len(rows)), size)
    ]
    assert np.array_equal(np.concatenate(list(mechanism.release_blocks(blocks, key=KEY))), whole[:n])


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["csv", "parquet"])
def test_the_command_in_other_processes_and_the_column_give_the_same(how: str, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    if how == "parquet":
        pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(drawn(50), columns=list("abcde")).assign(id=named(50))
    MAJORITY.save(tmp_path / "gamma.json")
    (tmp_path / "labels.key").write_bytes(SECRET)
    (tmp_path / "labels.key").chmod(0o600)
    getattr(frame.iloc[::-1], f"to_{how}")(tmp_path / f"votes.{how}", index=False)
    command = [sys.executable, COMMAND, "release", "gamma.json", "--votes", f"votes.{how}", "--key", "labels.key"]
    subprocess.run([*command, "--out", "labels.csv"], cwd=tmp_path, check=True, capture_output=True)
    labels = darrm.columns.release(PrivateDecision(MAJORITY), frame, key=tmp_path / "labels.key")
    found = pandas.read_csv(tmp_path / "labels.csv").set_index("id").label
    assert found[named(50)].tolist() == labels.tolist()
    assert labels.tolist() == PrivateDecision(MAJORITY).release(drawn(50), key=KEY, ids=named(50)).tolist()


def test_labels_stay_what_they_were() -> None:
    """A change of words or samplers that fails here gives a row a second label: it needs another `_PERSON`."""
    gamma = [1.0, 0.5, 0.25, 0.25, 0.5, 1.0]
    rows = {
        "noise function": (
            PrivateDecision(
                darrm.Design(darrm.MajorityProblem(K=5, m=5, epsilon=3), gamma, darrm.priors.independent())
            ),
            [1, 1, 0, 1, 0],
        ),
        **{name.split()[0]: ROWS[name][:2] for name in list(ROWS)[-4:]},
    }
    made = {name: mechanism.release([row] * 24, key=KEY, ids=named(24)) for name, (mechanism, row) in rows.items()}
    problem = darrm.DecisionProblem([darrm.VoterGroup(2, epsilon=1.0)], 1.0, classes=3, none=True)
    alike = ClassVotes(problem, np.array([[0.5, 0.125, 0.125, 0.25], [0.375, 0.375, 0.125, 0.125]]))
    made["classes"] = alike.labels(np.array([[0, 0], [0, 1], [2, 1], [2, 2]] * 6), KeyedWords(rows_of(24)))
    assert {name: "".join(map(str, labels)) for name, labels in made.items()} == {
        "noise function": "110101001010011100100100",
        "Gaussian": "112210222222022220221002",
        "Laplace": "012112000221021120100002",
        "permute-and-flip": "000020121001202100100201",
        "exponential": "001000122102022220022020",
        "classes": "212101120111032201220022",
    }


# Words


def by_definition(law: bytes, counts: list[int], text: str, block: int) -> bytes:
    packed = [len(counts) * 8, block, *counts]
    message = law + b"".join(number.to_bytes(8, "little", signed=True) for number in packed) + text.encode()
    return hashlib.blake2b(message, key=SECRET, person=b"darrm labels v1").digest()


def test_words_are_as_defined() -> None:
    law, counts, texts = b"l" * 32, [[3, 1], [0, 4], [3, 1]], ["a", "", "bé"]
    ids = Texts.of(texts)
    rows = KeyedRows(SECRET, law, np.array(counts), ids.data, ids.ends.tolist())
    source, every = (
        KeyedWords(rows),
        [
            [
                int.from_bytes(by_definition(law, counts[i], texts[i], j // 6)[8 * (j % 6) :][:8], "little")
                for j in range(30)
            ]
            for i in range(3)
        ],
    )
    assert rows.tags == b"".join(by_definition(law, counts[i], texts[i], 0)[48:] for i in range(3))
    assert [source(3).tolist() for _ in range(2)] == [[own[j] for own in every] for j in range(2)]
    assert source.of(np.array([2]))(1).tolist() == [every[2][2]]  # the other rows go on where they were
    assert source.of(np.full(12, 1))(12).tolist() == every[1][2:14]
    several = source.of(np.array([0, 0, 1, 2, 2, 2]))
    assert several.of(np.array([0, 2, 4, 5]))(4).tolist() == [every[0][2], every[1][14], *every[2][3:5]]
    assert several(6).tolist() == [*every[0][3:5], every[1][15], *every[2][5:8]]
    with pytest.raises(ValueError, match="must ascend"):
        source.of(np.array([1, 0]))(2)
    assert [source(3).tolist() for _ in range(6)][-1] == [every[0][10], every[1][21], every[2][13]]


def test_different_rows_have_different_messages() -> None:
    """Ids that end or begin as others, and counts that look as ids, give other tags."""
    cases = [([1], "ab"), ([1], "a"), ([1], "b"), ([1], ""), ([1, 98], ""), ([1, 0], "b"), ([98], "\x01"), ([0], "ab")]
    texts = [Texts.of([text]) for _, text in cases]
    tags = [
        KeyedRows(SECRET, bytes(32), np.array([counts]), ids.data, ids.ends.tolist()).tags
        for (counts, _), ids in zip(cases, texts, strict=True)
    ]
    both = Texts.of(["a", "bc", "ab", "c"])
    tags += [KeyedRows(SECRET, b"x" * 32, np.ones((4, 1), int), both.data, both.ends.tolist()).tags]
    every = [tag[i : i + 16] for tag in tags for i in range(0, len(tag), 16)]
    assert len(set(every)) == len(cases) + 4


def rows_of(n: int) -> KeyedRows:
    ids = Texts.of(named(n))
    return KeyedRows(SECRET, bytes(32), np.zeros((n, 1), dtype=np.int64), ids.data, ids.ends.tolist())


def test_a_tie_takes_the_next_word_of_its_own_row() -> None:
    n = 5
    first, second = KeyedWords(rows_of(n))(n), [KeyedWords(rows_of(n)).of(np.full(2, i))(2)[1] for i in range(n)]
    for i in range(n):
        bias = Fraction(2 * int(first[i]) + 1, 1 << 65)  # its second word is 2^63
        found = Coins([bias]).flip(np.zeros(n, dtype=np.intp), KeyedWords(rows_of(n)))
        expected = [bool(first[j] < first[i]) if j != i else bool(second[i] < 1 << 63) for j in range(n)]
        assert found.tolist() == expected
        choice = Choices(1, 2, lambda _, bias=bias: [1 - bias, bias])
        cut = 1 - bias
        draw = choice.draw(np.zeros(n, dtype=np.intp), KeyedWords(rows_of(n)))
        reals = [Fraction(int(first[j]), 1 << 64) + Fraction(int(second[j]), 1 << 128) for j in range(n)]
        assert draw.tolist() == [int(real >= cut) for real in reals]


def test_equally_likely_numbers_take_words_of_their_rows() -> None:
    sizes = np.array([1, 3, 1, (1 << 63) - 1, 2])
    found = uniform(sizes, KeyedWords(rows_of(5)))
    alone = [int(uniform(sizes[i : i + 1], KeyedWords(rows_of(5)).of(np.array([i])))[0]) for i in range(5)]
    assert found.tolist() == alone


@pytest.mark.thorough
@pytest.mark.parametrize("draw", [gaussian, laplace, exponential, gumbel])
def test_noise_takes_the_same_words_in_company_where_ties_are_frequent(draw: Any) -> None:
    """Words of two bits: comparisons need further words, which must be those of the same row."""
    n, classes = 50, 4
    behind = np.random.default_rng(1).integers(0, 3, (n, classes))
    behind -= behind.min(axis=1, keepdims=True)

    def won(rows: list[int]) -> list[int]:
        words = KeyedWords(rows_of(n)).of(np.repeat(rows, classes))
        return winners(behind[rows], Fraction(1, 2), lambda k: draw(k, words, 2)).tolist()

    together = won(list(range(n)))
    assert together == [won([i])[0] for i in range(n)]
    assert len(set(together)) == classes


def test_a_sampler_that_does_not_say_for_which_rows_is_refused() -> None:
    with pytest.raises(ValueError, match="Each of 5 draws must take one word"):
        KeyedWords(rows_of(5))(4)


# Keys


@posix
@pytest.mark.parametrize("mask", [0o000, 0o077, 0o777])
def test_a_new_key_is_for_its_owner_alone(mask: int, tmp_path: Path) -> None:
    before = os.umask(mask)
    try:
        LabelKey.create(tmp_path / "a.key")
    finally:
        os.umask(before)
    about = (tmp_path / "a.key").stat()
    assert (about.st_mode & 0o777, about.st_size, about.st_nlink) == (0o600, 32, 1)
    assert os.listdir(tmp_path) == ["a.key"]


def test_keys_differ_and_are_never_replaced(tmp_path: Path) -> None:
    LabelKey.create(tmp_path / "a.key")
    LabelKey.create(tmp_path / "b.key")
    first = (tmp_path / "a.key").read_bytes()
    assert first != (tmp_path / "b.key").read_bytes()
    with pytest.raises(ExistsError, match="exists already"):
        LabelKey.create(tmp_path / "a.key")
    assert (tmp_path / "a.key").read_bytes() == first


@posix
def test_a_link_that_leads_nowhere_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a.key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ExistsError):
        LabelKey.create(tmp_path / "a.key")
    assert not (tmp_path / "elsewhere").exists()


def test_a_file_that_came_meanwhile_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.key").write_bytes(b"other")
    monkeypatch.setattr(os.path, "lexists", lambda path: False)
    with pytest.raises(ExistsError):
        LabelKey.create(tmp_path / "a.key")
    assert (tmp_path / "a.key").read_bytes() == b"other"
    assert os.listdir(tmp_path) == ["a.key"]


@pytest.mark.parametrize("size", [0, 31, 33, 1000])
def test_a_file_of_another_length_is_no_key(size: int, tmp_path: Path) -> None:
    (tmp_path / "a.key").write_bytes(b"s" * size)
    (tmp_path / "a.key").chmod(0o600)
    with pytest.raises(InputError, match="must be a file of 32 bytes") as error:
        LabelKey.load(tmp_path / "a.key")
    assert "sss" not in str(error.value)


@posix
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o660, 0o644, 0o777])
def test_a_key_that_others_may_read_or_write_is_refused(mode: int, tmp_path: Path) -> None:
    LabelKey.create(tmp_path / "a.key")
    (tmp_path / "a.key").chmod(mode)
    with pytest.raises(InputError, match=f"Got mode {mode:o}"):
        LabelKey.load(tmp_path / "a.key")


@posix
def test_what_is_no_file_is_no_key(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name in ("pipe", ".", "missing"):
        with pytest.raises(InputError, match="The key"):
            LabelKey.load(tmp_path / name)


@pytest.mark.parametrize("secret", [b"", b"s" * 31, b"s" * 33, "s" * 32, bytearray(32), None, 7])
def test_a_key_is_32_bytes(secret: Any) -> None:
    with pytest.raises(InputError, match="A key must be 32 random bytes"):
        LabelKey(secret)


def test_nothing_shows_a_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret = os.urandom(32)
    shapes = [secret.hex(), repr(secret)[2:-1], str(list(secret))[1:-1]]
    key = LabelKey(secret)
    said = [repr(key), str(key), f"{key!r:>3}", repr([key]), repr(vars(type(key)))]
    mechanism = PrivateDecision(MAJORITY)
    mechanism.release(drawn(3), key=key, ids=named(3))
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy, json.dumps):
        with pytest.raises((InputError, TypeError)) as error:
            attempt(key)
        said.append("".join(traceback.format_exception(error.value)))
    for wrong in ({"ids": ["a"]}, {"ids": ["a", "a", "b"]}, {"ids": ["", "a", "b"]}, {"ids": None}, {"ids": "abc"}):
        with pytest.raises(InputError) as error:
            mechanism.release(drawn(3), key=key, **wrong)
        said.append("".join(traceback.format_exception(error.value)))
    kept = pickle.dumps(mechanism.design)
    assert secret not in kept
    assert not any(shape in text for text in said for shape in shapes)
    assert main(["key", str(tmp_path / "a.key"), "--json"]) == 0
    made, shown = (tmp_path / "a.key").read_bytes(), "".join(capsys.readouterr())
    assert not any(shape in shown for shape in (made.hex(), repr(made)[2:-1]))


@pytest.mark.parametrize("take", ["verify", "ledger show", "release", "--votes", "--ledger"])
def test_a_key_in_the_place_of_another_file_is_not_shown(
    take: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    MAJORITY.save("gamma.json")
    Path("votes.csv").write_text("id,a,b,c,d,e\nx,1,0,1,1,0\n", encoding="utf-8")
    secret = bytes(range(0xA0, 0xC0))
    Path("labels.key").write_bytes(secret)
    os.chmod("labels.key", 0o600)
    command = [*take.split(), "labels.key"]
    if take.startswith(("release", "--")):
        given = {"--votes": "votes.csv", "--out": "labels.csv"} | ({take: "labels.key"} if take != "release" else {})
        design = "labels.key" if take == "release" else "gamma.json"
        command = ["release", design, *(word for option in given.items() for word in option)]
    assert main(command) == 2
    said = "".join(capsys.readouterr()).lower()
    assert "labels.key" in said
    assert not any(f"{byte:#04x}" in said or chr(byte) in said for byte in secret)


def test_a_key_goes_with_ids_and_neither_with_a_generator_nor_again(tmp_path: Path) -> None:
    mechanism, blocks = PrivateDecision(MAJORITY), [drawn(2)]
    with pytest.raises(InputError, match="A key needs an id for each row"):
        mechanism.release(drawn(2), key=KEY)
    with pytest.raises(InputError, match="A key needs an id for each row"):
        list(mechanism.release_blocks(blocks, key=KEY))
    with pytest.raises(InputError, match="ids go with a key"):
        mechanism.release(drawn(2), ids=["a", "b"])
    with pytest.raises(InputError, match="exclude each other"):
        mechanism.release(drawn(2), np.random.default_rng(1), key=KEY, ids=["a", "b"])
    with pytest.raises(InputError, match="again goes without a key"):
        list(mechanism.release_blocks(blocks, key=KEY, again=True))
    with pytest.raises(InputError, match=r"Got bytes: pass LabelKey\(secret\)"):
        mechanism.release(drawn(2), key=SECRET, ids=["a", "b"])
    with pytest.raises(InputError, match=r"twice, in rows 0 and 1"):
        mechanism.release(drawn(2), key=KEY, ids=["7", " 007"])


def test_other_names_of_classes_are_another_law() -> None:
    """Labels are written by name: equal counts under exchanged names are another row."""
    kinds = [
        darrm.mechanisms.GaussianNoisyMax(4.0, K=10, classes=names) for names in (2, ["cat", "dog"], ["dog", "cat"])
    ]
    assert len({kind._law_bytes() for kind in kinds}) == 3
    assert kinds[1]._law_bytes() == darrm.mechanisms.GaussianNoisyMax(4.0, K=10, classes=["cat", "dog"])._law_bytes()


def test_sparse_counts_take_no_key() -> None:
    """They are drawn otherwise, so that a row would have two labels."""
    counts = darrm.votes.counts([[0, 0, 1], [2, 2, 1]], 4, sparse=True)
    with pytest.raises(darrm.InputError, match="Sparse counts take no key"):
        darrm.mechanisms.GaussianNoisyMax(2.0).release(counts, key=darrm.mechanisms.LabelKey(bytes(32)), ids=["a", "b"])


def test_an_id_is_compared_as_a_ledger_compares_it() -> None:
    mechanism, rows = PrivateDecision(MAJORITY), drawn(40)
    ids = [f"{i}" for i in range(40)]
    others = [f" 0{i}.0" for i in range(40)]
    assert np.array_equal(mechanism.release(rows, key=KEY, ids=ids), mechanism.release(rows, key=KEY, ids=others))


def test_a_stream_with_an_id_twice_ends() -> None:
    blocks = [VotesBlock(drawn(1), Texts.of(["a"]), None, has_ids=True) for _ in range(2)]
    stream = PrivateDecision(MAJORITY).release_blocks(blocks, key=KEY)
    next(stream)
    with pytest.raises(InputError, match="The stream has the id 'a' twice"):
        next(stream)


# Ledgers


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    """Of ten labels."""
    return Ledger.create(tmp_path / "l.json", MAJORITY, total_epsilon=5.0, total_delta=0.0, voters="fresh")


def block(ids: list[str], rows: NDArray[np.uint8]) -> VotesBlock:
    return VotesBlock(rows, Texts.of(ids), None, has_ids=True)


def test_a_retry_charges_nothing_and_gives_the_same(book: Ledger) -> None:
    mechanism, rows, ids = PrivateDecision(MAJORITY), drawn(10), named(10)
    first = list(mechanism.release_blocks([block(ids[:6], rows[:6])], ledger=book, key=KEY))
    assert (book.status()["released"], book.status()["left"]) == (6, 4)
    # The stream comes again in other blocks, and goes on: what is new is charged, and nothing else.
    again = mechanism.release_blocks([block(ids[:4], rows[:4]), block(ids[4:], rows[4:])], ledger=book, key=KEY)
    assert np.concatenate(list(again))[:6].tolist() == first[0].tolist()
    assert (book.status()["released"], book.status()["ids"], book.status()["left"]) == (10, 10, 0)
    # The budget is spent: what it paid for can still be drawn again, and nothing else.
    once_more = mechanism.release_blocks([block(ids[::-1], rows[::-1])], ledger=book, key=KEY)
    assert next(once_more)[::-1][:6].tolist() == first[0].tolist()
    with pytest.raises(BudgetError):
        list(mechanism.release_blocks([block([*ids, "new"], np.concatenate([rows, rows[:1]]))], ledger=book, key=KEY))
    assert book.status()["released"] == 10


@pytest.mark.parametrize("other", ["votes", "key", "design", "no key"])
def test_an_id_that_was_charged_otherwise_is_refused(other: str, tmp_path: Path) -> None:
    budget: dict[str, Any] = {"total_epsilon": 50.0, "total_delta": 0.0, "voters": "fresh"}
    book = Ledger.create(tmp_path / "l.json", **budget, rule="basic-filter")
    rows, ids = np.array([[1, 1, 1, 1, 1], [0, 0, 0, 0, 0]], dtype=np.uint8), ["a", "b"]
    list(PrivateDecision(MAJORITY).release_blocks([block(ids, rows)], ledger=book, key=KEY))
    mechanism = PrivateDecision(OTHER if other == "design" else MAJORITY)
    votes = rows.copy()
    votes[1, 0] ^= other == "votes"
    key = LabelKey(SECRET[::-1]) if other == "key" else KEY
    many = "1" if other == "votes" else "2"
    if other == "no key":
        blocks = [block(["c", "b"], votes)]
        with pytest.raises(RepeatedIdError, match="One id was charged before: 'b'"):
            list(mechanism.release_blocks(blocks, ledger=book))
        return
    with pytest.raises(RepeatedIdError, match=f"{many} ids? (was|were) charged before, with other votes"):
        list(mechanism.release_blocks([block(ids, votes)], ledger=book, key=key))
    with pytest.raises(RepeatedIdError, match="with other votes"):
        darrm.columns.release(mechanism, frame_of(ids, votes), ledger=book, key=key)
    assert book.status()["released"] == 2


def frame_of(ids: list[str], votes: NDArray[np.uint8]) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(votes, columns=list("abcde")).assign(id=ids)


def test_an_id_that_was_charged_without_a_key_is_refused_with_one(book: Ledger) -> None:
    mechanism, rows = PrivateDecision(MAJORITY), drawn(2)
    list(mechanism.release_blocks([block(["a", "b"], rows)], ledger=book))
    with pytest.raises(RepeatedIdError, match="or none; first 'a'"):
        list(mechanism.release_blocks([block(["a", "c"], rows)], ledger=book, key=KEY))
    assert book.status()["released"] == 2


@pytest.mark.thorough
def test_a_ledger_says_how_many_labels_are_by_key(
    book: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And that its total is computational then."""
    monkeypatch.setenv("COLUMNS", "2000")
    mechanism, rows, condition = PrivateDecision(MAJORITY), drawn(6), "the key of labels by key is as secret"

    def said() -> tuple[Any, ...]:
        status = book.status()
        assert main(["ledger", "show", str(book.path), "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert (shown["by_key"], shown["computational"]) == (status["by_key"], status["computational"])
        assert main(["ledger", "show", str(book.path)]) == 0
        text, of_key = capsys.readouterr().out, [one for one in shown["rests_on"] if "by key" in one]
        assert all(one in text for one in of_key)
        assert (condition in status["condition"]) == status["computational"]
        return status["by_key"], status["computational"], of_key

    list(mechanism.release_blocks([block(["a", "b"], rows[:2])], ledger=book))
    assert said() == (0, False, [])
    for _ in range(2):  # of which the second charges nothing
        list(mechanism.release_blocks([block(["c", "d", "e"], rows[2:5])], ledger=book, key=KEY))
        by_key, computational, (sentence,) = said()
        assert (by_key, computational) == (3, True)
        assert sentence.startswith("3 of 5 labels were drawn by key, so the total is computational")
    edited = {**ledgers.content(book.path), "by_key": 6}
    ledgers.forge(book.path, edited)
    with pytest.raises(InputError, match="labels by key must be labels with ids"):
        book.status()


@pytest.mark.parametrize("rule", ["exact", "in-advance"])
def test_a_total_of_the_voters_themselves_needs_no_secret_key(
    rule: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    budget: dict[str, Any] = {"total_epsilon": 50.0, "total_delta": 1e-6, "voters": "fixed", "rule": rule}
    book = Ledger.create(tmp_path / "l.json", MAJORITY if rule == "exact" else None, **budget)
    list(PrivateDecision(MAJORITY).release_blocks([block(["a"], drawn(1))], ledger=book, key=KEY))
    assert (book.status()["by_key"], book.status()["computational"]) == (1, False)
    assert "secret" not in book.status()["condition"]
    assert main(["ledger", "show", str(book.path)]) == 0
    assert "so it holds without a secret key" in " ".join(capsys.readouterr().out.split())
    if rule == "in-advance":  # the voters' own cost does not cover votes of others
        noisy = GaussianNoisyMax(40.0)
        with closing(Batch(["b"], bytes(16))) as batch:
            book.charge(noisy, 1, ids=batch)
        assert (book.status()["by_key"], book.status()["computational"]) == (2, True)


def test_a_column_is_evaluated_twice_and_charged_once(book: Ledger) -> None:
    frame, mechanism = frame_of(named(8), drawn(8)), PrivateDecision(MAJORITY)
    first = darrm.columns.release(mechanism, frame, ledger=book, key=KEY)
    second = darrm.columns.release(mechanism, frame[["id", *"abcde"]].iloc[::-1], ledger=book, key=KEY)
    assert second.sort_index().tolist() == first.tolist() == mechanism.release(drawn(8), key=KEY, ids=named(8)).tolist()
    assert book.status()["released"] == 8


@pytest.mark.thorough
def test_a_release_that_was_charged_and_interrupted_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The labels get their name when the ledger is used again, and the retry writes the same."""
    monkeypatch.chdir(tmp_path)
    MAJORITY.save("gamma.json")
    Path("votes.csv").write_text("id,a,b,c,d,e\nx,1,0,1,1,0\ny,0,0,0,1,0\n", encoding="utf-8")
    Ledger.create("l.json", MAJORITY, total_epsilon=1.0, total_delta=0.0, voters="fresh")
    assert main(["key", "labels.key"]) == 0
    release = ["release", "gamma.json", "--votes", "votes.csv", "--ledger", "l.json", "--overwrite"]
    release += ["--key", "labels.key", "--out"]
    replace = os.replace

    def interrupted(source: Any, target: Any) -> None:
        if Path(target).name == "labels.csv":
            raise KeyboardInterrupt
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupted)
        assert main([*release, "labels.csv"]) == 130
    assert not Path("labels.csv").exists()
    assert main([*release, "labels.csv"]) == 0
    assert "labels.csv" in capsys.readouterr().err
    assert main([*release, "other.csv"]) == 0
    assert Path("labels.csv").read_bytes() == Path("other.csv").read_bytes()
    assert Ledger("l.json").status()["released"] == 2


@pytest.mark.thorough
def test_the_command_charges_a_retry_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    MAJORITY.save("gamma.json")
    Path("votes.csv").write_text("id,a,b,c,d,e\nx,1,0,1,1,0\ny,0,0,0,1,0\n", encoding="utf-8")
    Path("bare.csv").write_text("a,b,c,d,e\n1,0,1,1,0\n0,0,0,1,0\n", encoding="utf-8")
    Ledger.create("l.json", MAJORITY, total_epsilon=1.0, total_delta=0.0, voters="fresh")
    assert main(["key", "labels.key"]) == 0
    assert main(["key", "labels.key"]) == 2
    release = ["release", "gamma.json", "--ledger", "l.json", "--key", "labels.key", "--votes"]
    assert main([*release, "votes.csv", "--out", "one.csv"]) == 0
    capsys.readouterr()
    assert main([*release, "votes.csv", "--out", "two.csv"]) == 0
    assert "A guarantee of the labels alone is then computational" in capsys.readouterr().err
    assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes()
    assert Ledger("l.json").status()["released"] == 2
    assert main([*release, "bare.csv", "--out", "three.csv"]) == 2
    assert main([*release, "votes.csv", "--out", "three.csv", "--again"]) == 2
    assert main([*release, "votes.csv", "--out", "labels.key"]) == 2
    assert main(["key", "other.key"]) == 0
    assert main([*release[:-2], "other.key", "--votes", "votes.csv", "--out", "three.csv"]) == 6
    assert not Path("three.csv").exists()
