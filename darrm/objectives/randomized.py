"""The accuracy of an answer after randomized response."""

from __future__ import annotations

import math

from darrm._validation import real, whole


def randomized_response_accuracy(base: float, epsilon: float, classes: int = 2) -> float:
    """The accuracy of an answer after randomized response of ``epsilon``.

        (base e^epsilon + 1 - base) / (e^epsilon + classes - 1)

    for an answer that was right with probability ``base`` before. No voter that randomizes its answer in this way can
    be more accurate; a privately trained model can, because its epsilon is about records, not about its answer.

    Parameters
    ----------
    base : float in [0, 1]
        The probability that the answer is right before the noise; each wrong answer is as likely. No guarantee rests
        on it, if it comes from elsewhere than these votes or records.
    epsilon : float, at least 0, or infinity
        Epsilon of the randomized response, in nats; infinity for an answer without noise.
    classes : int, at least 2
        Number of answers.

    Returns
    -------
    float in [0, 1]

    Raises
    ------
    InputError
        If a value is outside its range, or of the wrong kind.

    Examples
    --------
    >>> import darrm
    >>> round(darrm.objectives.randomized_response_accuracy(0.9, 1.0), 4)
    0.6848
    """
    base = real("base", base, 0, 1)
    classes = whole("classes", classes, 2)
    if not (isinstance(epsilon, float) and epsilon == math.inf):
        epsilon = real("epsilon", epsilon, 0, hint="Pass nats, e.g. 1.0.")
    shrink = math.exp(-epsilon)
    return (base + (1 - base) * shrink) / (1 + (classes - 1) * shrink)
