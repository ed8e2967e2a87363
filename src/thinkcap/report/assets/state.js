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
// A method has a colour, a shape and a dash of its own; none of the colours means right, wrong or anything else.
const HUES = 5;
const DASHES = ["", "7 4", "2 3", "9 3 2 3"];
const look = (policy) => {
  const turn = Math.floor(policy / HUES);
  return { hue: `var(--m${policy % HUES})`, shape: (policy + turn) % SHAPES.length, dash: DASHES[turn % 4] };
};

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
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const code = (q, policy, cap = state.cap) => data.questions.codes[q][policy][cap];
const letter = (c) => c.toLowerCase();

// The method that the verdict advises at this cap: it is always drawn, ticked or not.
const advised = () => {
  const said = (data.advice[data.tasks[state.task]] || []).filter(([cap]) => cap <= budget()).pop();
  return said ? data.policies.indexOf(said[1]) : -1;
};
const drawn = () => data.policies.map((_, i) => i).filter((i) => state.shown.has(i) || i === advised());

// Details of most questions lie beside the page, forty to a file. From a disk only a script element can load them;
// `thinkcap view` answers with the same as JSON.
const loading = new Map();
window.thinkcapShard = (found) => Object.assign(details, found);
function withDetail(q) {
  if (details[q]) return Promise.resolve(details[q]);
  const number = Math.floor(q / data.shard);
  if (!loading.has(number)) loading.set(number, data.served ? fetched(number) : scripted(number));
  return loading.get(number).then((found) => {
    if (!found) loading.delete(number);
    return details[q] || null;
  });
}

const fetched = (number) =>
  fetch(`${data.beside}/${number}.json`)
    .then((reply) => (reply.ok ? reply.json() : null))
    .then((found) => Boolean(found && Object.assign(details, found)))
    .catch(() => false);

const scripted = (number) =>
  new Promise((done) => {
    const script = make("script", { src: `${data.beside}/${number}.js` });
    script.onload = () => done(true);
    script.onerror = () => done(false);
    document.head.append(script);
  });
