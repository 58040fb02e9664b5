// Links each word of the glossary where it first stands in the text.

// Adds the text after the link to `texts`.
function linkTerm(term, texts) {
  const pattern = new RegExp(`\\b${term.textContent}s?\\b`, "i");
  const index = texts.findIndex((node) => pattern.test(node.data));
  if (index < 0) return;
  const found = texts[index].splitText(texts[index].data.search(pattern));
  const [text] = pattern.exec(found.data);
  texts.splice(index + 1, 0, found.splitText(text.length));
  found.replaceWith(element("a", { href: `#${term.id}`, class: "term", title: term.nextElementSibling.textContent }, text));
}

function linkTerms() {
  const texts = textNodes(document.getElementById("main"),
    "a, button, svg, select, tbody th, script, code, h2, summary, details, table.head-map, #model-view, #next-tokens, #glossary, #head-panel");
  // Longer words first: `direct effect` before a part of it.
  Array.from(document.querySelectorAll("#glossary dt"))
    .sort((a, b) => b.textContent.length - a.textContent.length)
    .forEach((term) => linkTerm(term, texts));
}

linkTerms();
