// A Chromium whose pages fail the test on console errors and policy violations.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

const modules = process.env.MAJORDOMO_PAGE_MODULES ?? "node_modules";
const require = createRequire(join(modules, "x.js"));
const { chromium } = require("playwright-core");
const shots = process.env.MAJORDOMO_PAGE_SHOTS ?? ".";

export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/** Opens a page; `clean()` asserts that nothing went wrong on it. */
export async function open(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  context.setDefaultTimeout(15000);
  const page = await context.newPage();
  const problems = [];
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(String(error)));
  const clean = () => assert.deepEqual(problems, []);
  const close = async () => {
    clean();
    await context.close();
  };
  return { context, page, clean, close, problems };
}

/** Fails on anything that axe calls serious. */
export async function accessible(page, what) {
  const source = await readFile(require.resolve("axe-core/axe.min.js"), "utf8");
  await page.evaluate(source);
  const { violations } = await page.evaluate(() => window.axe.run());
  const serious = violations.filter((found) => ["serious", "critical"].includes(found.impact));
  const named = serious.map((found) => `${found.id}: ${found.nodes.map((node) => node.html)}`);
  assert.deepEqual(named, [], what);
}

export async function screenshot(page, name) {
  await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
}
