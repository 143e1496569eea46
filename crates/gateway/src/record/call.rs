//! Requests sent to providers.

use std::time::Duration;

use majordomo::chain::AttemptKind;
use majordomo::{Class, Usage};

use crate::outcome::AttemptSummary;

/// One request sent to a provider.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UpstreamCall {
    /// Its number among the calls of the request, from 1.
    pub number: u32,
    /// What it was for.
    pub kind: AttemptKind,
    /// `provider/model`.
    pub target: String,
    /// When it began, since the request's arrival.
    pub at: Duration,
    /// Until the end of the response.
    pub took: Duration,
    /// From the start of the call to the first content of a stream.
    pub first_token: Option<Duration>,
    /// How it ended.
    pub outcome: CallOutcome,
    /// Why it failed.
    pub class: Option<Class>,
    /// The HTTP status of a failure, if there was one.
    pub status: Option<u16>,
    /// Its tokens.
    pub usage: Usage,
    /// How its tokens are known.
    pub usage_source: UsageSource,
}

/// How the usage of a call is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UsageSource {
    /// The provider reported it for the whole response.
    Reported,
    /// It is not: the provider reported nothing.
    Unknown,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallOutcome {
    /// The response is complete.
    Served,
    /// It failed.
    Failed,
    /// The client left before its end.
    Cancelled,
}

impl UpstreamCall {
    /// The calls of a chain that began at `chain_began`. The serving attempt has the usage
    /// and, if the response is a stream, lasts until `ended`.
    pub(crate) fn of_chain<'a>(
        attempts: impl IntoIterator<Item = &'a AttemptSummary>,
        kind: AttemptKind,
        chain_began: Duration,
        ended: Option<Duration>,
        usage: Usage,
    ) -> impl Iterator<Item = Self> {
        let sent = attempts.into_iter().filter(|attempt| attempt.was_sent());
        sent.map(move |attempt| {
            let served = attempt.outcome == "served";
            let at = chain_began + attempt.at;
            let usage = if served { usage } else { Usage::default() };
            Self {
                number: 0,
                kind,
                target: attempt.target.clone(),
                at,
                took: match ended {
                    Some(ended) if served => ended.saturating_sub(at),
                    _ => attempt.took,
                },
                first_token: (served && ended.is_some()).then_some(attempt.took),
                outcome: match served {
                    true => CallOutcome::Served,
                    false => CallOutcome::Failed,
                },
                class: attempt.class,
                status: attempt.status,
                usage,
                usage_source: match usage.total() {
                    0 => UsageSource::Unknown,
                    _ => UsageSource::Reported,
                },
            }
        })
    }
}
