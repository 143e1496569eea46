//! The shapes of bodies that cost the most CPU per byte, in every dialect.

/// One repeated element of a request.
pub(super) struct BodyShape {
    pub(super) name: &'static str,
    pub(super) path: &'static str,
    before: &'static str,
    item: &'static str,
    between: &'static str,
    after: &'static str,
}

impl BodyShape {
    /// A body of about this size. `§` in an item is its number.
    pub(super) fn body(&self, size: usize) -> String {
        let mut body = String::with_capacity(size + 1024);
        body.push_str(self.before);
        let numbered = self.item.split_once('§');
        let mut number = 0_u32;
        while body.len() + self.item.len() + self.after.len() < size {
            if number > 0 {
                body.push_str(self.between);
            }
            match numbered {
                None => body.push_str(self.item),
                Some(_) => body.push_str(&self.item.replace('§', &number.to_string())),
            }
            number += 1;
        }
        body.push_str(self.after);
        body
    }
}

const fn shape(
    name: &'static str,
    path: &'static str,
    [before, item, between, after]: [&'static str; 4],
) -> BodyShape {
    BodyShape {
        name,
        path,
        before,
        item,
        between,
        after,
    }
}

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";
const MESSAGES: &str = "/v1/messages";
const GEMINI: &str = "/v1beta/models/oa%2Fm:generateContent";
const OLLAMA: &str = "/api/chat";

/// Its first target reads everything and then says nothing; the client is kept.
pub(super) const FAILOVER: BodyShape = shape(
    "tiny messages, Chat to nobody and then to Gemini, streamed",
    CHAT,
    [
        r#"{"model":"late","stream":true,"messages":["#,
        r#"{"role":"user","content":"a"}"#,
        ",",
        "]}",
    ],
);

/// The costliest first.
pub(super) const SHAPES: &[BodyShape] = &[
    shape(
        "tiny parts, Gemini to Chat",
        GEMINI,
        [
            r#"{"contents":[{"role":"user","parts":["#,
            r#"{"text":"a"}"#,
            ",",
            "]}]}",
        ],
    ),
    shape(
        "tiny items, Responses to Messages",
        RESPONSES,
        [
            r#"{"model":"an/m","input":["#,
            r#"{"role":"user","content":"a"}"#,
            ",",
            "]}",
        ],
    ),
    shape(
        "tiny messages, Chat to Gemini",
        CHAT,
        [
            r#"{"model":"go/m","messages":["#,
            r#"{"role":"user","content":"a"}"#,
            ",",
            "]}",
        ],
    ),
    shape(
        "tool results of tiny parts, Messages to Chat",
        MESSAGES,
        [
            r#"{"model":"oa/m","max_tokens":9,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":["#,
            r#"{"type":"text","text":"a"}"#,
            ",",
            "]}]}]}",
        ],
    ),
    shape(
        "tiny messages, Ollama to Messages, streamed",
        OLLAMA,
        [
            r#"{"model":"an/m","stream":true,"messages":["#,
            r#"{"role":"user","content":"a"}"#,
            ",",
            "]}",
        ],
    ),
    shape(
        "an image, Chat to Messages",
        CHAT,
        [
            r#"{"model":"an/m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,"#,
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
            "",
            r#""}}]}]}"#,
        ],
    ),
    shape(
        "escapes, Chat to Gemini",
        CHAT,
        [
            r#"{"model":"go/m","messages":[{"role":"user","content":""#,
            r"\u00e9\n",
            "",
            r#""}]}"#,
        ],
    ),
    shape(
        "deep and wide values, Chat to Chat",
        CHAT,
        [
            r#"{"model":"oa/m","messages":[{"role":"user","content":"a"}],"x":[[[[[[[[["#,
            "[[[[[[[[0]]]]]]]]",
            ",",
            "]]]]]]]]]}",
        ],
    ),
    shape(
        "tools, Chat to Messages",
        CHAT,
        [
            r#"{"model":"an/m","messages":[{"role":"user","content":"a"}],"tools":["#,
            r#"{"type":"function","function":{"name":"f§"}}"#,
            ",",
            "]}",
        ],
    ),
    shape(
        "properties of a schema, Chat to Gemini",
        CHAT,
        [
            r#"{"model":"go/m","messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"#,
            r#""k§":{}"#,
            ",",
            "}}}}]}",
        ],
    ),
    shape(
        "keys that are rejected",
        CHAT,
        [
            r#"{"model":"oa/m","messages":[{"role":"user","content":"a"}],"#,
            r#""k§":1"#,
            ",",
            "}",
        ],
    ),
    shape(
        "nesting that is rejected",
        MESSAGES,
        [r#"{"model":"an/m","x":"#, "[", "", ""],
    ),
    shape(
        "prompts, Chat to an unknown model",
        CHAT,
        [
            r#"{"model":"nobody/nothing","messages":["#,
            r#"{"role":"user","content":"a"}"#,
            ",",
            "]}",
        ],
    ),
    shape(
        "an old conversation, Ollama's generate to Chat",
        "/api/generate",
        [
            r#"{"model":"oa/m","stream":false,"prompt":"a","context":["#,
            "0",
            ",",
            "]}",
        ],
    ),
    shape(
        "tiny contents, Gemini to Messages, streamed",
        "/v1beta/models/an%2Fm:streamGenerateContent?alt=sse",
        [r#"{"contents":["#, r#"{"parts":[{"text":"a"}]}"#, ",", "]}"],
    ),
    shape(
        "inputs of embeddings",
        "/v1/embeddings",
        [r#"{"model":"oa/m","input":["#, r#""a""#, ",", "]}"],
    ),
    shape(
        "tokens to count",
        "/v1/messages/count_tokens",
        [
            r#"{"model":"an/m","messages":[{"role":"user","content":["#,
            r#"{"type":"text","text":"a"}"#,
            ",",
            "]}]}",
        ],
    ),
    shape(
        "a model's name to show",
        "/api/show",
        [r#"{"model":"oa/m","x":["#, "0", ",", "]}"],
    ),
];
