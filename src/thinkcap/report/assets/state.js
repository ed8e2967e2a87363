// What the page knows and what the reader chose. Text of the model only ever becomes a text node.
const data = JSON.parse(document.getElementById("data").textContent);
const details = JSON.parse(document.getElementById("details").textContent);
const LETTER = { r: "right", w: "wrong", u: "unreadable", f: "failed" };
const SIGN = { r: "\u2713", w: "\u2717", u: "?", f: "!", "-": "\u00b7" };
const LEVEL = [
  "No answer stated",
  "Read from a box",
  "Read after ####",
  "Read where the answer is announced",
  "Guessed from the last number or formula",
];
// Okabe and Ito's colours; the second of a pair is for dark grounds.
const COLOUR = [
  ["#0072b2", "#56b4e9"],
  ["#d55e00", "#ff8b3d"],
  ["#009e73", "#2fc79b"],
  ["#b0578d", "#e39ac6"],
  ["#b87d00", "#f0b429"],
  ["#4a5561", "#c3cad3"],
  ["#2e8fc4", "#9ad4f5"],
  ["#7a7a29", "#c9c95c"],
];
const DASH = [[], [7, 4], [2, 3], [9, 3, 2, 3]];

const state = {
  cap: 0,
  task: 0,
  group: "",
  shown: new Set(),
  by: 0,
  result: "",
  stage: "",
  against: "",
  search: "",
  open: -1,
  mode: "think",
  limit: 60,
};
const listeners = [];
const onChange = (f) => listeners.push(f);

function change(values) {
  const keys = Object.keys(values).filter((k) => state[k] !== values[k]);
  if (!keys.length) return;
  Object.assign(state, values);
  for (const f of listeners) f(new Set(keys));
}

const points = (v) => (v === null || v === undefined ? "\u2013" : `${v > 0 ? "+" : ""}${(100 * v).toFixed(1)}`);
const small = (p) => (p >= 0.001 ? `p = ${p.toPrecision(2)}` : `p = ${p.toExponential(0)}`);

const budget = () => data.budgets[state.cap];
const view = () => {
  const task = data.tasks[state.task];
  return (
    data.views.find((v) => v.task === task && (v.group || "") === state.group) ||
    data.views.find((v) => v.task === task)
  );
};
const dark = () => document.documentElement.dataset.theme === "dark";
const colour = (policy) => COLOUR[policy % 8][dark() ? 1 : 0];
const dash = (policy) => DASH[Math.floor(policy / 8) % 4];
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const code = (q, policy, cap = state.cap) => data.questions.codes[q][policy][cap];
const letter = (c) => c.toLowerCase();

// Details of most questions lie beside the page, forty to a file; a script element can load them from a disk too.
const loading = new Map();
window.thinkcapShard = (found) => Object.assign(details, found);
function withDetail(q) {
  if (details[q]) return Promise.resolve(details[q]);
  const number = Math.floor(q / data.shard);
  if (!loading.has(number)) {
    loading.set(
      number,
      new Promise((done) => {
        const script = make("script", { src: `${data.beside}/${number}.js` });
        script.onload = () => done(true);
        script.onerror = () => {
          loading.delete(number);
          done(false);
        };
        document.head.append(script);
      }),
    );
  }
  return loading.get(number).then(() => details[q] || null);
}
