"""Build hook of hatchling: the README as the description of a package, where it stands alone.

Its links to files of the repository lead nowhere on the page of a package index, so their words stay as text. A
picture is left out, for it is such a link too.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

HERE = r"\((?!https?:|#)[^)\s]*\)"  # where a link to a file beside the README leads


def alone(readme: str) -> str:
    """The README without pictures and links of the repository; what is fenced or indented stays as it is."""
    parts = re.split(r"(^```[\s\S]*?^```$|^ {4}.*$)", readme, flags=re.MULTILINE)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(rf"^!\[[^\]]*\]{HERE}\n\n", "", parts[i], flags=re.MULTILINE)
        parts[i] = re.sub(rf"\[([^\]]*)\]{HERE}", r"\1", parts[i])
    return "".join(parts)


class Description(MetadataHookInterface):
    """Give hatchling the README as `alone` makes it."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": alone(text)}
