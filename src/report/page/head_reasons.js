// Why a head is of its types: the score against baseline and threshold, and sentences of the corpus
// with the arcs it finds and one that it misses.

// The score's place between zero and the largest of the numbers, with baseline and threshold.
function reasonBar({ score, baseline, threshold }) {
  const end = Math.max(1, score ?? 0, threshold ?? 0);
  const bar = svgElement("svg", { viewBox: "0 0 204 16", class: "reason-bar", "aria-hidden": "true" });
  const place = (value) => 2 + 200 * Math.min(1, Math.max(0, value / end));
  bar.append(svgElement("path", { d: "M2 8H202", class: "axis" }));
  bar.append(svgElement("path", { d: `M2 8H${place(score)}`, class: "reached" }));
  if (baseline !== null) bar.append(svgElement("path", { d: `M${place(baseline)} 3V13`, class: "baseline" }));
  if (threshold !== null) bar.append(svgElement("path", { d: `M${place(threshold)} 1V15`, class: "threshold" }));
  bar.append(svgElement("circle", { cx: place(score), cy: 8, r: 4 }));
  return bar;
}

function reasonText({ score, baseline, threshold, about }) {
  const short = (value) => numberText(Number(value.toPrecision(3)));
  const parts = [`${about ? `${spaced(about)}: ` : ""}score ${short(score)}`];
  if (threshold !== null) parts.push(`threshold ${short(threshold)}`);
  if (baseline !== null) parts.push(`baseline ${short(baseline)}`);
  return parts.join(", ");
}

// The text with its query, target and attended words marked; characters are code points.
function exampleText({ text, query, target, attended, found }) {
  const places = [[query, "query"], [target, "target"], ...(found ? [] : [[attended, "attended"]])]
    .filter(([[start]]) => start >= 0).sort((a, b) => a[0][0] - b[0][0]);
  const characters = Array.from(text);
  const nodes = [];
  let at = 0;
  for (const [[start, end], kind] of places) {
    if (start < at) continue;
    nodes.push(characters.slice(at, start).join(""), element("mark", { class: kind }, characters.slice(start, end).join("")));
    at = end;
  }
  return element("p", { class: "example-text" }, ...nodes, characters.slice(at).join(""));
}

// Draws an arc over the text from the marked query to another mark.
function exampleArc(box, from, to, kind) {
  const place = (node) => {
    const rect = node.getBoundingClientRect();
    return [rect.left + rect.width / 2 - box.left, rect.top - box.top];
  };
  const [x, y] = place(from), [toX, toY] = place(to);
  const top = Math.min(y, toY) - Math.min(22, 6 + Math.abs(x - toX) / 8);
  return [svgElement("path", { d: `M${x} ${y}C${x} ${top} ${toX} ${top} ${toX} ${toY - 4}`, class: kind }),
    svgElement("path", { d: `M${toX - 4} ${toY - 6}H${toX + 4}L${toX} ${toY}Z`, class: `head-of-arrow ${kind}` })];
}

function drawArcs(node) {
  const text = node.querySelector(".example-text");
  const query = text.querySelector(".query");
  const box = text.getBoundingClientRect();
  const arcs = ["target", "attended"].map((kind) => [text.querySelector(`.${kind}`), kind]);
  node.querySelector("svg").replaceChildren(...arcs.filter(([mark]) => mark && query)
    .flatMap(([mark, kind]) => exampleArc(box, query, mark, kind)));
}

const arcWatcher = new ResizeObserver((entries) => entries.forEach(({ target }) => drawArcs(target)));

function exampleItem(example, note) {
  const node = element("li", { class: example.found ? "example" : "example missed" },
    svgElement("svg", { "aria-hidden": "true" }), exampleText(example), note);
  arcWatcher.observe(node);
  return node;
}

function notedExample(example) {
  const itself = example.attended[0] === example.query[0];
  const note = example.found ? (example.type === "sink" ? "✓ rests on the first token of the text" : "✓ found")
    : `✗ missed: attends most to ${itself ? "itself" : `“${example.attendedText.trim()}”`}`;
  return exampleItem(example, element("span", { class: "faint" }, note));
}

function exampleLegend() {
  const entry = (kind, text) => element("span", {}, element("mark", { class: kind }, "word"), text);
  return element("p", { class: "example-legend faint" }, entry("query", "attends"), entry("target", "should be attended to"),
    entry("attended", "is attended to instead"));
}

// One section for each type of the head, the main type first.
function reasonSections(headIndex) {
  if (headData.removed[headIndex]) {
    return [element("p", { class: "faint" }, "Was removed from the model: its values are those of a head without output.")];
  }
  if (!headData.types) return [];
  const { names, colours } = headData.types;
  const types = typesByPlace(headIndex);
  if (types.length === 0) return [element("p", { class: "faint" }, "Has no type: it passes no threshold.")];
  return types.map((type) => {
    const held = headData.reasons?.heads[headIndex][names[type]];
    const reason = held && held.score !== null ? held : null;
    const sentence = headData.reasons?.sentences[type];
    const found = headData.examples[headIndex].filter((example) => example.type === names[type]);
    const chip = paint(element("span", { class: "chip" }, spaced(names[type])), colours[type]);
    const notes = (held?.notes ?? []).map((note) => element("p", { class: "note" }, note[0].toUpperCase() + note.slice(1) + "."));
    return element("section", { class: "reason" }, element("h3", {}, "Why ", chip),
      sentence ? element("p", { class: "type-sentence" }, sentence) : null, ...notes,
      reason ? element("p", {}, reasonBar(reason), ` ${reasonText(reason)}`) : null,
      reason ? element("p", { class: "faint" }, headData.reasons.rules[type]) : null,
      found.length > 0 ? exampleLegend() : null,
      found.length > 0 ? element("ul", { class: "examples" }, ...found.map(notedExample)) : null);
  });
}

// What analyses say of a head before anything else, with places of the corpus.
function summarySections(headIndex) {
  return headData.summaries[headIndex].map(({ text, title, places }) => element("section", {}, element("p", {}, text),
    places.length > 0 ? element("details", {}, element("summary", {}, title),
      element("ul", { class: "examples" }, ...places.map((place) => exampleItem(place, null)))) : null));
}
