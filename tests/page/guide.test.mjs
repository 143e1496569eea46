// The pictures of README and guide: the page of a small team's gateway at work.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { launch, open, screenshot } from "./browser.mjs";
import { ask, gateway, upstream } from "./gateway.mjs";

let browser, up, gate;

before(async () => {
  [browser, up] = await Promise.all([launch(), upstream({ broken: "devstral" })]);
  const provider = (/** @type {string} */ name) => `
[providers.${name}]
kind = "openai"
base_url = "${up.url}"
api_key = "canary-upstream"
`;
  gate = await gateway(`
version = 1
[server]
listen = "127.0.0.1:0"
operator_listen = "127.0.0.1:0"
[chain]
retries = 0
${["studio", "cloud"].map(provider).join("")}
[prices."cloud/*"]
input = "0.60"
output = "2.50"
[aliases]
thinking = "studio/qwen3:30b,cloud/kimi-k2.6"
[[routes]]
model = "coder"
services = [ { spec = "studio/devstral" }, { spec = "cloud/kimi-k2.6" } ]
[[routes.smart]]
name = "long prompts"
when = [ { position = "token", op = "ge", value = 500 } ]
services = [ { spec = "cloud/kimi-k2.6" } ]
`);
});

after(async () => {
  await browser?.close();
  await gate?.stop();
  up?.close();
});

test("the guide's pictures show requests that run, fail over and follow a rule", async () => {
  const { page, close } = await open(browser, { viewport: { width: 1280, height: 640 } });
  await page.goto(gate.operator);
  await page.locator('#live[data-state="on"]').waitFor();
  const long = "Explain this function. ".repeat(300);
  for (const [model, options] of [
    ["thinking", { stream: true }],
    ["coder", {}],
    ["studio/qwen3:30b", {}],
    ["coder", { content: long }],
    ["nope/missing", {}],
    ["coder", { stream: true }],
  ]) {
    await (await ask(gate.clients, model, options)).text();
  }
  const answer = ask(gate.clients, "studio/slow");
  const running = page.locator('#feed tr[data-state="running"]');
  await running.filter({ hasText: "studio/slow" }).waitFor();
  // On a busy machine the feed is a little behind: the others have ended.
  await running.filter({ hasNotText: "studio/slow" }).first().waitFor({ state: "detached" });
  // The figures follow within seconds, and the newest request is the first.
  await page.locator("#last-hour figure", { hasText: "Requests" }).getByText("6", { exact: true }).waitFor();
  await page.getByText("7 requests", { exact: true }).waitFor();
  const times = await page.locator("#feed tbody time").evaluateAll((all) => all.map((time) => time.dateTime));
  assert.deepEqual(times, times.toSorted().reverse());
  await screenshot(page, "guide-now");
  up.release();
  await (await answer).text();

  await running.first().waitFor({ state: "detached" });
  await page.locator("#feed tbody tr", { hasText: "coder" }).first().getByRole("link").click();
  const story = await page.locator(".story").innerText();
  assert.match(story, /asked for the route coder/);
  await screenshot(page, "guide-request");

  await page.goto(`${gate.operator}/targets`);
  await page.locator("tr", { hasText: "cloud/kimi-k2.6" }).waitFor();
  await screenshot(page, "guide-targets");
  await close();
});
