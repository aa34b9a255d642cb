// Without this file the page is a plain form. With it, results follow the controls and the address holds the state.
"use strict";
(() => {
  const form = document.getElementById("controls");
  const status = document.getElementById("status");
  const CUT = "<!-- many labels -->"; // where an answer of the server's goes around another part
  const PAUSE = Number(form.dataset.pause ?? 120); // ms without a change before the server is asked
  const SOON = 200; // ms after which waiting is said
  let latest = 0; // number of the newest request; an answer to an older one is thrown away
  let controller = null;
  let timer = 0;

  // The parts of the page in the order in which they are asked for, each with the places that its answer fills.
  const parts = new Map();
  for (const place of document.querySelectorAll("[data-part]")) {
    parts.set(place.dataset.part, [...(parts.get(place.dataset.part) ?? []), place]);
  }

  // An empty text is left out where there is nothing at first either.
  function query() {
    const values = new URLSearchParams();
    for (const [name, value] of new FormData(form)) {
      if (value !== "" || form.elements.namedItem(name).dataset?.first) values.append(name, value);
    }
    return values.toString();
  }

  function fill(search) {
    const values = new URLSearchParams(search);
    for (const control of form.elements) {
      if (!control.name || control.type === "hidden" || control.tagName === "BUTTON") continue;
      if (control.type === "radio" || control.type === "checkbox") control.checked = values.get(control.name) === control.value;
      else control.value = values.get(control.name) ?? control.dataset.first;
    }
    form.querySelectorAll(".slider").forEach(slide);
  }

  // Sliders: one to each number box that has one; a logarithmic one holds the exponent.
  function slide(slider) {
    const value = Number(document.getElementById(slider.dataset.for).value);
    if (slider.dataset.for === "m") slider.max = Math.max(1, Number(document.getElementById("count1").value) || 1);
    if (Number.isFinite(value)) slider.value = slider.dataset.scale === "log" ? Math.log10(value) : value;
    slider.setAttribute("aria-valuetext", document.getElementById(slider.dataset.for).value);
  }

  function slid(slider) {
    const box = document.getElementById(slider.dataset.for);
    const value = Number(slider.value);
    box.value = slider.dataset.scale === "log" ? String(Number((10 ** value).toPrecision(2))) : String(value);
    slider.setAttribute("aria-valuetext", box.value);
  }

  function say(errors) {
    for (const line of document.querySelectorAll(".wrong")) {
      const name = line.id.slice("wrong-".length);
      line.textContent = errors[name] ?? "";
      const control = document.getElementById(name);
      if (control) control.toggleAttribute("aria-invalid", name in errors);
      if (control && name in errors) control.setAttribute("aria-invalid", "true");
      const folded = line.closest("details");
      if (folded && name in errors) folded.open = true;
    }
  }

  function show(place, html) {
    const open = new Map([...place.querySelectorAll("details")].map((details) => [details.id, details.open]));
    place.innerHTML = html;
    for (const details of place.querySelectorAll("details")) details.open = open.get(details.id) ?? details.open;
    ready(place);
  }

  function ready(place) {
    for (const button of place.querySelectorAll("[data-copy]")) button.hidden = false;
  }

  function busy(place, on) {
    place.classList.toggle("busy", on);
    place.setAttribute("aria-busy", String(on));
  }

  // Fetch a part and fill its places; false if it was refused (what is wrong is then said) or if a newer request is under way.
  async function fetched(mine, part, search) {
    const places = parts.get(part);
    const waiting = places[0].dataset.waiting;
    const late = setTimeout(() => { if (mine === latest) status.textContent = waiting; }, SOON);
    for (const place of places) busy(place, true);
    try {
      const answer = await fetch(`${part}?${search}`, { signal: controller.signal });
      const text = await answer.text();
      if (mine !== latest) return false;
      if (answer.ok) {
        const cut = text.split(CUT);
        places.forEach((place, at) => {
          show(place, cut[at]);
          busy(place, false);
        });
        return true;
      }
      let errors = {};
      try { errors = JSON.parse(text).errors ?? {}; } catch { /* not an answer of this page's */ }
      say(errors);
      status.textContent = Object.keys(errors).length
        ? "Results in grey are from before: see the messages beside the controls."
        : `The server answered with status ${answer.status}.`;
      return false;
    } catch (error) {
      if (mine === latest && error.name !== "AbortError") {
        status.textContent = "No answer. Is darrm explore still running in its terminal?";
      }
      return false;
    } finally {
      clearTimeout(late);
    }
  }

  async function update() {
    clearTimeout(timer);
    const mine = ++latest;
    controller?.abort();
    controller = new AbortController();
    const search = query();
    history.replaceState(null, "", `?${search}`);
    for (const places of parts.values()) for (const place of places) busy(place, true);
    await fillIn(mine, [...parts.keys()], search);
  }

  async function fillIn(mine, names, search) {
    for (const name of names) {
      if (!(await fetched(mine, name, search))) return;
      if (name === names[0]) say({});
      status.textContent = "";
    }
  }

  function later() {
    clearTimeout(timer);
    timer = setTimeout(update, PAUSE);
  }

  form.addEventListener("input", (event) => {
    if (event.target.classList.contains("slider")) slid(event.target);
    form.querySelectorAll(".slider").forEach((slider) => { if (slider !== event.target) slide(slider); });
    later();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    update();
  });
  window.addEventListener("popstate", () => {
    fill(location.search);
    update();
  });
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const text = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(text);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });

  for (const slider of form.querySelectorAll(".slider")) {
    slider.hidden = false;
    slide(slider);
  }
  ready(document);
  const missing = [...parts].filter(([, places]) => places.some((place) => place.querySelector(".pending")));
  if (missing.length) {
    latest += 1;
    controller = new AbortController();
    fillIn(latest, missing.map(([name]) => name), query());
  }
})();
