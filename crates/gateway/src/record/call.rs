//! Requests sent to providers.

use std::sync::Arc;
use std::time::Duration;

use majordomo::chain::AttemptKind;
use majordomo::{Class, Usage};
use majordomo_ledger::{Cost, PriceCard, Quantities, SettleClass};

/// One request sent to a provider.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UpstreamCall {
    /// Its number among the calls of the request, from 1.
    pub number: u32,
    /// Its purpose.
    pub kind: AttemptKind,
    /// `provider/model`.
    pub target: String,
    /// When it began, since the request's arrival.
    pub at: Duration,
    /// The time until the end of the response.
    pub took: Duration,
    /// The time from the start of the call to the first content of a stream.
    pub first_token: Option<Duration>,
    /// How it ended.
    pub outcome: CallOutcome,
    /// Why it failed.
    pub class: Option<Class>,
    /// The HTTP status of a failure, if there was one.
    pub status: Option<u16>,
    /// Its tokens.
    pub usage: Usage,
    /// Images that it generated, or may have generated.
    pub images: u64,
    /// How its tokens are known.
    pub usage_source: UsageSource,
    /// How it is settled.
    pub settle: SettleClass,
    /// Whether it was sent with the client's own credential, so that the client paid.
    pub client_paid: bool,
    /// The price when it began.
    pub price: Option<Arc<PriceCard>>,
    /// Its cost; `None` if the price is unknown.
    pub cost: Option<Cost>,
}

impl UpstreamCall {
    /// Its usage, in the units that are priced.
    pub(crate) fn quantities(&self) -> Quantities {
        Quantities {
            images: self.images,
            ..Quantities::from(&self.usage)
        }
    }
}

/// How the usage of a call is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UsageSource {
    /// The provider reported it for the whole response.
    Reported,
    /// The provider's opening report, and our count of the output that arrived before the
    /// response was cut.
    Partial,
    /// Our own estimate of the input and count of the output, because the provider reported
    /// nothing.
    Estimated,
    /// The usage is unknown, and nothing arrived that would be billed.
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
