"""The explorer as a browser would ask it, but without one."""

import html
import re
from typing import Any
from urllib.parse import urlencode

HOME = "http://127.0.0.1:8000"


def get(client: Any, path: str, base_url: str = HOME, **values: str) -> Any:
    return client.get(f"{path}?{urlencode(values)}", base_url=base_url)


def errors(answer: Any) -> dict[str, str]:
    assert answer.status_code == 400
    found: dict[str, str] = answer.get_json()["errors"]
    return found


def pre(text: str, name: str) -> str:
    found = re.search(rf'<pre id="{name}"[^>]*>(.*?)</pre>', text, re.DOTALL)
    assert found
    return html.unescape(found.group(1))


def wrong(text: str, name: str) -> str:
    """What a page says beside a control."""
    found = re.search(rf'<p class="wrong" id="wrong-{name}">(.*?)</p>', text, re.DOTALL)
    assert found
    return html.unescape(found.group(1))
