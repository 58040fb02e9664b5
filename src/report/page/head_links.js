// Links every head in texts, tables and figure labels to its panel.

// Turns each `L5H1` in a text into a button.
function linkNames(root) {
  const named = textNodes(root, "button, svg, select, script, code, table.head-map, #model-view")
    .filter((node) => /\bL\d+H\d+\b/.test(node.data));
  for (const node of named) {
    const parts = node.data.split(/\b(L\d+H\d+)\b/).map((part) => {
      const headIndex = headIndexNamed(part);
      return headIndex === null ? part : headButton(headIndex);
    });
    node.replaceWith(...parts);
  }
}

// Links heads in a table: a column `head` with a column `layer`, or columns of head indices.
function linkTable(table) {
  const names = Array.from(table.tHead?.rows[0]?.cells ?? [], (cell) => cell.textContent.trim());
  const layer = names.indexOf("layer");
  for (const row of table.tBodies[0].rows) {
    names.forEach((name, column) => {
      const cell = row.cells[column];
      const number = Number(cell.textContent);
      if (name === "head" && layer >= 0) {
        const headIndex = headIndexOf(Number(row.cells[layer].textContent), number);
        if (headIndex === null) return;
        const link = headButton(headIndex);
        link.textContent = cell.textContent;
        link.setAttribute("aria-label", headName(headIndex));
        cell.replaceChildren(link);
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
    const headIndex = headIndexNamed(text.textContent);
    if (headIndex !== null) text.dataset.headIndex = headIndex;
  }
}

const main = document.getElementById("main");
if (headData) {
  headPanel.build();
  linkNames(main);
  main.querySelectorAll("figure").forEach(linkFigure);
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-head-index]");
    const other = event.target.closest("[data-compare]");
    if (opener) headPanel.openFrom(opener);
    if (other) headPanel.open([headPanel.headIndices[0], Number(other.dataset.compare)]);
  });
  headPanel.follow();
}

// Links open what is folded. The address goes on naming the head that is shown.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#']");
  if (!link || !document.getElementById(link.hash.slice(1))) return;
  event.preventDefault();
  if (!headData || headPanel.headIndices.length === 0) history.pushState(null, "", link.hash);
  reveal(link.hash.slice(1));
});
