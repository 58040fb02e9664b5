// A head's query, keys and their products by dimension, for one token that attends: what a score is the sum of.

const neuronHeight = 14, stripWidth = 130; // pixels

// Values as a strip of cells, blue below zero and red above.
function neuronStrip(values, largest) {
  const width = Math.max(2, Math.floor(stripWidth / values.length));
  const { node, context } = canvas(width * values.length, neuronHeight);
  values.forEach((value, i) => {
    context.fillStyle = cssColour(blend(headData.diverging, 0.5 + 0.5 * value / largest));
    context.fillRect(i * width, 0, width, neuronHeight);
  });
  node.className = "neurons";
  node.addEventListener("pointermove", (event) => {
    const i = Math.min(values.length - 1, Math.floor(event.offsetX / width));
    tooltip.show([`dimension ${i}: ${numberText(Number(values[i].toPrecision(3)))}`], event);
  });
  node.addEventListener("pointerleave", () => tooltip.hide());
  return node;
}

class NeuronView {
  constructor(which) {
    this.menu = element("select", { id: `${which}-neuron-query` });
    this.menu.addEventListener("change", () => this.draw());
    this.table = element("div", { class: "wide" });
    this.node = element("details", { class: "neuron-view" },
      element("summary", {}, "Query, keys and their products by dimension"),
      element("p", { class: "faint" }, "The sum of a row's products is the score of the key; the softmax over all keys makes it attention. Blue is below zero, red above."),
      element("p", {}, element("label", { for: this.menu.id }, "From "), this.menu), this.table);
    this.node.addEventListener("toggle", () => this.draw());
  }

  static values() {
    if (!NeuronView.unpacked) {
      const { query, key } = headData.neurons;
      NeuronView.unpacked = { query: unpackedValues(query), key: unpackedValues(key) };
    }
    return NeuronView.unpacked;
  }

  show(headIndex) {
    this.headIndex = headIndex;
    const chosen = this.menu.value;
    this.menu.replaceChildren(...headData.documents[0].labels.map((label, token) => element("option", { value: token }, `${label} (${token})`)));
    this.menu.value = chosen === "" ? headData.documents[0].labels.length - 1 : chosen;
    this.draw();
  }

  // `token` attends.
  choose(token) {
    this.menu.value = token;
    this.draw();
  }

  vector(values, token) {
    const { size, tokens } = headData.neurons;
    const from = (this.headIndex * tokens + token) * size;
    return values.slice(from, from + size);
  }

  draw() {
    if (!this.node.open || this.headIndex === undefined) return;
    const { query, key } = NeuronView.values();
    const from = Number(this.menu.value);
    const q = this.vector(query, from);
    const keys = Array.from({ length: from + 1 }, (_, token) => this.vector(key, token));
    const products = keys.map((k) => k.map((value, i) => value * q[i]));
    const scores = products.map((row) => row.reduce((sum, value) => sum + value, 0));
    const most = Math.max(...scores);
    const weights = scores.map((score) => Math.exp(score - most));
    const total = weights.reduce((sum, value) => sum + value, 0);
    const largest = (rows) => rows.flat().reduce((end, value) => Math.max(end, Math.abs(value)), 1e-9);
    const [kEnd, productEnd] = [largest(keys), largest(products)];
    const heading = (text, number) => element("th", { scope: "col", class: number ? "number" : null }, text);
    const rows = keys.map((k, token) => element("tr", {}, element("th", { scope: "row" }, headData.documents[0].labels[token]),
      element("td", {}, neuronStrip(k, kEnd)), element("td", {}, neuronStrip(products[token], productEnd)),
      element("td", { class: "number" }, numberText(Number(scores[token].toPrecision(3)))),
      element("td", { class: "number" }, percentText(weights[token] / total))));
    this.table.replaceChildren(element("p", {}, "q ", neuronStrip(q, largest([q]))), element("table", { class: "neuron-table" },
      element("thead", {}, element("tr", {}, heading("to"), heading("k"), heading("q × k"), heading("score", true), heading("attention", true))),
      element("tbody", {}, ...rows)));
  }
}
