//! Rendezvous hashing (highest random weight): a session belongs to the service with the
//! highest score of both. When a service leaves, only its own sessions move, each to its
//! second choice; when it is back, they return.

use super::session::SessionKey;

impl SessionKey {
    /// The service of this session, among services with a name and a weight.
    ///
    /// Scores are weighted as by Thaler and Ravishankar's method with logarithms, so each
    /// service gets sessions in proportion to its weight.
    pub(crate) fn rendezvous<'a, I>(
        self,
        services: impl Iterator<Item = (I, &'a str, u32)>,
    ) -> Option<I> {
        let mut best = None;
        for (index, name, weight) in services {
            let score = self.score(name, weight);
            if best.as_ref().is_none_or(|(_, highest)| score > *highest) {
                best = Some((index, score));
            }
        }
        best.map(|(index, _)| index)
    }

    fn score(self, name: &str, weight: u32) -> f64 {
        let hash = mixed(self.digest() ^ mixed(digest_of(name)));
        // In (0, 1]: its logarithm is finite.
        let uniform = ((hash >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        f64::from(weight.max(1)) / -uniform.ln()
    }
}

/// FNV-1a: the same in every process.
fn digest_of(text: &str) -> u64 {
    let bytes = text.bytes();
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The finalizer of SplitMix64: one changed bit changes half of them.
fn mixed(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use super::super::SessionHints;
    use super::*;

    fn session(number: usize) -> SessionKey {
        let header = number.to_string();
        let hints = SessionHints {
            session_header: Some(&header),
            key_name: Some("laptop"),
            ..SessionHints::default()
        };
        SessionKey::of(&hints).expect("a hint is given")
    }

    fn place<'a>(number: usize, services: &[(&'a str, u32)]) -> &'a str {
        let services = services
            .iter()
            .map(|(name, weight)| (*name, *name, *weight));
        session(number).rendezvous(services).expect("services")
    }

    #[test]
    fn sessions_are_spread_by_weight() {
        let services = [("a/x", 1), ("b/x", 1), ("c/x", 2)];
        let count = |name: &str| (0..8_000).filter(|n| place(*n, &services) == name).count();
        for (name, expected) in [("a/x", 2_000), ("b/x", 2_000), ("c/x", 4_000)] {
            let found = count(name);
            assert!(found.abs_diff(expected) < 250, "{name}: {found}");
        }
    }

    #[test]
    fn only_the_sessions_of_a_service_that_leaves_move() {
        let (all, fewer) = (
            [("a/x", 1), ("b/x", 1), ("c/x", 1)],
            [("a/x", 1), ("c/x", 1)],
        );
        for number in 0..1_000 {
            let before = place(number, &all);
            if before != "b/x" {
                assert_eq!(place(number, &fewer), before);
            }
        }
    }

    #[test]
    fn the_order_of_the_services_does_not_matter() {
        for number in 0..1_000 {
            let one = place(number, &[("a/x", 1), ("b/x", 3), ("c/x", 1)]);
            assert_eq!(place(number, &[("c/x", 1), ("a/x", 1), ("b/x", 3)]), one);
        }
    }
}
