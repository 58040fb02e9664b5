// One head's attention on a sample document: lines between tokens, a matrix, and one sentence that
// reads out what is pointed at.

// Which tokens of the document the page has the pattern of; nothing if it has them all. `kept` are
// those in the results file.
function shownTokens({ tokens, kept, of }) {
  if (tokens.length === of) return "";
  const more = tokens.length < kept && kept < of ? `; the results file has the first ${kept}` : "";
  return `The first ${tokens.length} of ${of} tokens${more}.`;
}

class PatternView {
  constructor(which) {
    this.readout = element("p", { class: "readout", role: "status", id: `${which}-readout` });
    this.lines = new HeadView(which, (choice) => this.choose(choice));
    this.matrix = new PatternMatrix((cell) => this.point(cell),
      ({ query }) => this.lines.pin("query", query));
    this.note = element("p", { class: "faint" });
    this.node = element("div", { class: "pattern-view" }, this.readout, this.lines.node, this.matrix.node, this.note);
    patternChoice.listeners.add(() => this.refresh());
  }

  showHead(headIndex) {
    this.headIndex = headIndex;
    this.lines.showHead(headIndex);
    this.refresh();
  }

  refresh() {
    if (this.headIndex === undefined || !this.node.checkVisibility()) return;
    const { kinds } = patternChoice.data();
    this.pattern = patternChoice.pattern(this.headIndex);
    this.shown = patternChoice.shown();
    this.end = patternChoice.scaleEnd(this.pattern, this.shown);
    this.lines.build();
    this.matrix.draw(this.pattern, this.shown, this.end, kinds[patternChoice.kind].units);
    const shared = kinds[patternChoice.kind].shared ? "One matrix for all heads of the layer. " : "";
    const removed = headData.removed[this.headIndex] && !shared ? "The head was removed: the pattern shows no attention of the model. " : "";
    this.note.textContent = removed + shared + shownTokens(patternChoice.data());
    this.choose(this.lines.pinned);
  }

  // Weights from the chosen query, or to the chosen key, by token.
  weights({ side, token }) {
    return new Map(this.shown.map((other) => [other,
      side === "query" ? this.pattern.weight(token, other) : this.pattern.weight(other, token)]));
  }

  choose(choice) {
    const weights = choice ? this.weights(choice) : new Map();
    const shares = new Map([...weights].map(([token, weight]) => [token, Math.min(1, weight / this.end)]));
    this.lines.draw(choice, shares);
    this.matrix.mark(choice);
    this.readout.textContent = this.sentence(choice, weights);
  }

  point(cell) {
    this.matrix.mark(cell ?? this.lines.pinned);
    this.readout.textContent = cell === null ? this.sentence(null)
      : `${tokenName(cell.query)} → ${tokenName(cell.key)}: ${cell.key > cell.query
        ? "later tokens are not seen" : this.weightText(this.pattern.weight(cell.query, cell.key))}`;
  }

  weightText(weight) {
    const { units } = patternChoice.data().kinds[patternChoice.kind];
    return units === "probability" ? percentText(weight) : numberText(Number(weight.toPrecision(2)));
  }

  sentence(choice, weights) {
    if (!choice) return "Point at a token or a cell, or use the arrow keys, to read out its attention.";
    const order = [...weights].filter(([, weight]) => weight >= 0.005 * this.end)
      .sort((a, b) => b[1] - a[1]).slice(0, 5);
    const list = order.map(([token, weight]) => `${tokenName(token)} ${this.weightText(weight)}`);
    const verb = choice.side === "query" ? "attends to" : "is attended to by";
    return `${tokenName(choice.token)} ${verb} ${list.join(", ") || "nothing above 0.5\u00a0%"}.`;
  }
}
