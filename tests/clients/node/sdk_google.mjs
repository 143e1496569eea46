// The Google Gen AI SDK.

import { ApiError, GoogleGenAI } from "@google/genai";

import { GATEWAY, KEY, SCHEMA, TIMEOUT, WEATHER } from "./constants.mjs";

const client = new GoogleGenAI({
  apiKey: KEY,
  httpOptions: { baseUrl: GATEWAY, timeout: TIMEOUT },
});

async function ask(request, stream) {
  if (!stream) return [await client.models.generateContent(request)];
  const chunks = [];
  for await (const chunk of await client.models.generateContentStream(request)) chunks.push(chunk);
  return chunks;
}

export const gemini = {
  name: "google",
  error: ApiError,

  async say(model, prompt, image, stream) {
    const parts = [{ text: prompt }];
    if (image) {
      parts.push({ inlineData: { mimeType: "image/png", data: image.toString("base64") } });
    }
    const chunks = await ask({ model, contents: [{ role: "user", parts }] }, stream);
    return chunks.map((chunk) => chunk.text).filter(Boolean);
  },

  async use(model, prompt, result, stream) {
    const tools = [{ functionDeclarations: [{ name: WEATHER, parametersJsonSchema: SCHEMA }] }];
    const contents = [{ role: "user", parts: [{ text: prompt }] }];
    const request = { model, contents, config: { tools } };
    const chunks = await ask(request, stream);
    const parts = chunks.flatMap((chunk) => chunk.candidates[0].content?.parts ?? []);
    const { id, name, args } = parts.find((part) => part.functionCall).functionCall;
    const functionResponse = { id, name, response: { output: result } };
    contents.push({ role: "model", parts }, { role: "user", parts: [{ functionResponse }] });
    const [final] = await ask(request, false);
    return { name, arguments: args, text: final.text };
  },
};
