// The verdict, the methods at the cap, and the other run.
function startVerdict() {
  const said = data.verdict.length ? data.verdict : ["No verdict: these records do not hold enough for one."];
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
  byId("subtitle").textContent = data.live
    ? `${data.model} on ${data.tasks.join(", ")}, not finished: what is here grows with its rows.`
    : `${data.model} on ${data.tasks.join(", ")}: ${whole(data.questions.id.length)} questions, ${whole(data.rows)} rows, ${whole(data.failed)} failed; ${whole(data.generated)} tokens generated where one run per cell would take ${whole(data.alone)}.`;
  fill(
    byId("notes"),
    data.notes.map((n) => make("li", {}, n)),
  );
  byId("origin").replaceChildren(...facts(data.provenance));
  byId("origin-save").append(
    saveBox("Provenance", {
      JSON: () => saved(`${data.name} provenance`, "json", new Blob([JSON.stringify(data.provenance, null, 1)], { type: "application/json" })),
    }),
  );
  byId("now-save").append(
    saveBox("Methods at this cap", { CSV: () => saveCsv(`${data.name} methods at ${budget()}`, tableRows(byId("methods"))) }),
  );
}

// Nested values as a list of terms: `engine`, `context` become "Engine: context".
const spaced = (word) => word.replaceAll("_", " ");
function facts(found, before = "") {
  return Object.entries(found).flatMap(([key, value]) => {
    const name = before ? `${before}: ${spaced(key)}` : spaced(key)[0].toUpperCase() + spaced(key).slice(1);
    if (value === null || value === "" || value === undefined || (Array.isArray(value) && !value.length)) return [];
    if (typeof value === "object" && !Array.isArray(value)) return facts(value, name);
    const said = Array.isArray(value) ? value.map(plain).join(", ") : plain(value);
    return [make("dt", {}, name), make("dd", {}, said)];
  });
}
const plain = (value) =>
  value === true ? "yes" : value === false ? "no" : typeof value === "object" ? JSON.stringify(value) : String(value);

function methodRow(policy) {
  const name = data.policies[policy];
  const cell = view().cells[name][state.cap];
  const tick = make("input", {
    type: "checkbox",
    "aria-label": `draw ${name}`,
    onchange: (e) => toggle(policy, e.target.checked),
  });
  tick.checked = state.shown.has(policy);
  const best = policy === advised() ? make("b", { class: "best" }, "\u2605", make("span", { class: "spare" }, " best here")) : null;
  const head = make("td", { "data-csv": name }, make("span", { class: "method" }, make("label", {}, tick, swatch(look(policy))), term(name, data.methods[policy]), best));
  if (!cell)
    return make("tr", {}, head, make("td", { colspan: 8, class: "quiet" }, "no graded answer at this cap"));
  const [right, n, value, low, high, tokens, ended, , failed, unread, claimed] = cell;
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
    make("td", { class: "wide", "data-csv": said }, bar),
    make("td", {}, whole(tokens)),
    hasTrials() ? make("td", {}, whole(claimed)) : null,
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
    ...(hasTrials() ? [["claimed"]] : []),
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
        heads.map(([h, c]) => make("th", { scope: "col", class: c }, term(h))),
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
      : `${data.name}: ${here}; ${other.name}: ${there}. Differences may come from the machine.`,
  );
  const rows = other.cells.filter((c) => c.task === data.tasks[state.task] && c.budget === budget());
  if (!rows.length) {
    fill(byId("compare-body"), made, make("p", { class: "quiet" }, "The other run has no results at this cap."));
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
      make("td", {}, term(c.policy, data.methods[data.policies.indexOf(c.policy)])),
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
  const save = saveBox("Comparison", {
    CSV: () => saveCsv(`${data.name} and ${other.name} at ${budget()}`, tableRows(byId("compare-body").querySelector("table"))),
  });
  fill(
    byId("compare-body"),
    make("div", { class: "head" }, made, save),
    make(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Comparison" },
      make(
        "table",
        {},
        make(
          "thead",
          {},
          make(
            "tr",
            {},
            heads.map((h) => make("th", { scope: "col" }, term(h))),
          ),
        ),
        make("tbody", {}, body),
      ),
    ),
  );
}
