// Words that explain themselves: a term is a button whose text appears on hover, on focus and on a tap.
const WORDS = {
  right: "Share of graded answers that mean the same as the gold; failed ones are not counted.",
  "95 %": "The range in which the share for other questions of this kind is likely to lie (Wilson's interval, exact where few are right or few are wrong).",
  results: "Every answer at this cap: right, wrong, unreadable (no answer could be read) or failed (the run broke off, not counted).",
  tokens: "Mean tokens charged for a question, all calls of the method together. It never exceeds the cap.",
  claimed: "Mean tokens without the method's trial answers, as its authors count them. The charged tokens include them.",
  cut: "Share of chains that had not ended when their budget did.",
  n: "Graded answers.",
  stage: "The pass of the method that the answer came from: probe (a first try), think, answer, extract (read from the trace), close, trial, majority, round2 and so on.",
  calls: "How often the model was called for this answer.",
  why: "Where in the text the answer was read, and what it was compared with.",
  difference: "How many points better the second run is, on the questions both answered.",
  test: "McNemar's exact test on the questions where the two differ, with Holm's adjustment over all rows of the comparison.",
  "Chains still running": "Kaplan and Meier's estimate of the share of chains longer than a given number of tokens; a cut chain counts as longer than its cut.",
  "Why thinking loses": "The loss against answering at once, in two parts: truncation is the loss where the cap cut the chain, reasoning the loss where the chain ended.",
  "Chance that a chain ends next": "Of the chains that got this far, the share that ends with the next token.",
  "What thinking needs": "For each question, the smallest cap at which thinking was right.",
};

const tip = () => byId("tip");

function showTip(nodes, x, y) {
  const box = tip();
  fill(box, nodes);
  box.hidden = false;
  const { width, height } = box.getBoundingClientRect();
  const room = document.documentElement.clientWidth;
  const left = x + 14 + width > room ? x - 14 - width : x + 14;
  box.style.left = `${Math.max(4, Math.min(left, room - width - 4))}px`;
  box.style.top = `${y + 16 + height > window.innerHeight ? Math.max(4, y - height - 12) : y + 16}px`;
}

let explaining = false;
function hideTip() {
  tip().hidden = true;
  explaining = false;
}

function term(name, words) {
  const said = words || WORDS[name];
  if (!said) return name;
  const node = make("button", { type: "button", class: "term", "aria-description": said }, name);
  const show = () => {
    const box = node.getBoundingClientRect();
    showTip([make("span", { class: "said-words" }, said)], box.left - 14, box.bottom - 10);
    explaining = true;
  };
  for (const event of ["pointerenter", "focus", "click"]) node.addEventListener(event, show);
  for (const event of ["pointerleave", "blur"]) node.addEventListener(event, hideTip);
  return node;
}

document.addEventListener("keydown", (e) => e.key === "Escape" && hideTip());
window.addEventListener("scroll", hideTip, { passive: true });
