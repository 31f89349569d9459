// Where the parts of a drawn tree are. The same arithmetic as display/layout.py, line by line; a test compares
// the two on random trees. Words are numbered from 1, head 0 is ROOT, lengths are in pixels.

export const MARGIN = 16; // around the picture
export const GUTTER = 26; // beside the rows of a sentence that has several, for arcs that go on in another row
export const GAP = 20; // between two words
export const PORT = 8; // between two arcs at one word
export const CORNER = 8; // radius
export const LABEL_PAD = 4; // free line between a label and a corner or a stem

const ROUNDING = 0.2; // coordinates have one decimal
const ROW_COST = 0.6; // so that there are few rows
const BROKEN_ARC_COST = 0.16; // for each arc that is cut

const left = (arc) => Math.min(arc.head, arc.dependent);
const right = (arc) => Math.max(arc.head, arc.dependent);
const span = (arc) => right(arc) - left(arc);
const largest = (values, otherwise) => values.reduce((a, b) => Math.max(a, b), otherwise);
const pairs = (values) => values.slice(1).map((value, i) => [values[i], value]);
const port = (ports, word, other) => ports[word].get(other);

// Lay out words of these widths. Arcs are {head, dependent, label}, where label is the width of the label.
// `wrap` is the width of the picture beyond which a new row begins. With `fromRight`, the first word is at the
// right, and so is the beginning of every row.
//
// The result has width, centres (x of each word; entry 0 is unused), rows {first, last, levels}, and pieces of
// arcs {arc, row, level, start, end, hasStart, hasEnd, label}: of each row from the highest level down.
export function layOut(words, arcs, { wrap = null, fromRight = false } = {}) {
  const ports = arcPorts(words.length, arcs);
  const halves = halfWidths(words, arcs, ports);
  const centres = wordCentres(1, words.length, halves, arcs, ports, MARGIN);
  let bounds = [[1, words.length]];
  if (wrap !== null && words.length > 1 && centres.at(-1) + halves.at(-1) + MARGIN > wrap) {
    bounds = rowBounds(centres, halves, arcs, Math.max(1, wrap - 2 * (MARGIN + GUTTER)));
  }
  const rowArcs = arcsByRow(bounds, arcs);
  bounds.forEach(([first, last], i) => {
    if (bounds.length > 1) {
      const row = wordCentres(first, last, halves, rowArcs[i], ports, MARGIN + GUTTER);
      centres.splice(first, last - first + 1, ...row.slice(1));
    }
    makeRoomBesideStems(first, last, rowArcs[i], ports, centres);
  });
  const edges = rowEdges(bounds, centres, halves, arcs, ports);
  const rows = [];
  const pieces = [];
  bounds.forEach(([first, last], i) => {
    const inRow = rowPieces(i, first, last, rowArcs[i], ports, centres, edges);
    rows.push({
      first,
      last,
      levels: largest(
        inRow.map((piece) => piece.level),
        0,
      ),
    });
    pieces.push(...withLabels(inRow));
  });
  const layout = { width: rounded(edges[1] + MARGIN), centres, rows, pieces };
  return fromRight ? mirrored(layout) : layout;
}

// For each word a map from other words to the place of the arc, in pixels from the word's centre. From the
// left: arcs to the left, short before long, the arc of ROOT, arcs to the right, long before short.
export function arcPorts(count, arcs) {
  const toLeft = Array.from({ length: count + 1 }, () => []);
  const toRight = Array.from({ length: count + 1 }, () => []);
  const roots = new Set(arcs.filter((arc) => !arc.head).map((arc) => arc.dependent));
  for (const arc of arcs.toSorted((a, b) => span(a) - span(b))) {
    if (arc.head) {
      toLeft[right(arc)].push(left(arc));
      toRight[left(arc)].push(right(arc));
    }
  }
  return toLeft.map((before, word) => {
    const others = [...before, ...(roots.has(word) ? [0] : []), ...toRight[word].toReversed()];
    return new Map(others.map((other, i) => [other, PORT * (i - (others.length - 1) / 2)]));
  });
}

// Pairs of an arc and its level in the row of the words first … last: above all shorter arcs that it overlaps.
export function arcLevels(first, last, arcs) {
  const tops = new Array(last - first + 2).fill(0); // the highest level above each gap
  const order = (arc) => (arc.head ? span(arc) : Infinity);
  return arcs
    .toSorted((a, b) => compared(order(a), order(b)) || span(a) - span(b))
    .map((arc) => {
      if (!arc.head) {
        const place = arc.dependent - first;
        return [arc, 1 + Math.max(tops[place], tops[place + 1])];
      }
      const from = Math.max(left(arc) - first + 1, 0);
      const to = Math.min(right(arc) - first, last - first + 1) + 1;
      const level = 1 + largest(tops.slice(from, to), 0);
      tops.fill(level, from, to);
      return [arc, level];
    });
}

function compared(a, b) {
  return a === b ? 0 : a < b ? -1 : 1;
}

// Half of the room that each word needs, also for its arcs and for the label above a root.
function halfWidths(words, arcs, ports) {
  const halves = [0, ...words.map((width) => width / 2)];
  ports.forEach((offsets, word) => {
    for (const offset of offsets.values()) halves[word] = Math.max(halves[word], Math.abs(offset));
  });
  for (const { head, dependent, label } of arcs) {
    if (!head)
      halves[dependent] = Math.max(halves[dependent], Math.abs(port(ports, dependent, 0)) + label / 2);
  }
  return halves;
}

// The centres of the words of a row, after an unused entry; labels fit between the ends of their arcs.
function wordCentres(first, last, halves, arcs, ports, from) {
  const ending = new Map();
  for (const arc of arcs) {
    if (arc.head && left(arc) >= first && right(arc) <= last) {
      ending.set(right(arc), [...(ending.get(right(arc)) ?? []), arc]);
    }
  }
  const centres = [0];
  let edge = from;
  for (let word = first; word <= last; word++) {
    let centre = edge + halves[word];
    for (const arc of ending.get(word) ?? []) {
      const start = centres[left(arc) - first + 1] + port(ports, left(arc), word);
      centre = Math.max(centre, start + labelRoom(arc) - port(ports, word, left(arc)));
    }
    centres.push(rounded(centre));
    edge = centres.at(-1) + halves[word] + GAP;
  }
  return centres;
}

// The distance of the ends of an arc that has room for its label.
export function labelRoom(arc) {
  return arc.label + 2 * (CORNER + LABEL_PAD);
}

// First and last word of each row: few rows, evenly filled, broken where few arcs are.
function rowBounds(centres, halves, arcs, width) {
  const count = centres.length - 1;
  const over = new Array(count + 1).fill(0); // arcs over the gap after each word
  for (const arc of arcs) {
    if (arc.head) {
      over[left(arc)] += 1;
      over[right(arc)] -= 1;
    }
  }
  for (let gap = 1; gap <= count; gap++) over[gap] += over[gap - 1];
  const best = [0, ...new Array(count).fill(Infinity)];
  const begin = new Array(count + 1).fill(0);
  for (let last = 1; last <= count; last++) {
    const end = centres[last] + halves[last];
    for (let first = last; first > 0; first--) {
      const filled = (end - centres[first] + halves[first]) / width;
      if (filled > 1 && first < last) break;
      const empty = Math.max(0, 1 - filled) * (last === count ? 0.5 : 1); // the last row may be shorter
      const cost = best[first - 1] + ROW_COST + empty ** 2 + BROKEN_ARC_COST * over[last];
      if (cost < best[last]) [best[last], begin[last]] = [cost, first];
    }
  }
  const bounds = [];
  for (let last = count; last; last = begin[last] - 1) bounds.unshift([begin[last], last]);
  return bounds;
}

const rowOf = (bounds, word) => bounds.findIndex(([, last]) => word <= last);

// Where arcs enter and leave the rows. Between them, every arc has a piece that its label fits on.
function rowEdges(bounds, centres, halves, arcs, ports) {
  let end =
    centres.length > 1
      ? largest(
          bounds.map(([, last]) => centres[last] + halves[last]),
          0,
        )
      : MARGIN;
  if (bounds.length === 1) return [MARGIN, end];
  end = rounded(end + GUTTER);
  for (const arc of arcs) {
    const [a, b] = [left(arc), right(arc)];
    const row = rowOf(bounds, a);
    const lastRow = rowOf(bounds, b);
    if (!arc.head || lastRow === row) continue;
    if (lastRow > row + 1)
      end = Math.max(end, MARGIN + labelRoom(arc)); // there is a whole row in between
    else if (labelRoom(arc) > centres[b] + port(ports, b, a) - MARGIN) {
      end = Math.max(end, centres[a] + port(ports, a, b) + labelRoom(arc));
    }
  }
  return [MARGIN, end];
}

// The pieces of all arcs in one row, from the highest level to the lowest, without labels.
function rowPieces(row, first, last, arcs, ports, centres, edges) {
  const within = (word) => first <= word && word <= last;
  const pieces = arcLevels(first, last, arcs).map(([arc, level]) => {
    const { head, dependent } = arc;
    if (!head) {
      const x = centres[dependent] + port(ports, dependent, 0);
      return { arc, row, level, start: x, end: x, hasStart: true, hasEnd: true, label: x };
    }
    const x = (word, other) =>
      within(word) ? rounded(centres[word] + port(ports, word, other)) : edges[word > last ? 1 : 0];
    const [start, end] = [x(head, dependent), x(dependent, head)];
    return { arc, row, level, start, end, hasStart: within(head), hasEnd: within(dependent), label: null };
  });
  return pieces.sort((a, b) => b.level - a.level);
}

// The arcs that have a piece in each row.
function arcsByRow(bounds, arcs) {
  const result = bounds.map(() => []);
  for (const arc of arcs) {
    const end = rowOf(bounds, right(arc));
    for (let row = rowOf(bounds, left(arc) || right(arc)); row <= end; row++) result[row].push(arc);
  }
  return result;
}

// Move words of a row to the right, so that labels fit beside the stems that cross their arcs.
function makeRoomBesideStems(first, last, arcs, ports, centres) {
  const levels = new Map(arcLevels(first, last, arcs));
  const stems = [];
  for (const [{ head, dependent }, level] of levels) {
    for (const [word, other] of [
      [dependent, head],
      [head, dependent],
    ]) {
      if (first <= word && word <= last) stems.push([centres[word] + port(ports, word, other), word, level]);
    }
  }
  stems.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
  const missing = new Array(last - first + 1).fill(0); // before each word
  for (const arc of arcs) {
    const [a, b] = [left(arc), right(arc)];
    if (!(arc.head && first <= a && b <= last)) continue;
    const [start, end] = [centres[a] + port(ports, a, b), centres[b] + port(ports, b, a)];
    const crossing = stems.filter(([x, , level]) => start < x && x < end && level > levels.get(arc));
    if (!crossing.length) continue;
    let [room, before] = [-Infinity, 0]; // the widest place between two stems of different words
    for (const [[x, word], [y, next]] of pairs([[start + CORNER, a], ...crossing, [end - CORNER, b]])) {
      if (word !== next && (y - x > room || (y - x === room && next > before)))
        [room, before] = [y - x, next];
    }
    const shortage = arc.label + 2 * LABEL_PAD - room;
    missing[before - first] = Math.max(missing[before - first], shortage);
  }
  let moved = 0;
  missing.forEach((more, i) => {
    moved += more;
    centres[first + i] = rounded(centres[first + i] + moved);
  });
}

// The pieces of a row with labels where they fit: in the middle, or beside stems that cross the line.
function withLabels(pieces) {
  const stems = [];
  for (const piece of pieces) {
    if (piece.hasStart) stems.push([piece.start, piece.level]);
    if (piece.hasEnd) stems.push([piece.end, piece.level]);
  }
  stems.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return pieces.map((piece) => {
    const [from, to] = [Math.min(piece.start, piece.end), Math.max(piece.start, piece.end)];
    if (piece.label !== null || to - from < labelRoom(piece.arc) - ROUNDING) return piece;
    const crossing = stems.filter(([x, level]) => from < x && x < to && level > piece.level).map(([x]) => x);
    return { ...piece, label: freePlace(from, to, crossing, piece.arc.label) };
  });
}

// The centre of a label between two ends: nearest to the middle between two stems where it fits. If it fits
// nowhere, as on an arc between two rows, it is in the widest place.
function freePlace(from, to, crossing, label) {
  const middle = (from + to) / 2;
  const free = pairs([from + CORNER, ...crossing, to - CORNER]).map(([a, b]) => [
    a + LABEL_PAD,
    b - LABEL_PAD,
  ]);
  const fitting = free.filter(([low, high]) => high - low >= label - ROUNDING);
  if (!fitting.length) {
    const [low, high] = free.reduce((a, b) => (b[1] - b[0] > a[1] - a[0] ? b : a));
    const half = label / 2 + CORNER;
    return rounded(Math.max(from + half, Math.min((low + high) / 2, to - half)));
  }
  const candidates = fitting.map(([low, high]) =>
    Math.max(low + label / 2, Math.min(middle, high - label / 2)),
  );
  return rounded(candidates.reduce((a, b) => (Math.abs(b - middle) < Math.abs(a - middle) ? b : a)));
}

function mirrored(layout) {
  const flip = (x) => rounded(layout.width - x);
  return {
    ...layout,
    centres: layout.centres.map((x, word) => (word ? flip(x) : 0)),
    pieces: layout.pieces.map((piece) => ({
      ...piece,
      start: flip(piece.start),
      end: flip(piece.end),
      label: piece.label === null ? null : flip(piece.label),
    })),
  };
}

// One decimal; as in Python, a number in the middle of two goes to the even one.
function rounded(x) {
  if (!Number.isInteger(x * 4) || (x * 4) % 2 === 0) return Number(x.toFixed(1));
  const below = Math.floor(x * 10);
  return (below % 2 === 0 ? below : below + 1) / 10;
}

// Whether each word's arc crosses another; heads[t − 1] is the head of word t, or null.
export function crossingArcs(heads) {
  const ends = heads.map((head, i) =>
    head === null ? null : [Math.min(head, i + 1), Math.max(head, i + 1)],
  );
  const inside = (x, [a, b]) => a < x && x < b;
  const crosses = (one, other) => {
    const [a, b] = [inside(other[0], one), inside(other[1], one)];
    const outside = (x) => x < one[0] || x > one[1];
    return (a && outside(other[1])) || (b && outside(other[0]));
  };
  return ends.map((one) => one !== null && ends.some((other) => other !== null && crosses(one, other)));
}
