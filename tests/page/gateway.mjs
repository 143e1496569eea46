// Starts the gateway and a scripted upstream, on loopback and on free ports.

import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What a hostile model answers: markup, a very long line, bidirectional marks. */
export const HOSTILE = "<script>alert(1)</script>\u202e" + "x".repeat(1 << 20);

/**
 * An upstream of the Chat dialect. The model's name selects its behaviour: `slow` waits
 * until `release()`, the one called `broken` fails, anything else answers at once.
 */
export async function upstream(/** @type {{ broken?: string }} */ { broken = "broken" } = {}) {
  let release = () => {};
  /** @type {{ model: string, prompt: number, completion: number, body: any }[]} What it counted itself. */
  const served = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    if (request.method === "GET") {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ object: "list", data: [] }));
      return;
    }
    const asked = JSON.parse(body);
    const { model, stream } = asked;
    if (model === broken) {
      response.statusCode = 500;
      response.end(JSON.stringify({ error: { message: HOSTILE.slice(0, 200) } }));
      return;
    }
    if (model === "slow") await new Promise((resolve) => (release = () => resolve(undefined)));
    const text = model === "hostile" ? HOSTILE : "hello";
    const usage = { prompt_tokens: 1234, completion_tokens: 56, total_tokens: 1290 };
    served.push({ model, prompt: usage.prompt_tokens, completion: usage.completion_tokens, body: asked });
    if (stream) {
      response.setHeader("content-type", "text/event-stream");
      const chunk = (/** @type {object} */ value) => response.write(`data: ${JSON.stringify(value)}\n\n`);
      const frame = { id: "c", object: "chat.completion.chunk", created: 1, model };
      chunk({ ...frame, choices: [{ index: 0, delta: { role: "assistant", content: text } }] });
      chunk({ ...frame, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
      chunk({ ...frame, choices: [], usage });
      response.end("data: [DONE]\n\n");
      return;
    }
    response.setHeader("content-type", "application/json");
    const message = { role: "assistant", content: text };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    response.end(JSON.stringify({ id: "c", object: "chat.completion", created: 1, model, choices, usage }));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return { url: `http://127.0.0.1:${port}/v1`, served, release: () => release(), close: () => server.close() };
}

/** Starts a gateway with this configuration; resolves when it listens. */
export async function gateway(/** @type {string} */ config) {
  const folder = await mkdtemp(join(tmpdir(), "majordomo-page-"));
  const file = join(folder, "majordomo.toml");
  await writeFile(file, config, { mode: 0o600 });
  const program = process.env.MAJORDOMO_BIN ?? "majordomo";
  const child = spawn(program, ["serve", "--config", file], {
    env: { ...process.env, XDG_STATE_HOME: folder, RUST_LOG: "warn" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  const addresses = await new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`no address in: ${printed}`)), 30000);
    child.once("exit", (code) => reject(new Error(`the gateway ended with ${code}: ${printed}`)));
    child.stdout.on("data", (data) => {
      printed += data;
      const found = /listening on (\S+), operator API on (\S+)/.exec(printed);
      if (!found) return;
      clearTimeout(late);
      resolve({ clients: found[1], operator: found[2].replace("0.0.0.0", "127.0.0.1") });
    });
  });
  const stop = async () => {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  return { ...addresses, file, folder, printed: () => printed, stop };
}

/** Asks a model through the gateway; resolves to the response. */
export function ask(
  /** @type {string} */ base,
  /** @type {string} */ model,
  /** @type {{ key?: string, stream?: boolean, content?: string, signal?: AbortSignal }} */ options = {},
) {
  const { key, stream = false, content = "hello", signal } = options;
  return fetch(`${base}/v1/chat/completions`, {
    method: "POST",
    signal,
    headers: { "content-type": "application/json", ...(key ? { authorization: `Bearer ${key}` } : {}) },
    body: JSON.stringify({ model, stream, messages: [{ role: "user", content }] }),
  });
}
