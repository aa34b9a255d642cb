"""Pages of HTML as tests see them."""

import re
from html.parser import HTMLParser

VOID = {"meta", "img", "br", "hr", "link"}


class Page(HTMLParser):
    """Tables by name, headings, images and every address of a page; tags must close in order.

    A cell has the number that stands there for programs, if there is one; ``printed`` are the cells that readers see.
    """

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: dict[str, list[list[str]]] = {}
        self.headings: list[tuple[int, str]] = []
        self.images: list[dict[str, str | None]] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.printed: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        assert len(given) == len(attrs)
        self.tags.append((tag, given))
        if tag not in VOID:
            self._open.append(tag)
        if tag == "div" and given.get("role") == "region":
            self._rows = self.tables.setdefault(str(given["aria-label"]), [])
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("th", "td"):
            self._rows[-1].append("")
            self.printed.append("")
        elif tag == "data":
            self._rows[-1][-1] += str(given["value"])
        elif tag == "img":
            self.images.append(given)
        elif re.fullmatch("h[1-6]", tag):
            self.headings.append((int(tag[1]), ""))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self._open:
            return
        self.text += data
        if {"th", "td"} & set(self._open):
            self._rows[-1][-1] += data if "data" not in self._open else ""
            self.printed[-1] += data
        if self._open and re.fullmatch("h[1-6]", self._open[-1]):
            level, words = self.headings[-1]
            self.headings[-1] = (level, words + data)

    def rows(self, name: str) -> list[list[str]]:
        return self.tables[name][1:]
