"""Where a vector of counts stands in the list of all of its sum."""

import math

import numpy as np
import pytest
from cases import thorough

from darrm.problem.counts import (
    count_vectors,
    largest_total,
    more_sorted_counts,
    n_sorted_counts,
    places,
    sorted_counts,
)


@pytest.mark.parametrize("classes", range(1, 6))
@pytest.mark.parametrize("total", range(6))
def test_every_vector_is_found_where_it_is_listed(total: int, classes: int) -> None:
    vectors = count_vectors(total, classes)
    assert places(vectors).tolist() == list(range(len(vectors)))
    mixed = np.random.default_rng(0).permutation(len(vectors))
    assert places(vectors[mixed][:, None]).tolist() == mixed[:, None].tolist()


@pytest.mark.thorough
def test_many_classes_and_many_votes_need_no_list() -> None:
    last = np.zeros((1, 1000), dtype=np.int64)
    last[0, -1] = 3
    assert places(last).tolist() == [1000 * 1001 * 1002 // 6 - 1]
    assert places(np.array([[0, 10**6]])).tolist() == [10**6]
    assert places(np.zeros((0, 3), dtype=np.int64)).shape == (0,)


def test_two_classes_count_the_ones() -> None:
    assert count_vectors(3, 2).tolist() == [[3, 0], [2, 1], [1, 2], [0, 3]]


@pytest.mark.parametrize(("total", "classes"), [(0, 1000), (3, 101), *thorough((1, 1000), (2, 150))])
def test_many_classes_are_listed_in_the_same_order(total: int, classes: int) -> None:
    vectors = count_vectors(total, classes)
    assert len(vectors) == math.comb(total + classes - 1, total)
    assert set(vectors.sum(axis=1)) == {total}
    assert places(vectors).tolist() == list(range(len(vectors)))


@pytest.mark.first(1, 3)
@pytest.mark.parametrize(("total", "classes"), [(0, 3), (2, 4), (4, 3), (3, 5), *thorough((3, 120))])
def test_sorted_counts_are_those_that_fall(total: int, classes: int) -> None:
    every = count_vectors(total, classes)
    for most in (None, 0, 1, total):
        few = every[(np.diff(every) <= 0).all(axis=1) & (every[:, 0] <= (total if most is None else most))]
        assert np.array_equal(sorted_counts(total, classes, most), few)


def test_a_thousand_classes_have_as_many_shares_as_few() -> None:
    assert sorted_counts(3, 1000)[:, :4].tolist() == [[3, 0, 0, 0], [2, 1, 0, 0], [1, 1, 1, 0]]


def test_sorted_counts_are_told_to_be_many_before_they_are_listed() -> None:
    for total in (0, 1, 5, 12, 30):
        for classes in (1, 2, 3, 10, 40):
            many = len(sorted_counts(total, classes))
            assert n_sorted_counts(total, classes) == many
            for most in (many - 1, many, 3 * many):
                assert more_sorted_counts(total, classes, most) is (many > most)
    assert more_sorted_counts(250, 10, 10**6)
    assert more_sorted_counts(10**7, 1000, 10**6)
    for classes, most in ((2, 100), (10, 1000), (1000, 50)):
        largest = largest_total(classes, most)
        assert n_sorted_counts(largest, classes) <= most < n_sorted_counts(largest + 1, classes)
