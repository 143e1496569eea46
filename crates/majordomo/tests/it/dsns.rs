//! The DSN grammar.

use std::time::Duration;

use majordomo::Capabilities;
use majordomo::dsn::{Dsn, DsnError, DsnOptions};
use proptest::prelude::*;
use secrecy::ExposeSecret;

fn read(text: &str) -> Dsn {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refused(text: &str) -> DsnError {
    text.parse::<Dsn>().expect_err("a bad DSN")
}

#[test]
fn scheme_token_host_and_base_url_are_parsed() {
    let rows = [
        (
            "foreman://token@m1.example.com",
            "foreman",
            Some("token"),
            "https://m1.example.com",
        ),
        ("ollama://box", "ollama", None, "https://box"),
        (
            "openai://k@api.example.com/v1",
            "openai",
            Some("k"),
            "https://api.example.com/v1",
        ),
        (
            "openai://k@api.example.com:8443/v1//",
            "openai",
            Some("k"),
            "https://api.example.com:8443/v1",
        ),
        (
            "ollama+http://localhost:11434",
            "ollama",
            None,
            "http://localhost:11434",
        ),
        (
            "openai+http://k@10.0.0.2:8080/v1",
            "openai",
            Some("k"),
            "http://10.0.0.2:8080/v1",
        ),
        (
            "llama-swap://box:8080",
            "llama-swap",
            None,
            "http://box:8080",
        ),
        (
            "llama-swaps://t@box",
            "llama-swaps",
            Some("t"),
            "https://box",
        ),
        (
            "openai://a%40b%3Ac%2Fd%25@h",
            "openai",
            Some("a@b:c/d%"),
            "https://h",
        ),
        (
            "ollama://h?timeout=30s&images=false",
            "ollama",
            None,
            "https://h",
        ),
    ];
    for (text, scheme, token, url) in rows {
        let dsn = read(text);
        assert_eq!(dsn.scheme, scheme, "{text}");
        assert_eq!(
            dsn.token.as_ref().map(|t| t.expose_secret()),
            token,
            "{text}"
        );
        assert_eq!(dsn.base_url(), url, "{text}");
    }
}

#[test]
fn the_first_at_sign_ends_the_token() {
    // A host never contains an at sign, so a second one is an error, not part of the token.
    assert!(matches!(
        refused("openai://a@b@host"),
        DsnError::BadHost { character: '@' }
    ));
}

#[test]
fn the_host_keeps_port_and_path_without_trailing_slashes() {
    assert_eq!(
        read("openai://k@h.example.com:1/v1/x///").host,
        "h.example.com:1/v1/x"
    );
}

#[test]
fn malformed_dsns_are_rejected_with_what_is_missing() {
    let rows = [
        ("", DsnError::NoScheme),
        ("foreman", DsnError::NoScheme),
        ("foreman:/host", DsnError::NoScheme),
        ("://host", DsnError::NoScheme),
        ("+http://host", DsnError::NoScheme),
        ("foreman://", DsnError::NoHost),
        ("foreman:///", DsnError::NoHost),
        ("foreman://token@", DsnError::NoHost),
        ("foreman://token@/v1", DsnError::NoHost),
        ("foreman://?timeout=1s", DsnError::NoHost),
        ("foreman://ho st", DsnError::BadHost { character: ' ' }),
        ("foreman://%ff@host", DsnError::BadToken),
    ];
    for (text, expected) in rows {
        assert_eq!(refused(text), expected, "{text}");
    }
}

#[test]
fn options_are_parsed() {
    let options = read("ollama://h?timeout=1m30s&images=false&tools=true&context=32768").options;
    let mut expected = DsnOptions::default();
    expected.timeout = Some(Duration::from_secs(90));
    expected.images = Some(false);
    expected.tools = Some(true);
    expected.context = Some(32_768);
    assert_eq!(options, expected);
    assert_eq!(read("ollama://h").options, DsnOptions::default());
    assert_eq!(read("ollama://h?").options, DsnOptions::default());
}

#[test]
fn an_unknown_option_or_a_bad_value_is_an_error_that_names_it() {
    let unknown = refused("ollama://h?timout=30s");
    assert_eq!(
        unknown,
        DsnError::UnknownOption {
            name: "timout".into()
        }
    );
    for query in [
        "timeout=soon",
        "images=maybe",
        "tools=2",
        "context=many",
        "context=-1",
        "timeout",
    ] {
        let error = refused(&format!("ollama://h?{query}"));
        let name = query.split('=').next().unwrap();
        assert!(
            matches!(&error, DsnError::BadOption { name: n, .. } if n == name),
            "{error:?}"
        );
        assert!(error.to_string().contains(name));
    }
}

#[test]
fn options_override_the_capabilities_a_provider_assumes() {
    let mut capabilities = Capabilities::default();
    let options = read("ollama://h?images=false&tools=false&context=4096").options;
    options.apply(&mut capabilities);
    assert!(!capabilities.takes_images() && !capabilities.tools);
    assert_eq!(capabilities.context_window, Some(4_096));

    let mut text_only = Capabilities::text_only();
    read("ollama://h?images=true").options.apply(&mut text_only);
    assert!(text_only.takes_images());

    let before = text_only.clone();
    DsnOptions::default().apply(&mut text_only);
    assert_eq!(text_only, before, "unset leaves the default");
}

#[test]
fn a_dsn_never_prints_its_token() {
    let dsn = read("foreman://CANARY@host?timeout=30s");
    assert!(!format!("{dsn:?} {dsn:#?}").contains("CANARY"));
}

proptest! {
    #[test]
    fn no_text_panics(text in ".{0,80}") {
        let _ = text.parse::<Dsn>();
    }

    #[test]
    fn no_dsn_like_text_panics(text in "[a-z+]{0,8}://[a-z%@:/?&=.0-9é]{0,40}") {
        if let Ok(dsn) = text.parse::<Dsn>() {
            prop_assert!(dsn.base_url().starts_with("http"));
            prop_assert!(!dsn.host.is_empty() && !dsn.host.ends_with('/'));
        }
    }

    #[test]
    fn any_token_can_be_written_percent_encoded(token in "\\PC{1,20}") {
        let encoded: String = token.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let dsn = read(&format!("foreman://{encoded}@host"));
        let read = dsn.token.expect("a token");
        prop_assert_eq!(read.expose_secret(), token.as_str());
    }
}
