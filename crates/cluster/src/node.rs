//! One process of a cluster.
//!
//! `run` owns the connections: one for exchanges, heartbeats and hints, and one that receives
//! hints. Requests hand their exchanges to a queue and never touch a socket. While the store
//! is unavailable, queued exchanges are refused, so that no request waits for it.

mod listener;
mod shared_values;

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use majordomo_limits::{TrafficAsk, TrafficBackend, TrafficReply};
use redis::aio::MultiplexedConnection;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::address::StateUrl;
use crate::availability::Availability;
use crate::call::{CallFailed, within};
use crate::connection::Connection;
use crate::news::{Message, News};
use crate::node_stats::NodeStats;
use crate::scripts::{CALL, PREFIX, Scripts, publish};

/// How often a node sends a heartbeat.
const BEAT: Duration = Duration::from_millis(500);
/// Maximum exchanges that wait for the next round trip; further ones are refused.
const QUEUE: usize = 4_096;
/// Maximum exchanges in one round trip.
const BATCH: usize = 256;

/// The configuration of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterSettings {
    /// The store.
    pub state: StateUrl,
    /// The node's name, for people.
    pub name: String,
    /// The number of nodes to assume until the others have been seen.
    pub nodes: u64,
}

/// Receives hints from other nodes. Must not block.
pub type HearNews = Box<dyn Fn(News) + Send + Sync>;

/// A node.
pub struct ClusterNode {
    settings: ClusterSettings,
    availability: Availability,
    scripts: Scripts,
    stats: NodeStats,
    nodes: AtomicU64,
    epoch: AtomicU64,
    /// Whether this process has not seen a store before, and so held nothing.
    first_store: AtomicBool,
    asks: Sender<(TrafficAsk, TrafficReply)>,
    outgoing: Sender<Outgoing>,
    queues: Mutex<Option<Queues>>,
    /// For values that requests read themselves.
    commands: Mutex<Option<MultiplexedConnection>>,
}

/// Messages that are sent without waiting for their arrival.
enum Outgoing {
    News(News),
    Value {
        name: String,
        value: String,
        lasts: Duration,
    },
}

/// The receiving ends, taken by `run`.
struct Queues {
    asks: Receiver<(TrafficAsk, TrafficReply)>,
    outgoing: Receiver<Outgoing>,
}

impl ClusterNode {
    /// A node that does nothing until it [runs](Self::run).
    pub fn new(settings: ClusterSettings) -> Arc<Self> {
        let (asks, asks_received) = channel(QUEUE);
        let (outgoing, outgoing_received) = channel(QUEUE);
        let consequence = "every node enforces its share of rates and seats";
        Arc::new(Self {
            nodes: AtomicU64::new(settings.nodes.max(1)),
            settings,
            availability: Availability::new("redis", consequence, Instant::now()),
            scripts: Scripts::new(),
            stats: NodeStats::default(),
            epoch: AtomicU64::new(0),
            first_store: AtomicBool::new(true),
            asks,
            outgoing,
            queues: Mutex::new(Some(Queues {
                asks: asks_received,
                outgoing: outgoing_received,
            })),
            commands: Mutex::default(),
        })
    }

    /// The store's availability.
    pub fn availability(&self) -> &Availability {
        &self.availability
    }

    /// Counters.
    pub fn stats(&self) -> &NodeStats {
        &self.stats
    }

    /// The node's name and epoch, such as `a#7`; the epoch is 0 until it joins.
    pub fn id(&self) -> String {
        format!("{}#{}", self.settings.name, self.epoch.load(Relaxed))
    }

    /// Announces a hint to other nodes, if the store responds.
    pub fn tell(&self, news: News) {
        // Drop a hint that cannot be sent at once.
        let _ = self.outgoing.try_send(Outgoing::News(news));
    }

    /// Joins the cluster until it is dropped. Runs once.
    pub async fn run(&self, hear: HearNews) {
        let Some(mut queues) = lock(&self.queues).take() else {
            return std::future::pending().await;
        };
        tokio::join!(self.take_part(&mut queues), self.listen(&hear));
    }

    /// Leaves the cluster, so that other nodes need not wait for missing heartbeats.
    pub async fn leave(&self) {
        let connection = lock(&self.commands).take();
        if let Some(mut connection) = connection {
            let (name, epoch) = (&self.settings.name, self.epoch.load(Relaxed));
            let left = self.scripts.join(&mut connection, name, epoch, true).await;
            if let Err(CallFailed(reason)) = left {
                tracing::debug!(reason, "the node could not announce that it leaves");
            }
        }
    }

    async fn take_part(&self, queues: &mut Queues) {
        // The first requests wait for the first connection as long as they would for any
        // reply, so that a node that has just started does not fall back to its share.
        let mut connecting = Some(self.connect().await);
        loop {
            let connected = match connecting.take() {
                Some(first) => first,
                None => refusing(&mut queues.asks, self.connect()).await,
            };
            let failed = match connected {
                Ok(mut connection) => {
                    self.availability.succeeded(Instant::now());
                    let failed = self.serve(&mut connection, queues).await;
                    *lock(&self.commands) = None;
                    failed
                }
                Err(failed) => failed,
            };
            self.stats.failed();
            let pause = self.availability.failed(Instant::now(), &failed.0);
            refusing(&mut queues.asks, tokio::time::sleep(pause)).await;
        }
    }

    /// Connects and joins.
    async fn connect(&self) -> Result<Connection, CallFailed> {
        let mut connection = Connection::open(&self.settings.state).await?;
        self.beat(&mut connection.commands).await?;
        *lock(&self.commands) = Some(connection.commands.clone());
        Ok(connection)
    }

    /// Serves until a call fails.
    async fn serve(&self, connection: &mut Connection, queues: &mut Queues) -> CallFailed {
        let commands = &mut connection.commands;
        let mut beats = interval(BEAT);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let done = tokio::select! {
                // Exchanges that requests wait for come first.
                biased;
                Some(first) = queues.asks.recv() => {
                    let mut batch = vec![first];
                    while batch.len() < BATCH && let Ok(next) = queues.asks.try_recv() {
                        batch.push(next);
                    }
                    self.exchange_all(commands, batch).await
                }
                _ = beats.tick() => self.beat(commands).await,
                Some(outgoing) = queues.outgoing.recv() => match outgoing {
                    Outgoing::News(news) => self.send_news(commands, news).await,
                    Outgoing::Value { name, value, lasts } => {
                        shared_values::keep(commands, &name, &value, lasts).await
                    }
                },
            };
            if let Err(failed) = done {
                return failed;
            }
        }
    }

    async fn beat(&self, commands: &mut MultiplexedConnection) -> Result<(), CallFailed> {
        let epoch = self.epoch.load(Relaxed);
        let name = &self.settings.name;
        let membership = self.scripts.join(commands, name, epoch, false).await?;
        self.epoch.store(membership.epoch, Relaxed);
        self.nodes.store(membership.nodes.max(1), Relaxed);
        // The listener monitors its connection by a channel of its own.
        let echo = publish(&self.own_channel(), "");
        within(CALL, echo.query_async::<()>(commands)).await
    }

    async fn exchange_all(
        &self,
        commands: &mut MultiplexedConnection,
        mut batch: Vec<(TrafficAsk, TrafficReply)>,
    ) -> Result<(), CallFailed> {
        let first_store = self.first_store.load(Relaxed);
        if first_store {
            // A cluster that starts with its store: its nodes begin with their shares.
            for (ask, _) in &mut batch {
                ask.claim = ask.claim.max(ask.share);
            }
        }
        let asks: Vec<_> = batch.iter().map(|(ask, _)| ask).collect();
        self.stats.exchanged(asks.len());
        // If this fails, the replies are dropped with the batch, which reports the failure.
        let granted = self.scripts.exchange(commands, &self.id(), &asks).await?;
        for ((ask, reply), granted) in batch.into_iter().zip(granted) {
            if !granted.young {
                self.first_store.store(false, Relaxed);
            }
            let first = granted.young && self.first_store.load(Relaxed);
            if first && ask.per_minute.is_some() && granted.grant.usable < ask.least {
                continue;
            }
            reply.granted(granted.grant);
        }
        Ok(())
    }

    async fn send_news(
        &self,
        commands: &mut MultiplexedConnection,
        news: News,
    ) -> Result<(), CallFailed> {
        let Some(text) = Message::text(&self.id(), news) else {
            return Ok(());
        };
        let message = publish(&format!("{PREFIX}:news"), &text);
        within(CALL, message.query_async::<()>(commands)).await
    }

    fn own_channel(&self) -> String {
        format!("{PREFIX}:node:{}", self.id())
    }
}

impl TrafficBackend for ClusterNode {
    fn exchange(&self, ask: TrafficAsk, reply: TrafficReply) {
        // A full queue drops the reply, which reports that the store is late.
        let _ = self.asks.try_send((ask, reply));
    }

    fn is_up(&self) -> bool {
        self.availability.is_up()
    }

    fn away_for(&self) -> Duration {
        self.availability.away_for(Instant::now())
    }

    fn nodes(&self) -> u64 {
        self.nodes.load(Relaxed)
    }
}

/// Runs `work`, and refuses exchanges until it ends.
async fn refusing<T>(
    asks: &mut Receiver<(TrafficAsk, TrafficReply)>,
    work: impl Future<Output = T>,
) -> T {
    let mut work = pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            Some(refused) = asks.recv() => drop(refused),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
