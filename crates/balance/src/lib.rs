//! Orders the services of a pool: tactics, statistics, affinity.
//!
//! A [`Pool`] holds the services of one partition: those of a route, or those of
//! one of its smart rules. For each request it gives an [`Order`]: the service
//! that its [`Tactic`] picks, or the one that the session is pinned to, and then
//! the others for failover. Who is sick and who cannot take the request is told
//! by the caller ([`Usability`]); health itself lives in `majordomo`.
//!
//! What tactics know of a service is in its [`ServiceStats`], fed by [`Metered`],
//! a model that takes a seat, asks another model and measures.
//!
//! Nothing here starts a task, reads a clock of its own or takes a lock that all
//! requests share; randomness comes from a seed.
//!
//! ```
//! use majordomo::{Clock, RuntimeClock};
//! use majordomo_balance::{Pick, Pool, PoolConfig, ServiceConfig, Tactic, Usability};
//!
//! let config = PoolConfig {
//!     tactic: Tactic::Tier,
//!     services: vec![
//!         ServiceConfig { tier: 1, ..ServiceConfig::new("ollama/qwen3:30b") },
//!         ServiceConfig::new("deepseek/deepseek-v4-pro"),
//!     ],
//!     ..PoolConfig::default()
//! };
//! let clock = RuntimeClock;
//! let pool = Pool::new(config, clock.now());
//! let order = pool.order(&Pick::at(clock.now()), |_| Usability::Usable);
//! let specs: Vec<&str> = order.map(|service| pool.service(service).id()).collect();
//! assert_eq!(specs, ["deepseek/deepseek-v4-pro", "ollama/qwen3:30b"]);
//! ```

mod affinity;
mod config;
mod dice;
mod metered;
mod order;
mod pick;
mod pool;
mod round;
mod service;
mod stats;
mod tactic;
mod usability;

pub use affinity::{SessionHints, SessionKey};
pub use config::{PoolConfig, ServiceConfig};
pub use metered::{Meter, Metered, MeteredStream};
pub use order::{Order, Source};
pub use pick::{Pick, ServiceIndex};
pub use pool::Pool;
pub use service::Service;
pub use stats::{Full, PoolSnapshot, Seat, ServiceSnapshot, ServiceStats, Spread};
pub use tactic::{Tactic, UnknownTactic};
pub use usability::Usability;
