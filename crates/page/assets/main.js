// What moves on the page. Reading works without it.

import { enable } from "./actions.js";
import * as connect from "./connect.js";
import { subscribe } from "./events.js";
import * as explain from "./explain.js";
import * as feed from "./feed.js";

document.querySelectorAll("time").forEach(feed.localize);
enable();
feed.start();
explain.start();
connect.start();

// A running request is shown as it is when it ends.
const running = document.querySelector("article[data-running]");
if (running instanceof HTMLElement) {
  subscribe({
    request(event) {
      if (event.id === running.dataset.id && event.state !== "running") window.location.reload();
    },
  });
}
