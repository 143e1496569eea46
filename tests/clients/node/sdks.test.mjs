// Every SDK through the gateway to an upstream of every dialect.

import assert from "node:assert/strict";
import { test } from "node:test";

import { PNG, REFUSED, TEXT, UPSTREAMS, WEATHER } from "./constants.mjs";
import { messages } from "./sdk_anthropic.mjs";
import { gemini } from "./sdk_google.mjs";
import { ollama } from "./sdk_ollama.mjs";
import { chat, responses } from "./sdk_openai.mjs";

const PARIS = { city: "Zoë's \"Paris\"", days: 3 };

for (const sdk of [chat, responses, messages, gemini, ollama]) {
  for (const upstream of UPSTREAMS) {
    const model = `via-${upstream}`;

    for (const stream of [false, true]) {
      const how = `${sdk.name} ${model}, ${stream ? "streamed" : "whole"}`;

      test(`${how}: a text arrives`, async () => {
        const pieces = await sdk.say(model, "hello", null, stream);
        assert.equal(pieces.join(""), TEXT);
        assert.equal(pieces.length > 1, stream);
      });

      test(`${how}: a tool is called and its result is heard`, async () => {
        const prompt = `call ${WEATHER} with ${JSON.stringify(PARIS)}`;
        assert.deepEqual(await sdk.use(model, prompt, "sunny, 21 °C", stream), {
          name: WEATHER,
          arguments: PARIS,
          text: "The tool said: sunny, 21 °C",
        });
      });

      test(`${how}: an image arrives as it was`, async () => {
        const pieces = await sdk.say(model, "look", PNG, stream);
        assert.equal(pieces.join(""), `${TEXT}\nI see image/png, ${PNG.length} bytes.`);
      });

      test(`${how}: an error names the target and the cause`, async () => {
        await assert.rejects(sdk.say(model, "fail with 400", null, stream), (error) => {
          assert.ok(error instanceof sdk.error, `${error}`);
          assert.equal(error.status ?? error.status_code, 400);
          assert.match(error.message, new RegExp(REFUSED));
          assert.match(error.message, new RegExp(`${upstream}/scripted`));
          return true;
        });
      });
    }

    test(`${sdk.name} ${model}: a cut stream is an error and no answer`, async () => {
      const breaking = `${upstream}/breaks-for-${sdk.name.replace(" ", "-")}-in-js`;
      await assert.rejects(sdk.say(breaking, "break off", null, true));
    });
  }
}
