//! Fits the `thinking` object of a Messages client that the contract cannot represent:
//! adaptive thinking without an effort, and disabled thinking with one.

use majordomo_llm::{Change, Effort, Json, Request};
use serde::Deserialize;

use super::claude_model::ThinkingSupport;

/// The effort of adaptive thinking whose client names none.
const DEFAULT_EFFORT: Effort = Effort::High;

/// Replaces an object that the model rejects; any other is kept.
pub(super) fn fit_own_thinking(request: &mut Request, support: ThinkingSupport) {
    let native = request.prompt().native.as_deref();
    let own = native.and_then(|native| native.get("thinking"));
    let Some(kind) = own.and_then(kind_of) else {
        return;
    };
    let (verb, why) = match (&*kind, support) {
        ("adaptive", ThinkingSupport::BudgetOnly) => {
            request.edit().effort.get_or_insert(DEFAULT_EFFORT);
            ("converted", "the model takes no adaptive thinking")
        }
        ("adaptive", ThinkingSupport::Unsupported) => {
            ("dropped", "the model does not support thinking")
        }
        ("disabled", ThinkingSupport::AlwaysOn) => ("dropped", "the model always thinks"),
        _ => return,
    };
    request.record_change(Change::new("thinking", verb).detail(why));
    let prompt = request.edit();
    if let Some(native) = &mut prompt.native {
        native.remove("thinking");
    }
    prompt.native = prompt.native.take().filter(|native| !native.is_empty());
}

fn kind_of(thinking: &Json) -> Option<String> {
    #[derive(Deserialize)]
    struct ThinkingObject {
        #[serde(rename = "type")]
        kind: String,
    }
    let object: Option<ThinkingObject> = thinking.to().ok();
    object.map(|object| object.kind)
}

#[cfg(test)]
mod tests {
    use majordomo_wire::{Outgoing, Protocol};

    use super::super::Anthropic;
    use crate::recipe::Recipe;

    /// What is sent to the model after `max_tokens`, and the changes.
    fn sent(model: &str, fields: &str) -> (String, String) {
        let head = r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":4000"#;
        let body = format!("{head}{fields}}}");
        let codec = Protocol::Messages.codec();
        let incoming = codec.read_request(body.into()).unwrap();
        let (request, changes) = incoming.request.recording_changes();
        let request = Anthropic::default().prepare(request, model);
        let written = codec.write_request(&request, &Outgoing::new("m"));
        let body = String::from_utf8_lossy(&written.body).into_owned();
        let rest = body.strip_prefix(head).expect("the same bytes").to_owned();
        let changes: Vec<String> = changes.take().iter().map(ToString::to_string).collect();
        (rest, changes.join(", "))
    }

    #[test]
    fn thinking_that_a_model_rejects_is_converted_or_dropped() {
        const ADAPTIVE: &str = r#","thinking":{"type":"adaptive","display":"omitted"}"#;
        const BUDGET: &str = r#","thinking":{"type":"enabled","budget_tokens":2000}}"#;
        const OFF: &str = r#","thinking":{"type":"disabled"},"output_config":{"effort":"low"}"#;
        const LOW: &str = r#","thinking":{"type":"adaptive"},"output_config":{"effort":"low"}}"#;
        let rows: [(&str, &str, &str, &str); 5] = [
            (
                "claude-haiku-4-5",
                ADAPTIVE,
                BUDGET,
                "thinking converted, effort rewritten",
            ),
            (
                "claude-3-7-sonnet-20250219",
                ADAPTIVE,
                BUDGET,
                "thinking converted, effort rewritten",
            ),
            (
                "claude-3-5-haiku-20241022",
                ADAPTIVE,
                "}",
                "thinking dropped",
            ),
            ("claude-sonnet-5-5", OFF, LOW, "thinking dropped"),
            ("claude-fable-5", OFF, LOW, "thinking dropped"),
        ];
        for (model, fields, expected, changes) in rows {
            let (rest, listed) = sent(model, fields);
            assert_eq!((&*rest, &*listed), (expected, changes), "{model}");
        }
    }

    #[test]
    fn thinking_that_a_model_takes_is_kept_byte_for_byte() {
        for (model, fields) in [
            ("claude-opus-4-6", r#","thinking":{ "type":"adaptive"}"#),
            ("claude-sonnet-5-5", r#","thinking":{"type": "adaptive"}"#),
            (
                "claude-sonnet-5-5",
                r#","thinking":{"type":"between_tools"}"#,
            ),
            (
                "claude-sonnet-5",
                r#","thinking":{"type":"disabled"},"output_config":{"effort":"low"}"#,
            ),
            ("someone-elses-model", r#","thinking":{"type":"adaptive"}"#),
            ("claude-haiku-4-5", r#","thinking":{"type":7}"#),
        ] {
            let (rest, changes) = sent(model, fields);
            assert_eq!(rest, format!("{fields}}}"), "{model}");
            assert!(changes.is_empty(), "{changes}");
        }
    }
}
