// The list of questions and its filters.
let found = [];

function matches(q) {
  const list = data.questions;
  if (list.task[q] !== state.task) return false;
  if (state.group && list.groups[list.group[q]] !== state.group) return false;
  const mine = code(q, state.by);
  if (state.result === "cut" ? mine === mine.toLowerCase() : state.result && letter(mine) !== state.result)
    return false;
  if (state.stage && data.stages[parseInt(list.stages[q][state.by][state.cap], 36)] !== state.stage) return false;
  if (state.against) {
    const theirs =
      state.against === "other"
        ? ((data.other.codes[q] || [])[state.by] || "")[state.cap]
        : code(q, Number(state.against));
    if (!theirs || theirs === "-" || mine === "-" || (letter(theirs) === "r") === (letter(mine) === "r"))
      return false;
  }
  if (state.search) {
    const words = `${list.id[q]} ${list.snippet[q]}`.toLowerCase();
    const wanted = state.search.toLowerCase();
    if (!words.includes(wanted) && !inside(q, wanted)) return false;
  }
  return true;
}

// The whole question and its chains: those of the page itself, or what `thinkcap view` found in all of them.
let hits = { for: "", found: new Set() };
function inside(q, wanted) {
  if (hits.for === wanted && hits.found.has(q)) return true;
  const detail = details[q];
  if (!detail) return false;
  const texts = [detail.text || "", ...Object.values(detail.chains).map((c) => c.text)];
  return texts.some((text) => text.toLowerCase().includes(wanted));
}

let asking = 0;
function searchAll(text) {
  clearTimeout(asking);
  if (!data.served || text.length < 2) return;
  asking = setTimeout(async () => {
    const reply = await fetch(`search.json?q=${encodeURIComponent(text)}`).catch(() => null);
    if (!reply || !reply.ok || state.search !== text) return;
    hits = { for: text.toLowerCase(), found: new Set((await reply.json()).questions) };
    drawList();
  }, 250);
}

function marks(q) {
  const ticked = drawn().slice(0, 6);
  const said = ticked.map((p) => `${data.policies[p]} ${LETTER[letter(code(q, p))] || "not run"}`).join(", ");
  return make(
    "span",
    { class: "marks", role: "img", "aria-label": said, title: said },
    ticked.map((p) => {
      const l = letter(code(q, p));
      return make("span", { class: `v-${l}` }, SIGN[l]);
    }),
  );
}

const drawList = () => keepingFocus(byId("list"), drawFound);
function drawFound() {
  found = data.questions.id.map((_, q) => q).filter(matches);
  const part = found.slice(0, state.limit);
  fill(
    byId("list"),
    part.map((q) => {
      const list = data.questions;
      const head = make(
        "span",
        { class: "line" },
        make(
          "span",
          {},
          `${list.id[q]}${list.groups[list.group[q]] ? ` \u00b7 ${list.groups[list.group[q]]}` : ""}`,
        ),
        marks(q),
      );
      return make(
        "li",
        {},
        make(
          "button",
          {
            type: "button",
            "data-q": q,
            "aria-current": q === state.open ? "true" : null,
            onclick: () => open(q, true),
          },
          head,
          make("span", { class: "snippet" }, list.snippet[q]),
        ),
      );
    }),
  );
  const all = data.questions.task.filter((t) => t === state.task).length;
  const partly = state.search && !data.served && data.inside.length < data.questions.id.length;
  byId("count").textContent =
    (found.length === all ? `${whole(all)} questions` : `${whole(found.length)} of ${whole(all)} questions`) +
    (partly ? `; of ${whole(data.questions.id.length - data.inside.length)} only id and beginning are searched` : "");
  byId("more").hidden = found.length <= state.limit;
}

function open(q, focus) {
  change({ open: q });
  if (focus && window.matchMedia("(max-width: 46rem)").matches) byId("one").scrollIntoView({ block: "start" });
}

function step(by) {
  if (!found.length) return;
  const here = found.indexOf(state.open);
  const next = found[Math.max(0, Math.min(found.length - 1, here < 0 ? 0 : here + by))];
  if (found.indexOf(next) >= state.limit) change({ limit: state.limit + 60 });
  open(next, false);
  const button = document.querySelector(`#list button[data-q="${next}"]`);
  if (button) {
    button.focus({ preventScroll: true });
    button.scrollIntoView({ block: "nearest" });
  }
}

function choose(id, options, value) {
  fill(
    byId(id),
    options.map(([key, text]) => {
      const o = make("option", { value: key }, text);
      o.selected = String(key) === String(value);
      return o;
    }),
  );
}

function drawFilters() {
  choose(
    "by",
    data.policies.map((p, i) => [i, p]),
    state.by,
  );
  choose(
    "result",
    [
      ["", "any"],
      ["r", "right"],
      ["w", "wrong"],
      ["u", "unreadable"],
      ["f", "failed"],
      ["cut", "chain cut"],
    ],
    state.result,
  );
  choose("stage", [["", "any"], ...data.stages.map((s) => [s, s])], state.stage);
  const others = data.policies.map((p, i) => [i, p]).filter(([i]) => i !== state.by);
  choose(
    "against",
    [["", "\u2013"], ...others, ...(data.other ? [["other", `the run ${data.other.name}`]] : [])],
    state.against,
  );
  choose(
    "task",
    data.tasks.map((t, i) => [i, t]),
    state.task,
  );
  byId("task-box").hidden = data.tasks.length < 2;
  const groups = data.views.filter((v) => v.task === data.tasks[state.task] && v.group).map((v) => v.group);
  choose("group", [["", "all"], ...groups.map((g) => [g, g])], state.group);
  byId("group-box").hidden = !groups.length;
}

function startList() {
  const listen = (id, key, read = (v) => v) =>
    byId(id).addEventListener(id === "search" ? "input" : "change", (e) =>
      change({ [key]: read(e.target.value), limit: 60 }),
    );
  byId("filters").addEventListener("submit", (e) => e.preventDefault());
  listen("by", "by", Number);
  listen("result", "result");
  listen("stage", "stage");
  listen("against", "against");
  listen("search", "search");
  listen("group", "group");
  byId("task").addEventListener("change", (e) =>
    change({ task: Number(e.target.value), group: "", limit: 60, open: -1 }),
  );
  byId("more").addEventListener("click", () => change({ limit: state.limit + 120 }));
  byId("list").addEventListener("keydown", (e) => {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      step(e.key === "ArrowDown" ? 1 : -1);
    }
  });
  byId("search").addEventListener("input", (e) => searchAll(e.target.value));
  onChange((keys) => {
    if (["task", "by"].some((k) => keys.has(k))) drawFilters();
    if (
      ["cap", "task", "group", "by", "result", "stage", "against", "search", "limit", "shown", "data"].some((k) =>
        keys.has(k),
      )
    )
      drawList();
    if (keys.has("open")) {
      for (const b of document.querySelectorAll("#list button")) {
        if (Number(b.dataset.q) === state.open) b.setAttribute("aria-current", "true");
        else b.removeAttribute("aria-current");
      }
    }
  });
}
