//! What can be asked for, in each dialect's words.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use majordomo::{Capabilities, Error, ErrorKind, ModelInfo, Result};
use majordomo_wire::ollama;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::generate::{json, unreadable};
use crate::admitted::AdmittedRequest;
use crate::clock::unix_now;
use crate::fronts::Front;
use crate::respond::refuse;
use crate::response_body::Body;
use crate::state::GatewayState;

/// Clients look for features by version; this one has all that we serve.
const OLLAMA_VERSION: &str = "0.34.4";

/// Every route, alias and known target that the client may use.
pub(crate) async fn list(
    state: &Arc<GatewayState>,
    front: Front,
    admitted: AdmittedRequest,
) -> Response<Body> {
    let models = state.models(&admitted).await;
    done(
        admitted,
        json(front.codec().write_models(&models, unix_now())),
    )
}

/// One model of the list.
pub(crate) async fn one(
    state: &Arc<GatewayState>,
    front: Front,
    id: String,
    admitted: AdmittedRequest,
) -> Response<Body> {
    match info(state, &id, &admitted).await {
        Ok(model) => {
            let list = front.codec().write_models(&[model], unix_now());
            done(admitted, json(single(list)))
        }
        Err(error) => refuse(front, admitted.exchange, error),
    }
}

/// Ollama's list has the same content under another name.
pub(crate) async fn tags(state: &Arc<GatewayState>, admitted: AdmittedRequest) -> Response<Body> {
    list(state, Front::OllamaChat, admitted).await
}

/// One model as Ollama tells about it.
pub(crate) async fn show(state: &Arc<GatewayState>, admitted: AdmittedRequest) -> Response<Body> {
    let asked = ollama::read_show_request(&admitted.body).map_err(unreadable);
    let told = match asked {
        Ok(model) => info(state, &model, &admitted).await,
        Err(error) => Err(error),
    };
    match told {
        Ok(model) => done(admitted, json(ollama::write_show(&model, unix_now()))),
        Err(error) => refuse(Front::OllamaChat, admitted.exchange, error),
    }
}

/// The version that Ollama's clients ask for before anything else.
pub(crate) fn version(admitted: AdmittedRequest) -> Response<Body> {
    done(admitted, json(ollama::write_version(OLLAMA_VERSION)))
}

fn done(mut admitted: AdmittedRequest, answer: Response<Body>) -> Response<Body> {
    admitted.exchange.complete(majordomo::Usage::default());
    answer
}

async fn info(
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
        .ok_or_else(|| Error::new(ErrorKind::ModelNotFound, "the chain is empty"))
}

/// The only element of a list that was just written.
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
