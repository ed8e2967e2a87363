// Charts as SVG: what is drawn can be saved as it is, prints sharply and takes its colours from the page.
// A chart is a plain description: { x, y, layers, sites, tell, csv }; `render` makes its picture.
const SHAPES = [
  "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z",
  "M-3.6 -3.6H3.6V3.6H-3.6Z",
  "M0 -5L4.8 3.6H-4.8Z",
  "M0 -5.2L5.2 0L0 5.2L-5.2 0Z",
  "M0 5L4.8 -3.6H-4.8Z",
];
const EDGE = { top: 12, right: 14, bottom: 42, left: 52 };
const LETTER_WIDTH = 6.8;

function draw(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined) continue;
    if (key === "style") Object.assign(node.style, value);
    else node.setAttribute(key, value);
  }
  node.append(...children.flat().filter((c) => c !== null && c !== undefined));
  return node;
}

// Even steps of 1, 2, 2.5 or 5 times a power of ten.
function evenTicks(low, high, most = 6) {
  const rough = (high - low) / most,
    power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9) || 0; i * step <= high + step * 1e-9; i++) found.push(i * step);
  return found;
}

// As many digits as say exactly where each tick stands: a rounded label would be a wrong one.
function exactly(values) {
  const step = values.length > 1 ? values[1] - values[0] : 1;
  let digits = 0;
  while (digits < 8 && values.some((v) => Math.abs(Number(v.toFixed(digits)) - v) > Math.abs(step) * 1e-6)) digits++;
  return values.map((v) => v.toFixed(digits).replace(/^-(0(\.0*)?)$/, "$1"));
}

const shareTicks = (low, high) => {
  const values = evenTicks(100 * low, 100 * high);
  const texts = exactly(values);
  return values.map((v, i) => [v / 100, texts[i]]);
};
const plainTicks = (low, high) => {
  const values = evenTicks(low, high);
  return values.map((v) => [v, v.toLocaleString("en")]);
};

// Where values lie in the picture.
class Frame {
  constructor(spec, width, height, top = 0) {
    this.spec = spec;
    this.left = EDGE.left;
    this.right = width - EDGE.right;
    this.top = EDGE.top + top;
    this.bottom = height - EDGE.bottom;
    this.place = spec.x.log ? Math.log2 : (v) => v;
    const [a, b] = [this.place(spec.x.min), this.place(spec.x.max)];
    this.from = a;
    this.scale = (this.right - this.left) / (b - a || 1);
  }
  x(value) {
    return this.left + (this.place(value) - this.from) * this.scale;
  }
  y(value) {
    const { min, max } = this.spec.y;
    const inside = Math.max(min, Math.min(max, value));
    return this.bottom - ((inside - min) / (max - min || 1)) * (this.bottom - this.top);
  }
  value(px) {
    const v = this.from + (px - this.left) / this.scale;
    return this.spec.x.log ? 2 ** v : v;
  }
}

// Labels that would touch another one are left out, the less important first; their ticks stay.
function spread(ticks, frame) {
  const placed = [];
  const order = [...ticks.keys()].sort((a, b) => (ticks[b][2] || 0) - (ticks[a][2] || 0));
  for (const i of order) {
    const middle = frame.x(ticks[i][0]),
      half = (ticks[i][1].length * LETTER_WIDTH) / 2 + 4;
    if (placed.every(([m, h]) => Math.abs(m - middle) > h + half)) placed.push([middle, half, i]);
  }
  return new Set(placed.map((p) => p[2]));
}

function drawAxes(frame, spec) {
  const out = [];
  const ticks = (spec.y.ticks || shareTicks)(spec.y.min, spec.y.max);
  for (const [value, text] of ticks) {
    const y = frame.y(value);
    out.push(draw("line", { class: "gridline", x1: frame.left, x2: frame.right, y1: y, y2: y }));
    out.push(draw("text", { class: "tick", x: frame.left - 7, y: y + 4, "text-anchor": "end" }, text));
  }
  const named = spread(spec.x.ticks, frame);
  spec.x.ticks.forEach(([value, text], i) => {
    const x = frame.x(value);
    out.push(draw("line", { class: "gridline", x1: x, x2: x, y1: frame.bottom, y2: frame.bottom + (named.has(i) ? 5 : 3) }));
    if (named.has(i))
      out.push(draw("text", { class: "tick", x, y: frame.bottom + 17, "text-anchor": "middle" }, text));
  });
  const middle = (frame.top + frame.bottom) / 2;
  out.push(
    draw("line", { class: "axis", x1: frame.left, x2: frame.right, y1: frame.bottom, y2: frame.bottom }),
    draw("text", { class: "label", x: (frame.left + frame.right) / 2, y: frame.bottom + 36, "text-anchor": "middle" }, spec.x.label),
    draw("text", { class: "label", transform: `translate(13 ${middle}) rotate(-90)`, "text-anchor": "middle" }, spec.y.label),
  );
  return out;
}

const joined = (points, steps) =>
  points.map(([x, y], i) => (i === 0 ? `M${x} ${y}` : steps ? `H${x}V${y}` : `L${x} ${y}`)).join("");
const round = (v) => Math.round(v * 10) / 10;

function drawBand(frame, layer) {
  const top = layer.points.map(([x, , high]) => [round(frame.x(x)), round(frame.y(high))]);
  const low = layer.points.map(([x, l]) => [round(frame.x(x)), round(frame.y(l))]).reverse();
  // Backwards a step goes down before it goes left.
  const back = low.map(([x, y], i) => (i === 0 ? `L${x} ${y}` : layer.steps ? `V${y}H${x}` : `L${x} ${y}`)).join("");
  return draw("path", { class: "band", d: `${joined(top, layer.steps)}${back}Z`, style: { fill: layer.look.hue } });
}

const FILLS = { reasoning: { fill: "var(--quiet)", stroke: "var(--quiet)" }, truncation: { fill: "url(#stripes)", stroke: "var(--quiet)" } };
const stripes = () =>
  draw(
    "defs",
    {},
    draw(
      "pattern",
      { id: "stripes", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      draw("rect", { width: 6, height: 6, style: { fill: "var(--panel)" } }),
      draw("rect", { width: 2.4, height: 6, style: { fill: "var(--quiet)" } }),
    ),
  );

function drawBars(frame, layer) {
  const width = Math.max(2, Math.min(60, 0.7 * frame.scale));
  return layer.items.map(([at, from, to]) => {
    const [a, b] = [frame.y(from), frame.y(to)];
    const box = { x: frame.x(at) - width / 2, y: Math.min(a, b), width, height: Math.abs(a - b) };
    const ink = layer.look ? { fill: layer.kindOf === "hollow" ? "none" : layer.look.hue, stroke: layer.look.hue } : FILLS[layer.kindOf];
    return draw("rect", { class: "bar", ...box, style: ink });
  });
}

function marker(look, x, y, hollow) {
  const ink = { stroke: look.hue, fill: hollow ? "var(--ground)" : look.hue };
  return draw("path", { class: "mark", d: SHAPES[look.shape], transform: `translate(${round(x)} ${round(y)})`, style: ink });
}

// Lines with their marks. Where several lie on one another, their marks stand side by side and the lower lines
// are drawn wider, so that each stays visible.
function drawLines(frame, layers, spec) {
  const aside = whiskers(frame, layers, spec);
  const lines = layers.map((layer, k) => ({
    layer,
    points: layer.points.map((p) => [frame.x(p[0]) + aside.shift(k), frame.y(p[1]), p]),
  }));
  const under = [],
    over = [],
    marks = [];
  lines.forEach(({ layer, points }, k) => {
    const ink = { stroke: layer.look.hue, strokeDasharray: layer.look.dash };
    const at = points.map(([x, y]) => [round(x), round(y)]);
    for (const [from, to, covering] of covered(points, lines.slice(k + 1)))
      under.unshift(draw("path", { class: "line", d: joined([at[from], at[to]]), style: { stroke: layer.look.hue, strokeWidth: 2 + 4 * covering } }));
    if (layer.line !== false)
      over.push(draw("path", { class: layer.strong ? "line strong" : "line", d: joined(at, layer.steps), style: ink }));
  });
  if (layers.some((l) => l.marks !== false)) {
    const dodged = sideBySide(lines);
    lines.forEach(({ layer, points }, k) => {
      if (layer.marks === false) return;
      points.forEach(([x, y, p], i) => {
        if (aside.shows(p[0]) && p[2] !== undefined && p[2] !== null) marks.push(whisker(frame, layer, x + aside.atCap(k), p));
        marks.push(marker(layer.look, x + dodged[k][i], y, layer.hollow));
      });
    });
  }
  return [...under, ...over, ...marks];
}

// Where bands would be mush, intervals are bars: of every cap where there is room, else at the slider's.
function whiskers(frame, layers, spec) {
  const none = { shift: () => 0, atCap: () => 0, shows: () => false };
  if (!spec.whiskers) return none;
  const xs = spec.sites.map((s) => frame.x(s));
  const room = Math.min(...xs.slice(1).map((x, i) => x - xs[i]), frame.right - frame.left);
  const middle = (layers.length - 1) / 2;
  const step = Math.min(9, (0.8 * room) / layers.length);
  if (step >= 4) return { shift: (k) => (k - middle) * step, atCap: () => 0, shows: () => true };
  return { shift: () => 0, atCap: (k) => (k - middle) * 5, shows: (x) => x === spec.cap };
}

function whisker(frame, layer, x, [, , low, high]) {
  const [a, b] = [round(frame.y(low)), round(frame.y(high))];
  const d = `M${round(x)} ${a}V${b}M${round(x - 3)} ${a}h6M${round(x - 3)} ${b}h6`;
  return draw("path", { class: "whisker", d, style: { stroke: layer.look.hue } });
}

// Segments of a line that later ones lie on, and how many of them do.
function covered(points, later) {
  const near = (p, other) => other.points.some((q) => Math.abs(q[0] - p[0]) < 1 && Math.abs(q[1] - p[1]) < 2.5);
  const found = [];
  for (let i = 1; i < points.length; i++) {
    const covering = later.filter((o) => o.layer.line !== false && near(points[i - 1], o) && near(points[i], o)).length;
    if (covering) found.push([i - 1, i, Math.min(3, covering)]);
  }
  return found;
}

function sideBySide(lines) {
  const offsets = lines.map(({ points }) => points.map(() => 0));
  const places = lines
    .flatMap(({ layer, points }, k) => (layer.marks === false ? [] : points.map(([x, y], i) => ({ x: Math.round(x), y, k, i }))))
    .sort((a, b) => a.x - b.x || a.y - b.y);
  for (let from = 0; from < places.length; ) {
    let to = from + 1;
    while (to < places.length && places[to].x === places[from].x && places[to].y - places[to - 1].y < 4) to++;
    for (let at = from; at < to; at++) offsets[places[at].k][places[at].i] = (at - (from + to - 1) / 2) * 8;
    from = to;
  }
  return offsets;
}

// The whole picture; with `title` and `key` it stands for itself outside the page.
function render(described, width, height, { title, key } = {}) {
  // A study that has just begun has methods without a single answer.
  const spec = { ...described, layers: described.layers.filter((l) => (l.points || l.items).length) };
  const rows = keyRows(key || [], width);
  const head = title ? 24 + 18 * rows.length : 0;
  const frame = new Frame(spec, width, height + head, head);
  const lines = spec.layers.filter((l) => l.kind === "line");
  const of = (kind, how) => spec.layers.filter((l) => l.kind === kind).map((l) => how(frame, l));
  const cap = spec.cap === null || spec.cap === undefined ? null : round(frame.x(spec.cap));
  const inside = cap !== null && cap >= frame.left - 1 && cap <= frame.right + 1;
  const node = draw(
    "svg",
    { viewBox: `0 0 ${width} ${height + head}`, width, height: height + head, xmlns: "http://www.w3.org/2000/svg" },
    spec.layers.some((l) => l.kindOf === "truncation") ? stripes() : null,
    title ? draw("text", { class: "heading", x: 12, y: 19 }, title) : null,
    rows.flatMap((row, i) => row.map(([x, look, name]) => keyed(x, 38 + 18 * i, look, name))),
    of("bars", drawBars).flat(),
    drawAxes(frame, spec),
    of("band", drawBand),
    inside ? draw("line", { class: "capline", x1: cap, x2: cap, y1: frame.top, y2: frame.bottom }) : null,
    drawLines(frame, lines, spec),
    (spec.rings || []).map(([x, y]) => draw("circle", { class: "ring", cx: round(frame.x(x)), cy: round(frame.y(y)), r: 8 })),
    (spec.arrows || []).map(({ x, look }) =>
      draw("path", { class: "mark", d: SHAPES[2], transform: `translate(${round(frame.x(x))} ${frame.top + 5})`, style: { fill: look.hue, stroke: look.hue } }),
    ),
  );
  return { node, frame };
}

function keyRows(key, width) {
  const rows = [[]];
  let x = 12;
  for (const [look, name] of key) {
    const wide = 36 + name.length * LETTER_WIDTH + 14;
    if (x + wide > width && rows[rows.length - 1].length) {
      rows.push([]);
      x = 12;
    }
    rows[rows.length - 1].push([x, look, name]);
    x += wide;
  }
  return key.length ? rows : [];
}

const keyed = (x, y, look, name) => [
  draw("path", { class: "line", d: `M${x} ${y - 4}h26`, style: { stroke: look.hue, strokeDasharray: look.dash } }),
  marker(look, x + 13, y - 4),
  draw("text", { class: "tick", x: x + 33, y }, name),
];
