// The page of a gateway without keys, on loopback.

import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, test } from "node:test";

import { accessible, launch, open, screenshot } from "./browser.mjs";
import { ask, gateway, upstream } from "./gateway.mjs";

const SCREENS = ["/", "/targets", "/routes", "/connect"];
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
[providers.demo]
kind = "demo"
[aliases]
best = "up/broken,up/fine"
[[routes]]
model = "coder"
services = [ { spec = "up/broken" }, { spec = "up/fine" } ]
[[routes.smart]]
name = "long prompts"
when = [ { position = "token", op = "ge", value = 500 } ]
services = [ { spec = "up/hostile" } ]
`);
});

after(async () => {
  await browser?.close();
  await gate?.stop();
  up?.close();
});

test("a newcomer sends a first request with the button and sees why it went there", async () => {
  const { page, close } = await open(browser);
  await page.goto(gate.operator);
  await page.getByText("No requests yet").waitFor();
  await screenshot(page, "now-empty");
  await page.getByRole("button", { name: /^Ask coder/ }).click();
  const row = page.locator("#feed tbody tr");
  await row.first().waitFor();
  await page.locator("#feed .badge.complete").waitFor();
  await row.first().getByRole("link").click();
  await page.getByText("The client asked for the route coder.").waitFor();
  const story = await page.locator(".story").innerText();
  assert.match(story, /up\/broken failed: temporary failure \(500\)\./);
  assert.match(story, /up\/fine served it\./);
  await accessible(page, "request");
  await screenshot(page, "request");
  await close();
});

test("without any configuration of models the first request is seen while it runs", async () => {
  const plain = await gateway(`
version = 1
[server]
listen = "127.0.0.1:0"
operator_listen = "127.0.0.1:0"
[providers.demo]
kind = "demo"
`);
  const { page, close } = await open(browser);
  await page.goto(plain.operator);
  await page.locator('#live[data-state="on"]').waitFor();
  await page.getByRole("button", { name: "Ask demo/slow for a greeting" }).click();
  const row = page.locator("#feed tbody tr");
  for (const phase of ["waiting for tokens", "streaming"]) await row.getByText(phase).waitFor();
  await page.locator('#feed tr[data-state="complete"]').waitFor();
  await row.getByRole("link").click();
  await page.getByText("demo/slow served it.").waitFor();
  await close();
  await plain.stop();
});

test("a running request appears while it runs and changes in place when it ends", async () => {
  const { page, close } = await open(browser);
  await page.goto(gate.operator);
  await page.locator('#live[data-state="on"]').waitFor();
  const answer = ask(gate.clients, "up/slow");
  const running = page.locator('#feed tr[data-state="running"]', { hasText: "up/slow" });
  await running.waitFor();
  assert.match(await running.innerText(), /waiting for tokens[\s\S]*up\/slow/);
  const id = await running.getAttribute("id");
  up.release();
  assert.equal((await answer).status, 200);
  const ended = page.locator(`#${id}[data-state="complete"]`);
  await ended.waitFor();
  assert.match(await ended.innerText(), /1,234 \/ 56/);
  await close();
});

test("the screen of a running request shows its phases and ends with its story", async () => {
  const { page, close } = await open(browser);
  await page.goto(gate.operator);
  await page.locator('#live[data-state="on"]').waitFor();
  const answer = ask(gate.clients, "demo/slow", { stream: true });
  const running = page.locator('#feed tr[data-state="running"]', { hasText: "demo/slow" });
  await running.getByRole("link", { name: "demo/slow" }).click();
  await page.locator("h1 .badge", { hasText: "streaming" }).waitFor();
  await page.locator("h1 .badge", { hasText: "complete" }).waitFor();
  await page.getByText("demo/slow served it.").waitFor();
  await (await answer).text();
  await close();
});

test("a call that the client did not wait for is part of the timeline", async () => {
  const { page, close } = await open(browser);
  await page.goto(gate.operator);
  await page.locator('#live[data-state="on"]').waitFor();
  const leaving = new AbortController();
  const left = ask(gate.clients, "up/slow", { signal: leaving.signal }).catch(() => {});
  await page.locator('#feed tr[data-state="running"]', { hasText: "up/slow" }).waitFor();
  leaving.abort();
  await left;
  const row = page.locator('#feed tr[data-state="gone"]');
  await row.getByRole("link", { name: "up/slow" }).click();
  await page.getByText("The client disconnected before the end.").waitFor();
  await page.locator("table.waterfall tr", { hasText: "up/slow" }).getByText("cancelled").waitFor();
  up.release();
  await close();
});

test("the timeline begins when the request arrives", async () => {
  const body = JSON.stringify({ model: "up/late", messages: [{ role: "user", content: "hello" }] });
  const { port, host } = new URL(gate.clients);
  const socket = connect(Number(port), "127.0.0.1");
  const ended = new Promise((resolve) => socket.on("close", resolve));
  socket.resume();
  await new Promise((resolve) => socket.once("connect", resolve));
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\n`);
  socket.write(`content-length: ${body.length}\r\nconnection: close\r\n\r\n${body.slice(0, 9)}`);
  setTimeout(() => socket.write(body.slice(9)), 300);
  await ended;
  const { requests } = await (await fetch(`${gate.operator}/api/requests`)).json();
  const { attempts, id } = requests.find((request) => request.model === "up/late");
  // The gateway may have read the head a little late.
  assert.ok(attempts[0].at_ms >= 150, `${attempts[0].at_ms} ms`);
  const { page, close } = await open(browser);
  await page.goto(`${gate.operator}/requests/${id}`);
  const steps = await page.locator("table.waterfall tbody td:first-child").allInnerTexts();
  assert.deepEqual(steps, ["arrival", "attempt", "relay"]);
  await close();
});

test("pause holds rows back, and resume shows them", async () => {
  const { page, close } = await open(browser);
  await page.goto(gate.operator);
  await page.locator('#live[data-state="on"]').waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  const before = await page.locator("#feed tbody tr").count();
  await (await ask(gate.clients, "up/paused")).text();
  await page.getByText("paused, 1 new").waitFor();
  assert.equal(await page.locator("#feed tbody tr").count(), before);
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("link", { name: "up/paused" }).waitFor();
  await close();
});

test("a filter is kept in the address and works without scripts too", async () => {
  await (await ask(gate.clients, "up/needle")).text();
  await (await ask(gate.clients, "nope/nothing")).text();
  const { page, close } = await open(browser);
  await page.goto(gate.operator);
  await page.getByLabel("Filter").fill("needle");
  await page.waitForFunction(() => location.search === "?q=needle");
  assert.equal(await page.locator("#feed tbody tr:visible").count(), 1);
  await page.reload();
  assert.equal(await page.locator("#feed tbody tr:visible").count(), 1);
  await page.getByText(/^1 of \d+ requests$/).waitFor();
  // What the filter hid when the page was loaded comes back.
  await page.getByLabel("Filter").fill("");
  assert.equal(await page.locator("#feed tbody tr:visible").count(), await page.locator("#feed tbody tr").count());
  await page.getByLabel("Filter").fill("matches-nothing");
  await page.getByText("No request that is kept matches the filter.").waitFor();
  await close();
  const plain = await open(browser, { javaScriptEnabled: false });
  await plain.page.goto(`${gate.operator}/?state=failed`);
  const states = await plain.page.locator("#feed tbody tr:visible .badge").allInnerTexts();
  assert.ok(states.length > 0 && states.every((text) => text.startsWith("failed")), String(states));
  await plain.close();
});

test("a target is benched, shown as benched, released and probed", async () => {
  const { page, close } = await open(browser);
  await page.goto(`${gate.operator}/targets`);
  const row = page.locator("tr", { hasText: "up/hostile" });
  await row.getByRole("button", { name: "Bench" }).click();
  await page.getByText("up/hostile is benched for 10 minutes.").waitFor();
  await row.locator(".why", { hasText: "benched by the operator" }).waitFor();
  assert.equal(await row.locator(".strip .marked").count(), 1);
  await row.getByRole("button", { name: "Release" }).click();
  await page.getByText("Released: up/hostile.").waitFor();
  await row.getByRole("button", { name: "Probe" }).click();
  await page.getByText("up/hostile responded.").waitFor();
  await close();
});

test("a dry run explains a request without calling a target", async () => {
  const { page, close } = await open(browser);
  await page.goto(`${gate.operator}/routes`);
  await page.getByText("long prompts").waitFor();
  await page.getByRole("button", { name: "Explain" }).click();
  const result = page.locator("#explanation");
  await result.getByText("the route coder").waitFor();
  assert.match(await result.innerText(), /up\/fine/);
  const missing = { model: "demo/none", messages: [{ role: "user", content: "hi" }] };
  await page.getByLabel("Request body").fill(JSON.stringify(missing));
  await page.getByRole("button", { name: "Explain" }).click();
  await result.getByText("there is no model `none`").waitFor();
  await page.getByLabel("Request body").fill("not json");
  await page.getByRole("button", { name: "Explain" }).click();
  await page.getByText("This is not JSON.").waitFor();
  await close();
});

test("only the card of the program whose request arrived turns green", async () => {
  const { page, close } = await open(browser);
  await page.goto(`${gate.operator}/connect`);
  const card = (/** @type {string} */ name) =>
    page.locator("section.card", { has: page.getByRole("heading", { name, exact: true }) });
  const arrived = page.locator(".waiting[data-arrived]");
  await card("Claude Code").getByText("waiting for its first request…").waitFor();
  assert.ok((await card("Claude Code").locator("pre").innerText()).includes(gate.clients));
  const message = (/** @type {string} */ agent) =>
    fetch(`${gate.clients}/v1/messages`, {
      method: "POST",
      headers: { "content-type": "application/json", "anthropic-version": "2023-06-01", "user-agent": agent },
      body: JSON.stringify({ model: "demo/text", max_tokens: 9, messages: [{ role: "user", content: "hi" }] }),
    });
  assert.equal((await message("someones-program/1.0")).status, 200);
  for (const name of ["Claude Code", "Anthropic SDK (Python)"]) {
    await card(name).getByText("from an unknown program").waitFor();
  }
  assert.equal(await arrived.count(), 0);
  assert.equal((await message("claude-cli/2.1.197 (external, cli)")).status, 200);
  await card("Claude Code").getByText("its first request arrived").waitFor();
  assert.equal(await arrived.count(), 1);
  await screenshot(page, "light-connect-arrived");
  await card("Claude Code").getByRole("link", { name: "see where it went" }).click();
  await page.getByText("demo/text served it.").waitFor();
  assert.match(await page.locator(".facts").innerText(), /Client\s+Claude Code/);
  await close();
});

test("what a hostile model or client sends stays text", async () => {
  const { page, close } = await open(browser);
  page.on("dialog", () => assert.fail("a script ran"));
  await page.goto(gate.operator);
  await page.locator('#live[data-state="on"]').waitFor();
  await (await ask(gate.clients, "coder", { content: "word ".repeat(2000) })).text();
  const name = "up/<img src=x onerror=alert(1)>\u202e";
  await (await ask(gate.clients, name)).text();
  const link = page.getByRole("link", { name: "<img src=x" });
  await link.waitFor();
  await link.click();
  await page.locator(".story").waitFor();
  assert.equal(await page.locator("main img").count(), 0);
  await close();
});

test("every screen is accessible in light and dark, and fits 320 pixels", async () => {
  for (const [name, options] of [
    ["light", {}],
    ["dark", { colorScheme: "dark" }],
    ["narrow", { viewport: { width: 320, height: 700 } }],
  ]) {
    const { page, close } = await open(browser, options);
    for (const path of SCREENS) {
      await page.goto(gate.operator + path);
      await accessible(page, `${name} ${path}`);
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      assert.ok(overflow <= 0, `${name} ${path} is ${overflow} pixels too wide`);
      await screenshot(page, `${name}${path.replaceAll("/", "-")}`);
    }
    await close();
  }
});

test("a row that arrives does not lay out ten thousand others", async () => {
  await (await ask(gate.clients, "up/copied")).text();
  const { page, context, close } = await open(browser);
  await page.goto(gate.operator);
  await page.locator('#live[data-state="on"]').waitFor();
  await page.evaluate(async () => {
    const body = document.querySelector("#feed tbody");
    const rows = Array.from({ length: 10000 }, (_, number) => {
      const row = body.rows[0].cloneNode(true);
      row.id = `r-copy-${number}`;
      return row;
    });
    body.append(...rows);
    for (let frames = 0; frames < 3; frames++) await new Promise(requestAnimationFrame);
  });
  const session = await context.newCDPSession(page);
  await session.send("Performance.enable");
  const spent = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    const value = (/** @type {string} */ wanted) => metrics.find(({ name }) => name === wanted).value;
    return { seconds: value("LayoutDuration"), layouts: value("LayoutCount") };
  };
  const before = await spent();
  for (const name of ["up/first", "up/second", "up/third"]) {
    await (await ask(gate.clients, name)).text();
    await page.getByRole("link", { name }).waitFor();
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }
  const after = await spent();
  const each = (after.seconds - before.seconds) / (after.layouts - before.layouts);
  // All rows take several times as long.
  assert.ok(each < 0.06, `${each} seconds for each layout`);
  await close();
});

test("the keyboard reaches the navigation, the filter and a request", async () => {
  const { page, close } = await open(browser);
  await page.goto(gate.operator);
  const seen = new Set();
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press("Tab");
    const focused = await page.evaluate(() => {
      const element = document.activeElement;
      // After the last element the browser's own controls have the focus.
      if (!element || element === document.body) return null;
      return [element.id || element.textContent?.trim(), getComputedStyle(element).outlineStyle];
    });
    if (!focused) break;
    seen.add(focused[0]);
    assert.notEqual(focused[1], "none", `the focus on ${focused[0]} is visible`);
  }
  for (const stop of ["Skip to the content", "Targets", "q", "pause"]) {
    assert.ok(seen.has(stop), `${stop} in ${[...seen].join(", ")}`);
  }
  await page.locator("#feed tbody a").first().focus();
  await page.keyboard.press("Enter");
  await page.locator(".story").waitFor();
  await close();
});

test("a page of another origin can neither read nor change anything", async () => {
  const { page, problems, context } = await open(browser);
  await page.goto(`${gate.clients}/`);
  const outcome = await page.evaluate(async (operator) => {
    const tries = [
      fetch(`${operator}/api/requests`),
      fetch(`${operator}/api/targets/up/fine/bench`, { method: "POST" }),
      fetch(`${operator}/api/try`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: '{"model":"up/fine"}',
      }),
    ];
    const settled = await Promise.allSettled(tries);
    const events = await new Promise((resolve) => {
      const source = new EventSource(`${operator}/api/events`);
      source.onopen = () => resolve("open");
      source.onerror = () => resolve("refused");
    });
    return [...settled.map((it) => it.status), events];
  }, gate.operator);
  assert.deepEqual(outcome, ["rejected", "rejected", "rejected", "refused"]);
  const targets = await (await fetch(`${gate.operator}/api/health`)).json();
  const fine = targets.targets.find((target) => target.target === "up/fine");
  assert.notEqual(fine.state, "benched");
  assert.ok(problems.length > 0, "the browser reports what it refused");
  await context.close();
});

test("a browser without shared workers has a live feed, too", async () => {
  const { page, context, close } = await open(browser);
  await context.addInitScript("delete window.SharedWorker");
  await page.goto(gate.operator);
  await page.locator('#live[data-state="on"]').waitFor();
  await (await ask(gate.clients, "up/alone")).text();
  await page.getByRole("link", { name: "up/alone" }).waitFor();
  await close();
});

test("an address without a screen leads back", async () => {
  const { page, problems, context } = await open(browser);
  for (const [path, heading] of [["/nope", "No such screen"], ["/requests/nope", "No such request"]]) {
    await page.goto(gate.operator + path);
    await page.getByRole("heading", { name: heading }).waitFor();
    await page.getByRole("navigation").getByRole("link", { name: "Targets" }).waitFor();
  }
  // The two statuses.
  assert.equal(problems.length, 2, String(problems));
  await context.close();
});

test("two tabs share one event stream", async () => {
  const { context, page, close } = await open(browser);
  await page.goto(gate.operator);
  await page.locator('#live[data-state="on"]').waitFor();
  const second = await context.newPage();
  await second.goto(gate.operator);
  await second.locator('#live[data-state="on"]').waitFor();
  await (await ask(gate.clients, "up/shared")).text();
  for (const tab of [page, second]) {
    await tab.getByRole("link", { name: "up/shared" }).waitFor();
  }
  await close();
});

test("all assets together take at most 150 kB over the wire", async () => {
  const { context, page, close } = await open(browser);
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  let bytes = 0;
  session.on("Network.loadingFinished", (event) => (bytes += event.encodedDataLength));
  await page.goto(gate.operator, { waitUntil: "load" });
  assert.ok(bytes < 150_000, `${bytes} bytes`);
  await close();
});
