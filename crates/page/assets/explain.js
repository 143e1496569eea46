// The dry run: posts a body to /api/explain and shows the result as text.

import { element, post, problem, toast } from "./actions.js";

/**
 * @param {string[]} heads
 * @param {string[][]} rows
 */
function table(heads, rows) {
  const made = element("table");
  const head = element("tr");
  heads.forEach((text) => head.append(element("th", text)));
  made.append(element("thead"));
  made.firstElementChild?.append(head);
  const body = element("tbody");
  for (const row of rows) {
    const line = element("tr");
    row.forEach((text) => line.append(element("td", text)));
    body.append(line);
  }
  made.append(body);
  const region = element("div");
  region.className = "scroll";
  region.tabIndex = 0;
  region.setAttribute("role", "region");
  region.setAttribute("aria-label", "What each target receives");
  region.append(made);
  return region;
}

/** @param {any} found */
function story(found) {
  const route = found.route ? `the route ${found.route}` : "no route";
  const rule = found.rules.find((/** @type {any} */ rule) => rule.matched);
  const matched = rule ? `, the rule “${rule.name}” matches` : "";
  return `${found.dialect}: ${found.model}, about ${found.tokens} tokens, ${found.images} images; ${route}${matched}.`;
}

/** @param {any} found */
function show(found) {
  const place = document.getElementById("explanation");
  if (!place) return;
  const targets = found.targets.map((/** @type {any} */ target, /** @type {number} */ index) => [
    String(index + 1),
    target.target,
    target.passed_over
      ? `would be skipped: ${target.passed_over}`
      : target.changes.join(", ") || "the request unchanged",
    target.benched ?? "",
  ]);
  place.replaceChildren(
    element("p", story(found)),
    table(["#", "Target", "Receives", "Benched"], targets),
  );
}

/** Starts the dry run, if this screen has one. */
export function start() {
  const form = document.getElementById("explain");
  const body = document.getElementById("body");
  if (!(form instanceof HTMLFormElement) || !(body instanceof HTMLTextAreaElement)) return;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const response = await post(`/api/explain${form.dataset.query ?? ""}`, JSON.parse(body.value));
      if (response.ok) show(await response.json());
      else toast(await problem(response));
    } catch (error) {
      toast(error instanceof SyntaxError ? "This is not JSON." : "The gateway does not respond.");
    }
  });
}
