// Graphs: point at a node, or step to it with the arrow keys, for the edges that it reads by and those
// that read it; point at an edge for its value. A switch shows nodes and edges that the picture leaves out.

const mostEdgesNamed = 8;

class GraphView {
  constructor(svg, data) {
    this.data = data;
    this.graph = data.graph;
    this.all = this.graph.edges;
    this.largest = Math.max(...this.all.filter((edge) => !this.isOnSwitch(edge)).map(({ value }) => Math.abs(value)));
    const { width, height } = svg.viewBox.baseVal;
    this.shown = svgElement("g", { class: "shown" });
    this.others = svgElement("g", { class: "others" });
    this.edges = this.all.map((edge) => svgElement("path", { class: "edge", d: this.path(edge) }));
    this.nodes = this.graph.nodes.map((node) => this.nodeTarget(node));
    this.steps = this.nodesAsRead();
    this.overlay = svgElement("svg", { class: "overlay", viewBox: `0 0 ${width} ${height}`, role: "group",
      "aria-label": `Nodes of ${data.title}` });
    this.overlay.append(this.others, this.shown, ...this.edges, ...this.nodes);
    this.node = element("div", { class: "graph" });
    svg.replaceWith(this.node);
    this.node.append(svg, this.overlay);
    if (this.graph.switchLabel) this.node.before(toggleButton(this.graph.switchLabel, (on) => this.showOthers(on)));
    this.showOthers(false);
    this.listen();
  }

  // From left to right in each row, the highest row first.
  nodesAsRead() {
    const { nodes } = this.graph;
    const order = nodes.map((node, i) => i).sort((a, b) => nodes[b].row - nodes[a].row || nodes[a].column - nodes[b].column);
    return order.map((i) => this.nodes[i]);
  }

  isOther(node) {
    return this.graph.nodeKinds[node.kind].behindSwitch;
  }

  isOnSwitch({ from, to, kind }) {
    return this.graph.edgeKinds[kind].behindSwitch || this.isOther(this.graph.nodes[from]) || this.isOther(this.graph.nodes[to]);
  }

  // Draws what the picture leaves out, or takes it away.
  showOthers(on) {
    const isShown = (edge) => on || !this.isOnSwitch(edge);
    this.visible = this.all.filter(isShown);
    this.edges.forEach((edge, i) => { edge.style.display = isShown(this.all[i]) ? "" : "none"; });
    this.nodes.forEach((node, i) => {
      node.style.display = on || !this.isOther(this.graph.nodes[i]) ? "" : "none";
      node.setAttribute("aria-label", this.nodeLines(i).join("; "));
    });
    this.others.replaceChildren(...(on ? [
      ...this.all.filter((edge) => this.isOnSwitch(edge)).map((edge) => this.drawnEdge(edge)),
      ...this.graph.nodes.flatMap((node) => (this.isOther(node) ? this.drawnNode(node) : [])),
    ] : []));
    setTabStop(this.steps);
  }

  // As wide as its value, up to the largest in the picture.
  drawnEdge(edge) {
    return svgElement("path", { d: this.path(edge), fill: "none", stroke: this.graph.edgeKinds[edge.kind].colour,
      "stroke-width": (1 + 5 * Math.min(1, Math.abs(edge.value) / this.largest)).toFixed(1) });
  }

  drawnNode(node) {
    const [x, y] = this.place(node);
    const name = svgElement("text", { x: x.toFixed(1), y: (y - 8).toFixed(1) });
    name.textContent = node.name;
    return [this.circle(node, { r: 5, fill: this.graph.nodeKinds[node.kind].colour }), name];
  }

  // A place in the SVG's own units.
  place({ column, row }) {
    const [left, top, width, height] = this.data.areas[0];
    return [left + width * axisShare(this.data.x[0], column), top + height * (1 - axisShare(this.data.y[0], row))];
  }

  path({ from, to, rise }) {
    const [start, end] = [this.graph.nodes[from], this.graph.nodes[to]];
    const [right, up] = this.graph.bands ? [rise, 0] : [0, rise];
    const middle = { column: (start.column + end.column) / 2 + right, row: (start.row + end.row) / 2 + up };
    const [a, b, c] = [start, middle, end].map((each) => this.place(each).map((x) => x.toFixed(1)).join(" "));
    return `M${a}Q${b} ${c}`;
  }

  circle(node, attributes) {
    const [cx, cy] = this.place(node);
    return svgElement("circle", { cx: cx.toFixed(1), cy: cy.toFixed(1), r: 9, ...attributes });
  }

  // A head's opens its panel.
  nodeTarget(node) {
    const headIndex = headData ? headIndexNamed(node.name) : null;
    const target = this.circle(node, { class: "node", role: headIndex === null ? "img" : "button" });
    if (headIndex !== null) target.dataset.headIndex = headIndex;
    return target;
  }

  edgesOf(index, end) {
    return this.visible.filter((edge) => edge[end] === index)
      .sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  }

  // ` by keys` of an edge `read by keys` to a head; an MLP and the logits have one port.
  port({ to, kind }) {
    return /^L\d+H\d+$/.test(this.graph.nodes[to].name) ? this.graph.edgeKinds[kind].label.replace(/^read/, "") : "";
  }

  edgeLine(edge) {
    const [from, to] = [this.graph.nodes[edge.from].name, this.graph.nodes[edge.to].name];
    return `${from} → ${to}${this.port(edge)}`;
  }

  // What a node reads, and what reads it.
  nodeLines(index) {
    const node = this.graph.nodes[index];
    const list = (end, other) => {
      const edges = this.edgesOf(index, end);
      const named = edges.slice(0, mostEdgesNamed).map((edge) => (
        `${this.graph.nodes[edge[other]].name}${this.port(edge)} ${numberText(edge.value)}`));
      if (edges.length > named.length) named.push(`${edges.length - named.length} more`);
      return named;
    };
    const reads = list("to", "from"), readers = list("from", "to");
    return [`${node.name}, ${this.graph.nodeKinds[node.kind].label}`,
      ...(reads.length > 0 ? [`reads ${reads.join(", ")}`] : []),
      ...(readers.length > 0 ? [`is read by ${readers.join(", ")}`] : []), this.graph.valueTitle];
  }

  // Edges as in the picture, with their ends; the rest of it is faint.
  highlight(edges) {
    this.node.classList.toggle("faint-picture", edges.length > 0);
    const ends = [...new Set(edges.flatMap(({ from, to }) => [from, to]))];
    this.shown.replaceChildren(...edges.map((edge) => this.drawnEdge(edge)),
      ...ends.flatMap((end) => this.drawnNode(this.graph.nodes[end])));
  }

  showNode(index, event) {
    this.highlight([...this.edgesOf(index, "to"), ...this.edgesOf(index, "from")]);
    tooltip.show(this.nodeLines(index), event);
  }

  showEdge(index, event) {
    const edge = this.all[index];
    this.highlight([edge]);
    tooltip.show([this.edgeLine(edge), `${numberText(edge.value)} ${this.graph.valueTitle}`], event);
  }

  hide() {
    this.highlight([]);
    tooltip.hide();
  }

  listen() {
    this.nodes.forEach((node, i) => {
      node.addEventListener("pointermove", (event) => this.showNode(i, event));
      node.addEventListener("focus", () => {
        const { left, bottom } = node.getBoundingClientRect();
        this.showNode(i, { clientX: left, clientY: bottom });
      });
      node.addEventListener("blur", () => this.hide());
      node.addEventListener("keydown", (event) => {
        if (event.key === "Enter") node.dispatchEvent(new MouseEvent("click", { bubbles: true }));
      });
    });
    this.edges.forEach((edge, i) => edge.addEventListener("pointermove", (event) => this.showEdge(i, event)));
    for (const each of [...this.nodes, ...this.edges]) each.addEventListener("pointerleave", () => this.hide());
    makeGrid(this.overlay, this.steps, 1);
  }
}

function graphCsv({ nodes, edges, edgeKinds, valueTitle }) {
  return csvText([["from", "to", "kind", valueTitle], ...edges.map(({ from, to, kind, value }) => [
    nodes[from].name, nodes[to].name, edgeKinds[kind].label, value])]);
}
