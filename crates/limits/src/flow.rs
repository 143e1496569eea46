//! Flows: tenants, as the scheduler sees them.

use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState};
use std::net::IpAddr;
use std::sync::LazyLock;

/// A tenant, identified by a hash of its name.
///
/// The hash is seeded per process, so that no tenant can choose a name that collides
/// with another tenant's flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow(u64);

static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::new);

impl Flow {
    /// Returns the flow of a name, such as that of a client key.
    pub fn named(name: &str) -> Self {
        Self(SEED.hash_one(("name", name)))
    }

    /// Returns the flow of a peer address. An IPv6 /64 is one flow, since it usually
    /// belongs to one host.
    pub fn peer(address: IpAddr) -> Self {
        let network = match address.to_canonical() {
            IpAddr::V4(address) => u128::from(u32::from(address)),
            IpAddr::V6(address) => u128::from(address) >> 64 << 64,
        };
        Self(SEED.hash_one(("peer", network)))
    }
}

/// Hashes a flow to itself: it is already a hash.
#[derive(Default)]
pub(crate) struct IdentityHasher(u64);

pub(crate) type ByFlow = BuildHasherDefault<IdentityHasher>;

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ipv6_64_network_and_each_ipv4_address_is_one_flow() {
        let peer = |text: &str| Flow::peer(text.parse().unwrap());
        assert_eq!(peer("2001:db8::1"), peer("2001:db8::ffff:1"));
        assert_ne!(peer("2001:db8::1"), peer("2001:db8:0:1::1"));
        assert_ne!(peer("192.0.2.1"), peer("192.0.2.2"));
        assert_eq!(peer("192.0.2.1"), peer("::ffff:192.0.2.1"));
    }

    #[test]
    fn a_name_that_looks_like_an_address_is_a_different_flow() {
        assert_ne!(
            Flow::named("192.0.2.1"),
            Flow::peer("192.0.2.1".parse().unwrap())
        );
    }
}
