// Responses, tested with the openai SDK.

import assert from "node:assert/strict";
import { test } from "node:test";

import OpenAI from "openai";

import { CITY_SCHEMA, OSLO, PARIS, PNG, TEXT, WEATHER_SCHEMA } from "./constants.mjs";
import { ERRORS, client } from "./openai_sdk.mjs";

const input = [{ role: "user", content: "Hello" }];
const tools = [
  { type: "function", name: "get_weather", parameters: WEATHER_SCHEMA, strict: null },
  { type: "function", name: "read_clock", parameters: null, strict: null },
];

async function heard(request) {
  const answer = await client.responses.create({ model: "heard", ...request });
  return answer.output_text.split("\n");
}

function assertUsage(usage) {
  assert.deepEqual([usage.input_tokens, usage.output_tokens, usage.total_tokens], [120, 45, 165]);
  assert.equal(usage.input_tokens_details.cached_tokens, 80);
  assert.equal(usage.output_tokens_details.reasoning_tokens, 12);
}

function assertCalls(answer) {
  const [message, ...calls] = answer.output;
  assert.equal(message.content[0].text, "Let me look.");
  assert.deepEqual(
    calls.map((call) => [call.call_id, call.type, call.name, JSON.parse(call.arguments)]),
    [
      ["call_paris", "function_call", "get_weather", PARIS],
      ["call_oslo", "function_call", "get_weather", OSLO],
      ["call_clock", "function_call", "read_clock", {}],
    ],
  );
}

test("a text arrives with its usage and its status", async () => {
  const answer = await client.responses.create({ model: "text", input });
  assert.deepEqual([answer.id, answer.model, answer.status], ["answer_1", "text", "completed"]);
  assert.equal(answer.output_text, TEXT);
  assertUsage(answer.usage);
});

test("a streamed text arrives in pieces, with its usage", async () => {
  const stream = client.responses.stream({ model: "text", input });
  const texts = [];
  stream.on("response.output_text.delta", (event) => texts.push(event.delta));
  const answer = await stream.finalResponse();
  assert.ok(texts.length > 3);
  assert.equal(texts.join(""), TEXT);
  assert.equal(answer.output_text, TEXT);
  assertUsage(answer.usage);
});

test("parallel tool calls arrive whole and streamed", async () => {
  assertCalls(await client.responses.create({ model: "tools", input, tools }));
  assertCalls(await client.responses.stream({ model: "tools", input, tools }).finalResponse());
});

test("tool calls and their results are heard", async () => {
  const answer = await client.responses.create({ model: "tools", input, tools });
  const image_url = `data:image/png;base64,${PNG.toString("base64")}`;
  const results = [
    { type: "function_call_output", call_id: "call_paris", output: "sunny" },
    { type: "function_call_output", call_id: "call_oslo", output: [{ type: "input_image", image_url, detail: "auto" }] },
    { type: "function_call_output", call_id: "call_clock", output: "noon" },
  ];
  const lines = await heard({ input: [...input, ...answer.output, ...results] });
  assert.deepEqual(
    lines.filter((line) => !line.startsWith("assistant state ")),
    [
      "user text Hello",
      "assistant text Let me look.",
      'assistant call call_paris get_weather {"city":"Paris","days":3}',
      'assistant call call_oslo get_weather {"city":"Zoë\'s \\"Oslo\\"","days":1}',
      "assistant call call_clock read_clock {}",
      "tool result call_paris text sunny",
      `tool result call_oslo image image/png ${PNG.length} bytes`,
      "tool result call_clock text noon",
    ],
  );
});

test("an image arrives", async () => {
  const content = [
    { type: "input_text", text: "What is this?" },
    { type: "input_image", image_url: `data:image/png;base64,${PNG.toString("base64")}`, detail: "auto" },
  ];
  const lines = await heard({ input: [{ role: "user", content }] });
  assert.deepEqual(lines, ["user text What is this?", `user image image/png ${PNG.length} bytes`]);
});

test("structured output is parsed", async () => {
  const format = { type: "json_schema", name: "city", schema: CITY_SCHEMA };
  const answer = await client.responses.parse({ model: "structured", input, text: { format } });
  assert.deepEqual(answer.output_parsed, { city: "Paris", population: 2102650 });
});

test("reasoning arrives and its state comes back", async () => {
  const whole = await client.responses.create({ model: "reasoning", input });
  const streamed = await client.responses.stream({ model: "reasoning", input }).finalResponse();
  for (const answer of [whole, streamed]) {
    const [reasoning] = answer.output;
    assert.equal(reasoning.summary[0].text, "Six times seven.");
    assert.equal(reasoning.encrypted_content, "state-1");
    assert.equal(answer.output_text, "42");
  }
  const lines = await heard({ input: [...input, ...whole.output, ...input] });
  assert.equal(lines[1], "assistant reasoning Six times seven.");
  assert.match(lines[2], /encrypted_content="state-1"/);
});

test("a refusal is a refusal, whole and streamed", async () => {
  const whole = await client.responses.create({ model: "refusal", input });
  const streamed = await client.responses.stream({ model: "refusal", input }).finalResponse();
  for (const answer of [whole, streamed]) assert.equal(answer.output[0].content[0].refusal, "I would rather not.");
});

for (const [status, kind] of ERRORS) {
  for (const stream of [false, true]) {
    const how = stream ? "a stream" : "a whole answer";
    test(`a ${status} before ${how} is typed`, async () => {
      const asked = client.responses.create({ model: `error-${status}`, input, stream });
      await assert.rejects(asked, (error) => {
        assert.ok(error instanceof kind, `${error}`);
        assert.equal(error.status, status);
        assert.match(error.message, new RegExp(`this is what ${status} looks like`));
        assert.equal(error.headers.get("retry-after"), status === 429 ? "7" : null);
        return true;
      });
    });
  }
}

test("an error in the middle of a stream raises", async () => {
  const stream = await client.responses.create({ model: "breaks", input, stream: true });
  const texts = [];
  await assert.rejects(
    async () => {
      for await (const event of stream) {
        if (event.type === "response.output_text.delta") texts.push(event.delta);
      }
    },
    (error) => error instanceof OpenAI.APIError && /the model fell over/.test(error.message),
  );
  assert.equal(texts.join(""), TEXT);
});

test("tokens are counted", async () => {
  const counted = await client.responses.inputTokens.count({ model: "text", input });
  assert.equal(counted.input_tokens, 123);
});
