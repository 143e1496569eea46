//! Failures to connect: refused connections, black holes, DNS, TLS, proxies.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use crate::support::{SOON, config, post, send_buffered, transport};
use majordomo_llm::{BoxFuture, Class, ErrorKind, Timer};
use majordomo_providers::transport::{
    Proxies, Resolve, Timeouts, Transport, TransportConfig, TransportRequest,
};
use majordomo_testkit::{Authority, BlackHole, ClosedPort, Identity, Script, Upstream};
use tokio::time::Instant;

fn ok() -> Script {
    Script::new()
        .read_request()
        .respond(200, "application/json", "{}")
        .stall()
}

/// Resolves every name to the same result.
struct FixedResult(fn() -> io::Result<Vec<SocketAddr>>);

impl Resolve for FixedResult {
    fn resolve(&self, _: &str) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        Box::pin(std::future::ready((self.0)()))
    }
}

/// Resolves every name to these addresses.
struct FixedAddresses(Vec<SocketAddr>);

impl Resolve for FixedAddresses {
    fn resolve(&self, _: &str) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        Box::pin(std::future::ready(Ok(self.0.clone())))
    }
}

/// Never resolves.
struct HangingResolver;

impl Resolve for HangingResolver {
    fn resolve(&self, _: &str) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_refused_connection_fails_immediately() {
    let port = ClosedPort::hold();
    let address = port.address();
    let began = Instant::now();
    let uri = format!("http://{address}/v1/chat?key=CANARY")
        .parse()
        .unwrap();
    let error = send_buffered(&transport(), post(uri)).await.unwrap_err();
    // Far below the connect timeout, even on a busy machine.
    assert!(began.elapsed() < Duration::from_secs(1));
    assert_eq!(error.kind(), ErrorKind::Connect);
    let expected = format!("could not connect to {address}: ");
    assert!(error.to_string().starts_with(&expected), "{error}");
    assert!(!error.to_string().contains("CANARY"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_black_hole_hits_the_connect_timeout() {
    let hole = BlackHole::open();
    let began = Instant::now();
    let uri = format!("http://{}/", hole.address()).parse().unwrap();
    let error = send_buffered(&transport(), post(uri)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout(Timer::Connect));
    let waited = began.elapsed();
    assert!(waited >= Duration::from_secs(5) && waited < Duration::from_secs(6));
    let expected = format!(
        "{} did not accept a connection within 5s (connect timeout)",
        hole.address()
    );
    assert_eq!(error.to_string(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_name_without_an_address_is_a_dns_error() {
    let failures: [fn() -> io::Result<Vec<SocketAddr>>; 2] =
        [|| Err(io::Error::other("no such host")), || Ok(Vec::new())];
    for failure in failures {
        let transport = Transport::new(config().resolver(FixedResult(failure)));
        let uri = "https://api.invalid/v1".parse().unwrap();
        let error = send_buffered(&transport, post(uri)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Dns, "{error}");
        assert!(error.to_string().contains("api.invalid:443"), "{error}");
        assert_eq!(error.class(), Class::Transient);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hanging_resolver_hits_the_connect_timeout() {
    let transport = Transport::new(config().resolver(HangingResolver));
    let uri = "http://api.invalid/".parse().unwrap();
    let error = send_buffered(&transport, post(uri)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout(Timer::Connect));
}

#[tokio::test]
async fn the_other_address_family_is_tried() {
    let upstream = Upstream::start([ok()]).await;
    let port = upstream.address().port();
    // Nothing listens on the first address.
    let addresses = vec![
        SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], port)),
        upstream.address(),
    ];
    let transport = Transport::new(config().resolver(FixedAddresses(addresses)));
    let uri = format!("http://both.invalid:{port}/").parse().unwrap();
    assert_eq!(send_buffered(&transport, post(uri)).await.unwrap(), "{}");
    let host = format!("both.invalid:{port}");
    assert_eq!(upstream.requests()[0].header("host"), Some(host.as_str()));
}

#[tokio::test(start_paused = true)]
async fn a_dead_address_does_not_exhaust_the_connect_timeout() {
    let hole = BlackHole::open();
    let port = hole.address().port();
    let upstream = Upstream::start_at(&format!("[::1]:{port}"), [ok()]).await;
    let addresses = vec![hole.address(), upstream.address()];
    let transport = Transport::new(config().resolver(FixedAddresses(addresses)));
    let uri = format!("http://both.invalid:{port}/").parse().unwrap();
    let began = Instant::now();
    assert_eq!(send_buffered(&transport, post(uri)).await.unwrap(), "{}");
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn an_ipv6_address_works() {
    let upstream = Upstream::start_at("[::1]:0", [ok()]).await;
    assert_eq!(
        send_buffered(&transport(), post(upstream.uri("/")))
            .await
            .unwrap(),
        "{}"
    );
    let host = upstream.address().to_string();
    assert_eq!(upstream.requests()[0].header("host"), Some(host.as_str()));
}

fn trusting(authority: &Authority) -> TransportConfig {
    config().trust(authority.root())
}

async fn tls_error(script: Script) -> majordomo_llm::Error {
    let authority = Authority::new();
    let upstream = Upstream::start([script]).await;
    let transport = Transport::new(trusting(&authority));
    let response = send_buffered(&transport, post(upstream.secure_uri("/"))).await;
    response.expect_err("the server is untrusted")
}

#[tokio::test]
async fn a_certificate_from_a_trusted_root_is_accepted() {
    let authority = Authority::new();
    let upstream = Upstream::start([Script::new()
        .start_tls(&authority.issue("localhost"))
        .read_request()
        .respond(200, "text/plain", "safe")
        .stall()])
    .await;
    let transport = Transport::new(trusting(&authority));
    let body = send_buffered(&transport, post(upstream.secure_uri("/"))).await;
    assert_eq!(body.unwrap(), "safe");
}

#[tokio::test]
async fn an_untrusted_certificate_is_reported_with_its_reason() {
    let authority = Authority::new();
    let rows = [
        (authority.issue_expired("localhost"), "it has expired"),
        (
            authority.issue("elsewhere.example"),
            "it was issued for another host",
        ),
        (Identity::self_signed("localhost"), "its issuer is unknown"),
        (Authority::new().issue("localhost"), "its issuer is unknown"),
    ];
    for (identity, reason) in rows {
        let upstream = Upstream::start([Script::new().start_tls(&identity).stall()]).await;
        let transport = Transport::new(trusting(&authority));
        let response = send_buffered(&transport, post(upstream.secure_uri("/"))).await;
        let error = response.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Tls, "{error}");
        assert_eq!(error.class(), Class::Tls);
        let port = upstream.address().port();
        let expected = format!("the certificate of localhost:{port} is not trusted: {reason}");
        assert_eq!(error.to_string(), expected);
        assert!(upstream.requests().is_empty());
    }
}

#[tokio::test]
async fn plain_http_on_a_tls_port_is_reported() {
    let error = tls_error(
        Script::new()
            .send("HTTP/1.1 400 Bad Request\r\n\r\n")
            .stall(),
    )
    .await;
    assert_eq!(error.kind(), ErrorKind::Tls, "{error}");
    assert!(
        error.to_string().contains("did not respond with TLS"),
        "{error}"
    );
}

#[tokio::test]
async fn an_interrupted_tls_handshake_is_a_connect_error() {
    for script in [Script::new(), Script::new().reset()] {
        let error = tls_error(script).await;
        assert_eq!(error.kind(), ErrorKind::Connect, "{error}");
    }
}

#[tokio::test]
async fn a_stalled_tls_handshake_hits_the_connect_timeout() {
    let upstream = Upstream::start([Script::new().stall()]).await;
    let short_timeout = Timeouts::default().with_connect(Duration::from_millis(50));
    let request = post(upstream.secure_uri("/")).timeouts(short_timeout);
    let error = send_buffered(&transport(), request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout(Timer::Connect), "{error}");
    upstream.closed(0, SOON).await;
}

fn via_proxy(proxy: &Upstream, login: &str) -> TransportConfig {
    TransportConfig::default().proxies(Proxies::Fixed {
        proxy: format!("http://{login}{}", proxy.address()),
        no_proxy: String::new(),
    })
}

#[tokio::test]
async fn an_https_origin_is_reached_through_a_connect_tunnel() {
    let authority = Authority::new();
    let proxy = Upstream::start([Script::new()
        .read_head()
        .send("HTTP/1.1 200 Connection established\r\n\r\n")
        .start_tls(&authority.issue("api.example"))
        .read_request()
        .respond(200, "text/plain", "through")
        .stall()])
    .await;
    let transport = Transport::new(via_proxy(&proxy, "me:secret@").trust(authority.root()));
    let uri = "https://api.example/v1/chat".parse().unwrap();
    assert_eq!(
        send_buffered(&transport, post(uri)).await.unwrap(),
        "through"
    );
    let requests = proxy.requests();
    assert!(requests[0].head.starts_with("CONNECT api.example:443 "));
    let login = requests[0].header("proxy-authorization");
    assert_eq!(login, Some("Basic bWU6c2VjcmV0"));
    assert!(requests[1].head.starts_with("POST /v1/chat HTTP/1.1"));
    assert_eq!(requests[1].header("proxy-authorization"), None);
}

#[tokio::test]
async fn a_forward_proxy_receives_the_absolute_form() {
    let proxy = Upstream::start([ok()]).await;
    let transport = Transport::new(via_proxy(&proxy, "me:secret@"));
    let uri = "http://models.example:8080/v1/chat?x=1".parse().unwrap();
    assert_eq!(send_buffered(&transport, post(uri)).await.unwrap(), "{}");
    let request = &proxy.requests()[0];
    let line = "POST http://models.example:8080/v1/chat?x=1 HTTP/1.1";
    assert_eq!(request.head.lines().next(), Some(line));
    assert_eq!(request.header("host"), Some("models.example:8080"));
    assert_eq!(
        request.header("proxy-authorization"),
        Some("Basic bWU6c2VjcmV0")
    );
}

#[tokio::test]
async fn a_refusal_by_the_proxy_is_attributed_to_the_proxy() {
    let rows = [
        (
            "407 Proxy Authentication Required",
            "proxy authorization required",
        ),
        ("403 Forbidden", "unsuccessful"),
    ];
    for (status, reason) in rows {
        let proxy = Upstream::start([Script::new()
            .read_head()
            .send(format!("HTTP/1.1 {status}\r\n\r\n"))
            .stall()])
        .await;
        let transport = Transport::new(via_proxy(&proxy, ""));
        let uri = "https://api.example/".parse().unwrap();
        let error = send_buffered(&transport, post(uri)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Connect);
        let expected = format!("the proxy did not connect to api.example:443: {reason}");
        assert_eq!(error.to_string(), expected);
    }
}

#[tokio::test]
async fn a_socks5h_proxy_resolves_the_name_and_relays_bytes() {
    let name = b"models.example";
    let proxy = Upstream::start([Script::new()
        .read_bytes(3)
        .send(&b"\x05\x00"[..])
        .read_bytes(4 + 1 + name.len() + 2)
        .send(&b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50"[..])
        .read_request()
        .respond(200, "text/plain", "through")
        .stall()])
    .await;
    let transport = Transport::new(TransportConfig::default().proxies(Proxies::Fixed {
        proxy: format!("socks5h://{}", proxy.address()),
        no_proxy: String::new(),
    }));
    let uri = "http://models.example/v1".parse().unwrap();
    assert_eq!(
        send_buffered(&transport, post(uri)).await.unwrap(),
        "through"
    );
    let request = &proxy.requests()[0];
    assert!(request.head.starts_with("POST /v1 HTTP/1.1"));
    assert_eq!(request.header("host"), Some("models.example"));
}

#[tokio::test]
async fn a_loopback_address_bypasses_the_proxy() {
    let proxy = Upstream::start([Script::new()]).await;
    let upstream = Upstream::start([ok()]).await;
    let transport = Transport::new(via_proxy(&proxy, ""));
    let body = send_buffered(&transport, post(upstream.uri("/"))).await;
    assert_eq!(body.unwrap(), "{}");
    assert!(proxy.connections().is_empty());
}

#[tokio::test]
async fn a_uri_without_http_scheme_and_host_is_rejected_before_connecting() {
    for uri in ["/v1/chat", "ftp://host/x"] {
        let request = TransportRequest::get(uri.parse().unwrap());
        let error = send_buffered(&transport(), request).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Spec, "{uri}");
    }
}
