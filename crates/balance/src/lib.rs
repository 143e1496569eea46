//! Load balancing over the services of a pool: tactics, statistics and affinity.
//!
//! A [`Pool`] holds the services of one partition: those of a route or of one of its
//! smart rules. For each request it yields an [`Order`]: first the service that its
//! [`Tactic`] picks or that the session is pinned to, then the others for failover.
//! The caller reports which services are unhealthy or cannot take the request
//! ([`Usability`]); health itself is tracked in `majordomo`.
//!
//! Tactics read the [`ServiceStats`] of a service, which are recorded by [`Metered`],
//! a model that takes a seat, calls another model and measures it.
//!
//! The crate uses `majordomo` only. It starts no task, reads time from the caller or from
//! `majordomo::clock::Clock`, and takes no lock shared by all requests; randomness is seeded.
//!
//! | module | provides | may use |
//! |---|---|---|
//! | `pool`, `order`, `pick`, `service` | the pool, its API and its services | everything |
//! | `tactic/`, `selection` | one file per tactic, and the helpers they share | `service`, `stats`, `rng` |
//! | `stats/` | per-service statistics, lock-free | `service`, for snapshots |
//! | `affinity/` | session pins | nothing |
//! | `metered` | the measuring model | `stats` |
//! | `config`, `usability`, `rng` | plain data and randomness | nothing, except the names of tactics |
//!
//! ```
//! use majordomo::clock::{Clock, RuntimeClock};
//! use majordomo_balance::{Pick, Pool, PoolConfig, ServiceConfig, Tactic, Usability};
//!
//! let services = vec![
//!     ServiceConfig::new("ollama/qwen3:30b").with_tier(1),
//!     ServiceConfig::new("deepseek/deepseek-v4-pro"),
//! ];
//! let config = PoolConfig::default().with_tactic(Tactic::Tier).with_services(services);
//! let clock = RuntimeClock;
//! let pool = Pool::new(config, clock.now());
//! let order = pool.order(&Pick::at(clock.now()), |_| Usability::Usable);
//! let specs: Vec<&str> = order.map(|service| pool.service(service).id()).collect();
//! assert_eq!(specs, ["deepseek/deepseek-v4-pro", "ollama/qwen3:30b"]);
//! ```

mod affinity;
mod config;
mod metered;
mod order;
mod pick;
mod pool;
mod rng;
mod selection;
mod service;
mod stats;
mod tactic;
mod usability;

pub use affinity::{SessionHints, SessionKey};
pub use config::{PoolConfig, ServiceConfig};
pub use metered::{Meter, Metered, MeteredStream};
pub use order::{Order, PickSource};
pub use pick::{Pick, ServiceIndex};
pub use pool::Pool;
pub use service::Service;
pub use stats::{NoFreeSeat, PoolSnapshot, SampleSummary, Seat, ServiceSnapshot, ServiceStats};
pub use tactic::{Tactic, UnknownTactic};
pub use usability::Usability;
