// The question, the cap and two lanes. A moved cap asks again once it rests.
const CAPS = [16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768];
const FIRST = 192;
const RESTS_MS = 350;
const play = { caps: [], at: 0, now: null, under: null, asked: false, timer: 0 };
const lanes = [new Lane(byId("left"), "First policy", ""), new Lane(byId("right"), "Second policy", "think")];

const cap = () => play.caps[play.at];
const model = () => play.now.models.find((m) => m.name === byId("model").value) || play.now.models[0];
const stepAt = (tokens) => model().steps.filter((s) => s.from <= tokens).pop();

// Each cap half as large again as the one before, together with those the profile measured.
function capsOf(served, limits) {
  const most = Math.min(limits.tokens, served.context || 32768);
  const found = [...CAPS];
  for (let c = 1024; c <= most; c *= 2) found.push(c, c * 1.5);
  found.push(...served.steps.map((s) => s.from));
  return [...new Set(found)].filter((c) => c >= 16 && c < most).sort((a, b) => a - b);
}

function setCap(at) {
  play.at = Math.max(0, Math.min(play.caps.length - 1, at));
  byId("cap").value = play.at;
  byId("cap").setAttribute("aria-valuetext", `${cap()} tokens`);
  byId("cap-value").textContent = whole(cap());
  offer();
  drawSteps();
}

function moveCap(at) {
  setCap(at);
  clearTimeout(play.timer);
  if (play.asked) play.timer = setTimeout(run, RESTS_MS);
}

function offer() {
  const served = stepAt(cap()).policy;
  for (const lane of lanes) lane.offer(play.now.methods, served, byId("kind").value);
}

function startModel() {
  const before = cap() || FIRST;
  play.caps = capsOf(model(), play.now.limits);
  byId("cap").max = play.caps.length - 1;
  setCap(play.caps.filter((c) => c <= before).length - 1);
  const { dialect, asked, context, thinks } = model();
  const speaks = `thinks between ${thinks[0]} and ${thinks[1]}${dialect ? ` (dialect ${dialect})` : ""}`;
  byId("subtitle").textContent = `${speaks}, asked ${asked}${context ? `, context ${whole(context)} tokens` : ""}`;
  byId("title").textContent = model().name;
  document.title = `thinkcap: ${model().name}`;
}

async function run() {
  clearTimeout(play.timer);
  halt();
  const words = byId("question").value;
  if (!words.trim()) return byId("question").focus();
  play.asked = true;
  const under = (play.under = new AbortController());
  byId("stop").disabled = false;
  await Promise.all(lanes.map((lane) => answerIn(lane, words, cap(), under.signal)));
  if (play.under === under) halt();
  return look();
}

async function answerIn(lane, words, tokens, signal) {
  const wishes = { policy: lane.pick.value || undefined, kind: byId("kind").value || undefined };
  const messages = [{ role: "user", content: words }];
  lane.begin(tokens);
  // A lane begun again in the meantime is no longer this answer's.
  const still = (f) => (given) => void (signal.aborted || f.call(lane, given));
  try {
    await ask({ model: model().name, messages, max_tokens: tokens, thinkcap: wishes }, signal, {
      thought: still(lane.thought),
      answer: still(lane.answer),
      about: still(lane.done),
    });
  } catch (error) {
    if (error.status === 401) shut(error.message);
    if (play.under === null || play.under.signal === signal) lane.failed(error, tokens);
  }
}

function halt() {
  if (play.under) play.under.abort();
  play.under = null;
  byId("stop").disabled = true;
}

function startPlay(now) {
  play.now = now;
  fill(byId("model"), now.models.map((m) => make("option", {}, m.name)));
  byId("model-box").hidden = now.models.length < 2;
  startModel();
  byId("model").addEventListener("change", startModel);
  byId("kind").addEventListener("change", offer);
  byId("cap").addEventListener("input", (e) => moveCap(Number(e.target.value)));
  byId("stop").addEventListener("click", halt);
  byId("play").addEventListener("submit", (e) => {
    e.preventDefault();
    run();
  });
}
