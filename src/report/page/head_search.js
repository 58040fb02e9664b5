// The search box beside the contents: a head by its name, or heads by type, relation or score.

const mostFound = 8;

// Lists of heads that a text finds, each with a title and, for each head, a value or null.
function findHeads(text) {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [];
  const lists = [];
  const add = (title, found, chosen = true) => {
    if (found.length > 0) lists.push({ title, found, chosen });
  };
  const headIndex = headIndexNamed(wanted.replace(/^(\d+)[.h](\d+)$/, "L$1H$2"));
  const named = headIndex !== null ? [headIndex] : allHeads.filter((each) => headName(each).toLowerCase().startsWith(wanted));
  add("Heads", named.map((each) => [each, null]));
  headData.types?.names.forEach((name, type) => {
    if (!spaced(name).includes(wanted)) return;
    add(`Type: ${spaced(name)}`, allHeads.filter((each) => hasType(each, type)).map((each) => [each, null]));
  });
  if ("removed".startsWith(wanted)) {
    add("Removed from the model", allHeads.filter((each) => headData.removed[each]).map((each) => [each, null]));
  }
  for (const table of headData.tables) {
    const labels = table.rows.map((row) => row.label);
    for (const label of labels.filter((each) => spaced(each).toLowerCase().includes(wanted))) {
      const found = allHeads.flatMap((each) => tableRows(table, each).filter((row) => row.label === label)
        .map((row) => [each, row.value, row.value - row.baseline]));
      add(`${table.title}: ${spaced(label)}`, found.sort((a, b) => b[2] - a[2]).map(([each, value]) => [each, percentText(value)]));
    }
  }
  for (const score of headData.scores) {
    if (score.auxiliary || !scoreTitle(score).toLowerCase().includes(wanted)) continue;
    add(`Largest ${scoreTitle(score)}`, ranked(score.values).slice(0, mostFound).map((each) => [each, numberText(score.values[each])]),
      lists.length === 0);
  }
  return lists.slice(0, 12);
}

function foundList({ title, found }) {
  const heads = found.slice(0, mostFound).map(([headIndex, value]) => (
    element("span", { class: "neighbour" }, headButton(headIndex), value === null ? "" : ` ${value}`)));
  const more = found.length > mostFound ? element("span", { class: "faint" }, `and ${found.length - mostFound} more`) : null;
  return element("li", {}, element("strong", {}, title), element("div", {}, ...heads, more));
}

function makeSearch(place) {
  const input = element("input", {
    type: "search", id: "head-search", placeholder: "Find heads: L3H5, nsubj", "aria-label": "Find heads",
    "aria-controls": "head-search-results", autocomplete: "off",
  });
  const results = element("ul", { id: "head-search-results", "aria-label": "Heads found", hidden: true });
  const node = element("div", { id: "search" }, input, results);
  const search = () => {
    const lists = findHeads(input.value);
    const empty = input.value.trim() === "";
    results.hidden = empty;
    results.replaceChildren(...(lists.length > 0 ? lists.map(foundList) : [element("li", { class: "faint" }, "No head, type, relation or score of this name.")]));
    const chosen = lists.filter((list) => list.chosen).flatMap((list) => list.found.map(([headIndex]) => headIndex));
    headMap.find(empty || (lists.length > 0 && chosen.length === 0) ? null : new Set(chosen));
  };
  input.addEventListener("input", search);
  input.addEventListener("focus", search);
  node.addEventListener("keydown", (event) => {
    const first = results.querySelector("[data-head-index]");
    if (event.key === "Enter" && event.target === input && first) headPanel.openFrom(first);
    else if (event.key === "Escape") {
      input.value = "";
      search();
      input.focus();
    } else return;
    results.hidden = true;
    event.preventDefault();
  });
  document.addEventListener("click", (event) => {
    if (event.target !== input) results.hidden = true;
  });
  place.append(node);
}

if (headData) makeSearch(document.getElementById("contents"));
