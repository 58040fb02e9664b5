// The summary's map of all heads, coloured by type or by a score. It is one tab stop; arrow keys
// move between heads.

function paintCell(button, unit, rgb, text, meaning) {
  button.textContent = text;
  button.style.backgroundColor = rgb ? cssColour(rgb) : "";
  button.style.color = rgb ? inkOn(rgb) : "";
  button.title = `${headName(unit)}: ${meaning}`;
  button.setAttribute("aria-label", `${headName(unit)}, ${meaning}`);
}

function typeMark(name) {
  return name.charAt(0).toUpperCase() + name.charAt(1);
}

function paintTypes(buttons) {
  const { names, colours, primary } = headData.types;
  buttons.forEach((button, unit) => {
    const type = primary[unit];
    const held = typesOf(unit).map(spaced).join(", ") || "no type";
    if (type === null) paintCell(button, unit, null, "·", held);
    else paintCell(button, unit, channels(colours[type]), typeMark(names[type]), held);
  });
}

function typeLegend() {
  const { names, colours, primary } = headData.types;
  const entries = names.flatMap((name, type) => {
    const count = primary.filter((other) => other === type).length;
    if (count === 0) return [];
    const rgb = channels(colours[type]);
    const mark = element("span", { class: "mark" }, typeMark(name));
    mark.style.backgroundColor = cssColour(rgb);
    mark.style.color = inkOn(rgb);
    return [element("li", {}, mark, ` ${spaced(name)} ${count}`)];
  });
  const untyped = primary.filter((type) => type === null).length;
  if (untyped > 0) {
    entries.push(element("li", {}, element("span", { class: "mark" }, "·"), ` no type ${untyped}`));
  }
  return element("ul", { class: "legend" }, ...entries);
}

// A number in at most three characters, to fit a cell; the title and the panel show it in full.
function shortNumber(value) {
  const size = Math.abs(value);
  const sign = value < 0 ? "−" : "";
  if (size >= 10) return sign + Math.round(size);
  if (size >= 1) return sign + size.toFixed(1);
  if (size >= 0.005) return sign + size.toFixed(2).replace(/^0/, "");
  return "0";
}

function paintScore(buttons, score) {
  const scale = scoreScale(score);
  buttons.forEach((button, unit) => {
    const value = score.values[unit];
    const meaning = `${scoreTitle(score)} ${numberText(value)}`;
    if (value === null) paintCell(button, unit, null, "–", meaning);
    else paintCell(button, unit, scale.colour(value), shortNumber(value), meaning);
  });
}

function scoreLegend(score) {
  const { low, high, stops } = scoreScale(score);
  const bar = element("span", { class: "colour-bar" });
  bar.style.backgroundImage = `linear-gradient(to right, ${stops.join(", ")})`;
  const units = score.units && score.units !== "1" ? ` ${score.units}` : "";
  return element("div", { class: "legend" }, element("span", {}, numberText(low)), bar,
    element("span", {}, numberText(high) + units), element("p", { class: "faint" }, score.about));
}

function scoreMenu() {
  const menu = element("select", { id: "head-map-score" });
  if (headData.types) menu.append(element("option", { value: "type" }, "type"));
  for (const group of new Set(headData.scores.map((score) => score.group))) {
    const options = headData.scores.flatMap((score, index) => (
      score.group === group ? [element("option", { value: index }, scoreTitle(score))] : []));
    menu.append(element("optgroup", { label: group }, ...options));
  }
  return menu;
}

// A table with a row per head: its types and the scores of the panel's sections. Built when opened.
function allHeadsTable() {
  const scores = headData.sections.flatMap((part) => part.scores.map((index) => headData.scores[index]));
  const header = (name, number) => element("th", { scope: "col", class: number ? "number" : null },
    element("button", { type: "button" }, name));
  const rows = Array.from({ length: headCount }, (_, unit) => element("tr", {},
    element("td", { class: "number", "data-number": unit }, headButton(unit)),
    element("td", {}, typesOf(unit).map(spaced).join(", ")),
    ...scores.map((score) => element("td", { class: "number" }, numberText(score.values[unit])))));
  const table = element("table", { class: "sortable" },
    element("thead", {}, element("tr", {}, header("head", true), header("types", false),
      ...scores.map((score) => header(scoreTitle(score), true)))),
    element("tbody", {}, ...rows));
  makeSortable(table);
  return element("div", { class: "wide" }, table);
}

function makeHeadTable(place) {
  const details = element("details", {}, element("summary", {}, "All heads as a table"));
  details.addEventListener("toggle", () => details.append(allHeadsTable()), { once: true });
  place.append(details);
}

function makeHeadMap(place) {
  const buttons = Array.from(place.querySelectorAll("button[data-unit]"));
  const legend = element("div", { id: "head-map-legend" });
  const paint = (choice) => {
    if (choice === "type") paintTypes(buttons);
    else paintScore(buttons, headData.scores[Number(choice)]);
    legend.replaceChildren(choice === "type" ? typeLegend() : scoreLegend(headData.scores[Number(choice)]));
  };
  if (headData.types || headData.scores.length > 0) {
    const menu = scoreMenu();
    menu.addEventListener("change", () => paint(menu.value));
    place.prepend(element("p", {}, element("label", { for: menu.id }, "Coloured by "), menu));
    place.append(legend);
    paint(menu.value);
  }
  buttons.forEach((button, unit) => button.setAttribute("tabindex", unit === 0 ? 0 : -1));
  place.addEventListener("keydown", (event) => {
    const from = buttons.indexOf(event.target);
    const to = from < 0 ? null : moved(event.key, from, headData.heads, headCount);
    if (to === null) return;
    event.preventDefault();
    buttons[from].setAttribute("tabindex", -1);
    buttons[to].setAttribute("tabindex", 0);
    buttons[to].focus();
  });
}

if (headData) {
  makeHeadMap(document.getElementById("head-map"));
  makeHeadTable(document.getElementById("summary"));
}
