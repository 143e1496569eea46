// The openai SDK asks for images and embeddings through the gateway.

import assert from "node:assert/strict";
import { test } from "node:test";

import OpenAI, { toFile } from "openai";

import { GATEWAY, KEY, PNG, TIMEOUT } from "./constants.mjs";

const client = new OpenAI({ baseURL: `${GATEWAY}/v1`, apiKey: KEY, timeout: TIMEOUT });
const isPng = (text) => Buffer.from(text, "base64").subarray(1, 4).toString() === "PNG";

for (const model of ["chat/painter", "swap/painter", "gemini/painter", "artist", "demo/image"]) {
  test(`${model}: an image is drawn`, async () => {
    const drawn = await client.images.generate({ model, prompt: "a pear", size: "512x512" });
    assert.ok(isPng(drawn.data[0].b64_json));
  });
}

test("a form arrives with its file", async () => {
  const image = await toFile(PNG, "a.png", { type: "image/png" });
  const drawn = await client.images.edit({ model: "chat/painter", prompt: "greener", image });
  assert.equal(drawn.data[0].revised_prompt, `painter edits [${PNG.length}] by greener`);
});

test("an error is the SDK's own", async () => {
  const asked = client.images.generate({ model: "messages/scripted", prompt: "a pear" });
  await assert.rejects(asked, OpenAI.BadRequestError);
});

test("texts are embedded", async () => {
  const found = await client.embeddings.create({ model: "chat/small", input: ["a", "bcd"] });
  assert.deepEqual(found.data.map(({ embedding }) => [...embedding]), [[1, 0.5], [3, 0.5]]);
});
