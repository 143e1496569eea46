//! Client requests and upstream responses.

use std::net::SocketAddr;

use majordomo_testkit::{Script, Upstream};

/// The client's key, and the gateway's upstream key.
pub(crate) const CLIENT_KEY: &str = "CANARY-client-key";
pub(crate) const UPSTREAM_KEY: &str = "CANARY-upstream-key";
/// A prompt. Only the client may get it back.
pub(crate) const PROMPT: &str = "MARKER-of-a-prompt";

/// A POST request with a body.
pub(crate) fn post(path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
}

/// A Chat request.
pub(crate) fn chat_request(model: &str, stream: bool) -> String {
    let body = format!(
        r#"{{"model":"{model}","stream":{stream},"messages":[{{"role":"user","content":"{PROMPT}"}}]}}"#
    );
    let headers = format!("connection: close\r\nauthorization: Bearer {CLIENT_KEY}\r\n");
    post("/v1/chat/completions", &headers, &body)
}

/// A provider `up` at this upstream, with a canary as its key.
pub(crate) fn provider(upstream: &Upstream) -> String {
    provider_at(upstream.address())
}

/// The same at another address.
pub(crate) fn provider_at(address: SocketAddr) -> String {
    format!(
        "[providers.up]\nkind = \"openai\"\nbase_url = \"http://{address}\"\napi_key = \"{UPSTREAM_KEY}\"\n"
    )
}

/// One event of a stream.
pub(crate) const EVENT: &str = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"},\"finish_reason\":null}]}\n\n";

/// An upstream whose stream starts and then stalls.
pub(crate) async fn standing_still(count: usize) -> Upstream {
    let script = Script::new()
        .read_request()
        .stream_head()
        .chunk(EVENT)
        .stall();
    Upstream::start(vec![script; count]).await
}

/// A header's value in a raw response.
pub(crate) fn header<'a>(response: &'a str, name: &str) -> Option<&'a str> {
    let head = response.split("\r\n\r\n").next()?;
    let mut headers = head.lines().filter_map(|line| line.split_once(": "));
    headers
        .find(|(n, _)| n.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
}

/// The status of each response on a connection, in order.
pub(crate) fn statuses(responses: &str) -> Vec<u16> {
    let found = responses.split("HTTP/1.1 ").skip(1);
    found
        .filter_map(|rest| rest.get(..3)?.parse().ok())
        .collect()
}
