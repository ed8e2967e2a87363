// What the page can do beyond the file: choose another run to compare with, and follow a study that is not finished.
const here = location.pathname.split("/with/")[0].replace(/\/$/, "");

async function startPicker() {
  const reply = await fetch("/runs.json").catch(() => null);
  if (!reply || !reply.ok || data.live) return;
  const names = (await reply.json()).runs.filter((r) => r.state === "finished" && r.name !== data.name).map((r) => r.name);
  if (!names.length) return;
  const pick = make("select", { id: "with", "aria-label": "Compare with" });
  document.querySelector(".tools").prepend(pick);
  choose("with", [["", "Compare with\u2026"], ...names.map((n) => [n, n])], data.other ? data.other.name : "");
  pick.addEventListener("change", () => {
    location.href = pick.value ? `${here}/with/${encodeURIComponent(pick.value)}/` : `${here}/`;
  });
}

const LATEST = 6;
const POLL_MS = 1_000;
let since = 0;
let latest = [];
const numbers = new Map();

function startLive() {
  byId("verdict").hidden = true;
  byId("verdict").after(
    make(
      "section",
      { id: "live", "aria-label": "Progress" },
      make("p", { id: "live-words", role: "status" }, "Reading its rows\u2026"),
      make("progress", { id: "live-bar", max: 1, "aria-label": "rows" }),
      make("ol", { id: "live-rows", "aria-label": "The latest rows" }),
    ),
  );
  poll();
}

// A question gets its place in the list when its first row comes, and keeps it.
function place(task, question, group) {
  const name = JSON.stringify([task, question]);
  if (numbers.has(name)) return numbers.get(name);
  const list = data.questions;
  const at = list.id.length;
  if (!list.groups.includes(group)) list.groups.push(group);
  list.id.push(question);
  list.task.push(data.tasks.indexOf(task));
  list.group.push(list.groups.indexOf(group));
  list.snippet.push("");
  const empty = () => data.policies.map(() => "-".repeat(data.budgets.length));
  list.codes.push(empty());
  list.stages.push(empty());
  numbers.set(name, at);
  return at;
}

const put = (text, at, letter) => text.slice(0, at) + letter + text.slice(at + 1);

const answers = (codes) => codes.reduce((sum, row) => sum + row.replaceAll("-", "").length, 0);

function take(found) {
  const list = data.questions;
  const changed = new Set();
  for (const [task, question, group, policy, cap, letter, stage] of found.news) {
    const q = place(task, question, group);
    const [p, b] = [data.policies.indexOf(policy), data.budgets.indexOf(cap)];
    list.codes[q][p] = put(list.codes[q][p], b, letter);
    list.stages[q][p] = put(list.stages[q][p], b, stage);
    changed.add(q);
  }
  for (const q of changed) {
    const n = answers(list.codes[q]);
    list.snippet[q] = `${n} answer${n === 1 ? "" : "s"} so far`;
    // What was read of this question before lacks these rows.
    delete details[q];
    loading.delete(Math.floor(q / data.shard));
  }
  latest = [...latest, ...found.news].slice(-LATEST);
  data.stages = found.stages;
  for (const v of data.views) v.cells = found.cells[v.task] || v.cells;
  since = found.since;
  return changed;
}

function drawStanding(found) {
  const done = found.total ? `${whole(found.rows)} of ${whole(found.total)} rows` : `${whole(found.rows)} rows`;
  const failed = found.failed ? `, ${whole(found.failed)} failed` : "";
  const left = known(found.seconds_left) ? `, about ${lasting(found.seconds_left)} left` : "";
  const how = found.state === "running" ? "Running" : "Stopped";
  const advice = found.state === "stopped" ? ". Run the same command again to go on." : "";
  byId("live-words").textContent = `${how}: ${done}${failed}${left}${advice}`;
  if (found.total) byId("live-bar").value = found.rows / found.total;
  fill(
    byId("live-rows"),
    [...latest].reverse().map(([, question, , policy, cap, letter]) => {
      const l = letter.toLowerCase();
      const words = `${SIGN[l]} ${LETTER[l]}${letter === l ? "" : ", cut"}`;
      return make("li", {}, make("b", { class: `v-${l}` }, words), ` ${question}: ${policy} at ${cap}`);
    }),
  );
}

// Large caps come first in a study: where most answers are, there is something to see.
function fullestCap() {
  const counts = data.budgets.map((_, i) => Object.values(view().cells).reduce((sum, c) => sum + (c[i] ? c[i][N] : 0), 0));
  return counts.indexOf(Math.max(...counts));
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

async function poll() {
  const reply = document.hidden ? null : await fetch(`live.json?since=${since}`).catch(() => null);
  let soon = false;
  if (reply && reply.ok) {
    const found = await reply.json();
    const axes = [found.tasks, found.policies, found.budgets];
    // Finished, or begun anew with other methods: the page is made again, at the same place.
    if (found.state === "finished" || found.since < since || !same(axes, [data.tasks, data.policies, data.budgets])) {
      location.reload();
      return;
    }
    const first = since === 0 && found.news.length && !location.hash;
    const changed = take(found);
    if (first) state.cap = fullestCap();
    drawStanding(found);
    if (found.news.length && !explaining) for (const f of listeners) f(new Set(first ? ["data", "cap"] : ["data"]));
    if (changed.has(state.open)) drawQuestion();
    if (found.news.length && state.open < 0 && data.questions.id.length) open(0, false);
    soon = found.more > 0;
  } else if (reply) byId("live-words").textContent = (await reply.text()).trim();
  document.body.dataset.rows = String(since);
  setTimeout(poll, soon ? 0 : POLL_MS);
}

startPicker();
if (data.live) startLive();
