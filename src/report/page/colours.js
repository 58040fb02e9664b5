// Colours along scales, and text that can be read on them.

// Okabe and Ito's colours without black, which would not be seen on a dark page.
const lineColours = ["#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6d3b", "#999999"];

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

// Black is the ink of the figures, which a dark page inverts.
function paint(node, colour) {
  const rgb = channels(colour), black = colour === "#000000";
  node.style.backgroundColor = black ? "var(--figure-ink)" : cssColour(rgb);
  node.style.color = black ? "var(--figure-paper)" : inkOn(rgb);
  if (black) node.style.setProperty("--hatch", "var(--figure-paper)");
  return node;
}

function colourBar(stops) {
  const bar = element("span", { class: "colour-bar" });
  bar.style.backgroundImage = `linear-gradient(to right, ${stops.join(", ")})`;
  return bar;
}

// The value below which a share of the sorted values lies.
function quantile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.round(share * (sorted.length - 1)))];
}

// Whether sorted values have both signs, rounding left out.
function hasBothSigns(sorted) {
  const least = sorted[0], most = sorted[sorted.length - 1];
  return Math.min(-least, most) > 1e-6 * Math.max(-least, most);
}

// A score's colour scale: diverging around zero if values have both signs, otherwise sequential. It
// ends at the 2nd and 98th percentile, so that one extreme head does not make all others alike.
function scoreScale(score) {
  const sorted = presentValues(score).sort((a, b) => a - b);
  let low = quantile(sorted, 0.02) ?? null, high = quantile(sorted, 0.98) ?? null;
  const diverging = hasBothSigns(sorted);
  if (diverging) [low, high] = [-Math.max(-low, high), Math.max(-low, high)];
  const stops = diverging ? headData.diverging : headData.sequential;
  const colour = (value) => blend(stops, high > low ? (value - low) / (high - low) : 0.5);
  return { low, high, stops, colour, beyond: sorted.filter((value) => value < low || value > high).length };
}
