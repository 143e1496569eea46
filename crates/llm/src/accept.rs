//! A hook that validates responses.

use crate::{Message, Response};

/// Validates complete responses, as typed output does.
///
/// A chain calls it for each response. A rejected response is repaired once on the same
/// target, if the rejection carries repair messages. Otherwise, and if the repaired
/// response is rejected as well, the chain continues with the next target.
pub trait Accept: Send + Sync {
    /// Accepts or rejects a response.
    fn accept(&self, response: &Response) -> Result<(), Rejection>;
}

/// Why a response was rejected.
#[derive(Clone, Debug)]
pub struct Rejection {
    /// The reason, for the error message.
    pub reason: String,
    /// Messages to append after the rejected response when retrying on the same target.
    /// Empty means that a retry is pointless.
    pub repair: Vec<Message>,
}
