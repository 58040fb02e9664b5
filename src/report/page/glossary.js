// Links each word of the glossary where it first stands in the text.

function linkTerm(term, root) {
  const word = term.textContent;
  const pattern = new RegExp(`\\b${word}s?\\b`, "i");
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT, (node) => (
    node.parentElement.closest("a, button, svg, select, script, code, h2, summary, details, table.head-map, #model-view, #next-tokens, #glossary, #head-panel")
      || !pattern.test(node.data) ? NodeFilter.FILTER_SKIP : NodeFilter.FILTER_ACCEPT));
  const node = walker.nextNode();
  if (!node) return;
  const found = node.splitText(node.data.search(pattern));
  const [text] = pattern.exec(found.data);
  found.splitText(text.length);
  found.replaceWith(element("a", { href: `#${term.id}`, class: "term", title: term.nextElementSibling.textContent }, text));
}

// Longer words first: `direct effect` before a part of it.
Array.from(document.querySelectorAll("#glossary dt"))
  .sort((a, b) => b.textContent.length - a.textContent.length)
  .forEach((term) => linkTerm(term, document.getElementById("main")));
