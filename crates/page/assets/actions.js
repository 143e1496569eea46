// Changes that the operator makes: each carries the session's token.

/** How long a message stays, in milliseconds. */
const TOAST_MS = 10000;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let fading;

/** @param {string} text */
export function toast(text) {
  const place = document.getElementById("toast");
  if (!place) return;
  place.textContent = visible(text);
  clearTimeout(fading);
  fading = setTimeout(() => (place.textContent = ""), TOAST_MS);
}

/**
 * Shows controls that reorder the text around them, as the server does: an error may quote a
 * provider.
 * @param {string} text
 */
export function visible(text) {
  return text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (control) => {
    const code = control.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
    return `[U+${code}]`;
  });
}

/**
 * Sends a change with the session's token.
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {AbortSignal} [signal]
 * @returns {Promise<Response>}
 */
export function send(method, path, body, signal) {
  /** @type {Record<string, string>} */
  const headers = { "content-type": "application/json" };
  const token = document.body.dataset.token;
  if (token) headers["x-majordomo-token"] = token;
  return fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
}

/**
 * @param {string} path
 * @param {unknown} [body]
 */
export function post(path, body) {
  return send("POST", path, body ?? {});
}

/**
 * @param {string} name
 * @param {string} [text]
 */
export function element(name, text) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  return made;
}

/** @param {Response} response */
export async function problem(response) {
  const text = await response.text();
  try {
    const error = JSON.parse(text).error ?? text;
    // The dialects of clients have an object there.
    return visible(typeof error === "string" ? error : String(error.message ?? text));
  } catch {
    return visible(text);
  }
}

/** @param {HTMLButtonElement} button */
async function act(button) {
  const { action, target } = button.dataset;
  if (!action || !target) return;
  button.disabled = true;
  try {
    const path = `/api/targets/${target.split("/").map(encodeURIComponent).join("/")}/${action}`;
    const response = await post(path);
    if (response.ok) {
      const done = await response.json();
      sessionStorage.setItem("toast", done.message ?? `${target}: ${action} done`);
      window.location.reload();
    } else {
      toast(await problem(response));
    }
  } catch {
    toast("The gateway does not respond.");
  } finally {
    button.disabled = false;
  }
}

/** @param {HTMLButtonElement} button */
async function copy(button) {
  const text = button.dataset.copy ?? "";
  try {
    await navigator.clipboard.writeText(text);
    toast("Copied.");
  } catch {
    toast("This browser does not allow copying; select the text instead.");
  }
}

/** Makes buttons work. */
export function enable() {
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.removeAttribute("hidden");
  }
  document.addEventListener("click", (event) => {
    const button = event.target instanceof Element ? event.target.closest("button") : null;
    if (!button) return;
    if (button.dataset.action) act(button);
    else if (button.dataset.copy !== undefined) copy(button);
  });
  const waiting = sessionStorage.getItem("toast");
  if (waiting) {
    sessionStorage.removeItem("toast");
    toast(waiting);
  }
}
