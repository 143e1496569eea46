//! The bodies that cost the most CPU per byte, in every dialect.
//!
//! The served ones stay within the default [`MaxCounts`](crate::config::MaxCounts), so that
//! they are decoded, converted and sent; the refused ones show that a refusal is cheap as
//! well.

/// One repeated element of a request.
pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) path: &'static str,
    /// The status of the response.
    pub(super) status: u16,
    before: &'static str,
    item: &'static str,
    between: &'static str,
    after: &'static str,
    /// The largest number of items.
    most: usize,
}

impl Shape {
    /// A body of about this size: as many items as are allowed, padded if these are
    /// smaller.
    ///
    /// In an item, `§` is its number, `¶` is padded with letters and `␣` with spaces.
    pub(super) fn body(&self, size: usize) -> String {
        let room = size.saturating_sub(self.before.len() + self.after.len());
        // Numbers have up to six digits.
        let digits = 6 * self.item.matches('§').count();
        let length = self.item.len() + digits + self.between.len();
        let count = (room / length).clamp(1, self.most);
        let padding = (room / count).saturating_sub(length);
        let letters = self.item.replace('¶', &"a".repeat(padding));
        let item = letters.replace('␣', &" ".repeat(padding));
        let numbered = item.contains('§');
        let mut body = String::with_capacity(size + 1024);
        body.push_str(self.before);
        for number in 0..count {
            if number > 0 {
                body.push_str(self.between);
            }
            match numbered {
                false => body.push_str(&item),
                true => body.push_str(&item.replace('§', &number.to_string())),
            }
        }
        body.push_str(self.after);
        body
    }
}

/// A shape that is served.
const fn served(
    name: &'static str,
    path: &'static str,
    most: usize,
    [before, item, between, after]: [&'static str; 4],
) -> Shape {
    Shape {
        name,
        path,
        status: 200,
        before,
        item,
        between,
        after,
        most,
    }
}

/// A shape that is refused with this status.
const fn refused(status: u16, shape: Shape) -> Shape {
    Shape { status, ..shape }
}

// Just below the default limits, which leaves a few values for other parts of a body.
const MESSAGES_LIMIT: usize = 20_000;
const PARTS_LIMIT: usize = 99_990;
const TOOLS_LIMIT: usize = 2_000;
const VALUES_LIMIT: usize = 999_900;
const UNLIMITED: usize = usize::MAX;

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";
const MESSAGES: &str = "/v1/messages";
const GEMINI: &str = "/v1beta/models/oa%2Fm:generateContent";
const OLLAMA: &str = "/api/chat";

/// The first target reads everything and sends nothing; the client gets heartbeats.
pub(super) const FAILOVER: Shape = served(
    "messages, Chat to a silent target and then to Gemini, streamed",
    CHAT,
    MESSAGES_LIMIT,
    [
        r#"{"model":"late","stream":true,"messages":["#,
        r#"{"role":"user","content":"a¶"}"#,
        ",",
        "]}",
    ],
);

/// The costliest first.
pub(super) const SERVED: &[Shape] = &[
    served(
        "parts, Gemini to Chat",
        GEMINI,
        PARTS_LIMIT,
        [
            r#"{"contents":[{"role":"user","parts":["#,
            r#"{"text":"a¶"}"#,
            ",",
            "]}]}",
        ],
    ),
    served(
        "items, Responses to Messages",
        RESPONSES,
        MESSAGES_LIMIT,
        [
            r#"{"model":"an/m","input":["#,
            r#"{"role":"user","content":"a¶"}"#,
            ",",
            "]}",
        ],
    ),
    served(
        "messages, Chat to Gemini",
        CHAT,
        MESSAGES_LIMIT,
        [
            r#"{"model":"go/m","messages":["#,
            r#"{"role":"user","content":"a¶"}"#,
            ",",
            "]}",
        ],
    ),
    served(
        "parts of a tool result, Messages to Chat",
        MESSAGES,
        PARTS_LIMIT,
        [
            r#"{"model":"oa/m","max_tokens":9,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":["#,
            r#"{"type":"text","text":"a¶"}"#,
            ",",
            "]}]}]}",
        ],
    ),
    served(
        "messages, Ollama to Messages, streamed",
        OLLAMA,
        MESSAGES_LIMIT,
        [
            r#"{"model":"an/m","stream":true,"messages":["#,
            r#"{"role":"user","content":"a¶"}"#,
            ",",
            "]}",
        ],
    ),
    served(
        "a GIF of one pixel with a long comment, Chat to Messages",
        CHAT,
        UNLIMITED,
        [
            r#"{"model":"an/m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH+"#,
            // One block of a comment.
            "LGFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh",
            "",
            r#"ACwAAAAAAQABAAACAkQBADs="}}]}]}"#,
        ],
    ),
    served(
        "escapes, Chat to Gemini",
        CHAT,
        UNLIMITED,
        [
            r#"{"model":"go/m","messages":[{"role":"user","content":""#,
            r"\u00e9\n",
            "",
            r#""}]}"#,
        ],
    ),
    served(
        "deep and wide values, Chat to Chat",
        CHAT,
        VALUES_LIMIT / 9,
        [
            r#"{"model":"oa/m","messages":[{"role":"user","content":"a"}],"x":[[[[[[[[["#,
            r#"[[[[[[[["¶"]]]]]]]]"#,
            ",",
            "]]]]]]]]]}",
        ],
    ),
    served(
        "tools, Chat to Messages",
        CHAT,
        TOOLS_LIMIT,
        [
            r#"{"model":"an/m","messages":[{"role":"user","content":"a"}],"tools":["#,
            r#"{"type":"function","function":{"name":"f§","description":"¶"}}"#,
            ",",
            "]}",
        ],
    ),
    served(
        "properties of a schema, Chat to Gemini",
        CHAT,
        VALUES_LIMIT / 4,
        [
            r#"{"model":"go/m","messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"#,
            r#""k§":{"type":"string","description":"¶"}"#,
            ",",
            "}}}}]}",
        ],
    ),
    served(
        "unknown option of Ollama's generate, to Chat",
        "/api/generate",
        VALUES_LIMIT,
        [
            r#"{"model":"oa/m","stream":false,"prompt":"a","options":{"odd":["#,
            "0␣",
            ",",
            "]}}",
        ],
    ),
    served(
        "contents, Gemini to Messages, streamed",
        "/v1beta/models/an%2Fm:streamGenerateContent?alt=sse",
        MESSAGES_LIMIT,
        [
            r#"{"contents":["#,
            r#"{"parts":[{"text":"a¶"}]}"#,
            ",",
            "]}",
        ],
    ),
    served(
        "embedding inputs",
        "/v1/embeddings",
        VALUES_LIMIT,
        [r#"{"model":"oa/m","input":["#, r#""a¶""#, ",", "]}"],
    ),
    served(
        "tokens to count",
        "/v1/messages/count_tokens",
        PARTS_LIMIT,
        [
            r#"{"model":"an/m","messages":[{"role":"user","content":["#,
            r#"{"type":"text","text":"a¶"}"#,
            ",",
            "]}]}",
        ],
    ),
    served(
        "unknown values of Ollama's show",
        "/api/show",
        VALUES_LIMIT,
        [r#"{"model":"oa/m","x":["#, "0␣", ",", "]}"],
    ),
];

/// Refused for other reasons than a limit.
pub(super) const REFUSED: &[Shape] = &[
    refused(
        400,
        served(
            "unknown keys",
            CHAT,
            UNLIMITED,
            [
                r#"{"model":"oa/m","messages":[{"role":"user","content":"a"}],"#,
                r#""k§":1"#,
                ",",
                "}",
            ],
        ),
    ),
    refused(
        400,
        served(
            "nesting",
            MESSAGES,
            UNLIMITED,
            [r#"{"model":"an/m","x":"#, "[", "", ""],
        ),
    ),
    refused(
        404,
        served(
            "messages, Chat to an unknown model",
            CHAT,
            MESSAGES_LIMIT,
            [
                r#"{"model":"nobody/nothing","messages":["#,
                r#"{"role":"user","content":"a¶"}"#,
                ",",
                "]}",
            ],
        ),
    ),
];

/// Refused because of a limit in [`MaxCounts`](crate::config::MaxCounts).
pub(super) const OVER_LIMIT: &[Shape] = &[
    refused(
        400,
        served(
            "too many messages",
            CHAT,
            2 * MESSAGES_LIMIT,
            [
                r#"{"model":"go/m","messages":["#,
                r#"{"role":"user","content":"a¶"}"#,
                ",",
                "]}",
            ],
        ),
    ),
    refused(
        400,
        served(
            "too many parts",
            GEMINI,
            2 * PARTS_LIMIT,
            [
                r#"{"contents":[{"role":"user","parts":["#,
                r#"{"text":"a¶"}"#,
                ",",
                "]}]}",
            ],
        ),
    ),
    refused(
        400,
        served(
            "too many tools",
            CHAT,
            2 * TOOLS_LIMIT,
            [
                r#"{"model":"an/m","messages":[{"role":"user","content":"a"}],"tools":["#,
                r#"{"type":"function","function":{"name":"f§","description":"¶"}}"#,
                ",",
                "]}",
            ],
        ),
    ),
    refused(
        400,
        served(
            "too many values",
            MESSAGES,
            UNLIMITED,
            [r#"{"model":"an/m","x":["#, "0", ",", "]}"],
        ),
    ),
];
