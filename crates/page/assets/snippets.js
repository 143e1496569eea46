// Code that sends what the playground sent.

/** @param {string} text A string of Python, TypeScript or JSON. */
const quoted = (text) => JSON.stringify(text);

/**
 * A JSON value as Python.
 * @param {any} value
 * @param {string} indent
 * @returns {string}
 */
function python(value, indent = "") {
  const inner = `${indent}    `;
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) {
    return value.length ? `[\n${value.map((item) => `${inner}${python(item, inner)},\n`).join("")}${indent}]` : "[]";
  }
  if (typeof value === "object") {
    const fields = Object.entries(value).map(([name, item]) => `${inner}${quoted(name)}: ${python(item, inner)},\n`);
    return fields.length ? `{\n${fields.join("")}${indent}}` : "{}";
  }
  return JSON.stringify(value);
}

/** @param {Record<string, any>} body Without the stream: the code prints whole answers. */
function whole(body) {
  const { stream, ...rest } = body;
  return stream === undefined ? rest : { ...rest, stream: false };
}

/** @param {string} path */
const wholePath = (path) => path.replace(":streamGenerateContent?alt=sse", ":generateContent");

/** @param {string} text */
const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * @typedef {object} Sent
 * @property {string} dialect
 * @property {string} base
 * @property {string} path
 * @property {Record<string, any>} body
 * @property {boolean} keys Whether clients need one.
 */

/** @type {Record<string, (sent: Sent) => string>} */
const LANGUAGES = {
  curl: ({ base, path, body, keys }) =>
    [
      `curl ${shell(base + path)} \\`,
      ...(keys ? ['  -H "authorization: Bearer $MAJORDOMO_KEY" \\'] : []),
      "  -H 'content-type: application/json' \\",
      `  -d ${shell(JSON.stringify(body, null, 2))}`,
    ].join("\n"),

  python: (sent) => {
    const { dialect, base, path, body, keys } = sent;
    const key = keys ? 'os.environ["MAJORDOMO_KEY"]' : '"unused"';
    const { stream, ...rest } = body;
    const call = (/** @type {string} */ name) => `${name}(**${python(rest)})`;
    const head = keys ? "import os\n\n" : "";
    if (dialect === "chat") {
      return `${head}from openai import OpenAI\n\nclient = OpenAI(base_url=${quoted(`${base}/v1`)}, api_key=${key})\nreply = ${call("client.chat.completions.create")}\nprint(reply.choices[0].message.content)`;
    }
    if (dialect === "responses") {
      return `${head}from openai import OpenAI\n\nclient = OpenAI(base_url=${quoted(`${base}/v1`)}, api_key=${key})\nreply = ${call("client.responses.create")}\nprint(reply.output_text)`;
    }
    if (dialect === "messages") {
      return `${head}from anthropic import Anthropic\n\nclient = Anthropic(base_url=${quoted(base)}, api_key=${key})\nreply = ${call("client.messages.create")}\nprint(reply.content[0].text)`;
    }
    const token = keys ? '"authorization": "Bearer " + os.environ["MAJORDOMO_KEY"], ' : "";
    const print = dialect === "gemini" ? 'reply["candidates"][0]["content"]["parts"][0]["text"]' : 'reply["message"]["content"]';
    return `${keys ? "import os\n" : ""}import json\nfrom urllib.request import Request, urlopen\n\nbody = ${python(whole(body))}\nrequest = Request(\n    ${quoted(base + wholePath(path))},\n    data=json.dumps(body).encode(),\n    headers={${token}"content-type": "application/json"},\n)\nreply = json.load(urlopen(request))\nprint(${print})`;
  },

  typescript: ({ dialect, base, path, body, keys }) => {
    const key = keys ? "process.env.MAJORDOMO_KEY" : '"unused"';
    const { stream, ...rest } = body;
    const value = JSON.stringify(rest, null, 2);
    if (dialect === "chat" || dialect === "responses") {
      const [call, print] =
        dialect === "chat"
          ? ["chat.completions.create", "reply.choices[0].message.content"]
          : ["responses.create", "reply.output_text"];
      return `import OpenAI from "openai";\n\nconst client = new OpenAI({ baseURL: ${quoted(`${base}/v1`)}, apiKey: ${key} });\nconst reply = await client.${call}(${value});\nconsole.log(${print});`;
    }
    if (dialect === "messages") {
      return `import Anthropic from "@anthropic-ai/sdk";\n\nconst client = new Anthropic({ baseURL: ${quoted(base)}, apiKey: ${key} });\nconst reply = await client.messages.create(${value});\nconsole.log(reply.content[0].text);`;
    }
    const token = keys ? "authorization: `Bearer ${process.env.MAJORDOMO_KEY}`, " : "";
    const print = dialect === "gemini" ? "reply.candidates[0].content.parts[0].text" : "reply.message.content";
    return `const response = await fetch(${quoted(base + wholePath(path))}, {\n  method: "POST",\n  headers: { ${token}"content-type": "application/json" },\n  body: JSON.stringify(${JSON.stringify(whole(body), null, 2)}),\n});\nconst reply = await response.json();\nconsole.log(${print});`;
  },

  // The standard library only, so that it compiles anywhere.
  rust: ({ base, path, body, keys }) => {
    const { host } = new URL(base);
    const secure = base.startsWith("https:") ? "// For https, use an HTTP client such as reqwest.\n" : "";
    const hashes = "#".repeat(3);
    const text = JSON.stringify(whole(body), null, 2);
    const key = keys ? '    let key = std::env::var("MAJORDOMO_KEY")?;\n' : "";
    const header = keys ? "authorization: Bearer {key}\\r\\n" : "";
    return `${secure}use std::io::{Read, Write};\nuse std::net::TcpStream;\n\nfn main() -> Result<(), Box<dyn std::error::Error>> {\n${key}    let body = r${hashes}"${text}"${hashes};\n    let mut stream = TcpStream::connect(${quoted(host)})?;\n    write!(\n        stream,\n        "POST ${wholePath(path)} HTTP/1.1\\r\\nhost: ${host}\\r\\n${header}content-type: application/json\\r\\ncontent-length: {}\\r\\nconnection: close\\r\\n\\r\\n{body}",\n        body.len(),\n    )?;\n    let mut reply = String::new();\n    stream.read_to_string(&mut reply)?;\n    println!("{reply}");\n    Ok(())\n}`;
  },
};

/**
 * @param {string} language
 * @param {Sent} sent
 */
export function snippet(language, sent) {
  return LANGUAGES[language]?.(sent) ?? "";
}
