"""Output that is no plain file: devices, pipes, and names in /dev or /proc whatever stands behind them."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import darrm
from darrm.storage.atomic import is_device, part_of, replacing

# Where there is no /dev/fd (Windows), open files have no names, and there is nothing here to write to.
if not Path("/dev/fd").exists():
    pytest.skip("needs /dev/fd: without it open files have no names to write to", allow_module_level=True)

WRITE = Path(__file__).with_name("programs") / "write.py"


def named(folder: Path, kind: str) -> Path:
    """A name of standard output. Not /dev/stdout itself: a faulty darrm that is run by root would replace that."""
    if kind == "through a folder":
        (folder / "fd").symlink_to("/dev/fd")
        return folder / "fd" / "1"
    if not kind.startswith("link"):
        return Path(kind)
    link = folder / "link"
    link.symlink_to(kind.removeprefix("link to "))
    if kind != "link to /dev/stdout":
        return link
    (folder / "second").symlink_to("link")
    return folder / "second"


KINDS = ["/dev/fd/1", "link to /dev/fd/1", "link to /dev/stdout", "through a folder"]
if Path("/proc/self/fd").exists():
    KINDS += ["/proc/self/fd/1", "/proc/thread-self/fd/1", "link to /proc/self/fd/1"]


@pytest.mark.thorough
@pytest.mark.first(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["wb", "ab"])
def test_standard_output_that_is_a_file(tmp_path: Path, kind: str, mode: str) -> None:
    """As with ``>`` and ``>>`` in a shell: nothing that went there before or comes later is written over."""
    folder = tmp_path / "links"
    folder.mkdir()
    out, name = tmp_path / "out.txt", named(folder, kind)
    links = {path: os.readlink(path) for path in folder.iterdir()}
    out.write_text("old\n", encoding="utf-8")
    inode = out.stat().st_ino
    with out.open(mode) as file:
        file.write(b"first\n")
        file.flush()
        for fails in ([], ["fails"]):
            ended = subprocess.run(
                [sys.executable, WRITE, name, *fails], stdout=file, stderr=subprocess.PIPE, timeout=60
            )
            assert ended.returncode == (7 if fails else 0), ended.stderr
    assert out.read_text(encoding="utf-8") == "old\n" * (mode == "ab") + "first\nab\nc\n"
    assert out.stat().st_ino == inode
    assert {path: os.readlink(path) for path in folder.iterdir()} == links
    assert sorted(path.name for path in tmp_path.iterdir()) == ["links", "out.txt"]


@pytest.mark.thorough
def test_standard_output_that_is_closed(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("/dev/fd/1")
    command = f'exec "{sys.executable}" "$0" "$1" >&-'
    ended = subprocess.run(["sh", "-c", command, WRITE, link], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].endswith("link could not be written: it is not open. Pass the path of a file.")
    assert link.is_symlink()


@pytest.mark.parametrize("fails", [False, True])
def test_a_pipe_gets_all_or_nothing(tmp_path: Path, fails: bool) -> None:
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    holder = os.open(pipe, os.O_RDWR)  # so that opening it never waits

    def write() -> None:
        with replacing(pipe) as file:
            file.write(b"x" * 30_000)
            file.flush()
            got.append(waiting(holder))
            if fails:
                raise ZeroDivisionError

    if fails:
        with pytest.raises(ZeroDivisionError):
            write()
    else:
        write()
    assert got == [0]
    assert waiting(holder) == (0 if fails else 30_000)
    os.close(holder)
    assert pipe.is_fifo()


def waiting(pipe: int) -> int:
    """Bytes in a pipe."""
    import array
    import fcntl
    import termios

    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


def test_a_pipe_may_hold_less_than_comes(tmp_path: Path) -> None:
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    with replacing(pipe) as file:
        file.write(b"x" * 300_000)
    reader.join(60)
    assert got == [b"x" * 300_000]


def test_plain_links_are_replaced(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    link.symlink_to("real")
    with replacing(link) as file:
        file.write(b"new")
    assert (real.read_bytes(), link.read_bytes(), link.is_symlink()) == (b"old", b"new", False)


def test_a_device_is_no_place_for_what_must_be_moved() -> None:
    with (
        pytest.raises(darrm.OutputError, match=r"^/dev/null is not a file that can be replaced"),
        part_of("/dev/null"),
    ):
        pytest.fail("the block was entered")


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="needs a /dev/shm to write in: run on Linux")
def test_shared_memory_holds_files() -> None:
    import tempfile

    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = Path(folder, "file")
        path.write_bytes(b"old")
        with path.open("rb") as old:
            with replacing(path) as file:
                file.write(b"new")
            assert (old.read(), path.read_bytes()) == (b"old", b"new")  # replaced, not written over


@pytest.mark.skipif(not os.path.exists("/proc/self/environ"), reason="needs a /proc: run on Linux")
def test_a_link_into_the_system_is_a_device(tmp_path: Path) -> None:
    """Whatever is at its end, and over how many links."""
    near, far, plain = tmp_path / "near", tmp_path / "far", tmp_path / "plain"
    near.symlink_to("/proc/self/environ")
    far.symlink_to("near")
    plain.symlink_to("file")
    (tmp_path / "file").write_bytes(b"")
    assert is_device(near)
    assert is_device(far)
    assert not is_device(plain)
    assert not is_device(tmp_path / "new")
