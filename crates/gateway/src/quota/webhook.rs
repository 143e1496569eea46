//! The webhook for alerts: a signed POST, retried with backoff.

use std::time::Duration;

use majordomo::transport::{Transport, TransportRequest, TransportResponse};
use majordomo_limits::BudgetAlert;
use secrecy::ExposeSecret;
use sha2::{Digest, Sha256};

use super::alerts::usd;
use crate::clock::unix_now;
use crate::config::AlertSettings;

/// Attempts to deliver an alert.
const ATTEMPTS: u32 = 6;
/// The pause after the first attempt; each further pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The block size of SHA-256.
const BLOCK: usize = 64;

/// Delivers alerts to the address that the current configuration names.
pub(crate) struct Webhook {
    transport: Transport,
    settings: Box<dyn Fn() -> Option<AlertSettings> + Send + Sync>,
}

impl Webhook {
    pub(crate) fn new(
        transport: Transport,
        settings: impl Fn() -> Option<AlertSettings> + Send + Sync + 'static,
    ) -> Self {
        Self {
            transport,
            settings: Box::new(settings),
        }
    }

    /// Delivers an alert, or logs that it cannot be delivered.
    pub(super) async fn send(&self, alert: &BudgetAlert) {
        let mut pause = FIRST_PAUSE;
        for attempt in 1..=ATTEMPTS {
            let Some(settings) = (self.settings)() else {
                return;
            };
            let Err(reason) = self.post(&settings, alert).await else {
                return;
            };
            if attempt == ATTEMPTS {
                tracing::error!(reason, "an alert was not delivered");
                return;
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }

    async fn post(&self, settings: &AlertSettings, alert: &BudgetAlert) -> Result<(), String> {
        let body = body(alert);
        let time = unix_now().to_string();
        let signature = signature(settings.secret.expose_secret(), &time, &body);
        let uri = settings.url.parse().map_err(|_| "the address is invalid")?;
        let request = TransportRequest::post(uri, body)
            .header("content-type", "application/json")
            .and_then(|request| request.header("x-majordomo-timestamp", &time))
            .and_then(|request| request.header("x-majordomo-signature", &signature));
        let request = request.map_err(|error| error.to_string())?;
        match self.transport.send(request).await {
            Ok(TransportResponse::Success(..)) => Ok(()),
            Ok(TransportResponse::ErrorStatus(head, _)) => {
                Err(format!("HTTP {}", head.status().as_u16()))
            }
            // A success without a body suffices.
            Err(error) if error.status().is_some_and(|status| status / 100 == 2) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }
}

fn body(alert: &BudgetAlert) -> String {
    serde_json::json!({
        "event": "budget",
        "level": alert.level.kind.name(),
        "name": &*alert.level.name,
        "window": alert.window.name(),
        "window_number": alert.number,
        "percent": alert.percent,
        "settled_usd": usd(alert.settled).to_string(),
        "limit_usd": usd(alert.limit).to_string(),
    })
    .to_string()
}

/// `v1=` and the HMAC-SHA256 of the time, a full stop and the body.
fn signature(secret: &str, time: &str, body: &str) -> String {
    let mac = hmac_sha256(secret.as_bytes(), &[time.as_bytes(), b".", body.as_bytes()]);
    let digits: String = mac.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("v1={digits}")
}

/// RFC 2104.
fn hmac_sha256(key: &[u8], message: &[&[u8]]) -> [u8; 32] {
    let mut block = [0; BLOCK];
    if key.len() > BLOCK {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let mut inner = Sha256::new_with_prefix(block.map(|byte| byte ^ 0x36));
    for part in message {
        inner.update(part);
    }
    let mut outer = Sha256::new_with_prefix(block.map(|byte| byte ^ 0x5c));
    outer.update(inner.finalize());
    outer.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_an_hmac_as_in_rfc_4231() {
        let hex = |mac: [u8; 32]| {
            mac.iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
        };
        let case_2 = hmac_sha256(b"Jefe", &[b"what do ya want ", b"for nothing?"]);
        assert_eq!(
            hex(case_2),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        let case_6 = hmac_sha256(
            &[0xaa; 131],
            &[b"Test Using Larger Than Block-Size Key - Hash Key First"],
        );
        assert_eq!(
            hex(case_6),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }
}
