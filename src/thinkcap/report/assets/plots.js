// Everything the charts share: axes, the line at the cap, bands, and drawing again when the theme changes.
const plots = [];

function axes(xLabel, yLabel, more = {}) {
  const common = {
    stroke: css("--quiet"),
    grid: { stroke: css("--line"), width: 0.6 },
    ticks: { stroke: css("--line"), width: 0.6 },
    font: "12px system-ui",
    labelFont: "12px system-ui",
  };
  return [
    { ...common, label: xLabel, labelSize: 18, size: 34, ...(more.x || {}) },
    { ...common, label: yLabel, labelSize: 18, size: 46, ...(more.y || {}) },
  ];
}

// Doubling caps lie evenly apart: budgets are drawn at their logarithm.
const log2 = Math.log2;
function capTicks() {
  const powers = data.budgets.filter((b) => (b & (b - 1)) === 0);
  return powers.length >= 3 ? powers : data.budgets;
}
const capAxis = { splits: () => capTicks().map(log2), values: (u, v) => v.map((x) => String(Math.round(2 ** x))) };
const capScale = () => {
  const first = log2(data.budgets[0]),
    last = log2(data.budgets[data.budgets.length - 1]);
  const room = Math.max(0.15, (last - first) * 0.03);
  return { time: false, range: [first - room, last + room] };
};
const shareScale = { range: [0, 1] };
const shareAxis = { values: (u, v) => v.map((x) => `${Math.round(100 * x)}`) };

function nearestCap(value) {
  let best = 0;
  data.budgets.forEach((b, i) => {
    if (
      Math.abs(log2(b) - log2(Math.max(1, value))) < Math.abs(log2(data.budgets[best]) - log2(Math.max(1, value)))
    )
      best = i;
  });
  return best;
}

// A vertical line where the slider stands; `place` turns the cap into the chart's x.
const capLine = (place) => (u) => {
  const x = u.valToPos(place(), "x", true);
  if (!(x >= u.bbox.left - 1 && x <= u.bbox.left + u.bbox.width + 1)) return;
  u.ctx.save();
  u.ctx.strokeStyle = css("--accent");
  u.ctx.lineWidth = 2 * devicePixelRatio;
  u.ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
  u.ctx.beginPath();
  u.ctx.moveTo(x, u.bbox.top);
  u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
  u.ctx.stroke();
  u.ctx.restore();
};

const faint = (hex, alpha) =>
  hex +
  Math.round(alpha * 255)
    .toString(16)
    .padStart(2, "0");

// A chart: `build` gives uPlot's options and data for the present view, or null where there is nothing to draw.
class Plot {
  constructor(title, build, { click, say, when }) {
    this.build = build;
    this.click = click;
    this.say = say;
    this.when = when;
    this.note = make("p");
    this.holder = make("div", { class: "plot", role: "img", "aria-label": title });
    this.tall = plots.length ? 220 : 300;
    this.box = make("div", { class: "chart", "data-chart": title }, make("h3", {}, title), this.note, this.holder);
    // The first chart is the one the page is about: it stands alone, above the table.
    byId(plots.length ? "charts" : "lead").append(this.box);
    plots.push(this);
    new ResizeObserver(() => this.resize()).observe(this.holder);
  }

  size() {
    return { width: Math.max(220, Math.floor(this.holder.clientWidth)), height: this.tall };
  }
  resize() {
    if (this.u && this.u.width !== this.size().width) this.u.setSize(this.size());
  }

  draw() {
    if (this.u) this.u.destroy();
    this.u = null;
    const made = this.build();
    this.box.hidden = !made;
    if (!made) return;
    const options = { ...this.size(), legend: { show: false }, padding: [8, 10, 0, 0], ...made.options };
    options.cursor = { drag: { x: false, y: false }, points: { size: 6 }, ...(made.options.cursor || {}) };
    fill(this.holder);
    this.u = new uPlot(options, made.data, this.holder);
    this.u.over.addEventListener("click", () => this.click && this.click(this.u));
    this.point();
  }

  // After the slider moved: only the line and the words change.
  point() {
    if (!this.u) return;
    this.u.redraw(false, false);
    const words = this.say ? this.say() : "";
    this.note.textContent = words;
    this.holder.setAttribute("aria-label", `${this.box.dataset.chart}. ${words}`);
  }
}
