"""Locks beside files: held by one at a time, and files that nobody runs."""

import os
import stat
import threading
import time
from pathlib import Path

import pytest

import darrm
from darrm.storage.locks import lock_of, locked


def test_a_lock_that_is_held_is_refused_and_left(tmp_path: Path) -> None:
    path, free = tmp_path / "a.json", tmp_path / "b.json"
    with locked(path), locked(free, wait=False):
        for _ in range(2):  # refused, it takes nothing from who holds it
            with pytest.raises(darrm.OutputError) as refused, locked(path, wait=False):
                raise AssertionError("the lock was given twice")
            assert str(refused.value) == f"{path} is being written by another process. Wait for it to end."
    with locked(path, wait=False):
        pass


def test_an_error_gives_a_lock_back(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with pytest.raises(KeyError), locked(path):
        raise KeyError
    with locked(path, wait=False):
        assert list(tmp_path.iterdir()) == [lock_of(path)]


@pytest.mark.skipif(os.name != "posix", reason="modes of files are those of POSIX")
def test_a_lock_is_no_program(tmp_path: Path) -> None:
    with locked(tmp_path / "a.json"):
        assert stat.S_IMODE(lock_of(tmp_path / "a.json").stat().st_mode) & 0o111 == 0


def test_a_lock_that_cannot_be_made_is_an_error_of_output(tmp_path: Path) -> None:
    with pytest.raises(darrm.OutputError), locked(tmp_path / "none" / "a.json"):
        raise AssertionError("no lock was made")


@pytest.mark.skipif(os.name != "posix", reason="locks of other systems are others")
def test_a_system_without_locks_is_not_somebody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def none_left(*args: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none_left)
    with (
        pytest.raises(darrm.OutputError, match="could not be written: No locks available"),
        locked(tmp_path / "a.json"),
    ):
        raise AssertionError("there was no lock")


def test_a_lock_of_somebody_else_need_only_be_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may not write beside a file may still read it, one at a time."""
    path, opened = tmp_path / "a.json", os.open
    lock_of(path).touch()

    def not_writeable(name: object, flags: int, *more: int) -> int:
        if flags & os.O_RDWR:
            raise PermissionError(13, "Permission denied")
        return opened(name, flags, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", not_writeable)
    with locked(path), pytest.raises(darrm.OutputError, match="another process"), locked(path, wait=False):
        raise AssertionError("the lock was given twice")
    other = tmp_path / "b.json"
    with (
        pytest.raises(darrm.OutputError, match=r"Permission denied.*Use the old one"),
        locked(other, remedy="Use the old one."),
    ):
        raise AssertionError("no lock was made")


def test_a_lock_file_that_is_not_kept_is_gone_and_whoever_waited_for_it_locks_a_new_one(tmp_path: Path) -> None:
    """The one that waited has opened the file that is removed: a lock on that would keep nobody out."""
    path, order = tmp_path / "t.csv", []

    def next_one() -> None:
        with locked(path):
            order.append("second")
            with pytest.raises(darrm.OutputError), locked(path, wait=False):
                order.append("two at once")

    waiting = threading.Thread(target=next_one)
    with locked(path):
        waiting.start()
        time.sleep(0.1)
        order.append("first")
    waiting.join()
    assert order == ["first", "second"]
    with locked(path):
        assert lock_of(path).exists()
    assert not lock_of(path).exists()
