// Files to keep: CoNLL-U and JSON of all sentences, SVG and PNG of the tree that is shown.

import { toConllu } from "./conllu.js";
import { svg } from "./elements.js";
import { FONTS } from "./tree.js";

const SCALE = 2; // pixels of a PNG for each pixel of the picture
const STYLED = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-opacity",
  "fill-opacity",
  "font-size",
  "font-style",
  "font-weight",
  "letter-spacing",
  "paint-order",
  "text-anchor",
  "visibility",
];

export function saveConllu(sentences) {
  save(new Blob([toConllu(sentences)], { type: "text/x-conllu;charset=utf-8" }), "biatt.conllu");
}

export function saveJson(result) {
  save(new Blob([`${JSON.stringify(result, null, 1)}\n`], { type: "application/json" }), "biatt.json");
}

export function saveSvg(picture) {
  save(new Blob([standalone(picture)], { type: "image/svg+xml" }), "biatt.svg");
}

export async function savePng(picture) {
  const address = URL.createObjectURL(new Blob([standalone(picture)], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = Math.ceil(picture.width.baseVal.value * SCALE);
    canvas.height = Math.ceil(picture.height.baseVal.value * SCALE);
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    save(await new Promise((done) => canvas.toBlob(done, "image/png")), "biatt.png");
  } finally {
    URL.revokeObjectURL(address);
  }
}

// The picture as a document of its own: with the colours that it has now, and without what is only for the page.
function standalone(picture) {
  const isPointing = picture.classList.replace("pointing", "copied"); // no word is chosen in a file
  const copy = picture.cloneNode(true);
  const copies = copy.querySelectorAll("*");
  picture.querySelectorAll("*").forEach((part, i) => {
    const style = getComputedStyle(part);
    copies[i].setAttribute(
      "style",
      STYLED.map((name) => `${name}: ${style.getPropertyValue(name)}`).join("; "),
    );
  });
  if (isPointing) picture.classList.replace("copied", "pointing");
  for (const part of copy.querySelectorAll(".overlay, .reach, .word rect")) part.remove();
  for (const part of copy.querySelectorAll("[tabindex]")) {
    for (const name of ["tabindex", "role", "aria-pressed"]) part.removeAttribute(name);
  }
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("style", `font-family: ${FONTS}; text-anchor: middle`);
  copy.prepend(
    svg("rect", { width: "100%", height: "100%", fill: getComputedStyle(picture).backgroundColor }),
  );
  return new XMLSerializer().serializeToString(copy);
}

function save(content, name) {
  const address = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000); // the browser reads it after the click
}
