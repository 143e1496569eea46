//! Session affinity: pins each session to one service.
//!
//! A pin lasts for a fixed time from the session's first request to a service and is
//! not extended by use. The number of pins is bounded per tenant: the cache evicts
//! pins of the same tenant that were not used recently, so no tenant can displace the
//! sessions of another. Each pool has its own pins, so a session may be pinned to one
//! service of the route and to another one of a smart rule.
//!
//! Uses no sibling module; services are known by their identity number only.

mod session;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use quick_cache::sync::Cache;

use session::Tenant;
pub use session::{SessionHints, SessionKey};

/// Sessions remembered per tenant and pool: about half a megabyte, allocated on demand.
const MOST_SESSIONS: usize = 1 << 13;

/// Tenants with their own share of pins. Tenants are the configured keys, of which
/// there are far fewer; any beyond this limit share one.
const MOST_TENANTS: usize = 256;

/// How long sessions stay with their service after a better tier recovers: their
/// prompts are cached there, and the recovery may not last.
pub(super) const HOLD: Duration = Duration::from_secs(60);

/// The pins of a pool. Tenants are added rarely and looked up on every request, so
/// their map is replaced as a whole and read without a lock.
#[derive(Debug, Default)]
pub(super) struct Pins(ArcSwap<HashMap<Tenant, Arc<Share>>>);

/// The pins of one tenant.
type Share = Cache<SessionKey, Pin>;

#[derive(Clone, Copy, Debug)]
struct Pin {
    /// The service's identity, which survives a reload.
    service: u64,
    since: Instant,
}

impl Pins {
    /// The service that the session is pinned to, unless the pin has expired.
    pub(super) fn find(&self, session: SessionKey, lasts: Duration, now: Instant) -> Option<u64> {
        let shares = self.0.load();
        let tenant = session.tenant();
        let share = shares
            .get(&tenant)
            .or_else(|| shares.get(&Tenant::OTHERS))?;
        let pin = share.get(&session)?;
        let age = now.saturating_duration_since(pin.since);
        (age < lasts).then_some(pin.service)
    }

    pub(super) fn set(&self, session: SessionKey, service: u64, now: Instant) {
        let since = now;
        self.share(session.tenant())
            .insert(session, Pin { service, since });
    }

    /// The pins of a tenant, created for its first session.
    fn share(&self, tenant: Tenant) -> Arc<Share> {
        if let Some(share) = self.0.load().get(&tenant) {
            return Arc::clone(share);
        }
        let fresh = Arc::new(Cache::new(MOST_SESSIONS));
        let own = |shares: &HashMap<_, _>| match shares.len() < MOST_TENANTS {
            true => tenant,
            false => Tenant::OTHERS,
        };
        self.0.rcu(|shares| {
            let mut shares = HashMap::clone(shares);
            let tenant = own(&shares);
            shares.entry(tenant).or_insert_with(|| Arc::clone(&fresh));
            shares
        });
        let shares = self.0.load();
        let share = shares.get(&tenant).or_else(|| shares.get(&Tenant::OTHERS));
        share.map_or(fresh, Arc::clone)
    }

    pub(super) fn len(&self) -> usize {
        self.0.load().values().map(|share| share.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use majordomo::{Clock, ManualClock};

    use super::*;

    const LONG: Duration = Duration::from_secs(3_600);

    fn session(key: &str, header: &str) -> SessionKey {
        let hints = SessionHints {
            session_header: Some(header),
            key_name: Some(key),
            ..SessionHints::default()
        };
        SessionKey::of(&hints).expect("a hint is given")
    }

    #[test]
    fn the_sessions_of_a_tenant_are_bounded_and_leave_those_of_others_alone() {
        let pins = Pins::default();
        let now = ManualClock::new().now();
        let quiet = session("quiet", "s");
        pins.set(quiet, 7, now);
        for number in 0..MOST_SESSIONS * 3 {
            pins.set(session("noisy", &number.to_string()), 1, now);
        }
        assert!(pins.len() <= MOST_SESSIONS + 1, "{}", pins.len());
        assert_eq!(pins.find(quiet, LONG, now), Some(7));
    }

    #[test]
    fn the_same_id_of_two_tenants_is_two_sessions() {
        let pins = Pins::default();
        let now = ManualClock::new().now();
        pins.set(session("a", "s"), 1, now);
        assert_eq!(pins.find(session("b", "s"), LONG, now), None);
        pins.set(session("b", "s"), 2, now);
        assert_eq!(pins.find(session("a", "s"), LONG, now), Some(1));
    }

    #[test]
    fn tenants_without_number_share_one_place() {
        let pins = Pins::default();
        let now = ManualClock::new().now();
        for number in 0..MOST_TENANTS * 4 {
            pins.set(session(&number.to_string(), "s"), 1, now);
        }
        assert!(pins.0.load().len() <= MOST_TENANTS + 1);
        let last = session(&(MOST_TENANTS * 4 - 1).to_string(), "s");
        assert_eq!(pins.find(last, LONG, now), Some(1));
    }
}
