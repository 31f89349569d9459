// What the page shows: nothing yet, a result, or a problem.

import { byId } from "./elements.js";
import { isAlive } from "./service.js";

const RETRY = 2000; // milliseconds between two attempts to reach a service that is gone
const TITLES = { gone: "The service is gone", "too long": "Too long", refused: "This cannot be parsed" };

// Show one of the parts "empty", "result" and "problem", and say something in the line of status.
export function show(part, status) {
  for (const id of ["empty", "result", "problem"]) byId(id).hidden = id !== part;
  say(status);
}

export function say(text) {
  byId("status").textContent = text;
}

// Show why there is no result. If the service is gone, the last result stays, and `again` is called when the
// service is back.
export function showProblem(error, again) {
  if (error.name === "AbortError") return;
  if (!(error.kind in TITLES)) throw error;
  const isGone = error.kind === "gone";
  byId("problem-title").textContent = TITLES[error.kind];
  byId("problem-detail").textContent = isGone
    ? `${error.message} The page tries again every few seconds.`
    : error.message;
  byId("problem").hidden = false;
  byId("empty").hidden = true;
  if (isGone) setTimeout(() => retry(again), RETRY);
  else byId("result").hidden = true;
  say("");
}

async function retry(again) {
  if (byId("problem").hidden) return;
  if (await isAlive()) again();
  else setTimeout(() => retry(again), RETRY);
}
