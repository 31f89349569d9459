// The views below the tree: word, attention and table.

import { byId } from "./elements.js";

const VIEWS = ["word", "attention", "table"];

export function chooseView(name) {
  for (const view of VIEWS) {
    const tab = byId(`tab-${view}`);
    tab.setAttribute("aria-selected", String(view === name));
    tab.tabIndex = view === name ? 0 : -1;
    byId(`view-${view}`).hidden = view !== name;
  }
}

export function handleTabs() {
  for (const [i, view] of VIEWS.entries()) {
    const tab = byId(`tab-${view}`);
    tab.addEventListener("click", () => chooseView(view));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = VIEWS.at((i + step) % VIEWS.length);
      chooseView(next);
      byId(`tab-${next}`).focus();
    });
  }
}
