// Mouse, touch and keyboard in the tree: pointing at words, choosing them, and dragging them to a new head.

const DRAGGED = 6; // pixels after which a press is a drag
const HELD = 350; // milliseconds after which a finger that has not moved drags; before, it scrolls

// `tree()` gives the tree that is shown. `actions` has hover(word), choose(word), leave(word), fix(word, arc),
// undo() and redo(); words are null for none.
export function handleTree(container, tree, actions) {
  const wordOf = (event) => {
    const part = event.target.closest?.("[data-word]");
    return part ? Number(part.dataset.word) : null;
  };
  let press = null; // {word, pointer, x, y, touch, dragging, timer}

  container.addEventListener("pointerover", (event) => press?.dragging || actions.hover(wordOf(event)));
  container.addEventListener("pointerleave", () => press?.dragging || actions.hover(null));

  const beginDrag = () => {
    press.dragging = true;
    container.setPointerCapture(press.pointer);
    container.classList.add("dragging");
  };
  const showDrag = ({ word }, x, y) => {
    const over = tree().wordAt(x, y);
    tree().drag(word, over === word ? null : over, x, y);
  };
  container.addEventListener("pointerdown", (event) => {
    const word = event.target.closest?.(".word") ? wordOf(event) : null;
    if (word === null || event.button !== 0 || press?.dragging) return; // a second finger changes nothing
    clearTimeout(press?.timer);
    const { clientX: x, clientY: y, pointerId: pointer } = event;
    press = { word, pointer, x, y, touch: event.pointerType === "touch", dragging: false };
    if (press.touch)
      press.timer = setTimeout(() => {
        beginDrag();
        showDrag(press, x, y);
      }, HELD);
  });
  container.addEventListener("pointermove", (event) => {
    if (press?.pointer !== event.pointerId) return;
    if (!press.dragging && Math.hypot(event.clientX - press.x, event.clientY - press.y) > DRAGGED) {
      if (press.touch) return endDrag(event);
      beginDrag();
    }
    if (press.dragging) showDrag(press, event.clientX, event.clientY);
  });
  // While a word is dragged, the finger neither scrolls the page nor opens a menu.
  container.addEventListener("touchmove", (event) => press?.dragging && event.preventDefault(), {
    passive: false,
  });
  container.addEventListener("contextmenu", (event) => press?.touch && event.preventDefault());
  const endDrag = (event) => {
    if (press?.pointer !== event.pointerId) return;
    const { word, dragging, timer } = press;
    clearTimeout(timer);
    press = null;
    if (!dragging) return;
    container.classList.remove("dragging");
    const over = event.type === "pointerup" ? tree().wordAt(event.clientX, event.clientY) : null;
    if (over === null || over === word || over === tree().sentence.words[word - 1].head) actions.choose(word);
    else actions.fix(word, { head: over, relation: null });
  };
  container.addEventListener("pointerup", endDrag);
  container.addEventListener("pointercancel", endDrag);

  container.addEventListener("click", (event) => {
    const word = wordOf(event);
    if (word !== null) focusWord(tree(), word);
  });
  container.addEventListener("focusin", (event) => {
    const word = wordOf(event);
    if (word !== null) actions.choose(word);
  });
  container.addEventListener("keydown", (event) => {
    const key = event.key.toLowerCase();
    if ((event.ctrlKey || event.metaKey) && (key === "z" || key === "y")) {
      event.preventDefault();
      return key === "y" || event.shiftKey ? actions.redo() : actions.undo();
    }
    const word = wordOf(event);
    if (word === null || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") actions.edit(word);
    else if (event.key === "Escape") actions.leave();
    else {
      const next = wordAfterKey(tree(), word, event.key);
      if (next === null) return;
      focusWord(tree(), next);
    }
    event.preventDefault();
  });
}

// Arrows go to the neighbours as they are drawn, to the head, and to the first dependent.
function wordAfterKey({ sentence, places }, word, key) {
  const { words } = sentence;
  const onward =
    places[words.length].x < places[1].x && words.length > 1 && places[1].y === places[2].y ? -1 : 1;
  const next = {
    ArrowRight: () => word + onward,
    ArrowLeft: () => word - onward,
    ArrowUp: () => words[word - 1].head || word,
    ArrowDown: () => words.find((other) => other.head === word)?.id ?? word,
    Home: () => 1,
    End: () => words.length,
  }[key]?.();
  return next === undefined ? null : Math.min(Math.max(next, 1), words.length);
}

// Give a word the focus; it alone can be reached by Tab.
export function focusWord(tree, word) {
  makeReachable(tree, word);
  tree.wordElements()[word - 1].focus({ preventScroll: false });
}

export function makeReachable(tree, word) {
  tree.wordElements().forEach((part, i) => part.setAttribute("tabindex", i + 1 === word ? 0 : -1));
}
