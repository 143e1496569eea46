//! Deadlines for every call to a store.

use std::future::Future;
use std::time::Duration;

use redis::RedisError;
use tokio::time::timeout;

/// Why a call failed, without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallFailed(pub(crate) String);

impl From<RedisError> for CallFailed {
    fn from(error: RedisError) -> Self {
        Self(error.to_string())
    }
}

impl From<std::io::Error> for CallFailed {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

/// Runs a call until its deadline, because a frozen server returns no error.
pub(crate) async fn within<T, E: Into<CallFailed>>(
    deadline: Duration,
    call: impl Future<Output = Result<T, E>>,
) -> Result<T, CallFailed> {
    match timeout(deadline, call).await {
        Ok(result) => result.map_err(Into::into),
        Err(_) => Err(CallFailed(format!("no reply within {deadline:?}"))),
    }
}
