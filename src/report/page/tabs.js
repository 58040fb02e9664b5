// Tabs beside the map of heads: the head that is open, the patterns of all heads, the table of tasks.

const tabs = {
  buttons: new Map(),
  pages: new Map(),

  build(place) {
    this.list = element("div", { role: "tablist", class: "tab-list", "aria-label": "Views of the heads" });
    this.place = element("div", { id: "tabs" }, this.list);
    place.append(this.place);
    this.list.addEventListener("keydown", (event) => this.step(event));
    this.heads = this.add("heads", "Heads", "heads-tab");
    const tasks = document.getElementById("tasks");
    if (tasks) this.add("tasks", "Tasks and circuits", "tasks-tab").append(tasks);
    this.choose("heads");
  },

  // A new tab, before that of the tasks. Returns the page to fill.
  add(name, title, id) {
    const tab = button(title, () => this.choose(name), { role: "tab", id: `${id}-button`, "aria-controls": id, "aria-selected": false, tabindex: -1 });
    const page = element("div", { id, role: "tabpanel", "aria-labelledby": tab.id, hidden: true });
    this.list.insertBefore(tab, this.buttons.get("tasks") ?? null);
    this.buttons.set(name, tab);
    this.pages.set(name, page);
    this.place.append(page);
    return page;
  },

  choose(name) {
    for (const [each, page] of this.pages) {
      page.hidden = each !== name;
      this.buttons.get(each).setAttribute("aria-selected", each === name);
      this.buttons.get(each).tabIndex = each === name ? 0 : -1;
    }
  },

  // Arrow keys move between the tabs.
  step(event) {
    const order = Array.from(this.list.children);
    const to = moved(event.key, order.indexOf(event.target), order.length, order.length);
    if (to === null) return;
    event.preventDefault();
    order[to].click();
    order[to].focus();
  },
};

if (headData) tabs.build(document.querySelector("#summary .beside-map") ?? document.querySelector("#summary .overview"));
