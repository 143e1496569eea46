//! Recipe for the Anthropic Messages API.
//!
//! [`claude_model`] derives a model's restrictions from its id, [`thinking`]
//! converts between efforts and budgets, [`own_thinking`] fits what only this dialect can
//! express of them, [`sampling`] drops rejected parameters,
//! [`system_turns`] folds system messages, [`api_version`] lists the API versions.
//!
//! # Wire shapes
//!
//! Checked on 2026-11-15 against the types of `anthropic` 2.8.0 (2026-11-10), the
//! documentation of the API versions 2023-06-01 and 2026-10-21, and recorded exchanges.
//!
//! `POST {base}/v1/messages`, key in `x-api-key`, with `anthropic-version`:
//!
//! | canonical | Messages |
//! |---|---|
//! | instructions | `system`; from Opus 4.8 on also messages of role `system` after a user's turn |
//! | text, image | blocks `text`, `image{source{type:"base64",media_type,data}}` or `{type:"url",url}` |
//! | reasoning | blocks `thinking{thinking,signature}` and `redacted_thinking{data}`, sent back verbatim |
//! | tool | `tools[]{name,description,input_schema,strict}` |
//! | tool call | a block `tool_use{id,name,input}`; `input` is an object |
//! | tool result | a block `tool_result{tool_use_id,content,is_error}`, first in the next user message |
//! | tool choice | `{type:"auto"}`, `any`, `tool` with a `name`, `none`; the newest models take only `auto` and `none` |
//! | output schema | `output_config.format{type:"json_schema",schema}` |
//! | effort | `output_config.effort` with adaptive `thinking`, or `thinking.budget_tokens` up to 4.5 |
//! | token limit | `max_tokens`, required |
//! | sampling | only with version 2023-06-01, up to Opus 4.6, Sonnet 4.6 and Haiku 4.5 |
//! | stream | named events from `message_start` to `message_stop`; a second `message_start` replaces the first |
//! | usage | `input_tokens` excludes `cache_read_input_tokens` and `cache_creation_input_tokens` |
//! | error | `{"type":"error","error":{type,message},"request_id"}`; 529 is an overload |

mod api_version;
mod claude_model;
mod own_thinking;
mod sampling;
mod system_turns;
mod thinking;

use ::http::{HeaderMap, HeaderName, HeaderValue};
use majordomo_llm::{
    ByteCount, Capabilities, Change, ImageLimits, ManyImages, Request, Result, ToolChoice,
};
use majordomo_wire::Protocol;
use percent_encoding::utf8_percent_encode;
use secrecy::SecretString;
use serde::Deserialize;

use crate::discovery::{DiscoveryRequest, PATH_SEGMENT};
use crate::estimate::{ImageTokenRule, TokenRule};
use crate::image_types::media_types;
use crate::recipe::Recipe;
use crate::transport::Credential;
pub use api_version::AnthropicVersion;
use claude_model::ClaudeModel;

#[derive(Default)]
pub(crate) struct Anthropic {
    /// The API version of requests whose client did not choose one.
    pub(crate) version: AnthropicVersion,
}

/// Maximum images per request, for context windows up to 200,000 tokens and above.
const MAX_IMAGES: usize = 100;
const MAX_IMAGES_LARGE_WINDOW: usize = 600;
const STANDARD_WINDOW: u64 = 200_000;

/// The output limit of an unknown model, unless the request sets one.
const UNKNOWN_MAX_OUTPUT: u64 = 4_096;

/// The pagination fields of the model list.
#[derive(Deserialize)]
struct AnthropicPage {
    #[serde(default)]
    has_more: bool,
    last_id: Option<String>,
}

impl Recipe for Anthropic {
    fn protocol(&self) -> Protocol {
        Protocol::Messages
    }

    fn base_url(&self) -> Option<String> {
        Some("https://api.anthropic.com".into())
    }

    fn path(&self, _model: &str, _request: &Request, _stream: bool) -> String {
        "/v1/messages".into()
    }

    fn models_path(&self) -> &'static str {
        "/v1/models?limit=1000"
    }

    fn count_path(&self, _model: &str) -> Option<String> {
        Some("/v1/messages/count_tokens".into())
    }

    fn next_page(&self, page: &[u8]) -> Option<String> {
        let page: AnthropicPage = serde_json::from_slice(page).ok()?;
        let last = page.last_id.filter(|_| page.has_more)?;
        Some(format!(
            "&after_id={}",
            utf8_percent_encode(&last, PATH_SEGMENT)
        ))
    }

    fn key_variables(&self) -> &'static [&'static str] {
        &["ANTHROPIC_API_KEY"]
    }

    fn credential(&self, key: &SecretString) -> Result<Credential> {
        Credential::header(HeaderName::from_static("x-api-key"), key)
    }

    /// Forwards the version and betas of a Messages client, whose body depends on
    /// them.
    fn headers(&self, request: Option<&Request>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let version = request.map_or(self.version, |request| self.version_of(request));
        let name = HeaderName::from_static("anthropic-version");
        headers.insert(name, HeaderValue::from_static(version.as_str()));
        let messages = Protocol::Messages.dialect();
        let betas = request.into_iter().flat_map(|request| {
            let betas = request.client_header(&messages, "anthropic-beta");
            betas.filter_map(|beta| HeaderValue::from_str(beta).ok())
        });
        for beta in betas {
            headers.append(HeaderName::from_static("anthropic-beta"), beta);
        }
        headers
    }

    fn capabilities(&self, model: &str) -> Capabilities {
        let images = ImageLimits::default()
            .with_max_count(Some(MAX_IMAGES))
            .with_max_bytes(Some(10 << 20))
            .with_counted(ByteCount::Base64)
            .with_max_total_bytes(Some(30 << 20))
            .with_max_px(Some(8_000))
            .with_many(Some(ManyImages {
                above: 20,
                max_px: 2_000,
            }))
            .with_types(media_types(&[
                "image/jpeg",
                "image/png",
                "image/gif",
                "image/webp",
            ]))
            .with_animations(Some(true));
        Capabilities::default()
            .with_images(Some(images))
            .with_structured(ClaudeModel::parse(model).is_none_or(ClaudeModel::supports_schemas))
    }

    fn discovery_request(&self, model: &str) -> Option<DiscoveryRequest> {
        Some(DiscoveryRequest::anthropic_model(model))
    }

    fn adjust_discovered(&self, capabilities: &mut Capabilities) {
        let large = capabilities.context_window > Some(STANDARD_WINDOW);
        if let Some(images) = capabilities.images.as_mut().filter(|_| large) {
            images.max_count = Some(MAX_IMAGES_LARGE_WINDOW);
        }
    }

    /// Images are downscaled first; older models have a lower limit.
    fn token_rule(&self, model: &str) -> TokenRule {
        let high_resolution =
            ClaudeModel::parse(model).is_none_or(ClaudeModel::has_high_resolution_vision);
        let (longest, most) = if high_resolution {
            (2_576, 4_784)
        } else {
            (1_568, 1_568)
        };
        TokenRule {
            image: ImageTokenRule::Patches {
                size: 28,
                longest,
                most,
                percent: 100,
            },
            ..TokenRule::default()
        }
    }

    fn required_output_limit(&self, model: &str) -> Option<u64> {
        let known = ClaudeModel::parse(model);
        Some(known.map_or(UNKNOWN_MAX_OUTPUT, ClaudeModel::least_max_output))
    }

    /// Newer models reject forced tools and sampling parameters, older ones an
    /// effort. An unknown id changes nothing.
    fn prepare(&self, mut request: Request, model: &str) -> Request {
        thinking::strip_unsigned(&mut request);
        let claude = ClaudeModel::parse(model);
        system_turns::fold_system_turns(&mut request, claude);
        let forced = matches!(
            request.prompt().tool_choice,
            ToolChoice::Required | ToolChoice::Named(_)
        );
        if forced && claude.is_some_and(ClaudeModel::rejects_forced_tools) {
            request.record_change(
                Change::new("tool_choice", "relaxed").detail("the model takes only auto"),
            );
            request.edit().tool_choice = ToolChoice::Auto;
        }
        if let Some(claude) = claude {
            thinking::fit_thinking(&mut request, claude);
        }
        if self.version_of(&request) == AnthropicVersion::V2026_10_21 {
            sampling::drop_all(&mut request, "not supported by this API version");
        } else if let Some(claude) = claude {
            sampling::fit_sampling(&mut request, claude);
        }
        request
    }
}

impl Anthropic {
    /// The API version to send: the client's, if it is a known one.
    fn version_of(&self, request: &Request) -> AnthropicVersion {
        let messages = Protocol::Messages.dialect();
        let own = request.client_header(&messages, "anthropic-version");
        let mut known = own.filter_map(|version| version.parse().ok());
        known.next().unwrap_or(self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANTHROPIC: Anthropic = Anthropic {
        version: AnthropicVersion::V2023_06_01,
    };
    const NEWEST: Anthropic = Anthropic {
        version: AnthropicVersion::V2026_10_21,
    };

    #[test]
    fn forced_tools_are_relaxed_only_for_models_that_reject_them() {
        let choice = |model: &str| {
            let request = Request::user("hi").tool_choice(ToolChoice::Required);
            ANTHROPIC
                .prepare(request, model)
                .prompt()
                .tool_choice
                .clone()
        };
        for model in ["claude-opus-5-5", "claude-sonnet-5-5", "claude-fable-5-2"] {
            assert_eq!(choice(model), ToolChoice::Auto, "{model}");
        }
        for model in ["claude-sonnet-5", "claude-opus-4-8", "someone-elses-model"] {
            assert_eq!(choice(model), ToolChoice::Required, "{model}");
        }
    }

    #[test]
    fn sampling_is_dropped_with_a_change_only_for_models_that_reject_it() {
        let (request, notes) = Request::user("hi").temperature(0.5).recording_changes();
        let old = ANTHROPIC.prepare(request.clone(), "claude-haiku-4-5-20251001");
        assert!(old.same_prompt(&request));
        let new = ANTHROPIC.prepare(request, "claude-sonnet-5-5");
        assert_eq!(new.prompt().temperature, None);
        assert_eq!(notes.take()[0].to_string(), "temperature dropped");
    }

    fn read(headers: &[(&str, &str)]) -> Request {
        let body = r#"{"model":"m","max_tokens":9,"temperature":0.5,"messages":[]}"#;
        let read = Protocol::Messages.codec().read_request(body.into());
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        read.unwrap()
            .request
            .client_headers(headers.iter().map(own))
    }

    #[test]
    fn a_clients_version_and_betas_are_forwarded() {
        let request = read(&[
            ("anthropic-version", "2026-10-21"),
            ("anthropic-beta", "a,b"),
        ]);
        let headers = ANTHROPIC.headers(Some(&request));
        assert_eq!(headers["anthropic-version"], "2026-10-21");
        assert_eq!(headers["anthropic-beta"], "a,b");
        let prepared = ANTHROPIC.prepare(request, "claude-haiku-4-5");
        assert_eq!(
            prepared.prompt().temperature,
            None,
            "unsupported by that version"
        );
    }

    #[test]
    fn the_configured_version_applies_unless_the_client_chose_one() {
        let request = Request::user("hi").temperature(0.5);
        let headers = NEWEST.headers(Some(&request));
        assert_eq!(headers["anthropic-version"], "2026-10-21");
        assert_eq!(NEWEST.headers(None)["anthropic-version"], "2026-10-21");
        let prepared = NEWEST.prepare(request, "claude-haiku-4-5");
        assert_eq!(
            prepared.prompt().temperature,
            None,
            "unsupported by that version"
        );

        let older = read(&[("anthropic-version", "2023-06-01")]);
        let headers = NEWEST.headers(Some(&older));
        assert_eq!(headers["anthropic-version"], "2023-06-01");
        let prepared = NEWEST.prepare(older, "claude-haiku-4-5");
        assert_eq!(
            prepared.prompt().temperature,
            Some(0.5),
            "the client's version applies"
        );
    }

    #[test]
    fn an_unknown_client_version_is_not_forwarded() {
        let request = read(&[("anthropic-version", "2031-01-01")]);
        let headers = ANTHROPIC.headers(Some(&request));
        assert_eq!(headers["anthropic-version"], "2023-06-01");
        assert_eq!(ANTHROPIC.headers(None)["anthropic-version"], "2023-06-01");
    }

    #[test]
    fn larger_windows_take_more_images() {
        let count = |window| {
            let mut can = ANTHROPIC.capabilities("claude-opus-5-5");
            can.context_window = Some(window);
            ANTHROPIC.adjust_discovered(&mut can);
            can.images.unwrap().max_count
        };
        assert_eq!((count(200_000), count(1_000_000)), (Some(100), Some(600)));
    }

    #[test]
    fn the_next_page_starts_after_the_last_id() {
        let next = |page: &str| ANTHROPIC.next_page(page.as_bytes());
        assert_eq!(
            next(r#"{"has_more":true,"last_id":"a b"}"#).unwrap(),
            "&after_id=a%20b"
        );
        assert_eq!(next(r#"{"has_more":false,"last_id":"a"}"#), None);
    }
}
