//! Asking a server what one of its models takes.
//!
//! Pure: how the question is put and how its answer is read. When it is asked,
//! and who waits for it, is decided in `http::known`.

use std::sync::Arc;

use bytes::Bytes;
use majordomo_llm::{Capabilities, Error, ErrorKind, ImageLimits, ModelInfo, Result};
use majordomo_wire::{Protocol, ollama};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

/// What is known about a model; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Knowledge {
    pub(crate) capabilities: Arc<Capabilities>,
    /// How an Ollama model can be told to think.
    pub(crate) thinking: ollama::ThinkSupport,
}

/// What a server told about a model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told {
    pub(crate) capabilities: Capabilities,
    pub(crate) thinking: ollama::ThinkSupport,
}

/// A question to a server about one model.
pub(crate) struct Question {
    /// The path behind the base URL.
    pub(crate) path: String,
    /// Whether the path stands beside the API's `/v1` instead of below it.
    pub(crate) beside_v1: bool,
    /// The body of a POST; none is a GET.
    pub(crate) body: Option<Bytes>,
    /// Reads the answer; none if it says nothing about this model.
    pub(crate) read: fn(&[u8], &str) -> Result<Option<Told>>,
}

/// What may stand in a path without being escaped.
pub(crate) const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

impl Question {
    fn get(path: String, read: fn(&[u8], &str) -> Result<Option<Told>>) -> Self {
        Self {
            path,
            beside_v1: false,
            body: None,
            read,
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

    /// Anthropic's entry of one model.
    pub(crate) fn anthropic_model(model: &str) -> Self {
        let model = utf8_percent_encode(model, PLAIN);
        Self::get(format!("/v1/models/{model}"), read_anthropic)
    }

    /// llama.cpp's `/props`, which is about the model that it serves.
    pub(crate) fn llamacpp_props() -> Self {
        Self {
            beside_v1: true,
            ..Self::get("/props".into(), read_props)
        }
    }

    /// The list of models, for servers whose list is short and says much.
    pub(crate) fn list() -> Self {
        Self::get("/models".into(), read_list)
    }
}

impl Told {
    /// What is known now: limits of images are not told, so they stay as assumed.
    pub(crate) fn over(self, assumed: &Capabilities) -> Capabilities {
        let told = self.capabilities;
        Capabilities {
            images: told.images.and(assumed.images.clone()),
            tools: told.tools && assumed.tools,
            structured: told.structured && assumed.structured,
            streaming: told.streaming && assumed.streaming,
            context_window: told.context_window.or(assumed.context_window),
            max_output: told.max_output.or(assumed.max_output),
        }
    }
}

impl From<Capabilities> for Told {
    fn from(capabilities: Capabilities) -> Self {
        Self {
            capabilities,
            thinking: ollama::ThinkSupport::default(),
        }
    }
}

fn read_show(body: &[u8], _model: &str) -> Result<Option<Told>> {
    let shown = ollama::read_show(body)?;
    Ok(Some(Told {
        capabilities: shown.capabilities,
        thinking: shown.thinking,
    }))
}

/// One entry is the same object as in the list, so it is read as a list of one.
fn read_anthropic(body: &[u8], model: &str) -> Result<Option<Told>> {
    let list = [br#"{"data":["#, body, b"]}"].concat();
    let models = Protocol::Messages.codec().read_models(&list)?;
    Ok(told_of(models.into_iter().take(1), model, false))
}

fn read_list(body: &[u8], model: &str) -> Result<Option<Told>> {
    let models = Protocol::Chat.codec().read_models(body)?;
    Ok(told_of(models.into_iter(), model, true))
}

/// An alias may be answered with the name behind it, so only a list is searched.
fn told_of(mut models: impl Iterator<Item = ModelInfo>, id: &str, search: bool) -> Option<Told> {
    let found = models.find(|model| !search || model.id == id)?;
    found.capabilities.map(Told::from)
}

#[derive(Deserialize)]
struct Props {
    #[serde(default)]
    default_generation_settings: Generation,
    modalities: Option<Modalities>,
}

#[derive(Default, Deserialize)]
struct Generation {
    n_ctx: Option<u64>,
}

#[derive(Deserialize)]
struct Modalities {
    #[serde(default)]
    vision: bool,
}

fn read_props(body: &[u8], _model: &str) -> Result<Option<Told>> {
    let props: Props = serde_json::from_slice(body).map_err(|_| {
        let text = "the server's properties could not be read";
        Error::new(ErrorKind::BadResponse, text)
    })?;
    let blind = props.modalities.is_some_and(|can| !can.vision);
    Ok(Some(Told::from(Capabilities {
        images: (!blind).then(ImageLimits::default),
        context_window: props.default_generation_settings.n_ctx.filter(|n| *n > 0),
        ..Capabilities::default()
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_is_read() {
        let rows = [
            (
                Question::ollama_show("m"),
                r#"{"capabilities":["completion","tools"],"model_info":{"general.architecture":"q","q.context_length":40960}}"#,
                (false, true, Some(40_960)),
            ),
            (
                Question::anthropic_model("m"),
                r#"{"type":"model","id":"other","max_input_tokens":200000,"capabilities":{"image_input":{"supported":true}}}"#,
                (true, true, Some(200_000)),
            ),
            (
                Question::llamacpp_props(),
                r#"{"default_generation_settings":{"n_ctx":4096},"modalities":{"vision":false,"audio":false}}"#,
                (false, true, Some(4_096)),
            ),
            (
                Question::list(),
                r#"{"data":[{"id":"x","max_model_len":1},{"id":"m","max_model_len":8192}]}"#,
                (true, true, Some(8_192)),
            ),
        ];
        for (question, body, expected) in rows {
            let told = (question.read)(body.as_bytes(), "m").unwrap().unwrap();
            let can = told.over(&Capabilities::default());
            let found = (can.takes_images(), can.tools, can.context_window);
            assert_eq!(found, expected, "{}", question.path);
        }
    }

    #[test]
    fn a_model_that_the_list_does_not_name_stays_unknown() {
        let list = br#"{"data":[{"id":"x","max_model_len":1}]}"#;
        assert_eq!((Question::list().read)(list, "m").unwrap(), None);
    }

    #[test]
    fn what_is_told_never_widens_what_is_assumed() {
        let assumed = Capabilities {
            structured: false,
            ..Capabilities::text_only()
        };
        let can = Told::from(Capabilities::default()).over(&assumed);
        assert_eq!(can, assumed);
    }
}
