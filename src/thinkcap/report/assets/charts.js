// The linked charts over the methods. Each says in words what stands at the cap, so that nobody needs the picture.
const RIGHT = 0,
  N = 1,
  ACC = 2,
  LOW = 3,
  HIGH = 4,
  TOKENS = 5,
  USED = 7,
  CLAIMED = 10;
const FEW = 100; // Below so many answers the bands of several methods would be one blur.

const cellsOf = (policy) => view().cells[data.policies[policy]];
const at = (policy, field) => {
  const c = cellsOf(policy)[state.cap];
  return c ? c[field] : null;
};
const known = (v) => v !== null && v !== undefined;
const key = (rows) => rows.map((p) => [look(p), data.policies[p]]);
const power = (b) => (b & (b - 1)) === 0;

// Doubling caps lie evenly apart. Where labels lack room, powers of two keep theirs.
function capAxis() {
  const [first, last] = [data.budgets[0], data.budgets[data.budgets.length - 1]];
  const room = Math.max(0.15, Math.log2(last / first) * 0.04);
  const ticks = data.budgets.map((b) => [b, String(b), power(b) ? 1 : 0]);
  return { log: true, min: first / 2 ** room, max: last * 2 ** room, ticks, label: "token cap" };
}

function nearestCap(value) {
  const away = (b) => Math.abs(Math.log2(b) - Math.log2(Math.max(1, value)));
  return data.budgets.reduce((best, b, i) => (away(b) < away(data.budgets[best]) ? i : best), 0);
}
const toCap = (value) => change({ cap: nearestCap(value) });

// What every method has at a cap, best first.
const atSite = (rows, cap, write) =>
  rows
    .map((p) => [p, cellsOf(p)[data.budgets.indexOf(cap)]])
    .filter(([, c]) => c)
    .sort((a, b) => b[1][ACC] - a[1][ACC])
    .map(([p, c]) => [look(p), data.policies[p], write(c)]);

const shares = (c) => `${percent(c[ACC])} (${(100 * c[LOW]).toFixed(1)} to ${(100 * c[HIGH]).toFixed(1)})`;

const table = (head, field) => [
  ["method", "cap", ...head],
  ...data.policies.flatMap((name) =>
    view()
      .cells[name].map((c, i) => [name, data.budgets[i], ...(c ? field(c) : [])])
      .filter((row) => row.length > 2),
  ),
];

function overCaps(rows, field, more) {
  return rows.map((p) => ({
    kind: "line",
    look: look(p),
    strong: p === advised(),
    points: cellsOf(p)
      .map((c, i) => [data.budgets[i], c && c[field], ...(more && c ? [c[LOW], c[HIGH]] : [])])
      .filter((v) => known(v[1])),
  }));
}

function accuracyChart() {
  const rows = drawn();
  const few = Math.min(...rows.flatMap((p) => cellsOf(p).filter(Boolean).map((c) => c[N])), Infinity) < FEW;
  const plain = ["think", "nothink"].map((n) => data.policies.indexOf(n));
  const banded = few ? [] : rows.filter((p) => rows.length <= 4 || plain.includes(p));
  const bands = banded.map((p) => ({
    kind: "band",
    look: look(p),
    points: cellsOf(p)
      .map((c, i) => c && [data.budgets[i], c[LOW], c[HIGH]])
      .filter(Boolean),
  }));
  return {
    x: capAxis(),
    y: { min: 0, max: 1, label: "right, %" },
    layers: [...bands, ...overCaps(rows, ACC, true)],
    cap: budget(),
    sites: data.budgets,
    whiskers: few,
    key: key(rows),
    tell: (cap) => ({ title: `${cap} tokens: right`, rows: atSite(rows, cap, shares) }),
    csv: () => table(["right", "n", "accuracy", "low", "high"], (c) => [c[RIGHT], c[N], c[ACC], c[LOW], c[HIGH]]),
  };
}

function usedChart() {
  const rows = drawn().filter((p) => cellsOf(p).some((c) => c && known(c[USED])));
  if (!rows.length) return null;
  const layers = overCaps(rows, USED);
  return {
    x: capAxis(),
    y: { min: 0, max: Math.max(1, ...layers.flatMap((l) => l.points.map((p) => p[1]))), label: "of the cap used, %" },
    layers,
    cap: budget(),
    sites: data.budgets,
    key: key(rows),
    tell: (cap) => ({ title: `${cap} tokens: used`, rows: atSite(rows, cap, (c) => percent(c[USED], 0)) }),
    csv: () => table(["used"], (c) => [c[USED]]),
  };
}

// Accuracy against tokens; `field` says whose count of tokens.
function paretoChart(field, words) {
  const rows = drawn().filter((p) => cellsOf(p).some((c) => c && c[field] > 0));
  if (!rows.length) return null;
  const path = (p, f) =>
    cellsOf(p)
      .map((c, i) => c && [c[f], c[ACC], undefined, undefined, i])
      .filter((v) => v && v[0] > 0)
      .sort((a, b) => a[0] - b[0]);
  // Both pictures have one scale, so that the eye can go from one to the other.
  const spent = rows.flatMap((p) => [TOKENS, CLAIMED].flatMap((f) => path(p, f).map((v) => v[0])));
  const [least, most] = [Math.min(...spent), Math.max(...spent)];
  const exponents = Array.from({ length: 20 }, (_, i) => i).filter((i) => 2 ** i >= least / 1.2 && 2 ** i <= most * 1.2);
  const here = rows.map((p) => path(p, field).filter((v) => v[4] === state.cap)).flat();
  const ghost = { hue: "var(--quiet)", shape: 0, dash: "1 3" };
  const moved =
    field === TOKENS
      ? []
      : rows.flatMap((p) =>
          cellsOf(p)
            .filter((c) => c && c[field] > 0 && c[field] < c[TOKENS])
            .map((c) => ({ kind: "line", look: ghost, marks: false, points: [c[field], c[TOKENS]].map((x) => [x, c[ACC]]) })),
        );
  return {
    x: {
      log: true,
      min: least / 1.25,
      max: most * 1.25,
      ticks: exponents.map((i) => [2 ** i, String(2 ** i)]),
      label: words,
    },
    y: { min: 0, max: 1, label: "right, %" },
    layers: [...moved, ...rows.map((p) => ({ kind: "line", look: look(p), hollow: field !== TOKENS, points: path(p, field) }))],
    rings: here,
    sites: [...new Set(rows.flatMap((p) => path(p, field).map((v) => v[0])))].sort((a, b) => a - b),
    key: key(rows),
    tell: (x) => ({
      title: `${whole(x)} tokens per question`,
      rows: rows.flatMap((p) =>
        path(p, field)
          .filter((v) => v[0] === x)
          .map((v) => [look(p), `${data.policies[p]} at ${data.budgets[v[4]]}`, percent(v[1])]),
      ),
    }),
    csv: () => table(["tokens", "tokens claimed", "accuracy"], (c) => [c[TOKENS], c[CLAIMED], c[ACC]]),
  };
}

function lengthsChart() {
  const found = view().lengths;
  if (!found) return null;
  const think = look(Math.max(0, data.policies.indexOf("think")));
  const [last, longest] = [found.x[found.x.length - 1], Math.max(1, ...found.x, ...found.cut.map((c) => c[0]))];
  const left = (x) => {
    let i = 0;
    while (i + 1 < found.x.length && found.x[i + 1] <= x) i++;
    return i;
  };
  const end = longest > last ? [[longest, found.left[found.x.length - 1]]] : [];
  return {
    x: { min: 0, max: longest * 1.02, ticks: plainTicks(0, longest), label: "tokens" },
    y: { min: 0, max: 1, label: "chains longer, %" },
    layers: [
      { kind: "band", look: think, steps: true, points: found.x.map((x, i) => [x, found.low[i], found.high[i]]) },
      { kind: "line", look: think, steps: true, marks: false, points: [...found.x.map((x, i) => [x, found.left[i]]), ...end] },
      { kind: "line", look: { ...think, shape: 0 }, line: false, hollow: true, points: found.cut },
    ],
    cap: budget(),
    sites: found.x,
    tell: (x) => {
      const i = left(x);
      return {
        title: `Longer than ${whole(x)} tokens`,
        rows: [[null, "chains", `${percent(found.left[i])} (${(100 * found.low[i]).toFixed(1)} to ${(100 * found.high[i]).toFixed(1)})`]],
      };
    },
    csv: () => [["tokens", "longer", "low", "high"], ...found.x.map((x, i) => [x, found.left[i], found.low[i], found.high[i]])],
  };
}

const MOST_NAMED = 5;
function named(field, write) {
  const rows = drawn().filter((p) => known(at(p, field)));
  const best = advised();
  const first = [best, ...rows.filter((p) => p !== best)].filter((p) => rows.includes(p));
  const said = first.slice(0, MOST_NAMED).map((p) => `${data.policies[p]} ${write(at(p, field))}`);
  const more = first.length - said.length;
  return `${said.join(", ")}${more > 0 ? ` and ${more} more in the table` : ""}`;
}

function lengthsNote() {
  const found = view().lengths;
  if (!found) return "";
  let left = 1;
  found.x.forEach((x, i) => {
    if (x <= budget()) left = found.left[i];
  });
  const median = known(found.median[0]) ? `half end within ${whole(found.median[0])}` : "more than half outlive the largest cap";
  return `At ${budget()}: ${percent(left, 0)} cut; ${median}; rings: ${found.censored} of ${found.n} never ended`;
}

const hasTrials = () => drawn().some((p) => cellsOf(p).some((c) => c && known(c[CLAIMED]) && c[CLAIMED] < c[TOKENS]));

function startCharts() {
  const spent = (field) => () => `At ${budget()}: ${named(field, (v) => `${whole(v)} tokens`)}`;
  new Plot("Right answers by cap", accuracyChart, { pick: toCap, say: () => `At ${budget()}: ${named(ACC, percent)}` });
  new Plot("Right answers by tokens spent", () => paretoChart(TOKENS, "mean tokens per question"), { say: spent(TOKENS) });
  new Plot("The same with trials free", () => (hasTrials() ? paretoChart(CLAIMED, "mean tokens, trial answers not counted") : null), {
    say: () => `Tokens as the authors of these methods count them; the dotted line leads to what is charged. ${spent(CLAIMED)()}`,
  });
  new Plot("Chains still running", lengthsChart, { pick: toCap, say: lengthsNote });
  new Plot("Why thinking loses", lossChart, { pick: pickBar(() => lossBars().map((b) => b.cap)), say: lossNote });
  new Plot("Chance that a chain ends next", hazardChart, { pick: toCap, say: hazardNote });
  new Plot("What thinking needs", tiersChart, { pick: pickBar(() => tierBars().map((b) => data.budgets.indexOf(b.cap))), say: solved });
  new Plot("How much of the cap is used", usedChart, { pick: toCap, say: () => `At ${budget()}: ${named(USED, (v) => percent(v, 0))}` });
  const drawKey = () =>
    fill(
      byId("key"),
      drawn().map((p) =>
        make("span", {}, swatch(look(p)), data.policies[p], p === advised() ? make("b", { class: "best" }, "\u2605 best at this cap") : null),
      ),
    );
  const again = () => {
    drawKey();
    for (const p of plots) p.draw();
  };
  drawKey();
  onChange((keys) => ["shown", "group", "task", "cap", "data"].some((k) => keys.has(k)) && again());
}
