//! Recipe for OpenAI and servers with its APIs.
//!
//! # Wire shapes
//!
//! Checked on 2026-11-15 against the types of `openai` 3.49.0 (2026-11-10), the
//! published OpenAPI description (2026-08-21) and recorded exchanges.
//!
//! `POST {base}/v1/chat/completions`, key in `Authorization: Bearer`:
//!
//! | canonical | Chat Completions |
//! |---|---|
//! | instructions | a message of role `system` (`developer` for newer models), anywhere |
//! | text, image | `content` parts `text`, `image_url` with a `data:` or `https:` URL |
//! | tool | `tools[].function{name,description,parameters,strict}` |
//! | tool call | `tool_calls[]{id,type,function{name,arguments}}`; `arguments` is a JSON text |
//! | tool result | a message of role `tool` with `tool_call_id`, text only; an error is prefixed `ERROR: ` |
//! | tool choice | `auto`, `none`, `required`, or `{type:"function",function:{name}}` |
//! | output schema | `response_format.json_schema{name,schema,strict}` |
//! | effort | `reasoning_effort` |
//! | token limit | `max_completion_tokens`; `max_tokens` for servers that know only that |
//! | stream | `data:` chunks, calls by `index`, usage in a chunk without choices, `data: [DONE]` |
//! | usage | `prompt_tokens`, `completion_tokens` and their details, totals that include cached and reasoning tokens |
//! | error | `{"error":{message,type,param,code}}` |
//!
//! `POST {base}/v1/images/generations` in JSON and `/v1/images/edits` as a form
//! (2026-11-18, the types of `openai` 3.49.0): `prompt`, `n`, `size`; responses
//! `data[].b64_json` or `url`. `response_format` is refused by GPT image models.
//! Compatible servers also take `seed`, `steps`, `guidance_scale` and `negative_prompt`.
//!
//! `POST {base}/v1/responses`:
//!
//! | canonical | Responses |
//! |---|---|
//! | instructions | `instructions`, or a message of role `system` or `developer`, anywhere |
//! | text, image | `input_text`, `input_image{image_url}`; the model's text is `output_text` |
//! | reasoning | an item `reasoning{summary,encrypted_content}`, sent back verbatim |
//! | tool | flat: `{type:"function",name,parameters,strict}` |
//! | tool call, result | items `function_call{call_id,name,arguments}` and `function_call_output{call_id,output}` |
//! | output schema | `text.format{type:"json_schema",name,schema,strict}` |
//! | effort | `reasoning.effort` |
//! | token limit | `max_output_tokens` |
//! | stream | named events up to `response.completed`, `.incomplete` or `.failed` |
//! | no such field | `stop`, `seed`, `n`, penalties |

use majordomo_llm::{Capabilities, Dialect, ImageLimits, Request, Result};
use majordomo_wire::{EmbeddingProtocol, Outgoing, Protocol};
use secrecy::SecretString;

use crate::Settings;
use crate::discovery::{DiscoveryRequest, DiscoverySource, ModelTraits};
use crate::estimate::{ImageTokenRule, TokenRule};
use crate::image_types::local_images;
use crate::images_api::{EmbeddingsApi, ImagesApi, batch_limits};
use crate::openai_models::{
    image_limits, image_token_rule, least_effort, rejects_effort, takes_effort, text_counter,
};
use crate::openai_sampling::fit_sampling;
use crate::quirks::{self, Quirk};
use crate::reasoning_budget::{budget_to_effort, drop_effort, raise_effort};
use crate::recipe::Recipe;
use crate::transport::{Credential, Timeouts};

/// Recipe for Chat Completions and Responses.
pub(crate) struct OpenAi {
    pub(crate) protocol: Protocol,
    pub(crate) base_url: Option<&'static str>,
    pub(crate) key_variables: &'static [&'static str],
    pub(crate) images: fn() -> Option<ImageLimits>,
    /// Whether the models are OpenAI's own, whose limits are known by id.
    pub(crate) own_models: bool,
    pub(crate) discovery: DiscoverySource,
    /// Whether the server supports only the deprecated `max_tokens`.
    pub(crate) legacy_max_tokens: bool,
    /// Whether the server reports usage in streams on request; `None` if unknown.
    pub(crate) stream_usage: Option<bool>,
    /// Path prefix of all endpoints.
    pub(crate) prefix: &'static str,
    /// Whether the server loads models on demand, which takes time.
    pub(crate) loads_models: bool,
    pub(crate) quirk: Quirk,
    /// Whether OpenAI's dialect is spoken at another address.
    pub(crate) elsewhere: bool,
}

impl OpenAi {
    /// OpenAI Chat Completions.
    pub(crate) fn chat() -> Self {
        Self {
            protocol: Protocol::Chat,
            base_url: Some("https://api.openai.com/v1"),
            key_variables: &["OPENAI_API_KEY"],
            images: || None,
            own_models: true,
            discovery: DiscoverySource::None,
            legacy_max_tokens: false,
            stream_usage: Some(true),
            prefix: "",
            loads_models: false,
            quirk: quirks::none,
            elsewhere: false,
        }
    }

    /// OpenAI Responses.
    pub(crate) fn responses() -> Self {
        Self {
            protocol: Protocol::Responses,
            ..Self::chat()
        }
    }

    /// llama-swap: Chat Completions below `/v1`; models load on demand.
    pub(crate) fn llama_swap() -> Self {
        Self {
            base_url: None,
            key_variables: &[],
            images: local_images,
            own_models: false,
            legacy_max_tokens: true,
            prefix: "/v1",
            loads_models: true,
            ..Self::chat()
        }
    }

    /// Applies the settings.
    pub(crate) fn with_settings(self, settings: &Settings) -> Self {
        let legacy = settings.legacy_max_tokens;
        // OpenAI's dialect at another address may be any server.
        let base_url = settings.base_url.as_deref();
        let unknown = self.own_models && base_url.is_some_and(|url| !is_openai(url));
        let stream_usage = settings.stream_usage;
        Self {
            legacy_max_tokens: legacy.unwrap_or(self.legacy_max_tokens),
            stream_usage: stream_usage.or(self.stream_usage.filter(|_| !unknown)),
            elsewhere: unknown,
            ..self
        }
    }
}

/// Whether a base URL is OpenAI's own.
fn is_openai(url: &str) -> bool {
    let uri = url.parse::<http::Uri>().ok();
    let host = uri.as_ref().and_then(http::Uri::host);
    host.is_some_and(|host| host == "api.openai.com" || host.ends_with(".api.openai.com"))
}

impl Recipe for OpenAi {
    fn protocol(&self) -> Protocol {
        self.protocol
    }

    fn base_url(&self) -> Option<String> {
        self.base_url.map(str::to_owned)
    }

    fn path(&self, _model: &str, _request: &Request, _stream: bool) -> String {
        let call = match self.protocol {
            Protocol::Responses => "/responses",
            _ => "/chat/completions",
        };
        format!("{}{call}", self.prefix)
    }

    fn models_path(&self) -> &'static str {
        if self.prefix.is_empty() {
            "/models"
        } else {
            "/v1/models"
        }
    }

    fn embeddings_path(&self, dialect: &Dialect) -> Option<&'static str> {
        let path = if self.prefix.is_empty() {
            "/embeddings"
        } else {
            "/v1/embeddings"
        };
        (*dialect == Protocol::Chat.dialect()).then_some(path)
    }

    fn embeddings_api(&self, _model: &str) -> Option<EmbeddingsApi> {
        let texts = if self.own_models { 2_048 } else { 256 };
        Some(EmbeddingsApi {
            protocol: EmbeddingProtocol::OpenAi,
            path: self.embeddings_path(&Protocol::Chat.dialect())?.to_owned(),
            // OpenAI takes 300,000 tokens per request.
            limits: batch_limits(texts, 600_000),
        })
    }

    /// GPT image models always send base64 and reject a request for it.
    fn images_api(&self, model: &str) -> Option<ImagesApi> {
        if self.loads_models && !self.prefix.is_empty() {
            return Some(ImagesApi::Sdapi);
        }
        let own = self.own_models && !self.elsewhere;
        Some(ImagesApi::OpenAi {
            prefix: self.prefix,
            diffusion: !own,
            ask_base64: !own || model.starts_with("dall-e"),
        })
    }

    fn key_variables(&self) -> &'static [&'static str] {
        self.key_variables
    }

    fn credential(&self, key: &SecretString) -> Result<Credential> {
        Credential::bearer(key)
    }

    fn capabilities(&self, model: &str) -> Capabilities {
        let images = match self.own_models {
            true => Some(image_limits(model)),
            false => (self.images)(),
        };
        Capabilities::default().with_images(images)
    }

    fn discovery_request(&self, _model: &str) -> Option<DiscoveryRequest> {
        self.discovery.request()
    }

    fn token_rule(&self, model: &str) -> TokenRule {
        match self.own_models {
            true => TokenRule {
                text: text_counter(model),
                image: image_token_rule(model),
            },
            false => TokenRule {
                image: ImageTokenRule::Unknown,
                ..TokenRule::default()
            },
        }
    }

    fn timeouts(&self) -> Timeouts {
        if self.loads_models {
            Timeouts::for_model_loading()
        } else {
            Timeouts::default()
        }
    }

    fn prepare(&self, mut request: Request, model: &str) -> Request {
        let own_dialect = request
            .source()
            .is_some_and(|source| *source.dialect() == self.protocol.dialect());
        if self.own_models && !own_dialect {
            if takes_effort(model) {
                budget_to_effort(&mut request);
                let least = least_effort(model);
                raise_effort(&mut request, least);
                fit_sampling(&mut request, least.is_some());
            } else if rejects_effort(model) {
                drop_effort(&mut request);
            }
        }
        (self.quirk)(request)
    }

    fn asks_for_usage(&self, needed: bool) -> bool {
        self.stream_usage.unwrap_or(needed) && self.protocol == Protocol::Chat
    }

    /// Responses are not stored with the provider unless the client asks for it.
    fn encoding<'a>(&self, to: Outgoing<'a>, _: &Request, _: &ModelTraits) -> Outgoing<'a> {
        Outgoing {
            legacy_max_tokens: self.legacy_max_tokens,
            store: Some(false),
            ..to
        }
    }
}
