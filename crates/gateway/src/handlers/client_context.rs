//! The context of a client's request: headers of its dialect, the client's own credential with
//! a provider, its trace.

use http::HeaderMap;
use majordomo::Request;
use majordomo::llm::{CallContext, ClientCredential};

use crate::admitted::AdmittedRequest;
use crate::fronts::{Front, forwarded_headers};
use crate::keys::GATEWAY_KEY;
use crate::state::GatewayState;

/// Headers that carry credentials of providers. Codex names the account of its login.
const CREDENTIALS: [&str; 4] = [
    "authorization",
    "x-api-key",
    "x-goog-api-key",
    "chatgpt-account-id",
];

/// Adds the data from the client's headers.
pub(super) fn with_client_context(
    request: Request,
    front: Front,
    state: &GatewayState,
    admitted: &AdmittedRequest,
) -> Request {
    let request = request.client_headers(forwarded_headers(&admitted.headers));
    client_context(front, state, admitted).add_to(request)
}

/// The client's own credential and its trace, for calls other than chats.
pub(super) fn client_context(
    front: Front,
    state: &GatewayState,
    admitted: &AdmittedRequest,
) -> CallContext {
    CallContext::new(
        client_credential(front, &admitted.headers),
        state.trace_headers(admitted),
    )
}

/// The credential of a client that presents its gateway key in the separate header. Other
/// clients have none: their usual header holds the gateway's key, or a placeholder.
fn client_credential(front: Front, headers: &HeaderMap) -> Option<ClientCredential> {
    headers.get(&GATEWAY_KEY)?;
    let sent = CREDENTIALS.into_iter().filter_map(|name| {
        let value = headers.get(name)?.to_str().ok()?.trim();
        (!value.is_empty()).then(|| (name, value.to_owned()))
    });
    let sent: Vec<_> = sent.collect();
    let named = sent.iter().any(|(name, _)| *name != CREDENTIALS[3]);
    named.then(|| ClientCredential::new(front.dialect(), sent))
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn found(headers: &[(&'static str, &str)]) -> Option<usize> {
        let pair = |(name, value): &(&'static str, &str)| {
            let value = HeaderValue::from_str(value).unwrap();
            (HeaderName::from_static(name), value)
        };
        let headers: HeaderMap = headers.iter().map(pair).collect();
        let credential = client_credential(Front::Messages, &headers)?;
        assert!(!format!("{credential:?}").contains("CANARY"));
        Some(credential.headers().len())
    }

    #[test]
    fn a_credential_is_found_only_beside_a_gateway_key() {
        let key = (GATEWAY_KEY.as_str(), "ours");
        let bearer = ("authorization", "Bearer CANARY");
        for (headers, expected) in [
            (&[bearer][..], None),
            (&[key], None),
            (&[key, bearer], Some(1)),
            (&[key, ("x-api-key", "CANARY")], Some(1)),
            (&[key, ("authorization", " ")], None),
            (&[key, ("chatgpt-account-id", "a")], None),
            (&[key, bearer, ("chatgpt-account-id", "a")], Some(2)),
        ] {
            assert_eq!(found(headers), expected, "{headers:?}");
        }
    }
}
