//! Recipe for the Google Gemini API.
//!
//! # Wire shapes
//!
//! Checked on 2026-11-15 against the types of `google-genai` 3.1.0 (2026-11-10), the
//! guide to Gemini 3.8 Flash (2026-10) and recorded exchanges.
//!
//! `POST {base}/v1beta/models/{model}:generateContent` and
//! `:streamGenerateContent?alt=sse`, key in `x-goog-api-key`:
//!
//! | canonical | Gemini |
//! |---|---|
//! | instructions | `systemInstruction.parts`; there is no role for them in `contents` |
//! | messages | `contents[]` of role `user` or `model` |
//! | text, image | parts `text`, `inlineData{mimeType,data}`, `fileData{fileUri}` |
//! | reasoning | a part with `thought: true`; state is a `thoughtSignature`, sent back on its part |
//! | tool | `tools[].functionDeclarations[]{name,description,parametersJsonSchema}` |
//! | tool call | `functionCall{id?,name,args}`; `args` is an object |
//! | tool result | `functionResponse{id?,name,response}` in a user turn; `response` is `{output}` or `{error}` |
//! | tool choice | `toolConfig.functionCallingConfig{mode,allowedFunctionNames}` |
//! | output schema | `generationConfig.responseMimeType` with `responseJsonSchema` |
//! | effort | `thinkingConfig.thinkingLevel`, or `thinkingBudget` up to 2.5 |
//! | token limit | `generationConfig.maxOutputTokens` |
//! | stream | whole responses as `data:` chunks with CRLF, ended by a `finishReason` |
//! | usage | `usageMetadata`; output is `candidatesTokenCount` plus `thoughtsTokenCount` |
//! | finish | `finishReason`; calls end with `STOP` |
//! | error | `{"error":{code,message,status,details}}`; a bad key is a 400 |
//! | generated image | `generationConfig.responseModalities` with `IMAGE`; a part `inlineData` of the response |
//! | embeddings | `:batchEmbedContents` with `requests[]{model,content,outputDimensionality}`, at most 100 |

use ::http::HeaderName;
use majordomo_llm::{ByteCount, Capabilities, Change, ImageLimits, Request, Result};
use majordomo_wire::{EmbeddingProtocol, Protocol};
use percent_encoding::utf8_percent_encode;
use secrecy::SecretString;
use serde::Deserialize;

use crate::discovery::PATH_SEGMENT;
use crate::estimate::{ImageTokenRule, TokenRule};
use crate::image_types::media_types;
use crate::images_api::{EmbeddingsApi, ImagesApi, batch_limits};
use crate::recipe::Recipe;
use crate::transport::Credential;

pub(crate) struct Google;

/// The pagination field of the model list.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiPage {
    next_page_token: Option<String>,
}

impl Recipe for Google {
    fn protocol(&self) -> Protocol {
        Protocol::Gemini
    }

    fn base_url(&self) -> Option<String> {
        Some("https://generativelanguage.googleapis.com".into())
    }

    fn path(&self, model: &str, _request: &Request, stream: bool) -> String {
        let model =
            utf8_percent_encode(model.strip_prefix("models/").unwrap_or(model), PATH_SEGMENT);
        if stream {
            format!("/v1beta/models/{model}:streamGenerateContent?alt=sse")
        } else {
            format!("/v1beta/models/{model}:generateContent")
        }
    }

    fn models_path(&self) -> &'static str {
        "/v1beta/models?pageSize=1000"
    }

    fn count_path(&self, model: &str) -> Option<String> {
        let model =
            utf8_percent_encode(model.strip_prefix("models/").unwrap_or(model), PATH_SEGMENT);
        Some(format!("/v1beta/models/{model}:countTokens"))
    }

    fn embeddings_api(&self, model: &str) -> Option<EmbeddingsApi> {
        let model =
            utf8_percent_encode(model.strip_prefix("models/").unwrap_or(model), PATH_SEGMENT);
        Some(EmbeddingsApi {
            protocol: EmbeddingProtocol::Gemini,
            path: format!("/v1beta/models/{model}:batchEmbedContents"),
            limits: batch_limits(100, 600_000),
        })
    }

    fn images_api(&self, _model: &str) -> Option<ImagesApi> {
        Some(ImagesApi::Gemini)
    }

    fn next_page(&self, page: &[u8]) -> Option<String> {
        let page: GeminiPage = serde_json::from_slice(page).ok()?;
        let token = page.next_page_token.filter(|token| !token.is_empty())?;
        Some(format!(
            "&pageToken={}",
            utf8_percent_encode(&token, PATH_SEGMENT)
        ))
    }

    fn key_variables(&self) -> &'static [&'static str] {
        &["GOOGLE_API_KEY", "GEMINI_API_KEY"]
    }

    /// Sent as a header, because query strings end up in logs.
    fn credential(&self, key: &SecretString) -> Result<Credential> {
        Credential::header(HeaderName::from_static("x-goog-api-key"), key)
    }

    /// A request is limited to 20 MB, which its images share.
    fn capabilities(&self, model: &str) -> Capabilities {
        let images = ImageLimits::default()
            .with_max_count(Some(3_600))
            .with_max_bytes(Some(20 << 20))
            .with_max_total_bytes(Some(20 << 20))
            .with_counted(ByteCount::Base64)
            .with_types(media_types(&[
                "image/jpeg",
                "image/png",
                "image/webp",
                "image/heic",
                "image/heif",
            ]))
            .with_animations(Some(false));
        Capabilities::default()
            .with_images(Some(images))
            // Gemma and other models of the API have smaller windows.
            .with_context_window(generation(model).map(|_| 1_048_576))
    }

    fn token_rule(&self, model: &str) -> TokenRule {
        let image = match generation(model) {
            Some(1 | 2) => ImageTokenRule::GeminiTiles,
            _ => ImageTokenRule::Fixed(1_120),
        };
        TokenRule {
            image,
            ..TokenRule::default()
        }
    }

    /// Gemini 3 rejects penalties.
    fn prepare(&self, mut request: Request, model: &str) -> Request {
        let penalties = [
            (
                "presence_penalty",
                request.prompt().presence_penalty.is_some(),
            ),
            (
                "frequency_penalty",
                request.prompt().frequency_penalty.is_some(),
            ),
        ];
        let rejected = generation(model).is_some_and(|generation| generation >= 3);
        if !rejected || penalties.iter().all(|(_, set)| !set) {
            return request;
        }
        for (name, _) in penalties.iter().filter(|(_, set)| *set) {
            request.record_change(Change::new(*name, "dropped").detail("the model rejects it"));
        }
        let prompt = request.edit();
        prompt.presence_penalty = None;
        prompt.frequency_penalty = None;
        request
    }
}

/// The major version: 3 for `gemini-3.8-flash`.
fn generation(model: &str) -> Option<u32> {
    let id = model.strip_prefix("models/").unwrap_or(model);
    let number = id.strip_prefix("gemini-")?.split(['.', '-']).next()?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generation_is_parsed_from_the_id() {
        for (model, expected) in [
            ("gemini-3.8-flash", Some(3)),
            ("models/gemini-2.5-pro", Some(2)),
            ("gemini-pro-latest", None),
            ("gemma-3-27b", None),
        ] {
            assert_eq!(generation(model), expected, "{model}");
        }
    }

    #[test]
    fn the_next_page_is_selected_by_its_token() {
        let next = |page: &str| Google.next_page(page.as_bytes());
        assert_eq!(
            next(r#"{"nextPageToken":"a/b="}"#).unwrap(),
            "&pageToken=a%2Fb%3D"
        );
        for last in ["{}", r#"{"nextPageToken":""}"#, "no JSON"] {
            assert_eq!(next(last), None, "{last}");
        }
    }

    #[test]
    fn penalties_are_dropped_only_for_models_that_reject_them() {
        let mut request = Request::user("hi");
        request.edit().presence_penalty = Some(0.5);
        let (request, notes) = request.recording_changes();
        let old = Google.prepare(request.clone(), "gemini-2.5-flash");
        assert!(old.same_prompt(&request));
        let new = Google.prepare(request, "gemini-3.8-flash");
        assert_eq!(new.prompt().presence_penalty, None);
        assert_eq!(notes.take()[0].to_string(), "presence_penalty dropped");
    }
}
