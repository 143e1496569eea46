// Subscribes a tab to the shared event stream.

/**
 * @typedef {object} RequestEvent
 * @property {string} id
 * @property {string} state
 * @property {string} [at]
 * @property {string} [phase] Of a running request.
 * @property {string} [dialect]
 * @property {string} [client] The program, if it is known.
 * @property {string} [html]
 */

/**
 * @param {object} handlers
 * @param {(event: RequestEvent) => void} handlers.request
 * @param {(number: number) => void} [handlers.skipped]
 * @param {(html: string) => void} [handlers.lastHour]
 * @param {(state: "on" | "lost") => void} [handlers.state]
 * @param {() => void} [handlers.missed]
 */
export function subscribe(handlers) {
  const path = document.body.dataset.worker;
  if (!path) return;
  /** @param {{ kind: string, data?: any }} event */
  const handle = ({ kind, data }) => {
    if (kind === "request") handlers.request(JSON.parse(data));
    else if (kind === "skipped") handlers.skipped?.(JSON.parse(data));
    else if (kind === "last_hour") handlers.lastHour?.(JSON.parse(data));
    else if (kind === "missed") handlers.missed?.();
    else handlers.state?.(kind === "open" ? "on" : "lost");
  };
  if (!("SharedWorker" in window)) {
    // Some browsers of phones have none: a stream of this tab's own.
    const source = new EventSource("/api/events?rows=html");
    source.onopen = () => handle({ kind: "open" });
    source.onerror = () => handle({ kind: "lost" });
    for (const kind of ["request", "skipped", "last_hour", "missed"]) {
      source.addEventListener(kind, (event) => handle({ kind, data: /** @type {MessageEvent} */ (event).data }));
    }
    return;
  }
  const { port } = new SharedWorker(path, { name: "majordomo-events" });
  port.onmessage = (message) => handle(message.data);
  port.start();
  window.addEventListener("pagehide", () => port.postMessage("close"));
  // A page restored from the back/forward cache has closed its port.
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) window.location.reload();
  });
}
