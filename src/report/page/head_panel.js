// The panel of one head, or of two side by side. It stands beside the map of heads if it was opened
// there, else over the page, which stays where it is. The address names the heads, so that Back and
// Forward step through them and a link can be shared.

function addressOf(headIndices) {
  return `#${headIndices.map(headName).join("+")}`;
}

// The heads an address names: none, one or two.
function headsIn(hash) {
  const headIndices = hash.slice(1).split("+").map(headIndexNamed);
  return headIndices.length <= 2 && !headIndices.includes(null) ? headIndices : [];
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

  show(headIndex) {
    this.title.textContent = headName(headIndex);
    this.facts.replaceChildren(...[...summarySections(headIndex), ...reasonSections(headIndex), alikeLine(headIndex)]
      .filter(Boolean));
    this.patterns?.showHead(headIndex);
    this.neurons?.show(headIndex);
    this.rest.replaceChildren(...factSections(headIndex));
  }
}

const headPanel = {
  headIndices: [],
  opener: null,
  besideMap: true,

  build() {
    this.title = element("h2", { id: "head-panel-title", tabindex: -1 });
    this.compare = element("select", { "aria-label": "Compare with another head" });
    this.columns = [new HeadColumn("pattern"), new HeadColumn("other-pattern")];
    const step = (by) => () => this.open([(this.headIndices[0] + headCount + by) % headCount, ...this.headIndices.slice(1)]);
    this.node = element("aside", { id: "head-panel", role: "dialog", "aria-labelledby": this.title.id, hidden: true },
      element("div", { class: "panel-bar" }, this.title,
        button("‹", step(-1), { "aria-label": "Previous head", title: "Previous head" }),
        button("›", step(1), { "aria-label": "Next head", title: "Next head" }), this.compare,
        button("Copy link", () => copyText(location.href, "Link")),
        button("Close", () => this.close())),
      element("div", { class: "head-columns" }, ...this.columns.map((column) => column.node)));
    document.body.append(this.node);
    this.compare.addEventListener("change", () => this.open(
      this.compare.value === "" ? [this.headIndices[0]] : [this.headIndices[0], Number(this.compare.value)]));
    this.node.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
    });
    window.addEventListener("popstate", () => this.follow());
    window.addEventListener("hashchange", () => this.follow());
  },

  // Shows what the address names, or else the head that the page opens with.
  follow() {
    const headIndices = location.hash === "" && headData.opened !== null ? [headData.opened] : headsIn(location.hash);
    if (headIndices.length > 0) this.show(headIndices);
    else this.hide();
  },

  open(headIndices) {
    const chosen = [...new Set(headIndices)];
    if (location.hash !== addressOf(chosen)) history.pushState(null, "", addressOf(chosen));
    this.show(chosen);
  },

  show(headIndices) {
    this.headIndices = headIndices;
    this.title.textContent = headIndices.length === 1 ? `Head ${headName(headIndices[0])}` : `Heads ${headIndices.map(headName).join(" and ")}`;
    this.node.hidden = false;
    this.place();
    this.node.classList.toggle("two", headIndices.length === 2);
    this.fillCompare();
    // All are hidden or not before one is drawn: a matrix fits the room there is.
    this.columns.forEach((column, i) => { column.node.hidden = i >= headIndices.length; });
    headIndices.forEach((headIndex, i) => this.columns[i].show(headIndex));
    headMap.mark(headIndices);
  },

  // Heads most like this one first.
  fillCompare() {
    const [headIndex, other] = this.headIndices;
    const alike = headData.neighbours.filter((list) => list.alike);
    const option = ([each, value]) => element("option", { value: each }, `${headName(each)} ${numberText(value)}`);
    this.compare.replaceChildren(element("option", { value: "" }, other === undefined ? "Compare with …" : "One head only"),
      ...alike.map((list) => element("optgroup", { label: spaced(list.title) }, ...list.byHead[headIndex].map(option))),
      element("optgroup", { label: "All heads" }, ...allHeads.filter((each) => each !== headIndex)
        .map((each) => element("option", { value: each }, headName(each)))));
    this.compare.value = other ?? "";
  },

  // Beside the map, in its tab, or over the page. A page that opens with a head has it over the page.
  place() {
    const beside = this.besideMap && headData.opened === null && window.matchMedia("(min-width: 1001px)").matches;
    const host = beside ? tabs.heads : document.body;
    if (this.node.parentElement !== host) host.prepend(this.node);
    this.node.classList.toggle("beside", beside);
    if (beside) tabs.choose("heads");
    document.body.classList.toggle("docked", headData.opened !== null);
    document.body.classList.toggle("panel-open", !beside);
  },

  openFrom(opener) {
    if (!this.node.contains(opener)) {
      this.opener = opener;
      this.besideMap = opener.closest(".overview") !== null && !opener.closest("#model-view");
    }
    this.open([Number(opener.dataset.headIndex)]);
    this.toTop();
  },

  toTop() {
    this.node.scrollTop = 0;
    this.title.focus({ preventScroll: true });
    if (this.node.classList.contains("beside") && this.node.getBoundingClientRect().top < 0) this.node.scrollIntoView({ block: "start" });
  },

  close() {
    history.pushState(null, "", location.pathname + location.search);
    this.hide();
    this.opener?.focus({ preventScroll: true });
  },

  hide() {
    this.headIndices = [];
    this.node.hidden = true;
    document.body.classList.remove("docked", "panel-open");
    headMap.mark([]);
  },
};
