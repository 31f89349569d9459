// What the parser thinks of one word, and the means to correct it.

import { joined } from "./conllu.js";
import { element, percent, visible } from "./elements.js";

const MOST_HEADS = 4; // candidates that are listed
const LEAST = 0.005; // other heads with less attention than this are not listed

// The most probable heads of a word: pairs of a head and its probability, the best first.
//
// The head of the tree has its calibrated probability; the others share the rest as the attention divides it.
export function candidateHeads(attention, word, fixed) {
  if (!attention) return [];
  const row = attention.agreement[word.id - 1];
  const calibrated = !fixed && word.head !== null && word.arc_probability !== undefined;
  const rest = calibrated ? 1 - row[word.head] : 1;
  const scale = calibrated && rest > 0 ? (1 - word.arc_probability) / rest : 1;
  return row
    .map((share, head) => [head, share])
    .filter(([head, share]) => head !== word.id && (head === word.head || share >= LEAST))
    .map(([head, share]) => [head, calibrated && head === word.head ? word.arc_probability : scale * share])
    .sort((a, b) => b[1] - a[1])
    .slice(0, MOST_HEADS);
}

// The panel's content. `actions` has fix(word, {head, relation}) and release(word).
export function wordPanel(sentence, id, { attention, fixed, relations, actions }) {
  const word = sentence.words[id - 1];
  const name = (head) => (head ? visible(sentence.words[head - 1].form) : "ROOT");
  return element(
    "div",
    { class: "word-panel" },
    element("section", { class: "about" }, element("h3", { dir: "auto" }, visible(word.form)), facts(word)),
    element("section", { class: "arc-editor" }, arcEditor(sentence, word, { fixed, relations, actions })),
    element(
      "section",
      { class: "candidates" },
      element("h4", null, "Heads it could have"),
      element(
        "ul",
        null,
        candidateHeads(attention, word, fixed.has(id)).map(([head, probability]) =>
          element("li", null, candidate(name(head), head, probability, word, actions)),
        ),
      ),
    ),
  );
}

function facts(word) {
  const features = (joined(word.feats) ?? "").split("|").filter(Boolean);
  const rows = [
    ["Lemma", visible(word.lemma ?? "–")],
    ["Tags", [word.upos, word.xpos].filter(Boolean).map(visible).join(" · ") || "–"],
    [
      "Features",
      features.length
        ? features.map((feature) => element("span", { class: "feature" }, visible(feature)))
        : "–",
    ],
  ];
  return element(
    "dl",
    null,
    rows.map(([term, value]) =>
      element(
        "div",
        null,
        element("dt", null, term),
        element("dd", { dir: term === "Lemma" ? "auto" : null }, value),
      ),
    ),
  );
}

function arcEditor(sentence, word, { fixed, relations, actions }) {
  const arc = fixed.get(word.id);
  const heads = [[0, "ROOT"], ...sentence.words.map(({ id, form }) => [id, `${id} ${visible(form)}`])];
  const known = [...new Set([...relations, word.deprel].filter(Boolean))].sort();
  const headChoice = element(
    "select",
    {
      id: "head-choice",
      change: () => actions.fix(word.id, { head: Number(headChoice.value), relation: null }),
    },
    word.head === null ? element("option", { value: "", selected: true }, "–") : null,
    heads
      .filter(([id]) => id !== word.id)
      .map(([id, text]) => element("option", { value: id, selected: id === word.head }, text)),
  );
  const relationChoice = element(
    "select",
    {
      id: "relation-choice",
      change: () => actions.fix(word.id, { head: word.head, relation: relationChoice.value }),
    },
    known.map((relation) =>
      element("option", { value: relation, selected: relation === word.deprel }, visible(relation)),
    ),
  );
  return [
    choice("Head", headChoice, arc ? "fixed" : word.arc_probability),
    choice("Relation", relationChoice, arc?.relation ? "fixed" : word.relation_probability),
    element(
      "p",
      { class: "note" },
      arc
        ? element(
            "button",
            { type: "button", class: "small", id: "release", click: () => actions.release(word.id) },
            "Release this arc",
          )
        : word.agreement === undefined
          ? "Drag the word to another head, or choose here."
          : `The two directions agree to ${percent(word.agreement)}. Drag the word to another head, or choose here.`,
    ),
  ];
}

function choice(name, select, certainty) {
  const text = certainty === undefined ? "" : certainty === "fixed" ? "✓ fixed" : percent(certainty);
  return element(
    "div",
    { class: "choice" },
    element("label", { for: select.id }, name),
    select,
    element("span", { class: "certainty" }, text),
  );
}

function candidate(name, head, probability, word, actions) {
  const isHead = head === word.head;
  return element(
    "button",
    {
      type: "button",
      class: isHead ? "candidate is-head" : "candidate",
      "aria-disabled": isHead ? "true" : null,
      click: () => isHead || actions.fix(word.id, { head, relation: null }),
    },
    element("span", { class: "name", dir: "auto" }, name),
    element("span", { class: "bar", style: `--share: ${probability}` }),
    element("span", { class: "share" }, percent(probability)),
    element("span", { class: "hidden" }, isHead ? "is the head" : "make it the head"),
  );
}

// What stands in the place of the panel while no word is chosen.
export function legend() {
  const line = (kind, text) => element("li", null, element("span", { class: `sample ${kind}` }), text);
  return element(
    "div",
    { class: "legend" },
    element(
      "p",
      null,
      "Point at a word, tap it, or move with the arrow keys, to see what the parser thinks of it. Drag a word to another one to correct its head; on a touch screen, hold it first.",
    ),
    element(
      "ul",
      null,
      line("", "the thicker, the more certain"),
      line("doubtful", "doubtful: less than 80 %"),
      line("crossing", "crosses another arc"),
      line("fixed", "✓ corrected, and kept"),
    ),
  );
}
