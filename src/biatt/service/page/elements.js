// Building elements. All text becomes text nodes, so that nothing in a sentence can act as markup.

const SVG = "http://www.w3.org/2000/svg";

export const element = (name, attributes, ...children) =>
  filled(document.createElement(name), attributes, children);

export const svg = (name, attributes, ...children) =>
  filled(document.createElementNS(SVG, name), attributes, children);

// Attributes that are functions are listeners; null, undefined and false leave an attribute out.
function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

export const byId = (id) => document.getElementById(id);

// The text with every character that hides or reorders others as an escape, such as \x1b (data/visible.py).
export function visible(text) {
  return text.replace(UNSAFE, (character) => {
    const code = character.codePointAt(0).toString(16);
    return code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
  });
}

const UNSAFE = /[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069\ufffe\uffff]/gu;

export function percent(probability) {
  if (probability > 0 && probability < 0.005) return "< 1 %";
  if (probability >= 0.995 && probability < 1) return "> 99 %";
  return `${Math.round(100 * probability)} %`;
}

export const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

// Whether most words that have a direction are written from right to left.
export function runsFromRight(words) {
  let balance = 0;
  for (const word of words) {
    const letter = word.match(/\p{L}/u)?.[0];
    if (letter) balance += RIGHT_TO_LEFT.test(letter) ? 1 : -1;
  }
  return balance > 0;
}

// A word that is visible, and inside marks that keep its direction from reordering what stands around it.
export function isolated(text) {
  const shown = visible(text);
  return RIGHT_TO_LEFT.test(shown) ? `\u2068${shown}\u2069` : shown;
}

const RIGHT_TO_LEFT =
  /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}\p{Script=Samaritan}\p{Script=Mandaic}]/u;
