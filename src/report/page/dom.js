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

// Index after an arrow key, Home or End in a grid of `count` cells, `width` per row; null for any
// other key.
function moved(key, index, width, count) {
  const column = index % width;
  const target = {
    ArrowLeft: column > 0 ? index - 1 : index,
    ArrowRight: column < width - 1 ? index + 1 : index,
    ArrowUp: index - width,
    ArrowDown: index + width,
    Home: index - column,
    End: index - column + width - 1,
  }[key];
  if (target === undefined) return null;
  return target >= 0 && target < count ? target : index;
}
