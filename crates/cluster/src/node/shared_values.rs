//! Values that nodes share until they expire. Reading waits at most one deadline; writing does
//! not wait.

use std::time::Duration;

use redis::aio::MultiplexedConnection;

use super::{ClusterNode, Outgoing, lock};
use crate::call::{CallFailed, within};
use crate::scripts::{CALL, EXCHANGE, PREFIX};

impl ClusterNode {
    /// A value, or `None` if there is none or the store does not respond.
    pub async fn value(&self, name: &str) -> Option<String> {
        if !self.availability.is_up() {
            return None;
        }
        let mut commands = lock(&self.commands).clone()?;
        let mut get = redis::cmd("GET");
        get.arg(key(name));
        let value = within(EXCHANGE, get.query_async::<Option<String>>(&mut commands)).await;
        value.ok().flatten()
    }

    /// Stores a value, if the store responds. A lost value is computed again.
    pub fn keep_value(&self, name: &str, value: &str, lasts: Duration) {
        let _ = self.outgoing.try_send(Outgoing::Value {
            name: name.to_owned(),
            value: value.to_owned(),
            lasts,
        });
    }
}

pub(super) async fn keep(
    commands: &mut MultiplexedConnection,
    name: &str,
    value: &str,
    lasts: Duration,
) -> Result<(), CallFailed> {
    let lasts = u64::try_from(lasts.as_millis()).unwrap_or(u64::MAX);
    let mut set = redis::cmd("SET");
    set.arg(key(name)).arg(value).arg("PX").arg(lasts.max(1));
    within(CALL, set.query_async::<()>(commands)).await
}

fn key(name: &str) -> String {
    format!("{PREFIX}:value:{name}")
}
