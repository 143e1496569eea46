// Shows on the screen Connect that a client's first request arrived.

import { element } from "./actions.js";
import { subscribe } from "./events.js";

/**
 * @param {HTMLElement} card
 * @param {import("./events.js").RequestEvent} event
 */
function note(card, event) {
  const waiting = card.querySelector(".waiting");
  if (!(waiting instanceof HTMLElement) || waiting.dataset.arrived !== undefined) return;
  const link = element("a", "see where it went");
  link.setAttribute("href", `/requests/${encodeURIComponent(event.id)}`);
  if (card.dataset.program === event.client) {
    waiting.dataset.arrived = "";
    waiting.replaceChildren("its first request arrived: ", link);
  } else if (!event.client && card.dataset.dialect === event.dialect) {
    // It may be this client under another name.
    waiting.replaceChildren("a request in its dialect arrived, from an unknown program: ", link);
  }
}

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
      for (const card of cards) if (card instanceof HTMLElement) note(card, event);
    },
  });
}
