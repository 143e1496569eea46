// Changes that the operator makes: each is a POST with the session's token.

/** @param {string} text */
export function toast(text) {
  const place = document.getElementById("toast");
  if (place) place.textContent = text;
}

/**
 * @param {string} path
 * @param {unknown} [body]
 * @returns {Promise<Response>}
 */
export function post(path, body) {
  /** @type {Record<string, string>} */
  const headers = { "content-type": "application/json" };
  const token = document.body.dataset.token;
  if (token) headers["x-majordomo-token"] = token;
  return fetch(path, { method: "POST", headers, body: JSON.stringify(body ?? {}) });
}

/** @param {Response} response */
export async function problem(response) {
  const text = await response.text();
  try {
    return JSON.parse(text).error ?? text;
  } catch {
    return text;
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
