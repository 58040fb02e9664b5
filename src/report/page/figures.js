// Figures: values under the pointer, cells and points that open heads, pictures and data to save, and
// a citation to copy.

const figureText = document.getElementById("figure-data")?.textContent;
const figureData = figureText ? JSON.parse(figureText) : { figures: {} };

// The numbers of a large matrix from two bytes each: 0 where there is none, else 1 to 65535 from low to
// high.
function unpackedValues({ low, high, bytes }) {
  const text = atob(bytes);
  return Array.from({ length: text.length / 2 }, (_, i) => {
    const code = text.charCodeAt(2 * i) + 256 * text.charCodeAt(2 * i + 1);
    return code === 0 ? null : Number((low + (high - low) * (code - 1) / 65534).toPrecision(4));
  });
}

for (const { heatmap } of Object.values(figureData.figures)) {
  for (const panel of heatmap?.panels ?? []) {
    if (panel.values.bytes) panel.values = unpackedValues(panel.values);
  }
}

// Where an axis shows a value, from 0 to 1.
function axisShare({ low, high, log }, value) {
  return log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
}

// The pointer's place in the SVG: the panel it is in, and how far right and down.
function placeInFigure(data, svg, event) {
  const box = svg.getBoundingClientRect();
  const scale = svg.viewBox.baseVal.width / box.width;
  const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
  const panel = data.areas.findIndex(([left, top, width, height]) => (
    x >= left && y >= top && x < left + width && y < top + height));
  if (panel < 0) return null;
  const [left, top, width, height] = data.areas[panel];
  return { panel, x: x - left, y: y - top, width, height };
}

// The heads that a cell stands for: one, two, or none.
function headsOfCell(map, panel, row, column) {
  if (!headData) return [];
  if (map.heads) return [headIndexOf(row, column)];
  const { heads } = headData;
  const layer = /^layer (\d+)$/i.exec(map.panels[panel].title);
  if (layer && map.rows === heads && map.columns === heads) {
    return [headIndexOf(Number(layer[1]), row), headIndexOf(Number(layer[1]), column)];
  }
  const headIndex = (labels, title, count, index) => headIndexNamed(labels[index] ?? "")
    ?? (count === headCount && /\bhead/i.test(title) ? index : null);
  return [headIndex(map.rowLabels, map.rowTitle, map.rows, row), headIndex(map.columnLabels, map.columnTitle, map.columns, column)];
}

function cellName(title, labels, index) {
  return labels[index] || `${title || ""} ${index}`.trim();
}

// What is under the pointer: lines of text, and the heads it stands for.
function cellUnder(map, { panel, x, y, width, height }) {
  const row = Math.floor(y / height * map.rows), column = Math.floor(x / width * map.columns);
  const value = map.panels[panel].values[row * map.columns + column];
  const headIndices = [...new Set(headsOfCell(map, panel, row, column))].filter((headIndex) => headIndex !== null);
  const place = headIndices.length > 0 ? headIndices.map(headName).join(", ")
    : `${cellName(map.rowTitle, map.rowLabels, row)}, ${cellName(map.columnTitle, map.columnLabels, column)}`;
  const shown = map.categories.length > 0 && value !== null ? spaced(map.categories[value] ?? "")
    : `${map.valueTitle ? `${map.valueTitle}: ` : ""}${numberText(value)}`;
  return { lines: [[map.panels[panel].title, place].filter(Boolean).join(": "), shown], headIndices };
}

function pointText(series, i) {
  const interval = series.low.length > 0 && series.low[i] !== null
    ? ` [${numberText(series.low[i])}, ${numberText(series.high[i])}]` : "";
  return `${numberText(series.y[i])}${interval}`;
}

function pointsUnder(data, place) {
  const { chart } = data;
  const { title, xLabels, series } = chart.panels[place.panel];
  const points = series.flatMap((each) => each.x.map((x, i) => {
    const [right, up] = chart.horizontal ? [each.y[i], x + each.shift] : [x + each.shift, each.y[i]];
    const across = Math.abs(axisShare(data.x[place.panel], right) * place.width - place.x);
    const down = Math.abs((1 - axisShare(data.y[place.panel], up)) * place.height - place.y);
    return { series: each, i, across, down, along: chart.horizontal ? down : across };
  })).filter(({ series: each, i }) => each.x[i] !== null && each.y[i] !== null);
  const nearest = (distance, most, from) => from.reduce((best, point) => (
    distance(point) < (best ? distance(best) : most) ? point : best), null);
  const at = (each, i) => `${chart.xTitle ? `${chart.xTitle} ` : ""}${xLabels[each.x[i]] || numberText(each.x[i])}`;
  const point = nearest(({ across, down }) => Math.hypot(across, down), 12, points);
  if (point && point.series.style === "points") {
    const { series: each, i } = point;
    const headIndex = headData ? headIndexNamed(each.names[i] || xLabels[each.x[i]] || "") : null;
    return {
      lines: [[title, each.names[i] || each.label].filter(Boolean).join(": "), `${at(each, i)}`,
        `${chart.yTitle ? `${chart.yTitle} ` : ""}${pointText(each, i)}`],
      headIndices: headIndex === null ? [] : [headIndex],
    };
  }
  const column = nearest(({ along }) => along, 30, points);
  if (!column) return null;
  const x = column.series.x[column.i];
  const lines = series.flatMap((each) => each.x.flatMap((other, i) => (
    other === x && each.y[i] !== null ? [`${each.label ? `${each.label}: ` : ""}${pointText(each, i)}`] : [])));
  return { lines: [[title, at(column.series, column.i)].filter(Boolean).join(": "), ...lines], headIndices: [] };
}

function under(data, svg, event) {
  const place = placeInFigure(data, svg, event);
  if (!place) return null;
  return data.heatmap ? cellUnder(data.heatmap, place) : pointsUnder(data, place);
}

const tooltip = {
  node: element("div", { id: "tooltip", role: "status", hidden: true }),

  show(lines, event) {
    this.node.replaceChildren(...lines.map((line) => element("div", {}, line)));
    this.node.hidden = false;
    const { width, height } = this.node.getBoundingClientRect();
    const left = event.clientX + 14 + width > window.innerWidth ? event.clientX - 14 - width : event.clientX + 14;
    this.node.style.left = `${Math.max(4, left)}px`;
    this.node.style.top = `${Math.min(event.clientY + 14, window.innerHeight - height - 4)}px`;
  },

  hide() {
    this.node.hidden = true;
  },
};

// The picture as a file of its own, on white.
function pictureText(svg) {
  const copy = svg.cloneNode(true);
  const { width, height } = svg.viewBox.baseVal;
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  return new XMLSerializer().serializeToString(copy)
    .replace(/var\(--grey-(\d+)\)/g, (_, level) => `rgb(${level},${level},${level})`);
}

function savePng(svg, name) {
  const { width, height } = svg.viewBox.baseVal;
  const picture = new Image();
  picture.addEventListener("load", () => {
    const page = element("canvas", { width: 3 * width, height: 3 * height });
    page.getContext("2d").drawImage(picture, 0, 0, page.width, page.height);
    page.toBlob((blob) => download(`${name}.png`, blob));
  });
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(pictureText(svg))}`;
}

function figureCsv({ heatmap, chart, graph }) {
  if (graph) return graphCsv(graph);
  if (heatmap) {
    const name = (labels, index) => labels[index] || index;
    return csvText([["panel", heatmap.rowTitle || "row", heatmap.columnTitle || "column", heatmap.valueTitle || "value"],
      ...heatmap.panels.flatMap(({ title, values }) => values.map((value, i) => [title,
        name(heatmap.rowLabels, Math.floor(i / heatmap.columns)), name(heatmap.columnLabels, i % heatmap.columns), value]))]);
  }
  return csvText([["panel", "series", chart.xTitle || "x", chart.yTitle || "y", "low", "high", "name"],
    ...chart.panels.flatMap(({ title, xLabels, series }) => series.flatMap((each) => each.x.map((x, i) => [title,
      each.label, xLabels[x] || x, each.y[i], each.low[i] ?? null, each.high[i] ?? null, each.names[i] ?? ""])))]);
}

function citation({ title, source }) {
  const after = source && source !== "Headscope" ? ` After ${source}.` : "";
  return `${title}. ${figureData.made}.${after}`;
}

function makePicture(card, svg, data) {
  card.addEventListener("pointermove", (event) => {
    const found = under(data, svg, event);
    card.style.cursor = found && found.headIndices.length > 0 ? "pointer" : "";
    if (found) tooltip.show(found.lines, event);
    else tooltip.hide();
  });
  card.addEventListener("pointerleave", () => tooltip.hide());
  card.addEventListener("click", (event) => {
    const headIndices = under(data, svg, event)?.headIndices ?? [];
    if (headIndices.length > 0) headPanel.open(headIndices);
  });
}

function makeFigure(figure) {
  const name = figure.dataset.figure;
  const data = figureData.figures[name];
  const card = figure.querySelector(".card");
  const svg = card.querySelector("svg");
  if (data.graph) new GraphView(svg, data);
  else makePicture(card, svg, data);
  addZoom(card, svg, data);
  figure.querySelector("figcaption details").append(element("div", { class: "tools" },
    button("SVG", () => download(`${name}.svg`, pictureText(svg), "image/svg+xml")),
    button("PNG", () => savePng(svg, name)),
    button("CSV", () => download(`${name}.csv`, figureCsv(data), "text/csv")),
    button("Cite", () => copyText(citation(data), "Citation"))));
}

document.body.append(tooltip.node);
document.querySelectorAll("figure[data-figure]").forEach(makeFigure);

// Folded parts are printed too, except the numbers, and fold again after printing.
window.addEventListener("beforeprint", () => {
  const printed = [".claim", ".more", ".more-figures", "figcaption details", "#glossary details", "#provenance details"];
  const folded = document.querySelectorAll(printed.map((kind) => `${kind}:not([open])`).join(", "));
  for (const details of folded) details.open = true;
  window.addEventListener("afterprint", () => { for (const details of folded) details.open = false; }, { once: true });
});
