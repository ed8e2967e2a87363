// Nodes from plain values; shared by the report and the gateway's page. Text only ever becomes a text node.
const byId = (id) => document.getElementById(id);

function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") node.className = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "style") Object.assign(node.style, value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) node.append(child);
  return node;
}

const fill = (node, ...children) =>
  node.replaceChildren(...children.flat().filter((c) => c !== null && c !== undefined));
const percent = (v, digits = 1) => (v === null || v === undefined ? "\u2013" : `${(100 * v).toFixed(digits)} %`);
const whole = (v) => (v === null || v === undefined ? "\u2013" : Math.round(v).toLocaleString("en"));
