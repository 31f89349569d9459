// The trees of one sentence, parsed around the arcs that are fixed.

import { toConllu } from "./conllu.js";
import { byId } from "./elements.js";
import { parse } from "./service.js";

const MOST_TREES = 10;

// What a tree says of a word. Its place in the text and its tags are those of the whole text's answer.
const PART_OF_TREE = [
  "head",
  "deprel",
  "confidence",
  "head_probability",
  "arc_probability",
  "relation_probability",
  "agreement",
];

const TAGS = ["lemma", "upos", "xpos", "feats"];

// The model and the decoder that the user has chosen.
export function manner() {
  return { model: byId("model").value || null, decoder: byId("decoder").value };
}

// The best trees of a sentence, or the best one where the service has not so many words left; and the attention.
// `fixed` is a map from words to {head, relation}.
export async function treesOf(sentence, fixed, signal) {
  const request = {
    conllu: toConllu([asGiven(sentence)]),
    ...manner(),
    confidence: true,
    k_best: manner().decoder === "mst" ? MOST_TREES : 1,
    attention: true,
    fixed: [...fixed].map(([word, arc]) => ({ word, ...arc })),
  };
  const answer = await parse(request, signal).catch((error) => {
    if (error.kind !== "too long") throw error;
    return parse({ ...request, k_best: 1 }, signal);
  });
  const trees = (answer.k_best?.[0] ?? answer.sentences).map(({ log_probability, entropy, words }) => ({
    ...sentence,
    log_probability,
    entropy,
    words: sentence.words.map((word, i) => ({
      ...word,
      ...Object.fromEntries(PART_OF_TREE.map((name) => [name, words[i][name]])),
    })),
  }));
  return { trees, attention: answer.attention[0] };
}

// Without the tags that the model has chosen: it would take them for certain, and could find another tree.
function asGiven(sentence) {
  const isChosen = (word, name) => word[`${name}_probability`] !== undefined;
  const words = sentence.words.map((word) => {
    const chosen = TAGS.filter((name) => isChosen(word, name));
    return { ...word, ...Object.fromEntries(chosen.map((name) => [name, null])) };
  });
  return { ...sentence, words };
}
