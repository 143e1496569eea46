// The Anthropic SDK.

import Anthropic from "@anthropic-ai/sdk";

import { GATEWAY, KEY, SCHEMA, TIMEOUT, WEATHER } from "./constants.mjs";

const client = new Anthropic({ baseURL: GATEWAY, apiKey: KEY, timeout: TIMEOUT });
const max_tokens = 1000;

export const messages = {
  name: "anthropic",
  error: Anthropic.APIError,

  async say(model, prompt, image, stream) {
    const content = [{ type: "text", text: prompt }];
    if (image) {
      const data = image.toString("base64");
      content.push({ type: "image", source: { type: "base64", media_type: "image/png", data } });
    }
    const request = { model, max_tokens, messages: [{ role: "user", content }] };
    if (!stream) return [(await client.messages.create(request)).content[0].text];
    const pieces = [];
    await client.messages
      .stream(request)
      .on("text", (text) => pieces.push(text))
      .finalMessage();
    return pieces;
  },

  async use(model, prompt, result, stream) {
    const tools = [{ name: WEATHER, input_schema: SCHEMA }];
    const said = [{ role: "user", content: prompt }];
    const request = { model, max_tokens, messages: said, tools };
    const answer = stream
      ? await client.messages.stream(request).finalMessage()
      : await client.messages.create(request);
    const call = answer.content.find((block) => block.type === "tool_use");
    said.push(
      { role: "assistant", content: answer.content },
      { role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: result }] },
    );
    const final = await client.messages.create(request);
    return { name: call.name, arguments: call.input, text: final.content[0].text };
  },
};
