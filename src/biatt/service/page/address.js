// The address of the page. The text is in its fragment, which browsers send to no server.

import { byId } from "./elements.js";

const LONGEST_TEXT = 100_000; // characters that an address keeps

export function remember() {
  const values = { text: byId("text").value };
  if (byId("decoder").value !== "mst") values.decoder = byId("decoder").value;
  if (byId("model").options.length > 1) values.model = byId("model").value;
  const kept = values.text.trim() && values.text.length <= LONGEST_TEXT;
  history.replaceState(null, "", kept ? `#${new URLSearchParams(values)}` : location.pathname);
}

export function recall() {
  const values = new URLSearchParams(location.hash.slice(1));
  byId("text").value = values.get("text") ?? "";
  for (const id of ["decoder", "model"]) {
    const known = [...byId(id).options].some((option) => option.value === values.get(id));
    if (known) byId(id).value = values.get(id);
  }
}

export async function copyLink(event) {
  const button = event.currentTarget;
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = location.hash ? "Copied" : "Too long for a link";
  } catch {
    button.textContent = "Copy it from the address bar";
  }
  setTimeout(() => (button.textContent = "Copy link"), 2000);
}
