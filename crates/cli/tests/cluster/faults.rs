//! What happens to the cluster, for a while.

use std::time::Duration;

use majordomo_testkit::Fault;
use tokio::time::sleep;

use crate::node::Node;
use crate::world::{NAMES, World};

/// A row of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    KillNode,
    FreezeRedis,
    FreezePostgres,
    RestartRedisEmpty,
    PartitionNode,
    OneWayDrop,
    ClockForward,
    ClockBack,
    RollingReload,
}

impl Event {
    /// Every event; the first ones are what `./test` has time for.
    pub(crate) const ALL: [Self; 9] = [
        Self::KillNode,
        Self::FreezeRedis,
        Self::FreezePostgres,
        Self::RestartRedisEmpty,
        Self::PartitionNode,
        Self::RollingReload,
        Self::ClockForward,
        Self::ClockBack,
        Self::OneWayDrop,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::KillNode => "kill -9 a node",
            Self::FreezeRedis => "freeze Redis",
            Self::FreezePostgres => "freeze PostgreSQL",
            Self::RestartRedisEmpty => "restart Redis empty",
            Self::PartitionNode => "partition a node",
            Self::OneWayDrop => "drop one way",
            Self::ClockForward => "clock + 1 h",
            Self::ClockBack => "clock - 1 h",
            Self::RollingReload => "rolling reload",
        }
    }

    /// The wall clock of one node, if that is the fault.
    pub(crate) const fn clock(self) -> Option<&'static str> {
        match self {
            Self::ClockForward => Some("+1h"),
            Self::ClockBack => Some("-1h"),
            _ => None,
        }
    }

    /// How many nodes' shares of a rate may be used besides what is leased: a node that is
    /// alone, or has just started, has its own at once. Seats are exact.
    pub(crate) const fn shares(self) -> u64 {
        match self {
            Self::KillNode | Self::PartitionNode | Self::OneWayDrop => 1,
            Self::FreezeRedis | Self::RestartRedisEmpty => 2,
            _ => 0,
        }
    }

    /// Begins, lasts and ends, under load.
    pub(crate) async fn happen(self, world: &mut World) {
        const LASTS: Duration = Duration::from_millis(2_500);
        match self {
            Self::KillNode => {
                world.nodes[1].signal("KILL");
                world.nodes[1].ended().await;
                sleep(LASTS).await;
                let address = world.nodes[1].address;
                let node = Node::start_at(NAMES[1], &world.settings, address, None).await;
                world.nodes[1] = node;
            }
            Self::FreezeRedis => lasting(world, LASTS, |node| node.redis.set(Fault::Freeze)).await,
            Self::FreezePostgres => {
                lasting(world, LASTS, |node| node.postgres.set(Fault::Freeze)).await;
            }
            Self::RestartRedisEmpty => {
                world.redis.restart_empty();
                sleep(LASTS).await;
            }
            Self::PartitionNode => {
                lasting(world, LASTS, |node| {
                    if node.name == NAMES[1] {
                        node.redis.set(Fault::Cut);
                        node.postgres.set(Fault::Cut);
                    }
                })
                .await;
            }
            Self::OneWayDrop => {
                lasting(world, LASTS, |node| {
                    if node.name == NAMES[1] {
                        node.redis.set(Fault::DropToClient);
                        node.postgres.set(Fault::DropToServer);
                    }
                })
                .await;
            }
            Self::ClockForward | Self::ClockBack => sleep(LASTS).await,
            Self::RollingReload => {
                for node in &world.nodes {
                    let text = std::fs::read_to_string(&node.file).expect("its file");
                    std::fs::write(&node.file, format!("{text}# again\n")).expect("its file");
                    sleep(LASTS / 3).await;
                }
            }
        }
    }
}

async fn lasting(world: &World, time: Duration, fault: impl Fn(&Node)) {
    world.nodes.iter().for_each(fault);
    sleep(time).await;
    for node in &world.nodes {
        node.redis.set(Fault::None);
        node.postgres.set(Fault::None);
    }
}
