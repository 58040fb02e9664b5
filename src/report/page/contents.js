// The contents stay at the top and mark the section that is read.

function followSections(nav) {
  const links = new Map(Array.from(nav.querySelectorAll("a"), (link) => [link.hash.slice(1), link]));
  const list = nav.querySelector("ul");
  const watcher = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      for (const [id, link] of links) {
        if (id !== target.id) {
          link.removeAttribute("aria-current");
          continue;
        }
        link.setAttribute("aria-current", "true");
        list.scrollLeft = link.offsetLeft - list.offsetLeft - 100; // on narrow screens
      }
    }
  }, { rootMargin: "-15% 0px -80% 0px" });
  links.values().next().value?.setAttribute("aria-current", "true");
  for (const id of links.keys()) watcher.observe(document.getElementById(id));
}

// Opens a place that a link leads to and scrolls there.
function reveal(id) {
  const target = document.getElementById(id);
  for (let each = target; each; each = each.parentElement) {
    if (each instanceof HTMLDetailsElement) each.open = true;
  }
  target.scrollIntoView({ block: "start" });
}

followSections(document.getElementById("contents"));
