// The linked charts. Each says in words what stands at the cap, so that nobody needs the picture.
const ACC = 2,
  LOW = 3,
  HIGH = 4,
  TOKENS = 5,
  ENDED = 6,
  USED = 7;
const shown = () => data.policies.map((_, i) => i).filter((i) => state.shown.has(i));
const cells = (policy, field) => view().cells[data.policies[policy]].map((c) => (c ? c[field] : null));
const at = (policy, field) => {
  const c = view().cells[data.policies[policy]][state.cap];
  return c ? c[field] : null;
};
const capX = () => data.budgets.map(log2);
const toCap = (u) => {
  if (u.cursor.left >= 0) change({ cap: nearestCap(2 ** u.posToVal(u.cursor.left, "x")) });
};

const line = (policy, more = {}) => ({
  label: data.policies[policy],
  stroke: colour(policy),
  width: 2,
  dash: dash(policy),
  points: { show: true, size: 6, fill: colour(policy) },
  spanGaps: true,
  ...more,
});

function accuracyChart() {
  const rows = shown();
  const banded = rows.filter((p) => rows.length <= 4 || ["think", "nothink"].includes(data.policies[p]));
  const series = [{}],
    columns = [capX()],
    bands = [];
  for (const p of banded) {
    // Methods need not share their caps: a band goes on over those of others, as its line does.
    const quiet = { stroke: "transparent", width: 0, points: { show: false }, spanGaps: true };
    series.push({ label: `${data.policies[p]} high`, ...quiet }, { label: `${data.policies[p]} low`, ...quiet });
    columns.push(cells(p, HIGH), cells(p, LOW));
    bands.push({ series: [series.length - 2, series.length - 1], fill: faint(colour(p), 0.16) });
  }
  for (const p of rows) {
    series.push(line(p));
    columns.push(cells(p, ACC));
  }
  return {
    data: columns,
    options: {
      scales: { x: capScale(), y: shareScale },
      axes: axes("token cap", "right, %", { x: capAxis, y: shareAxis }),
      series,
      bands,
      hooks: { draw: [capLine(() => log2(budget()))] },
    },
  };
}

function usedChart() {
  const rows = shown();
  const top = Math.max(1, ...rows.flatMap((p) => cells(p, USED).filter((v) => v !== null)));
  return {
    data: [capX(), ...rows.map((p) => cells(p, USED))],
    options: {
      scales: { x: capScale(), y: { range: [0, top] } },
      axes: axes("token cap", "of the cap used, %", { x: capAxis, y: shareAxis }),
      series: [{}, ...rows.map((p) => line(p))],
      hooks: { draw: [capLine(() => log2(budget()))] },
    },
  };
}

function lengthsChart() {
  const found = view().lengths;
  if (!found) return null;
  const x = [...new Set([...found.x, ...found.cut.map((c) => c[0])])].sort((a, b) => a - b);
  const spread = (values) => {
    let i = 0;
    return x.map((v) => {
      while (i + 1 < found.x.length && found.x[i + 1] <= v) i++;
      return values[i];
    });
  };
  const cut = new Map(found.cut);
  const stepped = uPlot.paths.stepped({ align: 1 });
  const hue = colour(1 % data.policies.length);
  const quiet = { stroke: "transparent", width: 0, points: { show: false }, paths: stepped };
  return {
    data: [
      x,
      spread(found.high),
      spread(found.low),
      spread(found.left),
      x.map((v) => (cut.has(v) ? cut.get(v) : null)),
    ],
    options: {
      scales: { x: { time: false }, y: shareScale },
      axes: axes("tokens", "chains longer, %", { y: shareAxis }),
      series: [
        {},
        { ...quiet },
        { ...quiet },
        { stroke: hue, width: 2, paths: stepped, points: { show: false } },
        {
          stroke: css("--wrong"),
          paths: () => null,
          points: { show: true, size: 9, width: 2, fill: css("--ground"), stroke: css("--wrong") },
        },
      ],
      bands: [{ series: [1, 2], fill: faint(hue, 0.18) }],
      hooks: { draw: [capLine(budget)] },
    },
  };
}

function paretoChart() {
  const rows = shown().filter((p) => cells(p, TOKENS).some((v) => v !== null));
  if (!rows.length) return null;
  const tables = rows.map((p) => {
    const found = new Map();
    data.budgets.forEach((_, i) => {
      const c = view().cells[data.policies[p]][i];
      if (c && c[TOKENS] > 0) found.set(log2(c[TOKENS]), c[ACC]);
    });
    const sorted = [...found].sort((a, b) => a[0] - b[0]);
    return [sorted.map((v) => v[0]), sorted.map((v) => v[1])];
  });
  const joined = uPlot.join(tables);
  const ring = (u) => {
    for (const p of rows) {
      const tokens = at(p, TOKENS),
        right = at(p, ACC);
      if (!tokens || right === null) continue;
      u.ctx.save();
      u.ctx.strokeStyle = css("--ink");
      u.ctx.fillStyle = colour(p);
      u.ctx.lineWidth = 2 * devicePixelRatio;
      u.ctx.beginPath();
      u.ctx.arc(u.valToPos(log2(tokens), "x", true), u.valToPos(right, "y", true), 6 * devicePixelRatio, 0, 7);
      u.ctx.fill();
      u.ctx.stroke();
      u.ctx.restore();
    }
  };
  const ticks = {
    splits: (u) => {
      const [a, b] = [Math.ceil(u.scales.x.min), Math.floor(u.scales.x.max)];
      return Array.from({ length: Math.max(0, b - a + 1) }, (_, i) => a + i);
    },
    values: (u, v) => v.map((x) => String(2 ** x)),
  };
  return {
    data: joined,
    options: {
      scales: { x: { time: false }, y: shareScale },
      axes: axes("mean tokens a question", "right, %", { x: ticks, y: shareAxis }),
      series: [{}, ...rows.map((p) => line(p, { width: 1 }))],
      hooks: { draw: [ring] },
    },
  };
}

function startCharts() {
  const named = (field, write) =>
    shown()
      .slice(0, 5)
      .map((p) => `${data.policies[p]} ${write(at(p, field))}`)
      .join(", ");
  const caps = (u) => {
    if (u.cursor.left >= 0) change({ cap: nearestCap(u.posToVal(u.cursor.left, "x")) });
  };
  new Plot("Right answers by cap", accuracyChart, {
    click: toCap,
    say: () => `At ${budget()}: ${named(ACC, percent)}`,
  });
  new Plot("Chains still running", lengthsChart, {
    click: caps,
    say: () => {
      const found = view().lengths;
      if (!found) return "";
      let left = 1;
      found.x.forEach((x, i) => {
        if (x <= budget()) left = found.left[i];
      });
      const median =
        found.median[0] === null
          ? "more than half outlive the largest cap"
          : `half end within ${whole(found.median[0])}`;
      return `At ${budget()}: ${percent(left, 0)} cut; ${median}; rings: ${found.censored} of ${found.n} never ended`;
    },
  });
  new Plot("Why thinking loses", lossChart, {
    click: (u) => {
      const made = lossChart();
      const i = Math.round(u.posToVal(u.cursor.left, "x"));
      if (made && made.kept[i] !== undefined) change({ cap: made.kept[i] });
    },
    say: () => {
      const found = view().loss[state.cap];
      if (!found) return `At ${budget()}: both modes were not run, or no chain ended`;
      return `At ${budget()}: loss ${points(found[0])} points (${points(found[1])} to ${points(found[2])}) = truncation (orange) ${points(found[3])}, reasoning (blue) ${points(found[4])}`;
    },
  });
  new Plot("Right answers by tokens spent", paretoChart, {
    say: () => `At ${budget()}: ${named(TOKENS, (v) => `${whole(v)} tokens`)}`,
  });
  new Plot("Chance that a chain ends next", hazardChart, {
    click: caps,
    say: hazardNote,
  });
  new Plot("What thinking needs", tiersChart, { say: solved });
  new Plot("How much of the cap is used", usedChart, {
    click: toCap,
    say: () => `At ${budget()}: ${named(USED, (v) => percent(v, 0))}`,
  });
  const drawKey = () =>
    fill(
      byId("key"),
      shown().map((p) =>
        make(
          "span",
          {},
          make("span", { class: "swatch", style: { background: swatchFill(p) } }),
          data.policies[p],
        ),
      ),
    );
  drawKey();
  onChange((keys) => {
    if (keys.has("shown") || keys.has("theme")) drawKey();
    if (["shown", "group", "task", "theme"].some((k) => keys.has(k))) for (const p of plots) p.draw();
    else if (keys.has("cap")) for (const p of plots) p.point();
  });
}
