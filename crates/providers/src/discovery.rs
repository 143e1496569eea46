//! Requests for a model's capabilities, and the decoding of their responses.
//!
//! Pure: `http::discovered_traits` decides when to send them.

use std::sync::Arc;

use bytes::Bytes;
use majordomo_llm::{Capabilities, Error, ErrorKind, ImageLimits, ModelInfo, Result};
use majordomo_wire::{Protocol, ollama};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

/// The capabilities of a model; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct ModelTraits {
    pub(crate) capabilities: Arc<Capabilities>,
    /// Which values of `think` an Ollama model accepts.
    pub(crate) thinking: ollama::ThinkSupport,
}

/// The capabilities that a server reported for a model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DiscoveryResponse {
    pub(crate) capabilities: Capabilities,
    pub(crate) thinking: ollama::ThinkSupport,
}

/// The API that reports a model's capabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiscoverySource {
    None,
    /// llama.cpp's `/props`.
    LlamaCppProps,
    /// The model list, for servers that list few models.
    ModelList,
}

impl DiscoverySource {
    /// The request to send, if there is such an API.
    pub(crate) fn request(self) -> Option<DiscoveryRequest> {
        match self {
            Self::None => None,
            Self::LlamaCppProps => Some(DiscoveryRequest::llamacpp_props()),
            Self::ModelList => Some(DiscoveryRequest::model_list()),
        }
    }
}

/// A request for one model's capabilities.
pub(crate) struct DiscoveryRequest {
    /// The path below the base URL.
    pub(crate) path: String,
    /// Whether the path is a sibling of `/v1` instead of below it.
    pub(crate) outside_v1: bool,
    /// The body of a POST; `None` for a GET.
    pub(crate) body: Option<Bytes>,
    /// Decodes the response; `None` if it does not cover the model.
    pub(crate) decode: fn(&[u8], &str) -> Result<Option<DiscoveryResponse>>,
}

/// Escapes everything but the unreserved characters of RFC 3986.
pub(crate) const PATH_SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

impl DiscoveryRequest {
    fn get(path: String, decode: fn(&[u8], &str) -> Result<Option<DiscoveryResponse>>) -> Self {
        Self {
            path,
            outside_v1: false,
            body: None,
            decode,
        }
    }

    /// Ollama's `/api/show`.
    pub(crate) fn ollama_show(model: &str) -> Self {
        let body = serde_json::json!({ "model": model }).to_string();
        Self {
            body: Some(body.into()),
            ..Self::get("/api/show".into(), read_show)
        }
    }

    /// Anthropic's entry for one model.
    pub(crate) fn anthropic_model(model: &str) -> Self {
        let model = utf8_percent_encode(model, PATH_SEGMENT);
        Self::get(format!("/v1/models/{model}"), read_anthropic)
    }

    /// llama.cpp's `/props`, which describes the loaded model.
    fn llamacpp_props() -> Self {
        Self {
            outside_v1: true,
            ..Self::get("/props".into(), read_props)
        }
    }

    /// The model list.
    fn model_list() -> Self {
        Self::get("/models".into(), read_list)
    }
}

impl DiscoveryResponse {
    /// Combines reported and assumed capabilities. Image limits are never reported,
    /// so the assumed ones remain.
    pub(crate) fn merge_into(self, assumed: &Capabilities) -> Capabilities {
        let reported = self.capabilities;
        Capabilities::default()
            .with_images(reported.images.and(assumed.images.clone()))
            .with_tools(reported.tools && assumed.tools)
            .with_structured(reported.structured && assumed.structured)
            .with_streaming(reported.streaming && assumed.streaming)
            .with_context_window(reported.context_window.or(assumed.context_window))
            .with_max_output(reported.max_output.or(assumed.max_output))
    }
}

impl From<Capabilities> for DiscoveryResponse {
    fn from(capabilities: Capabilities) -> Self {
        Self {
            capabilities,
            thinking: ollama::ThinkSupport::default(),
        }
    }
}

fn read_show(body: &[u8], _model: &str) -> Result<Option<DiscoveryResponse>> {
    let shown = ollama::read_show(body)?;
    Ok(Some(DiscoveryResponse {
        capabilities: shown.capabilities,
        thinking: shown.thinking,
    }))
}

/// The entry has the format of a list element, so it is decoded as a list of one.
fn read_anthropic(body: &[u8], model: &str) -> Result<Option<DiscoveryResponse>> {
    let list = [br#"{"data":["#, body, b"]}"].concat();
    let models = Protocol::Messages.codec().read_models(&list)?;
    Ok(reported_capabilities(
        models.into_iter().take(1),
        model,
        false,
    ))
}

fn read_list(body: &[u8], model: &str) -> Result<Option<DiscoveryResponse>> {
    let models = Protocol::Chat.codec().read_models(body)?;
    Ok(reported_capabilities(models.into_iter(), model, true))
}

/// Only a list is searched by id: a single entry may have the id behind an alias.
fn reported_capabilities(
    mut models: impl Iterator<Item = ModelInfo>,
    id: &str,
    search: bool,
) -> Option<DiscoveryResponse> {
    let found = models.find(|model| !search || model.id == id)?;
    found.capabilities.map(DiscoveryResponse::from)
}

#[derive(Deserialize)]
struct LlamaCppProps {
    #[serde(default)]
    default_generation_settings: GenerationSettings,
    modalities: Option<Modalities>,
}

#[derive(Default, Deserialize)]
struct GenerationSettings {
    n_ctx: Option<u64>,
}

#[derive(Deserialize)]
struct Modalities {
    #[serde(default)]
    vision: bool,
}

fn read_props(body: &[u8], _model: &str) -> Result<Option<DiscoveryResponse>> {
    let props: LlamaCppProps = serde_json::from_slice(body).map_err(|_| {
        let text = "the server's properties are malformed";
        Error::new(ErrorKind::BadResponse, text)
    })?;
    let no_vision = props.modalities.is_some_and(|can| !can.vision);
    Ok(Some(DiscoveryResponse::from(
        Capabilities::default()
            .with_images((!no_vision).then(ImageLimits::default))
            .with_context_window(props.default_generation_settings.n_ctx.filter(|n| *n > 0)),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_response_is_decoded() {
        let rows = [
            (
                DiscoveryRequest::ollama_show("m"),
                r#"{"capabilities":["completion","tools"],"model_info":{"general.architecture":"q","q.context_length":40960}}"#,
                (false, true, Some(40_960)),
            ),
            (
                DiscoveryRequest::anthropic_model("m"),
                r#"{"type":"model","id":"other","max_input_tokens":200000,"capabilities":{"image_input":{"supported":true}}}"#,
                (true, true, Some(200_000)),
            ),
            (
                DiscoveryRequest::llamacpp_props(),
                r#"{"default_generation_settings":{"n_ctx":4096},"modalities":{"vision":false,"audio":false}}"#,
                (false, true, Some(4_096)),
            ),
            (
                DiscoveryRequest::model_list(),
                r#"{"data":[{"id":"x","max_model_len":1},{"id":"m","max_model_len":8192}]}"#,
                (true, true, Some(8_192)),
            ),
        ];
        for (request, body, expected) in rows {
            let response = (request.decode)(body.as_bytes(), "m").unwrap().unwrap();
            let can = response.merge_into(&Capabilities::default());
            let found = (can.takes_images(), can.tools, can.context_window);
            assert_eq!(found, expected, "{}", request.path);
        }
    }

    #[test]
    fn a_model_missing_from_the_list_stays_unknown() {
        let list = br#"{"data":[{"id":"x","max_model_len":1}]}"#;
        assert_eq!(
            (DiscoveryRequest::model_list().decode)(list, "m").unwrap(),
            None
        );
    }

    #[test]
    fn reported_capabilities_never_extend_the_assumed_ones() {
        let assumed = Capabilities::text_only().with_structured(false);
        let can = DiscoveryResponse::from(Capabilities::default()).merge_into(&assumed);
        assert_eq!(can, assumed);
    }
}
