// Figures and tables as files: SVG and PNG as they are seen, CSV with every digit.
const DRAWN = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "fill-opacity", "opacity", "font-size", "font-weight", "font-family"];

function saveBox(what, ways) {
  return make(
    "span",
    { class: "save", role: "group", "aria-label": `Save ${what}` },
    Object.entries(ways).map(([kind, act]) =>
      make("button", { type: "button", "aria-label": `${what} as ${kind}`, onclick: act }, kind),
    ),
  );
}

const fileName = (name, kind) => `${name.replace(/[^\p{L}\p{N}.]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 90)}.${kind}`;

function saved(name, kind, blob) {
  const url = URL.createObjectURL(blob);
  make("a", { href: url, download: fileName(name, kind) }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// Colours come from the page's style sheet, which a file of its own does not have: they are written into it.
function standalone(node) {
  const holder = make("div", { class: "offstage" }, node);
  document.body.append(holder);
  for (const each of node.querySelectorAll("*")) {
    const seen = getComputedStyle(each);
    const said = DRAWN.map((p) => [p, seen.getPropertyValue(p)]).filter(([, v]) => v && v !== "none" && v !== "normal");
    each.removeAttribute("class");
    each.removeAttribute("style");
    for (const [property, value] of said) each.setAttribute(property, value);
    if (!said.some(([p]) => p === "fill")) each.setAttribute("fill", "none");
  }
  node.prepend(draw("rect", { width: "100%", height: "100%", fill: css("--ground") }));
  holder.remove();
  return new XMLSerializer().serializeToString(node);
}

const saveSvg = (name, node) => saved(name, "svg", new Blob([standalone(node)], { type: "image/svg+xml" }));

function savePng(name, node) {
  const [width, height] = [node.width.baseVal.value, node.height.baseVal.value];
  const image = new Image();
  image.onload = () => {
    const canvas = make("canvas", { width: 2 * width, height: 2 * height });
    canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
    canvas.toBlob((blob) => saved(name, "png", blob), "image/png");
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standalone(node))}`;
}

// A text that a spreadsheet would take for a formula is kept a text.
function cellText(value) {
  if (value === null || value === undefined) return "";
  const text = String(value);
  const harmless = typeof value === "number" || !/^[=+\-@\t\r]/.test(text) || /^[+-][\d.,]+$/.test(text);
  const kept = harmless ? text : `'${text}`;
  return /[",\n\r]/.test(kept) ? `"${kept.replaceAll('"', '""')}"` : kept;
}

const saveCsv = (name, rows) =>
  saved(name, "csv", new Blob([rows.map((row) => row.map(cellText).join(",")).join("\n") + "\n"], { type: "text/csv" }));

// A table as it stands on the page.
const tableRows = (table) =>
  [...table.rows].map((row) => [...row.cells].map((c) => (c.dataset.csv === undefined ? c.textContent.trim() : c.dataset.csv)));
