// Shows on the screen Connect that a client's first request arrived.

import { subscribe } from "./events.js";

/** Starts waiting, if this screen has cards. */
export function start() {
  const cards = document.querySelectorAll("section.card");
  if (cards.length === 0) return;
  const holder = document.querySelector(".cards");
  const since = holder instanceof HTMLElement ? holder.dataset.since ?? "" : "";
  for (const waiting of document.querySelectorAll(".waiting")) waiting.removeAttribute("hidden");
  subscribe({
    request(event) {
      // A new reader first gets requests that were there before. The times are both the
      // gateway's, in one format.
      if (!event.at || event.at < since) return;
      for (const card of cards) {
        if (!(card instanceof HTMLElement) || card.dataset.dialect !== event.dialect) continue;
        const waiting = card.querySelector(".waiting");
        if (!(waiting instanceof HTMLElement) || waiting.dataset.arrived !== undefined) continue;
        waiting.dataset.arrived = "";
        waiting.textContent = "a request in its dialect arrived";
      }
    },
  });
}
