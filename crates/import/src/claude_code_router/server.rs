//! The key, the address and the timeout of the server.

use crate::draft::{Draft, DraftKey, DraftLimits, seconds};
use crate::secret::reference;
use crate::source::Field;

pub(super) fn read(root: &Field<'_>, draft: &mut Draft) {
    let has_key = root
        .get("APIKEY")
        .as_ref()
        .and_then(Field::written)
        .is_some();
    if let Some(field) = root.get("APIKEY") {
        match field.written() {
            Some(text) => {
                let key = draft.secrets.text(text, "CCR_API_KEY", &field.path);
                match reference(text) {
                    Some(_) => field.mapped("a key of the gateway"),
                    None => field.approximated(format!("key = \"{}\": set this variable", key.0)),
                }
                draft.keys.push(DraftKey {
                    name: "claude-code".to_owned(),
                    key,
                    role: None,
                    team: None,
                    models: Vec::new(),
                    limits: DraftLimits::default(),
                });
            }
            None => field.skipped("no key is written here"),
        }
    }
    let host = root.get("HOST");
    let port = root.get("PORT");
    let number = port.as_ref().and_then(|field| field.whole(1, 65_535));
    let wanted = host.as_ref().and_then(Field::text);
    let is_ip = |text: &&str| text.parse::<std::net::IpAddr>().is_ok();
    let ip = match wanted {
        Some("localhost") | None => Some("127.0.0.1"),
        Some(text) => Some(text).filter(is_ip),
    };
    let is_local = ip.is_none_or(|ip| ip.starts_with("127.") || ip == "::1");
    let ip = ip.filter(|_| has_key || is_local);
    if let Some(field) = &host {
        match ip {
            Some(_) => field.mapped("listen in [server]"),
            None => field.approximated("without a key only this machine is served"),
        }
    }
    if let Some(field) = &port {
        match number {
            Some(_) => field.mapped("listen in [server]"),
            None => field.unusable("a port"),
        }
    }
    if host.is_some() || number.is_some() {
        let ip = ip.unwrap_or("127.0.0.1");
        let port = number.unwrap_or(4100);
        let ip = if ip.contains(':') {
            format!("[{ip}]")
        } else {
            ip.to_owned()
        };
        draft.listen = Some(format!("{ip}:{port}"));
    }
    if let Some(field) = root.get("API_TIMEOUT_MS") {
        match field.number().and_then(|millis| seconds(millis / 1_000.0)) {
            Some(time) => {
                draft.deadline = Some(time);
                field.approximated("deadline in [chain]: of a request over all its attempts");
            }
            None => field.unusable("a number of milliseconds"),
        }
    }
}
