// The page: from text to sentences, from the chosen sentence to its trees, and what the user does with them.

import { copyLink, recall, remember } from "./address.js";
import { AttentionMaps } from "./attention.js";
import { looksLikeConllu } from "./conllu.js";
import { Corrections, sentenceKeys } from "./corrections.js";
import { saveConllu, saveJson, savePng, saveSvg } from "./downloads.js";
import { byId, counted, element } from "./elements.js";
import { Finder } from "./finding.js";
import { focusWord, handleTree, makeReachable } from "./handling.js";
import { manner, treesOf } from "./parsing.js";
import { changes, showRank } from "./ranks.js";
import { fillList, listed } from "./sentences.js";
import * as service from "./service.js";
import { say, show, showProblem } from "./states.js";
import { wordTable } from "./table.js";
import { chooseView, handleTabs } from "./tabs.js";
import { Tree } from "./tree.js";
import { candidateHeads, legend, wordPanel } from "./word.js";

const PAUSE = 250; // milliseconds without typing until the text is parsed
const PATIENCE = 300; // milliseconds until the page says that it waits
const EXAMPLES = [
  "She saw the man with a telescope from the old library.",
  "I shot an elephant in my pajamas. How he got there, nobody knows. Flying planes can be dangerous.",
  "A hearing is scheduled on the issue today.",
];

const corrections = new Corrections();
const finder = new Finder();
const state = {
  relations: {}, // of each model, when they are known
  result: null, // what the service gave: {text, sentences, …}; sentences are replaced by corrected ones
  keys: [],
  place: 0, // of the chosen sentence
  trees: [], // of the chosen sentence, best first
  attention: null,
  rank: 0, // of the tree that is shown
  word: null, // chosen
  hovered: null,
};
let tree = null; // drawn
let drawnWidth = 0; // of the container when the tree was drawn
let maps = null;
let parsing = new AbortController();
let opening = new AbortController();

// Text → sentences

async function parseText() {
  parsing.abort();
  opening.abort();
  parsing = new AbortController();
  const { signal } = parsing;
  const text = byId("text").value;
  remember();
  if (!text.trim()) {
    state.result = null;
    return show("empty", "");
  }
  const waiting = setTimeout(() => say("Parsing …"), PATIENCE);
  document.body.setAttribute("aria-busy", "true");
  try {
    const input = looksLikeConllu(text)
      ? { conllu: text.endsWith("\n") ? `${text}\n` : `${text}\n\n` }
      : { text };
    const result = await service.parse({ ...input, ...manner(), confidence: true }, signal);
    if (!result.sentences.some((sentence) => sentence.words.length)) return show("empty", "");
    state.result = { ...result, sentences: result.sentences.filter((sentence) => sentence.words.length) };
    state.keys = sentenceKeys(state.result.sentences);
    await reparseCorrected(signal);
    await finder.run(state.result.sentences);
    if (signal.aborted) return;
    clearTimeout(waiting);
    show("result", summary());
    await openSentence(Math.min(state.place, state.result.sentences.length - 1));
  } catch (error) {
    showProblem(error, parseText);
  } finally {
    clearTimeout(waiting);
    if (!signal.aborted) document.body.removeAttribute("aria-busy");
  }
}

function summary() {
  const { sentences } = state.result;
  const words = sentences.reduce((sum, sentence) => sum + sentence.words.length, 0);
  return `${counted(sentences.length, "sentence")}, ${counted(words, "word")}`;
}

// Parse the corrected sentences around their fixed arcs. Those of which this decoder finds no tree stay as they are.
async function reparseCorrected(signal) {
  for (const [place, key] of state.keys.entries()) {
    if (!corrections.of(key).size) continue;
    try {
      state.result.sentences[place] = (await parseSentence(place, signal)).trees[0];
    } catch (error) {
      if (error.kind !== "refused") throw error;
    }
  }
}

// Sentence → trees

function parseSentence(place, signal) {
  return treesOf(state.result.sentences[place], corrections.of(state.keys[place]), signal);
}

async function openSentence(place) {
  opening.abort();
  opening = new AbortController();
  const { signal } = opening;
  const trees = [state.result.sentences[place]];
  Object.assign(state, { place, trees, attention: null, rank: 0, word: null, hovered: null });
  draw();
  try {
    const parsed = await parseSentence(place, signal);
    if (signal.aborted) return;
    Object.assign(state, { trees: [...trees, ...parsed.trees.slice(1)], attention: parsed.attention });
    draw();
  } catch (error) {
    showRefusal(error);
  }
}

// Corrections

async function fix(word, arc) {
  corrections.set(state.keys[state.place], word, arc);
  try {
    await reparse(state.place, word);
  } catch (error) {
    if (error.name === "AbortError") return; // a later step has taken its place
    corrections.drop();
    draw();
    showRefusal(error);
  }
}

function showRefusal(error) {
  if (error.kind === "refused") say(`Not possible: ${error.message}`);
  else showProblem(error, parseText);
}

async function step(direction) {
  const place = state.keys.indexOf(corrections[direction]());
  if (place < 0) return draw(); // the sentence is no longer in the text
  await reparse(place, place === state.place ? state.word : null).catch(showRefusal);
}

// Parse a sentence around its fixed arcs, and show it.
async function reparse(place, word) {
  opening.abort();
  opening = new AbortController();
  const { trees, attention } = await parseSentence(place, opening.signal);
  state.result.sentences[place] = trees[0];
  Object.assign(state, { place, trees, attention, rank: 0, word, hovered: null });
  await finder.run(state.result.sentences);
  say(summary());
  draw();
}

// Search all sentences, and go to the first that was found.
async function findPattern() {
  if (!state.result || !(await finder.run(state.result.sentences))) return;
  const [first] = finder.matches?.keys() ?? [];
  if (finder.matches?.has(state.place) || first === undefined) draw();
  else openSentence(first);
}

// Drawing

// The arcs that are fixed and that the tree has; another decoder can find none with all of them.
function fixedArcs(place) {
  const { words } = state.result.sentences[place];
  return new Map(
    [...corrections.of(state.keys[place])].filter(([word, { head }]) => words[word - 1].head === head),
  );
}

function draw() {
  const focus = focused();
  drawList();
  drawTree();
  showRank(state.trees, state.rank);
  drawViews();
  byId("undo").disabled = !corrections.canUndo;
  byId("redo").disabled = !corrections.canRedo;
  focus();
}

// What gives the focus back to the same word or control after all of them have been drawn anew.
function focused() {
  const { activeElement } = document;
  const word = activeElement?.closest("#tree .word")?.dataset.word;
  const inPanel = activeElement?.closest("#view-word");
  const { id } = activeElement ?? {};
  return () => {
    if (word && tree.places[word]) focusWord(tree, Number(word));
    else if (inPanel) (byId(id) ?? tree.wordElements()[state.word - 1])?.focus();
  };
}

function drawList() {
  const { sentences } = state.result;
  byId("sentence-list").hidden = sentences.length < 2;
  const places = listed(sentences, { byDoubt: byId("order").value === "doubt", matches: finder.matches });
  fillList(byId("sentences"), sentences, {
    places,
    selected: state.place,
    corrected: (place) => fixedArcs(place).size > 0,
    choose: (place) => openSentence(place),
  });
}

function drawTree() {
  const container = byId("tree");
  const shown = state.trees[state.rank];
  const marks = {
    fixed: fixedArcs(state.place),
    found: finder.matches?.get(state.place) ?? new Set(),
    changed: new Set(
      state.rank ? changes(shown, state.trees[state.rank - 1]).map(({ word }) => word.id) : [],
    ),
  };
  drawnWidth = container.clientWidth;
  tree = new Tree(shown, { wrap: byId("wrap").checked ? drawnWidth : null, marks });
  container.dir = tree.element.getAttribute("direction");
  container.replaceChildren(tree.element);
  makeReachable(tree, state.word ?? 1);
}

// The word that is pointed at, or else chosen
const shownWord = () => state.hovered ?? state.word;

function drawViews() {
  const sentence = state.trees[state.rank];
  byId("view-table").replaceChildren(wordTable(sentence, fixedArcs(state.place)));
  maps = null;
  if (state.attention)
    maps = new AttentionMaps(byId("view-attention"), sentence, state.attention, {
      width: drawnWidth - 34,
      pointed: pointAtCell,
    });
  else
    byId("view-attention").replaceChildren(
      element("p", { class: "hint" }, "No attention for this sentence."),
    );
  drawWord();
}

function drawWord() {
  const word = shownWord();
  const sentence = state.trees[state.rank];
  const shown = word === null ? null : sentence.words[word - 1];
  const fixed = fixedArcs(state.place);
  const candidates = shown ? candidateHeads(state.attention, shown, fixed.has(word)) : [];
  const others = candidates.filter(([head]) => head !== shown.head);
  tree.point(word, { head: shown?.head ?? null, others, selected: state.word });
  maps?.show(word, shown?.head ?? null);
  const panel = byId("view-word");
  if (word === null) panel.replaceChildren(legend());
  else {
    const actions = { fix, release: (id) => fix(id, null) };
    const relations = state.relations[state.result.model] ?? [];
    panel.replaceChildren(
      wordPanel(sentence, word, { attention: state.attention, fixed, relations, actions }),
    );
  }
}

function pointAtCell(word, head) {
  if (word === null) return drawWord();
  const shown = state.trees[state.rank].words[word - 1];
  const other =
    head !== shown.head && head !== word ? [[head, state.attention.agreement[word - 1][head]]] : [];
  tree.point(word, { head, others: other, selected: state.word, ownArc: head === shown.head });
  maps.show(word, head);
}

// As many lines as the text has, up to a third of the window
function fitText() {
  const text = byId("text");
  text.style.height = "auto";
  text.style.height = `${Math.min(text.scrollHeight + 2, innerHeight / 3)}px`;
}

function handleControls() {
  let pause = 0;
  let patternPause = 0;
  byId("text").addEventListener("input", () => {
    fitText();
    clearTimeout(pause);
    pause = setTimeout(parseText, PAUSE);
  });
  for (const id of ["model", "decoder"]) byId(id).addEventListener("change", parseText);
  byId("wrap").addEventListener("change", draw);
  byId("order").addEventListener("change", () => {
    drawList();
    const first = byId("sentences").querySelector("button");
    if (first) openSentence(Number(first.dataset.sentence));
  });
  byId("rank").addEventListener("input", (event) => {
    state.rank = Number(event.target.value) - 1;
    draw();
  });
  byId("pattern").addEventListener("input", () => {
    clearTimeout(patternPause);
    patternPause = setTimeout(findPattern, 2 * PAUSE);
  });
  byId("undo").addEventListener("click", () => step("undo"));
  byId("redo").addEventListener("click", () => step("redo"));
  byId("share").addEventListener("click", copyLink);
  byId("save-conllu").addEventListener("click", () => saveConllu(state.result.sentences));
  byId("save-json").addEventListener("click", () => saveJson(state.result));
  byId("save-svg").addEventListener("click", () => saveSvg(tree.element));
  byId("save-png").addEventListener("click", () => savePng(tree.element));
  addEventListener("click", (event) => {
    if (!event.target.closest("#downloads summary")) byId("downloads").open = false;
  });
  byId("downloads").addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    byId("downloads").open = false;
    byId("downloads").querySelector("summary").focus();
  });
  byId("view-word").addEventListener("keydown", (event) => {
    if (event.key === "Escape" && state.word) focusWord(tree, state.word);
  });
}

function handleSentence() {
  handleTree(byId("tree"), () => tree, {
    hover: (word) => {
      if (state.hovered === word || byId("view-word").contains(document.activeElement)) return;
      state.hovered = word;
      drawWord();
    },
    choose: (word) => {
      Object.assign(state, { word, hovered: null });
      drawWord();
    },
    leave: () => {
      Object.assign(state, { word: null, hovered: null });
      drawWord();
    },
    edit: () => {
      chooseView("word");
      byId("head-choice").focus();
    },
    fix,
    undo: () => corrections.canUndo && step("undo"),
    redo: () => corrections.canRedo && step("redo"),
  });
  new ResizeObserver(() => {
    const { clientWidth } = byId("tree");
    if (tree && clientWidth && clientWidth !== drawnWidth && byId("wrap").checked) draw();
  }).observe(byId("tree"));
}

function start() {
  byId("examples").replaceChildren(
    ...EXAMPLES.map((text) =>
      element(
        "button",
        {
          type: "button",
          click: () => {
            byId("text").value = text;
            fitText();
            parseText();
          },
        },
        text,
      ),
    ),
  );
  handleControls();
  handleTabs();
  handleSentence();
  addEventListener("hashchange", () => {
    recall();
    fitText();
    parseText();
  });
  say("Loading …");
  load();
}

// Ask for the models, then parse the text of the address.
async function load() {
  try {
    const { models, default_model, relations } = await service.models();
    state.relations = relations;
    const names = Object.keys(models);
    byId("model").replaceChildren(
      ...names.map((name) => element("option", { value: name, selected: name === default_model }, name)),
    );
    byId("model-choice").hidden = names.length < 2;
  } catch (error) {
    return showProblem(error, load);
  }
  if (!byId("text").value) recall(); // the user can have typed meanwhile
  fitText();
  await parseText();
  if (!state.result) byId("text").focus();
}

start();
