//! Getting to the server: refused, black holes, names, TLS, proxies.

mod asking;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use asking::{SOON, config, post, transport, whole};
use majordomo_llm::{BoxFuture, Class, ErrorKind, Timer};
use majordomo_providers::transport::{Config, Outgoing, Proxies, Resolve, Timeouts, Transport};
use majordomo_testkit::{Authority, BlackHole, ClosedPort, Identity, Script, Upstream};
use tokio::time::Instant;

fn ok() -> Script {
    Script::new()
        .read_request()
        .answer(200, "application/json", "{}")
        .stall()
}

/// Answers every name with the same thing.
struct Always(fn() -> io::Result<Vec<SocketAddr>>);

impl Resolve for Always {
    fn resolve(&self, _: &str) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        Box::pin(std::future::ready((self.0)()))
    }
}

/// Gives these addresses, whatever the name.
struct These(Vec<SocketAddr>);

impl Resolve for These {
    fn resolve(&self, _: &str) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        Box::pin(std::future::ready(Ok(self.0.clone())))
    }
}

/// Never comes back.
struct Never;

impl Resolve for Never {
    fn resolve(&self, _: &str) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn u01_a_refused_connection_fails_at_once() {
    let port = ClosedPort::hold();
    let address = port.address();
    let began = Instant::now();
    let uri = format!("http://{address}/v1/chat?key=CANARY")
        .parse()
        .unwrap();
    let error = whole(&transport(), post(uri)).await.unwrap_err();
    // Far below the connect timer, on a busy machine too.
    assert!(began.elapsed() < Duration::from_secs(1));
    assert_eq!(error.kind(), ErrorKind::Connect);
    let expected = format!("could not connect to {address}: ");
    assert!(error.to_string().starts_with(&expected), "{error}");
    assert!(!error.to_string().contains("CANARY"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn u02_a_black_hole_runs_into_the_connect_timer() {
    let hole = BlackHole::open();
    let began = Instant::now();
    let uri = format!("http://{}/", hole.address()).parse().unwrap();
    let error = whole(&transport(), post(uri)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout(Timer::Connect));
    let waited = began.elapsed();
    assert!(waited >= Duration::from_secs(5) && waited < Duration::from_secs(6));
    let expected = format!(
        "{} did not let us connect within 5s (the connect timer)",
        hole.address()
    );
    assert_eq!(error.to_string(), expected);
}

#[tokio::test(start_paused = true)]
async fn u03_a_name_without_an_address_is_a_dns_error() {
    let failures: [fn() -> io::Result<Vec<SocketAddr>>; 2] =
        [|| Err(io::Error::other("no such host")), || Ok(Vec::new())];
    for failure in failures {
        let transport = Transport::new(config().resolver(Always(failure)));
        let uri = "https://api.invalid/v1".parse().unwrap();
        let error = whole(&transport, post(uri)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Dns, "{error}");
        assert!(error.to_string().contains("api.invalid:443"), "{error}");
        assert_eq!(error.class(), Class::Transient);
    }
}

#[tokio::test(start_paused = true)]
async fn u03_a_resolver_that_hangs_runs_into_the_connect_timer() {
    let transport = Transport::new(config().resolver(Never));
    let uri = "http://api.invalid/".parse().unwrap();
    let error = whole(&transport, post(uri)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout(Timer::Connect));
}

#[tokio::test]
async fn u03_the_other_address_family_is_tried() {
    let upstream = Upstream::start([ok()]).await;
    let port = upstream.address().port();
    // Nobody listens on the first one.
    let addresses = vec![
        SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], port)),
        upstream.address(),
    ];
    let transport = Transport::new(config().resolver(These(addresses)));
    let uri = format!("http://both.invalid:{port}/").parse().unwrap();
    assert_eq!(whole(&transport, post(uri)).await.unwrap(), "{}");
    let host = format!("both.invalid:{port}");
    assert_eq!(upstream.requests()[0].header("host"), Some(host.as_str()));
}

#[tokio::test(start_paused = true)]
async fn u03_a_dead_address_does_not_use_up_the_time_of_the_next_one() {
    let hole = BlackHole::open();
    let port = hole.address().port();
    let upstream = Upstream::start_at(&format!("[::1]:{port}"), [ok()]).await;
    let addresses = vec![hole.address(), upstream.address()];
    let transport = Transport::new(config().resolver(These(addresses)));
    let uri = format!("http://both.invalid:{port}/").parse().unwrap();
    let began = Instant::now();
    assert_eq!(whole(&transport, post(uri)).await.unwrap(), "{}");
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn an_ipv6_address_works() {
    let upstream = Upstream::start_at("[::1]:0", [ok()]).await;
    assert_eq!(
        whole(&transport(), post(upstream.uri("/"))).await.unwrap(),
        "{}"
    );
    let host = upstream.address().to_string();
    assert_eq!(upstream.requests()[0].header("host"), Some(host.as_str()));
}

fn trusting(authority: &Authority) -> Config {
    config().trust(authority.root())
}

async fn tls_error(script: Script) -> majordomo_llm::Error {
    let authority = Authority::new();
    let upstream = Upstream::start([script]).await;
    let transport = Transport::new(trusting(&authority));
    let answer = whole(&transport, post(upstream.secure_uri("/"))).await;
    answer.expect_err("the server is not to be trusted")
}

#[tokio::test]
async fn a_certificate_of_a_trusted_root_is_accepted() {
    let authority = Authority::new();
    let upstream = Upstream::start([Script::new()
        .start_tls(&authority.issue("localhost"))
        .read_request()
        .answer(200, "text/plain", "safe")
        .stall()])
    .await;
    let transport = Transport::new(trusting(&authority));
    let body = whole(&transport, post(upstream.secure_uri("/"))).await;
    assert_eq!(body.unwrap(), "safe");
}

#[tokio::test]
async fn u04_a_certificate_that_is_not_to_be_trusted_says_why() {
    let authority = Authority::new();
    let rows = [
        (authority.issue_expired("localhost"), "it has expired"),
        (
            authority.issue("elsewhere.example"),
            "it belongs to another host",
        ),
        (
            Identity::self_signed("localhost"),
            "nobody that this machine trusts has signed it",
        ),
        (
            Authority::new().issue("localhost"),
            "nobody that this machine trusts has signed it",
        ),
    ];
    for (identity, reason) in rows {
        let upstream = Upstream::start([Script::new().start_tls(&identity).stall()]).await;
        let transport = Transport::new(trusting(&authority));
        let answer = whole(&transport, post(upstream.secure_uri("/"))).await;
        let error = answer.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Tls, "{error}");
        assert_eq!(error.class(), Class::Tls);
        let port = upstream.address().port();
        let expected = format!("the certificate of localhost:{port} is not trusted: {reason}");
        assert_eq!(error.to_string(), expected);
        assert!(upstream.requests().is_empty());
    }
}

#[tokio::test]
async fn u04_plain_http_on_a_tls_port_is_said_to_be_so() {
    let error = tls_error(
        Script::new()
            .send("HTTP/1.1 400 Bad Request\r\n\r\n")
            .stall(),
    )
    .await;
    assert_eq!(error.kind(), ErrorKind::Tls, "{error}");
    assert!(error.to_string().contains("does not speak TLS"), "{error}");
}

#[tokio::test]
async fn u04_a_handshake_that_is_cut_is_a_connect_error() {
    for script in [Script::new(), Script::new().reset()] {
        let error = tls_error(script).await;
        assert_eq!(error.kind(), ErrorKind::Connect, "{error}");
    }
}

#[tokio::test]
async fn u04_a_handshake_that_stalls_runs_into_the_connect_timer() {
    let upstream = Upstream::start([Script::new().stall()]).await;
    let hurried = Timeouts {
        connect: Some(Duration::from_millis(50)),
        ..Timeouts::default()
    };
    let request = post(upstream.secure_uri("/")).timeouts(hurried);
    let error = whole(&transport(), request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout(Timer::Connect), "{error}");
    upstream.closed(0, SOON).await;
}

fn through(proxy: &Upstream, login: &str) -> Config {
    Config::default().proxies(Proxies::Fixed {
        proxy: format!("http://{login}{}", proxy.address()),
        except: String::new(),
    })
}

#[tokio::test]
async fn a_secure_address_is_reached_through_a_tunnel() {
    let authority = Authority::new();
    let proxy = Upstream::start([Script::new()
        .read_head()
        .send("HTTP/1.1 200 Connection established\r\n\r\n")
        .start_tls(&authority.issue("api.example"))
        .read_request()
        .answer(200, "text/plain", "through")
        .stall()])
    .await;
    let transport = Transport::new(through(&proxy, "me:secret@").trust(authority.root()));
    let uri = "https://api.example/v1/chat".parse().unwrap();
    assert_eq!(whole(&transport, post(uri)).await.unwrap(), "through");
    let requests = proxy.requests();
    assert!(requests[0].head.starts_with("CONNECT api.example:443 "));
    let login = requests[0].header("proxy-authorization");
    assert_eq!(login, Some("Basic bWU6c2VjcmV0"));
    assert!(requests[1].head.starts_with("POST /v1/chat HTTP/1.1"));
    assert_eq!(requests[1].header("proxy-authorization"), None);
}

#[tokio::test]
async fn a_plain_address_is_named_to_the_proxy_in_full() {
    let proxy = Upstream::start([ok()]).await;
    let transport = Transport::new(through(&proxy, "me:secret@"));
    let uri = "http://models.example:8080/v1/chat?x=1".parse().unwrap();
    assert_eq!(whole(&transport, post(uri)).await.unwrap(), "{}");
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
async fn a_proxy_that_refuses_is_named_as_the_culprit() {
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
        let transport = Transport::new(through(&proxy, ""));
        let uri = "https://api.example/".parse().unwrap();
        let error = whole(&transport, post(uri)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Connect);
        let expected = format!("the proxy did not connect us to api.example:443: {reason}");
        assert_eq!(error.to_string(), expected);
    }
}

#[tokio::test]
async fn a_socks_proxy_resolves_the_name_and_passes_our_bytes_on() {
    let name = b"models.example";
    let proxy = Upstream::start([Script::new()
        .read_bytes(3)
        .send(&b"\x05\x00"[..])
        .read_bytes(4 + 1 + name.len() + 2)
        .send(&b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50"[..])
        .read_request()
        .answer(200, "text/plain", "through")
        .stall()])
    .await;
    let transport = Transport::new(Config::default().proxies(Proxies::Fixed {
        proxy: format!("socks5h://{}", proxy.address()),
        except: String::new(),
    }));
    let uri = "http://models.example/v1".parse().unwrap();
    assert_eq!(whole(&transport, post(uri)).await.unwrap(), "through");
    let request = &proxy.requests()[0];
    assert!(request.head.starts_with("POST /v1 HTTP/1.1"));
    assert_eq!(request.header("host"), Some("models.example"));
}

#[tokio::test]
async fn a_loopback_address_never_goes_through_a_proxy() {
    let proxy = Upstream::start([Script::new()]).await;
    let upstream = Upstream::start([ok()]).await;
    let transport = Transport::new(through(&proxy, ""));
    let body = whole(&transport, post(upstream.uri("/"))).await;
    assert_eq!(body.unwrap(), "{}");
    assert!(proxy.connections().is_empty());
}

#[tokio::test]
async fn an_address_that_is_no_web_address_is_refused_before_connecting() {
    for uri in ["/v1/chat", "ftp://host/x"] {
        let request = Outgoing::get(uri.parse().unwrap());
        let error = whole(&transport(), request).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Spec, "{uri}");
    }
}
