// The panel of one head: type, pruning cost, patterns, circuits, closest heads, every score.

function headButton(unit) {
  return element("button", { type: "button", class: "head", "data-unit": unit }, headName(unit));
}

// One tick per head along the score's range; this head's tick is coloured.
function scoreStrip(score, unit) {
  const present = score.values.filter((value) => value !== null);
  const low = Math.min(...present), high = Math.max(...present);
  const strip = svgElement("svg", { viewBox: "0 0 104 16", class: "strip", "aria-hidden": "true" });
  const place = (value) => (2 + (high > low ? 100 * (value - low) / (high - low) : 50)).toFixed(1);
  const ticks = (values, from, to, kind) => strip.append(svgElement("path",
    { d: values.map((value) => `M${place(value)} ${from}V${to}`).join(""), class: kind }));
  if (low < 0 && high > 0) ticks([0], 0, 16, "zero");
  ticks(present, 4, 12, "others");
  if (score.values[unit] !== null) ticks([score.values[unit]], 0, 16, "own");
  return strip;
}

function scoreRow(score, unit) {
  const interval = score.low && score.low[unit] !== null
    ? `[${numberText(score.low[unit])}, ${numberText(score.high[unit])}]` : "";
  const units = score.units && score.units !== "1" ? element("span", { class: "faint" }, ` ${score.units}`) : null;
  return element("tr", {},
    element("th", { scope: "row" },
      element("a", { href: `#${score.anchor}`, title: score.about }, scoreTitle(score)), units),
    element("td", { class: "number" }, numberText(score.values[unit]),
      element("span", { class: "interval" }, interval)),
    element("td", { class: "number" }, rankText(score, unit)),
    element("td", {}, scoreStrip(score, unit)));
}

function scoreTable(scores, unit) {
  return element("div", { class: "wide" }, element("table", {},
    element("thead", {}, element("tr", {}, ...["Score", "Value", "Rank", "Among all heads"].map(
      (name, i) => element("th", { scope: "col", class: i === 1 || i === 2 ? "number" : null }, name)))),
    element("tbody", {}, ...scores.map((score) => scoreRow(score, unit)))));
}

function section(title, ...content) {
  return element("section", {}, element("h3", {}, title), ...content);
}

function typeChips(unit) {
  if (!headData.types) return null;
  const { names, colours, flags } = headData.types;
  const chips = flags[unit].map((type) => {
    const rgb = channels(colours[type]);
    const chip = element("li", {}, spaced(names[type]));
    chip.style.backgroundColor = cssColour(rgb);
    chip.style.color = inkOn(rgb);
    return chip;
  });
  if (chips.length === 0) return element("p", { class: "faint" }, "Passes the threshold of no type.");
  return element("ul", { class: "chips", "aria-label": "Types" }, ...chips);
}

function tableSection({ title, headings, units }, unit) {
  const found = units[unit];
  if (found.length === 0) return null;
  const rows = found.map((item) => element("tr", {},
    element("th", { scope: "row" }, spaced(item.label)),
    element("td", { class: "number" }, percentText(item.value)),
    element("td", { class: "number" }, percentText(item.baseline)),
    element("td", { class: "number" }, String(item.count))));
  return section(title, element("div", { class: "wide" }, element("table", {},
    element("thead", {}, element("tr", {}, ...headings.map(
      (name, i) => element("th", { scope: "col", class: i > 0 ? "number" : null }, name)))),
    element("tbody", {}, ...rows))));
}

function neighbourSection(unit) {
  const items = headData.neighbours.flatMap((list) => {
    if (list.units[unit].length === 0) return [];
    const heads = list.units[unit].map(([other, value]) => (
      element("span", { class: "neighbour" }, headButton(other), ` ${numberText(value)}`)));
    const chance = list.chance === undefined ? null
      : element("span", { class: "faint" }, `(random weights ${numberText(list.chance)})`);
    return [element("dt", { title: list.about }, spaced(list.title)), element("dd", {}, ...heads, chance)];
  });
  return items.length === 0 ? null : section("Closest heads", element("dl", {}, ...items));
}

const headPanel = {
  unit: null,
  opener: null,

  build() {
    this.title = element("h2", { id: "head-panel-title", tabindex: -1 });
    this.before = element("button", { type: "button" }, "‹ Previous");
    this.after = element("button", { type: "button" }, "Next ›");
    const close = element("button", { type: "button" }, "Close");
    this.facts = element("div");
    this.rest = element("div");
    this.patterns = headData.documents.length > 0 ? new PatternView() : null;
    this.node = element("aside", { id: "head-panel", role: "dialog", "aria-labelledby": this.title.id, hidden: true },
      element("div", { class: "panel-bar" }, this.title, this.before, this.after, close), this.facts,
      this.patterns ? section("Attention pattern", this.patterns.node) : null, this.rest);
    document.body.append(this.node);
    this.before.addEventListener("click", () => this.open((this.unit + headCount - 1) % headCount));
    this.after.addEventListener("click", () => this.open((this.unit + 1) % headCount));
    close.addEventListener("click", () => this.close());
    this.node.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
    });
    this.node.addEventListener("click", (event) => {
      const link = event.target.closest("a");
      if (!link) return;
      const target = document.getElementById(link.hash.slice(1));
      if (target instanceof HTMLDetailsElement) target.open = true;
      if (window.innerWidth < 1100) this.close();
    });
  },

  open(unit) {
    this.unit = unit;
    const title = headName(unit);
    this.title.textContent = `Head ${title}`;
    this.facts.replaceChildren(...[typeChips(unit)].filter(Boolean));
    this.patterns?.showHead(unit);
    const sections = headData.sections.flatMap(({ title: name, scores }) => (
      scores.length === 0 ? [] : [section(name, scoreTable(scores.map((i) => headData.scores[i]), unit))]));
    const all = element("details", {}, element("summary", {}, `All ${headData.scores.length} scores`));
    all.addEventListener("toggle", () => all.append(scoreTable(headData.scores, unit)), { once: true });
    this.rest.replaceChildren(...[...sections,
      ...headData.tables.map((table) => tableSection(table, unit)), neighbourSection(unit),
      headData.scores.length > 0 ? all : null].filter(Boolean));
    this.node.hidden = false;
    document.body.classList.add("with-panel");
    this.unmark();
    document.querySelector(`#head-map [data-unit="${unit}"]`).setAttribute("aria-current", "true");
    history.replaceState(null, "", `#${title}`);
  },

  unmark() {
    document.querySelector("#head-map [aria-current]")?.removeAttribute("aria-current");
  },

  openFrom(opener) {
    if (!this.node.contains(opener)) this.opener = opener;
    this.open(Number(opener.dataset.unit));
    this.node.scrollTop = 0;
    this.title.focus();
  },

  close() {
    this.node.hidden = true;
    this.unmark();
    document.body.classList.remove("with-panel");
    history.replaceState(null, "", " ");
    this.opener?.focus();
  },
};
