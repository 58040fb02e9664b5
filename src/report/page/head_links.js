// Links every head in texts, tables, figure labels and maps to its panel.

// Turns each `L5H1` in a text into a button.
function linkNames(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT, (node) => (
    node.parentElement.closest("button, svg, select, script, code, .head-map")
      ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT));
  const named = [];
  while (walker.nextNode()) if (/\bL\d+H\d+\b/.test(walker.currentNode.data)) named.push(walker.currentNode);
  for (const node of named) {
    const parts = node.data.split(/\b(L\d+H\d+)\b/).map((part) => {
      const found = /^L(\d+)H(\d+)$/.exec(part);
      const unit = found ? unitOf(Number(found[1]), Number(found[2])) : null;
      return unit === null ? part : headButton(unit);
    });
    node.replaceWith(...parts);
  }
}

// Links heads in a table: a column `head` with a column `layer`, or columns of units.
function linkTable(table) {
  const names = Array.from(table.tHead?.rows[0]?.cells ?? [], (cell) => cell.textContent.trim());
  const layer = names.indexOf("layer");
  for (const row of table.tBodies[0].rows) {
    names.forEach((name, column) => {
      const cell = row.cells[column];
      const number = Number(cell.textContent);
      if (name === "head" && layer >= 0) {
        const unit = unitOf(Number(row.cells[layer].textContent), number);
        if (unit === null) return;
        const button = headButton(unit);
        button.textContent = cell.textContent;
        button.setAttribute("aria-label", headName(unit));
        cell.replaceChildren(button);
      } else if (/^unit(_|$)/.test(name) && number < headCount) {
        cell.dataset.number = number;
        cell.replaceChildren(headButton(number));
      }
    });
  }
}

// Links the head labels of a figure.
function linkFigure(figure) {
  for (const text of figure.querySelectorAll("svg text")) {
    const found = /^\s*L(\d+)H(\d+)\s*$/.exec(text.textContent);
    const unit = found ? unitOf(Number(found[1]), Number(found[2])) : null;
    if (unit !== null) text.dataset.unit = unit;
  }
}

// The head under the pointer in a figure whose panels are layer-by-head maps; null if none.
function unitInMap(card, event) {
  const svg = card.querySelector("svg");
  const box = svg.getBoundingClientRect();
  const scale = svg.viewBox.baseVal.width / box.width;
  const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
  for (const panel of card.dataset.maps.split(";")) {
    const [left, top, width, height] = panel.split(" ").map(Number);
    if (x < left || y < top || x >= left + width || y >= top + height) continue;
    return unitOf(Math.floor((y - top) / height * headData.layers), Math.floor((x - left) / width * headData.heads));
  }
  return null;
}

function linkMap(card) {
  card.addEventListener("pointermove", (event) => {
    const unit = unitInMap(card, event);
    card.title = unit === null ? "" : headName(unit);
    card.style.cursor = unit === null ? "" : "pointer";
  });
  card.addEventListener("click", (event) => {
    const unit = unitInMap(card, event);
    if (unit !== null) headPanel.open(unit);
  });
}

function openNamedHead() {
  const found = /^#L(\d+)H(\d+)$/.exec(location.hash);
  const unit = found ? unitOf(Number(found[1]), Number(found[2])) : null;
  if (unit !== null) headPanel.open(unit);
}

if (headData) {
  headPanel.build();
  const main = document.getElementById("main");
  for (const details of main.querySelectorAll("details")) {
    details.addEventListener("toggle", () => details.querySelectorAll("table").forEach(linkTable), { once: true });
  }
  linkNames(main);
  main.querySelectorAll("figure").forEach(linkFigure);
  main.querySelectorAll("[data-maps]").forEach(linkMap);
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-unit]");
    if (opener) headPanel.openFrom(opener);
  });
  window.addEventListener("hashchange", openNamedHead);
  openNamedHead();
}
