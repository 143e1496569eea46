// A candidate of the configuration: its mistakes, its difference, and what it would change.

import { element, post, problem, toast } from "./actions.js";

/** Signs of the lines of a difference. */
const SIGNS = { same: " ", removed: "−", added: "+", gap: "⋯" };

/**
 * @param {any} found
 * @param {HTMLTextAreaElement} field
 */
function mistake(found, field) {
  const item = element("li");
  const place = element("button", `line ${found.line}, column ${found.column}`);
  place.className = "quiet";
  place.setAttribute("type", "button");
  place.addEventListener("click", () => {
    const lines = field.value.split("\n").slice(0, found.line - 1);
    const at = lines.reduce((sum, line) => sum + line.length + 1, 0) + found.column - 1;
    field.focus();
    field.setSelectionRange(at, at);
  });
  const badge = element("span", found.severity);
  badge.className = `badge ${found.severity === "error" ? "failed" : "running"}`;
  item.append(badge, " ", place, ` ${found.message}`);
  if (found.hint) {
    const hint = element("p", found.hint);
    hint.className = "hint";
    item.append(hint);
  }
  return item;
}

/** @param {any[]} lines */
function difference(lines) {
  const region = element("div");
  region.className = "scroll source";
  region.tabIndex = 0;
  region.setAttribute("role", "region");
  region.setAttribute("aria-label", "Difference");
  const table = element("table");
  table.className = "diff";
  const body = element("tbody");
  for (const line of lines) {
    const row = element("tr");
    row.className = line.kind;
    const text = element("td");
    text.append(element("code", line.text));
    const kind = /** @type {keyof typeof SIGNS} */ (line.kind);
    const sign = element("td", SIGNS[kind] ?? " ");
    sign.setAttribute("aria-label", line.kind);
    row.append(element("td", String(line.old ?? "")), element("td", String(line.new ?? "")), sign, text);
    body.append(row);
  }
  table.append(body);
  region.append(table);
  return region;
}

/** @param {any[]} changes */
function list(changes) {
  const made = element("ul");
  for (const change of changes) {
    const item = element("li", `${change.kind}: `);
    item.append(element("code", change.section ? `[${change.section}] ${change.name}` : change.name));
    made.append(item);
  }
  return made;
}

/**
 * @param {HTMLElement} place
 * @param {any} report
 * @param {HTMLTextAreaElement} field
 */
function show(place, report, field) {
  const parts = [];
  const verdict = element("p", report.valid ? "The candidate is valid." : "The candidate is not valid.");
  verdict.className = report.valid ? "good" : "problem";
  parts.push(verdict);
  if (report.rejected) {
    const rejected = element("p", `The running gateway would refuse it: ${report.rejected}.`);
    rejected.className = "problem";
    parts.push(rejected);
  }
  if (report.diagnostics.length) {
    const made = element("ul");
    made.className = "plain mistakes";
    made.append(...report.diagnostics.map((/** @type {any} */ found) => mistake(found, field)));
    parts.push(made);
  }
  if (report.valid) {
    parts.push(element("h3", "What it would change"));
    if (report.changes.length) parts.push(list(report.changes));
    else parts.push(element("p", "No entry and no setting."));
    for (const notice of report.restart) {
      const line = element("p", `${notice}.`);
      line.className = "problem";
      parts.push(line);
    }
  }
  if (report.diff.length) parts.push(element("h3", "Difference"), difference(report.diff));
  place.replaceChildren(...parts);
}

/** Starts the check, if this screen has one. */
export function start() {
  const form = document.getElementById("candidate");
  const field = document.getElementById("candidate-text");
  const file = document.getElementById("candidate-file");
  const place = document.getElementById("candidate-report");
  if (!(form instanceof HTMLFormElement) || !(field instanceof HTMLTextAreaElement) || !place) return;
  if (file instanceof HTMLInputElement) {
    file.addEventListener("change", async () => {
      const chosen = file.files?.[0];
      if (chosen) field.value = await chosen.text();
    });
  }
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const response = await post("/api/config/check", { text: field.value });
      if (response.ok) show(place, await response.json(), field);
      else toast(await problem(response));
    } catch {
      toast("The gateway does not respond.");
    }
  });
}
