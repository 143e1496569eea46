// The live feed: rows arrive as HTML from the same template as the static ones.

import { subscribe } from "./events.js";
import { post, problem, toast } from "./actions.js";

/** Rows kept in the page. */
const MOST_ROWS = 10000;
/** A page that cannot keep up reloads, but not all the time. */
const RELOAD_AFTER_MS = 10000;

/** @param {string} html */
function rowFrom(html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  const row = holder.content.firstElementChild;
  return row instanceof HTMLTableRowElement ? row : null;
}

/** @param {HTMLFormElement} form */
function filterOf(form) {
  const values = new FormData(form);
  return {
    text: String(values.get("q") ?? "").trim().toLowerCase(),
    state: String(values.get("state") ?? ""),
  };
}

/**
 * @param {HTMLTableRowElement} row
 * @param {{ text: string, state: string }} filter
 */
function selects(row, filter) {
  const { search = "", state } = row.dataset;
  return (!filter.state || filter.state === state) && search.includes(filter.text);
}

/** @param {HTMLTimeElement} time */
export function localize(time) {
  const at = new Date(time.dateTime);
  if (Number.isNaN(at.valueOf())) return;
  time.title = time.dateTime;
  time.textContent = time.classList.contains("full")
    ? at.toLocaleString("sv-SE")
    : at.toLocaleTimeString("en-GB", { hour12: false });
}

/**
 * When a row's request arrived, in the gateway's format, which sorts as text.
 * @param {HTMLTableRowElement} row
 */
function arrived(row) {
  return row.querySelector("time")?.dateTime ?? "";
}

/** Starts the feed, if this screen has one. */
export function start() {
  const table = document.getElementById("feed");
  const body = table?.querySelector("tbody");
  const form = document.getElementById("filter");
  const live = document.getElementById("live");
  const pause = document.getElementById("pause");
  if (!table || !body || !(form instanceof HTMLFormElement) || !live || !pause) return;

  let paused = false;
  /** Requests that were left out of the stream under load; a reload shows those that are kept. */
  let skipped = 0;
  /** @type {Map<string, string>} Rows that arrived while paused, newest state of each. */
  const held = new Map();

  /** @param {string} html */
  function show(html) {
    const row = rowFrom(html);
    if (!row) return;
    document.getElementById("empty")?.remove();
    table?.removeAttribute("hidden");
    row.querySelectorAll("time").forEach(localize);
    row.hidden = !selects(row, filterOf(/** @type {HTMLFormElement} */ (form)));
    const known = document.getElementById(row.id);
    if (known) {
      known.replaceWith(row);
      return;
    }
    row.dataset.new = "";
    // Requests end in another order than they arrived in.
    const at = arrived(row);
    const next = Array.from(body?.rows ?? []).find((other) => arrived(other) <= at);
    body?.insertBefore(row, next ?? null);
    while (body && body.rows.length > MOST_ROWS) body.rows[body.rows.length - 1].remove();
  }

  const total = document.getElementById("total");
  const unmatched = document.getElementById("unmatched");
  function count() {
    const rows = Array.from(body?.rows ?? []);
    const shown = rows.filter((row) => !row.hidden).length;
    const of = rows.length === shown ? "" : `${shown.toLocaleString("en-US")} of `;
    if (total) total.textContent = `${of}${rows.length.toLocaleString("en-US")} ${rows.length === 1 ? "request" : "requests"}`;
    if (unmatched) unmatched.hidden = rows.length === 0 || shown > 0;
  }

  function label() {
    if (!live || !pause) return;
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Resume" : "Pause";
    if (paused) live.textContent = `paused, ${held.size} new`;
    else if (live.dataset.state === "on") live.textContent = skipped ? `live, ${skipped.toLocaleString("en-US")} not shown` : "live";
    else live.textContent = live.dataset.state === "lost" ? "reconnecting" : "";
  }

  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    if (!paused) {
      held.forEach(show);
      held.clear();
      count();
    }
    label();
  });

  form.addEventListener("input", () => {
    const filter = filterOf(form);
    for (const row of body.rows) row.hidden = !selects(row, filter);
    count();
    const address = new URL(window.location.href);
    for (const [name, value] of [["q", filter.text], ["state", filter.state]]) {
      if (value) address.searchParams.set(name, value);
      else address.searchParams.delete(name);
    }
    history.replaceState(null, "", address);
  });

  const button = document.getElementById("try");
  button?.addEventListener("click", async () => {
    if (!(button instanceof HTMLButtonElement)) return;
    button.disabled = true;
    try {
      const response = await post("/api/try", { model: button.dataset.model });
      if (!response.ok) toast(await problem(response));
    } catch {
      toast("The gateway does not respond.");
    }
    button.disabled = false;
  });

  subscribe({
    request(event) {
      // It ended while only a sample was sent: its row would run for ever.
      if (!event.html) {
        held.delete(event.id);
        document.getElementById(`r-${event.id}`)?.remove();
        count();
        return;
      }
      if (paused) {
        held.set(event.id, event.html);
        label();
      } else {
        show(event.html);
        count();
      }
    },
    skipped(number) {
      skipped += number;
      label();
    },
    lastHour(html) {
      const place = document.getElementById("last-hour");
      if (place && !paused) place.innerHTML = html;
    },
    state(state) {
      live.dataset.state = state;
      label();
    },
    // The server dropped events for this reader: what is shown may be old.
    missed() {
      if (performance.now() > RELOAD_AFTER_MS) window.location.reload();
    },
  });
}
