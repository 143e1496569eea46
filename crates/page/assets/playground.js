// One prompt on up to four specs, side by side, each in its own stream.

import { element, problem, send, toast } from "./actions.js";
import { DIALECTS, events } from "./dialects.js";
import { snippet } from "./snippets.js";

/** Largest image that is taken, in bytes. */
const LARGEST_IMAGE = 20 << 20;

/** @type {{ type: string, data: string, url: string }[]} `url` is that of the picture that is shown. */
const images = [];
/** @type {AbortController | null} */
let running = null;
/** @type {import("./snippets.js").Sent | null} */
let sent = null;
let language = "curl";

/**
 * @param {HTMLFormElement} form
 * @param {string} name
 */
function value(form, name) {
  const field = form.elements.namedItem(name);
  return field && "value" in field ? String(field.value).trim() : "";
}

/**
 * @param {HTMLFormElement} form
 * @param {string} name
 */
function json(form, name) {
  const text = value(form, name);
  if (!text) return null;
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`The field ${name} is not JSON.`);
  }
}

function showImages() {
  const place = document.getElementById("images");
  if (!place) return;
  place.replaceChildren(
    ...images.map((image, index) => {
      const figure = element("figure");
      const picture = document.createElement("img");
      picture.src = image.url;
      picture.alt = `image ${index + 1}, ${image.type}, ${Math.ceil((image.data.length * 3) / 4096)} kB`;
      const button = element("button", `Remove image ${index + 1}`);
      button.setAttribute("type", "button");
      button.addEventListener("click", () => {
        URL.revokeObjectURL(image.url);
        images.splice(index, 1);
        showImages();
      });
      figure.append(picture, button);
      return figure;
    }),
  );
}

/** @param {Iterable<File>} files */
async function take(files) {
  for (const file of files) {
    if (!file.type.startsWith("image/")) continue;
    if (file.size > LARGEST_IMAGE) {
      toast(`${file.name} is larger than 20 MB.`);
      continue;
    }
    const bytes = new Uint8Array(await file.arrayBuffer());
    let text = "";
    for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
    images.push({ type: file.type, data: btoa(text), url: URL.createObjectURL(file) });
  }
  showImages();
}

/**
 * Tokens, cost, target and changes, from the gateway's own record.
 * @param {string} id
 */
export async function figures(id) {
  const response = await fetch(`/api/requests/${encodeURIComponent(id)}`);
  if (!response.ok) return "";
  const found = await response.json();
  const served = found.attempts.findLast((/** @type {any} */ attempt) => attempt.outcome === "served")?.target;
  const parts = [
    served && `served by ${served}`,
    `${found.input_tokens.toLocaleString("en-US")} in, ${found.output_tokens.toLocaleString("en-US")} out`,
    found.cost_usd ? `$${found.cost_usd}` : "price unknown",
    found.first_token_ms !== null && `first token ${Math.round(found.first_token_ms)} ms`,
    `${Math.round(found.took_ms)} ms`,
    found.changes.length && `changes: ${found.changes.join(", ")}`,
  ];
  return parts.filter(Boolean).join(" · ");
}

/**
 * @param {HTMLElement} column
 * @param {string} dialect
 * @param {import("./dialects.js").Prompt} prompt
 * @param {string} key
 * @param {AbortSignal} signal
 */
async function ask(column, dialect, prompt, key, signal) {
  const [state, answer, bottom] = [".state", ".answer", ".figures"].map((name) => column.querySelector(name));
  if (!state || !answer || !bottom) return;
  const { path, body, text } = DIALECTS[dialect];
  state.textContent = "waiting for the first token";
  answer.textContent = "";
  bottom.textContent = "";
  try {
    const query = new URLSearchParams({ path: path(prompt), ...(key ? { key } : {}) });
    const response = await send("POST", `/api/playground?${query}`, body(prompt), signal);
    const id = response.headers.get("x-majordomo-request-id") ?? "";
    if (!response.ok) {
      answer.textContent = await problem(response);
      state.textContent = `failed with status ${response.status}`;
    } else {
      await events(response, (event) => {
        const more = text(event);
        if (!more) return;
        state.textContent = "streaming";
        // Whatever a model writes stays text.
        answer.append(more);
      });
      state.textContent = "complete";
    }
    if (id) {
      bottom.textContent = await figures(id);
      const link = document.createElement("a");
      link.href = `/requests/${id}`;
      link.textContent = "Why it went there";
      bottom.append(" ", link);
    }
  } catch (error) {
    state.textContent = signal.aborted ? "stopped" : "the gateway does not respond";
  }
}

function showCode() {
  const place = document.getElementById("code");
  const text = document.getElementById("code-text");
  const copy = document.getElementById("copy-code");
  if (!place || !text || !copy || !sent) return;
  place.hidden = false;
  text.textContent = copy.dataset.copy = snippet(language, sent);
  for (const button of place.querySelectorAll("[data-language]")) {
    button.setAttribute("aria-pressed", String(/** @type {HTMLElement} */ (button).dataset.language === language));
  }
}

/** @param {HTMLFormElement} form */
async function run(form) {
  const columns = Array.from(form.querySelectorAll("section.column"));
  const dialect = value(form, "dialect");
  const key = value(form, "key");
  const prompt = {
    text: value(form, "prompt"),
    system: value(form, "system"),
    images: [...images],
    tools: json(form, "tools") ?? [],
    schema: json(form, "schema"),
    most: Number(value(form, "max_tokens")) || 1024,
  };
  if (!Array.isArray(prompt.tools)) throw new Error("Tools are a JSON list.");
  const asked = columns.flatMap((column) => {
    const model = column.querySelector("input")?.value.trim() ?? "";
    return column instanceof HTMLElement && !column.hidden && model ? [{ column, model }] : [];
  });
  if (asked.length === 0) throw new Error("Name a spec.");
  const first = { ...prompt, model: asked[0].model };
  sent = {
    dialect,
    base: form.dataset.base ?? "",
    path: DIALECTS[dialect].path(first),
    body: DIALECTS[dialect].body(first),
    keys: form.dataset.keys !== undefined,
  };
  showCode();
  running = new AbortController();
  const { signal } = running;
  const stop = document.getElementById("stop");
  if (stop) stop.hidden = false;
  await Promise.all(asked.map(({ column, model }) => ask(column, dialect, { ...prompt, model }, key, signal)));
  if (stop) stop.hidden = true;
}

/** Starts the playground, if this screen has one. */
export function start() {
  const form = document.getElementById("playground");
  if (!(form instanceof HTMLFormElement)) return;
  const button = document.getElementById("run");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (button instanceof HTMLButtonElement) button.disabled = true;
    try {
      await run(form);
    } catch (error) {
      toast(/** @type {Error} */ (error).message);
    }
    if (button instanceof HTMLButtonElement) button.disabled = false;
  });
  document.getElementById("stop")?.addEventListener("click", () => running?.abort());
  document.getElementById("add")?.addEventListener("click", (event) => {
    const hidden = form.querySelectorAll("section.column[hidden]");
    hidden[0]?.removeAttribute("hidden");
    hidden[0]?.querySelector("input")?.focus();
    if (hidden.length <= 1 && event.currentTarget instanceof HTMLElement) event.currentTarget.hidden = true;
  });
  document.getElementById("code")?.addEventListener("click", (event) => {
    const chosen = event.target instanceof HTMLElement ? event.target.dataset.language : undefined;
    if (!chosen) return;
    language = chosen;
    showCode();
  });
  form.addEventListener("paste", (event) => {
    const files = event.clipboardData?.files;
    if (files?.length) {
      event.preventDefault();
      take(files);
    }
  });
  const chosen = document.getElementById("choose-images");
  chosen?.addEventListener("change", () => {
    if (!(chosen instanceof HTMLInputElement)) return;
    take(Array.from(chosen.files ?? []));
    chosen.value = "";
  });
  form.addEventListener("dragover", (event) => event.preventDefault());
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    take(event.dataTransfer?.files ?? []);
  });
}
