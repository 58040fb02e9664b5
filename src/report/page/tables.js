// Tables that sort by a click on a heading and, if they are long, filter rows and save as CSV.

function cellNumber(cell) {
  const text = cell.dataset.number ?? cell.textContent.trim();
  return text === "" || text === "–" ? NaN : Number(text.replaceAll("−", "-"));
}

// Numbers sort from the largest down first, words from A to Z; missing numbers stay last.
function sortTable(header, index) {
  const table = header.closest("table");
  const body = table.tBodies[0];
  const numeric = header.classList.contains("number");
  const sorted = header.getAttribute("aria-sort");
  const descending = sorted ? sorted === "ascending" : numeric;
  const keyOf = (row) => (numeric ? cellNumber(row.cells[index]) : row.cells[index].textContent.trim());
  const rows = Array.from(body.rows, (row) => ({ row, key: keyOf(row) }));
  const compare = numeric ? (a, b) => a - b : (a, b) => a.localeCompare(b, "en", { numeric: true });
  rows.sort((a, b) => {
    if (numeric && (Number.isNaN(a.key) || Number.isNaN(b.key))) {
      return Number(Number.isNaN(a.key)) - Number(Number.isNaN(b.key));
    }
    return descending ? compare(b.key, a.key) : compare(a.key, b.key);
  });
  for (const { row } of rows) body.append(row);
  for (const other of header.parentElement.cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", descending ? "descending" : "ascending");
}

function makeSortable(table) {
  Array.from(table.tHead.rows[0].cells).forEach((header, index) => {
    header.querySelector("button").addEventListener("click", () => sortTable(header, index));
  });
}

function tableCsv(table) {
  const text = (cell) => cell.textContent.trim().replaceAll("−", "-");
  const shown = [table.tHead.rows[0], ...table.tBodies[0].rows].filter((row) => !row.hidden);
  return csvText(shown.map((row) => Array.from(row.cells, (cell) => {
    const number = cell.matches("td.number") ? cellNumber(cell) : null;
    return number === null || text(cell) !== String(number) ? text(cell).replace(/^–$/, "NaN") : number;
  })));
}

// Shows the rows that hold every word of the text.
function filterTable(table, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of table.tBodies[0].rows) {
    const content = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => content.includes(word));
  }
}

function tableTools(table, name) {
  const filter = element("input", { type: "search", placeholder: "Filter rows", "aria-label": "Filter rows" });
  filter.addEventListener("input", () => filterTable(table, filter.value));
  return element("div", { class: "tools" }, filter,
    button("CSV", () => download(`${name}.csv`, tableCsv(table), "text/csv")));
}

// The table of a variable's rows, which stand in its details as JSON.
function tableOf({ columns, rows, of }) {
  const cell = (value, { number }) => (number
    ? element("td", { class: "number" }, numberText(value)) : element("td", {}, value));
  const table = element("table", { class: "sortable" },
    rows.length < of ? element("caption", {}, `The ${rows.length} of ${of} rows with the largest absolute value`) : null,
    element("thead", {}, element("tr", {}, ...columns.map(({ name, number }) => (
      element("th", { scope: "col", class: number ? "number" : null }, element("button", { type: "button" }, name)))))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((value, i) => cell(value, columns[i]))))));
  makeSortable(table);
  return table;
}

// Builds a variable's table; done when its details are opened.
function buildTable(details) {
  const data = details.querySelector("script.rows");
  if (!data) return;
  const table = tableOf(JSON.parse(data.textContent));
  data.replaceWith(element("div", { class: "wide" }, table));
  if (headData) linkTable(table);
  if (table.tBodies[0].rows.length >= 8) table.parentElement.before(tableTools(table, details.id.replace("variable-", "")));
}

document.querySelectorAll("table.sortable").forEach(makeSortable);
for (const details of document.querySelectorAll("details[id^='variable-']")) {
  details.addEventListener("toggle", () => buildTable(details), { once: true });
}
