// A table with a row per head: its types and the scores of the panel's sections.

function headTable() {
  const scores = headData.sections.flatMap((part) => part.scores.map((index) => headData.scores[index]));
  const header = (name, number) => element("th", { scope: "col", class: number ? "number" : null },
    element("button", { type: "button" }, name));
  const rows = allHeads.map((headIndex) => element("tr", {},
    element("th", { scope: "row", class: "number", "data-number": headIndex }, headButton(headIndex)),
    element("td", {}, headData.removed[headIndex] ? "removed" : typesOf(headIndex).map(spaced).join(", ")),
    ...scores.map((score) => element("td", { class: "number" }, numberText(valueOf(score, headIndex))))));
  const table = element("table", { class: "sortable heads" },
    element("thead", {}, element("tr", {}, header("head", true), header("types", false),
      ...scores.map((score) => header(scoreTitle(score), true)))),
    element("tbody", {}, ...rows));
  makeSortable(table);
  return table;
}

// Built when opened.
function makeHeadTable(place) {
  const details = element("details", { id: "all-heads" }, element("summary", {}, "All heads as a table"));
  details.addEventListener("toggle", () => {
    const table = headTable();
    details.append(tableTools(table, "heads"), element("div", { class: "wide tall" }, table));
  }, { once: true });
  place.append(details);
}

if (headData) makeHeadTable(tabs.heads);
