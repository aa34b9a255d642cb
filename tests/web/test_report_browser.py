"""The report in a browser: quiet, offline, readable on a phone, on paper and for those who see little."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

import darrm
from darrm.show import report

pytest.importorskip("matplotlib")

# Every piece of visible text: its contrast (WCAG 2, relative luminance) with the nearest background behind it.
CONTRASTS = """
const numbers = colour => {
  const found = colour.match(/[\\d.]+/g).map(Number);
  return found.length < 4 ? [...found, 1] : found;
};
const luminance = colour => {
  const linear = v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const [r, g, b] = colour.slice(0, 3).map(v => linear(v / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = element => {
  for (let e = element; e; e = e.parentElement) {
    const colour = numbers(getComputedStyle(e).backgroundColor);
    if (colour[3] > 0) return colour;
  }
  return [255, 255, 255, 1];
};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const result = [];
while (walker.nextNode()) {
  const text = walker.currentNode.textContent.trim();
  if (!text) continue;
  const element = walker.currentNode.parentElement;
  const [a, b] = [luminance(numbers(getComputedStyle(element).color)), luminance(behind(element))];
  result.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), text.slice(0, 40)]);
}
return result;
"""
# Elements that reach out of the page, but for what scrolls inside its own box.
OUTSIDE = """
return [...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll, pre'))
  .filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
  .map(e => e.tagName + ' ' + e.textContent.trim().slice(0, 40));
"""


@pytest.fixture(scope="module")
def page() -> str:
    long = "anyrecordmayberemovedoraddedwithoutabreakinthislongword"
    design = darrm.solve(K=7, m=2, epsilon=0.5, Delta=1e-4, adjacency=long)
    return report.html(design, full=True)


@pytest.fixture(scope="module")
def decision_page() -> str:
    groups = [darrm.VoterGroup(3, epsilon=1.0), darrm.VoterGroup(2, epsilon=0.5), darrm.VoterGroup(7, epsilon=0.2)]
    classes = ("noalarmwithoutabreakinthislongword", "analarmwithoutabreakinthislongword")
    problem = darrm.DecisionProblem(groups, epsilon=1.0, max_affected=3, classes=classes)
    design = darrm.solve(problem, objective=darrm.objectives.truth([0.7, 0.65, 0.6]))
    return report.html(design, full=False)


@pytest.fixture(scope="module")
def long_page() -> str:
    problem = darrm.MajorityProblem(K=151, m=5, epsilon=0.1)
    return report.html(darrm.Design(problem, darrm.baselines.subsampling(151, 5), darrm.priors.common()))


def requested(browser: Any) -> list[str]:
    messages = (json.loads(entry["message"])["message"] for entry in browser.get_log("performance"))
    return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]


def as_phone(browser: Any, width: int = 360) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    )


@pytest.mark.thorough
def test_the_fixture_sees_requests_and_errors(browser: Any, page_uri: Callable[[str], str]) -> None:
    browser.get(page_uri("<!DOCTYPE html><title>x</title><img src='missing.png'><script>console.error('no')</script>"))
    assert any(url.endswith("missing.png") for url in requested(browser))
    assert any("no" in entry["message"] for entry in browser.get_log("browser"))


@pytest.mark.thorough
def test_nothing_is_asked_for_and_nothing_complains(
    browser: Any, page_uri: Callable[[str], str], page: str, long_page: str, decision_page: str
) -> None:
    for html in (page, long_page, decision_page):
        uri = page_uri(html)
        browser.get(uri)
        assert [url for url in requested(browser) if not url.startswith("data:")] == [uri]
        assert browser.get_log("browser") == []


@pytest.mark.thorough
def test_every_picture_is_drawn_and_described(browser: Any, page_uri: Callable[[str], str], page: str) -> None:
    browser.get(page_uri(page))
    images = browser.execute_script("return [...document.images].map(i => [i.naturalWidth, i.complete, i.alt])")
    assert len(images) == 4
    for width, complete, alternative in images:
        assert complete
        assert width > 300
        assert len(alternative) > 40


@pytest.mark.thorough
@pytest.mark.parametrize("width", [320, 360, 414, 768, 1200])
def test_nothing_sticks_out(
    browser: Any, page_uri: Callable[[str], str], page: str, long_page: str, decision_page: str, width: int
) -> None:
    for html in (page, long_page, decision_page):
        as_phone(browser, width)
        browser.get(page_uri(html))
        browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
        wide, inner = browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
        assert inner == width
        assert wide <= inner
        assert browser.execute_script(OUTSIDE) == []


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["page", "decision_page"])
@pytest.mark.parametrize(("scheme", "behind"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(29, 34, 39)")])
def test_text_stands_out_from_what_is_behind_it(
    browser: Any, page_uri: Callable[[str], str], kind: str, scheme: str, behind: str, request: pytest.FixtureRequest
) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": features})
    browser.get(page_uri(request.getfixturevalue(kind)))
    assert browser.execute_script("return getComputedStyle(document.body).backgroundColor") == behind
    found = browser.execute_script(CONTRASTS)
    assert len(found) > 200
    assert [item for item in found if not item[0] >= 4.5] == []


@pytest.mark.thorough
def test_contrast_can_fail(browser: Any, page_uri: Callable[[str], str]) -> None:
    browser.get(page_uri("<!DOCTYPE html><title>x</title><body style='background:#fff'><p style='color:#888'>grey"))
    ((ratio, _),) = browser.execute_script(CONTRASTS)
    assert ratio == pytest.approx(3.54, abs=0.01)


@pytest.mark.thorough
def test_text_is_not_tiny(browser: Any, page_uri: Callable[[str], str], page: str) -> None:
    as_phone(browser)
    browser.get(page_uri(page))
    sizes = browser.execute_script(
        "return [...document.querySelectorAll('p, td, th, figcaption, summary, dt')]"
        ".map(e => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) >= 12


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["page", "decision_page"])
def test_it_prints_without_cutting_tables(
    browser: Any, page_uri: Callable[[str], str], kind: str, request: pytest.FixtureRequest
) -> None:
    browser.get(page_uri(request.getfixturevalue(kind)))
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    browser.execute_cdp_cmd(  # the width of A4 between its margins
        "Emulation.setDeviceMetricsOverride", {"width": 672, "height": 986, "deviceScaleFactor": 1, "mobile": False}
    )
    hidden = browser.execute_script(
        "return [...document.querySelectorAll('.scroll')].filter(e => getComputedStyle(e).overflowX !== 'visible'"
        " || e.scrollWidth > document.querySelector('main').clientWidth + 1).map(e => e.ariaLabel)"
    )
    assert hidden == []
    broken = browser.execute_script(
        "return [...document.querySelectorAll('figure, .scroll:not(.long), tr')]"
        ".filter(e => getComputedStyle(e).breakInside !== 'avoid').length"
    )
    assert broken == 0
    paper = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"])
    assert paper.startswith(b"%PDF-")


@pytest.mark.thorough
def test_the_keyboard_reaches_what_scrolls(browser: Any, page_uri: Callable[[str], str], page: str) -> None:
    browser.get(page_uri(page))
    assert browser.execute_script("return [...document.querySelectorAll('.scroll')].every(e => e.tabIndex === 0)")
    names = browser.execute_script("return [...document.querySelectorAll('.scroll')].map(e => e.ariaLabel)")
    assert len(set(names)) == len(names)
