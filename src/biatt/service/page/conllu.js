// CoNLL-U from the sentences of the service's JSON.

export const looksLikeConllu = (text) => /^\d+(-\d+)?(\t[^\t\n]*){9}\r?$/m.test(text);

export const toConllu = (sentences) => sentences.map(sentenceLines).join("");

function sentenceLines(sentence) {
  const lines = [...sentence.comments];
  const emptyAfter = (number) =>
    sentence.empty_nodes
      .filter((node) => node.id.split(".")[0] === String(number))
      .map((node) => row(node.id, node));
  lines.push(...emptyAfter(0));
  for (const word of sentence.words) {
    const token = sentence.multiword_tokens.find(({ id }) => id[0] === word.id);
    if (token) lines.push(row(token.id.join("-"), token));
    lines.push(row(word.id, word), ...emptyAfter(word.id));
  }
  return `${lines.join("\n")}\n\n`;
}

function row(id, node) {
  const { form, lemma, upos, xpos, feats, head, deprel, deps, misc } = node;
  const columns = [id, form, lemma, upos, xpos, joined(feats), head, deprel, deps, joined(misc)];
  return columns.map((value) => value ?? "_").join("\t");
}

export function joined(values) {
  if (values === null || values === undefined || typeof values === "string") return values;
  return Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join("|");
}
