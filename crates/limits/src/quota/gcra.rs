//! The generic cell rate algorithm: a leaky bucket that stores one time.
//!
//! The bucket is free of debt at `due`; a charge moves `due` into the future, and time catches
//! up with it. The state is a fraction of the burst, so a changed limit keeps the fraction
//! that was used. Times are in picoseconds, which makes rounding irrelevant.

use std::num::NonZeroU64;
use std::time::Duration;

const MINUTE_PS: u128 = 60 * 1_000_000_000_000;

/// A rate per minute with a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RateSpec {
    pub(crate) per_minute: NonZeroU64,
    burst: u64,
}

impl RateSpec {
    /// Requests: a burst of a sixth of a minute's worth, at least one.
    pub(crate) fn requests(per_minute: NonZeroU64) -> Self {
        let burst = (per_minute.get() / 6).max(1);
        Self { per_minute, burst }
    }

    /// Tokens: a burst of a whole minute's worth.
    pub(crate) fn tokens(per_minute: NonZeroU64) -> Self {
        let burst = per_minute.get();
        Self { per_minute, burst }
    }

    /// The share of one of several nodes, at least one unit.
    pub(crate) fn share(self, nodes: u64) -> Self {
        let part = |whole: u64| NonZeroU64::new(whole / nodes.max(1)).unwrap_or(NonZeroU64::MIN);
        Self {
            per_minute: part(self.per_minute.get()),
            burst: part(self.burst).get(),
        }
    }

    pub(crate) fn burst(self) -> u64 {
        self.burst
    }

    /// How long an amount takes to leak.
    pub(crate) fn time_of(self, cost: u64) -> Duration {
        duration(self.span(cost))
    }

    /// How long the bucket takes to leak an amount.
    fn span(self, cost: u64) -> u128 {
        u128::from(cost) * MINUTE_PS / u128::from(self.per_minute.get())
    }
}

/// A bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gcra {
    spec: RateSpec,
    /// When the bucket is without debt.
    due: u128,
    /// Counts the charges that found the bucket without debt.
    period: u64,
}

/// A charge that may be corrected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateCharge {
    spec: RateSpec,
    cost: u64,
    period: u64,
    /// For a shared rate: the number of the exchange before it.
    exchange: Option<u64>,
}

impl RateCharge {
    /// A charge of a rate that nodes share.
    pub(crate) fn shared(spec: RateSpec, cost: u64, exchange: u64) -> Self {
        Self {
            spec,
            cost,
            period: 0,
            exchange: Some(exchange),
        }
    }

    pub(crate) fn cost(&self) -> u64 {
        self.cost
    }

    pub(crate) fn exchange(&self) -> Option<u64> {
        self.exchange
    }
}

/// A bucket's state, for headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateState {
    /// The limit per minute.
    pub limit: u64,
    /// The amount that may be used now.
    pub remaining: u64,
    /// When the whole burst is available.
    pub reset: Duration,
}

impl Gcra {
    pub(crate) fn new(spec: RateSpec) -> Self {
        Self {
            spec,
            due: 0,
            period: 0,
        }
    }

    pub(crate) fn spec(&self) -> RateSpec {
        self.spec
    }

    /// Sets another limit. The used fraction stays the same.
    pub(crate) fn reconfigure(&mut self, spec: RateSpec) {
        self.spec = spec;
    }

    /// Charges, or returns how long to wait until the same charge fits. A charge above the
    /// burst fits a bucket without debt.
    pub(crate) fn charge(&mut self, now: Duration, cost: u64) -> Result<RateCharge, Duration> {
        let now = picos(now);
        let from = self.due.max(now);
        let span = self.spec.span(cost);
        let capacity = self.spec.span(self.spec.burst).max(span);
        let late = (from + span).saturating_sub(now + capacity);
        if late > 0 {
            return Err(duration(late));
        }
        if self.due <= now {
            self.period = self.period.wrapping_add(1);
        }
        self.due = from + span;
        Ok(RateCharge {
            spec: self.spec,
            cost,
            period: self.period,
            exchange: None,
        })
    }

    /// Charges whether or not it fits.
    pub(crate) fn force(&mut self, now: Duration, cost: u64) {
        self.due = self.due.max(picos(now)) + self.spec.span(cost);
    }

    /// Reverts a forced charge, except for the part that has leaked.
    pub(crate) fn refund(&mut self, now: Duration, cost: u64) {
        let span = self.spec.span(cost);
        self.due = self.due.saturating_sub(span).max(self.due.min(picos(now)));
    }

    /// Forgives debt beyond the burst.
    pub(crate) fn cap(&mut self, now: Duration) {
        self.due = self.due.min(picos(now) + self.spec.span(self.spec.burst));
    }

    /// The contents of the bucket, rounded up.
    pub(crate) fn level(&self, now: Duration) -> u64 {
        let debt = self.due.saturating_sub(picos(now));
        let units = (debt * u128::from(self.spec.per_minute.get())).div_ceil(MINUTE_PS);
        u64::try_from(units).unwrap_or(u64::MAX)
    }

    /// Corrects a charge to the used amount. The part that has leaked since is not refunded.
    pub(crate) fn settle(&mut self, now: Duration, charge: RateCharge, used: u64) {
        let (charged, used) = (charge.spec.span(charge.cost), charge.spec.span(used));
        if used > charged {
            self.due = self.due.max(picos(now)) + (used - charged);
        } else if charge.period == self.period {
            self.due = self.due.saturating_sub(charged - used);
        }
    }

    /// Undoes a charge.
    pub(crate) fn undo(&mut self, charge: RateCharge) {
        if charge.period == self.period {
            let span = charge.spec.span(charge.cost);
            self.due = self.due.saturating_sub(span);
        }
    }

    pub(crate) fn state(&self, now: Duration) -> RateState {
        let debt = self.due.saturating_sub(picos(now));
        let free = self.spec.span(self.spec.burst).saturating_sub(debt);
        let limit = self.spec.per_minute.get();
        let remaining = free * u128::from(limit) / MINUTE_PS;
        RateState {
            limit,
            remaining: u64::try_from(remaining).unwrap_or(u64::MAX),
            reset: duration(debt),
        }
    }

    /// Whether the bucket is without debt.
    pub(crate) fn is_full(&self, now: Duration) -> bool {
        self.due <= picos(now)
    }
}

fn picos(time: Duration) -> u128 {
    time.as_nanos() * 1_000
}

/// Rounded up.
fn duration(picos: u128) -> Duration {
    let nanos = picos.div_ceil(1_000);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const START: Duration = Duration::from_secs(1);

    fn rate(per_minute: u64) -> NonZeroU64 {
        NonZeroU64::new(per_minute).unwrap()
    }

    #[test]
    fn requests_have_a_burst_of_a_sixth_and_at_least_one() {
        for (limit, burst) in [(1, 1), (5, 1), (42, 7), (60, 10), (61, 10)] {
            let mut bucket = Gcra::new(RateSpec::requests(rate(limit)));
            let admitted = (0..100).filter(|_| bucket.charge(START, 1).is_ok()).count();
            assert_eq!(admitted, burst, "{limit}");
        }
    }

    #[test]
    fn a_charge_above_the_burst_needs_a_full_bucket_and_leaves_a_debt() {
        let mut bucket = Gcra::new(RateSpec::tokens(rate(600)));
        assert!(bucket.charge(START, 1_200).is_ok());
        let wait = bucket.charge(START, 1_200).unwrap_err();
        assert_eq!(wait, Duration::from_secs(120));
        assert_eq!(
            bucket.charge(START, 1).unwrap_err(),
            Duration::from_millis(60_100)
        );
        assert!(bucket.charge(START + wait, 1_200).is_ok());
    }

    #[test]
    fn what_was_not_used_is_refunded_unless_it_has_leaked() {
        let mut bucket = Gcra::new(RateSpec::tokens(rate(60)));
        let first = bucket.charge(START, 60).unwrap();
        assert!(bucket.charge(START, 1).is_err());
        bucket.settle(START, first, 10);
        assert_eq!(bucket.state(START).remaining, 50);
        // A minute later the first charge has leaked, and only the second remains.
        let late = START + Duration::from_secs(120);
        let early = bucket.charge(START, 50).unwrap();
        let _second = bucket.charge(late, 60).unwrap();
        bucket.settle(late, early, 0);
        assert_eq!(bucket.state(late).remaining, 0);
    }

    #[test]
    fn use_beyond_the_charge_becomes_a_debt() {
        let mut bucket = Gcra::new(RateSpec::tokens(rate(60)));
        let charge = bucket.charge(START, 1).unwrap();
        bucket.settle(START, charge, 91);
        assert_eq!(
            bucket.charge(START, 30).unwrap_err(),
            Duration::from_secs(61)
        );
    }

    #[test]
    fn another_limit_keeps_the_fraction_that_was_used() {
        let mut bucket = Gcra::new(RateSpec::tokens(rate(100)));
        let _charge = bucket.charge(START, 75).unwrap();
        bucket.reconfigure(RateSpec::tokens(rate(1_000)));
        assert_eq!(bucket.state(START).remaining, 250);
    }

    proptest! {
        /// At any moment, usage is at most the burst plus the leaked amount, and a caller that
        /// waits as long as the refusal states is admitted.
        #[test]
        fn a_bucket_never_gives_more_than_it_accrued(
            limit in 1_u64..100_000,
            steps in prop::collection::vec((0_u64..20_000, 0_u64..1_000, 0_u64..1_000), 1..60),
        ) {
            let spec = RateSpec::tokens(rate(limit));
            let mut bucket = Gcra::new(spec);
            let (mut now, mut used) = (START, 0_u128);
            for (pause, bound, actual) in steps {
                now += Duration::from_millis(pause);
                let bound = bound.min(limit);
                let charge = match bucket.charge(now, bound) {
                    Ok(charge) => charge,
                    Err(wait) => {
                        now += wait;
                        bucket.charge(now, bound).expect("admitted after the wait")
                    }
                };
                let actual = actual.min(bound);
                bucket.settle(now, charge, actual);
                used += u128::from(actual);
                let accrued = u128::from(limit) + u128::from(limit) * (now - START).as_nanos() / 60_000_000_000;
                prop_assert!(used <= accrued + 1, "{used} of {accrued}");
            }
        }
    }
}
