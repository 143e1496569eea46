// Usage: the page, the command and the upstream's own count agree to the nanodollar.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { accessible, launch, open, screenshot } from "./browser.mjs";
import { ask, gateway, upstream } from "./gateway.mjs";

const LAPTOP = "canary-laptop-0123456789abcdef";
const PHONE = "canary-phone-0123456789abcdef";
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
[prices."up/fine"]
input = "0.27"
output = "1.1"
cache_read = "0.07"
[prices."up/dear"]
input = "3"
output = "15.003"
[[teams]]
name = "search"
budget = { month = "50 USD" }
[[keys]]
name = "laptop"
key = "${LAPTOP}"
team = "search"
budget = { day = "0.05 USD" }
[[keys]]
name = "phone"
key = "${PHONE}"
`);
});

after(async () => {
  await browser?.close();
  await gate?.stop();
  up?.close();
});

/**
 * Asks until it is served: on a busy machine the store of budgets may be too slow for the
 * first request, which is then refused and not charged.
 */
async function served(model, key) {
  for (let tries = 0; tries < 100; tries++) {
    const response = await ask(gate.clients, model, { key });
    const text = await response.text();
    if (response.status === 200) return;
    assert.equal(response.status, 503, text);
  }
  assert.fail(`${model} was never served`);
}

/** Dollars as the page writes them, in nanodollars. */
function nano(text) {
  const [whole, part = ""] = text.replace("$", "").split(".");
  return BigInt(whole) * 1_000_000_000n + BigInt(part.padEnd(9, "0"));
}

test("the page, the command and the upstream agree to the nanodollar", async () => {
  for (const [model, key, times] of [["up/fine", LAPTOP, 3], ["up/dear", PHONE, 2], ["up/unpriced", PHONE, 1]]) {
    for (let sent = 0; sent < times; sent++) {
      await served(model, key);
    }
  }
  // The upstream's own count, in picodollars: rates are dollars per million tokens.
  const rates = { fine: [270_000n, 1_100_000n], dear: [3_000_000n, 15_003_000n] };
  let counted = 0n;
  for (const { model, prompt, completion } of up.served) {
    if (!rates[model]) continue;
    const [input, output] = rates[model];
    counted += (BigInt(prompt) * input + BigInt(completion) * output + 500n) / 1000n;
  }
  assert.ok(counted > 0n);

  const { page, close } = await open(browser);
  await page.goto(`${gate.operator}/usage?by=key`);
  const total = await page.locator("#total-cost").innerText();
  assert.match(total, / \+ unknown$/);
  assert.equal(nano(total.replace(" + unknown", "")), counted);
  const costs = await page.locator("table.usage tbody tr td:nth-child(6)").allInnerTexts();
  const sum = costs.map((cost) => nano(cost.replace(" + unknown", ""))).reduce((a, b) => a + b);
  assert.equal(sum, counted);

  const { stdout } = await promisify(execFile)(
    process.env.MAJORDOMO_BIN ?? "majordomo",
    ["usage", "--by", "key", "--json", "--config", gate.file],
    { env: { ...process.env, XDG_STATE_HOME: gate.folder } },
  );
  assert.equal(BigInt(JSON.parse(stdout).total.cost_nanodollars), counted);

  const csv = await (await fetch(`${gate.operator}/api/usage?by=key&since=7d&format=csv`)).text();
  const [head, ...lines] = csv.trim().split("\n").map((line) => line.split(","));
  const column = head.indexOf("cost_usd");
  assert.equal(lines.map((line) => nano(line[column])).reduce((a, b) => a + b), counted);
  await close();
});

test("usage is grouped, ranged and downloaded; unknown prices are listed", async () => {
  const { page, close } = await open(browser);
  await page.goto(gate.operator);
  await page.getByRole("link", { name: "Usage" }).click();
  await page.getByRole("rowheader", { name: "up/dear" }).waitFor();
  await page.getByText("Prices that are unknown").waitFor();
  assert.match(await page.locator("main").innerText(), /up\/unpriced\s+1 attempt/);
  await page.getByLabel("Group by").selectOption("team");
  await page.getByLabel("then by").selectOption("key");
  await page.getByLabel("Range").selectOption("24h");
  await page.getByRole("button", { name: "Show" }).click();
  await page.waitForURL(/by=team&then=key&since=24h/);
  await page.getByRole("rowheader", { name: "search" }).waitFor();
  await page.getByRole("cell", { name: "laptop", exact: true }).waitFor();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "CSV" }).click(),
  ]);
  assert.equal(download.suggestedFilename(), "usage.csv");
  await close();
});

test("a budget shows what is left of it, and the screen is accessible in every form", async () => {
  for (const [name, options] of [
    ["light", {}],
    ["dark", { colorScheme: "dark" }],
    ["narrow", { viewport: { width: 320, height: 700 } }],
    ["plain", { javaScriptEnabled: false }],
  ]) {
    const { page, close } = await open(browser, options);
    await page.goto(`${gate.operator}/usage?by=model`);
    const card = page.locator("article.budget", { hasText: "laptop" });
    assert.match(await card.innerText(), /\$0\.04\d+ left of \$0\.05/);
    if (name !== "plain") await accessible(page, `${name} usage`);
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    ).catch(() => 0);
    assert.ok(overflow <= 0, `${name} is ${overflow} pixels too wide`);
    await screenshot(page, `${name}-usage`);
    await close();
  }
});
