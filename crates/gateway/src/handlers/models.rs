//! Model lists and model details, in each dialect.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use majordomo::llm::ModelInfo;
use majordomo::{Capabilities, Error, ErrorKind};
use majordomo_wire::ollama;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::generate::{json, undecodable};
use crate::admitted::AdmittedRequest;
use crate::clock::unix_now;
use crate::fronts::{Front, ListPage};
use crate::refusal::Result;
use crate::respond::fail;
use crate::response_body::Body;
use crate::state::GatewayState;

/// Clients infer features from the version; this version has every feature that the gateway
/// serves.
const OLLAMA_VERSION: &str = "0.34.4";

/// A page of every route, alias and known target that the client may use.
pub(crate) async fn list_models(
    state: &Arc<GatewayState>,
    front: Front,
    page: &ListPage,
    admitted: AdmittedRequest,
) -> Response<Body> {
    let models = state.models(&admitted).await;
    let (models, more) = page.of_models(&models);
    let list = front.codec().write_model_page(models, more, unix_now());
    completed(admitted, json(list))
}

/// One model of the list, by id.
pub(crate) async fn get_model(
    state: &Arc<GatewayState>,
    front: Front,
    id: String,
    admitted: AdmittedRequest,
) -> Response<Body> {
    match model_info(state, &id, &admitted).await {
        Ok(model) => {
            let list = front.codec().write_models(&[model], unix_now());
            completed(admitted, json(single(list)))
        }
        Err(error) => fail(front, admitted.exchange, error),
    }
}

/// One model in Ollama's `show` format.
pub(crate) async fn ollama_show(
    state: &Arc<GatewayState>,
    admitted: AdmittedRequest,
) -> Response<Body> {
    let requested = ollama::read_show_request(&admitted.body).map_err(undecodable);
    let found = match requested {
        Ok(model) => model_info(state, &model, &admitted).await,
        Err(refusal) => Err(refusal.into()),
    };
    match found {
        Ok(model) => completed(admitted, json(ollama::write_show(&model, unix_now()))),
        Err(error) => fail(Front::OllamaChat, admitted.exchange, error),
    }
}

/// The version, which Ollama clients query first.
pub(crate) fn ollama_version(admitted: AdmittedRequest) -> Response<Body> {
    completed(admitted, json(ollama::write_version(OLLAMA_VERSION)))
}

/// The models in memory: none, since the gateway loads no model.
pub(crate) fn ollama_running(admitted: AdmittedRequest) -> Response<Body> {
    completed(admitted, json(Bytes::from_static(br#"{"models":[]}"#)))
}

fn completed(mut admitted: AdmittedRequest, response: Response<Body>) -> Response<Body> {
    admitted.exchange.complete(majordomo::Usage::default());
    response
}

async fn model_info(
    state: &Arc<GatewayState>,
    id: &str,
    admitted: &AdmittedRequest,
) -> Result<ModelInfo> {
    admitted.allow(id)?;
    let chain = state.chain(id).await?;
    let head = chain.describe().next();
    let capabilities: Option<Capabilities> = head.map(|(_, known)| (*known).clone());
    capabilities
        .map(|capabilities| ModelInfo {
            id: id.to_owned(),
            capabilities: Some(capabilities),
        })
        .ok_or_else(|| Error::new(ErrorKind::ModelNotFound, "the chain is empty").into())
}

/// The only element of an encoded list.
fn single(list: Bytes) -> Bytes {
    #[derive(Deserialize)]
    struct List<'a> {
        #[serde(borrow, alias = "models")]
        data: Vec<&'a RawValue>,
    }
    let read: Option<List<'_>> = serde_json::from_slice(&list).ok();
    let first = read.and_then(|list| list.data.first().map(|first| first.get().to_owned()));
    first.map_or(list, Bytes::from)
}
