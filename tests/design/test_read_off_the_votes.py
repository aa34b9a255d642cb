"""Accuracies that are read off the votes to be released: each design is certified, and the pair of them is not."""

import math

import numpy as np

import darrm

GROUPS = ((0, 5), (5, 10))


def neighbours() -> tuple[list[list[int]], list[list[int]], list[int]]:
    """Votes of ten voters on a hundred questions before and after voter 0 changes, and the truths.

    The first five voters are right on 70 questions, the others on 65. Voter 0 then errs on 30 more; all votes on the
    last question are as before.
    """
    truths = [i % 2 for i in range(99)] + [1]
    before = []
    for i, truth in enumerate(truths[:-1]):
        row = []
        for v in range(10):
            errs = (i - 7 * v) % 99 < (30 if v < 5 else 34)
            row.append(1 - truth if errs else truth)
        before.append(row)
    before.append([1] * 5 + [0] * 5)
    after = [list(row) for row in before]
    right = [i for i in range(99) if before[i][0] == truths[i]]
    for i in right[:30]:
        after[i][0] = 1 - after[i][0]
    return before, after, truths


def accuracies(votes: list[list[int]], truths: list[int]) -> list[float]:
    """How often the votes of each group were right."""
    return [
        sum(row[v] == truth for row, truth in zip(votes, truths, strict=True) for v in range(low, high))
        / (len(truths) * (high - low))
        for low, high in GROUPS
    ]


def best_answer(row: list[int], accuracy: list[float]) -> int:
    """The likelier truth of independent votes: Bayes' rule, and no code of darrm."""
    score = 0.0
    for (low, high), right in zip(GROUPS, accuracy, strict=True):
        score += sum(math.log(right / (1 - right)) * (1 if row[v] else -1) for v in range(low, high))
    return int(score > 0)


def test_one_voter_turns_a_label_around_through_the_accuracies() -> None:
    """Votes of epsilon 1 may be answered without noise at epsilon 1: the label is the best answer, and it turns."""
    before, after, truths = neighbours()
    assert {v for old, new in zip(before, after, strict=True) for v in range(10) if old[v] != new[v]} == {0}
    assert before[-1] == after[-1]
    answers = [best_answer(votes[-1], accuracies(votes, truths)) for votes in (before, after)]
    assert answers == [1, 0]

    groups = [darrm.VoterGroup(5, 1.0), darrm.VoterGroup(5, 1.0)]
    problem = darrm.DecisionProblem(groups, epsilon=1.0, max_affected=1)
    designs = [
        darrm.solve(problem, objective=darrm.objectives.truth(accuracies(votes, truths))) for votes in (before, after)
    ]
    assert all(design.certificate.holds for design in designs)
    chances = [float(design.table[5, 0]) for design in designs]
    assert [round(chance) for chance in chances] == answers
    assert (
        math.log(chances[0] / chances[1]) > 30
    )  # nats, of one label that promised 1 if accuracies were from elsewhere


def test_with_accuracies_from_elsewhere_the_label_of_the_same_votes_does_not_change() -> None:
    before, after, _ = neighbours()
    groups = [darrm.VoterGroup(5, 1.0), darrm.VoterGroup(5, 1.0)]
    problem = darrm.DecisionProblem(groups, epsilon=1.0, max_affected=1)
    design = darrm.solve(problem, objective=darrm.objectives.truth([0.7, 0.65]))
    ones = np.array([[sum(votes[-1][low:high]) for low, high in GROUPS] for votes in (before, after)])
    assert design.table[tuple(ones[0])] == design.table[tuple(ones[1])]
