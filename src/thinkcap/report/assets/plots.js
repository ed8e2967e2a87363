// A chart on the page: its title, its words, its picture, the values under the pointer, and ways to keep it.
const plots = [];

class Plot {
  constructor(title, build, { say, pick } = {}) {
    this.title = title;
    this.build = build;
    this.say = say || (() => "");
    this.pick = pick;
    this.note = make("p");
    this.holder = make("div", { class: "plot" });
    this.tall = plots.length ? 230 : 320;
    const save = saveBox(title, {
      SVG: () => saveSvg(this.name(), this.whole()),
      PNG: () => savePng(this.name(), this.whole()),
      CSV: () => saveCsv(this.name(), this.spec.csv()),
    });
    const head = make("div", { class: "head" }, make("h3", {}, title), save);
    this.box = make("div", { class: "chart", "data-chart": title }, head, this.note, this.holder);
    // The first chart is the one the page is about: it stands alone, above the table.
    byId(plots.length ? "charts" : "lead").append(this.box);
    plots.push(this);
    this.holder.addEventListener("pointermove", (e) => this.point(e));
    for (const gone of ["pointerleave", "pointercancel", "pointerup"])
      this.holder.addEventListener(gone, (e) => (gone !== "pointerup" || e.pointerType !== "mouse") && this.leave());
    this.holder.addEventListener("click", (e) => {
      if (this.frame && this.pick) this.pick(this.frame.value(this.across(e)));
    });
    new ResizeObserver(() => this.width() !== this.drawn && this.draw()).observe(this.holder);
  }

  name() {
    return [data.name, this.title, state.group].filter(Boolean).join(" ");
  }
  width() {
    return Math.max(220, Math.floor(this.holder.clientWidth));
  }
  // As it is saved: of a size of its own, with its title and what the lines are.
  whole() {
    return render(this.spec, 900, this.tall + 100, { title: `${this.title} (${data.model}, ${data.tasks[state.task]}${state.group ? `, ${state.group}` : ""})`, key: this.spec.key || [] }).node;
  }
  across(event) {
    const box = this.holder.getBoundingClientRect();
    return ((event.clientX - box.left) * this.drawn) / (box.width || 1);
  }

  draw() {
    const looking = this.last;
    this.leave();
    this.spec = this.build();
    this.box.hidden = !this.spec;
    if (!this.spec) return;
    // A box that was hidden has its width only now.
    this.drawn = this.width();
    const { node, frame } = render(this.spec, this.drawn, this.tall);
    this.frame = frame;
    const words = this.say();
    node.setAttribute("role", "img");
    node.setAttribute("aria-label", `${this.title}. ${words}`);
    fill(this.holder, node);
    this.note.textContent = words;
    if (looking) this.point(looking);
  }

  // The values at the place nearest to the pointer; nothing of it stays when the pointer leaves.
  point(event) {
    if (!this.frame || !this.spec.tell || !this.spec.sites.length) return;
    const { clientX, clientY } = event;
    const x = this.across(event);
    const away = (s) => Math.abs(this.frame.x(s) - x);
    const site = this.spec.sites.reduce((best, s) => (away(s) < away(best) ? s : best));
    if (site !== this.site) {
      this.leave();
      this.site = site;
      const at = round(this.frame.x(site));
      this.guide = draw("line", { class: "guide", x1: at, x2: at, y1: this.frame.top, y2: this.frame.bottom });
      this.holder.firstChild.append(this.guide);
    }
    const { title, rows } = this.spec.tell(site);
    showTip(
      [make("b", {}, title), ...rows.map(([look, name, value]) => make("span", { class: "tip-row" }, look ? swatch(look) : make("i"), make("span", {}, name), make("b", {}, value)))],
      clientX,
      clientY,
    );
    this.last = { clientX, clientY };
  }

  leave() {
    if (this.guide) this.guide.remove();
    this.guide = this.site = this.last = null;
    hideTip();
  }
}

const swatch = (look) =>
  draw(
    "svg",
    { class: "swatch", viewBox: "0 0 26 12", width: 26, height: 12, "aria-hidden": "true" },
    draw("path", { class: "line", d: "M0 6H26", style: { stroke: look.hue, strokeDasharray: look.dash } }),
    marker(look, 13, 6),
  );
