//! Differences between compatible services and OpenAI.
//!
//! A quirk edits the request before it is encoded. An equivalent in the service's
//! own fields is not a loss; anything else is recorded as a change.

use majordomo_llm::{Change, Effort, Json, Native, OutputFormat, Request};
use majordomo_wire::Protocol;

/// Adapts a request to one service.
pub(crate) type Quirk = fn(Request) -> Request;

/// No difference.
pub(crate) fn none(request: Request) -> Request {
    request
}

/// Thinks unless disabled, with three efforts.
pub(crate) fn deepseek(mut request: Request) -> Request {
    if request.prompt().effort == Some(Effort::None) {
        let off = Json::parse(r#"{"type":"disabled"}"#).expect("a JSON object");
        set_service_field(&mut request, "thinking", off);
        request.edit().effort = None;
        return request;
    }
    nearest_effort(request, |effort| match effort {
        Effort::None | Effort::Minimal | Effort::Low => Effort::Low,
        Effort::Medium | Effort::High | Effort::XHigh => Effort::High,
        Effort::Max => Effort::Max,
    })
}

/// Three efforts; thinking cannot be disabled.
pub(crate) fn xai(request: Request) -> Request {
    nearest_effort(request, |effort| match effort {
        Effort::None | Effort::Minimal | Effort::Low => Effort::Low,
        Effort::Medium => Effort::Medium,
        Effort::High | Effort::XHigh | Effort::Max => Effort::High,
    })
}

/// The seed is called `random_seed`.
pub(crate) fn mistral(mut request: Request) -> Request {
    if let Some(seed) = request.prompt().seed {
        let seed = Json::parse(seed.to_string()).expect("a number is JSON");
        set_service_field(&mut request, "random_seed", seed);
        request.edit().seed = None;
    }
    request
}

/// Structured output requires a schema.
pub(crate) fn lmstudio(mut request: Request) -> Request {
    if request.prompt().output == OutputFormat::Json {
        let change = Change::new("output", "dropped");
        request.record_change(change.detail("JSON output requires a schema"));
        request.edit().output = OutputFormat::Text;
    }
    request
}

fn nearest_effort(mut request: Request, nearest: fn(Effort) -> Effort) -> Request {
    let Some(wanted) = request.prompt().effort else {
        return request;
    };
    let effort = nearest(wanted);
    if effort != wanted {
        let text = format!("the nearest is {effort:?}").to_lowercase();
        request.record_change(Change::new("effort", "changed").detail(text));
        request.edit().effort = Some(effort);
    }
    request
}

/// Adds a field that only the service supports. The field of a Chat Completions
/// client takes precedence.
fn set_service_field(request: &mut Request, name: &str, value: Json) {
    let chat = Protocol::Chat.dialect();
    let mut own = match request.edit().native.take() {
        Some(native) if *native.dialect() == chat => native,
        foreign => {
            for (field, _) in foreign.iter().flat_map(|native| native.fields()) {
                request.record_change(
                    Change::new(field, "dropped").detail("specific to another dialect"),
                );
            }
            Box::new(Native::new(chat))
        }
    };
    if own.get(name).is_none() {
        own.push(name, value);
    }
    request.edit().native = Some(own);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The encoded fields and the recorded changes.
    fn encoded(quirk: Quirk, request: Request) -> (String, String) {
        let (request, notes) = request.recording_changes();
        let request = quirk(request);
        let to = majordomo_wire::Outgoing::new("m");
        let body = Protocol::Chat.codec().write_request(&request, &to).body;
        let start = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]"#;
        let body = String::from_utf8_lossy(&body);
        let rest = body.strip_prefix(start).unwrap_or(&body).to_owned();
        let notes: Vec<String> = notes.take().iter().map(ToString::to_string).collect();
        (rest, notes.join(", "))
    }

    fn effort(effort: Effort) -> Request {
        Request::user("hi").effort(effort)
    }

    fn seeded() -> Request {
        let mut request = Request::user("hi");
        request.edit().seed = Some(7);
        request
    }

    fn json() -> Request {
        let mut request = Request::user("hi");
        request.edit().output = OutputFormat::Json;
        request
    }

    #[test]
    fn each_service_gets_its_own_fields() {
        let rows: [(Quirk, Request, &str, &str); 10] = [
            (none, seeded(), r#","seed":7}"#, ""),
            (
                deepseek,
                effort(Effort::None),
                r#","thinking":{"type":"disabled"}}"#,
                "",
            ),
            (
                deepseek,
                effort(Effort::Low),
                r#","reasoning_effort":"low"}"#,
                "",
            ),
            (
                deepseek,
                effort(Effort::Medium),
                r#","reasoning_effort":"high"}"#,
                "effort changed",
            ),
            (deepseek, Request::user("hi"), "}", ""),
            (
                xai,
                effort(Effort::None),
                r#","reasoning_effort":"low"}"#,
                "effort changed",
            ),
            (
                xai,
                effort(Effort::Max),
                r#","reasoning_effort":"high"}"#,
                "effort changed",
            ),
            (mistral, seeded(), r#","random_seed":7}"#, ""),
            (lmstudio, json(), "}", "output dropped"),
            (lmstudio, Request::user("hi"), "}", ""),
        ];
        for (quirk, request, expected, notes) in rows {
            let (rest, noted) = encoded(quirk, request);
            assert_eq!((&*rest, &*noted), (expected, notes));
        }
    }

    #[test]
    fn dropped_fields_of_another_dialect_are_recorded() {
        let mut request = seeded();
        let messages = Protocol::Messages.dialect();
        let native = Native::new(messages).with("speed", Json::string("fast"));
        request.edit().native = native.into_option();
        let (rest, notes) = encoded(mistral, request);
        assert_eq!(rest, r#","random_seed":7}"#);
        assert_eq!(notes, "speed dropped");
    }
}
