import { build, enhance } from "./tables.js";
import { showChart, resizeAll, setTheme } from "./charts.js";

async function readData() {
  const element = document.getElementById("assay-data");
  if (element.dataset.encoding !== "deflate") return JSON.parse(element.textContent);
  const binary = atob(element.textContent);
  const bytes = Uint8Array.from(binary, (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

function report(error) {
  const note = document.createElement("p");
  note.className = "bad js-error";
  note.setAttribute("role", "alert");
  note.textContent = "This page's script failed, so charts may be missing: " + (error && error.message ? error.message : error);
  document.querySelector("main").prepend(note);
}
window.addEventListener("error", (event) => report(event.error || event.message));
window.addEventListener("unhandledrejection", (event) => report(event.reason));

function visible(element) {
  return element.offsetParent !== null;
}

/** Charts and drawings cost time and memory, so each is made when it first comes near the screen. */
function makeLazy(data) {
  const make = (element) => {
    if (element.dataset.made) return;
    element.dataset.made = "1";
    if (element.dataset.drawing) element.innerHTML = data.drawings[element.dataset.drawing];
    else showChart(element, data.charts[element.dataset.chart], goTo);
  };
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      observer.unobserve(entry.target);
      make(entry.target);
    }
  }, { rootMargin: "400px" });
  const all = [...document.querySelectorAll("[data-chart], [data-drawing]")];
  for (const element of all) {
    // What is on the screen at the start needs no waiting for the observer.
    if (visible(element) && element.getBoundingClientRect().top < innerHeight + 400) make(element);
    else observer.observe(element);
  }
  return () => all.filter(visible).forEach(make);
}

/** Shows the panel that holds the element, unfolds what it is folded in, and goes there. */
function goTo(id) {
  const element = id && document.getElementById(id);
  if (!element) return;
  const panel = element.closest(".panel");
  if (panel) {
    const select = panel.closest(".choice").querySelector("select");
    if (select.value !== panel.id) {
      select.value = panel.id;
      select.dispatchEvent(new Event("change"));
    }
  }
  for (let p = element; p; p = p.parentElement) if (p.tagName === "DETAILS") p.open = true;
  element.scrollIntoView();
  if (element.tabIndex >= -1) element.focus({ preventScroll: true });
}

function setUpChoices() {
  for (const choice of document.querySelectorAll(".choice")) {
    const select = choice.querySelector("select");
    const panels = [...choice.querySelectorAll(":scope > .panel")];
    const show = () => {
      for (const panel of panels) panel.hidden = panel.id !== select.value;
      resizeAll();
    };
    select.addEventListener("change", show);
    show();
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest('a[href^="#"]');
    if (!link) return;
    const id = link.getAttribute("href").slice(1);
    if (!document.getElementById(id)) return;
    event.preventDefault();
    if (location.hash !== "#" + id) history.pushState(null, "", "#" + id);
    goTo(id);
  });
  window.addEventListener("popstate", () => goTo(location.hash.slice(1)));
}

function setUpTheme(makeVisible) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const apply = () => setTheme(isDark());
  const button = document.createElement("button");
  button.type = "button";
  button.className = "theme";
  const label = () => (button.textContent = isDark() ? "Light" : "Dark");
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    label();
    apply();
  });
  dark.addEventListener("change", () => { label(); apply(); });
  label();
  document.querySelector("header").append(button);
  // Paper is white, and what was not scrolled to must be on it too.
  let before;
  window.addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    setTheme(false);
    makeVisible();
    resizeAll(1000);   // A4 landscape
  });
  window.addEventListener("afterprint", () => {
    if (before) root.dataset.theme = before;
    else delete root.dataset.theme;
    apply();
    resizeAll();
  });
  apply();
}

async function start() {
  document.documentElement.classList.add("js");
  for (const table of document.querySelectorAll("table.sortable, table.searchable")) enhance(table);
  const data = await readData();
  for (const host of document.querySelectorAll("[data-table]")) build(host, data.tables[host.dataset.table]);
  setUpChoices();
  const makeVisible = makeLazy(data);
  setUpTheme(makeVisible);
  document.addEventListener("toggle", () => resizeAll(), true);
  let timer;
  window.addEventListener("resize", () => {
    clearTimeout(timer);
    timer = setTimeout(() => resizeAll(), 100);
  });
  if (location.hash) goTo(location.hash.slice(1));
  document.documentElement.dataset.ready = "1";
}

start().catch(report);
