// Keys and teams: the form, the secret that is shown once, and what needs a second click.

import { problem, send, toast } from "./actions.js";

/** Settings that are numbers under `limits`. */
const LIMITS = ["requests_per_minute", "tokens_per_minute", "concurrent"];
/** Settings under `budget`. */
const WINDOWS = ["day", "week", "month", "total"];

/** @param {string} id */
function dialog(id) {
  const found = document.getElementById(id);
  return found instanceof HTMLDialogElement ? found : null;
}

/**
 * @param {HTMLFormElement} form
 * @param {string} name
 */
function field(form, name) {
  const found = form.elements.namedItem(name);
  return /** @type {HTMLInputElement | HTMLSelectElement} */ (found);
}

/**
 * The settings of the form on top of those that it does not show.
 * @param {HTMLFormElement} form
 * @param {Record<string, any>} before
 * @param {boolean} isKey
 */
function settingsOf(form, before, isKey) {
  /** @param {string} name */
  const value = (name) => field(form, name).value.trim();
  const settings = { ...before };
  const limits = { ...before.limits };
  for (const name of LIMITS) {
    const number = Number(value(name).replaceAll(",", ""));
    if (!value(name)) delete limits[name];
    else if (Number.isSafeInteger(number)) limits[name] = number;
    else throw new Error(`${value(name)} is not a whole number.`);
  }
  const budget = { ...before.budget };
  for (const name of WINDOWS) {
    const amount = value(name).replace("$", "");
    if (!amount) delete budget[name];
    else budget[name] = /^[0-9.]+$/.test(amount) ? `${amount} USD` : amount;
  }
  settings.limits = Object.keys(limits).length ? limits : null;
  settings.budget = Object.keys(budget).length ? budget : null;
  const when = value("when_exhausted");
  if (when || !String(before.when_exhausted ?? "").startsWith("spec:")) settings.when_exhausted = when || null;
  if (isKey) {
    settings.role = value("role");
    settings.team = value("team") || null;
    settings.expires = value("expires") || null;
    const models = value("models").split(",").map((name) => name.trim()).filter(Boolean);
    settings.models = models.length ? models : null;
    settings.capture = value("capture") ? true : null;
  }
  return settings;
}

/** @param {string} text */
function reloadWith(text) {
  sessionStorage.setItem("toast", text);
  window.location.reload();
}

/** @param {string} secret */
function showSecret(secret) {
  const shown = dialog("access-secret");
  const text = document.getElementById("secret-text");
  const copy = document.getElementById("secret-copy");
  if (!shown || !text || !copy) return;
  text.textContent = secret;
  copy.dataset.copy = secret;
  shown.addEventListener("close", () => window.location.reload());
  shown.showModal();
}

/** @param {HTMLButtonElement} button */
function openForm(button) {
  const shown = dialog("access-form");
  const form = shown?.querySelector("form");
  const title = document.getElementById("access-title");
  const wrong = form?.querySelector(".problem");
  if (!shown || !form || !title || !(wrong instanceof HTMLElement)) return;
  const { form: kind = "key", name = "", settings = "{}" } = button.dataset;
  const before = JSON.parse(settings);
  form.reset();
  wrong.hidden = true;
  title.textContent = name ? `Edit the ${kind} ${name}` : `New ${kind}`;
  for (const part of form.querySelectorAll("[data-of]")) {
    if (part instanceof HTMLElement) part.hidden = !part.dataset.of?.split(" ").includes(kind);
  }
  field(form, "name").value = name;
  field(form, "name").toggleAttribute("readonly", name !== "");
  for (const limit of LIMITS) field(form, limit).value = before.limits?.[limit] ?? "";
  for (const window of WINDOWS) field(form, window).value = before.budget?.[window] ?? "";
  field(form, "when_exhausted").value = before.when_exhausted ?? "";
  field(form, "team").value = before.team ?? "";
  field(form, "role").value = before.role ?? "client";
  field(form, "models").value = (before.models ?? []).join(", ");
  field(form, "expires").value = before.expires ?? "";
  field(form, "capture").value = before.capture ? "true" : "";
  form.onsubmit = async (event) => {
    event.preventDefault();
    try {
      const wanted = field(form, "name").value.trim();
      const body = settingsOf(form, before, kind === "key");
      const path = `/api/${kind}s/${encodeURIComponent(wanted)}`;
      const response = await (kind === "team"
        ? send("PUT", path, body)
        : name
          ? send("PATCH", path, body)
          : send("POST", "/api/keys", { name: wanted, ...body }));
      if (!response.ok) throw new Error(await problem(response));
      const { secret } = await response.json();
      shown.close();
      if (secret) showSecret(secret);
      else reloadWith(`Saved: ${wanted}.`);
    } catch (error) {
      wrong.textContent = error instanceof TypeError ? "The gateway does not respond." : /** @type {Error} */ (error).message;
      wrong.hidden = false;
    }
  };
  shown.showModal();
}

/** @type {Record<string, [string, string]>} What a button asks before it acts. */
const ASKS = {
  rotate: ["Give NAME a new secret?", "The old one works for another 24 hours."],
  delete: ["Delete the key NAME?", "Its clients are refused within a second. What it used stays in the ledger."],
  "delete-team": ["Delete the team NAME?", "Only a team without keys can be deleted."],
};

/**
 * @param {string} action
 * @param {string} name
 */
async function act(action, name) {
  const key = `/api/keys/${encodeURIComponent(name)}`;
  try {
    const response = await (action === "delete"
      ? send("DELETE", key)
      : action === "delete-team"
        ? send("DELETE", `/api/teams/${encodeURIComponent(name)}`)
        : send("POST", `${key}/${action}`, {}));
    if (!response.ok) {
      toast(await problem(response));
      return;
    }
    const { secret } = await response.json();
    if (secret) showSecret(secret);
    else reloadWith(`Done: ${action.replace("-", " ")} ${name}.`);
  } catch {
    toast("The gateway does not respond.");
  }
}

/**
 * @param {string} action
 * @param {string} name
 */
function confirmed(action, name) {
  const shown = dialog("access-confirm");
  const yes = document.getElementById("confirm-yes");
  const [title, text] = ASKS[action] ?? [];
  if (!title || !shown || !yes) {
    act(action, name);
    return;
  }
  const [heading, sentence] = [shown.querySelector("h2"), shown.querySelector("p")];
  if (heading) heading.textContent = title.replace("NAME", name);
  if (sentence) sentence.textContent = text;
  yes.onclick = () => {
    shown.close();
    act(action, name);
  };
  shown.showModal();
}

/** Starts the forms, if this screen has them. */
export function start() {
  if (!dialog("access-form")) return;
  document.addEventListener("click", (event) => {
    const button = event.target instanceof Element ? event.target.closest("button") : null;
    if (!button) return;
    const { keyAction, name = "" } = button.dataset;
    if (button.dataset.form) openForm(button);
    else if (keyAction) confirmed(keyAction, name);
    else if (button.dataset.close !== undefined) button.closest("dialog")?.close();
  });
}
