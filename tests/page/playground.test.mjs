// The playground: specs side by side, in every dialect, charged to a key, and as code.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { accessible, launch, open, screenshot } from "./browser.mjs";
import { gateway, HOSTILE, upstream } from "./gateway.mjs";

const KEY = "canary-laptop-0123456789abcdef";
const SDKS = process.env.MAJORDOMO_PAGE_SDKS;
const execute = promisify(execFile);
let browser, up, gate;

before(async () => {
  [browser, up] = await Promise.all([launch(), upstream()]);
  gate = await gateway(`
version = 1
[server]
listen = "127.0.0.1:0"
operator_listen = "127.0.0.1:0"
[chain]
retries = 0
[providers.up]
kind = "openai"
base_url = "${up.url}"
api_key = "canary-upstream"
[prices."up/*"]
input = "1"
output = "10"
[[keys]]
name = "laptop"
key = "${KEY}"
models = ["up/*"]
[[keys]]
name = "poor"
key = "canary-poor-0123456789abcdef"
budget = { day = "0.000001 USD" }
`);
});

after(async () => {
  await browser?.close();
  await gate?.stop();
  up?.close();
});

async function opened(options = {}) {
  const { page, ...rest } = await open(browser, options);
  await page.goto(`${gate.operator}/playground`);
  await page.getByLabel("Charged to").selectOption("laptop");
  await page.getByLabel("Spec 1", { exact: true }).fill("up/fine");
  return { page, ...rest };
}

test("two specs answer side by side, with tokens, cost and target", async () => {
  const { page, close } = await opened();
  await page.getByRole("button", { name: "Compare with another" }).click();
  await page.getByLabel("Spec 2", { exact: true }).fill("up/broken,up/other");
  await page.getByRole("button", { name: "Send" }).click();
  const columns = page.locator("section.column:visible");
  for (const [index, target] of [[0, "up/fine"], [1, "up/other"]]) {
    const column = columns.nth(index);
    await column.getByText("complete").waitFor();
    assert.equal(await column.locator(".answer").innerText(), "hello");
    await column.getByText(`served by ${target}`).waitFor();
    assert.match(await column.locator(".figures").innerText(), /1,234 in, 56 out · \$0\.001794/);
  }
  for (const [group, name] of [["key", "laptop"], ["tag", "via=playground"]]) {
    const usage = await (await fetch(`${gate.operator}/api/usage?by=${group}`)).json();
    assert.deepEqual(usage.rows.map((row) => [row.group, row.requests]), [[[name], 2]]);
  }
  await accessible(page, "playground");
  await screenshot(page, "light-playground");
  await close();
});

test("a key's models and budget hold here too, and a hostile answer stays text", async () => {
  const { page, problems, context } = await opened();
  page.on("dialog", () => assert.fail("a script ran"));
  await page.getByLabel("Spec 1", { exact: true }).fill("demo/text");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("failed with status 403").waitFor();
  await page.getByLabel("Charged to").selectOption("poor");
  await page.getByLabel("Spec 1", { exact: true }).fill("up/fine");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText(/failed with status 4(02|29)/).waitFor();
  await page.getByLabel("Charged to").selectOption("laptop");
  await page.getByLabel("Spec 1", { exact: true }).fill("up/hostile");
  await page.getByRole("button", { name: "Send" }).click();
  await page.locator(".column").first().getByText("complete").waitFor();
  const shown = await page.locator(".answer").first().evaluate((answer) => [answer.textContent.length, answer.children.length]);
  assert.deepEqual(shown, [HOSTILE.length, 0]);
  // The browser reports the two refused requests.
  assert.equal(problems.length, 2, String(problems));
  await context.close();
});

test("a failed request names no target that served, and its error reorders nothing", async () => {
  const { page, context } = await opened();
  await page.getByLabel("Spec 1", { exact: true }).fill("up/broken");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("failed with status 502").waitFor();
  await page.getByRole("link", { name: "Why it went there" }).waitFor();
  const column = page.locator(".column").first();
  assert.doesNotMatch(await column.locator(".figures").innerText(), /served by/);
  const error = await column.locator(".answer").textContent();
  assert.ok(error.includes("[U+202E]") && !error.includes("\u202e"), error);
  await context.close();
});

test("an image, tools and a schema reach the target in every dialect", async () => {
  const { page, close } = await opened();
  const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  await page.evaluate((data) => {
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], "pixel.png", { type: "image/png" }));
    const event = new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true, cancelable: true });
    document.getElementById("prompt").dispatchEvent(event);
  }, PIXEL);
  const remove = page.getByRole("button", { name: /^Remove image/ });
  await remove.first().waitFor();
  await page.evaluate((data) => {
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], "dropped.png", { type: "image/png" }));
    transfer.items.add(new File(["text"], "notes.txt", { type: "text/plain" }));
    const event = new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true });
    document.getElementById("prompt").dispatchEvent(event);
    return event.defaultPrevented;
  }, PIXEL);
  await remove.nth(1).waitFor();
  await screenshot(page, "light-playground-images");
  await remove.nth(1).click();
  assert.equal(await remove.count(), 1, "only images are taken, and each can be removed");
  await page.getByText("System prompt, tools, schema").click();
  await page.getByLabel("System prompt").fill("Be brief.");
  await page.getByLabel("Tools").fill('[{"name":"weather","description":"The weather","parameters":{"type":"object"}}]');
  for (const dialect of ["chat", "responses", "messages", "gemini", "ollama"]) {
    await page.getByLabel("Dialect").selectOption(dialect);
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator(".column").first().getByText("complete").waitFor();
    assert.equal(await page.locator(".answer").first().innerText(), "hello", dialect);
    const { body } = up.served.at(-1);
    const text = JSON.stringify(body);
    assert.ok(text.includes(PIXEL.slice(0, 40)), `${dialect}: an image in ${text}`);
    assert.equal(body.tools[0].function.name, "weather", dialect);
    assert.equal(body.messages[0].content, "Be brief.", dialect);
    await page.locator(".figures", { hasText: "served by" }).first().waitFor();
  }
  await page.getByLabel("Tools").fill("");
  await page.getByLabel("JSON schema").fill('{"type":"object","properties":{"a":{"type":"string"}}}');
  for (const dialect of ["chat", "responses", "messages", "gemini", "ollama"]) {
    await page.getByLabel("Dialect").selectOption(dialect);
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator(".figures", { hasText: "out" }).first().waitFor();
    assert.match(JSON.stringify(up.served.at(-1).body.response_format), /properties/, dialect);
  }
  await close();
});

test("the code that is offered runs", { skip: SDKS ? false : "the SDKs are not installed" }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "majordomo-code-"));
  await symlink(join(SDKS, "node", "node_modules"), join(folder, "node_modules"));
  const env = { ...process.env, MAJORDOMO_KEY: KEY };
  const commands = {
    curl: async (code) => (await execute("sh", ["-c", code], { env })).stdout,
    python: async (code) => (await execute(join(SDKS, "python", "bin", "python"), ["-c", code], { env })).stdout,
    typescript: async (code) => {
      // Without type annotations, so that every supported Node runs it.
      await writeFile(join(folder, "code.mjs"), code);
      return (await execute("node", ["--no-warnings", join(folder, "code.mjs")], { env })).stdout;
    },
    rust: async (code) => {
      await writeFile(join(folder, "code.rs"), code);
      await execute("rustc", ["--edition", "2024", "-o", join(folder, "code"), join(folder, "code.rs")], { env });
      return (await execute(join(folder, "code"), [], { env })).stdout;
    },
  };
  const { page, close } = await opened();
  await page.getByLabel("Prompt", { exact: true }).fill("It's \"quoted\" \\ and {braced}\nin two lines");
  for (const dialect of ["chat", "responses", "messages", "gemini", "ollama"]) {
    await page.getByLabel("Dialect").selectOption(dialect);
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator(".figures", { hasText: "served by" }).first().waitFor();
    for (const [language, name] of [["curl", "curl"], ["python", "Python"], ["typescript", "TypeScript"], ["rust", "Rust"]]) {
      await page.getByRole("button", { name, exact: true }).click();
      const code = await page.locator("#code-text").textContent();
      assert.ok(!code.includes(KEY), "a key is never part of the code");
      const printed = await commands[language](code);
      assert.match(printed, /hello/, `${language} ${dialect}`);
      const { body } = up.served.at(-1);
      assert.match(JSON.stringify(body.messages), /It's \\"quoted\\" \\\\ and \{braced\}\\nin two lines/, `${language} ${dialect}`);
    }
  }
  await rm(folder, { recursive: true, force: true });
  await close();
});

test("the playground fits 320 pixels and dark, and an answer can be stopped", async () => {
  for (const [name, options] of [
    ["dark", { colorScheme: "dark" }],
    ["narrow", { viewport: { width: 320, height: 700 } }],
  ]) {
    const { page, close } = await opened(options);
    await page.getByLabel("Spec 1", { exact: true }).fill("up/slow");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.locator(".column").first().getByText("stopped").waitFor();
    await accessible(page, `${name} playground`);
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    assert.ok(overflow <= 0, `${name} is ${overflow} pixels too wide`);
    await screenshot(page, `${name}-playground`);
    await close();
  }
});
