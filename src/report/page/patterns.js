// The attention patterns of the sample documents, as the page holds them.

const decodedPatterns = new Map();

function patternBytes(documentIndex, kindIndex) {
  const name = `${documentIndex}/${kindIndex}`;
  if (!decodedPatterns.has(name)) {
    const text = atob(headData.documents[documentIndex].kinds[kindIndex].bytes);
    decodedPatterns.set(name, Uint8Array.from(text, (c) => c.charCodeAt(0)));
  }
  return decodedPatterns.get(name);
}

// One head's weights on one document. One byte per weight: 255 times the square root of its share of
// the largest. Query by query, keys 0 .. query.
class Pattern {
  constructor(documentIndex, kindIndex, headIndex) {
    const { tokens, kinds } = headData.documents[documentIndex];
    const kind = kinds[kindIndex];
    const matrix = kind.shared ? Math.floor(headIndex / headData.heads) : headIndex;
    this.count = tokens.length;
    this.bytes = patternBytes(documentIndex, kindIndex);
    this.first = matrix * this.count * (this.count + 1) / 2;
    this.largest = kind.largest[matrix] ?? 1;
  }

  byte(query, key) {
    return key > query ? 0 : this.bytes[this.first + query * (query + 1) / 2 + key];
  }

  weight(query, key) {
    return this.largest * (this.byte(query, key) / 255) ** 2;
  }
}

// A token of the document that is shown; `‿` joins it to the word before.
function tokenText(index) {
  return patternChoice.data().labels[index];
}

function tokenName(index) {
  return `“${tokenText(index)}” (${index})`;
}

// What every head view and the model view show; views draw anew when it changes.
const patternChoice = {
  document: 0,
  kind: 0,
  firstToken: true,
  endOfText: true,
  listeners: new Set(),

  set(changes) {
    Object.assign(this, changes);
    this.kind = Math.min(this.kind, this.data().kinds.length - 1);
    for (const listener of this.listeners) listener();
  },

  data() {
    return headData.documents[this.document];
  },

  pattern(headIndex) {
    return new Pattern(this.document, this.kind, headIndex);
  },

  // The tokens shown: all but those switched off.
  shown() {
    const { tokens } = this.data();
    return tokens.map((token, index) => index).filter((index) => (this.firstToken || index > 0)
      && (this.endOfText || index === 0 || tokens[index] !== "<|endoftext|>"));
  },

  // The end of the colour scale: the largest weight, or 1; with tokens switched off, the largest of
  // those shown.
  scaleEnd(pattern, shown) {
    if (shown.length === pattern.count) return pattern.largest;
    let most = 0;
    for (const query of shown) for (const key of shown) most = Math.max(most, pattern.weight(query, key));
    return most || 1;
  },
};

// Menus and boxes for the shared choice; `which` names this set of controls.
function patternControls(which) {
  const documents = element("select", { id: `${which}-document` },
    ...headData.documents.map((item, index) => element("option", { value: index, title: item.name }, item.title)));
  const kinds = element("select", { id: `${which}-kind` });
  const first = element("input", { type: "checkbox", id: `${which}-first` });
  const end = element("input", { type: "checkbox", id: `${which}-end` });
  const update = () => {
    documents.value = patternChoice.document;
    kinds.replaceChildren(...patternChoice.data().kinds.map(
      (kind, index) => element("option", { value: index }, kind.title)));
    kinds.value = patternChoice.kind;
    first.checked = patternChoice.firstToken;
    end.checked = patternChoice.endOfText;
    end.parentElement.hidden = !patternChoice.data().tokens.includes("<|endoftext|>", 1);
  };
  documents.addEventListener("change", () => patternChoice.set({ document: Number(documents.value) }));
  kinds.addEventListener("change", () => patternChoice.set({ kind: Number(kinds.value) }));
  first.addEventListener("change", () => patternChoice.set({ firstToken: first.checked }));
  end.addEventListener("change", () => patternChoice.set({ endOfText: end.checked }));
  const label = (text, input) => element("label", { for: input.id }, text, input);
  const node = element("div", { class: "pattern-controls" },
    headData.documents.length > 1 ? label("Document ", documents) : null, label("Weights ", kinds),
    element("label", { for: first.id }, first, " first token"),
    element("label", { for: end.id }, end, " <|endoftext|>"));
  patternChoice.listeners.add(update);
  update();
  return node;
}
