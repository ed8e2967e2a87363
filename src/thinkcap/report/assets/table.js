// The verdict, the methods at the cap, and the other run.
function startVerdict() {
  const said = data.verdict.length ? data.verdict : ["No verdict: these records do not allow one."];
  const rest = said.slice(3);
  fill(
    byId("verdict"),
    said.slice(0, 3).map((s) => make("p", {}, s)),
    rest.length
      ? make(
          "details",
          {},
          make("summary", {}, `${rest.length} more`),
          rest.map((s) => make("p", {}, s)),
        )
      : null,
  );
  byId("subtitle").textContent =
    `${data.model} on ${data.tasks.join(", ")}: ${data.questions.id.length} questions, ${whole(data.rows)} rows, ${data.failed} failed; ${whole(data.generated)} tokens generated where one run per cell would take ${whole(data.alone)}.`;
  fill(
    byId("notes"),
    data.notes.map((n) => make("li", {}, n)),
  );
  byId("provenance").textContent = JSON.stringify(data.provenance, null, 1);
}

// The dash of the line, so that two methods of one colour are told apart.
function swatchFill(policy) {
  const hue = colour(policy),
    parts = dash(policy);
  return parts.length
    ? `repeating-linear-gradient(90deg, ${hue} 0 ${parts[0]}px, transparent ${parts[0]}px ${parts[0] + parts[1]}px)`
    : hue;
}

function methodRow(policy) {
  const name = data.policies[policy];
  const cell = view().cells[name][state.cap];
  const tick = make("input", {
    type: "checkbox",
    "aria-label": `draw ${name}`,
    onchange: (e) => toggle(policy, e.target.checked),
  });
  tick.checked = state.shown.has(policy);
  const swatch = make("span", { class: "swatch", style: { background: swatchFill(policy) } });
  const head = make("td", {}, make("label", { title: data.methods[policy] }, tick, swatch, name));
  if (!cell)
    return make("tr", {}, head, make("td", { colspan: 6, class: "quiet" }, "no graded answer at this cap"));
  const [right, n, value, low, high, tokens, ended, , failed, unread] = cell;
  const total = n + failed;
  const parts = [
    ["r", right],
    ["w", n - right - unread],
    ["u", unread],
    ["f", failed],
  ];
  const said = parts.map(([l, k]) => `${LETTER[l]} ${k}`).join(", ");
  const bar = make(
    "div",
    { class: "stack", role: "img", "aria-label": said, title: said },
    parts.map(([l, k]) => make("span", { class: `${l}-fill`, style: { width: `${(100 * k) / total}%` } })),
  );
  return make(
    "tr",
    {},
    head,
    make("td", {}, make("b", {}, percent(value))),
    make("td", { class: "spare" }, `${(100 * low).toFixed(1)} to ${(100 * high).toFixed(1)}`),
    make("td", { class: "wide" }, bar),
    make("td", {}, whole(tokens)),
    make("td", {}, ended === null ? "\u2013" : percent(1 - ended, 0)),
    make("td", { class: "spare" }, String(n)),
  );
}

function toggle(policy, on) {
  const next = new Set(state.shown);
  if (on) next.add(policy);
  else next.delete(policy);
  change({ shown: next });
}

function drawMethods() {
  const heads = [
    ["method"],
    ["right"],
    ["95 %", "spare"],
    ["results", "wide left"],
    ["tokens"],
    ["cut"],
    ["n", "spare"],
  ];
  fill(
    byId("methods"),
    make(
      "thead",
      {},
      make(
        "tr",
        {},
        heads.map(([h, c]) => make("th", { scope: "col", class: c }, h)),
      ),
    ),
    make(
      "tbody",
      {},
      data.policies.map((_, i) => methodRow(i)),
    ),
  );
  byId("now-title").textContent = `At ${budget()} tokens${state.group ? `, ${state.group}` : ""}`;
}

function drawCompare() {
  const other = data.other;
  if (!other) return;
  byId("compare").hidden = false;
  byId("compare-title").textContent = `${data.name} and ${other.name} at ${budget()} tokens`;
  const [here, there] = other.made;
  const made = make(
    "p",
    { class: "quiet", id: "compare-made" },
    here === there
      ? `Both made on ${here}.`
      : `${data.name}: ${here}; ${other.name}: ${there}. A difference may be the machine's.`,
  );
  const rows = other.cells.filter((c) => c.task === data.tasks[state.task] && c.budget === budget());
  if (!rows.length) {
    fill(byId("compare-body"), made, make("p", { class: "quiet" }, "The other run has no cell at this cap."));
    return;
  }
  const heads = [
    "method",
    data.name,
    other.name,
    "difference",
    "95 %",
    `only ${other.name}`,
    `only ${data.name}`,
    "test",
  ];
  const body = rows.map((c) => {
    const start = [
      make("td", {}, c.policy),
      make("td", {}, percent(c.first[2])),
      make("td", {}, percent(c.second[2])),
    ];
    if (!c.paired)
      return make("tr", {}, start, make("td", { colspan: 5, class: "quiet" }, `not paired: ${c.refused}`));
    const [n, gap, low, high, first, second, adjusted] = c.paired;
    return make(
      "tr",
      {},
      start,
      make("td", {}, make("b", {}, points(gap))),
      make("td", {}, `${points(low)} to ${points(high)}`),
      make("td", {}, String(first)),
      make("td", {}, String(second)),
      make("td", {}, `${small(adjusted)} (Holm), n = ${n}`),
    );
  });
  fill(
    byId("compare-body"),
    made,
    make(
      "div",
      { class: "scroll" },
      make(
        "table",
        {},
        make(
          "thead",
          {},
          make(
            "tr",
            {},
            heads.map((h) => make("th", { scope: "col" }, h)),
          ),
        ),
        make("tbody", {}, body),
      ),
    ),
  );
}
