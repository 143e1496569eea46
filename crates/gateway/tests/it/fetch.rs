//! The fetcher of remote images, on loopback with a test resolver. The command's tests
//! check that it uses no proxy.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use majordomo::llm::RemoteImage;
use majordomo::transport::Resolve;
use majordomo::{BoxFuture, Part, Request};
use majordomo_gateway::config::FetchSettings;
use majordomo_gateway::{AddressPolicy, FetchError, Fetcher, is_public};
use majordomo_testkit::{ClosedPort, Script, Upstream};

const GIF: &[u8] = b"GIF89a\x20\x00\x10\x00\x00\x00\x00;";

/// `here.test` is the permitted address, `mixed.test` is that and a private one,
/// `inside.test` is another loopback address.
struct Names;

impl Resolve for Names {
    fn resolve(&self, host: &str) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        let addresses: &[[u8; 4]] = match host {
            "here.test" => &[[127, 0, 0, 1]],
            "mixed.test" => &[[10, 0, 0, 1], [127, 0, 0, 1]],
            "inside.test" => &[[127, 0, 0, 2]],
            _ => &[],
        };
        let addresses: Vec<SocketAddr> = addresses
            .iter()
            .map(|ip| SocketAddr::from((*ip, 0)))
            .collect();
        Box::pin(std::future::ready(Ok(addresses)))
    }
}

/// Stands for the public internet: the one address that the upstreams listen on.
fn only_here(address: IpAddr) -> bool {
    address == IpAddr::V4(Ipv4Addr::LOCALHOST)
}

fn fetcher_that(allows: AddressPolicy) -> Fetcher {
    let settings = FetchSettings::default()
        .with_enabled(true)
        .with_max_bytes(1_000);
    Fetcher::reaching(settings, Names, allows)
}

fn fetcher() -> Fetcher {
    fetcher_that(only_here)
}

fn sends(content_type: &str, body: &'static [u8]) -> Script {
    Script::new()
        .read_request()
        .respond(200, content_type, body)
}

fn redirects(to: &str) -> Script {
    let head = format!("HTTP/1.1 302 Detected\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n");
    Script::new().read_request().send(head)
}

fn at(upstream: &Upstream, host: &str) -> String {
    format!(
        "http://{host}:{}/a/b.gif?key=CANARY",
        upstream.address().port()
    )
}

async fn refusal(fetcher: &Fetcher, url: &str) -> FetchError {
    let error = fetcher.fetch(url).await.expect_err("a refusal");
    assert!(!error.to_string().contains("CANARY"), "{error}");
    error
}

#[tokio::test]
async fn a_fetched_image_is_identified_by_its_bytes() {
    for declared in ["image/png", "application/octet-stream"] {
        let upstream = Upstream::start([sends(declared, GIF)]).await;
        let image = fetcher().fetch(&at(&upstream, "here.test")).await.unwrap();
        assert_eq!((&*image.media_type, &image.data[..]), ("image/gif", GIF));
        let head = upstream.requests()[0].head.to_lowercase();
        assert!(
            head.starts_with("get /a/b.gif?key=canary http/1.1"),
            "{head}"
        );
        assert!(
            !head.contains("authorization") && !head.contains("cookie"),
            "{head}"
        );
    }
}

#[tokio::test]
async fn nothing_is_fetched_unless_fetching_is_enabled() {
    let off = Fetcher::reaching(FetchSettings::default(), Names, only_here);
    let error = refusal(&off, "http://here.test/a.gif").await;
    assert_eq!(error, FetchError::Disabled);
    assert!(error.to_string().contains("[fetch]"));
}

#[tokio::test]
async fn addresses_that_are_not_public_are_never_connected_to() {
    let upstream = Upstream::start([sends("image/gif", GIF)]).await;
    let public_only = fetcher_that(is_public);
    for host in [
        "here.test",
        "mixed.test",
        "127.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
    ] {
        let error = refusal(&public_only, &at(&upstream, host)).await;
        assert!(
            matches!(error, FetchError::Forbidden { .. }),
            "{host}: {error:?}"
        );
    }
    assert!(upstream.connections().is_empty());
}

#[tokio::test]
async fn a_name_with_any_private_address_is_rejected() {
    let upstream = Upstream::start([sends("image/gif", GIF)]).await;
    let error = refusal(&fetcher(), &at(&upstream, "mixed.test")).await;
    assert!(matches!(error, FetchError::Forbidden { .. }), "{error:?}");
    assert!(upstream.connections().is_empty());
}

/// Resolves to the permitted address first, and to a private one afterwards.
struct Rebinding(Arc<AtomicUsize>);

impl Resolve for Rebinding {
    fn resolve(&self, _host: &str) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        let last = match self.0.fetch_add(1, Ordering::Relaxed) {
            0 => 1,
            _ => 2,
        };
        let address = SocketAddr::from(([127, 0, 0, last], 0));
        Box::pin(std::future::ready(Ok(vec![address])))
    }
}

#[tokio::test]
async fn the_connection_uses_the_address_that_was_checked() {
    let upstream = Upstream::start([sends("image/gif", GIF)]).await;
    let lookups = Arc::<AtomicUsize>::default();
    let settings = FetchSettings::default().with_enabled(true);
    let fetcher = Fetcher::reaching(settings, Rebinding(Arc::clone(&lookups)), only_here);
    assert!(fetcher.fetch(&at(&upstream, "any.test")).await.is_ok());
    assert_eq!(lookups.load(Ordering::Relaxed), 1);
    assert_eq!(upstream.connections().len(), 1);
}

#[tokio::test]
async fn every_spelling_of_loopback_is_rejected() {
    let settings = FetchSettings::default().with_enabled(true);
    // The system resolver parses these spellings without a DNS query.
    let real = Fetcher::new(settings);
    for host in [
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "127.1",
        "127.0.0.1",
        "0",
        "localhost",
        "[::1]",
        "[::]",
        "[::ffff:7f00:1]",
    ] {
        let error = refusal(&real, &format!("http://{host}/a.gif")).await;
        assert!(
            matches!(error, FetchError::Forbidden { .. }),
            "{host}: {error:?}"
        );
    }
}

#[tokio::test]
async fn only_ports_80_and_443_are_connected_to() {
    let settings = FetchSettings::default().with_enabled(true);
    let fetcher = Fetcher::reaching(settings, Names, only_here).web_only();
    for port in [22, 25, 6379, 8080, 9200] {
        let error = refusal(&fetcher, &format!("http://here.test:{port}/a.gif")).await;
        assert_eq!(error, FetchError::Port, "{port}");
    }
    // A redirect is checked like the first URL.
    let upstream = Upstream::start([redirects("http://here.test:22/")]).await;
    let error = refusal(&fetcher, &at(&upstream, "here.test")).await;
    assert_eq!(error, FetchError::Port);
    assert!(upstream.connections().is_empty());
}

#[tokio::test]
async fn a_refusal_does_not_reveal_whether_an_internal_port_is_open() {
    let open = Upstream::start([sends("image/gif", GIF)]).await;
    let closed = ClosedPort::hold();
    let public_only = fetcher_that(is_public);
    let url = |port: u16| format!("http://here.test:{port}/a.gif");
    let reported = refusal(&public_only, &url(open.address().port())).await;
    let other = refusal(&public_only, &url(closed.address().port())).await;
    assert_eq!(reported.to_string(), other.to_string());
    assert!(!reported.to_string().contains("127.0.0.1"), "{reported}");
}

#[tokio::test]
async fn a_request_cannot_use_the_gateway_to_flood_a_host() {
    let mute = Script::new().read_request().stall();
    let upstream = Upstream::start([mute]).await;
    let asking = |count: usize| {
        let remote = |n: usize| {
            Part::RemoteImage(RemoteImage {
                url: format!("{}&n={n}", at(&upstream, "here.test")),
                native: None,
            })
        };
        (0..count).fold(Request::user("look"), |request, n| request.part(remote(n)))
    };
    let error = fetcher().fetch_all(asking(21)).await;
    assert!(
        matches!(error, Err(FetchError::TooMany { limit: 20 })),
        "{error:?}"
    );
    assert!(upstream.connections().is_empty());
    let fetcher = fetcher();
    let request = asking(20);
    let fetching = tokio::spawn(async move { fetcher.fetch_all(request).await.map(drop) });
    upstream.wait_for_requests(4, Duration::from_secs(30)).await;
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(upstream.connections().len(), 4);
    fetching.abort();
}

#[tokio::test]
async fn a_redirect_to_a_permitted_address_is_followed() {
    for location in [
        "/c.gif",
        "c.gif",
        "//here.test:{port}/c.gif",
        "http://here.test:{port}/c.gif",
    ] {
        let last = Upstream::start([sends("image/gif", GIF)]).await;
        let port = last.address().port().to_string();
        let first = match location.contains("{port}") {
            true => Upstream::start([redirects(&location.replace("{port}", &port))]).await,
            false => Upstream::start([redirects(location), sends("image/gif", GIF)]).await,
        };
        let image = fetcher().fetch(&at(&first, "here.test")).await;
        assert!(image.is_ok(), "{location}: {image:?}");
    }
}

#[tokio::test]
async fn a_redirect_to_a_private_address_is_rejected() {
    for host in ["127.0.0.2", "inside.test", "[::1]"] {
        let inside = Upstream::start([sends("image/gif", GIF)]).await;
        let port = inside.address().port();
        let outside = Upstream::start([redirects(&format!("http://{host}:{port}/"))]).await;
        let error = refusal(&fetcher(), &at(&outside, "here.test")).await;
        assert!(
            matches!(error, FetchError::Forbidden { .. }),
            "{host}: {error:?}"
        );
        assert!(inside.connections().is_empty());
    }
}

#[tokio::test]
async fn redirects_are_limited() {
    let script = || redirects("/again");
    let upstream = Upstream::start([script(), script(), script(), script(), script()]).await;
    let error = refusal(&fetcher(), &at(&upstream, "here.test")).await;
    assert_eq!(error, FetchError::TooManyRedirects { limit: 3 });
    assert_eq!(upstream.requests().len(), 4);
}

#[tokio::test]
async fn an_oversized_image_is_rejected_by_its_head_or_while_reading() {
    let announced = Script::new()
        .read_request()
        .send("HTTP/1.1 200 OK\r\ncontent-type: image/gif\r\ncontent-length: 1001\r\n\r\n")
        .stall();
    let endless = Script::new()
        .read_request()
        .send("HTTP/1.1 200 OK\r\ncontent-type: image/gif\r\n\r\n")
        .flood(GIF);
    for script in [announced, endless] {
        let upstream = Upstream::start([script]).await;
        let error = refusal(&fetcher(), &at(&upstream, "here.test")).await;
        assert_eq!(error, FetchError::TooLarge { limit: 1_000 });
    }
}

#[tokio::test]
async fn a_response_that_is_not_an_image_is_rejected() {
    for (content_type, body, kind) in [
        (
            "text/html; charset=utf-8",
            &b"<html>"[..],
            "text/html; charset=utf-8",
        ),
        ("image/png", b"<html>", "something else"),
        (
            "image/svg+xml",
            b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>",
            "something else",
        ),
    ] {
        let upstream = Upstream::start([sends(content_type, body)]).await;
        let error = refusal(&fetcher(), &at(&upstream, "here.test")).await;
        let reported = FetchError::NoImage {
            host: "here.test".to_owned(),
            kind: kind.to_owned(),
        };
        assert_eq!(error, reported);
    }
}

#[tokio::test]
async fn a_failing_or_unresolvable_server_is_named() {
    let upstream =
        Upstream::start([Script::new()
            .read_request()
            .respond(404, "text/plain", "CANARY")])
        .await;
    let error = refusal(&fetcher(), &at(&upstream, "here.test")).await;
    let reported = FetchError::Status {
        host: "here.test".to_owned(),
        status: 404,
    };
    assert_eq!(error, reported);
    let error = refusal(&fetcher(), "http://nowhere.test/CANARY").await;
    assert!(error.to_string().contains("nowhere.test"), "{error}");
}

#[tokio::test]
async fn a_server_that_never_finishes_times_out() {
    let upstream = Upstream::start([Script::new().read_request().stall()]).await;
    let settings = FetchSettings::default()
        .with_enabled(true)
        .with_timeout(Duration::from_millis(50));
    let fetcher = Fetcher::reaching(settings, Names, only_here);
    let error = refusal(&fetcher, &at(&upstream, "here.test")).await;
    assert!(matches!(error, FetchError::TooSlow { .. }), "{error:?}");
}

#[tokio::test]
async fn urls_of_other_schemes_or_forms_are_rejected() {
    for url in [
        "file:///etc/passwd",
        "ftp://here.test/a.gif",
        "http://me:CANARY@here.test/a.gif",
        "gopher://here.test",
        "/a.gif",
        "http://",
        "",
        "//here.test/a.gif",
        "data:image/gif;base64,R0lG",
        "http://ok\\@here.test/a.gif",
        "http://here.test/\r\nhost: other",
        "http://here\t.test/a.gif",
        "http://\u{2460}\u{2461}\u{2466}.\u{24ea}.\u{24ea}.\u{2460}/",
        "javascript:alert(1)",
    ] {
        assert_eq!(
            refusal(&fetcher(), url).await,
            FetchError::BadAddress,
            "{url}"
        );
    }
}

#[tokio::test]
async fn every_image_of_a_request_is_fetched_once_per_url() {
    let upstream = Upstream::start([sends("image/gif", GIF)]).await;
    let remote = Part::RemoteImage(RemoteImage {
        url: at(&upstream, "here.test"),
        native: None,
    });
    let request = Request::user("look").part(remote.clone()).part(remote);
    let filled = fetcher().fetch_all(request.clone()).await.unwrap();
    let images = filled.prompt().messages[0]
        .parts
        .iter()
        .filter(|part| matches!(part, Part::Image(_)));
    assert_eq!(images.count(), 2);
    assert_eq!(upstream.requests().len(), 1);

    let plain = Request::user("hi");
    assert!(
        fetcher()
            .fetch_all(plain.clone())
            .await
            .unwrap()
            .same_prompt(&plain)
    );
}
