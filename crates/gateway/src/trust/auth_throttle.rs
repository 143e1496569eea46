//! Throttles wrong keys per address with a token bucket.
//!
//! Only wrong keys count, and only wrong keys are rejected: a client with a valid key is not
//! affected by other clients at its address.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

use quick_cache::sync::Cache;
use tokio::time::Instant;

/// Maximum number of tracked addresses.
const ADDRESSES: usize = 10_000;
/// Bucket size: wrong keys accepted in a burst.
const BURST: f64 = 120.0;
/// Refill rate per second.
const REFILL_PER_SECOND: f64 = 1.0;

/// The buckets of all addresses.
pub(crate) struct AuthThrottle(Cache<IpAddr, Arc<Mutex<Bucket>>>);

struct Bucket {
    left: f64,
    at: Instant,
}

impl AuthThrottle {
    /// Counts a wrong key; returns whether the address is throttled.
    pub(crate) fn is_throttled(&self, from: IpAddr) -> bool {
        let bucket = self.0.get_or_insert_with(&throttled_prefix(from), || {
            Ok::<_, std::convert::Infallible>(Arc::new(Mutex::new(Bucket {
                left: BURST,
                at: Instant::now(),
            })))
        });
        let Ok(bucket) = bucket;
        let mut bucket = bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = bucket.at.elapsed().as_secs_f64();
        bucket.at = Instant::now();
        bucket.left = (bucket.left + passed * REFILL_PER_SECOND).min(BURST);
        let none_left = bucket.left < 1.0;
        if !none_left {
            bucket.left -= 1.0;
        }
        none_left
    }
}

impl Default for AuthThrottle {
    fn default() -> Self {
        Self(Cache::new(ADDRESSES))
    }
}

/// The unit of throttling: an IPv4 address, or an IPv6 /64, since one subscriber has a
/// whole /64.
fn throttled_prefix(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_address_that_guesses_keys_is_throttled_and_recovers() {
        let auth_throttle = AuthThrottle::default();
        let address = IpAddr::from([192, 0, 2, 1]);
        let other = IpAddr::from([192, 0, 2, 2]);
        let free = (0..1_000)
            .take_while(|_| !auth_throttle.is_throttled(address))
            .count();
        assert_eq!(free, 120);
        assert!(!auth_throttle.is_throttled(other));
        tokio::time::advance(Duration::from_secs(3)).await;
        let more = (0..1_000)
            .take_while(|_| !auth_throttle.is_throttled(address))
            .count();
        assert_eq!(more, 3);
    }

    #[tokio::test]
    async fn the_number_of_tracked_addresses_is_bounded() {
        let auth_throttle = AuthThrottle::default();
        for n in 0..50_000_u32 {
            auth_throttle.is_throttled(IpAddr::from(n.to_be_bytes()));
        }
        assert!(
            auth_throttle.0.len() <= ADDRESSES,
            "{}",
            auth_throttle.0.len()
        );
    }

    #[test]
    fn addresses_of_one_ipv6_prefix_share_a_bucket() {
        let near = |text: &str| throttled_prefix(text.parse().unwrap());
        assert_eq!(near("2001:db8::1"), near("2001:db8::ffff:1"));
        assert_ne!(near("2001:db8::1"), near("2001:db8:0:1::1"));
        assert_eq!(near("::ffff:192.0.2.1"), near("192.0.2.1"));
    }
}
