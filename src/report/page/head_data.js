// The page's data about heads. A head's unit is layer * heads + head.
const headData = JSON.parse(document.getElementById("head-data")?.textContent ?? "null");

const headCount = headData ? headData.layers * headData.heads : 0;

function headName(unit) {
  return `L${Math.floor(unit / headData.heads)}H${unit % headData.heads}`;
}

// The unit of a head; null if the model has no such head.
function unitOf(layer, head) {
  if (!headData || layer >= headData.layers || head >= headData.heads) return null;
  return layer * headData.heads + head;
}

function spaced(name) {
  return name.replaceAll("_", " ");
}

function numberText(value) {
  return value === null ? "–" : String(value).replace("-", "−");
}

function percentText(share) {
  if (share > 0 && share < 0.01) return "<\u00a01\u00a0%";
  return `${Math.round(100 * share)}\u00a0%`;
}

function typesOf(unit) {
  return headData.types ? headData.types.flags[unit].map((type) => headData.types.names[type]) : [];
}

function scoreTitle(score) {
  return score.label ? `${spaced(score.name)}, ${spaced(score.label)}` : spaced(score.name);
}

// Rank of a head among all heads that have the score; the largest value is 1.
function rankText(score, unit) {
  const value = score.values[unit];
  if (value === null) return "–";
  const present = score.values.filter((other) => other !== null);
  return `${1 + present.filter((other) => other > value).length} of ${present.length}`;
}

function channels(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

// The colour at `share`, from 0 to 1, along equally spaced colour stops.
function blend(stops, share) {
  const place = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(place), stops.length - 2);
  const [from, to] = [channels(stops[low]), channels(stops[low + 1])];
  return from.map((channel, i) => Math.round(channel + (to[i] - channel) * (place - low)));
}

// Text colour, black or white, with the better contrast to the background.
function inkOn([red, green, blue]) {
  const linear = [red, green, blue].map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  return luminance > 0.179 ? "#000000" : "#ffffff";
}

function cssColour(rgb) {
  return `rgb(${rgb.join(", ")})`;
}

// A score's colour scale: diverging around zero if values have both signs, otherwise sequential.
function scoreScale(score) {
  const present = score.values.filter((value) => value !== null);
  let low = Math.min(...present), high = Math.max(...present);
  const diverging = low < 0 && high > 0;
  if (diverging) [low, high] = [-Math.max(-low, high), Math.max(-low, high)];
  const stops = diverging ? headData.diverging : headData.sequential;
  const colour = (value) => blend(stops, high > low ? (value - low) / (high - low) : 0.5);
  return { low, high, stops, colour };
}
