//! Requests without a conversation, with which Ollama's clients load a model.
//!
//! Targets of other dialects have nothing to load, and would reject them.

use http::Response;
use majordomo::llm::FinishReason;
use majordomo::{Chain, Request, Usage};
use majordomo_wire::Protocol;

use super::generate::json;
use crate::admitted::AdmittedRequest;
use crate::fronts::Front;
use crate::relay::{ReplyOptions, reply};
use crate::request_id::new_id;
use crate::response_body::Body;
use crate::response_headers;
use crate::shapes::lacks_conversation;

/// Whether a request does nothing but load a model, and a target has none to load.
pub(super) fn loads_nothing(front: Front, request: &Request, chain: &Chain) -> bool {
    front.dialect() == Protocol::Ollama.dialect()
        && lacks_conversation(request)
        && !chain.speaks(&front.dialect())
}

/// What Ollama answers once a model is loaded: one object, also in a stream.
pub(super) fn loaded(
    front: Front,
    options: &ReplyOptions,
    mut admitted: AdmittedRequest,
) -> Response<Body> {
    let exchange = &mut admitted.exchange;
    exchange.complete(Usage::default());
    let mut response = majordomo::Response::new(Vec::new());
    response.finish = FinishReason::Other("load".to_owned());
    let reply = reply(front, &new_id(), exchange.model(), options);
    let mut http_response = json(front.codec().write_response(&response, &reply).body);
    response_headers::describe(http_response.headers_mut(), front, exchange);
    http_response
}
