//! Ids of requests and responses. May use `record`.

use std::sync::Arc;
use std::time::SystemTime;

use majordomo_ledger::RequestId;

use crate::record::unix_millis;

/// The id of a request that arrived then: a UUID of version 7, by which the client, the log,
/// traces and the ledger know it.
pub(crate) fn request_id(arrived: SystemTime) -> Arc<str> {
    let id = RequestId::new(unix_millis(arrived), random());
    id.to_string().into()
}

/// A unique id of a response, with 120 random bits.
pub(crate) fn new_id() -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let random = random();
    (0..24)
        .map(|n| char::from(LETTERS[(random >> (n * 5)) as usize & 31]))
        .collect()
}

fn random() -> u128 {
    u128::from(fastrand::u64(..)) << 64 | u128::from(fastrand::u64(..))
}
