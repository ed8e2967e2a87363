// One question: what was asked, the chain with the cut, what each method answered, and why it was graded so.
const textOf = (detail, place) => (place === null || place === undefined ? null : detail.texts[place]);

// How much of the chain a run at the cap has: all of it where it ended before, else up to a stored place.
function cutPlace(chain) {
  const cap = budget();
  if (chain.tokens <= cap) return { end: chain.text.length, cut: !chain.ended, tokens: chain.tokens };
  let best = null;
  for (const [b, place] of chain.cuts) if (b <= cap && (!best || b > best[0])) best = [b, place];
  if (best && best[0] === cap) return { end: best[1], cut: true, tokens: cap };
  return { end: null, cut: true, tokens: cap };
}

function traceBox(detail) {
  const modes = Object.keys(detail.chains);
  if (!modes.length)
    return [make("h3", {}, "Chain"), make("p", { class: "quiet" }, data.live ? "Text and chain are stored when the study ends." : "No chain is stored for this question.")];
  const mode = modes.includes(state.mode) ? state.mode : modes[modes.length - 1];
  const chain = detail.chains[mode];
  const { end, cut, tokens } = cutPlace(chain);
  const box = make("pre", { class: "trace", tabindex: 0, "aria-label": "chain with the cut" });
  const closed =
    chain.closed === null || chain.closed === undefined ? (mode === "think" ? Infinity : 0) : chain.closed;
  const put = (from, to, gone) => {
    const middle = Math.max(from, Math.min(to, closed));
    if (middle > from)
      box.append(make("span", { class: gone ? "gone" : "thought" }, chain.text.slice(from, middle)));
    if (to > middle) box.append(make("span", { class: gone ? "gone" : "said" }, chain.text.slice(middle, to)));
  };
  if (end === null) {
    put(0, chain.text.length, false);
    box.append(make("span", { class: "cut" }, `The place where ${budget()} tokens cut this chain is not stored.`));
  } else {
    put(0, end, false);
    if (cut)
      box.append(
        make(
          "span",
          { class: "cut" },
          `Cut at ${tokens} tokens${end < chain.text.length ? `; uncut it has ${chain.tokens}${chain.ended ? "" : " and goes on"}` : ", the largest cap run"}`,
        ),
      );
    put(end, chain.text.length, true);
  }
  const tabs = make(
    "div",
    { class: "modes", role: "group", "aria-label": "mode" },
    modes.map((m) =>
      make(
        "button",
        { type: "button", "aria-pressed": String(m === mode), onclick: () => change({ mode: m }) },
        m,
      ),
    ),
  );
  const ended = !cut ? `ended by itself after ${tokens} tokens` : `cut at ${tokens}`;
  const legend = make(
    "p",
    { class: "quiet chain-key" },
    "thought, ",
    make("b", {}, "answer"),
    cut ? [", ", make("i", {}, "what a larger cap adds")] : null,
  );
  return [make("h3", {}, `Chain (${mode}): ${ended}`), modes.length > 1 ? tabs : null, box, legend];
}

function why(q, policy, cell, detail) {
  const verdict = letter(code(q, policy));
  if (verdict === "f")
    return `The run failed: ${textOf(detail, cell[4]) || "no reason stored"}. A failure is not a wrong answer; it is left out.`;
  const answer = textOf(detail, cell[0]);
  const cut = code(q, policy) !== verdict;
  if (verdict === "u" || answer === null)
    return cut ? "The chain was cut before it stated an answer." : "No answer could be read in its text.";
  const source = `${LEVEL[cell[1]] || "Read from the text"}${cell[5] ? ", in an unfinished thought" : ""}`;
  const same = verdict === "r" ? "means the same as" : "is not equal to";
  return detail.gold === null
    ? `${source}.`
    : `${source}; \u201c${answer}\u201d ${same} \u201c${detail.gold}\u201d.`;
}

function methodsBox(q, detail) {
  const rows = data.policies.map((name, p) => {
    const verdict = letter(code(q, p));
    const cell = detail.cells[p][state.cap];
    if (!cell) return null;
    const answer = textOf(detail, cell[0]);
    const said = verdict === "f" ? null : textOf(detail, cell[4]);
    const stage = data.stages[parseInt(data.questions.stages[q][p][state.cap], 36)] || "";
    return make(
      "tr",
      {},
      make("td", { class: "name" }, term(name, data.methods[p])),
      make("td", { class: "num" }, make("b", { class: `v-${verdict}` }, `${SIGN[verdict]} ${LETTER[verdict]}`)),
      make("td", { class: "answer" }, answer === null ? "\u2013" : answer),
      make(
        "td",
        { class: "reason" },
        why(q, p, cell, detail),
        said
          ? make("details", {}, make("summary", {}, "its words"), make("p", { class: "said-box" }, said))
          : null,
      ),
      make("td", { class: "num spare" }, stage),
      make("td", { class: "num spare" }, whole(cell[2])),
      make("td", { class: "num spare" }, String(cell[3])),
    );
  });
  const heads = ["method", "result", "answer", "why", "stage", "tokens", "calls"];
  return [
    make("h3", {}, `Answers at ${budget()} tokens`),
    make(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Answers" },
      make(
        "table",
        { class: "why" },
        make(
          "thead",
          {},
          make(
            "tr",
            {},
            heads.map((h) => make("th", { scope: "col" }, term(h))),
          ),
        ),
        make("tbody", {}, rows),
      ),
    ),
  ];
}

function gridBox(q) {
  const heads = data.budgets.map((b, i) =>
    make(
      "th",
      { scope: "col", class: i === state.cap ? "here" : null },
      make(
        "button",
        { type: "button", "aria-pressed": String(i === state.cap), onclick: () => change({ cap: i }) },
        String(b),
      ),
    ),
  );
  const rows = data.policies.map((name, p) =>
    make(
      "tr",
      {},
      make("td", {}, name),
      data.budgets.map((_, i) => {
        const l = letter(code(q, p, i));
        return make(
          "td",
          {
            class: `v-${l}${i === state.cap ? " here" : ""}`,
            title: `${name} at ${data.budgets[i]}: ${LETTER[l] || "not run"}`,
          },
          make("span", { "aria-label": LETTER[l] || "not run" }, SIGN[l]),
        );
      }),
    ),
  );
  return [
    make("h3", {}, "Every method at every cap"),
    make(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Every method at every cap" },
      make(
        "table",
        { class: "grid" },
        make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "cap"), heads)),
        make("tbody", {}, rows),
      ),
    ),
  ];
}

async function drawQuestion() {
  const q = state.open,
    box = byId("one");
  if (q < 0) {
    fill(
      box,
      make("p", { class: "quiet" }, "Choose a question to see its chain, the cut, and what each method answered."),
    );
    return;
  }
  const detail = await withDetail(q);
  if (q !== state.open) return;
  const list = data.questions;
  const head = make("h3", { id: "one-title" }, list.id[q]);
  if (!detail) {
    fill(
      box,
      head,
      make("p", { class: "asked" }, list.snippet[q]),
      make(
        "p",
        { class: "quiet" },
        `Its chain is in the folder ${data.beside}, which is not beside this page. Keep the two together.`,
      ),
      gridBox(q),
    );
    return;
  }
  const facts = [
    ["gold", detail.gold === null ? "not stored" : detail.gold],
    ["group", list.groups[list.group[q]]],
    ...Object.entries(detail.facts),
  ].filter(([k, v], i, all) => v && all.findIndex(([, w]) => w === v) === i);
  fill(
    box,
    head,
    make("p", { class: "asked" }, detail.text === null ? list.snippet[q] : detail.text),
    make(
      "p",
      { class: "facts" },
      facts.map(([k, v]) => make("span", {}, `${k} `, make("b", {}, String(v)))),
    ),
    traceBox(detail),
    methodsBox(q, detail),
    gridBox(q),
  );
  const column = box.querySelector(".grid th.here");
  if (column) column.closest(".scroll").scrollLeft = Math.max(0, column.offsetLeft - column.closest(".scroll").clientWidth / 2);
  const mark = box.querySelector(".trace .cut");
  if (mark) mark.parentNode.scrollTop = Math.max(0, mark.offsetTop - mark.parentNode.offsetTop - 120);
}

function startQuestion() {
  onChange((keys) => {
    if (["open", "cap", "mode"].some((k) => keys.has(k))) drawQuestion();
  });
}
