// Keys and teams, and the configuration: what an operator changes, and what only looks so.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";

import { accessible, launch, open, screenshot } from "./browser.mjs";
import { ask, gateway, upstream } from "./gateway.mjs";

const OPERATOR = "canary-operator-0123456789abcdef";
let browser, up, gate;

before(async () => {
  [browser, up] = await Promise.all([launch(), upstream()]);
  gate = await gateway(`
version = 1
[server]
listen = "127.0.0.1:0"
operator_listen = "0.0.0.0:0"
[providers.up]
kind = "openai"
base_url = "${up.url}"
api_key = "canary-upstream-key"
[prices."up/*"]
input = "1"
output = "10"
[[routes]]
model = "coder"
services = [ { spec = "up/fine" } ]
[[keys]]
name = "ops"
key = "${OPERATOR}"
role = "operator"
`);
});

after(async () => {
  await browser?.close();
  await gate?.stop();
  up?.close();
});

async function signedIn(path, options = {}) {
  const opened = await open(browser, options);
  await opened.page.goto(gate.operator + path);
  await opened.page.getByLabel("Key").fill(OPERATOR);
  await opened.page.getByRole("button", { name: "Sign in" }).click();
  await opened.page.waitForURL(gate.operator + path);
  return opened;
}

/** The status of a request with a key. */
async function status(key) {
  return (await ask(gate.clients, "coder", { key })).status;
}

test("a key is created, shown once, limited, frozen, rotated and deleted", async () => {
  const { page, close } = await signedIn("/keys");
  await page.getByRole("button", { name: "New team" }).click();
  await page.getByLabel("Name").fill("search");
  await page.getByLabel("Budget per month").fill("50");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("region", { name: "Teams" }).getByText("50 USD per month").waitFor();

  await page.getByRole("button", { name: "New key" }).click();
  await page.getByLabel("Requests per minute").fill("many");
  await page.getByLabel("Name").fill("laptop");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("many is not a whole number.").waitFor();
  await accessible(page, "the form");
  await screenshot(page, "light-keys-form");
  await page.getByLabel("Requests per minute").fill("60");
  await page.getByLabel("Team", { exact: true }).selectOption("search");
  await page.getByLabel("Models").fill("coder, up/*");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("#access-secret[open]").waitFor();
  const secret = await page.locator("#secret-text").innerText();
  assert.match(secret, /^mj-/);
  assert.equal(await status(secret), 200);
  await page.getByRole("button", { name: "I have it" }).click();
  const row = page.locator("table.keys tr", { hasText: "laptop" });
  await row.getByText("60 requests per minute").waitFor();
  assert.ok(!(await page.content()).includes(secret), "it is not shown again");
  assert.match(await row.innerText(), /search[\s\S]*models coder, up\/\*/);

  await row.getByRole("button", { name: "Edit" }).click();
  assert.equal(await page.getByLabel("Models").inputValue(), "coder, up/*");
  await page.getByLabel("Requests per minute").fill("");
  await page.getByLabel("Budget per day").fill("5 USD");
  await page.getByLabel("Budget per week").fill("20");
  await page.getByLabel("Capture of content").selectOption("true");
  await page.getByRole("button", { name: "Save" }).click();
  await row.getByText("5 USD per day").waitFor();
  assert.match(await row.innerText(), /20 USD per week[\s\S]*its requests are captured/);
  await page.getByText("capture is on for some keys").waitFor();
  assert.ok(!(await row.innerText()).includes("requests per minute"));
  assert.match(await row.innerText(), /models coder, up\/\*/);

  await row.getByRole("button", { name: "Freeze", exact: true }).click();
  await row.locator(".badge", { hasText: "frozen" }).waitFor();
  assert.equal(await status(secret), 401);
  await row.getByRole("button", { name: "Unfreeze" }).click();
  await row.locator(".badge", { hasText: "active" }).waitFor();

  await row.getByRole("button", { name: "Rotate" }).click();
  await page.getByText("The old one works for another 24 hours.").waitFor();
  await page.getByRole("button", { name: "Yes" }).click();
  await page.locator("#access-secret[open]").waitFor();
  const second = await page.locator("#secret-text").innerText();
  assert.notEqual(second, secret);
  assert.deepEqual([await status(secret), await status(second)], [200, 200]);
  await page.keyboard.press("Escape");
  await row.getByText("old secret until").waitFor();
  assert.match(await row.innerText(), /\n?2026|20\d\d-\d\d-\d\d \d\d:00/, "its last use is shown");
  await accessible(page, "keys");
  await screenshot(page, "light-keys");

  await row.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Yes" }).click();
  await page.getByText("Done: delete laptop.").waitFor();
  assert.equal(await row.count(), 0);
  assert.equal(await status(second), 401);
  const changes = page.getByRole("region", { name: "Changes, newest first" });
  for (const action of ["key.create", "key.update", "key.freeze", "key.rotate", "key.delete"]) {
    await changes.getByText(action).first().waitFor();
  }
  await close();
});

test("a key of the file is listed and not changed here", async () => {
  const { page, close } = await signedIn("/keys");
  const row = page.locator("table.keys tr", { hasText: "ops" });
  await row.getByText("in the file").waitFor();
  assert.equal(await row.getByRole("button").count(), 0);
  await close();
});

test("a candidate is checked, compared and never written", async () => {
  const { page, close } = await signedIn("/config");
  const before = await readFile(gate.file, "utf8");
  const running = await page.getByRole("region", { name: "The running configuration" }).innerText();
  assert.match(running, /\[providers\.up\]/);
  assert.ok(!running.includes("canary"), running);
  const field = page.getByLabel("Candidate");
  await field.fill('[providers.up]\nkind = "opnai"\n');
  await page.getByRole("button", { name: "Check" }).click();
  await page.getByText("The candidate is not valid.").waitFor();
  await page.getByRole("button", { name: /line 2, column \d+/ }).click();
  assert.equal(await field.evaluate((area) => area.value.slice(0, area.selectionStart).split("\n").length), 2);
  const candidate = before.replace('model = "coder"', 'model = "writer"').replace("canary-upstream-key", "canary-other-key");
  await field.fill(candidate);
  await page.getByRole("button", { name: "Check" }).click();
  await page.getByText("The candidate is valid.").waitFor();
  const report = await page.locator("#candidate-report").innerText();
  for (const line of ["added: [routes] writer", "removed: [routes] coder", "changed: [providers] up"]) {
    assert.ok(report.includes(line), report);
  }
  assert.ok(!report.includes("canary"), report);
  await accessible(page, "configuration");
  await screenshot(page, "light-config");
  await field.fill(candidate.replace('operator_listen = "0.0.0.0:0"', 'operator_listen = "0.0.0.0:4999"'));
  await page.getByRole("button", { name: "Check" }).click();
  await page.getByText("restart majordomo to apply it").waitFor();
  assert.equal(await readFile(gate.file, "utf8"), before);
  assert.equal(await status(OPERATOR), 200, "the old route is still there");
  await close();
});

test("keys and configuration fit 320 pixels and dark, and read without scripts", async () => {
  for (const path of ["/keys", "/config"]) {
    for (const [name, options] of [
      ["dark", { colorScheme: "dark" }],
      ["narrow", { viewport: { width: 320, height: 700 } }],
      ["plain", { javaScriptEnabled: false }],
    ]) {
      const { page, close } = await signedIn(path, options);
      if (name !== "plain") await accessible(page, `${name} ${path}`);
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      assert.ok(overflow <= 0, `${name} ${path} is ${overflow} pixels too wide`);
      await screenshot(page, `${name}${path.replaceAll("/", "-")}`);
      await close();
    }
  }
});
