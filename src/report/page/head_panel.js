// The panel of one head, or of two side by side. It lies over the page, which stays where it is. The
// address names the heads, so that Back and Forward step through them and a link can be shared.

function addressOf(units) {
  return `#${units.map(headName).join("+")}`;
}

// The heads an address names: none, one or two.
function unitsIn(hash) {
  const units = hash.slice(1).split("+").map(unitNamed);
  return units.length <= 2 && !units.includes(null) ? units : [];
}

class HeadColumn {
  constructor(which) {
    this.which = which;
    this.title = element("h3", { class: "column-title" });
    this.facts = element("div");
    this.patterns = headData.documents.length > 0 ? new PatternView(which) : null;
    this.neurons = headData.neurons && this.patterns ? new NeuronView(which) : null;
    if (this.neurons) this.patterns.lines.onPin = ({ side, token }) => side === "query" && this.neurons.choose(token);
    this.rest = element("div");
    this.node = element("div", { class: "head-column" }, this.title, this.facts,
      this.patterns ? section("Attention pattern", patternControls(which), this.patterns.node,
        this.neurons?.node ?? null) : null, this.rest);
  }

  show(unit) {
    this.title.textContent = headName(unit);
    this.facts.replaceChildren(...[...reasonSections(unit), alikeLine(unit)].filter(Boolean));
    this.patterns?.showHead(unit);
    this.neurons?.show(unit);
    this.rest.replaceChildren(...factSections(unit));
  }
}

const headPanel = {
  units: [],
  opener: null,

  build() {
    this.title = element("h2", { id: "head-panel-title", tabindex: -1 });
    this.compare = element("select", { "aria-label": "Compare with another head" });
    this.columns = [new HeadColumn("pattern"), new HeadColumn("other-pattern")];
    const step = (by) => () => this.open([(this.units[0] + headCount + by) % headCount, ...this.units.slice(1)]);
    this.node = element("aside", { id: "head-panel", role: "dialog", "aria-labelledby": this.title.id, hidden: true },
      element("div", { class: "panel-bar" }, this.title,
        button("‹", step(-1), { "aria-label": "Previous head", title: "Previous head" }),
        button("›", step(1), { "aria-label": "Next head", title: "Next head" }), this.compare,
        button("Copy link", () => copyText(location.href, "Link")),
        button("Close", () => this.close())),
      element("div", { class: "head-columns" }, ...this.columns.map((column) => column.node)));
    document.body.append(this.node);
    this.compare.addEventListener("change", () => this.open(
      this.compare.value === "" ? [this.units[0]] : [this.units[0], Number(this.compare.value)]));
    this.node.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
    });
    window.addEventListener("popstate", () => this.follow());
    window.addEventListener("hashchange", () => this.follow());
  },

  // Shows what the address names, or else the head that the page opens with.
  follow() {
    const units = location.hash === "" && headData.opened !== null ? [headData.opened] : unitsIn(location.hash);
    if (units.length > 0) this.show(units);
    else this.hide();
  },

  open(units) {
    const chosen = [...new Set(units)];
    if (location.hash !== addressOf(chosen)) history.pushState(null, "", addressOf(chosen));
    this.show(chosen);
  },

  show(units) {
    this.units = units;
    this.title.textContent = units.length === 1 ? `Head ${headName(units[0])}` : `Heads ${units.map(headName).join(" and ")}`;
    this.node.hidden = false;
    document.body.classList.toggle("docked", headData.opened !== null);
    document.body.classList.add("panel-open");
    this.node.classList.toggle("two", units.length === 2);
    this.fillCompare();
    // All are hidden or not before one is drawn: a matrix fits the room there is.
    this.columns.forEach((column, i) => { column.node.hidden = i >= units.length; });
    units.forEach((unit, i) => this.columns[i].show(unit));
    headMap.mark(units);
  },

  // Heads most like this one first.
  fillCompare() {
    const [unit, other] = this.units;
    const alike = headData.neighbours.filter((list) => list.alike);
    const option = ([each, value]) => element("option", { value: each }, `${headName(each)} ${numberText(value)}`);
    const rest = Array.from({ length: headCount }, (_, each) => each).filter((each) => each !== unit);
    this.compare.replaceChildren(element("option", { value: "" }, other === undefined ? "Compare with …" : "One head only"),
      ...alike.map((list) => element("optgroup", { label: spaced(list.title) }, ...list.units[unit].map(option))),
      element("optgroup", { label: "All heads" }, ...rest.map((each) => element("option", { value: each }, headName(each)))));
    this.compare.value = other ?? "";
  },

  openFrom(opener) {
    if (!this.node.contains(opener)) this.opener = opener;
    this.open([Number(opener.dataset.unit)]);
    this.toTop();
  },

  toTop() {
    this.node.scrollTop = 0;
    this.title.focus({ preventScroll: true });
  },

  close() {
    history.pushState(null, "", location.pathname + location.search);
    this.hide();
    this.opener?.focus({ preventScroll: true });
  },

  hide() {
    this.units = [];
    this.node.hidden = true;
    document.body.classList.remove("docked", "panel-open");
    headMap.mark([]);
  },
};
