// The list of runs: what each found, how far it is, and words in any question or chain of theirs.
const chosen = new Set();
let folder = "",
  runs = [],
  seen = "";

const address = (name) => `/run/${encodeURIComponent(name)}/`;
const when = (seconds) => new Date(1000 * seconds).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" });

function progress(run) {
  const share = run.total ? Math.min(1, run.rows / run.total) : 0;
  const done = run.total ? `${whole(run.rows)} of ${whole(run.total)} rows` : `${whole(run.rows)} rows`;
  const failed = run.failed ? `, ${whole(run.failed)} failed` : "";
  if (run.state === "finished") return { words: [`finished ${when(run.written_s)}${failed}`], share: null };
  const left = run.seconds_left === null ? "" : `, about ${lasting(run.seconds_left)} left`;
  const state = make("b", {}, run.state);
  return { words: [state, ` ${done}${failed}${left}`], share };
}

function facts(run) {
  const methods = run.methods.slice(0, 6).join(", ") + (run.methods.length > 6 ? ` and ${run.methods.length - 6} more` : "");
  const best = run.best && `${percent(run.best.accuracy)} ${run.best.policy} at ${run.best.budget}`;
  const caps = run.budgets.length ? `${run.budgets[0]} to ${run.budgets[run.budgets.length - 1]} (${run.budgets.length})` : "";
  const all = { model: run.model, task: run.tasks.join(", "), questions: run.questions, methods, caps, "most accurate": best };
  return Object.entries(all)
    .filter(([, value]) => value)
    .map(([name, value]) => make("span", {}, `${name} `, make("b", {}, String(value))));
}

function card(run) {
  const { words, share } = progress(run);
  const tick = make("input", { type: "checkbox", "aria-label": `compare ${run.name}`, onchange: (e) => choose(run.name, e.target.checked) });
  tick.checked = chosen.has(run.name);
  tick.disabled = run.state !== "finished";
  const head = run.headline || (run.state === "finished" ? "\u2026" : "");
  return make(
    "li",
    { "data-run": run.name, class: chosen.has(run.name) ? "chosen" : null },
    tick,
    make("a", { class: "name", href: address(run.name) }, run.name),
    make("span", { class: "state" }, words),
    share === null
      ? null
      : make(
          "div",
          { class: "bar", role: "progressbar", "aria-label": "rows", "aria-valuenow": Math.round(100 * share) },
          make("span", { style: { width: `${100 * share}%` } }),
        ),
    head ? make("p", { class: "headline" }, head) : null,
    make("p", { class: "facts" }, facts(run)),
  );
}

const words = () => byId("search").value.trim();
function matches(run) {
  const text = [run.name, run.model, ...run.tasks, ...run.methods, run.state, run.headline || ""].join(" ").toLowerCase();
  return text.includes(words().toLowerCase());
}

function drawRuns() {
  const here = runs.filter(matches);
  const counted = (n) => `${n} run${n === 1 ? "" : "s"}`;
  byId("subtitle").textContent = `${here.length === runs.length ? counted(runs.length) : `${here.length} of ${counted(runs.length)}`} in ${folder}${words() ? " named so" : ""}`;
  keepingFocus(byId("runs"), () => fill(byId("runs"), here.map(card)));
  byId("none").hidden = runs.length > 0;
  byId("none").textContent = `No runs in ${folder} yet. Start one with: thinkcap study`;
}

// Two at most: a third takes the place of the first.
function choose(name, on) {
  if (on) chosen.add(name);
  else chosen.delete(name);
  if (chosen.size > 2) chosen.delete([...chosen][0]);
  drawRuns();
  byId("compare").disabled = chosen.size !== 2;
  byId("chosen").textContent = chosen.size ? [...chosen].join(" and ") : "Tick two finished runs to compare them, paired where they share questions.";
}

function compare() {
  const [first, second] = chosen;
  location.href = `${address(first)}with/${encodeURIComponent(second)}/`;
}

async function look() {
  const reply = await fetch("/runs.json").catch(() => null);
  if (reply && reply.ok) {
    const text = await reply.text();
    if (text !== seen) {
      seen = text;
      ({ folder, runs } = JSON.parse(text));
      drawRuns();
    }
  } else byId("subtitle").textContent = "thinkcap view has stopped; start it again to continue.";
  const busy = runs.some((r) => r.state === "running" || (r.state === "finished" && r.headline === null));
  setTimeout(look, document.hidden ? 10_000 : busy ? 1_500 : 5_000);
  document.body.dataset.ready = "yes";
}

let asking = 0;
function searchAll() {
  clearTimeout(asking);
  drawRuns();
  const text = words();
  byId("found").hidden = text.length < 2;
  if (text.length < 2) return;
  byId("found-title").textContent = "Searching\u2026";
  fill(byId("hits"));
  asking = setTimeout(async () => {
    const reply = await fetch(`/search.json?q=${encodeURIComponent(text)}`).catch(() => null);
    if (words() !== text) return;
    if (!reply || !reply.ok) {
      byId("found-title").textContent = "The search failed.";
      return;
    }
    drawHits(text, await reply.json());
  }, 300);
}

function drawHits(text, { hits, whole: all, unread }) {
  const count = `${hits.length}${all ? "" : " or more"} question${hits.length === 1 && all ? "" : "s"}`;
  const missing = unread.length ? `; not readable: ${unread.join(", ")}` : "";
  byId("found-title").textContent = `\u201c${text}\u201d in ${count}${missing}`;
  fill(
    byId("hits"),
    hits.map((hit) => {
      const [before, match, after] = hit.around;
      const place = `${address(hit.run)}#${new URLSearchParams({ q: hit.question })}`;
      return make(
        "li",
        {},
        make("p", {}, make("a", { href: place }, `${hit.run}: ${hit.question}`), make("span", { class: "quiet" }, ` ${hit.where}`)),
        make("p", {}, "\u2026", before, make("mark", {}, match), after, "\u2026"),
      );
    }),
  );
}

function step(by) {
  const links = [...document.querySelectorAll("#runs .name")];
  const here = links.findIndex((a) => a.closest("li").contains(document.activeElement));
  const next = links[Math.max(0, Math.min(links.length - 1, here < 0 ? 0 : here + by))];
  if (next) next.focus();
}

function tickHere() {
  const card = document.activeElement.closest("#runs > li");
  const tick = card && card.querySelector("input:not([disabled])");
  if (tick) choose(card.dataset.run, !tick.checked);
}

function startKeys() {
  const help = () => {
    byId("keys").hidden = !byId("keys").hidden;
    byId("keys-button").setAttribute("aria-expanded", String(!byId("keys").hidden));
  };
  byId("keys-button").addEventListener("click", help);
  byId("theme").addEventListener("click", chooseTheme);
  const acts = { j: () => step(1), k: () => step(-1), x: tickHere, "/": () => byId("search").focus(), t: chooseTheme, "?": help };
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input[type=search]")) return;
    if (acts[e.key]) {
      e.preventDefault();
      acts[e.key]();
    }
  });
}

showTheme(firstTheme());
startKeys();
byId("compare").addEventListener("click", compare);
byId("find").addEventListener("submit", (e) => e.preventDefault());
byId("search").addEventListener("input", searchAll);
look();
