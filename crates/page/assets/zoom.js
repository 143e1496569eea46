// Enlarges an image of a captured request, and flips between its versions in place.

import { element } from "./actions.js";

/**
 * @param {string} text
 * @param {() => void} press
 */
function button(text, press) {
  const made = element("button", text);
  made.setAttribute("type", "button");
  made.addEventListener("click", press);
  return made;
}

/** @param {HTMLAnchorElement} from */
function enlarge(from) {
  const versions = Array.from(from.closest("ul")?.querySelectorAll("a[data-zoom]") ?? []);
  let shown = versions.indexOf(from);
  const dialog = document.createElement("dialog");
  dialog.className = "zoom";
  const title = element("p");
  title.setAttribute("role", "status");
  const image = document.createElement("img");
  const place = element("div");
  place.className = "canvas";
  place.tabIndex = 0;
  place.setAttribute("role", "region");
  place.setAttribute("aria-label", "The image");
  place.append(image);
  /** @param {number} by */
  function step(by) {
    shown = (shown + by + versions.length) % versions.length;
    const version = /** @type {HTMLAnchorElement} */ (versions[shown]);
    image.src = version.href;
    image.alt = version.dataset.zoom ?? "";
    const facts = version.parentElement?.querySelector("p")?.textContent ?? "";
    title.textContent = `${image.alt} · ${facts}`;
  }
  const scale = button("100 %", () => {
    const exact = place.toggleAttribute("data-exact");
    scale.textContent = exact ? "Fit" : "100 %";
  });
  const row = element("div");
  row.className = "row";
  if (versions.length > 1) row.append(button("Previous version", () => step(-1)), button("Next version", () => step(1)));
  row.append(scale, button("Close", () => dialog.close()));
  dialog.append(title, place, row);
  dialog.setAttribute("aria-label", "The image, enlarged");
  dialog.addEventListener("keydown", (event) => {
    // The arrows scroll an image that is larger than its place.
    if (place.hasAttribute("data-exact") && event.target === place) return;
    if (event.key === "ArrowLeft") step(-1);
    if (event.key === "ArrowRight") step(1);
  });
  dialog.addEventListener("close", () => {
    dialog.remove();
    from.focus();
  });
  step(0);
  document.body.append(dialog);
  dialog.showModal();
}

/** Starts zooming, if this screen has images. */
export function start() {
  document.getElementById("pictures")?.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[data-zoom]") : null;
    if (!(link instanceof HTMLAnchorElement) || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    enlarge(link);
  });
}
