//! Anthropic's Messages.

use ::http::{HeaderMap, HeaderName, HeaderValue};
use majordomo_llm::{
    ByteCount, Capabilities, Change, ImageLimits, ManyImages, Request, Result, ToolChoice,
};
use majordomo_wire::Protocol;
use secrecy::SecretString;

use crate::openai::types;
use crate::recipe::Recipe;
use crate::transport::Credential;

pub(crate) struct Anthropic;

impl Recipe for Anthropic {
    fn protocol(&self) -> Protocol {
        Protocol::Messages
    }

    fn base_url(&self) -> Option<String> {
        Some("https://api.anthropic.com".into())
    }

    fn path(&self, _model: &str, _stream: bool) -> String {
        "/v1/messages".into()
    }

    fn models_path(&self) -> &'static str {
        "/v1/models?limit=1000"
    }

    fn key_variables(&self) -> &'static [&'static str] {
        &["ANTHROPIC_API_KEY"]
    }

    fn credential(&self, key: &SecretString) -> Result<Credential> {
        Credential::header(HeaderName::from_static("x-api-key"), key)
    }

    fn headers(&self) -> HeaderMap {
        let version = HeaderValue::from_static("2023-06-01");
        HeaderMap::from_iter([(HeaderName::from_static("anthropic-version"), version)])
    }

    fn capabilities(&self, _model: &str) -> Capabilities {
        let images = ImageLimits {
            max_count: Some(100),
            max_bytes: Some(10 << 20),
            counted: ByteCount::Base64,
            max_total_bytes: Some(30 << 20),
            max_px: Some(8_000),
            many: Some(ManyImages {
                above: 20,
                max_px: 2_000,
            }),
            types: types(&["image/jpeg", "image/png", "image/gif", "image/webp"]),
            animations: Some(true),
            ..ImageLimits::default()
        };
        Capabilities {
            images: Some(images),
            ..Capabilities::default()
        }
    }

    /// The newest models refuse forced tools and sampling knobs; older ones take
    /// both, so an unknown id is left as it is.
    fn prepare(&self, mut request: Request, model: &str) -> Request {
        let forced = matches!(
            request.tool_choice,
            ToolChoice::Required | ToolChoice::Named(_)
        );
        if forced && refuses_forced_tools(model) {
            request.note(Change::new("tool_choice", "relaxed").detail("the model takes only auto"));
            request.edit().tool_choice = ToolChoice::Auto;
        }
        if refuses_sampling(model) {
            drop_sampling(&mut request);
        }
        request
    }
}

/// Opus and Sonnet 5.5, Fable and Mythos from 5.1 on.
fn refuses_forced_tools(model: &str) -> bool {
    let at_least = |family, version| version_of(model, family).is_some_and(|v| v >= version);
    at_least("opus", (5, 5))
        || at_least("sonnet", (5, 5))
        || at_least("fable", (5, 1))
        || at_least("mythos", (5, 1))
}

/// Everything after Opus 4.6, Sonnet 4.6 and Haiku 4.5.
fn refuses_sampling(model: &str) -> bool {
    let newer = |family, version| version_of(model, family).is_some_and(|v| v > version);
    newer("opus", (4, 6))
        || newer("sonnet", (4, 6))
        || newer("haiku", (4, 5))
        || version_of(model, "fable").is_some()
        || version_of(model, "mythos").is_some()
}

/// The version in `claude-opus-5-5`; a date behind it is no part of it.
fn version_of(model: &str, family: &str) -> Option<(u32, u32)> {
    let rest = model.strip_prefix("claude-")?.strip_prefix(family)?;
    let mut numbers = rest.strip_prefix('-')?.split('-');
    let short = |text: &str| (text.len() <= 2).then(|| text.parse().ok()).flatten();
    let major = numbers.next().and_then(short)?;
    let minor = numbers.next().and_then(short).unwrap_or(0);
    Some((major, minor))
}

fn drop_sampling(request: &mut Request) {
    let knobs = [
        ("temperature", request.temperature.is_some()),
        ("top_p", request.top_p.is_some()),
        ("top_k", request.top_k.is_some()),
    ];
    if knobs.iter().all(|(_, set)| !set) {
        return;
    }
    for (name, _) in knobs.iter().filter(|(_, set)| *set) {
        request.note(Change::new(*name, "dropped").detail("the model refuses it"));
    }
    let prompt = request.edit();
    prompt.temperature = None;
    prompt.top_p = None;
    prompt.top_k = None;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_the_id() {
        for (model, version) in [
            ("claude-opus-5-5", Some((5, 5))),
            ("claude-opus-4-20250514", Some((4, 0))),
            ("claude-opus-4-6-20260101", Some((4, 6))),
            ("claude-opus", None),
            ("claude-sonnet-5-5", None),
            ("opus-5-5", None),
        ] {
            assert_eq!(version_of(model, "opus"), version, "{model}");
        }
    }

    #[test]
    fn forced_tools_are_relaxed_only_where_they_are_refused() {
        let choice = |model: &str| {
            let request = Request::user("hi").tool_choice(ToolChoice::Required);
            Anthropic.prepare(request, model).tool_choice.clone()
        };
        for model in ["claude-opus-5-5", "claude-sonnet-5-5", "claude-fable-5-2"] {
            assert_eq!(choice(model), ToolChoice::Auto, "{model}");
        }
        for model in ["claude-sonnet-5", "claude-opus-4-8", "someone-elses-model"] {
            assert_eq!(choice(model), ToolChoice::Required, "{model}");
        }
    }

    #[test]
    fn sampling_is_dropped_with_a_note_and_left_alone_elsewhere() {
        let (request, notes) = Request::user("hi").temperature(0.5).noting();
        let old = Anthropic.prepare(request.clone(), "claude-haiku-4-5-20251001");
        assert!(old.same_prompt(&request));
        let new = Anthropic.prepare(request, "claude-sonnet-5-5");
        assert_eq!(new.temperature, None);
        assert_eq!(notes.take()[0].to_string(), "temperature dropped");
    }
}
