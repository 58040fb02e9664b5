// Sorts a table by one column, as numbers or as text; cells without a number stay last.
function sortTable(header, index) {
  const table = header.closest("table");
  const body = table.tBodies[0];
  const descending = header.getAttribute("aria-sort") === "ascending";
  const numeric = header.classList.contains("number");
  const keyOf = (row) => {
    const cell = row.cells[index];
    const text = cell.dataset.number ?? cell.textContent.trim();
    if (!numeric) return text;
    return text === "" || text === "–" ? NaN : Number(text.replace("−", "-"));
  };
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

document.querySelectorAll("table.sortable").forEach(makeSortable);
