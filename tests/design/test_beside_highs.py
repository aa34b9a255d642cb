"""Solves in a process where others use HiGHS: darrm's go on, theirs too, and an interrupt ends one."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from queue import SimpleQueue

import highspy
import numpy as np
import pytest
from cases import slow
from scripts import PROGRAMS

import darrm
from darrm_solvers import LinearProgram, Solution, Status, highs, solve_cvxpy, solve_highs

PROBLEM = darrm.MajorityProblem(5, 2, 0.5, 1e-3)


@cache
def beside(before: str) -> tuple[dict[str, str], list[str]]:
    """What darrm found after ``before``, and what was printed besides."""
    command = [sys.executable, str(PROGRAMS / "beside_highs.py"), before]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=300, check=True)
    *besides, found = ended.stdout.splitlines()
    return json.loads(found), besides


@pytest.mark.thorough
@pytest.mark.parametrize("before", ["three", *slow("milp", "highspy", "lp", "mip", "linprog")])
def test_whatever_ran_before_solves_are_the_same_to_the_last_bit(before: str) -> None:
    """And whoever runs HiGHS afterwards chooses the number of threads, as the program looks itself."""
    assert beside(before)[0] == beside("nothing")[0]


def others(threads: int) -> highspy.HighsStatus:
    """A run of HiGHS that is not darrm's, in the thread that calls this."""
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", threads)
    solver.addVar(0, 1)
    return solver.run()


@pytest.mark.parametrize("solve", [solve_highs, solve_cvxpy])
def test_a_solver_that_refuses_to_run_says_why(
    monkeypatch: pytest.MonkeyPatch, solve: Callable[[LinearProgram], Solution]
) -> None:
    """As HiGHS does without a thread of darrm's own."""
    for module in ("highs", "cvxpy_model"):
        monkeypatch.setattr(f"darrm_solvers.{module}.run", lambda solver: solver.run())
    with ThreadPoolExecutor(1) as thread:  # what happens to its scheduler is not for other tests
        assert thread.submit(others, 3).result() == highspy.HighsStatus.kOk
        found = thread.submit(solve, LinearProgram(np.ones(2), np.ones((1, 2)), np.ones(1))).result()
    assert found.status is Status.REFUSED
    assert "'threads' is set to 1 but" in found.message


def test_threads_of_the_caller_run_highs_and_darrm_at_once() -> None:
    expected = darrm.solve(PROBLEM).gamma.tobytes()

    def both(threads: int) -> tuple[highspy.HighsStatus, bytes, highspy.HighsStatus]:
        return others(threads), darrm.solve(PROBLEM).gamma.tobytes(), others(threads)

    done = highspy.HighsStatus.kOk
    with ThreadPoolExecutor(4) as pool:
        counts = [1 + i % 3 for i in range(4)]
        barrier = threading.Barrier(4)
        found = list(pool.map(lambda threads: (barrier.wait(), both(threads))[1], counts))
    assert found == [(done, expected, done)] * 4


def of_darrm() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "darrm-highs"]


def test_a_thread_of_the_caller_has_one_thread_that_ends_with_it() -> None:
    before = {*of_darrm()}
    mine: list[threading.Thread] = []

    def twice() -> None:
        for _ in range(2):
            darrm.solve(PROBLEM)
            mine.extend({*of_darrm()} - before - {*mine})

    caller = threading.Thread(target=twice)
    caller.start()
    caller.join()
    (own,) = mine
    own.join(10)
    assert not own.is_alive()


@pytest.mark.skipif(sys.platform != "linux", reason="forks: run on Linux")
def test_a_fork_of_a_process_that_ran_highs_solves(tmp_path: object) -> None:
    expected = darrm.solve(PROBLEM).gamma.tobytes()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(gamma_of, (PROBLEM,)).get(timeout=60) == expected


def gamma_of(problem: darrm.MajorityProblem) -> bytes:
    return darrm.solve(problem).gamma.tobytes()


@pytest.mark.skipif(os.name != "posix", reason="sends a signal: run on Linux or macOS")
@pytest.mark.parametrize("solve", [solve_highs, solve_cvxpy])
def test_an_interrupt_ends_a_run(monkeypatch: pytest.MonkeyPatch, solve: Callable[[LinearProgram], Solution]) -> None:
    rng = np.random.default_rng(0)
    seconds = LinearProgram(rng.random(400), rng.random((2_000, 400)), np.full(2_000, 10.0))
    begun, run = threading.Event(), highspy.Highs.run

    def noted(solver: highspy.Highs) -> highspy.HighsStatus:
        begun.set()
        return run(solver)

    def interrupt() -> None:
        begun.wait(60)
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(highspy.Highs, "run", noted)
    sender = threading.Thread(target=interrupt)
    sender.start()
    with pytest.raises(KeyboardInterrupt):
        solve(seconds)
    sender.join()
    assert solve(LinearProgram(np.ones(2), np.ones((1, 2)), np.ones(1))).status is Status.OPTIMAL  # not after that run


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="sends a signal: run on Linux or macOS")
def test_an_interrupt_ends_many_solves_at_their_next_run() -> None:
    """As those of a chain of designs, which run in darrm's own thread together."""
    small = LinearProgram(np.ones(2), np.ones((1, 2)), np.ones(1))
    begun, ends, solved = threading.Event(), time.monotonic() + 60, []

    def many() -> None:
        while time.monotonic() < ends:
            solved.append(solve_highs(small).status)
            begun.set()

    def interrupt() -> None:
        begun.wait(60)
        os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=interrupt)
    sender.start()
    with pytest.raises(KeyboardInterrupt):
        highs.aside(many)
    assert time.monotonic() < ends
    sender.join()
    done = len(solved)
    assert done
    assert solve_highs(small).status is Status.OPTIMAL
    assert len(solved) == done


def test_work_aside_has_the_arithmetic_of_the_caller_and_its_errors() -> None:
    with np.errstate(under="raise"):
        assert highs.aside(np.geterr)["under"] == "raise"
    assert highs.aside(highs.aside, len, [1, 2]) == 2
    with pytest.raises(ZeroDivisionError):
        highs.aside(divmod, 1, 0)


def test_an_interrupt_that_comes_as_a_run_ends_does_not_wait_for_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    small = LinearProgram(np.ones(2), np.ones((1, 2)), np.ones(1))
    assert solve_highs(small).status is Status.OPTIMAL  # now the thread of darrm is there
    taken = []

    class Interrupted(SimpleQueue[None]):
        def get(self, block: bool = True, timeout: float | None = None) -> None:
            assert not taken, "this would wait for ever"
            super().get(timeout=60)
            taken.append(True)
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(highs, "SimpleQueue", Interrupted)
        with pytest.raises(KeyboardInterrupt):
            solve_highs(small)
    assert taken
    assert solve_highs(small).status is Status.OPTIMAL
