// Heat maps of attention: the probabilities of heads from left to right, from right to left, and both together.

import { element, isolated, percent, svg, visible } from "./elements.js";
import { textWidth } from "./tree.js";

const MAPS = [
  ["left_to_right", "Left to right"],
  ["right_to_left", "Right to left"],
  ["agreement", "Agreement of both"],
];
const FAINTEST = 0.004; // probabilities below this are not drawn
const LONGEST_LABEL = 12; // characters
const LABEL_SIZE = 11.5; // of the font, in pixels, as in style.css
const BETWEEN = 22; // two maps, in pixels
const [SMALLEST_CELL, USUAL_CELL, LARGEST_CELL] = [6, 15, 20];
const NAMED_CELL = 12; // in smaller cells, only the names of the word and the head that are pointed at fit

// The maps of a sentence in a container, beside each other where `width` pixels are enough for readable ones.
// `pointed(word, head)` is called when the user points at a cell, and with null when at none.
export class AttentionMaps {
  #maps = [];

  constructor(container, sentence, attention, { width, pointed }) {
    this.sentence = sentence;
    this.attention = attention;
    const names = ["ROOT", ...sentence.words.map((word) => shortened(visible(word.form)))];
    // The names of the word and the head that are pointed at are bold.
    const label = 8 + Math.ceil(Math.max(...names.map((name) => textWidth(name, LABEL_SIZE, "bold"))));
    const fitting = Math.floor(((width - 2 * BETWEEN) / MAPS.length - label - 2) / names.length);
    const size = fitting >= SMALLEST_CELL ? Math.min(fitting, LARGEST_CELL) : USUAL_CELL;
    this.#maps = MAPS.map(([key, title]) => this.#drawnMap(key, title, names, size, label, pointed));
    this.readout = element("p", { class: "readout", role: "status" });
    container.replaceChildren(
      element(
        "p",
        { class: "hint" },
        "A row for each word, a column for each head it could have. The heads of the tree are framed.",
      ),
      this.readout,
      element(
        "div",
        { class: "maps" },
        this.#maps.map((map) => map.figure),
      ),
    );
    this.show(null, null);
  }

  #drawnMap(key, title, names, size, label, pointed) {
    const { words } = this.sentence;
    const values = this.attention[key];
    const [wide, high] = [size * names.length, size * words.length];
    const cursor = svg("g", { class: "cursor" });
    const cells = values.flatMap((row, i) =>
      row.map((value, head) =>
        value < FAINTEST || head === i + 1
          ? null
          : svg("rect", {
              class: "cell",
              x: head * size,
              y: i * size,
              width: size,
              height: size,
              opacity: Math.sqrt(Math.min(value, 1)).toFixed(3),
            }),
      ),
    );
    const chosen = words
      .filter((word) => word.head !== null)
      .map(({ id, head }) =>
        svg("rect", {
          class: "chosen",
          x: head * size + 0.75,
          y: (id - 1) * size + 0.75,
          width: size - 1.5,
          height: size - 1.5,
        }),
      );
    const rowNames = words.map((_, i) =>
      svg("text", { x: -6, y: (i + 0.5) * size + 4, "text-anchor": "end", "data-row": i + 1 }, names[i + 1]),
    );
    const columnNames = names.map((name, head) =>
      svg(
        "text",
        { transform: `translate(${(head + 0.5) * size + 4} -6) rotate(-90)`, "data-column": head },
        name,
      ),
    );
    const grid = svg(
      "g",
      { transform: `translate(${label} ${label})` },
      svg("rect", { class: "frame", width: wide, height: high }),
      cells,
      chosen,
      rowNames,
      columnNames,
      cursor,
    );
    const drawing = svg(
      "svg",
      {
        class: size < NAMED_CELL ? "map dense" : "map",
        role: "application",
        tabindex: 0,
        width: label + wide + 2,
        height: label + high + 2,
        direction: "ltr",
        "aria-label": `${title}: arrow keys move over words and heads`,
      },
      grid,
    );
    const cellAt = (event) => {
      const box = drawing.getBoundingClientRect();
      const head = Math.floor((event.clientX - box.left - label) / size);
      const word = Math.floor((event.clientY - box.top - label) / size) + 1;
      return head >= 0 && head < names.length && word >= 1 && word <= words.length
        ? [word, head]
        : [null, null];
    };
    for (const kind of ["pointermove", "pointerdown"])
      drawing.addEventListener(kind, (event) => pointed(...cellAt(event)));
    drawing.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && pointed(null, null));
    drawing.addEventListener("focus", () => this.word === null && pointed(1, words[0].head ?? 0));
    drawing.addEventListener("keydown", (event) => {
      const [down, right] =
        { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] ?? [];
      if (down === undefined) return;
      event.preventDefault();
      const word = Math.min(Math.max((this.word ?? 1) + down, 1), words.length);
      pointed(word, Math.min(Math.max((this.head ?? 0) + right, 0), words.length));
    });
    const figure = element(
      "figure",
      null,
      element("figcaption", null, title),
      element("div", { class: "scroll" }, drawing),
    );
    return { figure, cursor, size, wide, high, drawing };
  }

  // Mark the cell of a word and a head in all maps, and say its probabilities.
  show(word, head) {
    [this.word, this.head] = [word, head];
    for (const { cursor, size, wide, high, drawing } of this.#maps) {
      for (const text of drawing.querySelectorAll("text")) {
        const named =
          Number(text.dataset.row) === word || (word !== null && Number(text.dataset.column ?? -1) === head);
        text.classList.toggle("named", named);
      }
      if (word === null || head === null) cursor.replaceChildren();
      else
        cursor.replaceChildren(
          svg("rect", { class: "band", y: (word - 1) * size, width: wide, height: size }),
          svg("rect", { class: "band", x: head * size, width: size, height: high }),
          svg("rect", { class: "here", x: head * size, y: (word - 1) * size, width: size, height: size }),
        );
    }
    this.readout.textContent =
      word === null || head === null ? "Point at a cell or at a word of the tree." : this.#told(word, head);
  }

  #told(word, head) {
    const form = (number) => (number ? isolated(this.sentence.words[number - 1].form) : "ROOT");
    if (head === word) return `${form(word)} cannot be its own head.`;
    const values = MAPS.map(
      ([key, title]) => `${title.toLowerCase()} ${percent(this.attention[key][word - 1][head])}`,
    );
    return `${form(head)} → ${form(word)}: ${values.join(", ")}`;
  }
}

function shortened(name) {
  const letters = [...name];
  return letters.length > LONGEST_LABEL ? `${letters.slice(0, LONGEST_LABEL - 1).join("")}…` : name;
}
