//! Session affinity: pins each session to one service.
//!
//! A pin lasts for a fixed time from the session's first request to a service and is
//! not extended by use. The number of pins is bounded per tenant: the cache evicts
//! pins of the same tenant that were not used recently, so no tenant can displace the
//! sessions of another. Each pool has its own pins, so a session may be pinned to one
//! service of the route and to another one of a smart rule.
//!
//! If several processes serve the same sessions, `rendezvous` places them instead, without
//! state to keep or to share.
//!
//! Uses no sibling module; services are known by their identity number or their name.

mod rendezvous;
mod session;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use quick_cache::sync::Cache;

use session::Tenant;
pub use session::{SessionHints, SessionKey};

/// Sessions remembered per tenant and pool: about half a megabyte, allocated on demand.
const MAX_SESSIONS: usize = 1 << 13;

/// Tenants with their own pins. Tenants are the configured keys, of which there are far
/// fewer; any beyond this limit share the same pins.
const MAX_TENANTS: usize = 256;

/// How long sessions stay with their service after a better tier recovers: their
/// prompts are cached there, and the recovery may not last.
pub(super) const RECOVERY_HOLD: Duration = Duration::from_secs(60);

/// The pins of a pool. Tenants are added rarely and looked up on every request, so
/// their map is replaced as a whole and read without a lock.
#[derive(Debug, Default)]
pub(super) struct Pins(ArcSwap<HashMap<Tenant, Arc<TenantPins>>>);

/// The pins of one tenant.
type TenantPins = Cache<SessionKey, SessionPin>;

#[derive(Clone, Copy, Debug)]
struct SessionPin {
    /// The service's identity, which survives a reload.
    service: u64,
    since: Instant,
}

impl Pins {
    /// The service that the session is pinned to, unless the pin has expired.
    pub(super) fn find(&self, session: SessionKey, lasts: Duration, now: Instant) -> Option<u64> {
        let tenants = self.0.load();
        let tenant = session.tenant();
        let tenant_pins = tenants
            .get(&tenant)
            .or_else(|| tenants.get(&Tenant::OTHERS))?;
        let pin = tenant_pins.get(&session)?;
        let age = now.saturating_duration_since(pin.since);
        (age < lasts).then_some(pin.service)
    }

    pub(super) fn set(&self, session: SessionKey, service: u64, now: Instant) {
        let since = now;
        self.tenant_pins(session.tenant())
            .insert(session, SessionPin { service, since });
    }

    /// The pins of a tenant, created for its first session.
    fn tenant_pins(&self, tenant: Tenant) -> Arc<TenantPins> {
        if let Some(tenant_pins) = self.0.load().get(&tenant) {
            return Arc::clone(tenant_pins);
        }
        let fresh = Arc::new(Cache::new(MAX_SESSIONS));
        let own = |tenants: &HashMap<_, _>| match tenants.len() < MAX_TENANTS {
            true => tenant,
            false => Tenant::OTHERS,
        };
        self.0.rcu(|tenants| {
            let mut tenants = HashMap::clone(tenants);
            let tenant = own(&tenants);
            tenants.entry(tenant).or_insert_with(|| Arc::clone(&fresh));
            tenants
        });
        let tenants = self.0.load();
        let tenant_pins = tenants
            .get(&tenant)
            .or_else(|| tenants.get(&Tenant::OTHERS));
        tenant_pins.map_or(fresh, Arc::clone)
    }

    pub(super) fn len(&self) -> usize {
        self.0
            .load()
            .values()
            .map(|tenant_pins| tenant_pins.len())
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use majordomo::clock::{Clock, ManualClock};

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
    fn the_sessions_of_a_tenant_are_bounded_and_do_not_displace_those_of_others() {
        let pins = Pins::default();
        let now = ManualClock::new().now();
        let quiet = session("quiet", "s");
        pins.set(quiet, 7, now);
        for number in 0..MAX_SESSIONS * 3 {
            pins.set(session("noisy", &number.to_string()), 1, now);
        }
        assert!(pins.len() <= MAX_SESSIONS + 1, "{}", pins.len());
        assert_eq!(pins.find(quiet, LONG, now), Some(7));
    }

    #[test]
    fn the_same_id_under_two_tenants_is_two_sessions() {
        let pins = Pins::default();
        let now = ManualClock::new().now();
        pins.set(session("a", "s"), 1, now);
        assert_eq!(pins.find(session("b", "s"), LONG, now), None);
        pins.set(session("b", "s"), 2, now);
        assert_eq!(pins.find(session("a", "s"), LONG, now), Some(1));
    }

    #[test]
    fn tenants_beyond_the_limit_share_one_cache() {
        let pins = Pins::default();
        let now = ManualClock::new().now();
        for number in 0..MAX_TENANTS * 4 {
            pins.set(session(&number.to_string(), "s"), 1, now);
        }
        assert!(pins.0.load().len() <= MAX_TENANTS + 1);
        let last = session(&(MAX_TENANTS * 4 - 1).to_string(), "s");
        assert_eq!(pins.find(last, LONG, now), Some(1));
    }
}
