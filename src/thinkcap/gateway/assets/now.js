// What the gateway is and has done: the policy of every cap, its counts, its limits.
const EVERY_MS = 2000;

function drawSteps() {
  const { steps } = model();
  const here = stepAt(cap());
  const does = Object.fromEntries(play.now.methods.map((m) => [m.name, m.does]));
  const measured = steps.some((s) => s.accuracy !== undefined);
  const heads = ["from", "policy", ...(measured ? ["right", "tokens"] : []), "what it does"];
  const cells = (s) => [
    make("td", {}, whole(s.from)),
    make("td", {}, s.budget === undefined ? s.policy : `${s.policy}, ${whole(s.budget)} tokens`),
    ...(measured ? [make("td", {}, percent(s.accuracy)), make("td", {}, whole(s.tokens))] : []),
    make("td", { class: "does" }, (does[s.policy.split("(")[0]] || "").replaceAll("`", "")),
  ];
  fill(
    byId("steps"),
    row("th", heads),
    steps.map((s) => make("tr", s === here ? { class: "here", "aria-current": "true" } : {}, cells(s))),
  );
  byId("steps-said").textContent = steps.some((s) => s.by === "profile")
    ? `From the profile of this model${measured ? `; right answers and mean tokens as measured on ${steps.find((s) => s.n)?.n ?? "its"} questions` : ""}.`
    : "No profile: the default, which needs no study.";
}

function drawCounts({ counts, limits }) {
  const shown = {
    answered: counts.answered,
    "under way": counts.in_flight,
    waiting: counts.queued,
    "tokens written": counts.tokens,
    "thought tokens": counts.reasoning_tokens,
    "cut by the cap": counts.cuts,
    fallbacks: counts.fallbacks,
    refused: counts.refused,
    failed: counts.failed,
  };
  fill(
    byId("counts"),
    Object.entries(shown).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, whole(value)))),
  );
  const stages = Object.entries(counts.tokens_by_stage).filter(([, tokens]) => tokens);
  fill(
    byId("by-stage"),
    stages.length ? "tokens by stage:" : null,
    stages.map(([stage, tokens]) => make("span", {}, `${stage} `, make("b", {}, whole(tokens)))),
  );
  byId("limits").textContent =
    `Limits: ${whole(limits.calls)} calls at a time, ${whole(limits.queue)} requests waiting, at most ` +
    `${whole(limits.default_max_tokens)} tokens if no max_tokens is sent, ${whole(limits.seconds)} s per request.`;
}

async function look() {
  try {
    if (!document.hidden && !byId("inside").hidden) drawCounts(await overview());
  } catch (error) {
    if (error.status === 401) shut(error.message);
    else byId("limits").textContent = "The gateway does not answer.";
  }
}

async function watch() {
  await look();
  setTimeout(watch, EVERY_MS);
}
