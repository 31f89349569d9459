// The list of sentences: in the order of the text or by doubt, and those that a search has found.

import { element, percent, visible } from "./elements.js";

// How sure the parser is of a sentence: the probability that all of its arcs are right, per word. A long
// sentence with one doubt is then not less certain than a short one with the same doubt.
export function certainty(sentence) {
  const known = sentence.words.map((word) => word.confidence).filter((value) => value !== undefined);
  if (!known.length) return null;
  return Math.exp(known.reduce((sum, value) => sum + Math.log(Math.max(value, 1e-9)), 0) / known.length);
}

// The places of the sentences in the order of the list.
export function listed(sentences, { byDoubt, matches }) {
  const places = sentences.map((_, place) => place).filter((place) => !matches || matches.has(place));
  if (!byDoubt) return places;
  const values = sentences.map((sentence) => certainty(sentence) ?? 1);
  return places.sort((a, b) => values[a] - values[b]);
}

// Fill the list. `choose(place)` is called for the sentence that the user wants.
export function fillList(list, sentences, { places, selected, corrected, choose }) {
  list.replaceChildren(
    ...places.map((place) => {
      const sentence = sentences[place];
      const value = certainty(sentence);
      return element(
        "li",
        null,
        element(
          "button",
          {
            type: "button",
            "data-sentence": place,
            "aria-current": place === selected ? "true" : null,
            click: () => choose(place),
          },
          element("span", { class: "number" }, String(place + 1)),
          element("span", { class: "start", dir: "auto" }, visible(sentence.text)),
          corrected(place)
            ? element("span", { class: "sure" }, "✓", element("span", { class: "hidden" }, " corrected"))
            : value === null
              ? null
              : element("span", { class: "sure", title: "Mean certainty of its arcs" }, percent(value)),
        ),
      );
    }),
  );
}
