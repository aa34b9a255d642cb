"""Work in several processes, on this machine or a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from darrm.errors import InputError, MissingExtraError, OutputError

BACKENDS = ("loky", "dask")
_ATTEMPTS = 3  # pools, if workers are killed
_PATIENCE = 8  # seconds for a scheduler to answer


def in_parallel(
    function: Callable[..., Any],
    work: Mapping[int, tuple[Any, ...]],
    *,
    jobs: int = 1,
    backend: str = "loky",
    scheduler: str | None = None,
) -> Iterator[tuple[int, Any]]:
    """(key, function(*arguments)) for all of ``work``, as they are finished; workers that are killed are replaced."""
    left = dict(work)
    if jobs == 1 and backend == "loky":
        for key, arguments in work.items():
            yield key, function(*arguments)
        return
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    with _cluster(backend, scheduler, jobs):
        for attempt in range(1, _ATTEMPTS + 1):
            # All of a cluster; chunks are made beforehand.
            pool = Parallel(n_jobs=-1 if backend == "dask" else jobs, return_as="generator_unordered", batch_size=1)
            results = pool(delayed(_keyed)(function, key, arguments) for key, arguments in list(left.items()))
            try:
                for key, result in results:
                    left.pop(key)
                    yield key, result
                return
            except TerminatedWorkerError:
                if attempt == _ATTEMPTS:
                    raise OutputError(
                        f"Worker processes were killed {_ATTEMPTS} times (out of memory?). Finished designs are kept. "
                        "Use fewer jobs, then run the same again."
                    ) from None
            except (KeyboardInterrupt, GeneratorExit):
                if backend == "loky":
                    from joblib.externals.loky import get_reusable_executor

                    get_reusable_executor().shutdown(wait=False, kill_workers=True)
                raise


def _keyed(function: Callable[..., Any], key: int, arguments: tuple[Any, ...]) -> tuple[int, Any]:
    return key, function(*arguments)


@contextmanager
def _cluster(backend: str, scheduler: str | None, jobs: int) -> Iterator[None]:
    from joblib import parallel_config

    if backend == "loky":
        # One thread each for linear algebra: processes do not compete, and sums are the same for any number of them.
        with parallel_config(backend="loky", n_jobs=jobs, inner_max_num_threads=1):
            yield
        return
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtraError("Clusters need Dask. Run: pip install 'darrm[dask]'.") from None
    try:
        client = Client(scheduler, timeout=_PATIENCE)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"The scheduler {scheduler} does not answer ({reason}). Start it, or pass tcp://host:port."
        ) from None
    with client, parallel_config(backend="dask"):
        yield
