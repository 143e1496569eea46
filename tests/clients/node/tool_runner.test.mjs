// The tool runner of @anthropic-ai/sdk, which keeps the conversation in a `thread`.

import assert from "node:assert/strict";
import { test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";

import { GATEWAY, KEY, SCHEMA, TIMEOUT, UPSTREAMS, WEATHER } from "./constants.mjs";

const client = new Anthropic({ baseURL: GATEWAY, apiKey: KEY, timeout: TIMEOUT });
const weather = betaTool({
  name: WEATHER,
  description: "Returns the weather of a city.",
  inputSchema: SCHEMA,
  run: ({ city }) => `sunny in ${city}`,
});

for (const upstream of UPSTREAMS) {
  for (const stream of [false, true]) {
    test(`tool runner via-${upstream}, ${stream ? "streamed" : "whole"}`, async () => {
      const content = `call ${WEATHER} with {"city": "Paris"}`;
      const runner = client.beta.messages.toolRunner({
        model: `via-${upstream}`,
        max_tokens: 1000,
        tools: [weather],
        messages: [{ role: "user", content }],
        stream,
      });
      const message = await runner.runUntilDone();
      assert.equal(message.content[0].text, "The tool said: sunny in Paris");
    });
  }
}
