//! The service of a deployment: its share, tier, capacity and timeout.

use super::settings::Settings;
use crate::draft::{Connection, DraftService, seconds};
use crate::source::Field;

pub(super) fn timeouts(parameters: &Field<'_>, connection: &mut Connection, settings: &Settings) {
    for key in [
        "timeout",
        "stream_timeout",
        "request_timeout",
        "ttft_timeout",
    ] {
        let Some(field) = parameters.get(key) else {
            continue;
        };
        match (field.number().and_then(seconds), &connection.timeout) {
            (Some(timeout), None) => {
                connection.timeout = Some(timeout);
                field.approximated("timeout of the provider: until an attempt streams or responds");
            }
            (Some(_), Some(_)) => field.skipped("one timeout applies to streams and responses"),
            (None, _) => field.unusable("a number of seconds"),
        }
    }
    if connection.timeout.is_none() {
        connection.timeout.clone_from(&settings.timeout);
    }
}

/// Weight, tier and capacity of a service.
pub(super) fn service(spec: String, parameters: &Field<'_>, settings: &Settings) -> DraftService {
    let mut service = DraftService {
        spec,
        capacity: settings.capacity,
        ..DraftService::default()
    };
    if let Some(field) = parameters.get("max_parallel_requests") {
        match field.whole(1, 1_000_000) {
            Some(most) => {
                service.capacity = Some(most);
                field.mapped("capacity");
            }
            None => field.unusable("a positive number"),
        }
    }
    if let Some(field) = parameters.get("order") {
        match field.whole(0, 500) {
            Some(order) => {
                service.tier = Some(order);
                field.mapped("tier");
            }
            None => field.unusable("a number up to 500"),
        }
    }
    for key in ["weight", "rpm", "tpm"] {
        let Some(field) = parameters.get(key) else {
            continue;
        };
        match (field.number(), service.weight, key) {
            (Some(_), Some(_), _) => field.skipped("a limit of one deployment; see [limits]"),
            (Some(number), None, "weight") => {
                service.weight = Some(share(number));
                field.mapped("weight");
            }
            (Some(number), None, _) => {
                service.weight = Some(share(number));
                let note = "weight, as LiteLLM's shuffle uses it; not a limit";
                field.approximated(note);
            }
            (None, ..) => field.unusable("a number"),
        }
    }
    service
}

/// A share within the bounds of a weight.
fn share(number: f64) -> u32 {
    let scaled = if number < 1.0 { number * 100.0 } else { number };
    scaled.round().clamp(1.0, 1e9) as u32
}
