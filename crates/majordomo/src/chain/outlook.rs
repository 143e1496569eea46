//! Whether and when it helps to retry a request that no target could serve.
//!
//! Only the last outcome of each target counts, or, if it has several keys, that of the most
//! promising one. A target that would be called at once needs no
//! wait, so a bench of our own never becomes a `Retry-After` while forced attempts are
//! possible.

use std::time::Duration;

use majordomo_llm::{Class, Error};

use super::AllBenched;
use super::gate::GateRefusal;
use super::target::NotAdmitted;

/// The prospects of all targets of a chain.
#[derive(Debug, Default)]
pub(super) struct Outlook {
    targets: Vec<TargetOutlook>,
}

/// What is known of one target.
#[derive(Debug)]
struct TargetOutlook {
    name: String,
    latest: Prospect,
    /// The best prospect with the keys that were tried before.
    other_keys: Option<Prospect>,
}

/// The prospects of one target.
#[derive(Clone, Debug)]
pub(super) struct Prospect {
    /// Whether it may serve the same request later.
    retryable: bool,
    /// How long it would not be called.
    wait: Option<Duration>,
    /// Whether the provider demands this wait.
    demanded: bool,
    status: Option<u16>,
    code: Option<String>,
}

impl Prospect {
    pub(super) fn failed(class: Class, error: &Error) -> Self {
        Self {
            retryable: class.is_temporary(),
            wait: error.retry_after(),
            demanded: class.is_temporary() && error.retry_after().is_some(),
            status: error.status(),
            code: error.code().map(str::to_owned),
        }
    }

    /// The target was not called, because the request does not fit it.
    pub(super) fn unfit(error: &Error) -> Self {
        Self {
            retryable: false,
            wait: None,
            demanded: false,
            status: None,
            code: error.code().map(str::to_owned),
        }
    }

    pub(super) fn refused(refusal: &GateRefusal) -> Self {
        Self {
            retryable: refusal.retry_after.is_some(),
            wait: refusal.retry_after,
            demanded: false,
            status: None,
            code: None,
        }
    }

    pub(super) fn benched(refusal: &NotAdmitted, all_benched: AllBenched) -> Self {
        let denied = &refusal.denied;
        let forced = !refusal.by_credential && !denied.closed;
        let forced = forced && all_benched == AllBenched::LeastBad;
        Self {
            retryable: !refusal.by_credential,
            wait: (!forced).then_some(denied.wait),
            demanded: !refusal.by_credential && denied.closed,
            status: denied.cause.as_ref().and_then(|cause| cause.status()),
            code: None,
        }
    }
}

impl Outlook {
    /// Replaces the outcome of a target.
    pub(super) fn note(&mut self, target: &str, prospect: Prospect) {
        match self.targets.iter_mut().find(|it| it.name == target) {
            Some(known) => known.latest = prospect,
            None => self.targets.push(TargetOutlook {
                name: target.to_owned(),
                latest: prospect,
                other_keys: None,
            }),
        }
    }

    /// The next outcome of the target will be that of another key.
    pub(super) fn exchange_key(&mut self, target: &str) {
        if let Some(known) = self.targets.iter_mut().find(|it| it.name == target) {
            known.other_keys = Some(known.best().clone());
        }
    }

    /// The keys will be tried again.
    pub(super) fn forget_keys(&mut self) {
        for known in &mut self.targets {
            known.other_keys = None;
        }
    }

    /// Whether one of the targets may serve the same request later.
    pub(super) fn is_retryable(&self) -> bool {
        self.prospects().any(|it| it.retryable)
    }

    /// When to retry the request; `None` if a target would be called at once, or if no target
    /// states a time.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        if self.prospects().any(|it| it.retryable && it.wait.is_none()) {
            return None;
        }
        let any = !self.is_retryable();
        let relevant = self.prospects().filter(|it| any || it.retryable);
        relevant.filter_map(|it| it.wait).min()
    }

    /// The HTTP status with which every target failed.
    pub(super) fn status(&self) -> Option<u16> {
        let first = self.prospects().next()?.status;
        first.filter(|_| self.prospects().all(|it| it.status == first))
    }

    /// The error code that every target has in common.
    pub(super) fn code(&self) -> Option<&str> {
        let first = self.prospects().next()?.code.as_deref();
        first.filter(|_| self.prospects().all(|it| it.code.as_deref() == first))
    }

    /// The shortest pause, if every provider demands one.
    pub(super) fn pause(&self) -> Option<Duration> {
        let all = self.prospects().all(|it| it.demanded);
        self.retry_after().filter(|_| all)
    }

    fn prospects(&self) -> impl Iterator<Item = &Prospect> {
        self.targets.iter().map(TargetOutlook::best)
    }
}

impl TargetOutlook {
    fn best(&self) -> &Prospect {
        let rank = |it: &&Prospect| (!it.retryable, it.wait);
        let others = self.other_keys.iter();
        let best = std::iter::once(&self.latest).chain(others).min_by_key(rank);
        best.unwrap_or(&self.latest)
    }
}
