// The five dialects, as the playground writes and reads them.

/**
 * @typedef {object} Prompt
 * @property {string} model
 * @property {string} text
 * @property {string} system
 * @property {{ type: string, data: string }[]} images Media type and base64.
 * @property {{ name: string, description?: string, parameters?: object }[]} tools
 * @property {object | null} schema
 * @property {number} most Longest answer in tokens.
 */

/**
 * @typedef {object} Dialect
 * @property {(prompt: Prompt) => string} path
 * @property {(prompt: Prompt) => Record<string, any>} body
 * @property {(event: any) => string} text What an event of the stream adds to the answer.
 */

/** @param {{ type: string, data: string }} image */
const url = ({ type, data }) => `data:${type};base64,${data}`;

/** @param {Record<string, any>} fields Without those that are not set. */
function set(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/**
 * @param {any[]} list
 * @returns {any[] | undefined}
 */
const some = (list) => (list.length ? list : undefined);

/** @param {unknown} value */
const shown = (value) => (typeof value === "string" ? value : JSON.stringify(value));

/** @type {Record<string, Dialect>} */
export const DIALECTS = {
  chat: {
    path: () => "/v1/chat/completions",
    body: ({ model, text, system, images, tools, schema, most }) =>
      set({
        model,
        stream: true,
        max_tokens: most,
        messages: [
          ...(system ? [{ role: "system", content: system }] : []),
          {
            role: "user",
            content: images.length
              ? [{ type: "text", text }, ...images.map((image) => ({ type: "image_url", image_url: { url: url(image) } }))]
              : text,
          },
        ],
        tools: some(tools.map((tool) => ({ type: "function", function: tool }))),
        response_format: schema ? { type: "json_schema", json_schema: { name: "answer", schema } } : undefined,
      }),
    text: ({ choices }) => {
      const delta = choices?.[0]?.delta ?? choices?.[0]?.message ?? {};
      const calls = (delta.tool_calls ?? []).map((/** @type {any} */ call) => (call.function?.name ? `\n${call.function.name} ` : "") + (call.function?.arguments ?? ""));
      return (delta.content ?? "") + calls.join("");
    },
  },
  responses: {
    path: () => "/v1/responses",
    body: ({ model, text, system, images, tools, schema, most }) =>
      set({
        model,
        stream: true,
        store: false,
        max_output_tokens: most,
        instructions: system || undefined,
        input: [
          {
            role: "user",
            content: [{ type: "input_text", text }, ...images.map((image) => ({ type: "input_image", image_url: url(image) }))],
          },
        ],
        tools: some(tools.map((tool) => ({ type: "function", strict: false, ...tool }))),
        text: schema ? { format: { type: "json_schema", name: "answer", schema } } : undefined,
      }),
    text: ({ type, delta, item }) => {
      if (type === "response.output_item.added" && item?.type === "function_call") return `\n${item.name} `;
      return type === "response.output_text.delta" || type === "response.function_call_arguments.delta" ? delta : "";
    },
  },
  messages: {
    path: () => "/v1/messages",
    body: ({ model, text, system, images, tools, schema, most }) =>
      set({
        model,
        stream: true,
        max_tokens: most,
        system: system || undefined,
        messages: [
          {
            role: "user",
            content: [
              ...images.map(({ type, data }) => ({ type: "image", source: { type: "base64", media_type: type, data } })),
              { type: "text", text },
            ],
          },
        ],
        tools: some(tools.map(({ name, description, parameters }) => set({ name, description, input_schema: parameters ?? { type: "object" } }))),
        output_config: schema ? { format: { type: "json_schema", schema } } : undefined,
      }),
    text: ({ type, delta, content_block: block }) => {
      if (type === "content_block_start" && block?.type === "tool_use") return `\n${block.name} `;
      return type === "content_block_delta" ? delta?.text ?? delta?.partial_json ?? "" : "";
    },
  },
  gemini: {
    path: ({ model }) => `/v1beta/models/${model.split("/").map(encodeURIComponent).join("/")}:streamGenerateContent?alt=sse`,
    body: ({ text, system, images, tools, schema, most }) =>
      set({
        contents: [
          {
            role: "user",
            parts: [{ text }, ...images.map(({ type, data }) => ({ inlineData: { mimeType: type, data } }))],
          },
        ],
        systemInstruction: system ? { parts: [{ text: system }] } : undefined,
        tools: tools.length ? [{ functionDeclarations: tools }] : undefined,
        generationConfig: set({
          maxOutputTokens: most,
          responseMimeType: schema ? "application/json" : undefined,
          responseJsonSchema: schema ?? undefined,
        }),
      }),
    text: ({ candidates }) => {
      const parts = candidates?.[0]?.content?.parts ?? [];
      return parts
        .map((/** @type {any} */ part) => (part.functionCall ? `\n${part.functionCall.name} ${shown(part.functionCall.args)}` : part.thought ? "" : part.text ?? ""))
        .join("");
    },
  },
  ollama: {
    path: () => "/api/chat",
    body: ({ model, text, system, images, tools, schema, most }) =>
      set({
        model,
        stream: true,
        options: { num_predict: most },
        messages: [
          ...(system ? [{ role: "system", content: system }] : []),
          set({ role: "user", content: text, images: some(images.map(({ data }) => data)) }),
        ],
        tools: some(tools.map((tool) => ({ type: "function", function: tool }))),
        format: schema ?? undefined,
      }),
    text: ({ message }) => {
      const calls = (message?.tool_calls ?? []).map((/** @type {any} */ call) => `\n${call.function?.name} ${shown(call.function?.arguments)}`);
      return (message?.content ?? "") + calls.join("");
    },
  },
};

/**
 * Calls `take` with every event of a stream: server-sent events, lines of JSON, or one value.
 * @param {Response} response
 * @param {(event: any) => void} take
 */
export async function events(response, take) {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return;
  let waiting = "";
  /** @param {string} line */
  const line = (line) => {
    const data = line.startsWith("data:") ? line.slice(5).trim() : line.trim();
    if (!data || data === "[DONE]" || /^(event|id|retry|:)/.test(data)) return;
    try {
      take(JSON.parse(data));
    } catch {
      // A comment, or a part of a value that is no event.
    }
  };
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    waiting += value;
    const lines = waiting.split("\n");
    waiting = lines.pop() ?? "";
    lines.forEach(line);
  }
  line(waiting);
}

/**
 * The text of a whole answer.
 * @param {string} dialect
 * @param {any} answer
 * @returns {string}
 */
export function whole(dialect, answer) {
  const { text } = DIALECTS[dialect];
  if (dialect === "responses") {
    const parts = (answer.output ?? []).flatMap((/** @type {any} */ item) => item.content ?? []);
    return parts.map((/** @type {any} */ part) => part.text ?? "").join("");
  }
  if (dialect === "messages") {
    return (answer.content ?? []).map((/** @type {any} */ part) => part.text ?? "").join("");
  }
  return text(answer);
}
