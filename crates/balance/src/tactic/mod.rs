//! The tactics (load-balancing policies), one file each, named as in the configuration.
//!
//! A tactic is called for every selection and sees only usable services. Its state
//! between selections is lock-free. Tactics use [`Selection`] and the statistics of
//! services, never the pool.

mod adaptive;
mod capacity;
mod in_order;
mod latency;
mod least_busy;
mod preferred;
mod random;
mod round_robin;
mod speed;
mod tier;
mod token;

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::selection::Selection;
use super::{Service, ServiceIndex};
use preferred::Preferred;

/// Selects one of the candidates.
pub(super) trait Choose: Send + Sync + fmt::Debug {
    fn choose(&self, selection: &Selection<'_>) -> ServiceIndex;
}

/// The way in which a pool picks a service.
///
/// ```
/// use majordomo_balance::Tactic;
///
/// assert_eq!("least_busy".parse(), Ok(Tactic::LeastBusy));
/// assert_eq!(Tactic::default().name(), "random");
/// let error = "fastest".parse::<Tactic>().unwrap_err();
/// assert!(error.to_string().starts_with("unknown tactic \"fastest\"; expected one of in_order,"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tactic {
    /// The first usable service of the list.
    InOrder,
    /// Weighted random.
    #[default]
    Random,
    /// Smooth weighted selection robin.
    RoundRobin,
    /// The fewest requests in flight relative to the weight.
    LeastBusy,
    /// The lower Peak EWMA latency of two random services (P2C).
    Latency,
    /// The most output tokens per second.
    Speed,
    /// The same service until it has used its tokens, then the one that used the fewest.
    Token,
    /// Weighted random, by free seats.
    Capacity,
    /// The lowest usable tier, with another tactic inside it.
    Tier,
    /// The highest combined score of latency, speed, tokens and load.
    Adaptive,
}

/// An unknown tactic name.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("unknown tactic {name:?}; expected one of {}", names())]
#[non_exhaustive]
pub struct UnknownTactic {
    /// The given name.
    pub name: String,
}

impl Tactic {
    /// Every tactic.
    pub const ALL: [Self; 10] = [
        Self::InOrder,
        Self::Random,
        Self::RoundRobin,
        Self::LeastBusy,
        Self::Latency,
        Self::Speed,
        Self::Token,
        Self::Capacity,
        Self::Tier,
        Self::Adaptive,
    ];

    /// Its name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::InOrder => "in_order",
            Self::Random => "random",
            Self::RoundRobin => "round_robin",
            Self::LeastBusy => "least_busy",
            Self::Latency => "latency",
            Self::Speed => "speed",
            Self::Token => "token",
            Self::Capacity => "capacity",
            Self::Tier => "tier",
            Self::Adaptive => "adaptive",
        }
    }

    /// Builds the tactic for a pool of these services.
    pub(super) fn build(self, within: Self, services: &[Service]) -> Box<dyn Choose> {
        match self {
            Self::InOrder => preferred(in_order::InOrder),
            Self::Random => preferred(random::Random),
            Self::RoundRobin => preferred(round_robin::RoundRobin::new(services)),
            Self::LeastBusy => preferred(least_busy::LeastBusy::new(services.len())),
            Self::Latency => preferred(latency::PowerOfTwoChoices),
            Self::Speed => preferred(speed::Speed::default()),
            Self::Token => preferred(token::Token::default()),
            Self::Capacity => preferred(capacity::Capacity),
            Self::Adaptive => preferred(adaptive::Adaptive),
            Self::Tier => {
                // Nesting tiers would always yield the same tier.
                let within = if within == Self::Tier {
                    Self::default()
                } else {
                    within
                };
                Box::new(tier::Tier(within.build(Self::default(), services)))
            }
        }
    }
}

fn preferred(tactic: impl Choose + 'static) -> Box<dyn Choose> {
    Box::new(Preferred(tactic))
}

fn names() -> String {
    Tactic::ALL.map(Tactic::name).join(", ")
}

impl FromStr for Tactic {
    type Err = UnknownTactic;

    fn from_str(name: &str) -> Result<Self, UnknownTactic> {
        let mut all = Self::ALL.into_iter();
        all.find(|tactic| tactic.name() == name)
            .ok_or_else(|| UnknownTactic {
                name: name.to_owned(),
            })
    }
}

impl fmt::Display for Tactic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
