//! The scripts that run in the store: called by hash, or sent whole if the store forgot them.

use std::time::Duration;

use majordomo_limits::TrafficAsk;
use redis::aio::MultiplexedConnection;
use redis::{Cmd, ErrorKind, Pipeline, Script, ServerErrorKind};

use crate::call::{CallFailed, within};
use crate::lease_table::{LEASE, RESERVED, TableReply, grant_of};

/// The prefix of a cluster's keys; several clusters on one server use separate databases.
pub(crate) const PREFIX: &str = "majordomo";
/// How long a request's exchange may take.
pub(crate) const EXCHANGE: Duration = Duration::from_millis(50);
/// How long other calls may take.
pub(crate) const CALL: Duration = Duration::from_millis(250);
/// A node without a heartbeat for this long has left.
const NODE_LASTS: Duration = LEASE;

/// The scripts with their hashes.
pub(crate) struct Scripts {
    lease: Script,
    join: Script,
}

/// A node's place in the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Membership {
    pub(crate) epoch: u64,
    pub(crate) nodes: u64,
}

impl Scripts {
    pub(crate) fn new() -> Self {
        Self {
            lease: Script::new(include_str!("lease.lua")),
            join: Script::new(include_str!("join.lua")),
        }
    }

    /// Exchanges about several limits in one round trip.
    pub(crate) async fn exchange(
        &self,
        connection: &mut MultiplexedConnection,
        node: &str,
        asks: &[&TrafficAsk],
    ) -> Result<Vec<TableReply>, CallFailed> {
        within(EXCHANGE, async {
            let mut by_hash = Pipeline::with_capacity(asks.len());
            for ask in asks {
                let call = by_hash.cmd("EVALSHA").arg(self.lease.get_hash());
                add_ask(call, node, ask);
            }
            let replies = by_hash.query_async::<Vec<[u64; 7]>>(connection).await;
            let replies = match replies {
                Err(error) if is_unknown_script(&error) => {
                    let mut whole = Pipeline::with_capacity(asks.len());
                    for ask in asks {
                        add_ask(whole.cmd("EVAL").arg(include_str!("lease.lua")), node, ask);
                    }
                    whole.query_async::<Vec<[u64; 7]>>(connection).await?
                }
                other => other?,
            };
            if replies.len() != asks.len() {
                return Err(CallFailed("the reply has an unexpected length".to_owned()));
            }
            Ok(replies.into_iter().map(grant_of).collect())
        })
        .await
    }

    /// Sends a heartbeat; `epoch` is 0 for a node that joins.
    pub(crate) async fn join(
        &self,
        connection: &mut MultiplexedConnection,
        name: &str,
        epoch: u64,
        leave: bool,
    ) -> Result<Membership, CallFailed> {
        let mut call = self.join.prepare_invoke();
        call.key(format!("{PREFIX}:nodes"))
            .key(format!("{PREFIX}:epoch"))
            .key(format!("{PREFIX}:life"))
            .key(format!("{PREFIX}:resumed"))
            .arg(name)
            .arg(epoch)
            .arg(micros(NODE_LASTS))
            .arg(u8::from(leave));
        // Falls back to the whole script by itself.
        let (epoch, nodes) = within(CALL, call.invoke_async::<(u64, u64)>(connection)).await?;
        Ok(Membership { epoch, nodes })
    }
}

fn add_ask(call: &mut Pipeline, node: &str, ask: &TrafficAsk) {
    call.arg(3)
        .arg(format!("{PREFIX}:limit:{}", ask.limit))
        .arg(format!("{PREFIX}:born"))
        .arg(format!("{PREFIX}:resumed"))
        .arg(node)
        .arg(ask.capacity)
        .arg(ask.per_minute.unwrap_or(0))
        .arg(ask.spent)
        .arg(ask.refund)
        .arg(ask.refund_period)
        .arg(ask.in_use)
        .arg(ask.claim)
        .arg(ask.want)
        .arg(ask.least)
        .arg(micros(LEASE))
        .arg(ask.share)
        .arg(micros(RESERVED));
}

fn is_unknown_script(error: &redis::RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Publishes a message.
pub(crate) fn publish(channel: &str, message: &str) -> Cmd {
    let mut command = redis::cmd("PUBLISH");
    command.arg(channel).arg(message);
    command
}
