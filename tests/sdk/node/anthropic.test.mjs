// Messages, tested with the Anthropic SDK.

import assert from "node:assert/strict";
import { test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";

import { CITY_SCHEMA, KEY, OSLO, PARIS, PNG, SERVER, TEXT, TIMEOUT, WEATHER_SCHEMA } from "./constants.mjs";

const client = new Anthropic({ baseURL: SERVER, apiKey: KEY, maxRetries: 0, timeout: TIMEOUT });
const messages = [{ role: "user", content: "Hello" }];
const ask = (model, more) => ({ model, max_tokens: 100, messages, ...more });
const tools = [
  { name: "get_weather", input_schema: WEATHER_SCHEMA },
  { name: "read_clock", input_schema: { type: "object" } },
];
const image = { type: "image", source: { type: "base64", media_type: "image/png", data: PNG.toString("base64") } };

async function heard(request) {
  const answer = await client.messages.create(ask("heard", request));
  return answer.content[0].text.split("\n");
}

function assertUsage(usage) {
  assert.deepEqual([usage.input_tokens, usage.output_tokens], [24, 45]);
  assert.deepEqual([usage.cache_read_input_tokens, usage.cache_creation_input_tokens], [80, 16]);
}

function assertCalls(answer) {
  const [text, ...calls] = answer.content;
  assert.equal(text.text, "Let me look.");
  assert.deepEqual(
    calls.map((call) => [call.id, call.type, call.name, call.input]),
    [
      ["call_paris", "tool_use", "get_weather", PARIS],
      ["call_oslo", "tool_use", "get_weather", OSLO],
      ["call_clock", "tool_use", "read_clock", {}],
    ],
  );
  assert.equal(answer.stop_reason, "tool_use");
}

test("a text arrives with its usage and its reason", async () => {
  const answer = await client.messages.create(ask("text"));
  assert.deepEqual([answer.id, answer.model, answer.stop_reason], ["answer_1", "text", "end_turn"]);
  assert.equal(answer.content[0].text, TEXT);
  assertUsage(answer.usage);
});

test("a streamed text arrives in pieces, with its usage", async () => {
  const texts = [];
  const stream = client.messages.stream(ask("text")).on("text", (text) => texts.push(text));
  const answer = await stream.finalMessage();
  assert.ok(texts.length > 3);
  assert.equal(texts.join(""), TEXT);
  assert.equal(answer.content[0].text, TEXT);
  assert.equal(answer.stop_reason, "end_turn");
  assertUsage(answer.usage);
});

test("parallel tool calls arrive whole and streamed", async () => {
  assertCalls(await client.messages.create(ask("tools", { tools })));
  assertCalls(await client.messages.stream(ask("tools", { tools })).finalMessage());
});

test("tool calls and their results are heard", async () => {
  const answer = await client.messages.create(ask("tools", { tools }));
  const results = [
    { type: "tool_result", tool_use_id: "call_paris", content: "sunny" },
    { type: "tool_result", tool_use_id: "call_oslo", content: [image] },
    { type: "tool_result", tool_use_id: "call_clock", content: "no clock", is_error: true },
  ];
  const said = [...messages, { role: "assistant", content: answer.content }, { role: "user", content: results }];
  const lines = await heard({ messages: said });
  assert.deepEqual(lines.slice(0, 2), ["user text Hello", "assistant text Let me look."]);
  assert.match(lines[2], /^assistant call call_paris get_weather /);
  assert.deepEqual(
    lines.slice(5, 8).map((line) => line.slice(line.indexOf(" ") + 1)),
    [
      "result call_paris text sunny",
      `result call_oslo image image/png ${PNG.length} bytes`,
      "error call_clock text no clock",
    ],
  );
});

test("an image arrives", async () => {
  const content = [{ type: "text", text: "What is this?" }, image];
  const lines = await heard({ messages: [{ role: "user", content }] });
  assert.deepEqual(lines.slice(0, 2), ["user text What is this?", `user image image/png ${PNG.length} bytes`]);
});

test("structured output is parsed, whole and streamed", async () => {
  const output_config = { format: { type: "json_schema", schema: CITY_SCHEMA } };
  const whole = await client.messages.create(ask("structured", { output_config }));
  const streamed = await client.messages.stream(ask("structured", { output_config })).finalMessage();
  for (const answer of [whole, streamed]) {
    assert.deepEqual(JSON.parse(answer.content[0].text), { city: "Paris", population: 2102650 });
  }
});

test("reasoning arrives and its state comes back", async () => {
  const whole = await client.messages.create(ask("reasoning"));
  const streamed = await client.messages.stream(ask("reasoning")).finalMessage();
  for (const answer of [whole, streamed]) {
    const [thinking, text] = answer.content;
    assert.deepEqual([thinking.type, thinking.thinking], ["thinking", "Six times seven."]);
    assert.equal(thinking.signature, "state-1");
    assert.equal(text.text, "42");
  }
  const lines = await heard({ messages: [...messages, { role: "assistant", content: streamed.content }, ...messages] });
  assert.equal(lines[1], "assistant reasoning Six times seven.");
  assert.match(lines[2], /signature="state-1"/);
});

test("a refusal is a refusal, whole and streamed", async () => {
  const whole = await client.messages.create(ask("refusal"));
  const streamed = await client.messages.stream(ask("refusal")).finalMessage();
  for (const answer of [whole, streamed]) {
    assert.equal(answer.stop_reason, "refusal");
    assert.equal(answer.stop_details.explanation, "I would rather not.");
  }
});

const ERRORS = [
  [400, Anthropic.BadRequestError, "invalid_request_error"],
  [401, Anthropic.AuthenticationError, "authentication_error"],
  [403, Anthropic.PermissionDeniedError, "permission_error"],
  [404, Anthropic.NotFoundError, "not_found_error"],
  [409, Anthropic.ConflictError, "conflict_error"],
  [413, Anthropic.APIError, "request_too_large"],
  [422, Anthropic.UnprocessableEntityError, "invalid_request_error"],
  [429, Anthropic.RateLimitError, "rate_limit_error"],
  [500, Anthropic.InternalServerError, "api_error"],
  [503, Anthropic.InternalServerError, "overloaded_error"],
  [529, Anthropic.InternalServerError, "overloaded_error"],
];
for (const [status, kind, word] of ERRORS) {
  for (const stream of [false, true]) {
    const how = stream ? "a stream" : "a whole answer";
    test(`a ${status} before ${how} is typed`, async () => {
      const asked = client.messages.create(ask(`error-${status}`, { stream }));
      await assert.rejects(asked, (error) => {
        assert.ok(error instanceof kind, `${error}`);
        assert.equal(error.status, status);
        assert.match(error.message, new RegExp(`this is what ${status} looks like`));
        assert.equal(error.error.error.type, word);
        assert.equal(error.headers.get("retry-after"), status === 429 ? "7" : null);
        return true;
      });
    });
  }
}

test("an error in the middle of a stream raises", async () => {
  const stream = await client.messages.create(ask("breaks", { stream: true }));
  const texts = [];
  await assert.rejects(
    async () => {
      for await (const event of stream) {
        if (event.type === "content_block_delta") texts.push(event.delta.text);
      }
    },
    (error) => error instanceof Anthropic.APIError && /the model fell over/.test(error.message),
  );
  assert.equal(texts.join(""), TEXT);
});

test("models are listed", async () => {
  const ids = [];
  for await (const model of client.models.list()) ids.push(model.id);
  assert.ok(ids.includes("text"));
});

test("tokens are counted", async () => {
  const counted = await client.messages.countTokens({ model: "text", messages });
  assert.equal(counted.input_tokens, 123);
});
