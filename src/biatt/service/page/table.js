// The tree as a table: the same facts for readers who cannot see the picture, and to copy from.

import { joined } from "./conllu.js";
import { element, percent, visible } from "./elements.js";

const COLUMNS = ["", "Word", "Lemma", "Tag", "Features", "Head", "Relation", "Certainty"];

export function wordTable(sentence, fixed) {
  const rows = sentence.words.map((word) => {
    const head = word.head
      ? `${word.head} ${visible(sentence.words[word.head - 1].form)}`
      : word.head === 0
        ? "ROOT"
        : "";
    const tags = [word.upos, word.xpos].filter(Boolean).map(visible).join(" · ");
    const features = visible(joined(word.feats) ?? "").replaceAll("|", " ");
    const sure = fixed.has(word.id) ? "fixed" : word.confidence === undefined ? "" : percent(word.confidence);
    const cells = [visible(word.lemma ?? ""), tags, features, head, visible(word.deprel ?? ""), sure];
    return element(
      "tr",
      { "data-word": word.id },
      element("td", { class: "number" }, String(word.id)),
      element("th", { scope: "row", dir: "auto" }, visible(word.form)),
      cells.map((text, i) => element("td", { dir: i === 0 || i === 3 ? "auto" : null }, text)),
    );
  });
  const names = COLUMNS.map((name) =>
    element("th", { scope: "col" }, name || element("span", { class: "hidden" }, "Number")),
  );
  return element(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": "Words of the sentence" },
    element(
      "table",
      { class: "words-table" },
      element("caption", { class: "hidden" }, visible(sentence.text)),
      element("thead", null, element("tr", null, names)),
      element("tbody", null, rows),
    ),
  );
}
