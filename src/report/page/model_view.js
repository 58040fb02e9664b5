// Every head's pattern on a document as a small picture, layers down, heads across.

function drawThumbnail(cell, headIndex, shown) {
  const pattern = patternChoice.pattern(headIndex);
  drawPattern(cell.firstChild, pattern, shown, patternChoice.scaleEnd(pattern, shown));
}

function pictureName(headIndex) {
  return headName(headIndex) + (headData.removed[headIndex] ? ", removed" : "");
}

// Pictures are drawn when they come into view.
function makeModelView(place) {
  const buttons = allHeads.map((headIndex) => element("button",
    { type: "button", "data-head-index": headIndex, title: pictureName(headIndex), "aria-label": `Pattern of ${pictureName(headIndex)}` },
    element("canvas"), headData.removed[headIndex] ? element("span", { class: "faint" }, "removed") : null));
  const row = (cells, name) => element("tr", {}, element("th", { scope: "row" }, name), ...cells);
  const columns = Array.from({ length: headData.heads }, (_, head) => element("th", { scope: "col" }, `H${head}`));
  const rows = Array.from({ length: headData.layers }, (_, layer) => row(
    buttons.slice(layer * headData.heads, (layer + 1) * headData.heads).map((cell) => element("td", {}, cell)),
    `L${layer}`));
  const table = element("table", { class: "model-view", style: `--heads: ${headData.heads}` },
    element("thead", {}, element("tr", {}, element("td"), ...columns)), element("tbody", {}, ...rows));
  makeGrid(table, buttons, headData.heads);
  const seen = new Set();
  const watcher = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      const headIndex = Number(target.dataset.headIndex);
      if (!isIntersecting || seen.has(headIndex)) continue;
      seen.add(headIndex);
      drawThumbnail(target, headIndex, patternChoice.shown());
    }
  }, { rootMargin: "200px" });
  buttons.forEach((each) => watcher.observe(each));
  patternChoice.listeners.add(() => {
    const shown = patternChoice.shown();
    for (const headIndex of seen) drawThumbnail(buttons[headIndex], headIndex, shown);
  });
  place.append(
    element("p", {}, "Each picture is a head's pattern: queries down, keys across, coloured as in the panel. Choose one to open it."),
    patternControls("model"), element("div", { class: "wide" }, table));
}

if (headData && headData.documents.length > 0) makeModelView(tabs.add("patterns", "Patterns", "model-view"));
