// The page's data about heads. A head's index is layer * heads + head.
const headData = JSON.parse(document.getElementById("head-data")?.textContent ?? "null");

const headCount = headData ? headData.layers * headData.heads : 0;
const allHeads = Array.from({ length: headCount }, (_, headIndex) => headIndex);

function headName(headIndex) {
  return `L${Math.floor(headIndex / headData.heads)}H${headIndex % headData.heads}`;
}

// The index of a head; null if the model has no such head.
function headIndexOf(layer, head) {
  if (!headData || layer >= headData.layers || head >= headData.heads) return null;
  return layer * headData.heads + head;
}

// The index of `L5H1`; null for any other text.
function headIndexNamed(text) {
  const found = /^\s*L(\d+)H(\d+)\s*$/i.exec(text);
  return found ? headIndexOf(Number(found[1]), Number(found[2])) : null;
}

function headButton(headIndex) {
  return element("button", { type: "button", class: "head", "data-head-index": headIndex }, headName(headIndex));
}

function spaced(name) {
  return name.replaceAll("_", " ");
}

function numberText(value) {
  return value === null ? "–" : String(value).replaceAll("-", "−");
}

function percentText(share) {
  if (share > 0 && share < 0.01) return "<\u00a01\u00a0%";
  return `${Math.round(100 * share)}\u00a0%`;
}

function typesOf(headIndex) {
  return headData.types ? headData.types.flags[headIndex].map((type) => headData.types.names[type]) : [];
}

function scoreTitle(score) {
  return score.label ? `${spaced(score.name)}, ${spaced(score.label)}` : spaced(score.name);
}

// A head's value of a score; null for a removed head, whose value says nothing of the model.
function valueOf(score, headIndex) {
  return headData.removed[headIndex] ? null : score.values[headIndex];
}

function presentValues(score) {
  return allHeads.map((headIndex) => valueOf(score, headIndex)).filter((value) => value !== null);
}

// Rank of a head among the model's heads that have the score; the largest value is 1.
function rankText(score, headIndex) {
  const value = valueOf(score, headIndex);
  if (value === null) return "–";
  const present = presentValues(score);
  return `${1 + present.filter((other) => other > value).length} of ${present.length}`;
}

// Heads by falling value; heads without one and removed heads are left out.
function ranked(values) {
  return allHeads.filter((headIndex) => values[headIndex] !== null && !headData.removed[headIndex])
    .sort((a, b) => values[b] - values[a]);
}
