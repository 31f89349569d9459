// Search for dependency patterns in all sentences of the text.

import { toConllu } from "./conllu.js";
import { byId, counted } from "./elements.js";
import { search } from "./service.js";

// What the pattern in the search field matches. `matches` is null without a pattern, and otherwise a map from
// the places of sentences to the sets of words that were found in them.
export class Finder {
  matches = null;
  #running = new AbortController();

  // Search these sentences; the result says whether the matches are new.
  async run(sentences) {
    this.#running.abort();
    this.#running = new AbortController();
    const pattern = byId("pattern").value.trim();
    if (!pattern) return this.#finish(null, "");
    try {
      const answer = await search({ conllu: toConllu(sentences), pattern }, this.#running.signal);
      const matches = new Map();
      for (const { sentence, words } of answer.matches) {
        matches.set(sentence - 1, new Set([...(matches.get(sentence - 1) ?? []), ...words]));
      }
      const more = answer.complete ? "" : "more than ";
      const number = answer.matches.length === 1 ? "1 match" : `${more}${answer.matches.length} matches`;
      return this.#finish(matches, `${number} in ${counted(matches.size, "sentence")}`);
    } catch (error) {
      return error.name === "AbortError" ? false : this.#finish(null, error.message, { wrong: true });
    }
  }

  #finish(matches, status, { wrong = false } = {}) {
    this.matches = matches;
    byId("found").textContent = status;
    byId("pattern").setAttribute("aria-invalid", String(wrong));
    return true;
  }
}
