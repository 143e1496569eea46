//! No sequence of reloads removes protection.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, Uri};
use majordomo::transport::{self, Transport};
use proptest::prelude::*;
use proptest::sample::Index;
use rcgen::{CertificateParams, KeyPair};
use tempfile::TempDir;

use super::*;
use crate::trust::{AuthThrottle, authenticate_client};

static LOADER: LazyLock<StateLoader> = LazyLock::new(|| StateLoader {
    environment: BTreeMap::new(),
    transport: Transport::new(transport::TransportConfig::default()),
    processors: crate::processors::built_in(),
    listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
    operator_listen: None,
    cluster: None,
});
/// A certificate and its key, and a file that is neither.
static FILES: LazyLock<TempDir> = LazyLock::new(|| {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["gateway.test".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let put = |name: &str, kind: &str, der: &[u8]| {
        let text = STANDARD.encode(der);
        let text = format!("-----BEGIN {kind}-----\n{text}\n-----END {kind}-----\n");
        std::fs::write(directory.path().join(name), text).unwrap();
    };
    put("c.pem", "CERTIFICATE", certificate.der());
    put("k.pem", "PRIVATE KEY", &key.serialize_der());
    std::fs::write(directory.path().join("bad.pem"), "").unwrap();
    directory
});

fn tls(cert: &str) -> String {
    let at = |name: &str| FILES.path().join(name);
    format!("tls = {{ cert = {:?}, key = {:?} }}", at(cert), at("k.pem"))
}

/// Configuration files with their sections in any order.
fn files() -> impl Strategy<Value = String> {
    let server = prop_oneof![
        Just(String::new()),
        Just(format!("[server]\n{}\n", tls("c.pem"))),
        Just(format!("[server]\n{}\n", tls("bad.pem"))),
        Just("[server]\nlisten = \"127.0.0.1:4300\"\n".to_owned()),
        Just("[server]\nlisten = \"0.0.0.0:4300\"\n".to_owned()),
        Just("[server]\nmax_requests = 3\n".to_owned()),
    ];
    let key = |name: &str| format!("[[keys]]\nname = \"{name}\"\nkey = \"sk-canary-{name}\"\n");
    let keys = prop_oneof![
        Just(String::new()),
        Just(key("a")),
        Just(key("a") + &key("b")),
        Just("[[keys]]\n".to_owned()),
    ];
    let rest = prop_oneof![
        Just(String::new()),
        Just("# nothing\n".to_owned()),
        Just("[aliases]\na = \"demo/text\"\n".to_owned()),
        Just("[providers.x]\nkind = \"demo\"\n".to_owned()),
        Just("[fetch]\nenabled = true\n".to_owned()),
    ];
    let whole = (server, keys, rest).prop_flat_map(|(server, keys, rest)| {
        let parts = Just(vec![server, keys, rest]);
        parts.prop_shuffle().prop_map(|parts| parts.concat())
    });
    // Some are truncated, as by a full disk or a slow writer.
    (whole, any::<Index>(), any::<bool>()).prop_map(|(mut text, at, cut)| {
        if cut {
            text.truncate(at.index(text.len() + 1));
        }
        text
    })
}

fn parsed(text: &str) -> Result<Config, String> {
    let config = Config::parse("m.toml", text, &LOADER.environment);
    config.map_err(|diagnostics| diagnostics.to_string())
}

/// Whether a client without a key is served.
fn is_open(state: &GatewayState) -> bool {
    let (from, nothing) = ([127, 0, 0, 1].into(), HeaderMap::new());
    let auth_throttle = AuthThrottle::default();
    authenticate_client(
        &state.keys,
        &auth_throttle,
        from,
        &nothing,
        &Uri::from_static("/"),
        0,
    )
    .is_ok()
}

/// The state of a gateway started with this file, if it starts.
fn started(text: &str) -> Result<(AtStartup, Arc<GatewayState>), String> {
    let config = LOADER.with_overrides(parsed(text)?);
    let state = LOADER.state(&config, None);
    let state = state.map_err(|error| format!("{error:?}"))?;
    let files = state.server.tls.as_ref();
    let identity = files.map(Identity::load).transpose();
    identity.map_err(|error| format!("{error:?}"))?;
    let at_startup = AtStartup {
        listen: state.server.listen,
        operator_listen: state.server.operator_listen,
        bound: [state.server.listen, state.server.operator_listen],
        tls: state.server.tls.is_some(),
        ledger: state.config().ledger.clone(),
        log: state.config().log.clone(),
        cluster: state.config().cluster.clone(),
    };
    Ok((at_startup, state))
}

/// The state in effect after a reload of this file.
fn reloaded(at_startup: &AtStartup, old: &Arc<GatewayState>, text: &str) -> Arc<GatewayState> {
    let ready = parsed(text).and_then(|config| prepare(&LOADER, at_startup, old, config));
    ready.map_or_else(|_| Arc::clone(old), |ready| ready.state)
}

proptest! {
    #[test]
    fn no_sequence_of_reloads_removes_keys_or_tls(
        first in files(),
        later in proptest::collection::vec(files(), 1..5),
    ) {
        let Ok((at_startup, mut state)) = started(&first) else {
            return Ok(());
        };
        for text in &later {
            let next = reloaded(&at_startup, &state, text);
            prop_assert!(is_open(&state) || !is_open(&next), "{text:?} opens it");
            prop_assert!(!at_startup.tls || next.server.tls.is_some(), "{text:?} ends TLS");
            state = next;
        }
    }
}

#[test]
fn no_truncation_of_a_file_with_keys_removes_keys_or_tls() {
    let whole = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/whole.toml");
    let mut whole = std::fs::read_to_string(whole).unwrap();
    for (variable, value) in [("${GROQ_API_KEY}", "sk-canary-groq"), ("cert.pem", "c.pem")] {
        whole = whole.replace(variable, value);
    }
    let start = whole.find("tls = ").expect("it has TLS");
    let end = start + whole[start..].find('\n').expect("a line");
    whole.replace_range(start..end, &tls("c.pem"));
    let (at_startup, state) = started(&whole).expect("it starts");
    assert!(!is_open(&state));
    for at in (0..=whole.len()).filter(|at| whole.is_char_boundary(*at)) {
        let next = reloaded(&at_startup, &state, &whole[..at]);
        assert!(!is_open(&next), "cut at {at}: {:?}", &whole[..at]);
        assert!(next.server.tls.is_some(), "cut at {at}: {:?}", &whole[..at]);
    }
}

#[test]
fn an_invalid_renewed_certificate_does_not_delay_the_configuration() {
    let key = "[[keys]]\nname = \"a\"\nkey = \"sk-canary-a\"\n";
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    for name in ["c.pem", "k.pem"] {
        std::fs::copy(FILES.path().join(name), at(name)).unwrap();
    }
    let server = |cert: &str| {
        let (cert, key) = (at(cert), at("k.pem"));
        format!("[server]\ntls = {{ cert = {cert:?}, key = {key:?} }}\n")
    };
    let (at_startup, old) = started(&format!("{}{key}", server("c.pem"))).expect("it starts");
    std::fs::write(at("c.pem"), "renewed badly").unwrap();

    let other = key.replace("sk-canary-a", "sk-canary-b");
    let config = parsed(&format!("{}{other}", server("c.pem"))).unwrap();
    let ready = prepare(&LOADER, &at_startup, &old, config).expect("the key is changed");
    assert!(matches!(ready.identity, Some(Err(_))));

    let config = parsed(&format!("{}{other}", server("elsewhere.pem"))).unwrap();
    let refused = prepare(&LOADER, &at_startup, &old, config).err();
    let refused = refused.expect("no gateway starts with these files");
    assert!(refused.contains("elsewhere.pem"), "{refused}");
}
