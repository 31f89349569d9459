// The arcs that the user has fixed, by sentence and word, with undo and redo.
//
// A sentence is known by its words, so that corrections outlive changes of the text around it.

export class Corrections {
  #past = [];
  #current = new Map(); // the key of a sentence → Map of word → {head, relation}; never changed in place
  #future = [];

  of(key) {
    return this.#current.get(key) ?? new Map();
  }

  get canUndo() {
    return this.#past.length > 0;
  }

  get canRedo() {
    return this.#future.length > 0;
  }

  // Fix the arc of a word, or release it: arc null.
  set(key, word, arc) {
    const arcs = new Map(this.of(key));
    if (arc) arcs.set(word, arc);
    else arcs.delete(word);
    this.#past.push(this.#current);
    this.#future = [];
    this.#current = new Map(this.#current).set(key, arcs);
  }

  // Go back or forward one step; the result is the key of the sentence that it was about.
  undo() {
    return this.#move(this.#past, this.#future);
  }

  redo() {
    return this.#move(this.#future, this.#past);
  }

  #move(from, to) {
    const before = this.#current;
    to.push(before);
    this.#current = from.pop();
    const keys = new Set([...before.keys(), ...this.#current.keys()]);
    return [...keys].find((key) => before.get(key) !== this.#current.get(key));
  }

  // Take back the last step as if it had never been.
  drop() {
    this.#current = this.#past.pop();
  }
}

// The keys of sentences: their words, and a number for those that have been there before.
export function sentenceKeys(sentences) {
  const seen = new Map();
  return sentences.map(({ words }) => {
    const forms = words.map((word) => word.form).join("\t");
    const count = seen.get(forms) ?? 0;
    seen.set(forms, count + 1);
    return `${forms}\n${count}`;
  });
}
