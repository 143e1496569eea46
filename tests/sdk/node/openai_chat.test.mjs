// Chat Completions, tested with the openai SDK.

import assert from "node:assert/strict";
import { test } from "node:test";

import OpenAI from "openai";

import { CITY_SCHEMA, OSLO, PARIS, PNG, TEXT, WEATHER_SCHEMA } from "./constants.mjs";
import { ERRORS, client } from "./openai_sdk.mjs";

const messages = [{ role: "user", content: "Hello" }];
const tools = [
  { type: "function", function: { name: "get_weather", parameters: WEATHER_SCHEMA } },
  { type: "function", function: { name: "read_clock" } },
];
const response_format = { type: "json_schema", json_schema: { name: "city", schema: CITY_SCHEMA } };

async function heard(request) {
  const answer = await client.chat.completions.create({ model: "heard", ...request });
  return answer.choices[0].message.content.split("\n");
}

function assertUsage(usage) {
  assert.deepEqual([usage.prompt_tokens, usage.completion_tokens, usage.total_tokens], [120, 45, 165]);
  assert.equal(usage.prompt_tokens_details.cached_tokens, 80);
  assert.equal(usage.completion_tokens_details.reasoning_tokens, 12);
}

function assertCalls(calls) {
  assert.deepEqual(
    calls.map((call) => [call.id, call.type, call.function.name, JSON.parse(call.function.arguments)]),
    [
      ["call_paris", "function", "get_weather", PARIS],
      ["call_oslo", "function", "get_weather", OSLO],
      ["call_clock", "function", "read_clock", {}],
    ],
  );
}

test("a text arrives with its usage and its reason", async () => {
  const answer = await client.chat.completions.create({ model: "text", messages });
  assert.deepEqual([answer.id, answer.model], ["answer_1", "text"]);
  assert.equal(answer.choices[0].message.content, TEXT);
  assert.equal(answer.choices[0].finish_reason, "stop");
  assertUsage(answer.usage);
});

test("a streamed text arrives in pieces, with its usage when asked", async () => {
  const stream_options = { include_usage: true };
  const stream = await client.chat.completions.create({ model: "text", messages, stream: true, stream_options });
  const texts = [];
  const reasons = [];
  let usage;
  for await (const chunk of stream) {
    texts.push(...chunk.choices.map((choice) => choice.delta.content).filter(Boolean));
    reasons.push(...chunk.choices.map((choice) => choice.finish_reason).filter(Boolean));
    usage = chunk.usage ?? usage;
  }
  assert.ok(texts.length > 3);
  assert.equal(texts.join(""), TEXT);
  assert.deepEqual(reasons, ["stop"]);
  assertUsage(usage);
});

test("parallel tool calls arrive whole", async () => {
  const answer = await client.chat.completions.create({ model: "tools", messages, tools });
  assert.equal(answer.choices[0].message.content, "Let me look.");
  assertCalls(answer.choices[0].message.tool_calls);
  assert.equal(answer.choices[0].finish_reason, "tool_calls");
});

test("parallel tool calls arrive streamed", async () => {
  const answer = await client.chat.completions.stream({ model: "tools", messages, tools }).finalChatCompletion();
  assert.equal(answer.choices[0].message.content, "Let me look.");
  assertCalls(answer.choices[0].message.tool_calls);
  assert.equal(answer.choices[0].finish_reason, "tool_calls");
});

test("tool calls and their results are heard", async () => {
  const answer = await client.chat.completions.create({ model: "tools", messages, tools });
  const { message } = answer.choices[0];
  const results = message.tool_calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: `result of ${id}` }));
  const lines = await heard({ messages: [...messages, message, ...results] });
  assert.deepEqual(lines, [
    "user text Hello",
    "assistant text Let me look.",
    'assistant call call_paris get_weather {"city":"Paris","days":3}',
    'assistant call call_oslo get_weather {"city":"Zoë\'s \\"Oslo\\"","days":1}',
    "assistant call call_clock read_clock {}",
    "tool result call_paris text result of call_paris",
    "tool result call_oslo text result of call_oslo",
    "tool result call_clock text result of call_clock",
  ]);
});

test("an image arrives", async () => {
  const url = `data:image/png;base64,${PNG.toString("base64")}`;
  const content = [
    { type: "text", text: "What is this?" },
    { type: "image_url", image_url: { url } },
  ];
  const lines = await heard({ messages: [{ role: "user", content }] });
  assert.deepEqual(lines, ["user text What is this?", `user image image/png ${PNG.length} bytes`]);
});

test("structured output is parsed, whole and streamed", async () => {
  const request = { model: "structured", messages, response_format };
  const whole = await client.chat.completions.parse(request);
  assert.deepEqual(whole.choices[0].message.parsed, { city: "Paris", population: 2102650 });
  const streamed = await client.chat.completions.stream(request).finalChatCompletion();
  assert.deepEqual(streamed.choices[0].message.parsed, { city: "Paris", population: 2102650 });
});

test("reasoning arrives and its state comes back", async () => {
  const answer = await client.chat.completions.create({ model: "reasoning", messages });
  const { message } = answer.choices[0];
  assert.deepEqual([message.reasoning_content, message.content], ["Six times seven.", "42"]);
  const [, reasoning, state, text] = await heard({ messages: [...messages, message, ...messages] });
  assert.equal(reasoning, "assistant reasoning Six times seven.");
  assert.match(state, /state-1/);
  assert.equal(text, "assistant text 42");
});

test("a refusal is a refusal, whole and streamed", async () => {
  const whole = await client.chat.completions.create({ model: "refusal", messages });
  assert.equal(whole.choices[0].message.refusal, "I would rather not.");
  const streamed = await client.chat.completions.stream({ model: "refusal", messages }).finalChatCompletion();
  assert.equal(streamed.choices[0].message.refusal, "I would rather not.");
});

for (const [status, kind] of ERRORS) {
  for (const stream of [false, true]) {
    const how = stream ? "a stream" : "a whole answer";
    test(`a ${status} before ${how} is typed`, async () => {
      const asked = client.chat.completions.create({ model: `error-${status}`, messages, stream });
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
  const stream = await client.chat.completions.create({ model: "breaks", messages, stream: true });
  const texts = [];
  await assert.rejects(
    async () => {
      for await (const chunk of stream) texts.push(chunk.choices[0].delta.content ?? "");
    },
    (error) => {
      assert.ok(error instanceof OpenAI.APIError, `${error}`);
      assert.match(error.message, /the model fell over/);
      assert.equal(error.code, "server_error");
      return true;
    },
  );
  assert.equal(texts.join(""), TEXT);
});

test("models are listed", async () => {
  const { data } = await client.models.list();
  assert.ok(data.some((model) => model.id === "text"));
});
