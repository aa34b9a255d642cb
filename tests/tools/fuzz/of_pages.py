"""Addresses of the explorer's pages, asked in-process."""

from __future__ import annotations

from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from hypothesis import strategies as st
from judging import Case, Finding, confirm
from mutate import Draw, rarely, words

import darrm

HOME = "http://127.0.0.1:8000"
MARK = "<i id=mark>'\"&"  # must never stand in a page as it is
PATHS = {
    "": ["/", "/plan", "/others", "/design.json", "/design.csv", "/mechanisms.csv", "/report.html", "/voters"],
    "/release": ["/", "/design", "/others", "/design.json", "/design.csv", "/report.html"],
}
RARE = words("/plan/ //evil.example /static/ /static/../app.py /static/%2e%2e/app.py /%00 /%ff /noise/ /decisions/")
_BY_NAMES = {
    "count1": ["1", "3", "5", "11", "25"],
    "count2 count3": ["", "1", "2", "3"],
    "epsilon1 epsilon2 epsilon3": ["", "0.1", "1", "2", "inf", "auto", "1e-9", "40"],
    "max_affected max_affected1 max_affected2": ["", "1", "1", "2", "3"],
    "accuracy accuracy1 accuracy2 base": ["", "0.5", "0.85", "0.9", "1", "0", ".9:.1/.2:.8"],
    "known": ["prior", "accuracy"],
    "m": ["", "1", "2", "3", "11"],
    "prior": ["uniform", "common:2,2", "fixed:0.9", "votes:1,2,3,4"],
    "minimise": ["", "tv", "disagreement"],
    "delta delta1 delta2 total_delta": ["0", "1e-6", "1e-5", "0.01", ""],
    "release_epsilon": ["", "0.3", "1", "1.4", "6"],
    "truths": ["", ".3,.7", "1,0"],
    "cost": ["", "0,5,1,0", "0,1,1,0,.3,.3"],
    "queries": ["1", "10", "200", "1000", "1001"],
    "total_epsilon": ["0.1", "1", "6", "50"],
    "voters": ["fresh", "fresh", "fixed", ""],
    "meaning": ["base", "votes"],
    "at_most aggregator": ["", "1", "2", "50"],
    "classes": ["2", "3", "4", "5", "no,yes"],
    "objective": ["truth", "majority", "plurality", "at-least:2", "weights:1,2"],
    "none": ["", "0", "1", "0.3"],
    "shape": ["free", "ordered", "monotone"],
}
USUAL = {name: values for names, values in _BY_NAMES.items() for name in words(names)}
ODD = [
    *words("nan inf -1 0 1e400 5e-324 1e308 0x10 \uff11 , : %s \udcff \u2028 -- None [] 1,2 1:2"),
    *("", " ", " 3 ", "9" * 39, "9" * 41, "9" * 5000, "x" * 7000, MARK, "\0", "a\r\nSet-Cookie: a=b", "javascript:1"),
]


@st.composite
def pages(draw: Draw) -> Case:
    from darrm.show.explore import plan_choices, release_choices

    prefix = draw(st.sampled_from(sorted(PATHS)))
    first = {"": plan_choices.FIRST, "/release": release_choices.FIRST}[prefix]
    path = draw(st.sampled_from(RARE)) if rarely(draw, 30) else prefix + draw(st.sampled_from(PATHS[prefix]))
    values = dict(first)
    for name in ("max_affected", "voters"):  # without them a plan is none
        if prefix == "" and draw(st.integers(0, 9)):
            values[name] = draw(st.sampled_from(USUAL[name]))
    for _ in range(draw(st.integers(0, 5))):
        name = draw(st.sampled_from(sorted(first)))
        values[name] = draw(st.sampled_from(USUAL.get(name, [first[name]]) if draw(st.integers(0, 3)) else ODD))
    if path.endswith((".html", ".json")):  # reports and checks of many voters are honest work for some seconds
        values["count1"] = draw(st.sampled_from(["1", "3", "5"]))
    pairs = [[name, value] for name, value in values.items()]
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 3]))):
        more = draw(st.sampled_from([*first, "plan", "others", "K", MARK, "", "x"]))
        pairs.append([more, draw(st.one_of(st.sampled_from(["", "1", "3", *ODD]), st.text(max_size=6)))])
    if prefix == "" and draw(st.booleans()):
        pairs.append(["plan", ""])
    if rarely(draw, 4):
        pairs = draw(st.permutations(pairs))[: draw(st.integers(0, len(pairs)))]
    raw = draw(st.sampled_from(["", "", "", "&", "%", "&=&&", "%ff%fe=%00", "&" * 2000, "+", ";"]))
    host = draw(
        st.sampled_from(["127.0.0.1:8000"] * 9 + ["evil.example", "", "127.0.0.1:x", "[::1]:8000", "a@127.0.0.1"])
    )
    site = draw(st.sampled_from(["none"] * 9 + ["cross-site"]))
    return {"path": path, "pairs": pairs, "raw": raw, "headers": {"Host": host, "Sec-Fetch-Site": site}}


@cache
def _app() -> Any:
    from darrm.show.explore import serving

    serving.TIME_LIMIT = 4.0  # a case has 10 s, and a page asks for a design and a comparison
    app = darrm.show.explore.create_app()
    app.config["PROPAGATE_EXCEPTIONS"] = True  # or a defect would be an answer of status 500
    return app


def run_page(case: Case) -> str:
    query = urlencode([tuple(pair) for pair in case["pairs"]], errors="surrogatepass") + case["raw"]
    answer = (
        _app()
        .test_client()
        .get(case["path"], query_string=query, base_url=HOME, headers=case["headers"], follow_redirects=False)
    )
    if "evil.example" in case["headers"]["Host"] and answer.status_code != 400:
        raise Finding(f"status {answer.status_code} for another host")
    if answer.status_code in (301, 302, 308):
        place = urlsplit(answer.headers["Location"])
        if place.netloc not in ("", case["headers"]["Host"]) or "\n" in answer.headers["Location"]:
            raise Finding(f"leads away: {answer.headers['Location']!r}")
        return "led on"
    if answer.status_code not in (200, 400, 403, 404, 405):
        raise Finding(f"status {answer.status_code}")
    if not answer.headers.get("Content-Security-Policy") or "Set-Cookie" in answer.headers:
        raise Finding(f"headers {dict(answer.headers)}")
    kind = answer.mimetype
    if kind == "text/html":
        text = answer.get_data(as_text=True)
        if "<i id=mark>" in text:
            raise Finding("what was asked stands in the page as it was")
        _whole(text)
    elif kind == "application/json" and answer.status_code == 400:
        errors = answer.get_json()["errors"]
        if not errors or not all(isinstance(text, str) and text.strip() for text in errors.values()):
            raise Finding(f"errors {errors}")
    if answer.status_code == 200 and case["path"].endswith(".json"):
        Path("asked.json").write_bytes(answer.get_data())
        return f"a file, {confirm(darrm.load('asked.json'))}"
    if answer.status_code == 200 and case["path"].endswith((".csv",)) and not answer.get_data().count(b"\n"):
        raise Finding("an empty table")
    return f"status {answer.status_code}"


class _Marks(HTMLParser):
    """Elements that are open."""

    EMPTY = frozenset(words("area base br col embed hr img input link meta source track wbr path rect circle line use"))

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.EMPTY:
            return
        while self.open:
            last = self.open.pop()
            if last == tag:
                return
            if last not in ("li", "p", "td", "th", "tr", "option", "dt", "dd", "tbody", "thead"):
                raise Finding(f"</{tag}> where <{last}> is open")
        raise Finding(f"</{tag}> that nothing opened")


def _whole(text: str) -> None:
    """`Finding` unless what is opened in a page is closed."""
    marks = _Marks()
    marks.feed(text)
    marks.close()
    if marks.open:
        raise Finding(f"left open: {marks.open}")
