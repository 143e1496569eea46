//! Any text, as the gateway's configuration: it is accepted, or rejected with printable
//! diagnostics that reveal no value of the environment.
#![no_main]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use majordomo::transport::{self, Transport};
use majordomo_gateway::GatewayState;
use majordomo_gateway::config::{Config, Diagnostics};

/// A canary that no message may contain.
const HIDDEN: &str = "CANARY-environment";

static ENVIRONMENT: LazyLock<BTreeMap<String, String>> =
    LazyLock::new(|| BTreeMap::from([("K".to_owned(), HIDDEN.to_owned())]));
static TRANSPORT: LazyLock<Transport> =
    LazyLock::new(|| Transport::new(transport::TransportConfig::default()));

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Err(problems) = judged(text) {
        assert!(!problems.list().is_empty());
        for problem in problems.list() {
            let (line, column) = problems.place(problem);
            assert!(line > 0 && column > 0);
        }
        let told = problems.to_string();
        assert!(!told.contains(HIDDEN) || text.contains(HIDDEN), "{told}");
    }
});

/// Builds the gateway's state without reading a file or opening a connection.
fn judged(text: &str) -> Result<GatewayState, Diagnostics> {
    let config = Config::parse("majordomo.toml", text, &ENVIRONMENT)?;
    GatewayState::new(&config, &ENVIRONMENT, &TRANSPORT, None)
}
