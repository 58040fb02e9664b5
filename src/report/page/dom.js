"use strict";

// Creates <tag attributes>children</tag>. Children are nodes or plain text, never markup; null
// children are left out.
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

function svgElement(tag, attributes) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

// The texts below `root`, in the order of the page, but for those in elements that the selector `without` matches.
function textNodes(root, without) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, (node) => {
    if (node.nodeType === Node.TEXT_NODE) return NodeFilter.FILTER_ACCEPT;
    return node.matches(without) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP;
  });
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  return nodes;
}

function button(text, onClick, attributes = {}) {
  const node = element("button", { type: "button", ...attributes }, text);
  node.addEventListener("click", onClick);
  return node;
}

// A button that stays pressed; `onToggle` gets its new state.
function toggleButton(content, onToggle, attributes = {}) {
  const node = button(content, () => {
    const pressed = node.getAttribute("aria-pressed") !== "true";
    node.setAttribute("aria-pressed", pressed);
    onToggle(pressed);
  }, { "aria-pressed": "false", ...attributes });
  return node;
}

// Index after an arrow key, Home or End in a grid of `count` cells, `width` per row; null for any
// other key. In a grid of one column every arrow steps, Home and End lead to its ends.
function moved(key, index, width, count) {
  const column = index % width, isList = width === 1;
  const target = {
    ArrowLeft: isList || column > 0 ? index - 1 : index,
    ArrowRight: isList || column < width - 1 ? index + 1 : index,
    ArrowUp: index - width,
    ArrowDown: index + width,
    Home: isList ? 0 : index - column,
    End: isList ? count - 1 : index - column + width - 1,
  }[key];
  if (target === undefined) return null;
  return target >= 0 && target < count ? target : index;
}

function isDisplayed(node) {
  return node.style.display !== "none";
}

// Tab leads to the first of the buttons that is displayed, and to no other.
function setTabStop(buttons) {
  const stop = buttons.find(isDisplayed);
  for (const node of buttons) node.setAttribute("tabindex", node === stop ? 0 : -1);
}

// Makes a grid of buttons one tab stop; arrow keys move between those that are displayed.
function makeGrid(place, buttons, width) {
  setTabStop(buttons);
  place.addEventListener("keydown", (event) => {
    const displayed = buttons.filter(isDisplayed);
    const from = displayed.indexOf(event.target);
    const to = from < 0 ? null : moved(event.key, from, width, displayed.length);
    if (to === null) return;
    event.preventDefault();
    for (const node of buttons) node.setAttribute("tabindex", node === displayed[to] ? 0 : -1);
    displayed[to].focus();
  });
}

// A message that goes away by itself; screen readers read it out.
function notify(text) {
  const note = document.getElementById("notice")
    ?? document.body.appendChild(element("p", { id: "notice", role: "status" }));
  note.textContent = text;
  clearTimeout(notify.timer);
  notify.timer = setTimeout(() => note.remove(), 2500);
}

function copyText(text, what) {
  const done = () => notify(`${what} copied`);
  const byHand = () => {
    const area = document.body.appendChild(element("textarea", { class: "off-screen" }));
    area.value = text;
    area.select();
    document.execCommand("copy");
    area.remove();
    done();
  };
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, byHand);
  else byHand();
}

function download(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

function csvText(rows) {
  const cell = (value) => {
    const text = value === null ? "NaN" : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => `${row.map(cell).join(",")}\n`).join("");
}
