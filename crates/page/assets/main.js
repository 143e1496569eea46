// What moves on the page. Reading works without it.

import { enable } from "./actions.js";
import * as again from "./again.js";
import * as config from "./config.js";
import * as connect from "./connect.js";
import { subscribe } from "./events.js";
import * as explain from "./explain.js";
import * as feed from "./feed.js";
import * as keys from "./keys.js";
import * as playground from "./playground.js";
import * as zoom from "./zoom.js";

document.querySelectorAll("time").forEach(feed.localize);
enable();
feed.start();
explain.start();
connect.start();
keys.start();
config.start();
playground.start();
again.start();
zoom.start();

// What is left of a bench, in the words of the server; its end shows the new state.
const ends = [...document.querySelectorAll("[data-countdown]")].flatMap((place) =>
  place instanceof HTMLElement ? [{ place, end: performance.now() + Number(place.dataset.countdown) * 1000 }] : [],
);
if (ends.length) {
  const timer = setInterval(() => {
    for (const { place, end } of ends) {
      const left = Math.max(0, Math.round((end - performance.now()) / 1000));
      const [hours, minutes, seconds] = [Math.floor(left / 3600), Math.floor(left / 60) % 60, left % 60];
      const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
      if (hours) place.textContent = `${hours} h ${two(minutes)} m`;
      else place.textContent = minutes ? `${minutes} m ${two(seconds)} s` : `${seconds} s`;
      if (left === 0) {
        clearInterval(timer);
        window.location.reload();
      }
    }
  }, 1000);
}

// A running request shows its phase, and the whole story when it ends.
const running = document.querySelector("article[data-running]");
if (running instanceof HTMLElement) {
  subscribe({
    request(event) {
      if (event.id !== running.dataset.id) return;
      if (event.state !== "running") {
        window.location.reload();
        return;
      }
      const badge = running.querySelector(".badge");
      const story = running.querySelector(".story");
      if (!event.phase || !badge || badge.textContent === event.phase) return;
      if (story?.textContent) story.textContent = story.textContent.replace(badge.textContent ?? "", event.phase);
      badge.textContent = event.phase;
    },
  });
}
