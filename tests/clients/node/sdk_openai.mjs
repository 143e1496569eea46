// The openai SDK: both of its APIs.

import assert from "node:assert/strict";

import OpenAI from "openai";

import { GATEWAY, KEY, SCHEMA, TIMEOUT, WEATHER } from "./constants.mjs";

const client = new OpenAI({ baseURL: `${GATEWAY}/v1`, apiKey: KEY, timeout: TIMEOUT });
const dataUrl = (image) => `data:image/png;base64,${image.toString("base64")}`;

export const chat = {
  name: "openai chat",
  error: OpenAI.APIError,

  async say(model, prompt, image, stream) {
    const content = [{ type: "text", text: prompt }];
    if (image) content.push({ type: "image_url", image_url: { url: dataUrl(image) } });
    const request = { model, messages: [{ role: "user", content }] };
    if (!stream) {
      const answer = await client.chat.completions.create(request);
      return [answer.choices[0].message.content];
    }
    const pieces = [];
    const chunks = await client.chat.completions.create({ ...request, stream: true });
    let finish;
    for await (const { choices } of chunks) {
      if (choices[0]?.delta.content) pieces.push(choices[0].delta.content);
      finish = choices[0]?.finish_reason ?? finish;
    }
    assert.equal(finish, "stop");
    return pieces;
  },

  async use(model, prompt, result, stream) {
    const tools = [{ type: "function", function: { name: WEATHER, parameters: SCHEMA } }];
    const messages = [{ role: "user", content: prompt }];
    const request = { model, messages, tools };
    const answer = stream
      ? await client.chat.completions.stream(request).finalChatCompletion()
      : await client.chat.completions.create(request);
    const { message } = answer.choices[0];
    const [call] = message.tool_calls;
    messages.push(message, { role: "tool", tool_call_id: call.id, content: result });
    const final = await client.chat.completions.create(request);
    const { name, arguments: written } = call.function;
    return { name, arguments: JSON.parse(written), text: final.choices[0].message.content };
  },
};

export const responses = {
  name: "openai responses",
  error: OpenAI.APIError,

  async say(model, prompt, image, stream) {
    const content = [{ type: "input_text", text: prompt }];
    if (image) content.push({ type: "input_image", image_url: dataUrl(image), detail: "auto" });
    const request = { model, input: [{ role: "user", content }] };
    if (!stream) return [(await client.responses.create(request)).output_text];
    const pieces = [];
    let last;
    for await (const event of await client.responses.create({ ...request, stream: true })) {
      if (event.type === "response.output_text.delta") pieces.push(event.delta);
      last = event.type;
    }
    assert.equal(last, "response.completed");
    return pieces;
  },

  async use(model, prompt, result, stream) {
    const tools = [{ type: "function", name: WEATHER, parameters: SCHEMA, strict: null }];
    const input = [{ role: "user", content: prompt }];
    const request = { model, input, tools };
    const answer = stream
      ? await client.responses.stream(request).finalResponse()
      : await client.responses.create(request);
    const call = answer.output.find((item) => item.type === "function_call");
    const output = { type: "function_call_output", call_id: call.call_id, output: result };
    input.push(...answer.output, output);
    const final = await client.responses.create(request);
    return { name: call.name, arguments: JSON.parse(call.arguments), text: final.output_text };
  },
};
