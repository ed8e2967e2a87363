// The door where keys are set, the theme, the keyboard, and the first look.
function shut(words) {
  halt();
  key = "";
  byId("inside").hidden = true;
  byId("door").hidden = false;
  byId("door-said").textContent = words;
  byId("subtitle").textContent = "";
  byId("key").focus();
}

async function enter() {
  let now;
  try {
    now = await overview();
  } catch (error) {
    if (error.status === 401) shut(key ? "This key is not known here." : "");
    else byId("subtitle").textContent = `The gateway does not answer: ${error.message}`;
    return;
  }
  byId("door").hidden = true;
  byId("inside").hidden = false;
  if (!play.now) startPlay(now);
  drawCounts(now);
  byId("question").focus();
}

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  byId("theme").textContent = name === "dark" ? "Light" : "Dark";
}

function switchTheme() {
  setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
}

function onKey(e) {
  if (e.key === "Escape") return halt();
  if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && !byId("inside").hidden) {
    e.preventDefault();
    return run();
  }
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("textarea, select, input:not([type=range])")) return undefined;
  const act = { "[": () => moveCap(play.at - 1), "]": () => moveCap(play.at + 1), t: switchTheme }[e.key];
  if (act && play.now) act();
  return undefined;
}

async function start() {
  setTheme(window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  byId("theme").addEventListener("click", switchTheme);
  document.addEventListener("keydown", onKey);
  byId("door").addEventListener("submit", (e) => {
    e.preventDefault();
    key = byId("key").value.trim();
    byId("key").value = "";
    enter();
  });
  await enter();
  watch();
  document.body.dataset.ready = "yes";
}
start();
