// Nodes from plain values; shared by the report and the gateway's page. Text only ever becomes a text node.
const byId = (id) => document.getElementById(id);

function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") node.className = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "style") Object.assign(node.style, value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) node.append(child);
  return node;
}

const fill = (node, ...children) =>
  node.replaceChildren(...children.flat().filter((c) => c !== null && c !== undefined));
const percent = (v, digits = 1) => (v === null || v === undefined ? "\u2013" : `${(100 * v).toFixed(digits)} %`);
const whole = (v) => (v === null || v === undefined ? "\u2013" : Math.round(v).toLocaleString("en"));

function lasting(seconds) {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

// A part that is drawn again while somebody is in it: the focus stays where it was.
function keepingFocus(node, draw) {
  const able = () => [...node.querySelectorAll("button, input, select, a, [tabindex]")];
  const at = able().indexOf(document.activeElement);
  draw();
  const now = able()[at];
  if (at >= 0 && now) now.focus({ preventScroll: true });
}

// Dark or light: as it was chosen last, else as the system is.
const THEME = "thinkcap-theme";
function firstTheme() {
  let kept = null;
  try {
    kept = localStorage.getItem(THEME);
  } catch {
    /* a page in a sandbox keeps nothing */
  }
  const system = window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  return kept === "dark" || kept === "light" ? kept : system;
}
function showTheme(name) {
  document.documentElement.dataset.theme = name;
  byId("theme").textContent = name === "dark" ? "Light" : "Dark";
}
function chooseTheme() {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  showTheme(next);
  try {
    localStorage.setItem(THEME, next);
  } catch {
    /* as above */
  }
}
