// What the panel says of a head: scores, relations and the heads nearest to it.

// One tick per head along the score's range; this head's tick is coloured.
function scoreStrip(score, headIndex) {
  const present = presentValues(score);
  const low = Math.min(...present), high = Math.max(...present);
  const strip = svgElement("svg", { viewBox: "0 0 104 16", class: "strip", "aria-hidden": "true" });
  const place = (value) => (2 + (high > low ? 100 * (value - low) / (high - low) : 50)).toFixed(1);
  const ticks = (values, from, to, kind) => strip.append(svgElement("path",
    { d: values.map((value) => `M${place(value)} ${from}V${to}`).join(""), class: kind }));
  if (low < 0 && high > 0) ticks([0], 0, 16, "zero");
  ticks(present, 4, 12, "others");
  if (valueOf(score, headIndex) !== null) ticks([score.values[headIndex]], 0, 16, "own");
  return strip;
}

function scoreRow(score, headIndex) {
  const interval = score.low && score.low[headIndex] !== null
    ? `[${numberText(score.low[headIndex])}, ${numberText(score.high[headIndex])}]` : "";
  const units = score.units && score.units !== "1" ? element("span", { class: "faint" }, ` ${score.units}`) : null;
  return element("tr", {},
    element("th", { scope: "row" },
      element("a", { href: `#${score.anchor}`, title: score.about }, scoreTitle(score)), units),
    element("td", { class: "number" }, numberText(score.values[headIndex]),
      element("span", { class: "interval" }, interval)),
    element("td", { class: "number" }, rankText(score, headIndex)),
    element("td", {}, scoreStrip(score, headIndex)));
}

function scoreTable(scores, headIndex) {
  return element("div", { class: "wide" }, element("table", {},
    element("thead", {}, element("tr", {}, ...["Score", "Value", "Rank", "Among all heads"].map(
      (name, i) => element("th", { scope: "col", class: i === 1 || i === 2 ? "number" : null }, name)))),
    element("tbody", {}, ...scores.map((score) => scoreRow(score, headIndex)))));
}

function section(title, ...content) {
  return element("section", {}, element("h3", {}, title), ...content);
}

// The rows of a table in which a head is above the baseline, best first.
function tableRows(table, headIndex) {
  return table.byHead[headIndex].map(([row, value]) => ({ ...table.rows[row], value }));
}

const tableRowsShown = 3;

function tableSection(table, headIndex) {
  const found = tableRows(table, headIndex);
  if (found.length === 0) return null;
  const part = (rows) => element("div", { class: "wide" }, element("table", {},
    element("thead", {}, element("tr", {}, ...table.headings.map(
      (name, i) => element("th", { scope: "col", class: i > 0 ? "number" : null }, name)))),
    element("tbody", {}, ...rows.map((item) => element("tr", {},
      element("th", { scope: "row" }, spaced(item.label)),
      element("td", { class: "number" }, percentText(item.value)),
      element("td", { class: "number" }, percentText(item.baseline)),
      element("td", { class: "number" }, String(item.count)))))));
  const more = found.slice(tableRowsShown);
  return section(table.title, part(found.slice(0, tableRowsShown)), more.length > 0
    ? element("details", {}, element("summary", {}, `and ${more.length} more`), part(more)) : null);
}

function neighbourSection(headIndex) {
  const items = headData.neighbours.flatMap((list) => {
    if (list.byHead[headIndex].length === 0) return [];
    const heads = list.byHead[headIndex].map(([other, value]) => (
      element("span", { class: "neighbour" }, headButton(other), ` ${numberText(value)}`)));
    const chance = list.chance === undefined ? null
      : element("span", { class: "faint" }, `(random weights ${numberText(list.chance)})`);
    return [element("dt", { title: list.about }, spaced(list.title)), element("dd", {}, ...heads, chance)];
  });
  return items.length === 0 ? null : section("Closest heads", element("dl", {}, ...items));
}

const portWords = { q: " by queries", k: " by keys", v: " by values" };

// By label, what a head reads and what reads it, with the port that reads.
function edgeSection({ title, about, caption, lists }, headIndex) {
  const line = (end, edges) => (edges.length === 0 ? [] : [element("div", {}, `${end} `, ...edges.map(
    ([name, value, port]) => element("span", { class: "neighbour" },
      headIndexNamed(name) === null ? name : headButton(headIndexNamed(name)), `${portWords[port] ?? ""} ${numberText(value)}`)))]);
  const items = lists.flatMap(({ label, reads, readers }) => {
    const lines = [...line("reads from", reads[headIndex]), ...line("is read by", readers[headIndex])];
    return lines.length === 0 ? [] : [element("dt", {}, spaced(label)), element("dd", {}, ...lines)];
  });
  return items.length === 0 ? null
    : section(title, element("p", { class: "faint", title: about }, caption), element("dl", {}, ...items));
}

// The heads most like this one, each with a button that shows both side by side.
function alikeLine(headIndex) {
  const parts = headData.neighbours.filter((list) => list.alike && list.byHead[headIndex].length > 0).map((list) => {
    const [other, value] = list.byHead[headIndex][0];
    return element("span", { class: "neighbour", title: list.about },
      `${spaced(list.title)}: `, headButton(other), ` ${numberText(value)} `,
      element("button", { type: "button", class: "small", "data-compare": other }, "Compare"));
  });
  return parts.length === 0 ? null : element("p", { class: "alike" }, ...parts);
}

// Names the variables that have too many values a head to be listed among its scores.
function leftOutLine() {
  if (headData.leftOut.length === 0) return null;
  const links = headData.leftOut.flatMap(({ name, anchor, values }, i) => [i > 0 ? ", " : "",
    element("a", { href: `#${anchor}` }, spaced(name)), ` (${values})`]);
  return element("p", { class: "faint" }, "Not listed, because they have many values per head: ", ...links, ". Their tables have them.");
}

function factSections(headIndex) {
  const sections = headData.sections.filter((part) => part.scores.length > 0).map(({ title, scores }) => (
    section(title, scoreTable(scores.map((index) => headData.scores[index]), headIndex))));
  const all = element("details", {}, element("summary", {}, `All ${headData.scores.length} scores`));
  all.addEventListener("toggle", () => all.append(scoreTable(headData.scores, headIndex), leftOutLine() ?? ""), { once: true });
  return [...sections, ...headData.tables.map((table) => tableSection(table, headIndex)),
    ...headData.edges.map((edges) => edgeSection(edges, headIndex)), neighbourSection(headIndex),
    headData.scores.length > 0 ? all : null].filter(Boolean);
}
