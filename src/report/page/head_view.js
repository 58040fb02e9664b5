// Lines from each token on the left to the tokens on the right it attends to, for one head or
// several heads of its layer, each in its own colour. The lines' strength is on the matrix's scale.

const rowHeight = 18;
const lineSteps = 12; // strengths of lines; those of one strength are one path
const faintest = 0.1; // square root of the weakest share of the scale that is drawn

function tokenColumn(which, title) {
  return element("div", { class: "tokens", id: `${which}-tokens`, role: "listbox", tabindex: 0, "aria-label": title });
}

// All lines of one strength as one path, from the choice's token if there is one.
function linePaths(pattern, shown, end, choice, colour) {
  const paths = Array.from({ length: lineSteps + 1 }, () => "");
  shown.forEach((query, from) => {
    if (choice && choice.side === "query" && choice.token !== query) return;
    shown.forEach((key, to) => {
      if (key > query || (choice && choice.side === "key" && choice.token !== key)) return;
      const strength = Math.sqrt(pattern.weight(query, key) / end);
      if (strength < faintest) return;
      paths[Math.min(lineSteps, Math.round(strength * lineSteps))] +=
        `M0 ${(from + 0.5) * rowHeight}L100 ${(to + 0.5) * rowHeight}`;
    });
  });
  return paths.map((d, step) => (d === "" ? null : svgElement("path", {
    d, stroke: colour, "stroke-opacity": (step / lineSteps).toFixed(2),
    "stroke-width": (0.4 + 1.4 * step / lineSteps).toFixed(2), "vector-effect": "non-scaling-stroke",
  }))).filter(Boolean);
}

class HeadView {
  // `onChoose` gets { side, token } or null when the pointer or a key chooses a token.
  constructor(which, onChoose) {
    this.which = which;
    this.onChoose = onChoose;
    this.onPin = () => {}; // gets { side, token } when one is pinned
    this.pinned = null;
    this.others = new Set(); // further heads of the layer
    this.tiles = element("div", { class: "tiles", role: "group", "aria-label": "Heads of this layer" });
    this.sides = {
      query: tokenColumn(`${which}-query`, "Tokens that attend"),
      key: tokenColumn(`${which}-key`, "Tokens attended to"),
    };
    this.lines = svgElement("svg", { class: "lines", preserveAspectRatio: "none", "aria-hidden": "true" });
    this.node = element("div", { class: "head-view" }, this.tiles,
      element("div", { class: "columns" }, this.sides.query, this.lines, this.sides.key));
    for (const side of ["query", "key"]) this.listen(side);
  }

  listen(side) {
    const column = this.sides[side];
    const tokenAt = (event) => event.target.closest("[role=option]")?.dataset.token;
    column.addEventListener("pointerover", (event) => {
      const token = tokenAt(event);
      if (token !== undefined) this.onChoose({ side, token: Number(token) });
    });
    column.addEventListener("pointerleave", () => this.onChoose(this.pinned));
    column.addEventListener("click", (event) => {
      const token = tokenAt(event);
      if (token !== undefined) this.pin(side, Number(token));
    });
    column.addEventListener("keydown", (event) => this.onKey(event, side));
  }

  pin(side, token) {
    const same = this.pinned && this.pinned.side === side && this.pinned.token === token;
    this.pinned = same ? null : { side, token };
    if (this.pinned) this.onPin(this.pinned);
    this.onChoose(this.pinned);
  }

  onKey(event, side) {
    if (event.key === "Escape" && this.pinned) {
      this.pinned = null;
      event.stopPropagation();
    } else {
      const at = this.pinned?.side === side ? this.shown.indexOf(this.pinned.token) : -1;
      const to = moved(event.key, at, 1, this.shown.length);
      if (to === null) return;
      event.preventDefault();
      this.pinned = { side, token: this.shown[at < 0 ? 0 : to] };
    }
    this.onChoose(this.pinned);
    if (this.pinned) document.getElementById(this.tokenId(this.pinned)).scrollIntoView({ block: "nearest" });
  }

  tokenId({ side, token }) {
    return `${this.which}-${side}-${token}`;
  }

  // The heads shown with their colours, the main one first.
  heads() {
    const colour = (headIndex) => lineColours[headIndex % headData.heads % lineColours.length];
    return [this.headIndex, ...this.others].map((headIndex) => ({ headIndex, colour: colour(headIndex) }));
  }

  showHead(headIndex) {
    if (this.headIndex === undefined || Math.floor(headIndex / headData.heads) !== Math.floor(this.headIndex / headData.heads)) {
      this.others.clear();
    }
    this.others.delete(headIndex);
    this.headIndex = headIndex;
    this.buildTiles();
  }

  buildTiles() {
    const first = this.headIndex - this.headIndex % headData.heads;
    const tiles = Array.from({ length: headData.heads }, (_, head) => {
      const headIndex = first + head;
      const main = headIndex === this.headIndex;
      const tile = toggleButton(`H${head}`, (pressed) => {
        if (main) return tile.setAttribute("aria-pressed", true);
        if (pressed) this.others.add(headIndex);
        else this.others.delete(headIndex);
        return this.onChoose(this.pinned);
      }, {
        "aria-pressed": String(main || this.others.has(headIndex)),
        title: main ? headName(headIndex) : `Add ${headName(headIndex)} in this colour`,
      });
      tile.style.setProperty("--colour", lineColours[head % lineColours.length]);
      return tile;
    });
    this.tiles.replaceChildren(...tiles);
  }

  // New tokens: another document, or tokens switched on or off.
  build() {
    this.shown = patternChoice.shown();
    if (this.pinned && !this.shown.includes(this.pinned.token)) this.pinned = null;
    for (const side of ["query", "key"]) {
      this.sides[side].replaceChildren(...this.shown.map((token) => element("span", {
        role: "option", id: this.tokenId({ side, token }), "data-token": token, "aria-selected": false,
        title: tokenName(token),
      }, tokenText(token))));
    }
    const height = rowHeight * this.shown.length;
    this.lines.setAttribute("viewBox", `0 0 100 ${height}`);
    this.lines.style.height = `${height}px`;
  }

  // `shares`: of the scale, of each token on the side opposite to the choice.
  draw(choice, shares) {
    // The chosen head lies over the others.
    const paths = this.heads().reverse().flatMap(({ headIndex, colour }) => {
      const pattern = patternChoice.pattern(headIndex);
      return linePaths(pattern, this.shown, patternChoice.scaleEnd(pattern, this.shown), choice, colour);
    });
    this.lines.replaceChildren(...paths);
    for (const side of ["query", "key"]) {
      const chosen = choice?.side === side ? choice.token : null;
      if (chosen === null) this.sides[side].removeAttribute("aria-activedescendant");
      else this.sides[side].setAttribute("aria-activedescendant", this.tokenId(choice));
      for (const option of this.sides[side].children) {
        const token = Number(option.dataset.token);
        option.setAttribute("aria-selected", token === chosen);
        const share = choice && choice.side !== side ? shares.get(token) ?? 0 : 0;
        option.style.setProperty("--share", Math.sqrt(share).toFixed(3));
      }
    }
  }
}
