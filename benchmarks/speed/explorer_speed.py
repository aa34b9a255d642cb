"""How heavy the page of ``darrm explore`` is, how long it takes to answer, and pictures of it.

    python benchmarks/speed/explorer_speed.py [--docs] [--screenshot]

Takes: two minutes. --docs writes docs/howto/explorer.md.

The pictures, with --screenshot, are written beside that page; they need selenium and Chromium with its chromedriver.
"""

from __future__ import annotations

import argparse
import base64
import os
import platform
import re
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

DOCS = Path(__file__).resolve().parents[2] / "docs"
SIZES = (11, 51, 101, 201)
PLANNED = {"max_affected": 1, "voters": "fresh"}
OF_GROUPS = {
    "known": "accuracy",
    "count1": 4,
    "epsilon1": 1,
    "count2": 7,
    "epsilon2": 0.2,
    "m": "",
    "release_epsilon": 1.4,
}
# Pictures by name: the page, and what is there once it has settled.
PICTURES = {
    "explorer.png": (f"?{urlencode(PLANNED)}", "#others table"),
    "explorer_release.png": ("release/", "#others table"),
    "explorer_groups.png": (f"release/?{urlencode(OF_GROUPS)}", "#others table"),
}
MOST_BYTES = 200_000


def processor() -> str:
    """What the operating system calls this processor."""
    try:
        return re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())[0]
    except (OSError, IndexError):
        return platform.processor() or platform.machine()


@contextmanager
def served() -> Iterator[Any]:
    from darrm.show.explore.server import Server

    server = Server(port=0)
    running = threading.Thread(target=server.run)
    running.start()
    try:
        yield server
    finally:
        server.close()
        running.join()


def ask(server: Any, path: str, **values: object) -> tuple[float, float, int]:
    """Seconds, those of the processor in this process (which serves too), and bytes of an answer."""
    connection = HTTPConnection("127.0.0.1", server.port, timeout=120)
    start, worked = time.perf_counter(), time.process_time()
    connection.request("GET", f"{path}?{urlencode(values)}")
    answer = connection.getresponse()
    body = answer.read()
    seconds, work = time.perf_counter() - start, time.process_time() - worked
    connection.close()
    if answer.status != 200:
        raise SystemExit(f"{path} {values}: status {answer.status}, {body[:500]!r}")
    return seconds, work, len(body)


def measure(server: Any, repeat: int) -> str:
    of = {"known": "prior", "epsilon1": 0.1}
    ask(server, "/release/others", **of, count1=9, m=2)  # loads the libraries
    weight = [ask(server, path)[2] / 1000 for path in ("/release/", "/static/explore.css", "/static/explore.js")]
    lines = [
        f"The page of one release: {weight[0]:.0f} kB of HTML with its picture, {weight[1]:.0f} kB of CSS and "
        f"{weight[2]:.0f} kB of JavaScript.",
        "",
        "| K | Delta | new design, s | CPU, s | again, s | kB | other mechanisms, CPU s |",
        "| --: | --: | --: | --: | --: | --: | --: |",
    ]
    for K in SIZES:
        for Delta in (0.0, 1e-5):
            # Another m each time, so that nothing is kept from before.
            problems = [of | {"count1": K, "m": 2 + 0.5 * i, "delta1": Delta} for i in range(repeat)]
            first = [ask(server, "/release/design", **one) for one in problems]
            again = [ask(server, "/release/design", **one)[0] for one in problems]
            others = [ask(server, "/release/others", **one)[1] for one in problems]
            seconds, work, size = (statistics.median(values) for values in zip(*first, strict=True))
            lines.append(
                f"| {K} | {Delta:g} | {seconds:.2f} | {work:.2f} | {statistics.median(again):.3f} | {size / 1000:.0f} "
                f"| {statistics.median(others):.2f} |"
            )
    return "\n".join(lines)


def screenshots(server: Any, target: Path) -> None:
    from selenium import webdriver

    program, driver = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
    if program is None or driver is None:
        raise SystemExit("A picture needs Chromium and chromedriver on the PATH.")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    with tempfile.TemporaryDirectory() as folder:
        for argument in (
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            f"--user-data-dir={folder}",
        ):
            options.add_argument(argument)
        browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=driver))
        try:
            size = {"width": 980, "height": 940, "deviceScaleFactor": 1, "mobile": False}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            for name, (page, settled) in PICTURES.items():
                browser.get(f"{server.url}{page}")
                end = time.monotonic() + 60
                while not browser.execute_script("return document.querySelector(arguments[0])", settled):
                    if time.monotonic() > end:
                        raise SystemExit("The page did not settle.")
                    time.sleep(0.1)
                time.sleep(0.5)  # what fades has faded
                taken = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
                picture = base64.b64decode(taken["data"])
                if len(picture) >= MOST_BYTES:
                    raise SystemExit(f"{name} has {len(picture)} bytes; {MOST_BYTES} are too many.")
                (target / name).write_bytes(picture)
        finally:
            browser.quit()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--screenshot", action="store_true")
    options = parser.parse_args()
    about = (
        f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}; median of {options.repeat} "
        "designs, asked for over HTTP on the same machine. CPU: seconds of the processor, which other programs on the "
        "machine do not lengthen."
    )
    with served() as server:
        text = f"{about}\n\n{measure(server, options.repeat)}"
        print(text)
        if options.docs:
            page = DOCS / "howto" / "explorer.md"
            parts = re.split(r"(<!-- /?times -->)", page.read_text())
            page.write_text("".join([*parts[:2], f"\n\n{text}\n\n", *parts[3:]]))
        if options.screenshot:
            screenshots(server, DOCS)


if __name__ == "__main__":
    main()
