// The summary's map of all heads, coloured by their types, by what they attend by, or by a score.

const headMap = {
  buttons: [],
  chosen: null, // whether a head is of the kind chosen in the legend
  found: null, // the head indices that the search found

  build(place) {
    this.buttons = Array.from(place.querySelectorAll("button[data-head-index]"));
    // Cells too small for the letters of several types show their colours.
    place.querySelector("table").classList.toggle("small", headData.layers > 15 || headData.heads > 12);
    this.legend = element("div", { id: "head-map-legend" });
    makeGrid(place, this.buttons, headData.heads);
    if (!headData.types && headData.categories.length === 0 && headData.scores.length === 0) return;
    const menu = scoreMenu();
    const labels = element("select", { id: "head-map-label", "aria-label": "Which of its values", hidden: true });
    const choose = () => {
      fillLabels(labels, menu.value);
      this.colour(menu.value);
    };
    menu.addEventListener("change", choose);
    labels.addEventListener("change", () => this.colour(labels.value));
    place.prepend(element("p", {}, element("label", { for: menu.id }, "Coloured by "), menu, " ", labels));
    place.append(this.legend);
    menu.value = openingScore(menu);
    choose();
  },

  colour(choice) {
    this.chosen = null;
    const category = categoryOf(choice);
    if (choice === "type") {
      this.buttons.forEach(paintTypes);
      this.legend.replaceChildren(typeLegend());
    } else if (category) {
      this.buttons.forEach((cell, headIndex) => paintCategory(cell, headIndex, category));
      this.legend.replaceChildren(categoryLegend(category));
    } else {
      const score = headData.scores[Number(choice)];
      const scale = scoreScale(score);
      this.buttons.forEach((cell, headIndex) => paintScore(cell, headIndex, score, scale));
      this.legend.replaceChildren(scoreLegend(score, scale));
    }
    this.dim();
  },

  choose(chosen) {
    this.chosen = chosen;
    this.dim();
  },

  find(headIndices) {
    this.found = headIndices;
    this.dim();
  },

  dim() {
    const chosen = (headIndex) => (this.chosen === null || this.chosen(headIndex))
      && (this.found === null || this.found.has(headIndex));
    this.buttons.forEach((cell, headIndex) => cell.classList.toggle("dimmed", !chosen(headIndex)));
  },

  mark(headIndices) {
    this.buttons.forEach((cell, headIndex) => {
      if (headIndices.includes(headIndex)) cell.setAttribute("aria-current", "true");
      else cell.removeAttribute("aria-current");
    });
  },
};

const removedMark = "×";

// `type` is an index, or -1 for heads of no type; removed heads are neither.
function hasType(headIndex, type) {
  const held = headData.types.flags[headIndex];
  return type < 0 ? held.length === 0 && !headData.removed[headIndex] : held.includes(type);
}

function nameCell(cell, headIndex, meaning) {
  cell.title = `${headName(headIndex)}: ${meaning}`;
  cell.setAttribute("aria-label", `${headName(headIndex)}, ${meaning}`);
}

// Two letters for a name that no earlier one of the names has.
function nameMark(name, names) {
  const marks = [];
  for (const each of names) {
    const own = Array.from(each.slice(1), (letter) => each.charAt(0).toUpperCase() + letter);
    marks.push(own.find((mark) => !marks.includes(mark)) ?? each);
  }
  return marks[names.indexOf(name)];
}

// A head's types, the main one first.
function typesByPlace(headIndex) {
  const { flags, primary } = headData.types;
  return [...flags[headIndex]].sort((a, b) => Number(b === primary[headIndex]) - Number(a === primary[headIndex]));
}

// A field for each type of the head.
function paintTypes(cell, headIndex) {
  const { names, colours } = headData.types;
  const held = typesByPlace(headIndex);
  cell.removeAttribute("style");
  const unexplained = (type) => headData.types.unexplained[headIndex].includes(type);
  cell.replaceChildren(...held.map((type) => paint(
    element("span", { class: unexplained(type) ? "unexplained" : null }, nameMark(names[type], names)), colours[type])));
  if (held.length === 0) cell.append(headData.removed[headIndex] ? removedMark : "·");
  const meaning = (name) => {
    const about = headData.reasons?.heads[headIndex][name]?.about;
    const hatched = unexplained(names.indexOf(name)) ? ", not shown to explain its effect" : "";
    return spaced(name) + (about || hatched ? ` (${about ?? ""}${about ? hatched : hatched.slice(2)})` : "");
  };
  nameCell(cell, headIndex, held.map((type) => meaning(names[type])).join(", ") || (headData.removed[headIndex] ? "removed" : "no type"));
}

// A button for each kind that some head is of; a kind is a mark, a name and whether a head is of it.
function kindLegend(label, kinds) {
  const entries = [];
  for (const { mark, name, holds } of kinds) {
    const count = headMap.buttons.filter((cell, headIndex) => holds(headIndex)).length;
    if (count === 0) continue;
    const entry = toggleButton("", (pressed) => {
      for (const other of entries) if (other !== entry) other.setAttribute("aria-pressed", false);
      headMap.choose(pressed ? holds : null);
    }, { title: "Show only these heads" });
    entry.append(mark, ` ${name} ${count}`);
    entries.push(entry);
  }
  return element("ul", { class: "legend", "aria-label": label }, ...entries.map((entry) => element("li", {}, entry)));
}

function markOf(text, colour) {
  const mark = element("span", { class: "mark" }, text);
  return colour ? paint(mark, colour) : mark;
}

function removedKind() {
  return { mark: markOf(removedMark), name: "removed", holds: (headIndex) => headData.removed[headIndex] };
}

function typeLegend() {
  const { names, colours } = headData.types;
  const kinds = names.map((name, type) => ({ mark: markOf(nameMark(name, names), colours[type]), name: spaced(name),
    holds: (headIndex) => hasType(headIndex, type) }));
  kinds.push({ mark: markOf("·"), name: "no type", holds: (headIndex) => hasType(headIndex, -1) }, removedKind());
  const hatched = headData.types.unexplained.some((types) => types.length > 0)
    ? element("p", { class: "faint" }, element("span", { class: "mark unexplained legend-hatch" }, "\u00a0"), " hatched: the label is not shown to explain what the head does for the loss") : null;
  return element("div", {}, kindLegend("Types; choose one to see its heads", kinds), hatched);
}

// The category that an option of the menu stands for; none for the types and for scores.
function categoryOf(choice) {
  return choice.startsWith("category-") ? headData.categories[Number(choice.slice("category-".length))] : undefined;
}

function categoryMark({ names }, value) {
  return names[value] === "none" ? "·" : nameMark(names[value], names);
}

function paintCategory(cell, headIndex, category) {
  const value = category.values[headIndex];
  const name = category.names[value];
  cell.removeAttribute("style");
  if (headData.removed[headIndex]) {
    cell.textContent = removedMark;
    nameCell(cell, headIndex, "removed");
    return;
  }
  cell.replaceChildren(name === "none" ? "·" : paint(element("span", {}, categoryMark(category, value)), category.colours[value]));
  nameCell(cell, headIndex, `${spaced(category.name)} ${spaced(name)}`);
}

function categoryLegend(category) {
  const kinds = category.names.map((name, value) => ({
    mark: markOf(categoryMark(category, value), name === "none" ? null : category.colours[value]),
    name: spaced(name), holds: (headIndex) => category.values[headIndex] === value && !headData.removed[headIndex] }));
  kinds.push(removedKind());
  return element("div", {}, kindLegend(`${spaced(category.name)}; choose one to see its heads`, kinds),
    element("p", { class: "faint" }, `${category.about}.`));
}

// The power of ten by which cells are multiplied, so that small scores are not all near 0.
function cellPower({ low, high }) {
  const size = Math.max(Math.abs(low), Math.abs(high));
  return size > 0 && size < 0.1 ? -Math.floor(Math.log10(size)) : 0;
}

// A number in at most three characters, to fit a cell; the title and the panel show it in full.
function shortNumber(value) {
  const size = Math.abs(value);
  const sign = value < 0 ? "−" : "";
  if (size >= 10) return sign + Math.round(size);
  if (size >= 1) return sign + size.toFixed(1);
  if (size >= 0.005) return sign + size.toFixed(2).replace(/^0/, "");
  return value === 0 ? "0" : "~0";
}

function paintScore(cell, headIndex, score, scale) {
  const value = valueOf(score, headIndex), removed = headData.removed[headIndex];
  cell.removeAttribute("style");
  cell.textContent = value !== null ? shortNumber(value * 10 ** cellPower(scale)) : removed ? removedMark : "–";
  nameCell(cell, headIndex, removed ? "removed" : `${scoreTitle(score)} ${numberText(value)}`);
  if (value === null) return;
  const rgb = scale.colour(value);
  cell.style.backgroundColor = cssColour(rgb);
  cell.style.color = inkOn(rgb);
}

function superscript(number) {
  return Array.from(String(number), (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("");
}

function scoreLegend(score, { low, high, stops, beyond }) {
  const units = score.units && score.units !== "1" ? ` ${score.units}` : "";
  const power = cellPower({ low, high });
  const times = power === 0 ? "" : ` Cells show the values times 10${superscript(power)}.`;
  const note = beyond === 0 ? "" : ` The colours end at the 2nd and 98th percentile; ${beyond} ${beyond === 1 ? "head lies" : "heads lie"} beyond.`;
  return element("div", { class: "legend" }, element("span", {}, numberText(low)), colourBar(stops),
    element("span", {}, numberText(high) + units), element("p", { class: "faint" }, `${score.about}.${times}${note}`));
}

// The scores by variable, a list of indices each.
function variablesOf(indices) {
  const variables = new Map();
  for (const index of indices) {
    const { anchor } = headData.scores[index];
    variables.set(anchor, [...variables.get(anchor) ?? [], index]);
  }
  return [...variables.values()];
}

function isSeenDifference(score) {
  return score.name.endsWith("_difference") && presentValues(score).some((value) => value !== 0);
}

// The score of a variable that the map shows first. The first run's difference from itself is 0, so
// a difference begins with a run that differs.
function firstShown(indices) {
  return indices.find((index) => isSeenDifference(headData.scores[index])) ?? indices[0];
}

// Sections of the panel first, then every other variable by group. A variable is one entry, whose
// value is the score shown first; a second menu chooses among its labels.
function scoreMenu() {
  const menu = element("select", { id: "head-map-score" });
  if (headData.types) menu.append(element("option", { value: "type" }, "type"));
  headData.categories.forEach(({ name }, index) => menu.append(element("option", { value: `category-${index}` }, spaced(name))));
  const option = (indices) => element("option", { value: firstShown(indices) }, spaced(headData.scores[indices[0]].name));
  const listed = new Set(headData.sections.flatMap((section) => section.scores));
  for (const { title, scores } of headData.sections) {
    if (scores.length > 0) menu.append(element("optgroup", { label: title }, ...variablesOf(scores).map(option)));
  }
  const rest = headData.scores.map((score, index) => index)
    .filter((index) => !listed.has(index) && !headData.scores[index].auxiliary);
  for (const group of new Set(rest.map((index) => headData.scores[index].group))) {
    const options = variablesOf(rest.filter((index) => headData.scores[index].group === group)).map(option);
    menu.append(element("optgroup", { label: `more of ${group}` }, ...options));
  }
  return menu;
}

// The labels of the chosen variable; hidden where it has one score alone.
function fillLabels(labels, choice) {
  const chosen = headData.scores[Number(choice)];
  const indices = choice === "type" || categoryOf(choice) ? []
    : headData.scores.map((score, index) => index).filter((index) => headData.scores[index].anchor === chosen.anchor);
  labels.replaceChildren(...indices.map((index) => element("option", { value: index }, spaced(headData.scores[index].label || headData.scores[index].name))));
  labels.hidden = indices.length < 2;
  labels.value = choice;
}

// The types or, of a comparison, the first difference between runs that is not zero everywhere.
function openingScore(menu) {
  const options = Array.from(menu.options, (option) => option.value);
  const difference = headData.types ? undefined : options.find((value) => {
    const score = headData.scores[Number(value)];
    return score && isSeenDifference(score);
  });
  return difference ?? options[0];
}

if (headData) headMap.build(document.getElementById("head-map"));
