"""The command line as its own process: signals, pipes, full disks, other interpreters' moods."""

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from cases import thorough
from scripts import COMMAND, PROGRAMS

import darrm

PROBLEM = ["--K", "11", "--m", "3", "--epsilon", "0.1"]
posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals and pipes: run on Linux or macOS")
needs_dev_full = pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="needs /dev/full, a disk without room: run on Linux"
)


@pytest.fixture(scope="module")
def script() -> str:
    """The installed console script."""
    path = shutil.which("darrm", path=sysconfig.get_path("scripts"))
    assert path, "the console script is not installed"
    return path


def environment(**changes: str) -> dict[str, str]:
    unwanted = {"FORCE_COLOR", "COLUMNS", "PYTHONUTF8", "PYTHONIOENCODING"}
    return {name: value for name, value in os.environ.items() if name not in unwanted} | changes


def run(
    *command: str, stdout: int = subprocess.PIPE, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, timeout=60, env=env or environment()
    )


def one_line(error: bytes) -> str:
    text = error.decode()
    assert len(text.splitlines()) == 1, text
    assert text.startswith("darrm: ")
    return text


@pytest.mark.thorough
def test_the_script_solves_verifies_and_releases(script: str, tmp_path: Path) -> None:
    design, votes, labels = (str(tmp_path / name) for name in ("gamma.json", "votes.csv", "labels.csv"))
    solved = run(script, "solve", *PROBLEM, "--out", design, "--json")
    assert solved.returncode == 0
    assert json.loads(solved.stdout)["gamma"] == darrm.load(design).gamma.tolist()
    assert run(script, "verify", design).returncode == 0
    Path(votes).write_text(",".join("abcdefghijk") + "\n" + ",".join("1" * 11) + "\n", encoding="utf-8")
    released = run(script, "release", design, "--votes", votes, "--out", labels)
    assert (released.returncode, released.stdout) == (0, b"")
    assert Path(labels).read_bytes() in (b"id,label\n1,0\n", b"id,label\n1,1\n")


@pytest.mark.thorough
def test_the_script_refuses_with_status_2(script: str) -> None:
    refused = run(script, "solve", "--K", "0", "--m", "1", "--epsilon", "0.1")
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert "K must be an integer" in one_line(refused.stderr)


@pytest.mark.thorough
def test_a_search_that_ends_without_a_design_has_status_4(script: str) -> None:
    refused = run(script, "solve", *PROBLEM, "--time-limit", "1e-9")
    assert (refused.returncode, refused.stdout) == (4, b"")
    one_line(refused.stderr)


@pytest.mark.thorough
def test_bad_input_is_refused_without_asserts() -> None:
    refused = run(sys.executable, "-O", COMMAND, "solve", "--K", "11", "--m", "nan", "--epsilon", "0.1")
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert "m must be in (0, K]" in one_line(refused.stderr)


@pytest.mark.thorough
def test_a_bad_design_is_refused_without_asserts() -> None:
    assert run(sys.executable, "-O", str(PROGRAMS / "bad_design.py")).stdout.strip() == b"refused"


@pytest.mark.thorough
@pytest.mark.parametrize("command", ["solve", "compare"])
def test_pictures_without_matplotlib_name_the_remedy(tmp_path: Path, command: str) -> None:
    picture = tmp_path / "gamma.png"
    arguments = [command, "--K", "3", "--m", "2", "--epsilon", "0.1", "--plot", str(picture)]
    refused = run(sys.executable, str(PROGRAMS / "without.py"), "matplotlib", COMMAND, *arguments)
    assert (refused.returncode, refused.stdout) == (5, b"")
    assert "pip install matplotlib" in one_line(refused.stderr)
    assert not picture.exists()


@pytest.mark.thorough
@posix
def test_interrupt_is_one_line_and_status_130(tmp_path: Path) -> None:
    """The command ends while HiGHS is at work, and HiGHS does not come to its end, as its log would say."""
    out, log, ended = tmp_path / "gamma.json", tmp_path / "log", b"Model status"
    out.write_text("what stood here", encoding="utf-8")
    program = [sys.executable, str(PROGRAMS / "command_and_solver_log.py")]
    assert run(*program, str(log), "solve", *PROBLEM, "--engine", "full-list").returncode == 0
    assert ended in log.read_bytes()
    log.unlink()

    reader, writer = os.pipe()
    problem = ["--K", "101", "--m", "3", "--epsilon", "0.1", "--engine", "full-list"]  # seconds of HiGHS
    command = [*program, f"/dev/fd/{writer}", "solve", *problem, "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[writer])
    try:
        os.close(writer)
        with open(reader, "rb") as said:
            assert any(b"LP has" in line for line in said)
            process.send_signal(signal.SIGINT)
            rest, error = process.communicate(timeout=300)
            assert ended not in said.read()
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130
    assert rest == b""
    # A blank line keeps the message clear of the terminal's ^C.
    assert "Interrupted" in one_line(error.lstrip(b"\n"))
    assert out.read_text(encoding="utf-8") == "what stood here"
    assert [path.name for path in tmp_path.iterdir()] == ["gamma.json"]


@pytest.mark.thorough
@posix
@pytest.mark.parametrize(
    "command", [["solve", *PROBLEM], *thorough(["solve", *PROBLEM, "--json"], ["compare", *PROBLEM])]
)
def test_a_reader_that_leaves_is_no_error(script: str, command: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = run(script, *command, stdout=writer)
    finally:
        os.close(writer)
    assert b"Traceback" not in ended.stderr
    assert b"darrm: " not in ended.stderr


@pytest.mark.thorough
@posix
@pytest.mark.parametrize("command", [*thorough("solve"), "verify"])
def test_a_reader_that_leaves_does_not_turn_yes_into_no(script: str, tmp_path: Path, command: str) -> None:
    path = str(tmp_path / "gamma.json")
    darrm.solve(K=11, m=3, epsilon=0.1).save(path)
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = run(script, command, *([path] if command == "verify" else PROBLEM), stdout=writer)
    finally:
        os.close(writer)
    assert ended.returncode == 0


@pytest.mark.thorough
@needs_dev_full
@pytest.mark.parametrize("command", [["solve", *PROBLEM], *thorough(["solve", *PROBLEM, "--json"], ["--help"])])
def test_a_full_disk_behind_standard_output(script: str, command: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        ended = run(script, *command, stdout=full.fileno())
    assert ended.returncode == 5
    assert "No space left" in one_line(ended.stderr)


@pytest.mark.thorough
@posix
@pytest.mark.parametrize("stream", [">", *thorough("2>")])
def test_closed_streams_do_not_crash(script: str, stream: str) -> None:
    ended = run("/bin/sh", "-c", f'"{script}" solve {" ".join(PROBLEM)} {stream}&-')
    assert b"Traceback" not in ended.stderr
    assert ended.returncode in (0, 2, 5)


@pytest.mark.thorough
@pytest.mark.parametrize("encoding", ["ascii", *thorough("cp1252", "latin-1")])
def test_narrow_encodings_do_not_crash(script: str, encoding: str) -> None:
    ended = run(script, "solve", *PROBLEM, "--adjacency", "每 row", env=environment(PYTHONIOENCODING=encoding))
    assert ended.returncode == 0, ended.stderr.decode()[-300:]
    assert b"0.939703" in ended.stdout


@pytest.mark.thorough
@pytest.mark.parametrize("no_color", [{}, *thorough({"NO_COLOR": "1"})])
def test_piped_output_is_plain(script: str, no_color: dict[str, str]) -> None:
    ended = run(script, "compare", *PROBLEM, env=environment(TERM="xterm-256color", **no_color))
    assert ended.returncode == 0
    assert b"\x1b" not in ended.stdout + ended.stderr
