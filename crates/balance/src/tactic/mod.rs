//! The ways to pick a service, one file each.
//!
//! A tactic is asked for each choice anew and sees only services that can be
//! asked. What it remembers between choices, it remembers without a lock.

mod adaptive;
mod capacity;
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

use super::round::Round;
use super::{Service, ServiceIndex};
use preferred::Preferred;

/// Chooses one of a round's candidates.
pub(super) trait Choose: Send + Sync + fmt::Debug {
    fn choose(&self, round: &Round<'_>) -> ServiceIndex;
}

/// How a pool picks a service.
///
/// ```
/// use majordomo_balance::Tactic;
///
/// assert_eq!("least_busy".parse(), Ok(Tactic::LeastBusy));
/// assert_eq!(Tactic::default().name(), "random");
/// let error = "fastest".parse::<Tactic>().unwrap_err();
/// assert!(error.to_string().starts_with("there is no tactic \"fastest\"; there are random,"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tactic {
    /// By chance, each by its weight.
    #[default]
    Random,
    /// In turn, each as often as its weight says, evenly spread.
    RoundRobin,
    /// The one with the fewest requests in flight for its weight.
    LeastBusy,
    /// The one that answers sooner, of two by chance.
    Latency,
    /// The one that writes fastest.
    Speed,
    /// The same one until it has used its tokens, then the one that used fewest.
    Token,
    /// By chance, each by its free seats.
    Capacity,
    /// The lowest tier that can be asked, and another tactic inside it.
    Tier,
    /// The best mark for latency, speed, tokens and load together.
    Adaptive,
}

/// There is no tactic of that name.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("there is no tactic {name:?}; there are {}", names())]
pub struct UnknownTactic {
    /// What was asked for.
    pub name: String,
}

impl Tactic {
    /// Every tactic.
    pub const ALL: [Self; 9] = [
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

    /// The tactic at work in a pool of these services.
    pub(super) fn build(self, within: Self, services: &[Service]) -> Box<dyn Choose> {
        match self {
            Self::Random => preferred(random::Random),
            Self::RoundRobin => preferred(round_robin::RoundRobin::new(services)),
            Self::LeastBusy => preferred(least_busy::LeastBusy::new(services.len())),
            Self::Latency => preferred(latency::Latency),
            Self::Speed => preferred(speed::Speed::default()),
            Self::Token => preferred(token::Token::default()),
            Self::Capacity => preferred(capacity::Capacity),
            Self::Adaptive => preferred(adaptive::Adaptive),
            Self::Tier => {
                // Tiers inside a tier would all be the same one.
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
