//! Whether a service can take a request now, as reported by health and fit.

use std::time::Instant;

use majordomo::health::{HealthStatus, Standing};

/// Whether a service can take this request now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usability {
    /// It can take the request.
    Usable,
    /// Its bench has expired but no probe has run yet: this request may be the probe.
    Probe,
    /// Excluded unless no other service is left, including while another request probes it.
    Benched {
        /// When the bench ends.
        until: Instant,
    },
    /// Excluded in any case: its provider throttled it or rejected its credential.
    Closed {
        /// When it reopens.
        until: Instant,
    },
    /// It is healthy but cannot take this request.
    Incapable,
}

impl Usability {
    /// Maps the health of a target or credential to its usability.
    pub fn of(status: &HealthStatus, now: Instant) -> Self {
        match (status.until_usable, status.benched_for) {
            (Some(left), _) if status.closed => Self::Closed { until: now + left },
            (Some(left), _) => Self::Benched { until: now + left },
            (None, Some(_)) if status.probing => Self::Benched { until: now },
            (None, Some(_)) => Self::Probe,
            (None, None) => Self::Usable,
        }
    }

    /// The usability of a chain, given each target with its credential: the best target's.
    pub fn of_chain(targets: impl IntoIterator<Item = [Standing; 2]>) -> Self {
        let each = targets
            .into_iter()
            .map(|[own, credential]| Self::from(own).and(credential.into()));
        each.reduce(Self::or).unwrap_or(Self::Incapable)
    }

    /// Combines two requirements, such as a target's health and its credential's: the
    /// worse one.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Incapable, _) | (_, Self::Incapable) => Self::Incapable,
            (Self::Closed { until: a }, Self::Closed { until: b } | Self::Benched { until: b })
            | (Self::Benched { until: a }, Self::Closed { until: b }) => {
                Self::Closed { until: a.max(b) }
            }
            (closed @ Self::Closed { .. }, _) | (_, closed @ Self::Closed { .. }) => closed,
            (Self::Benched { until: a }, Self::Benched { until: b }) => {
                Self::Benched { until: a.max(b) }
            }
            (benched @ Self::Benched { .. }, _) | (_, benched @ Self::Benched { .. }) => benched,
            (Self::Probe, _) | (_, Self::Probe) => Self::Probe,
            (Self::Usable, Self::Usable) => Self::Usable,
        }
    }

    /// Combines two alternatives, such as the targets of a chain: the better one.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Usable, _) | (_, Self::Usable) => Self::Usable,
            (Self::Probe, _) | (_, Self::Probe) => Self::Probe,
            (Self::Benched { until: a }, Self::Benched { until: b }) => {
                Self::Benched { until: a.min(b) }
            }
            (benched @ Self::Benched { .. }, _) | (_, benched @ Self::Benched { .. }) => benched,
            (Self::Closed { until: a }, Self::Closed { until: b }) => {
                Self::Closed { until: a.min(b) }
            }
            (closed @ Self::Closed { .. }, _) | (_, closed @ Self::Closed { .. }) => closed,
            (Self::Incapable, Self::Incapable) => Self::Incapable,
        }
    }
}

impl From<Standing> for Usability {
    fn from(standing: Standing) -> Self {
        match standing {
            Standing::Usable => Self::Usable,
            Standing::Probe => Self::Probe,
            Standing::Benched { until } => Self::Benched { until },
            Standing::Closed { until } => Self::Closed { until },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use majordomo::clock::{Clock, ManualClock};

    use super::*;

    #[test]
    fn a_target_is_as_usable_as_its_worse_part_and_a_chain_as_its_best_target() {
        let now = ManualClock::new().now();
        let benched = |secs| Usability::Benched {
            until: now + Duration::from_secs(secs),
        };
        let closed = |secs| Usability::Closed {
            until: now + Duration::from_secs(secs),
        };
        let (usable, probe, incapable) =
            (Usability::Usable, Usability::Probe, Usability::Incapable);
        let cases = [
            (usable, usable, usable, usable),
            (usable, probe, probe, usable),
            (usable, benched(5), benched(5), usable),
            (probe, benched(5), benched(5), probe),
            (benched(3), benched(5), benched(5), benched(3)),
            (incapable, usable, incapable, usable),
            (incapable, benched(5), incapable, benched(5)),
            (usable, closed(5), closed(5), usable),
            (probe, closed(5), closed(5), probe),
            (benched(9), closed(5), closed(9), benched(9)),
            (closed(3), closed(5), closed(5), closed(3)),
            (incapable, closed(5), incapable, closed(5)),
            (incapable, incapable, incapable, incapable),
        ];
        for (a, b, and, or) in cases {
            assert_eq!((a.and(b), b.and(a)), (and, and), "{a:?} and {b:?}");
            assert_eq!((a.or(b), b.or(a)), (or, or), "{a:?} or {b:?}");
        }
    }
}
