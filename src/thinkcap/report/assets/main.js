// Start: theme, keys, the slider, the address, and the first drawing.
function startKeys() {
  const help = () => {
    const keys = byId("keys");
    keys.hidden = !keys.hidden;
    byId("keys-button").setAttribute("aria-expanded", String(!keys.hidden));
  };
  const move = (by) => change({ cap: Math.max(0, Math.min(data.budgets.length - 1, state.cap + by)) });
  byId("keys-button").addEventListener("click", help);
  byId("theme").addEventListener("click", chooseTheme);
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input[type=search], select, textarea")) return;
    const act = {
      "[": () => move(-1),
      "]": () => move(1),
      j: () => step(1),
      k: () => step(-1),
      "/": () => byId("search").focus(),
      t: chooseTheme,
      "?": help,
    }[e.key];
    if (act) {
      e.preventDefault();
      act();
    }
  });
}

function startSlider() {
  const cap = byId("cap");
  cap.max = data.budgets.length - 1;
  const show = () => {
    cap.value = state.cap;
    cap.setAttribute("aria-valuetext", `${budget()} tokens`);
    byId("cap-value").textContent = budget();
  };
  cap.addEventListener("input", () => change({ cap: Number(cap.value) }));
  onChange((keys) => {
    if (keys.has("cap")) show();
    if (["cap", "task", "group", "shown", "data"].some((k) => keys.has(k))) {
      hideTip();
      keepingFocus(byId("methods"), drawMethods);
      drawCompare();
    }
    if (keys.has("cap") || keys.has("open")) remember();
  });
  show();
}

// The cap and the question stand in the address, so that a place can be shown to somebody.
function remember() {
  const words = new URLSearchParams({ cap: budget() });
  if (state.open >= 0) words.set("q", data.questions.id[state.open]);
  try {
    history.replaceState(null, "", `#${words}`);
  } catch {
    /* a page in a sandbox has no address to change */
  }
}

function recall() {
  const words = new URLSearchParams(location.hash.slice(1));
  const cap = data.budgets.indexOf(Number(words.get("cap")));
  if (cap >= 0) state.cap = cap;
  const q = data.questions.id.indexOf(words.get("q"));
  if (q >= 0) {
    state.open = q;
    state.task = data.questions.task[q];
  }
}

// The cap that the verdict speaks of; without a verdict, the middle one.
function firstCap() {
  const cap = data.opens ? data.budgets.indexOf(data.opens.cap) : -1;
  return cap >= 0 ? cap : Math.floor(data.budgets.length / 2);
}

function firstShown() {
  const last = (p) => {
    const c = data.views.length && data.views[0].cells[data.policies[p]].filter((v) => v).pop();
    return c ? c[2] : 0;
  };
  const plain = ["nothink", "think"].map((n) => data.policies.indexOf(n)).filter((i) => i >= 0);
  const others = data.policies
    .map((_, i) => i)
    .filter((i) => !plain.includes(i))
    .sort((a, b) => last(b) - last(a));
  const said = (data.opens ? data.opens.policies : []).map((n) => data.policies.indexOf(n)).filter((i) => i >= 0);
  return new Set([...new Set([...plain, ...said, ...others])].slice(0, Math.max(5, plain.length + said.length)));
}

function start() {
  state.cap = firstCap();
  if (data.opens) state.task = Math.max(0, data.tasks.indexOf(data.opens.task));
  state.shown = firstShown();
  state.by = Math.max(0, data.policies.indexOf("think"));
  recall();
  showTheme(firstTheme());
  startVerdict();
  startCharts();
  startList();
  startQuestion();
  startSlider();
  startKeys();
  drawFilters();
  drawMethods();
  drawCompare();
  drawList();
  if (state.open < 0 && found.length) state.open = found[0];
  drawList();
  drawQuestion();
  for (const p of plots) p.draw();
  window.addEventListener("beforeprint", () => {
    start.before = document.documentElement.dataset.theme;
    showTheme("light");
  });
  window.addEventListener("afterprint", () => {
    showTheme(start.before);
  });
  document.body.dataset.ready = "yes";
}
start();
