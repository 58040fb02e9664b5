// A pattern as a matrix with token labels: queries down, keys across. Zooms, and reads out the cell
// under the pointer.

const labelRoom = 90; // pixels for the tokens' names
const zoomLevels = [2, 3, 4, 6, 9, 13, 18, 26];

function canvas(width, height) {
  const scale = window.devicePixelRatio || 1;
  const node = element("canvas", { width: Math.ceil(width * scale), height: Math.ceil(height * scale) });
  node.style.width = `${width}px`;
  node.style.height = `${height}px`;
  const context = node.getContext("2d");
  context.scale(scale, scale);
  return { node, context };
}

// Draws the weights into a canvas, at one pixel a cell.
function drawPattern(node, pattern, shown, end) {
  node.width = node.height = shown.length;
  if (shown.length === 0) return;
  const image = new ImageData(shown.length, shown.length);
  const colours = Array.from({ length: 256 }, (_, step) => blend(headData.sequential, step / 255));
  shown.forEach((query, row) => {
    shown.forEach((key, column) => {
      if (key > query) return;
      const step = Math.round(255 * Math.sqrt(Math.min(1, pattern.weight(query, key) / end)));
      image.data.set([...colours[step], 255], 4 * (row * shown.length + column));
    });
  });
  node.getContext("2d").putImageData(image, 0, 0);
}

class PatternMatrix {
  // `onPoint` gets { query, key } under the pointer, or null.
  constructor(onPoint, onPick) {
    this.cell = null; // pixels; null fits the matrix to the room there is
    this.onPoint = onPoint;
    this.onPick = onPick;
    this.zoomed = element("span", { class: "faint" });
    this.frame = element("div", { class: "matrix-frame", tabindex: 0, "aria-label": "The pattern as a matrix; the lists of tokens read it out" });
    this.key = element("p", { class: "scale faint" });
    this.node = element("div", { class: "matrix" },
      element("div", { class: "tools" }, element("span", { class: "faint" }, "query ↓ key →"),
        button("−", () => this.zoom(-1), { "aria-label": "Zoom out" }),
        button("+", () => this.zoom(1), { "aria-label": "Zoom in" }),
        button("Fit", () => this.zoom(0))),
      this.frame, this.key);
    this.frame.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? 1 : -1);
    }, { passive: false });
  }

  // The largest level at which the whole matrix is seen.
  fitting() {
    const room = Math.min(this.node.clientWidth || 480, 480) - labelRoom;
    return zoomLevels.filter((level) => level * this.shown.length <= room).pop() ?? zoomLevels[0];
  }

  zoom(step) {
    const at = zoomLevels.indexOf(this.cell ?? this.fitting());
    this.cell = step === 0 ? null : zoomLevels[Math.min(Math.max(at + step, 0), zoomLevels.length - 1)];
    this.draw(this.pattern, this.shown, this.end, this.units);
  }

  draw(pattern, shown, end, units) {
    Object.assign(this, { pattern, shown, end, units });
    const cell = this.cell ?? this.fitting();
    const size = cell * shown.length;
    const cells = canvas(size, size);
    cells.node.className = "cells";
    const small = element("canvas");
    drawPattern(small, pattern, shown, end);
    cells.context.imageSmoothingEnabled = false;
    if (size > 0) cells.context.drawImage(small, 0, 0, size, size);
    this.row = element("div", { class: "matrix-mark" });
    this.spot = element("div", { class: "matrix-mark" });
    const area = element("div", { class: "matrix-area" }, cells.node, this.row, this.spot);
    this.listen(cells.node, cell);
    this.frame.replaceChildren(element("div", { class: "matrix-grid" },
      element("div", { class: "corner" }), this.labels(cell, true), this.labels(cell, false), area));
    this.key.replaceChildren("weight 0 ", colourBar(headData.sequential),
      ` ${numberText(Number(end.toPrecision(3)))}${units === "probability" ? "" : ` ${units}`}, on a square-root scale, for lines and cells alike`);
    this.mark(null);
  }

  // The tokens' names across or down, as many as there is room for.
  labels(cell, across) {
    const size = cell * this.shown.length;
    const { node, context } = across ? canvas(size, labelRoom) : canvas(labelRoom, size);
    node.className = across ? "across" : "down";
    const text = Math.min(12, Math.max(9, cell - 1));
    context.font = `${text}px system-ui, "DejaVu Sans", sans-serif`;
    context.fillStyle = getComputedStyle(document.body).color;
    context.textBaseline = "middle";
    context.textAlign = across ? "left" : "right";
    const every = Math.ceil((text + 1) / cell);
    for (let i = 0; i < this.shown.length; i += every) {
      const name = tokenText(this.shown[i]);
      const shortened = name.length > 13 ? `${name.slice(0, 12)}…` : name;
      const middle = Math.max((i + 0.5) * cell, text / 2 + 1);
      context.save();
      if (across) {
        context.translate(middle, labelRoom - 4);
        context.rotate(-Math.PI / 2);
        context.fillText(shortened, 0, 0);
      } else {
        context.fillText(shortened, labelRoom - 4, middle);
      }
      context.restore();
    }
    return node;
  }

  listen(node, cell) {
    const at = (event) => {
      const box = node.getBoundingClientRect();
      const place = (offset) => this.shown[Math.min(Math.max(Math.floor(offset / cell), 0), this.shown.length - 1)];
      return { query: place(event.clientY - box.top), key: place(event.clientX - box.left) };
    };
    node.addEventListener("pointermove", (event) => this.onPoint(at(event)));
    node.addEventListener("pointerleave", () => this.onPoint(null));
    node.addEventListener("click", (event) => this.onPick(at(event)));
  }

  // Outlines a query's row, a key's column or one cell.
  mark(choice) {
    const cell = this.cell ?? this.fitting();
    const place = (node, left, top, width, height) => {
      node.style.left = `${left}px`;
      node.style.top = `${top}px`;
      node.style.width = `${width}px`;
      node.style.height = `${height}px`;
    };
    this.row.hidden = choice === null || choice.side === undefined;
    this.spot.hidden = choice === null || choice.query === undefined;
    if (!this.row.hidden) {
      const at = this.shown.indexOf(choice.token);
      if (choice.side === "query") place(this.row, 0, at * cell, (at + 1) * cell, cell);
      else place(this.row, at * cell, at * cell, cell, (this.shown.length - at) * cell);
    }
    if (!this.spot.hidden) {
      place(this.spot, this.shown.indexOf(choice.key) * cell, this.shown.indexOf(choice.query) * cell, cell, cell);
    }
  }
}
