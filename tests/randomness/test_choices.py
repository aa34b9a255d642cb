"""Draws among several answers are exact, over all words; among equally likely ones too."""

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from darrm.randomness.choices import Choices, uniform
from darrm.randomness.coins import Words, WordSource, system_words
from darrm.randomness.words import NotPrivateWarning, word_source


def rows(answers: int, digits: int) -> list[list[Fraction]]:
    """All probabilities of so many answers that have so many binary digits."""
    whole = 2**digits
    parts = itertools.product(range(whole + 1), repeat=answers - 1)
    return [[Fraction(n, whole) for n in (*some, whole - sum(some))] for some in parts if sum(some) <= whole]


def source(words: Iterator[int]) -> WordSource:
    def draw(n: int) -> Words:
        return np.array([next(words) for _ in range(n)], dtype=np.uint64)

    return draw


def chances(choices: Choices, cases: int, answers: int, depth: int, bits: int) -> list[list[Fraction]]:
    """How likely each answer is in each case, over all words."""
    seen = np.zeros((cases, answers), dtype=int)
    for words in itertools.product(range(2**bits), repeat=depth):
        for case in range(cases):
            seen[case, choices.draw(np.array([case]), source(iter(words)))[0]] += 1
    return [[Fraction(int(n), 2 ** (bits * depth)) for n in row] for row in seen]


@pytest.mark.parametrize(
    ("answers", "bits", "digits"), [(2, 2, 3), (3, 1, 3), (3, 2, 4), (3, 3, 4), (4, 4, 3), (1, 2, 1)]
)
def test_every_law_is_exact(answers: int, bits: int, digits: int) -> None:
    laws = rows(answers, digits)
    choices = Choices(len(laws), answers, laws.__getitem__, word_bits=bits)
    assert chances(choices, len(laws), answers, -(-digits // bits), bits) == laws


class EndsTooEarly(Choices):
    """Decides by the first word alone, and so by rounded probabilities."""

    def _settled(self, case: int, word: int, words: WordSource) -> int:
        return sum(total * self._scale <= word for total in self._sums(case))


class WrongSide(Choices):
    """Gives the point at a sum to the answer below it."""

    def _settled(self, case: int, word: int, words: WordSource) -> int:
        return sum(total * self._scale < word for total in self._sums(case))


@pytest.mark.thorough
@pytest.mark.parametrize("wrong", [EndsTooEarly, WrongSide])
def test_a_draw_that_is_a_little_wrong_is_not_exact(wrong: type[Choices]) -> None:
    laws = rows(3, 4)
    assert chances(wrong(len(laws), 3, laws.__getitem__, word_bits=2), len(laws), 3, 2, 2) != laws


@pytest.mark.thorough
def test_two_drawn_together_are_independent() -> None:
    laws = [[Fraction(n, 8) for n in row] for row in ((1, 4, 3), (0, 8, 0), (5, 0, 3), (2, 5, 1))]
    choices = Choices(4, 3, laws.__getitem__, word_bits=2)
    for one, two in itertools.product(range(4), repeat=2):
        seen = np.zeros((3, 3), dtype=int)
        for words in itertools.product(range(4), repeat=4):
            seen[tuple(choices.draw(np.array([one, two]), source(iter(words))))] += 1
        assert [[Fraction(int(n), 4**4) for n in row] for row in seen] == [
            [p * q for q in laws[two]] for p in laws[one]
        ]


@pytest.mark.parametrize(("further", "answer"), [((4,), 0), ((6,), 2), ((5, 0), 1), ((5, 9), 1)])
def test_ties_of_whole_words_are_settled_by_the_next(further: tuple[int, ...], answer: int) -> None:
    """Sums 1/2 + 5 / 2^128 and 6 / 2^128 later, in words of 64 bits."""
    least = Fraction(1, 2**128)
    law = [Fraction(1, 2) + 5 * least, least, Fraction(1, 2) - 6 * least]
    drawn = Choices(1, 3, lambda _: law).draw(np.array([0]), source(iter((2**63, *further))))
    assert drawn.tolist() == [answer]


def test_the_least_float64_is_no_nothing() -> None:
    least = Fraction(5e-324)
    choices = Choices(1, 3, lambda _: [least, 1 - least, Fraction(0)])
    zeros = [0] * 16
    assert choices.draw(np.array([0]), source(iter([*zeros, 0, 0]))).tolist() == [0]
    assert choices.draw(np.array([0]), source(iter([*zeros, 2**63]))).tolist() == [1]
    assert choices.draw(np.array([0]), source(iter([2**64 - 1] * 2))).tolist() == [1]


def test_only_cases_that_come_up_are_asked_for() -> None:
    asked = []

    def law(case: int) -> list[Fraction]:
        asked.append(case)
        return [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]

    choices = Choices(10**6, 3, law)
    for which in ([7, 999_999, 7], [7], []):
        choices.draw(np.array(which, dtype=np.intp))
    assert asked == [7, 999_999]


@pytest.mark.parametrize(
    "law",
    [
        [Fraction(1, 3), Fraction(2, 3)],
        [Fraction(1, 2), Fraction(1, 4)],
        [Fraction(3, 2), Fraction(-1, 2)],
        [Fraction(1)],
    ],
)
def test_what_is_no_law_is_refused(law: list[Fraction]) -> None:
    with pytest.raises(ValueError, match="2 dyadic rationals of sum 1"):
        Choices(1, 2, lambda _: law).draw(np.array([0]))


@pytest.mark.parametrize("bits", [1, 2, 3, 5])
def test_all_remainders_are_equally_likely(bits: int) -> None:
    for size in range(1, 2**bits + 1):
        seen = np.zeros(size, dtype=int)
        rejected = 0
        for first in range(2**bits):
            words = iter([first, 0])
            drawn = uniform(np.array([size]), source(words), word_bits=bits)[0]
            if len(list(words)) == 0:
                rejected += 1
                assert drawn == 0  # by the second word
            else:
                seen[drawn] += 1
        if size == 1:
            continue
        assert rejected == 2**bits % size
        assert set(seen.tolist()) == {2**bits // size}


def test_several_sizes_at_once() -> None:
    drawn = uniform(np.array([3, 1, 4, 1, 3]), source(iter([2**64 - 1, 6, 5, 7])))
    assert drawn.tolist() == [1, 0, 2, 0, 2]  # 2^64 - 1 is the one word too many for 3: drawn again


def test_words_of_a_generator_are_whole() -> None:
    """Each of the 64 bits is as often 1 as 0, up to six standard deviations; and no word is of another type."""
    with pytest.warns(NotPrivateWarning):
        words = word_source(np.random.default_rng(5), 1)(10_000)
    assert words.dtype == np.uint64
    ones = [int(((words >> np.uint64(bit)) & np.uint64(1)).sum()) for bit in range(64)]
    assert max(abs(count - 5000) for count in ones) <= 6 * 50
    assert word_source(None, 1) is system_words
