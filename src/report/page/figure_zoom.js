// Maps of many rows or columns zoom inside their card, which then scrolls.

const fewestZoomed = 64, widestCell = 16;  // rows or columns; pixels

class FigureZoom {
  constructor(card, svg, { heatmap, areas }) {
    Object.assign(this, { card, svg, level: 0 });
    this.cells = heatmap.columns / areas[0][2];
    const zooms = [["−", "Zoom out", -1], ["+", "Zoom in", 1]].map(([text, label, step]) => (
      button(text, () => this.zoom(this.level + step), { "aria-label": label })));
    card.after(element("div", { class: "tools" }, ...zooms, button("Fit", () => this.zoom(0)),
      element("span", { class: "faint" }, "Ctrl and the wheel zoom too.")));
    // As on a map, Ctrl and the wheel zoom; the wheel alone scrolls.
    card.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.zoom(this.level + (event.deltaY < 0 ? 1 : -1), event);
    }, { passive: false });
    window.addEventListener("beforeprint", () => this.zoom(0));
  }

  // Each level doubles the picture. The place under the pointer, or the middle of the card, stays.
  zoom(level, event) {
    const { card, svg } = this;
    if (this.level === 0) [this.width, this.height] = [svg.getBoundingClientRect().width, card.offsetHeight];
    const cell = this.width / svg.viewBox.baseVal.width / this.cells;
    const next = Math.min(Math.max(level, 0), Math.max(0, Math.ceil(Math.log2(widestCell / cell))));
    const frame = card.getBoundingClientRect(), picture = svg.getBoundingClientRect();
    const x = event ? event.clientX : frame.left + frame.width / 2, y = event ? event.clientY : frame.top + frame.height / 2;
    const across = (x - picture.left) / picture.width, down = (y - picture.top) / picture.height;
    this.level = next;
    card.classList.toggle("zoomed", next > 0);
    card.tabIndex = next > 0 ? 0 : -1;
    card.style.height = next > 0 ? `${this.height}px` : "";
    svg.style.width = next > 0 ? `${this.width * 2 ** next}px` : "";
    const after = svg.getBoundingClientRect();
    card.scrollLeft += after.left + across * after.width - x;
    card.scrollTop += after.top + down * after.height - y;
  }
}

function addZoom(card, svg, data) {
  if (data.heatmap && Math.max(data.heatmap.rows, data.heatmap.columns) > fewestZoomed) new FigureZoom(card, svg, data);
}
