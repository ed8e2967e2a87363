// One policy's side: thought, cut and answer as they are written, and its tokens by stage under the cap.
class Lane {
  constructor(place, title, first) {
    this.first = first; // The policy picked at the start; empty is the one this cap gets.
    this.pick = make("select", { "aria-label": `${title}` });
    this.status = make("p", { class: "status", role: "status" }, "Not asked yet.");
    this.bar = make("div", { class: "stack", role: "img", "aria-label": "no tokens yet" });
    this.trace = make("pre", { class: "trace", tabindex: 0, "aria-label": `thought and answer, ${title}` });
    this.stages = make("table", { class: "stages" });
    const name = make("label", { class: "pick" }, `${title} `, this.pick);
    fill(place, name, this.status, this.bar, this.trace, make("div", { class: "scroll" }, this.stages));
  }

  // The choices stay as they were; what needs a kind of answer cannot be picked without one.
  offer(methods, served, kind) {
    const now = this.pick.options.length ? this.pick.value : this.first;
    const option = (value, words, off) => make("option", { value, disabled: off }, words);
    fill(
      this.pick,
      option("", `as served: ${served}`),
      methods.map((m) => option(m.name, m.needs_kind && !kind ? `${m.name} (needs a kind)` : m.name, m.needs_kind && !kind)),
    );
    this.pick.value = now;
    if (this.pick.selectedIndex < 0 || this.pick.selectedOptions[0].disabled) this.pick.value = "";
  }

  begin(cap) {
    this.cap = cap;
    this.pieces = { thought: 0, said: 0 };
    this.span = null;
    fill(this.trace);
    fill(this.stages);
    this.tell("Waiting for its turn.");
    this.draw([]);
  }

  thought(text) {
    this.put("thought", text);
  }

  answer(text) {
    this.put("said", text);
  }

  put(kind, text) {
    if (!this.span || this.span.className !== kind) {
      if (this.span) this.trace.append("\n");
      this.span = make("span", { class: kind });
      this.trace.append(this.span);
    }
    const below = this.trace.scrollHeight - this.trace.scrollTop - this.trace.clientHeight < 40;
    this.span.append(text);
    if (below) this.trace.scrollTop = this.trace.scrollHeight;
    // An event is about a token; what was really spent comes at the end.
    this.pieces[kind] += 1;
    const { thought, said } = this.pieces;
    this.tell(`Writing: about ${whole(thought + said)} of ${whole(this.cap)} tokens.`, true);
    this.draw([["thought", thought], ["said", said]]);
  }

  done(about) {
    const stages = about.stages || [];
    this.cut(stages, about);
    const by = { request: "asked for", profile: "the profile's", default: "the default", tools: "tools", media: "media" };
    const end = about.complete ? "answered" : "cut by the cap";
    const more = about.fallback ? " The policy gave no answer; what was left went into one without thinking." : "";
    this.tell(
      `${about.policy} (${by[about.chosen_by] || about.chosen_by}): ${end} with ${whole(about.tokens)} of ${whole(about.cap)} tokens.${more}`,
    );
    this.draw(stages.flatMap(parts));
    const cells = (s) => [s.stage, whole(s.budget), whole(s.tokens), whole(s.reasoning_tokens), s.ended ? "by itself" : "cut"];
    fill(
      this.stages,
      row("th", ["stage", "budget", "tokens", "thought", "ended"]),
      stages.map((s) => row("td", cells(s))),
    );
  }

  // The mark stands where the thought ends and the answer begins, or where the text breaks off.
  cut(stages, about) {
    const thinking = stages.filter((s) => s.reasoning_tokens && !s.ended);
    const mark = (words) => make("span", { class: "cut" }, words);
    const answer = this.trace.querySelector(".said");
    if (thinking.length && answer) {
      const tokens = thinking.reduce((sum, s) => sum + s.reasoning_tokens, 0);
      answer.before(mark(`Thought cut after ${whole(tokens)} tokens; the answer has the rest`));
    }
    if (!about.complete) this.trace.append(mark(`Cut at ${whole(about.cap)} tokens`));
  }

  failed(error, cap) {
    if (error.code === "answer_not_reached") {
      this.trace.append(make("span", { class: "cut" }, `Cut at ${whole(cap)} tokens, before any answer`));
      this.draw([["thought", cap]]);
    }
    this.tell(error.name === "AbortError" ? "Stopped." : `No answer: ${error.message}`);
    this.status.classList.toggle("bad", error.name !== "AbortError");
  }

  tell(words, busy = false) {
    this.status.classList.remove("bad");
    // Said to nobody while it changes with every piece, and aloud once it is over.
    this.status.setAttribute("aria-busy", String(busy));
    this.status.textContent = words;
  }

  draw(shares) {
    const used = shares.reduce((sum, [, tokens]) => sum + tokens, 0);
    const width = (tokens) => ({ width: `${(100 * tokens) / Math.max(this.cap, used, 1)}%` });
    fill(this.bar, shares.map(([kind, tokens]) => make("span", { class: `${kind}-fill`, style: width(tokens) })));
    this.bar.setAttribute("aria-label", `${used} of ${this.cap} tokens`);
  }
}

const row = (tag, cells) => make("tr", {}, cells.map((cell) => make(tag, {}, String(cell))));

function parts(stage) {
  const ours = stage.forced_tokens || 0;
  const thought = stage.reasoning_tokens || 0;
  return [["thought", thought], ["ours", ours], ["said", Math.max(0, stage.tokens - thought - ours)]];
}
