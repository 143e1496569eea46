// The page of a gateway whose operator's listener other machines can reach.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { accessible, launch, open, screenshot } from "./browser.mjs";
import { ask, gateway, upstream } from "./gateway.mjs";

const KEYS = {
  operator: "canary-operator-0123456789abcdef",
  viewer: "canary-viewer-0123456789abcdef",
  client: "canary-client-0123456789abcdef",
  other: "canary-other-0123456789abcdef",
};
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
api_key = "canary-upstream"
[[teams]]
name = "search"
[[teams]]
name = "ads"
[[keys]]
name = "ops"
key = "${KEYS.operator}"
role = "operator"
[[keys]]
name = "ada"
key = "${KEYS.viewer}"
role = "viewer"
team = "search"
[[keys]]
name = "laptop"
key = "${KEYS.client}"
team = "search"
[[keys]]
name = "phone"
key = "${KEYS.other}"
team = "ads"
`);
});

after(async () => {
  await browser?.close();
  await gate?.stop();
  up?.close();
});

async function signIn(page, key) {
  await page.getByLabel("Key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
}

test("a visitor is asked to sign in and returns to the screen that was asked for", async () => {
  const { page, problems, context } = await open(browser);
  await page.goto(`${gate.operator}/targets`);
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await accessible(page, "sign in");
  await screenshot(page, "sign-in");
  await signIn(page, "canary-wrong");
  await page.getByText("This key is unknown.").waitFor();
  await signIn(page, KEYS.client);
  await page.getByText("which may call models and nothing else").waitFor();
  await signIn(page, KEYS.operator);
  await page.waitForURL(`${gate.operator}/targets`);
  await page.getByText("ops").waitFor();
  const [cookie] = await context.cookies();
  assert.equal(cookie.httpOnly, true);
  assert.equal(cookie.sameSite, "Strict");
  await page.getByRole("heading", { name: "Targets" }).waitFor();
  await page.getByRole("link", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.goto(gate.operator);
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  // The statuses 401 and 403 of the two refused keys.
  assert.equal(problems.length, 2, String(problems));
  await context.close();
});

test("an operator changes a target in a session, and a forged change is refused", async () => {
  await (await ask(gate.clients, "up/fine", { key: KEYS.client })).text();
  const { page, context, close } = await open(browser);
  await page.goto(`${gate.operator}/targets`);
  await signIn(page, KEYS.operator);
  const row = page.locator("tr", { hasText: "up/fine" });
  await row.getByRole("button", { name: "Bench" }).click();
  await row.locator(".why", { hasText: "benched by the operator" }).waitFor();
  await row.getByRole("button", { name: "Release" }).click();
  await page.getByText("Released: up/fine.").waitFor();
  const [{ name, value }] = await context.cookies();
  for (const headers of [{}, { origin: gate.operator }, { origin: "http://evil.example" }]) {
    const forged = await fetch(`${gate.operator}/api/targets/up/fine/bench`, {
      method: "POST",
      headers: { cookie: `${name}=${value}`, ...headers },
    });
    assert.equal(forged.status, 403, JSON.stringify(headers));
  }
  await close();
});

test("a viewer sees its own team's requests and changes nothing", async () => {
  await (await ask(gate.clients, "up/ours", { key: KEYS.client })).text();
  await (await ask(gate.clients, "up/theirs", { key: KEYS.other })).text();
  const { page, context } = await open(browser);
  await page.goto(gate.operator);
  await signIn(page, KEYS.viewer);
  await page.getByRole("link", { name: "up/ours" }).waitFor();
  assert.equal(await page.getByText("up/theirs").count(), 0);
  const [{ name, value }] = await context.cookies();
  const session = { cookie: `${name}=${value}` };
  const all = await fetch(`${gate.operator}/api/requests`, {
    headers: { authorization: `Bearer ${KEYS.operator}` },
  });
  const { requests } = await all.json();
  const theirs = requests.find((request) => request.model === "up/theirs");
  const hidden = await fetch(`${gate.operator}/requests/${theirs.id}`, { headers: session });
  assert.equal(hidden.status, 404);
  for (const path of ["/targets", "/routes", "/api/events"]) {
    const refused = await fetch(gate.operator + path, { headers: session });
    assert.equal(refused.status, 403, path);
  }
  await page.goto(`${gate.operator}/targets`);
  await page.getByRole("heading", { name: "Not allowed" }).waitFor();
  await page.getByText("The key `ada` has the role `viewer`").waitFor();
  await context.close();
});

test("no key is ever part of a page", async () => {
  const { page, context } = await open(browser);
  await page.goto(gate.operator);
  await signIn(page, KEYS.operator);
  for (const path of ["/", "/targets", "/routes", "/connect"]) {
    await page.goto(gate.operator + path);
    const html = await page.content();
    for (const key of Object.values(KEYS)) assert.ok(!html.includes(key), `${key} on ${path}`);
    assert.ok(!html.includes("canary-upstream"), path);
  }
  await context.close();
});
