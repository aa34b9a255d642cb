"""`darrm.repair`: scales a release down until its guarantee is certified; as well with tables of few bits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import partial

import numpy as np

from darrm.certificate.engines import engine, search, worst_cases
from darrm.certificate.protocol import WorstCase
from darrm.errors import CertificateError
from darrm.numerics.arithmetic import usual_arithmetic
from darrm.numerics.arrays import Array
from darrm.numerics.deadline import check_time
from darrm.numerics.exact import decimals, powers
from darrm.problem import encodings
from darrm.problem.limits import Limit, Problem, guarantees
from darrm.problem.noise_function import Given


@usual_arithmetic
def repair(release: Given, problem: Problem) -> Array:
    """Scale a release, such as a noise function gamma, down until the guarantee of the problem is certified.

    Scaling by s releases a uniformly random answer with probability 1 - s, which is a fair coin flip for a majority.
    The factor follows from the worst case. Rounding is not homogeneous, so the scaled table is verified again, and
    scaled a little lower if needed.

    Returns
    -------
    ndarray, shape of ``release``
        Unchanged if it holds as it is.

    Raises
    ------
    InputError
        As `verify`.
    CertificateError
        If no factor was found.

    Examples
    --------
    >>> import darrm
    >>> problem = darrm.MajorityProblem(K=5, m=1, epsilon=0.5)
    >>> gamma = darrm.repair(darrm.baselines.subsampling(5, 3), problem)
    >>> gamma.round(4).tolist()
    [0.6803, 0.6803, 0.2721, 0.2721, 0.6803, 0.6803]
    >>> darrm.verify(gamma, problem).holds
    True
    """
    return repair_all(encodings.table(release, problem), guarantees(problem))


def repair_all(table: Array, limits: Sequence[Limit[Problem]]) -> Array:
    """`repair` of a table for several limits; scaling down for one limit breaks another by rounding at most."""
    for limit in limits:
        engine(limit.problem).check_size(limit.problem)
    while True:
        before = table
        for limit in limits:
            table = _scaled(shrink(table, limit), limit, partial(worst_cases, limit=limit))
        if len(limits) == 1 or np.array_equal(before, table):
            return table


def rounded_all(table: Array, limits: Sequence[Limit[Problem]], bits: int) -> Array:
    """The table mixed with a random answer and rounded to multiples of 2^-bits, so that all limits are certified."""
    for limit in limits:
        engine(limit.problem).check_size(limit.problem)
    form = encodings.of(limits[0].problem, table)

    def worst_of_all(rounded: Array) -> Iterable[tuple[Limit[Problem], WorstCase]]:
        return ((limit, worst) for limit in limits for worst in worst_cases(rounded, limit=limit))

    def rounded(scale: float) -> Array:
        return form.rounded(form.mixed(table, scale), bits)

    return _mixed_until(form.rounded(table, bits), rounded, worst_of_all, limits[0])


def shrink(table: Array, limit: Limit[Problem]) -> Array:
    """The table mixed with a random answer until quickly found cases hold: like `repair`, without a certificate."""
    return _scaled(table, limit, lambda scaled: [search(scaled, limit).glimpse(limit.epsilon)])


def _scaled(original: Array, limit: Limit[Problem], worst_cases: Callable[[Array], Iterable[WorstCase]]) -> Array:
    """The release, scaled down until no worst case needs more than delta."""
    mixed = encodings.of(limit.problem, original).mixed
    return _mixed_until(
        original, lambda scale: mixed(original, scale), lambda table: ((limit, w) for w in worst_cases(table)), limit
    )


def _mixed_until(
    table: Array,
    mixed: Callable[[float], Array],
    worst_cases: Callable[[Array], Iterable[tuple[Limit[Problem], WorstCase]]],
    limit: Limit[Problem],
) -> Array:
    """The table, or what ``mixed`` makes of a share of it, the first in which no worst case needs more than delta.

    A case of hockey-stick divergence E has s E - (1 - s) share (e^epsilon - 1) after scaling by s.
    """
    scale, slack = 1.0, 2.0**-51
    while slack < 1:
        check_time()
        broken = [(held, worst) for held, worst in worst_cases(table) if not worst.bound <= held.delta]
        if not broken:
            return table
        scale, slack = scale * min(_share(held, worst) for held, worst in broken) * (1 - slack), 4 * slack
        table = mixed(scale)
    raise CertificateError(
        f"No mix of this release with a fair coin could be verified for epsilon = {float(limit.epsilon):g}, "
        f"delta = {limit.delta:g}, down to a share of {scale:g}: float64 cannot distinguish it from no privacy. "
        "Nothing is released. Raise the guaranteed epsilon or delta."
    )


def _share(limit: Limit[Problem], worst: WorstCase) -> float:
    """The scale at which a broken case keeps its limit, but for rounding."""
    with decimals(limit.epsilon):
        bound, kappa = Decimal(worst.bound), powers(limit.epsilon)[1]
        return float(1 - (bound - Decimal(limit.delta)) / (Decimal(worst.share) * kappa + bound))
