// The ollama SDK. Its errors have no class that it exports.

import { Ollama } from "ollama";

import { GATEWAY, KEY, SCHEMA, WEATHER } from "./constants.mjs";

const client = new Ollama({ host: GATEWAY, headers: { authorization: `Bearer ${KEY}` } });

async function ask(request, stream) {
  if (!stream) return [await client.chat(request)];
  const parts = [];
  for await (const part of await client.chat({ ...request, stream: true })) parts.push(part);
  return parts;
}

export const ollama = {
  name: "ollama",
  error: Error,

  async say(model, prompt, image, stream) {
    const message = { role: "user", content: prompt };
    if (image) message.images = [image];
    const parts = await ask({ model, messages: [message] }, stream);
    return parts.map((part) => part.message.content).filter(Boolean);
  },

  async use(model, prompt, result, stream) {
    const tools = [{ type: "function", function: { name: WEATHER, parameters: SCHEMA } }];
    const messages = [{ role: "user", content: prompt }];
    const request = { model, messages, tools };
    const parts = await ask(request, stream);
    const { message } = parts.find((part) => part.message.tool_calls);
    const { name, arguments: written } = message.tool_calls[0].function;
    messages.push(message, { role: "tool", tool_name: name, content: result });
    const [final] = await ask(request, false);
    return { name, arguments: written, text: final.message.content };
  },
};
