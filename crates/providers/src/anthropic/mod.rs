//! Anthropic's Messages.
//!
//! Its models differ in what they refuse: [`version`] reads that from their ids,
//! [`thinking`] rewrites how hard they are to think, [`api_version`] names the
//! versions of the API itself.

mod api_version;
mod thinking;
mod version;

use ::http::{HeaderMap, HeaderName, HeaderValue};
use majordomo_llm::{
    ByteCount, Capabilities, Change, ImageLimits, ManyImages, Request, Result, ToolChoice,
};
use majordomo_wire::Protocol;
use percent_encoding::utf8_percent_encode;
use secrecy::SecretString;
use serde::Deserialize;

use crate::discovery::{PLAIN, Question};
use crate::estimate::{ImageTokens, TokenRule};
use crate::openai::types;
use crate::recipe::Recipe;
use crate::transport::Credential;
pub use api_version::AnthropicVersion;
use version::Claude;

#[derive(Default)]
pub(crate) struct Anthropic {
    /// The version whose rules our own requests are written for.
    pub(crate) version: AnthropicVersion,
}

/// Pictures in one request, for windows of 200,000 tokens and for larger ones.
const FEW_IMAGES: usize = 100;
const MANY_IMAGES: usize = 600;
const USUAL_WINDOW: u64 = 200_000;

/// The end of a page of the list of models.
#[derive(Deserialize)]
struct PageEnd {
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
        let end: PageEnd = serde_json::from_slice(page).ok()?;
        let last = end.last_id.filter(|_| end.has_more)?;
        Some(format!("&after_id={}", utf8_percent_encode(&last, PLAIN)))
    }

    fn key_variables(&self) -> &'static [&'static str] {
        &["ANTHROPIC_API_KEY"]
    }

    fn credential(&self, key: &SecretString) -> Result<Credential> {
        Credential::header(HeaderName::from_static("x-api-key"), key)
    }

    /// A client of the same dialect wrote its body for its own version and
    /// betas, so these go with it.
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
        let images = ImageLimits {
            max_count: Some(FEW_IMAGES),
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
            structured: Claude::read(model).is_none_or(Claude::takes_schemas),
            ..Capabilities::default()
        }
    }

    fn question(&self, model: &str) -> Option<Question> {
        Some(Question::anthropic_model(model))
    }

    fn learned(&self, capabilities: &mut Capabilities) {
        let large = capabilities.context_window > Some(USUAL_WINDOW);
        if let Some(images) = capabilities.images.as_mut().filter(|_| large) {
            images.max_count = Some(MANY_IMAGES);
        }
    }

    /// Pictures are scaled down first, by older models to less.
    fn tokens(&self, model: &str) -> TokenRule {
        let sharp = Claude::read(model).is_none_or(Claude::sees_sharply);
        let (longest, most) = if sharp {
            (2_576, 4_784)
        } else {
            (1_568, 1_568)
        };
        TokenRule {
            image: ImageTokens::Patches {
                size: 28,
                longest,
                most,
                percent: 100,
            },
            ..TokenRule::default()
        }
    }

    /// The newest models refuse forced tools and sampling knobs, older ones an
    /// effort; an unknown id is left as it is.
    fn prepare(&self, mut request: Request, model: &str) -> Request {
        thinking::strip_unsigned(&mut request);
        let claude = Claude::read(model);
        let forced = matches!(
            request.tool_choice,
            ToolChoice::Required | ToolChoice::Named(_)
        );
        if forced && claude.is_some_and(Claude::refuses_forced_tools) {
            request.record_change(
                Change::new("tool_choice", "relaxed").detail("the model takes only auto"),
            );
            request.edit().tool_choice = ToolChoice::Auto;
        }
        if let Some(claude) = claude {
            thinking::fit(&mut request, claude);
        }
        if self.version_of(&request) == AnthropicVersion::V2026_10_21 {
            drop_sampling(&mut request, "this version of the API has none");
        } else if claude.is_some_and(Claude::refuses_sampling) {
            drop_sampling(&mut request, "the model refuses it");
        }
        request
    }
}

impl Anthropic {
    /// The version that a request is sent with: its client's, where we know it.
    fn version_of(&self, request: &Request) -> AnthropicVersion {
        let messages = Protocol::Messages.dialect();
        let own = request.client_header(&messages, "anthropic-version");
        let mut known = own.filter_map(|version| version.parse().ok());
        known.next().unwrap_or(self.version)
    }
}

fn drop_sampling(request: &mut Request, why: &str) {
    let knobs = [
        ("temperature", request.temperature.is_some()),
        ("top_p", request.top_p.is_some()),
        ("top_k", request.top_k.is_some()),
    ];
    if knobs.iter().all(|(_, set)| !set) {
        return;
    }
    for (name, _) in knobs.iter().filter(|(_, set)| *set) {
        request.record_change(Change::new(*name, "dropped").detail(why));
    }
    let prompt = request.edit();
    prompt.temperature = None;
    prompt.top_p = None;
    prompt.top_k = None;
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
    fn forced_tools_are_relaxed_only_where_they_are_refused() {
        let choice = |model: &str| {
            let request = Request::user("hi").tool_choice(ToolChoice::Required);
            ANTHROPIC.prepare(request, model).tool_choice.clone()
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
        let (request, notes) = Request::user("hi").temperature(0.5).recording_changes();
        let old = ANTHROPIC.prepare(request.clone(), "claude-haiku-4-5-20251001");
        assert!(old.same_prompt(&request));
        let new = ANTHROPIC.prepare(request, "claude-sonnet-5-5");
        assert_eq!(new.temperature, None);
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
    fn a_clients_version_and_betas_go_with_its_body() {
        let request = read(&[
            ("anthropic-version", "2026-10-21"),
            ("anthropic-beta", "a,b"),
        ]);
        let headers = ANTHROPIC.headers(Some(&request));
        assert_eq!(headers["anthropic-version"], "2026-10-21");
        assert_eq!(headers["anthropic-beta"], "a,b");
        let prepared = ANTHROPIC.prepare(request, "claude-haiku-4-5");
        assert_eq!(prepared.temperature, None, "unknown to that version");
    }

    #[test]
    fn the_version_of_the_settings_is_that_of_our_own_requests() {
        let request = Request::user("hi").temperature(0.5);
        let headers = NEWEST.headers(Some(&request));
        assert_eq!(headers["anthropic-version"], "2026-10-21");
        assert_eq!(NEWEST.headers(None)["anthropic-version"], "2026-10-21");
        let prepared = NEWEST.prepare(request, "claude-haiku-4-5");
        assert_eq!(prepared.temperature, None, "unknown to that version");

        let older = read(&[("anthropic-version", "2023-06-01")]);
        let headers = NEWEST.headers(Some(&older));
        assert_eq!(headers["anthropic-version"], "2023-06-01");
        let prepared = NEWEST.prepare(older, "claude-haiku-4-5");
        assert_eq!(
            prepared.temperature,
            Some(0.5),
            "its client's version stands"
        );
    }

    #[test]
    fn a_version_that_we_do_not_know_is_not_promised() {
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
            ANTHROPIC.learned(&mut can);
            can.images.unwrap().max_count
        };
        assert_eq!((count(200_000), count(1_000_000)), (Some(100), Some(600)));
    }

    #[test]
    fn the_next_page_begins_after_the_last_id() {
        let next = |page: &str| ANTHROPIC.next_page(page.as_bytes());
        assert_eq!(
            next(r#"{"has_more":true,"last_id":"a b"}"#).unwrap(),
            "&after_id=a%20b"
        );
        assert_eq!(next(r#"{"has_more":false,"last_id":"a"}"#), None);
    }
}
