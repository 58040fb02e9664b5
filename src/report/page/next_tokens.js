// What the model predicts after each token of a text, and which heads raise and lower a candidate.

const mostPushing = 8; // heads on either side

const nextTokens = {
  token: 0,
  candidate: 0,

  build(place) {
    const { predictions, documents } = headData;
    this.labels = documents[0].labels;
    this.effects = unpackedValues(predictions.effect);
    this.tokens = this.labels.map((label, token) => button(label,
      () => this.choose(token), { "aria-pressed": "false", title: `What follows ${label}` }));
    makeGrid(place, this.tokens, this.tokens.length);
    this.list = element("div", { class: "candidates" });
    this.heads = element("div", { class: "pushing" });
    place.append(element("h3", {}, "What comes next"),
      element("p", {}, "Choose a token to see what the model expects after it, and a candidate to see which heads raise and lower it."),
      element("div", { class: "text-tokens" }, ...this.tokens), this.list, this.heads);
    this.choose(this.labels.length - 1);
  },

  index(candidate) {
    return this.token * headData.predictions.candidates + candidate;
  },

  // A candidate's place among those of the token that is chosen; the last stands for the token that follows.
  candidates() {
    const { labels, probability, candidates } = headData.predictions;
    const most = Array.from({ length: candidates - 1 }, (_, i) => i).filter((i) => probability[this.index(i)] !== null);
    const last = candidates - 1;
    if (probability[this.index(last)] === null) return { most, follows: null };
    const same = most.find((i) => labels[this.index(i)] === labels[this.index(last)]
      && probability[this.index(i)] === probability[this.index(last)]);
    return same === undefined ? { most: [...most, last], follows: last } : { most, follows: same };
  },

  choose(token) {
    this.token = token;
    this.tokens.forEach((each, i) => each.setAttribute("aria-pressed", i === token));
    const { most, follows } = this.candidates();
    this.candidate = token === this.labels.length - 1 && follows !== null ? follows : most[0];
    const { labels, probability } = headData.predictions;
    const rows = most.map((candidate) => {
      const share = probability[this.index(candidate)];
      const bar = element("span", { class: "share" });
      bar.style.width = `${Math.max(0.5, 100 * share)}%`;
      const row = button("", () => this.show(candidate), { class: "candidate", "data-candidate": candidate, "aria-pressed": "false" });
      row.append(element("span", { class: "candidate-token" }, labels[this.index(candidate)]),
        element("span", { class: "candidate-bar" }, bar), element("span", { class: "number" }, sharePercent(share)),
        element("span", { class: "faint" }, candidate === follows ? "follows" : ""));
      return row;
    });
    this.list.replaceChildren(element("p", { class: "faint" }, `After ${this.labels.slice(Math.max(0, token - 3), token + 1).join(" ")} …`), ...rows);
    this.show(this.candidate);
  },

  show(candidate) {
    this.candidate = candidate;
    for (const row of this.list.querySelectorAll(".candidate")) {
      row.setAttribute("aria-pressed", Number(row.dataset.candidate) === candidate);
    }
    const at = this.index(candidate);
    const effects = this.effects.slice(at * headCount, (at + 1) * headCount);
    const order = ranked(effects);
    const largest = Math.max(...effects.map(Math.abs), 1e-9);
    const pushing = (title, headIndices) => element("div", {}, element("h4", {}, title),
      headIndices.length === 0 ? element("p", { class: "faint" }, "none") : null,
      ...headIndices.map((headIndex) => effectRow(headIndex, effects[headIndex], largest)));
    const { labels, logit } = headData.predictions;
    const total = effects.reduce((sum, value) => sum + value, 0);
    this.heads.replaceChildren(
      pushing(`Raise “${labels[at]}”`, order.filter((headIndex) => effects[headIndex] > 0).slice(0, mostPushing)),
      pushing(`Lower “${labels[at]}”`, order.filter((headIndex) => effects[headIndex] < 0).reverse().slice(0, mostPushing)),
      element("p", { class: "faint" }, `Direct effects in logits, above the mean of the vocabulary: all heads together ${numberText(Number(total.toPrecision(3)))} of ${numberText(Number(logit[at].toPrecision(3)))}; embeddings and MLPs write the rest. What a head changes through later layers is not counted.`));
  },
};

function sharePercent(share) {
  if (share < 0.001) return "<\u00a00.1\u00a0%";
  return `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)}\u00a0%`;
}

function effectRow(headIndex, value, largest) {
  const bar = element("span", { class: value < 0 ? "share lowers" : "share" });
  bar.style.width = `${Math.max(1, 100 * Math.abs(value) / largest)}%`;
  return element("div", { class: "effect" }, headButton(headIndex), element("span", { class: "candidate-bar" }, bar),
    element("span", { class: "number" }, `${value > 0 ? "+" : ""}${numberText(Number(value.toPrecision(3)))}`));
}

if (headData?.predictions && headData.documents.length > 0) {
  const place = element("div", { id: "next-tokens" });
  document.querySelector("#summary .overview").before(place);
  nextTokens.build(place);
}
