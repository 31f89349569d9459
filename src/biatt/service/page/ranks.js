// The best trees of a sentence: which of them is shown, how probable it is, and what changes from one to the next.

import { byId, element, isolated, percent, visible } from "./elements.js";

// The words whose arcs differ between two trees, each with the word of the tree before.
export function changes(tree, treeBefore) {
  return tree.words
    .map((word, i) => ({ word, before: treeBefore.words[i] }))
    .filter(({ word, before }) => word.head !== before.head || word.deprel !== before.deprel);
}

export function showRank(trees, rank) {
  const slider = byId("rank");
  byId("ranks").classList.toggle("single", trees.length < 2);
  slider.disabled = trees.length < 2;
  slider.max = trees.length;
  slider.value = rank + 1;
  const { log_probability } = trees[rank];
  const share = Number.isFinite(log_probability) ? `, ${percent(Math.exp(log_probability))}` : "";
  const number = `${rank + 1} of ${trees.length}${share}`;
  byId("rank-number").textContent = number;
  slider.setAttribute("aria-valuetext", number);
  byId("rank-change").replaceChildren(
    rank ? changeList(trees[rank], trees[rank - 1]) : "The most probable tree",
  );
}

function changeList(tree, treeBefore) {
  const name = (head) => (head ? isolated(tree.words[head - 1].form) : "ROOT");
  const turned = (before, after) => (before === after ? after : `${before} → ${after}`);
  const items = changes(tree, treeBefore).map(({ word, before }) => {
    const heads = turned(name(before.head), name(word.head));
    const relations = visible(turned(before.deprel ?? "_", word.deprel ?? "_"));
    return element("li", null, element("b", null, isolated(word.form)), `: ${heads} (${relations})`);
  });
  return element("ul", null, items);
}
