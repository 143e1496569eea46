// Capture: images before and after for each target, and sending a request again.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { crc32, deflateSync } from "node:zlib";

import { accessible, launch, open, screenshot } from "./browser.mjs";
import { ask, gateway, upstream } from "./gateway.mjs";

const KEY = "canary-laptop-0123456789abcdef";
let browser, up, gate;

before(async () => {
  [browser, up] = await Promise.all([launch(), upstream()]);
  gate = await gateway(`
version = 1
[server]
listen = "127.0.0.1:0"
operator_listen = "127.0.0.1:0"
[capture]
size = "1MiB"
[providers.up]
kind = "openai"
base_url = "${up.url}"
api_key = "canary-upstream"
[providers.up.models.small]
images = { max_px = 64 }
[providers.up.models.large]
images = { max_px = 4096 }
[providers.up.models.blind]
images = false
describe = "up/eyes"
[[keys]]
name = "laptop"
key = "${KEY}"
capture = true
[[keys]]
name = "phone"
key = "canary-phone-0123456789abcdef"
`);
});

after(async () => {
  await browser?.close();
  await gate?.stop();
  up?.close();
});

/** A PNG of one colour. */
function png(width, height) {
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const ends = Buffer.alloc(8);
    ends.writeUInt32BE(data.length, 0);
    ends.writeUInt32BE(crc32(body), 4);
    return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2], 8);
  const row = Buffer.concat([Buffer.from([0]), Buffer.alloc(width * 3, 0x80)]);
  const data = deflateSync(Buffer.concat(Array.from({ length: height }, () => row)));
  const magic = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([magic, chunk("IHDR", head), chunk("IDAT", data), chunk("IEND", Buffer.alloc(0))]);
}

/** Sends an image; returns the id of the request. */
async function look(key, spec = "up/small,up/large") {
  const url = `data:image/png;base64,${png(200, 100).toString("base64")}`;
  const content = [{ type: "text", text: "What is this?" }, { type: "image_url", image_url: { url } }];
  const response = await ask(gate.clients, spec, { key, content });
  assert.equal(response.status, 200, await response.text());
  return response.headers.get("x-majordomo-request-id");
}

test("a captured request shows its images before and after, and is sent again", async () => {
  const id = await look(KEY);
  for (const [name, options] of [
    ["light", {}],
    ["dark", { colorScheme: "dark" }],
    ["narrow", { viewport: { width: 320, height: 700 } }],
  ]) {
    const { page, close } = await open(browser, options);
    await page.goto(`${gate.operator}/requests/${id}`);
    await page.getByText("capture is on for some keys").waitFor();
    const pictures = page.locator("#pictures");
    assert.match(await pictures.innerText(), /200 × 100[\s\S]*for up\/small[\s\S]*64 × 32[\s\S]*tokens[\s\S]*for up\/large[\s\S]*200 × 100/);
    for (const image of await pictures.locator("img").all()) {
      await image.scrollIntoViewIfNeeded();
      await image.evaluate((img) => img.decode());
    }
    const widths = await pictures.locator("img").evaluateAll((all) => all.map((img) => img.naturalWidth));
    assert.deepEqual(widths, [200, 64, 200]);
    await page.getByLabel("Spec").fill("up/other");
    await page.getByRole("button", { name: "Send again" }).click();
    await page.getByText("up/other: complete").waitFor();
    const answers = await page.locator("#again-answers .answer").allInnerTexts();
    assert.deepEqual(answers, ["hello", "hello"]);
    assert.equal(up.served.at(-1).model, "other");
    assert.match(JSON.stringify(up.served.at(-1).body), /What is this\?/);
    await accessible(page, `${name} captured request`);
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    assert.ok(overflow <= 0, `${name} is ${overflow} pixels too wide`);
    await screenshot(page, `${name}-captured`);
    await close();
  }
});

test("a captured request is explained again, and a request of the page is captured as well", async () => {
  const id = await look(KEY);
  const { page, close } = await open(browser);
  await page.goto(`${gate.operator}/requests/${id}`);
  await page.getByRole("link", { name: "Dry run" }).click();
  assert.match(await page.getByLabel("Request body").inputValue(), /What is this\?/);
  await page.getByRole("button", { name: "Explain" }).click();
  await page.locator("#explanation").getByText("image:1 resized").waitFor();
  const body = { model: "up/small", messages: [{ role: "user", content: "from the page" }] };
  const sent = await fetch(`${gate.operator}/api/playground?path=/v1/chat/completions&key=laptop`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const answer = await sent.text();
  const captured = await fetch(`${gate.operator}/api/captures/${sent.headers.get("x-majordomo-request-id")}`);
  const { body: kept, response } = await captured.json();
  assert.deepEqual(JSON.parse(kept), body);
  assert.deepEqual([response.status, response.text], [200, answer]);
  await close();
});

test("the description that a target received is beside the image", async () => {
  const id = await look(KEY, "up/blind,up/small");
  assert.match(JSON.stringify(up.served.at(-1).body), /\[image: hello\]/);
  const { page, close } = await open(browser);
  await page.goto(`${gate.operator}/requests/${id}`);
  const pictures = page.locator("#pictures");
  const blind = pictures.locator("li", { hasText: "for up/blind" });
  assert.equal(await blind.locator("blockquote").innerText(), "[image: hello]");
  assert.match(await pictures.locator("li", { hasText: "for up/small" }).innerText(), /64 × 32/);
  await accessible(page, "descriptions");
  await screenshot(page, "light-described");
  await close();
});

test("an image is enlarged, and its versions change in place", async () => {
  const id = await look(KEY);
  const { page, close } = await open(browser);
  await page.goto(`${gate.operator}/requests/${id}`);
  await page.getByRole("img", { name: "image 1, as the client sent it" }).click();
  const dialog = page.getByRole("dialog");
  const width = () => dialog.locator("img").evaluate(async (img) => (await img.decode(), img.naturalWidth));
  assert.equal(await width(), 200);
  await accessible(page, "the enlarged image");
  await page.keyboard.press("ArrowRight");
  await dialog.getByText("image 1, for up/small").waitFor();
  assert.equal(await width(), 64);
  await screenshot(page, "light-zoom");
  const shown = () => dialog.locator("img").evaluate((img) => img.getBoundingClientRect().width);
  assert.ok((await shown()) > 300, "it fills its place");
  await dialog.getByRole("button", { name: "100 %" }).click();
  assert.equal(await shown(), 64);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("data-zoom")), "image 1, as the client sent it");
  await close();
});

test("a request of a key that did not opt in is not captured", async () => {
  const id = await look("canary-phone-0123456789abcdef");
  const { page, close } = await open(browser);
  await page.goto(`${gate.operator}/requests/${id}`);
  await page.locator(".story").waitFor();
  assert.equal(await page.locator("#pictures, #again").count(), 0);
  assert.equal((await fetch(`${gate.operator}/api/captures/${id}`)).status, 404);
  await close();
});
