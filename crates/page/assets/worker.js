// One event stream for all tabs of this browser: browsers allow six HTTP/1.1
// connections per host, and an open page holds one.

/** @type {Set<MessagePort>} */
const ports = new Set();
/** @type {EventSource | null} */
let source = null;
/** @type {Map<string, string>} The latest requests, for a tab that joins later. */
const latest = new Map();
/** As many as the server sends first. */
const MOST_LATEST = 24;

/** @param {{ kind: string, data?: string }} message */
function broadcast(message) {
  for (const port of ports) port.postMessage(message);
}

function openStream() {
  if (source) return;
  source = new EventSource("/api/events?rows=html");
  source.onopen = () => broadcast({ kind: "open" });
  source.onerror = () => {
    broadcast({ kind: "lost" });
    // The browser retries by itself unless the server refused.
    if (source && source.readyState === EventSource.CLOSED) {
      source = null;
      if (ports.size > 0) setTimeout(openStream, 3000);
    }
  };
  source.addEventListener("request", (event) => {
    const data = /** @type {MessageEvent} */ (event).data;
    const { id } = JSON.parse(data);
    latest.delete(id);
    latest.set(id, data);
    if (latest.size > MOST_LATEST) latest.delete(latest.keys().next().value ?? "");
    broadcast({ kind: "request", data });
  });
  source.addEventListener("skipped", (event) => {
    broadcast({ kind: "skipped", data: /** @type {MessageEvent} */ (event).data });
  });
  source.addEventListener("last_hour", (event) => {
    broadcast({ kind: "last_hour", data: /** @type {MessageEvent} */ (event).data });
  });
  source.addEventListener("missed", () => broadcast({ kind: "missed" }));
}

/** @param {MessagePort} port */
function connect(port) {
  ports.add(port);
  port.onmessage = (event) => {
    if (event.data !== "close") return;
    ports.delete(port);
    if (ports.size === 0 && source) {
      source.close();
      source = null;
    }
  };
  port.start();
  if (source && source.readyState === EventSource.OPEN) {
    port.postMessage({ kind: "open" });
    latest.forEach((data) => port.postMessage({ kind: "request", data }));
  }
  openStream();
}

self.addEventListener("connect", (event) => {
  connect(/** @type {MessageEvent} */ (event).ports[0]);
});
