// Two turns with Vercel's AI SDK and its default API for OpenAI, Responses. Prints the second.
//
//     node vercel.mjs MODEL FIRST SECOND [STORE]

import { createOpenAI } from "@ai-sdk/openai";
import { generateText } from "ai";

const [name, first, second, store] = process.argv.slice(2);
const model = createOpenAI()(name);
const providerOptions = store && { openai: { store: store === "true" } };

const messages = [{ role: "user", content: first }];
const turn = () => generateText({ model, messages, providerOptions, maxRetries: 0 });
try {
  const { response } = await turn();
  messages.push(...response.messages, { role: "user", content: second });
  console.log((await turn()).text);
} catch (error) {
  console.error(`${error.statusCode}: ${error.message}`);
  process.exit(1);
}
