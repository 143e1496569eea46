// Sends a captured request again on another spec, and shows both answers.

import { problem, send, toast } from "./actions.js";
import { DIALECTS, events, whole } from "./dialects.js";
import { figures } from "./playground.js";

/** @param {string} path */
function dialectOf(path) {
  if (path.includes("/responses")) return "responses";
  if (path.includes("/messages")) return "messages";
  if (path.includes("GenerateContent") || path.includes("generateContent")) return "gemini";
  return path.includes("/api/chat") ? "ollama" : "chat";
}

/**
 * The text of an answer, streamed or whole.
 * @param {string} dialect
 * @param {Response} response
 * @param {(more: string) => void} take
 */
async function read(dialect, response, take) {
  const { text } = DIALECTS[dialect];
  const kind = response.headers.get("content-type") ?? "";
  if (kind.includes("event-stream") || kind.includes("ndjson")) await events(response, (event) => take(text(event)));
  else take(whole(dialect, await response.json()));
}

/** @param {HTMLFormElement} form */
async function again(form) {
  const place = document.getElementById("again-answers");
  const [before, after] = Array.from(place?.querySelectorAll(".answer") ?? []);
  const state = place?.querySelector("[role=status]");
  const bottom = place?.querySelector(".figures");
  if (!place || !before || !after || !state || !bottom) return;
  const values = new FormData(form);
  const spec = String(values.get("spec") ?? "").trim();
  const key = String(values.get("key") ?? "");
  const found = await fetch(`/api/captures/${encodeURIComponent(form.dataset.id ?? "")}`);
  if (!found.ok) throw new Error(await problem(found));
  const captured = await found.json();
  const dialect = dialectOf(captured.path);
  place.hidden = false;
  before.textContent = after.textContent = bottom.textContent = "";
  const old = new Response(captured.response.text, { headers: { "content-type": captured.response.content_type } });
  // Whatever a model writes stays text.
  await read(dialect, old, (more) => before.append(more)).catch(() => before.append(captured.response.text));
  const body = JSON.parse(captured.body);
  let { path } = captured;
  if (dialect === "gemini") path = path.replace(/models\/.*:/, `models/${spec.split("/").map(encodeURIComponent).join("/")}:`);
  else body.model = spec;
  state.textContent = "waiting for the first token";
  const query = new URLSearchParams({ path, ...(key ? { key } : {}) });
  const response = await send("POST", `/api/playground?${query}`, body);
  const id = response.headers.get("x-majordomo-request-id") ?? "";
  if (response.ok) {
    await read(dialect, response, (more) => after.append(more));
    state.textContent = `${spec}: complete`;
  } else {
    after.textContent = await problem(response);
    state.textContent = `${spec} failed with status ${response.status}`;
  }
  if (id) bottom.textContent = await figures(id);
}

/** Starts sending again, if this screen offers it. */
export function start() {
  const form = document.getElementById("again");
  if (!(form instanceof HTMLFormElement)) return;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await again(form);
    } catch (error) {
      toast(error instanceof TypeError ? "The gateway does not respond." : /** @type {Error} */ (error).message);
    }
  });
}
