//! Table-driven tests of the boundary: Host × Origin × Sec-Fetch-Site × keys × listener.

use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use proptest::prelude::*;

use super::*;

const SITE: &str = "https://chat.example";

fn origins() -> Origins {
    let mut origins = Origins::default();
    for origin in [SITE, "chrome-extension://"] {
        origins.add(origin).unwrap();
    }
    origins
}

fn headers(lines: &[(&str, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in lines {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        map.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    map
}

fn check(boundary: Boundary<'_>, lines: &[(&str, &str)]) -> Result<Caller, BoundaryRefusal> {
    boundary.check(&Method::POST, &Uri::from_static("/"), &headers(lines))
}

/// The relevant headers of clients other than web pages.
const PROGRAMS: [&[(&str, &str)]; 8] = [
    // curl -d, Python's and Go's SDKs
    &[],
    &[("content-type", "application/x-www-form-urlencoded")],
    &[
        ("content-type", "text/plain"),
        ("referer", "https://evil.example/"),
    ],
    // Node's fetch, and so every SDK and IDE extension on it
    &[("sec-fetch-mode", "cors"), ("accept-language", "*")],
    // Electron's net.fetch, outside of any page
    &[
        ("sec-fetch-site", "none"),
        ("sec-fetch-mode", "no-cors"),
        ("sec-fetch-dest", "empty"),
    ],
    // pages of desktop apps
    &[
        ("origin", "app://obsidian.md"),
        ("sec-fetch-site", "cross-site"),
    ],
    &[
        ("origin", "vscode-webview://1f2e3d"),
        ("sec-fetch-site", "cross-site"),
    ],
    &[("origin", "file://"), ("sec-fetch-site", "cross-site")],
];

#[test]
fn programs_and_desktop_apps_are_accepted() {
    let origins = Origins::default();
    for keyless in [true, false] {
        let boundary = Boundary::Clients {
            keyless,
            origins: &origins,
        };
        for host in [
            "localhost:4100",
            "127.0.0.1:4100",
            "[::1]:4100",
            "my.localhost:4100",
        ] {
            for lines in PROGRAMS {
                let lines = [&[("host", host)][..], lines].concat();
                assert_eq!(check(boundary, &lines), Ok(Caller::Direct), "{lines:?}");
            }
        }
    }
}

#[test]
fn a_rejected_page_learns_which_setting_allows_its_site() {
    let origins = Origins::default();
    let boundary = Boundary::Clients {
        keyless: true,
        origins: &origins,
    };
    let rejection = |lines: &[(&str, &str)]| {
        let lines = [&[("host", "localhost:4100")][..], lines].concat();
        let error = check(boundary, &lines).unwrap_err().refusal();
        assert_eq!(error.status(), 403);
        error.message().to_owned()
    };
    let named = rejection(&[("origin", "https://evil.example")]);
    assert!(
        named.contains("a page of `https://evil.example`"),
        "{named}"
    );
    assert!(named.contains("`[server] origins`"), "{named}");
    let unnamed = rejection(&[("sec-fetch-site", "cross-site")]);
    assert!(unnamed.contains("`[server] origins`"), "{unnamed}");
    // An invalid origin is not quoted.
    for odd in ["null", "https://a/\"<script>", "x", "https://a@b"] {
        let rejection = rejection(&[("origin", odd)]);
        assert!(
            rejection.starts_with("a page of another site"),
            "{rejection}"
        );
    }
    let long = format!("https://{}", "a".repeat(500));
    assert!(rejection(&[("origin", &long)]).len() < 250);
}

#[test]
fn every_host_of_a_keyless_request_must_be_loopback() {
    let origins = Origins::default();
    let boundary = Boundary::Clients {
        keyless: true,
        origins: &origins,
    };
    for (uri, hosts, fits) in [
        ("/", &["localhost"][..], true),
        ("/", &[], false),
        ("/", &["localhost", "evil.example"], false),
        ("/", &["evil.example", "localhost"], false),
        ("/", &["\u{ff}"], false),
        ("http://localhost:4100/", &[], true),
        ("http://localhost/", &["localhost"], true),
        ("http://evil.example/", &["localhost"], false),
        ("http://localhost/", &["evil.example"], false),
        ("http://localhost@evil.example/", &[], false),
        ("http://evil.example@localhost/", &["localhost"], false),
    ] {
        let lines: Vec<_> = hosts.iter().map(|host| ("host", *host)).collect();
        let checked = boundary.check(&Method::GET, &uri.parse().unwrap(), &headers(&lines));
        assert_eq!(checked.is_ok(), fits, "{uri} {hosts:?}");
    }
}

#[test]
fn an_allowed_site_is_recognized_and_its_preflight_succeeds() {
    let origins = origins();
    for keyless in [true, false] {
        let boundary = Boundary::Clients {
            keyless,
            origins: &origins,
        };
        let page = headers(&[
            ("host", "localhost"),
            ("origin", SITE),
            ("sec-fetch-site", "cross-site"),
            ("access-control-request-method", "POST"),
            (
                "access-control-request-headers",
                "authorization,content-type,x-stainless-os",
            ),
            ("access-control-request-private-network", "true"),
        ]);
        let uri = Uri::from_static("/v1/messages");
        let sent = boundary.check(&Method::POST, &uri, &page);
        assert_eq!(sent, Ok(Caller::Page(HeaderValue::from_static(SITE))));
        let Ok(Caller::Preflight(preflight)) = boundary.check(&Method::OPTIONS, &uri, &page) else {
            panic!("no preflight");
        };
        let headers_sent = preflight.response_headers();
        for (name, value) in [
            ("access-control-allow-origin", SITE),
            ("access-control-allow-methods", "GET, HEAD, POST"),
            (
                "access-control-allow-headers",
                "authorization,content-type,x-stainless-os",
            ),
            ("access-control-allow-private-network", "true"),
            ("access-control-max-age", "600"),
        ] {
            assert_eq!(headers_sent.get(name).unwrap(), value, "{name}");
        }
        assert!(
            headers_sent["vary"]
                .to_str()
                .unwrap()
                .starts_with("origin, ")
        );
        assert!(!headers_sent.contains_key("access-control-allow-credentials"));
    }
}

#[test]
fn a_preflight_of_any_other_origin_is_rejected_even_with_keys() {
    let origins = origins();
    let uri = Uri::from_static("/v1/messages");
    for origin in [
        "https://evil.example",
        "null",
        "app://obsidian.md",
        "http://localhost",
    ] {
        for boundary in [
            Boundary::Clients {
                keyless: true,
                origins: &origins,
            },
            Boundary::Clients {
                keyless: false,
                origins: &origins,
            },
            Boundary::Operator { on_loopback: true },
            Boundary::Operator { on_loopback: false },
        ] {
            let lines = headers(&[
                ("host", "localhost"),
                ("origin", origin),
                ("access-control-request-method", "POST"),
            ]);
            let checked = boundary.check(&Method::OPTIONS, &uri, &lines);
            assert!(checked.is_err(), "{origin} {boundary:?}");
        }
    }
}

/// The expected classification of an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OriginClass {
    Absent,
    /// Identical to `Host`.
    Own,
    Allowed,
    App,
    Foreign,
}

const HOSTS: [(&str, bool); 12] = [
    ("localhost:4100", true),
    ("LOCALHOST:4100", true),
    ("127.0.0.1:4100", true),
    ("127.8.9.1", true),
    ("[::1]:4100", true),
    ("a.localhost:1", true),
    ("gateway.example", false),
    ("localhost.evil.example:4100", false),
    ("127.0.0.1.evil.example", false),
    ("2130706433:4100", false),
    ("localhost.:4100", false),
    ("192.168.1.5:4100", false),
];

const ORIGINS: [(&str, OriginClass); 20] = [
    ("", OriginClass::Absent),
    ("{host}", OriginClass::Own),
    (SITE, OriginClass::Allowed),
    ("chrome-extension://abcdef", OriginClass::Allowed),
    ("app://obsidian.md", OriginClass::App),
    ("tauri://localhost", OriginClass::App),
    ("vscode-webview://1f2e", OriginClass::App),
    ("vscode-file://vscode-app", OriginClass::App),
    ("file://", OriginClass::App),
    ("null", OriginClass::Foreign),
    ("https://evil.example", OriginClass::Foreign),
    ("http://chat.example", OriginClass::Foreign),
    ("https://chat.example.evil.example", OriginClass::Foreign),
    ("http://localhost:3000", OriginClass::Foreign),
    ("http://127.0.0.1:9999", OriginClass::Foreign),
    ("http://localhost:4100@evil.example", OriginClass::Foreign),
    ("moz-extension://abcdef", OriginClass::Foreign),
    ("capacitor://localhost", OriginClass::Foreign),
    ("app://a, https://evil.example", OriginClass::Foreign),
    (
        "https://chat.example https://evil.example",
        OriginClass::Foreign,
    ),
];

const SITES: [(&str, bool); 7] = [
    ("", true),
    ("none", true),
    ("same-origin", true),
    ("same-site", false),
    ("cross-site", false),
    ("Same-Origin", false),
    ("made-up", false),
];

#[derive(Clone, Copy, Debug)]
enum Listener {
    Clients { keyless: bool },
    Operator { on_loopback: bool },
}

/// The rules of the decision record, implemented independently.
fn expected(
    listener: Listener,
    local: bool,
    from: OriginClass,
    near: bool,
) -> Result<bool, &'static str> {
    let (needs_local, shares, refuses) = match listener {
        Listener::Clients { keyless } => (keyless, true, keyless),
        Listener::Operator { on_loopback } => (on_loopback, false, true),
    };
    if needs_local && !local {
        return Err("host");
    }
    match from {
        OriginClass::Allowed if shares => Ok(true),
        OriginClass::App if shares => Ok(false),
        OriginClass::Absent | OriginClass::Own if near => Ok(false),
        _ if refuses => Err("origin"),
        _ => Ok(false),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]
    #[test]
    fn the_boundary_follows_the_table_for_every_host_origin_site_and_listener(
        (host, local) in prop::sample::select(&HOSTS[..]),
        (origin, from) in prop::sample::select(&ORIGINS[..]),
        (site, near) in prop::sample::select(&SITES[..]),
        secure in any::<bool>(),
        listener in prop_oneof![
            any::<bool>().prop_map(|keyless| Listener::Clients { keyless }),
            any::<bool>().prop_map(|on_loopback| Listener::Operator { on_loopback }),
        ],
        by_authority in any::<bool>(),
        method in prop::sample::select(vec![Method::GET, Method::POST, Method::OPTIONS]),
    ) {
        let scheme = if secure { "https" } else { "http" };
        let own = format!("{scheme}://{host}");
        let origin = if from == OriginClass::Own { &*own } else { origin };
        let mut lines = vec![];
        let uri: Uri = if by_authority {
            format!("http://{host}/v1/models").parse().unwrap()
        } else {
            lines.push(("host", host));
            Uri::from_static("/v1/models")
        };
        lines.extend((!origin.is_empty()).then_some(("origin", origin)));
        lines.extend((!site.is_empty()).then_some(("sec-fetch-site", site)));
        let origins = origins();
        let boundary = match listener {
            Listener::Clients { keyless } => Boundary::Clients { keyless, origins: &origins },
            Listener::Operator { on_loopback } => Boundary::Operator { on_loopback },
        };
        let verdict = boundary.check(&method, &uri, &headers(&lines));
        let verdict = match verdict {
            Ok(Caller::Page(_)) => Ok(true),
            Ok(_) => Ok(false),
            Err(BoundaryRefusal::Host | BoundaryRefusal::OperatorHost) => Err("host"),
            Err(_) => Err("origin"),
        };
        let expected = expected(listener, local, from, near);
        prop_assert_eq!(verdict, expected, "{:?} {} {:?}", listener, uri, lines);
    }

    /// A keyless gateway serves no page unless its origin is allowed, an app's or its
    /// own.
    #[test]
    fn no_unexpected_origin_is_accepted(origin in "[!-~]{1,40}") {
        let none = Origins::default();
        let boundary = Boundary::Clients { keyless: true, origins: &none };
        let checked = check(boundary, &[("host", "localhost"), ("origin", &origin)]);
        let scheme = origin.split("://").next().unwrap_or_default().to_lowercase();
        let known = ["app", "file", "tauri", "vscode-file", "vscode-webview"];
        let own = ["http://localhost", "https://localhost"].contains(&&*origin.to_lowercase());
        prop_assert!(checked.is_err() || own || known.contains(&&*scheme), "{}", origin);
    }
}
