// One head's attention on a sample document: the text, shaded by the chosen token's attention, and
// the pattern as a matrix. Pointer and arrow keys choose a token in both.

const decodedPatterns = new Map();

function patternBytes(documentIndex) {
  if (!decodedPatterns.has(documentIndex)) {
    const text = atob(headData.documents[documentIndex].pattern);
    decodedPatterns.set(documentIndex, Uint8Array.from(text, (c) => c.charCodeAt(0)));
  }
  return decodedPatterns.get(documentIndex);
}

// One byte per weight: 255 times its square root. Query by query, keys 0 .. query.
class Pattern {
  constructor(documentIndex, unit) {
    this.count = headData.documents[documentIndex].tokens.length;
    this.bytes = patternBytes(documentIndex);
    this.first = unit * this.count * (this.count + 1) / 2;
  }

  byte(query, key) {
    return key > query ? 0 : this.bytes[this.first + query * (query + 1) / 2 + key];
  }

  weight(query, key) {
    return (this.byte(query, key) / 255) ** 2;
  }

  // Each token's attention from the chosen query or, if `receiving`, to the chosen key. Without a
  // choice, its mean attention from the later tokens.
  shares(chosen, receiving) {
    return Array.from({ length: this.count }, (_, token) => {
      if (chosen !== null) {
        return receiving ? this.weight(token, chosen) : this.weight(chosen, token);
      }
      let sum = 0;
      for (let query = token + 1; query < this.count; ++query) sum += this.weight(query, token);
      return sum / Math.max(1, this.count - 1 - token);
    });
  }
}

function tokenName(tokens, index) {
  return `“${tokens[index].trim() || "␣"}” (${index})`;
}

function drawMatrix(canvas, pattern, chosen, receiving) {
  const { count } = pattern;
  const cell = Math.max(1, Math.floor(440 / count));
  canvas.width = canvas.height = cell * count;
  const context = canvas.getContext("2d");
  const colours = Array.from({ length: 256 }, (_, byte) => cssColour(blend(headData.sequential, byte / 255)));
  for (let query = 0; query < count; ++query) {
    for (let key = 0; key <= query; ++key) {
      context.fillStyle = colours[pattern.byte(query, key)];
      context.fillRect(key * cell, query * cell, cell, cell);
    }
  }
  if (chosen === null) return;
  context.strokeStyle = "#d55e00";
  context.lineWidth = 2;
  if (receiving) context.strokeRect(chosen * cell, chosen * cell, cell, (count - chosen) * cell);
  else context.strokeRect(0, chosen * cell, (chosen + 1) * cell, cell);
}

class PatternView {
  constructor() {
    this.unit = 0;
    this.documentIndex = 0;
    this.pinned = null;
    this.build();
    this.listen();
    this.chooseDocument(0);
  }

  build() {
    this.menu = element("select", { id: "pattern-document" },
      ...headData.documents.map((item, index) => element("option", { value: index }, item.title)));
    this.receiving = element("input", { type: "checkbox", id: "pattern-receiving" });
    this.text = element("div", {
      class: "tokens", role: "listbox", tabindex: 0, "aria-orientation": "horizontal",
      "aria-label": "Tokens of the document", "aria-describedby": "pattern-readout",
    });
    this.readout = element("p", { id: "pattern-readout", role: "status" });
    this.canvas = element("canvas", {
      role: "img", "aria-label": "The pattern as a matrix; the list of tokens reads it out",
    });
    this.node = element("div", { class: "pattern-view" },
      element("p", {}, element("label", { for: "pattern-document" }, "Document "), this.menu),
      element("p", {}, this.receiving,
        element("label", { for: "pattern-receiving" }, " show which tokens attend to the chosen one")),
      this.text, this.readout,
      element("div", { class: "matrix" }, element("span", { class: "query-axis" }, "query ↓"),
        element("span", {}, "key →"), this.canvas, this.colourBar()),
      this.note = element("p", { class: "faint" }));
  }

  // The scale is the square root of the weight, so that small weights can be told apart.
  colourBar() {
    const bar = element("span", { class: "colour-bar" });
    bar.style.backgroundImage = `linear-gradient(to right, ${headData.sequential.join(", ")})`;
    return element("div", {}, "attention 0", bar, "1, on a square-root scale");
  }

  listen() {
    this.menu.addEventListener("change", () => this.chooseDocument(Number(this.menu.value)));
    this.receiving.addEventListener("change", () => this.show(this.pinned));
    const tokenAt = (event) => {
      const option = event.target.closest("[role=option]");
      return option ? this.options.indexOf(option) : null;
    };
    const choose = (token, pin) => {
      if (token === null) return;
      if (pin) this.pinned = this.pinned === token ? null : token;
      this.show(pin ? this.pinned : token);
    };
    this.text.addEventListener("pointerover", (event) => choose(tokenAt(event), false));
    this.text.addEventListener("click", (event) => choose(tokenAt(event), true));
    this.text.addEventListener("keydown", (event) => this.onKey(event));
    const rowAt = (event) => {
      const box = this.canvas.getBoundingClientRect();
      const along = this.receiving.checked ? (event.clientX - box.left) / box.width
        : (event.clientY - box.top) / box.height;
      return Math.min(Math.max(Math.floor(along * this.options.length), 0), this.options.length - 1);
    };
    this.canvas.addEventListener("pointermove", (event) => choose(rowAt(event), false));
    this.canvas.addEventListener("click", (event) => choose(rowAt(event), true));
    for (const place of [this.text, this.canvas]) {
      place.addEventListener("pointerleave", () => this.show(this.pinned));
    }
  }

  onKey(event) {
    const { length } = this.options;
    if (event.key === "Escape" && this.pinned !== null) {
      this.pinned = null;
      event.stopPropagation();
    } else {
      const to = moved(event.key, this.pinned ?? -1, length, length);
      if (to === null) return;
      this.pinned = this.pinned === null ? 0 : to;
      event.preventDefault();
    }
    this.show(this.pinned);
    this.options[this.pinned]?.scrollIntoView({ block: "nearest" });
  }

  chooseDocument(index) {
    const { tokens, of } = headData.documents[index];
    this.documentIndex = index;
    this.pinned = null;
    this.options = tokens.map((token, i) => element("span",
      { role: "option", id: `token-${i}`, "aria-selected": false }, token.trim() ? token : "␣"));
    this.text.replaceChildren(...this.options);
    this.note.textContent = tokens.length < of
      ? `The first ${tokens.length} of the ${of} tokens in the results file.` : "";
    this.show(null);
  }

  showHead(unit) {
    this.unit = unit;
    this.show(this.pinned);
  }

  show(chosen) {
    const pattern = new Pattern(this.documentIndex, this.unit);
    const receiving = this.receiving.checked;
    const shares = pattern.shares(chosen, receiving);
    this.options.forEach((option, token) => {
      option.style.setProperty("--share", Math.sqrt(shares[token]).toFixed(3));
      option.setAttribute("aria-selected", token === chosen);
    });
    if (chosen === null) this.text.removeAttribute("aria-activedescendant");
    else this.text.setAttribute("aria-activedescendant", `token-${chosen}`);
    this.readout.textContent = this.sentence(chosen, receiving, shares);
    drawMatrix(this.canvas, pattern, chosen, receiving);
  }

  sentence(chosen, receiving, shares) {
    if (chosen === null) {
      return "Shaded by the attention each token gets on average. Point at a token, or use the arrow keys, to see where it attends.";
    }
    const { tokens } = headData.documents[this.documentIndex];
    const order = shares.map((share, token) => token).filter((token) => shares[token] >= 0.005)
      .sort((a, b) => shares[b] - shares[a]).slice(0, 5);
    const list = order.map((token) => `${tokenName(tokens, token)} ${percentText(shares[token])}`);
    return `${tokenName(tokens, chosen)} ${receiving ? "is attended to by" : "attends to"} ${list.join(", ") || "nothing above 0.5 %"}.`;
  }
}
