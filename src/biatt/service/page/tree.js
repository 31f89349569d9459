// The tree of a sentence as SVG: words with their tags, arcs above them, and what is pointed at.

import { percent, runsFromRight, svg, visible } from "./elements.js";
import { CORNER, MARGIN, crossingArcs, layOut } from "./layout.js";

const WORD_SIZE = 17; // of fonts, in pixels
const TAG_SIZE = 11;
const LABEL_SIZE = 11.5;
const LEVEL = 23; // height of a level of arcs
const ARROW = 7; // length of an arrowhead
const TOP = MARGIN + 10; // above the highest level: the place of ROOT while dragging
const BELOW = 44; // the word and its tag
const BRACKET = 22; // height of a bracket and the form of a multiword token
const BETWEEN = 10; // rows

export const DOUBT = 0.8; // arcs less probable than this are doubtful, as in display/doubt.py
export const FONTS = '"Helvetica Neue", Helvetica, Arial, "Liberation Sans", "Noto Sans", sans-serif';

const pen = document.createElement("canvas").getContext("2d");

export function textWidth(text, size, weight = "normal") {
  pen.font = `${weight} ${size}px ${FONTS}`;
  return pen.measureText(text).width;
}

// The tree as an SVG element with its geometry, for `Pointer` and for what is drawn over it.
//
// `marks` has sets of words: fixed, changed (arcs that differ from the tree before) and found (by a search).
export class Tree {
  constructor(sentence, { wrap, marks }) {
    this.sentence = sentence;
    const { words } = sentence;
    const forms = words.map((word) => visible(word.form));
    const labels = words.map((word) => labelOf(word, marks.fixed.has(word.id)));
    const arcs = words
      .filter(({ id, head }) => head !== null && head !== id && head <= words.length)
      .map(({ id, head }) => ({ head, dependent: id, label: labelWidth(labels[id - 1]) }));
    const widths = words.map(({ upos }, i) =>
      Math.max(textWidth(forms[i], WORD_SIZE), textWidth(upos ?? "", TAG_SIZE + 1), 16),
    );
    const fromRight = runsFromRight(forms);
    this.layout = layOut(widths, arcs, { wrap, fromRight });
    const below = BELOW + (sentence.multiword_tokens.length ? BRACKET : 0);
    this.places = [null]; // {x, y, half} of each word; y is where arrows end
    this.bases = [];
    let y = 0;
    for (const row of this.layout.rows) {
      const base = y + TOP + LEVEL * row.levels;
      this.bases.push(base);
      for (let word = row.first; word <= row.last; word++) {
        this.places.push({ x: this.layout.centres[word], y: base, half: widths[word - 1] / 2 + 6 });
      }
      y = base + below + BETWEEN;
    }
    const height = y - BETWEEN + MARGIN / 2;
    const crossing = crossingArcs(words.map((word) => word.head));
    this.overlay = svg("g", { class: "overlay", "aria-hidden": "true" });
    this.element = svg(
      "svg",
      {
        class: "tree",
        role: "group",
        "aria-label": `Dependency tree of ${words.length} words`,
        width: this.layout.width,
        height,
        viewBox: `0 0 ${this.layout.width} ${height}`,
        direction: fromRight ? "rtl" : "ltr",
      },
      svg(
        "g",
        { class: "arcs", "aria-hidden": "true" },
        this.layout.pieces.map((piece) => {
          const word = words[piece.arc.dependent - 1];
          return this.#drawnPiece(piece, word, labels[word.id - 1], crossing[word.id - 1], marks);
        }),
      ),
      this.overlay,
      svg(
        "g",
        { class: "words" },
        words.map((word, i) => this.#drawnWord(word, forms[i], marks)),
      ),
      svg(
        "g",
        { class: "tags", "aria-hidden": "true" },
        words
          .filter((word) => word.upos)
          .map(({ id, upos }) =>
            svg(
              "text",
              { x: this.places[id].x, y: this.places[id].y + WORD_SIZE + 18, direction: "ltr" },
              visible(upos),
            ),
          ),
      ),
      svg("g", { class: "tokens", "aria-hidden": "true" }, [...this.#drawnTokens()]),
    );
  }

  #drawnPiece(piece, word, label, crossing, marks) {
    const { line, arrow } = paths(piece, this.bases[piece.row]);
    const classes = ["arc"];
    if (crossing) classes.push("crossing");
    if (label.doubt) classes.push("doubtful");
    if (marks.fixed.has(word.id)) classes.push("fixed");
    if (marks.changed.has(word.id)) classes.push("changed");
    const weight = (0.9 + 0.9 * (word.confidence ?? 0.5)).toFixed(2);
    const y = this.bases[piece.row] - LEVEL * piece.level + 4;
    return svg(
      "g",
      { class: classes.join(" "), "data-word": word.id },
      svg("path", { class: "reach", d: line }),
      crossing ? svg("path", { class: "casing", d: line }) : null,
      svg("path", { class: "line", d: line, "stroke-width": weight }),
      arrow ? svg("path", { class: "arrow", d: arrow }) : null,
      piece.label === null || !(label.name + label.doubt)
        ? null
        : svg(
            "text",
            { x: piece.label, y, direction: "ltr" },
            label.name,
            label.doubt ? svg("tspan", { class: "percent", dx: 3 }, label.doubt) : null,
          ),
    );
  }

  #drawnWord(word, form, marks) {
    const { x, y, half } = this.places[word.id];
    return svg(
      "g",
      {
        class: marks.found.has(word.id) ? "word found" : "word",
        "data-word": word.id,
        role: "button",
        tabindex: -1,
        "aria-label": described(word, this.sentence),
        "aria-pressed": "false",
      },
      svg("rect", { x: x - half, y: y + 1, width: 2 * half, height: BELOW - 5, rx: 5 }),
      svg("text", { class: "form", x, y: y + WORD_SIZE + 2 }, form),
    );
  }

  // A bracket below the words of each multiword token, with its form, in each row that has such words.
  *#drawnTokens() {
    for (const {
      id: [first, last],
      form,
    } of this.sentence.multiword_tokens) {
      for (const [row, base] of this.bases.entries()) {
        const bounds = this.layout.rows[row];
        const inside = this.places.slice(Math.max(first, bounds.first), Math.min(last, bounds.last) + 1);
        if (!inside.length) continue;
        const from = Math.min(...inside.map((place) => place.x - place.half + 6));
        const to = Math.max(...inside.map((place) => place.x + place.half - 6));
        const y = base + BELOW - 1;
        yield svg("path", { d: `M${from} ${y} v4 H${to} v-4` });
        yield svg("text", { x: (from + to) / 2, y: y + 17 }, visible(form));
      }
    }
  }

  wordElements() {
    return [...this.element.querySelectorAll(".word")];
  }

  // The word below a point of the screen, 0 above the words at the top (ROOT), or null.
  wordAt(clientX, clientY) {
    const box = this.element.getBoundingClientRect();
    const [x, y] = [clientX - box.left, clientY - box.top];
    if (x < 0 || x > box.width) return null;
    if (y < TOP) return 0;
    const word = this.places.findIndex(
      (place) => place && Math.abs(x - place.x) <= place.half && y > place.y - 12 && y < place.y + BELOW,
    );
    return word > 0 ? word : null;
  }

  // Light up the arc of a word, its head, and other heads that it could have: pairs of a head and a probability.
  // `ownArc` is false where only another arc than that of the tree is meant.
  point(word, { head = null, others = [], selected = null, ownArc = true } = {}) {
    this.element.classList.toggle("pointing", word !== null);
    for (const part of this.element.querySelectorAll(".arc")) {
      part.classList.toggle("active", ownArc && Number(part.dataset.word) === word);
    }
    for (const part of this.wordElements()) {
      const number = Number(part.dataset.word);
      part.classList.toggle("active", number === word);
      part.classList.toggle("head", word !== null && number === head);
      part.setAttribute("aria-pressed", String(number === selected));
    }
    this.overlay.replaceChildren(
      ...others.flatMap(([other, probability]) => this.#faintArc(word, other, probability)),
    );
  }

  // A faint arc from another head, unless it is in another row, and the probability above that head.
  #faintArc(word, head, probability) {
    const to = this.places[word];
    if (!head) {
      const d = `M${to.x} 20 V${to.y - 1}`;
      return [
        svg("path", { d }),
        svg("text", { x: to.x, y: 15, direction: "ltr" }, `ROOT ${percent(probability)}`),
      ];
    }
    const from = this.places[head];
    const rise = Math.min(18 + Math.abs(from.x - to.x) * 0.22, 90);
    const d = `M${from.x} ${from.y - 1} C${from.x} ${from.y - rise} ${to.x} ${to.y - rise} ${to.x} ${to.y - 1}`;
    return [
      ...(from.y === to.y ? [svg("path", { d })] : []),
      svg("text", { x: from.x, y: from.y - 6, direction: "ltr" }, percent(probability)),
    ];
  }

  // The line from a word to the place of the pointer, and the word that would become its head.
  drag(word, target, clientX, clientY) {
    const box = this.element.getBoundingClientRect();
    const { x, y } = this.places[word];
    const to = target ? this.places[target] : { x: clientX - box.left, y: clientY - box.top };
    const [endX, endY] = [to.x, Math.max(to.y - 2, 4)];
    const middle = Math.max(Math.min(y, endY) - 30, 2);
    this.overlay.replaceChildren(
      svg("rect", {
        class: target === 0 ? "root target" : "root",
        x: 4,
        y: 2,
        width: this.layout.width - 8,
        height: TOP - 6,
        rx: 5,
      }),
      svg("text", { class: "root-name", x: this.layout.width / 2, y: 17, direction: "ltr" }, "ROOT"),
      svg("path", {
        class: "dragged",
        d: `M${x} ${y - 1} C${x} ${middle} ${endX} ${middle} ${endX} ${endY}`,
      }),
    );
    for (const part of this.wordElements()) {
      part.classList.toggle("target", target !== null && Number(part.dataset.word) === target);
    }
  }
}

function labelOf(word, fixed) {
  const doubtful = !fixed && word.confidence !== undefined && word.confidence < DOUBT;
  const name = visible(word.deprel ?? "");
  return { name: fixed ? `✓ ${name}` : name, doubt: doubtful ? percent(word.confidence) : "" };
}

function labelWidth({ name, doubt }) {
  return textWidth(name, LABEL_SIZE) + (doubt ? 3 + textWidth(doubt, LABEL_SIZE - 2) : 0);
}

// The line of a piece and its arrowhead, which only the end at the dependent has.
function paths(piece, base) {
  const { start, end, hasStart, hasEnd, level } = piece;
  const [y, tip] = [base - LEVEL * level, base - 1];
  const arrow = hasEnd ? `M${end - 3.5} ${tip - ARROW} h7 L${end} ${tip} Z` : null;
  if (!piece.arc.head) return { line: `M${end} ${y + 7} V${tip - ARROW}`, arrow };
  const step = start < end ? CORNER : -CORNER;
  const rise = hasStart
    ? `M${start} ${tip} V${y + CORNER} Q${start} ${y} ${start + step} ${y}`
    : `M${start} ${y}`;
  const fall = hasEnd ? ` H${end - step} Q${end} ${y} ${end} ${y + CORNER} V${tip - ARROW}` : ` H${end}`;
  return { line: rise + fall, arrow };
}

// A word and its arc in a few words, for readers who cannot see the picture.
function described(word, sentence) {
  const head = word.head ? visible(sentence.words[word.head - 1].form) : "ROOT";
  const arc = word.head === null ? "no head" : `${word.deprel ?? "no relation"} of ${head}`;
  const sure = word.confidence === undefined ? "" : `, ${percent(word.confidence)}`;
  return `${visible(word.form)} ${visible(word.upos ?? "")}, ${arc}${sure}`;
}
