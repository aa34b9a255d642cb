"""The explorer in a browser, used as one would use it."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

import darrm

pytest.importorskip("flask")
pytest.importorskip("waitress")
pytest.importorskip("selenium")
pytest.importorskip("matplotlib")

from darrm.show.explore.server import Server

PATIENCE = 30  # seconds; machines that run tests are busy
SMALL = {"count1": "5", "m": "2", "epsilon1": "0.5"}
# Text against what is behind it, by the formula of WCAG 2.
CONTRAST = """
const parse = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
  .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
  .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const found = [];
for (const element of document.querySelectorAll("body *")) {
  const text = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!text || !element.checkVisibility()) continue;
  let behind = element;
  while (behind && (parse(getComputedStyle(behind).backgroundColor)[3] ?? 1) === 0) behind = behind.parentElement;
  const back = behind ? parse(getComputedStyle(behind).backgroundColor) : [255, 255, 255];
  const [a, b] = [light(parse(getComputedStyle(element).color)), light(back)].sort((x, y) => y - x);
  found.push([(a + 0.05) / (b + 0.05), element.tagName + "." + element.className + ": " + element.textContent.trim()]);
}
return found;
"""


# The driver may answer from the page before; the page's script has run when all of the page is there.
READY = "return !window.left && document.readyState === 'complete'"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    found = Server(port=0)
    running = threading.Thread(target=found.run)
    running.start()
    yield found
    found.close()
    running.join(PATIENCE)


@pytest.fixture
def opened(browser: Any, server: Server) -> Iterator[Callable[..., Any]]:
    """A function that opens the explorer with some values; afterwards nobody may have complained or asked elsewhere."""

    def go(path: str = "release/", **values: str) -> Any:
        browser.execute_script("window.left = true")
        browser.get(f"{server.url}{path}?{urlencode(values)}")
        wait(lambda: browser.execute_script(READY))
        return browser

    yield go
    complaints = [entry for entry in browser.get_log("browser") if " status of 400 " not in entry["message"]]
    assert complaints == []
    sent = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [one["params"]["request"]["url"] for one in sent if one["method"] == "Network.requestWillBeSent"]
    assert asked
    assert {urlsplit(url).netloc for url in asked if not url.startswith(("data:", "about:"))} == {
        urlsplit(server.url).netloc
    }


def wait(condition: Callable[[], Any]) -> Any:
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)
    return found


def named(browser: Any, name: str) -> Any:
    return browser.find_element("css selector", f"[name='{name}']")


def text(browser: Any, selector: str) -> str:
    found: str = browser.execute_script("return document.querySelector(arguments[0])?.textContent ?? ''", selector)
    return found


def settled(browser: Any) -> bool:
    return bool(
        browser.execute_script(
            "return !document.querySelector('.busy') && !document.getElementById('status').textContent"
        )
    )


def enter(browser: Any, name: str, value: str) -> None:
    box = named(browser, name)
    box.clear()
    box.send_keys(value)


def state(browser: Any) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(browser.current_url).query).items()}


@pytest.mark.thorough
def test_typing_changes_the_design_and_the_address(opened: Callable[..., Any]) -> None:
    browser = opened(**SMALL)
    enter(browser, "m", "3")
    wait(lambda: "m=3 " in text(browser, "#command") or "--m 3 " in text(browser, "#command"))
    design = darrm.solve(K=5, m=3, epsilon=0.5)
    assert f"{design.error:.6g}" in text(browser, ".figures")
    assert state(browser).items() >= {**SMALL, "m": "3"}.items()


@pytest.mark.thorough
def test_a_slider_that_is_dragged(opened: Callable[..., Any]) -> None:
    from selenium.webdriver import ActionChains

    browser = opened(**SMALL)
    slider = browser.find_element("css selector", "[data-for=m]")
    assert slider.get_attribute("max") == "5"
    before = browser.find_element("css selector", "#design img").get_attribute("src")
    ActionChains(browser).click_and_hold(slider).move_by_offset(20, 0).move_by_offset(-5, 0).release().perform()
    m = named(browser, "m").get_attribute("value")
    assert m != "2"
    wait(lambda: f"--m {m} " in text(browser, "#command") and settled(browser))
    assert browser.find_element("css selector", "#design img").get_attribute("src") != before
    assert state(browser)["m"] == m


@pytest.mark.thorough
def test_the_slider_of_epsilon_is_logarithmic(opened: Callable[..., Any]) -> None:
    browser = opened(**{**SMALL, "m": ""}, release_epsilon="1")
    browser.execute_script(
        "const s = document.querySelector('[data-for=release_epsilon]'); s.value = -1.3;"
        "s.dispatchEvent(new Event('input', {bubbles: true}))"
    )
    wait(lambda: named(browser, "release_epsilon").get_attribute("value") == "0.05")
    wait(lambda: "--release-epsilon 0.05 " in text(browser, "#command"))


@pytest.mark.thorough
@pytest.mark.parametrize("path", ["", "release/"])
def test_colluders_are_asked_for_where_the_randomizer_is_stated(opened: Callable[..., Any], path: str) -> None:
    voters = {"count1": "5", "epsilon1": "1", "max_affected": "1"}
    asked = {"known": "accuracy", "m": "", "release_epsilon": "0.6"} if path else {"voters": "fresh", "queries": "3"}
    browser = opened(path, **voters, **asked)
    assert not named(browser, "colluders").is_displayed()
    named(browser, "randomizer").send_keys("randomized response")
    wait(lambda: "colluders" in text(browser, "#wrong-colluders" if path else "#plan"))
    assert named(browser, "colluders").is_displayed()
    enter(browser, "colluders", "1")
    wait(lambda: "--randomizer response --colluders 1 " in text(browser, "#command") and settled(browser))
    assert "every voter but 1 draws every vote" in text(browser, "#design" if path else "#plan")
    assert not text(browser, "#wrong-colluders")


@pytest.mark.thorough
def test_reload_keeps_the_state(opened: Callable[..., Any]) -> None:
    browser = opened(**SMALL)
    enter(browser, "epsilon1", "0.25")
    named(browser, "shape").send_keys("monotone")
    wait(lambda: "--shape monotone" in text(browser, "#command") and settled(browser))
    before = state(browser)
    browser.refresh()
    wait(lambda: text(browser, "#others .this") and settled(browser))
    assert state(browser) == before
    assert named(browser, "epsilon1").get_attribute("value") == "0.25"
    assert named(browser, "shape").get_attribute("value") == "monotone"
    assert "--epsilon 0.25 --shape monotone" in text(browser, "#command")


@pytest.mark.thorough
def test_back_from_another_page(opened: Callable[..., Any]) -> None:
    browser = opened(**SMALL)
    enter(browser, "m", "4")
    wait(lambda: "--m 4 " in text(browser, "#command") and settled(browser))
    browser.find_element("link text", "Plan of many labels").click()
    wait(lambda: "Give the largest number of voters" in text(browser, "#plan"))
    browser.find_element("link text", "Why it matters").click()
    wait(lambda: text(browser, "h1") == "Fresh voters, fixed voters")
    browser.back()
    browser.back()
    wait(lambda: "--m 4 " in text(browser, "#command"))
    assert named(browser, "m").get_attribute("value") == "4"


@pytest.mark.thorough
def test_downloads(opened: Callable[..., Any], tmp_path: Path) -> None:
    browser = opened(**SMALL)
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    for label, name in (("Design, JSON", "design_5_epsilon1.json"), ("Table, CSV", "design_5_epsilon1.csv")):
        browser.find_element("link text", label).click()
        wait((tmp_path / name).is_file)
    design = darrm.load(tmp_path / "design_5_epsilon1.json")
    assert design.gamma.tolist() == darrm.solve(K=5, m=2, epsilon=0.5).gamma.tolist()


@pytest.mark.thorough
def test_what_is_wrong_is_said_beside_its_control_and_goes_away(opened: Callable[..., Any]) -> None:
    browser = opened(**SMALL)
    enter(browser, "m", "30")
    wait(lambda: "m must be in (0, K] = (0, 5]" in text(browser, "#wrong-m"))
    assert named(browser, "m").get_attribute("aria-invalid") == "true"
    assert "wrong-m" in named(browser, "m").get_attribute("aria-describedby")
    assert "busy" in browser.find_element("id", "design").get_attribute("class")
    assert "from before" in text(browser, "#status")
    enter(browser, "m", "3")
    wait(lambda: "--m 3 " in text(browser, "#command") and settled(browser))
    assert text(browser, "#wrong-m") == ""
    assert named(browser, "m").get_attribute("aria-invalid") is None


# Holds back the first answer to /design, deaf to being called off, and lets later ones through.
HOLD = """
const real = window.fetch;
let first = true;
window.fetch = async (path, options) => {
  const mine = first && path.startsWith("design");
  if (mine) first = false;
  const answer = await real(path, mine ? {} : options);
  if (mine) await new Promise((done) => { window.release = done; });
  return answer;
};
"""


@pytest.mark.thorough
def test_an_old_answer_never_replaces_a_newer_one(opened: Callable[..., Any]) -> None:
    browser = opened(**SMALL)
    browser.execute_script(HOLD)
    enter(browser, "m", "3")
    wait(lambda: browser.execute_script("return Boolean(window.release)"))
    assert "Solving" in wait(lambda: text(browser, "#status"))  # that it is at work is seen
    assert browser.find_element("id", "design").get_attribute("aria-busy") == "true"
    assert "--m 2 " in text(browser, "#command")
    enter(browser, "m", "4")
    wait(lambda: "--m 4 " in text(browser, "#command") and settled(browser))
    browser.execute_script("window.release()")
    time.sleep(0.5)
    assert "--m 4 " in text(browser, "#command")
    assert settled(browser)


@pytest.mark.thorough
def test_a_server_that_is_gone_is_said(browser: Any) -> None:
    own = Server(port=0)
    running = threading.Thread(target=own.run)
    running.start()
    browser.get(f"{own.url}release/?{urlencode(SMALL)}")
    wait(lambda: not text(browser, "#status"))  # its first answers are there
    own.close()
    running.join(PATIENCE)
    enter(browser, "m", "3")
    wait(lambda: "still running" in text(browser, "#status"))


@pytest.mark.thorough
def test_hostile_values_are_text(opened: Callable[..., Any]) -> None:
    evil = "\"'><img src=x onerror=document.title='hit'><script>document.title='hit'</script>"
    browser = opened(count1=evil[:39], prior=evil, known="prior", shape=evil[:30])
    assert browser.title == "One release: darrm explore"
    assert named(browser, "prior").get_attribute("value") == evil
    assert "<img src=x" in text(browser, "#wrong-shape")
    named(browser, "shape").send_keys("free")
    enter(browser, "count1", "5")
    wait(lambda: "<script>document.title=" in text(browser, "#wrong-prior"))
    time.sleep(0.5)
    assert browser.title == "One release: darrm explore"
    assert browser.execute_script("return document.querySelectorAll('img[src=x]').length") == 0


@pytest.mark.thorough
def test_copying(opened: Callable[..., Any], server: Server) -> None:
    browser = opened(**SMALL)
    browser.execute_cdp_cmd(
        "Browser.grantPermissions",
        {"origin": server.url, "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]},
    )
    browser.find_element("css selector", "[data-copy=command]").click()
    wait(lambda: text(browser, "[data-copy=command]") == "Copied")
    copied = browser.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
    assert copied == "darrm solve --K 5 --m 2 --epsilon 0.5 --out design.json"


@pytest.mark.thorough
def test_controls_have_names_and_pictures_words(opened: Callable[..., Any]) -> None:
    browser = opened(**SMALL)
    nameless = browser.execute_script(
        "return [...document.querySelectorAll('input:not([type=hidden]), select')]"
        ".filter((e) => !e.labels.length && !e.ariaLabel).map((e) => e.outerHTML)"
    )
    assert nameless == []
    assert len(browser.find_element("css selector", "#design img").get_attribute("alt")) > 40
    assert browser.execute_script("return document.documentElement.lang") == "en"
    assert text(browser, "[aria-live=polite]") == ""


def fits(opened: Callable[..., Any], browser: Any, path: str, values: dict[str, str], width: int, scheme: str) -> None:
    """A page is as wide as the screen, has no empty card and no control without a name, and can be read."""
    dark = {"media": "", "features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
    size = {"width": width, "height": 740, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    opened(path, **values)
    wait(lambda: not browser.execute_script("return Boolean(document.querySelector('.busy, .pending'))"))
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    spilt = "return [...document.querySelectorAll('.card, fieldset')].filter((e) => e.scrollWidth > e.clientWidth)"
    assert browser.execute_script(f"{spilt}.length") == 0
    low = [(ratio, what) for ratio, what in browser.execute_script(CONTRAST) if ratio < 4.5]
    assert low == []
    empty = "return [...document.querySelectorAll('.card')].filter((e) => !e.innerText.trim()).length"
    assert browser.execute_script(empty) == 0
    light = browser.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(246, 247, 248)"
    assert light == (scheme == "light")
    nameless = browser.execute_script(
        "return [...document.querySelectorAll('input:not([type=hidden]), select')]"
        ".filter((e) => !e.labels.length && !e.ariaLabel).map((e) => e.outerHTML)"
    )
    assert nameless == []


# The plan of many labels

PLAN = {"count1": "5", "epsilon1": "1", "queries": "10", "total_epsilon": "3"}
SAID = {**PLAN, "max_affected": "1", "voters": "fresh"}
ARGUMENTS: dict[str, Any] = {"K": 5, "epsilon": 1.0, "base_accuracy": 0.85, "max_affected": 1, "voters": "fresh"}


def planned(browser: Any) -> bool:
    return bool(text(browser, "#others table")) and settled(browser)


@pytest.mark.thorough
def test_nothing_is_planned_before_all_is_said(opened: Callable[..., Any]) -> None:
    browser = opened("", **PLAN)
    assert "Give the largest number of voters" in text(browser, "#plan")
    enter(browser, "max_affected", "1")
    wait(lambda: "Give the largest number of voters" not in text(browser, "#plan") and settled(browser))
    assert "Choose whether your voters are fresh or fixed" in text(browser, "#plan")
    browser.find_element("css selector", "[value=fresh]").click()
    wait(lambda: planned(browser))
    found = darrm.plan(**ARGUMENTS, queries=10, total_epsilon=3, total_delta=1e-6, compare=False)
    assert f"{found.wrong:.4f}" in text(browser, "#plan .this")
    assert f"{found.wrong:.4f}" in text(browser, "#others .this")
    assert state(browser).items() >= SAID.items()
    browser.refresh()
    wait(lambda: planned(browser))
    assert f"{found.wrong:.4f}" in text(browser, "#plan .this")
    assert browser.find_element("css selector", "[value=fresh]").is_selected()


@pytest.mark.thorough
def test_a_plan_follows_its_controls(opened: Callable[..., Any]) -> None:
    browser = opened("", **SAID)
    wait(lambda: planned(browser))
    assert not named(browser, "at_most").is_displayed()
    enter(browser, "epsilon1", "auto")
    wait(lambda: "--epsilon auto" in text(browser, "#command") and planned(browser))
    assert "Label error rate by the epsilon of one vote" in text(browser, "#plan")
    enter(browser, "queries", "5000")
    wait(lambda: "queries must be at most 1,000" in text(browser, "#wrong-queries"))
    assert "from before" in text(browser, "#status")
    browser.execute_script("document.getElementById('at_most').value = ''")
    enter(browser, "queries", "9")
    wait(lambda: "needs an upper limit" in text(browser, "#wrong-at_most"))
    assert named(browser, "at_most").is_displayed()  # what hid it is opened
    enter(browser, "at_most", "0.1")
    wait(lambda: "--at-most 0.1 --queries 9 " in text(browser, "#command") and planned(browser))
    assert text(browser, "#wrong-at_most") == ""


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize(
    "values",
    [
        {},
        {**SAID, "epsilon1": "auto", "at_most": "0.1", "count2": "2", "epsilon2": "0.05", "max_affected": "2"},
        {"count1": "x" * 40, "epsilon2": "y" * 39, "accuracy": "7", "max_affected": "z", "voters": "w", "meaning": "v"},
    ],
    ids=["first", "auto", "wrong"],
)
def test_plans_fit_the_screen(
    opened: Callable[..., Any], browser: Any, values: dict[str, str], width: int, scheme: str
) -> None:
    fits(opened, browser, "", values, width, scheme)


@pytest.mark.thorough
def test_plans_without_scripts_are_a_form(opened: Callable[..., Any], browser: Any) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        opened("", **PLAN, max_affected="1")
        browser.find_element("css selector", "[value=fresh]").click()
        browser.find_element("css selector", "button[name=plan]").click()
        wait(lambda: "--voters fresh " in browser.page_source)
        assert "10 labels together are" in browser.find_element("id", "plan").text
        assert "plain majority" in browser.find_element("id", "others").text
        assert state(browser)["max_affected"] == "1"
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


# One release

GROUPS = {"count1": "4", "epsilon1": "1", "count2": "7", "epsilon2": "0.2", "m": "", "release_epsilon": "1.4"}
OF_GROUPS = {"known": "accuracy", **GROUPS}


@pytest.mark.thorough
def test_a_decision_follows_its_controls(opened: Callable[..., Any]) -> None:
    browser = opened(**OF_GROUPS)
    wait(lambda: "this design (optimum)" in text(browser, "#others") and settled(browser))
    enter(browser, "count2", "3")
    wait(lambda: "--group 7:0.2" not in text(browser, "#command") and settled(browser))
    assert "--group 3:0.2" in text(browser, "#command")
    groups = [darrm.VoterGroup(4, 1.0), darrm.VoterGroup(3, 0.2)]
    accuracy = [darrm.objectives.randomized_response_accuracy(0.9, epsilon) for epsilon in (1.0, 0.2)]
    design = darrm.solve(darrm.DecisionProblem(groups, 1.4), objective=darrm.objectives.truth(accuracy))
    assert f"{design.expected_cost:.6g}" in text(browser, ".figures")
    assert f"{design.expected_cost:.6f}" in text(browser, "#others .this")
    assert state(browser)["count2"] == "3"


@pytest.mark.thorough
def test_a_group_that_is_emptied_stays_so(opened: Callable[..., Any]) -> None:
    browser = opened(**OF_GROUPS)
    named(browser, "count2").send_keys("\ue003")  # backspace
    wait(lambda: text(browser, "#command").count("--group") == 1 and settled(browser))
    browser.refresh()
    wait(lambda: text(browser, "#others .this") and settled(browser))
    assert named(browser, "count2").get_attribute("value") == ""
    assert text(browser, "#command").count("--group") == 1


@pytest.mark.thorough
def test_controls_without_use_are_hidden(opened: Callable[..., Any]) -> None:
    browser = opened(**SMALL)
    assert named(browser, "prior").is_displayed()
    assert not named(browser, "cost").is_displayed()
    named(browser, "known").send_keys("acc")
    wait(lambda: "--accuracy" in text(browser, "#command") and settled(browser))
    assert not named(browser, "prior").is_displayed()
    assert named(browser, "cost").is_displayed()


@pytest.mark.thorough
def test_what_is_wrong_with_a_group_is_said_and_goes_away(opened: Callable[..., Any]) -> None:
    browser = opened(**{**OF_GROUPS, "count2": "", "epsilon2": ""})
    enter(browser, "epsilon1", "-1")
    wait(lambda: "epsilon must be in" in text(browser, "#wrong-epsilon1"))
    assert named(browser, "epsilon1").get_attribute("aria-invalid") == "true"
    enter(browser, "epsilon1", "2")
    wait(lambda: "--group 4:2 " in text(browser, "#command") and settled(browser))
    assert text(browser, "#wrong-epsilon1") == ""


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize(
    "values",
    [
        {},
        {**OF_GROUPS, "epsilon2": "inf", "count3": "3", "epsilon3": "0.5", "max_affected": "2"},
        {"count1": "x" * 40, "epsilon2": "y" * 39, "base": "7", "prior": "z" * 3000, "cost": "-1", "shape": "w"},
    ],
    ids=["first", "three", "wrong"],
)
def test_releases_fit_the_screen(
    opened: Callable[..., Any], browser: Any, values: dict[str, str], width: int, scheme: str
) -> None:
    fits(opened, browser, "release/", values, width, scheme)


@pytest.mark.thorough
def test_without_scripts_it_is_a_form(opened: Callable[..., Any], browser: Any) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        opened(**SMALL)
        box = browser.find_element("id", "m")
        box.clear()
        box.send_keys("3")
        assert not browser.find_element("css selector", ".slider").is_displayed()
        browser.find_element("css selector", "button[name=others]").click()
        wait(lambda: "--m 3 " in browser.page_source)
        assert "this design (optimum)" in browser.find_element("id", "others").text
        assert state(browser)["m"] == "3"
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
