// Charts of causes: why thinking loses, what it needs, when chains end. They speak of thinking, in its colour; the
// two parts of a loss are told apart by pattern, since every colour means something else already.
const thinkLook = () => look(Math.max(0, data.policies.indexOf("think")));
const bars = (names) => ({ min: -0.6, max: names.length - 0.4, ticks: names.map((n, i) => [i, n, i === names.length - 1 ? 1 : 0]) });
const pickBar = (caps) => (value) => {
  const cap = caps()[Math.round(value)];
  if (cap !== undefined && cap >= 0) change({ cap });
};

// Truncation and reasoning one on the other where both lose or both gain, else from zero.
const lossBars = () =>
  view()
    .loss.map((found, cap) => ({ cap, found }))
    .filter(({ found }) => found && known(found[3]))
    .map(({ cap, found }) => {
      const [total, low, high, cut, reason] = found;
      const from = cut * reason > 0 ? cut : 0;
      return { cap, total, low, high, cut, reason, parts: [[0, cut], [from, from + reason]] };
    });

function lossChart() {
  const found = lossBars();
  if (!found.length) return null;
  const ends = found.flatMap((b) => [...b.parts.flat(), b.total, b.low, b.high]);
  const [low, high] = [Math.min(0, ...ends), Math.max(0, ...ends)];
  const room = 0.04 * (high - low) || 0.02;
  const ink = { hue: "var(--ink)", shape: 3 };
  return {
    x: { ...bars(found.map((b) => String(data.budgets[b.cap]))), label: "token cap" },
    y: { min: low - room, max: high + room, label: "points lost" },
    layers: [
      { kind: "bars", kindOf: "reasoning", items: found.map((b, i) => [i, ...b.parts[1]]) },
      { kind: "bars", kindOf: "truncation", items: found.map((b, i) => [i, ...b.parts[0]]) },
      { kind: "line", look: ink, line: false, hollow: true, points: found.map((b, i) => [i, b.total, b.low, b.high]) },
    ],
    whiskers: true,
    cap: found.findIndex((b) => b.cap === state.cap),
    sites: found.map((_, i) => i),
    tell: (i) => {
      const b = found[i];
      const rows = [["loss", `${points(b.total)} (${points(b.low)} to ${points(b.high)})`], ["truncation", points(b.cut)], ["reasoning", points(b.reason)]];
      return { title: `${data.budgets[b.cap]} tokens: points lost`, rows: rows.map((r) => [null, ...r]) };
    },
    csv: () => [
      ["cap", "loss", "low", "high", "truncation", "reasoning", "share cut"],
      ...view().loss.map((l, i) => l && [data.budgets[i], ...l]).filter(Boolean),
    ],
  };
}

function lossNote() {
  const found = view().loss[state.cap];
  if (!found) return `At ${budget()}: the two modes were not both run, or no chain ended`;
  return `At ${budget()}: loss ${points(found[0])} points (${points(found[1])} to ${points(found[2])}) = truncation (striped) ${points(found[3])}, reasoning (solid) ${points(found[4])}`;
}

function tierBars() {
  const found = view().tiers;
  if (!found) return [];
  const rows = [...found.by.filter(([b]) => b), ...found.by.filter(([b]) => !b)];
  return rows.map(([cap, k]) => ({ cap, k, share: k / found.n, name: cap ? String(cap) : "none" }));
}

function tiersChart() {
  const found = tierBars();
  if (!found.length) return null;
  const think = thinkLook();
  const items = (which) => found.map((b, i) => [i, 0, b.share]).filter(([i]) => which(found[i]));
  return {
    x: { ...bars(found.map((b) => b.name)), label: "smallest cap at which thinking is right" },
    y: { min: 0, max: Math.max(0.05, ...found.map((b) => b.share)) * 1.08, label: "questions, %" },
    layers: [
      { kind: "bars", look: think, items: items((b) => b.cap) },
      { kind: "bars", look: think, kindOf: "hollow", items: items((b) => !b.cap) },
    ],
    cap: found.findIndex((b) => b.cap === budget()),
    sites: found.map((_, i) => i),
    tell: (i) => ({
      title: found[i].cap ? `Right from ${found[i].cap} tokens on` : "Right at no cap",
      rows: [[null, "questions", `${found[i].k} of ${view().tiers.n} (${percent(found[i].share)})`]],
    }),
    csv: () => [["least cap", "questions", "share"], ...found.map((b) => [b.name, b.k, b.share])],
  };
}

function solved() {
  const found = view().tiers;
  if (!found) return "";
  const enough = found.by.filter(([b]) => b && b <= budget()).reduce((sum, [, k]) => sum + k, 0);
  const none = found.by.find(([b]) => !b);
  return `${whole(enough)} of ${whole(found.n)} questions need ${budget()} tokens or fewer; ${whole(none ? none[1] : 0)} are right at no cap (hollow)`;
}

const hazards = () => (data.views.find((v) => v.task === data.tasks[state.task]) || {}).hazard;

// Bins with few chains left are drawn hollow and set no scale; what lies above it is an arrow at the edge.
function hazardChart() {
  const found = hazards();
  if (state.group || !found || found.bins.length < 2) return null;
  const { bins, top, few } = found;
  const middle = (b) => (b[0] + b[1]) / 2;
  const many = bins.filter((b) => b[5] >= few);
  const think = thinkLook();
  return {
    x: { min: 0, max: bins[bins.length - 1][1], ticks: plainTicks(0, bins[bins.length - 1][1]), label: "tokens so far" },
    y: { min: 0, max: top, label: "ends next, %" },
    layers: [
      { kind: "band", look: think, points: many.map((b) => [middle(b), b[3], Math.min(b[4], top)]) },
      { kind: "line", look: think, points: many.map((b) => [middle(b), b[2]]) },
      { kind: "line", look: think, line: false, hollow: true, points: bins.filter((b) => b[5] < few && b[2] <= top).map((b) => [middle(b), b[2]]) },
    ],
    arrows: bins.filter((b) => b[2] > top).map((b) => ({ x: middle(b), look: think })),
    cap: budget(),
    sites: bins.map(middle),
    tell: (x) => {
      const b = bins.find((v) => middle(v) === x);
      const rows = [["ends next", `${(100 * b[2]).toFixed(2)} % (${(100 * b[3]).toFixed(2)} to ${(100 * b[4]).toFixed(2)})`], ["chains left", whole(b[5])]];
      return { title: `${whole(b[0])} to ${whole(b[1])} tokens`, rows: rows.map((r) => [null, ...r]) };
    },
    csv: () => [["from", "to", "ends next", "low", "high", "chains left"], ...bins],
  };
}

function hazardNote() {
  const found = hazards();
  if (!found) return "";
  const here = found.bins.find((b) => budget() >= b[0] && budget() < b[1]);
  const said = here ? `At ${budget()}: ${(100 * here[2]).toFixed(2)} % per token, ${whole(here[5])} chains left. ` : "";
  const thin = found.bins.filter((b) => b[5] < found.few);
  const high = thin.filter((b) => b[2] > found.top).map((b) => `${(100 * b[2]).toFixed(1)} % from ${b[0]} on`);
  const above = high.length ? `; above the scale: ${high.join(", ")}` : "";
  const warned = thin.length ? ` Hollow: fewer than ${found.few} chains left${above}.` : "";
  return `${said}Counted over the chains that got this far, on the whole task.${warned}`;
}
