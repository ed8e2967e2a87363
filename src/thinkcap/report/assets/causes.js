// Charts of causes: why thinking loses, what it needs, when chains end.
function lossChart() {
  const found = view().loss;
  const kept = data.budgets.map((_, i) => i).filter((i) => found[i] && found[i][3] !== null);
  if (!kept.length) return null;
  const cut = kept.map((i) => found[i][3]),
    reason = kept.map((i) => found[i][4]),
    tax = kept.map((i) => found[i][0]);
  // Of the same sign they are stacked: the outer bar is drawn first, in full.
  const outer = reason.map((r, i) => (r * cut[i] > 0 ? r + cut[i] : r));
  const low = Math.min(0, ...outer, ...cut),
    high = Math.max(0, ...outer, ...cut);
  const bars = uPlot.paths.bars({ size: [0.7, 60] });
  const names = kept.map((i) => String(data.budgets[i]));
  return {
    data: [kept.map((_, i) => i), outer, cut, tax],
    options: {
      scales: {
        x: { time: false, range: [-0.6, kept.length - 0.4] },
        y: { range: [low * 1.08 - 0.02, high * 1.08 + 0.02] },
      },
      axes: axes("token cap", "points lost", {
        x: {
          splits: () => names.map((_, i) => i),
          values: () => (names.length > 9 ? names.map((n, i) => (i % 2 ? "" : n)) : names),
        },
        y: shareAxis,
      }),
      series: [
        {},
        { fill: faint(COLOUR[0][0], 0.9), stroke: COLOUR[0][0], width: 0, paths: bars, points: { show: false } },
        { fill: faint(COLOUR[1][0], 0.9), stroke: COLOUR[1][0], width: 0, paths: bars, points: { show: false } },
        {
          stroke: css("--ink"),
          width: 0,
          paths: () => null,
          points: { show: true, size: 8, width: 2, fill: css("--ground") },
        },
      ],
      hooks: { draw: [capLine(() => kept.indexOf(state.cap))] },
    },
    kept,
  };
}

function tiersChart() {
  const found = view().tiers;
  if (!found) return null;
  const rows = [...found.by.filter(([b]) => b), ...found.by.filter(([b]) => !b)];
  const names = rows.map(([b]) => (b ? String(b) : "none"));
  const shares = rows.map(([, k]) => k / found.n);
  const bars = uPlot.paths.bars({ size: [0.7, 60] });
  const solid = (hue) => ({ fill: faint(hue, 0.85), stroke: hue, width: 0, paths: bars, points: { show: false } });
  const last = names.length - 1;
  return {
    data: [
      names.map((_, i) => i),
      shares.map((v, i) => (i < last ? v : null)),
      shares.map((v, i) => (i === last ? v : null)),
    ],
    options: {
      scales: {
        x: { time: false, range: [-0.6, names.length - 0.4] },
        y: { range: [0, Math.max(0.05, ...shares) * 1.12] },
      },
      axes: axes("least cap at which thinking is right", "questions, %", {
        x: {
          splits: () => names.map((_, i) => i),
          values: () => (names.length > 9 ? names.map((n, i) => (i % 2 && i !== last ? "" : n)) : names),
        },
        y: shareAxis,
      }),
      series: [{}, solid(COLOUR[2][0]), solid(COLOUR[1][0])],
      hooks: { draw: [capLine(() => rows.findIndex(([b]) => b === budget()))] },
    },
  };
}

function solved() {
  const found = view().tiers;
  if (!found) return "";
  const enough = found.by.filter(([b]) => b && b <= budget()).reduce((sum, [, k]) => sum + k, 0);
  const none = found.by.find(([b]) => !b);
  return `${enough} of ${found.n} questions need ${budget()} tokens or fewer; ${none ? none[1] : 0} are right at no cap`;
}

const hazards = () => (data.views.find((v) => v.task === data.tasks[state.task]) || {}).hazard;

// Bins with few chains left are drawn hollow and set no scale; what lies above it is an arrow at the edge.
function hazardChart() {
  const found = hazards();
  if (state.group || !found || found.bins.length < 2) return null;
  const { bins, top, few } = found;
  const x = bins.map((b) => (b[0] + b[1]) / 2);
  const known = (b) => b[5] >= few;
  const hue = colour(1 % data.policies.length);
  const quiet = { stroke: "transparent", width: 0, points: { show: false } };
  const arrows = (u) => {
    const size = 6 * devicePixelRatio;
    for (const b of bins.filter((v) => v[2] > top)) {
      const px = u.valToPos((b[0] + b[1]) / 2, "x", true);
      u.ctx.save();
      u.ctx.fillStyle = hue;
      u.ctx.beginPath();
      u.ctx.moveTo(px, u.bbox.top);
      u.ctx.lineTo(px - size, u.bbox.top + 1.5 * size);
      u.ctx.lineTo(px + size, u.bbox.top + 1.5 * size);
      u.ctx.fill();
      u.ctx.restore();
    }
  };
  return {
    data: [
      x,
      bins.map((b) => (known(b) ? Math.min(b[4], top) : null)),
      bins.map((b) => (known(b) ? b[3] : null)),
      bins.map((b) => (known(b) ? b[2] : null)),
      bins.map((b) => (known(b) || b[2] > top ? null : b[2])),
    ],
    options: {
      scales: { x: { time: false, range: [0, bins[bins.length - 1][1]] }, y: { range: [0, top] } },
      axes: axes("tokens so far", "ends next, %", { y: { values: (u, v) => v.map((y) => (100 * y).toFixed(1)) } }),
      series: [
        {},
        quiet,
        quiet,
        { stroke: hue, width: 2, points: { show: true, size: 6, fill: hue } },
        { stroke: hue, width: 0, paths: () => null, points: { show: true, size: 7, width: 1.5, fill: css("--ground") } },
      ],
      bands: [{ series: [1, 2], fill: faint(hue, 0.18) }],
      hooks: { draw: [arrows, capLine(budget)] },
    },
  };
}

function hazardNote() {
  const found = hazards();
  if (!found) return "";
  const here = found.bins.find((b) => budget() >= b[0] && budget() < b[1]);
  const said = here ? `At ${budget()}: ${(100 * here[2]).toFixed(2)} % a token, ${here[5]} chains left. ` : "";
  const thin = found.bins.filter((b) => b[5] < found.few);
  const high = thin.filter((b) => b[2] > found.top).map((b) => `${(100 * b[2]).toFixed(1)} % from ${b[0]} on`);
  const above = high.length ? `; above the scale: ${high.join(", ")}` : "";
  const warned = thin.length ? ` Hollow: fewer than ${found.few} chains left${above}.` : "";
  return `${said}Of chains that came this far, whole task.${warned}`;
}
