//! The ledger's rows. They hold names, counts and money, never content.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::money::Cost;
use crate::prices::{PriceCard, PriceId};
use crate::quantities::Quantities;
use crate::request_id::RequestId;

/// Implements an enum that is stored as a number and shown by name.
macro_rules! stored_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $number:literal $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum $name { $($(#[$variant_doc])* $variant,)+ }

        impl $name {
            /// The name in reports.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            pub(crate) const fn number(self) -> i64 {
                match self { $(Self::$variant => $number,)+ }
            }

            pub(crate) const fn from_number(number: i64) -> Option<Self> {
                match number { $($number => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

stored_enum! {
    /// The purpose of an attempt.
    AttemptKind {
        /// The response itself.
        Answer = 0 "answer",
        /// A description of an image for a text-only target.
        Describe = 1 "describe",
        /// Embeddings.
        Embed = 2 "embed",
        /// A generated image.
        Image = 3 "image",
        /// A token count.
        Count = 4 "count",
    }
}

stored_enum! {
    /// How the amounts of an attempt are known.
    SettleClass {
        /// Reported by the provider.
        Reported = 0 "reported",
        /// The provider's opening usage, plus our count of the output that arrived.
        Partial = 1 "partial",
        /// Our estimate.
        Estimated = 2 "estimated",
        /// Refused before a model ran.
        Free = 3 "free",
        /// The process died with the attempt open.
        Lost = 4 "lost",
        /// Sent with the client's own credential, so the client paid. Amounts are those that
        /// the provider reported; the cost is 0.
        ClientPaid = 5 "client_paid",
    }
}

impl SettleClass {
    /// Whether some of the amounts are our own count or guess.
    pub(crate) fn is_estimate(self) -> bool {
        matches!(self, Self::Partial | Self::Estimated | Self::Lost)
    }
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestRow {
    /// The id, which contains the time of the start.
    pub id: RequestId,
    /// The client's key, by name.
    pub key: Option<Arc<str>>,
    /// The key's team.
    pub team: Option<Arc<str>>,
    /// The end user that the client named.
    pub user: Option<Arc<str>>,
    /// Tags, such as `project=x`.
    #[serde(default)]
    pub tags: Vec<Arc<str>>,
    /// The dialect that the client speaks.
    pub dialect: Arc<str>,
    /// The route that served.
    pub route: Option<Arc<str>>,
    /// The smart rule that matched.
    pub rule: Option<Arc<str>>,
    /// The model that the client requested.
    pub model: Arc<str>,
    /// How the request ended.
    pub outcome: Arc<str>,
    /// The status of the response.
    pub status: u16,
    /// Milliseconds until the end.
    pub duration_ms: u64,
    /// Milliseconds until the first token.
    pub first_token_ms: Option<u64>,
}

/// One attempt that was sent to a provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptRow {
    /// Its number within the request, from 1.
    pub number: u16,
    /// Its purpose.
    pub kind: AttemptKind,
    /// The target, `provider/model`.
    pub target: Arc<str>,
    /// The price that was valid when it started.
    pub price: Option<PriceRef>,
    /// Its usage.
    pub used: Quantities,
    /// The cost at that price; `None` if it is unknown.
    pub cost: Option<Cost>,
    /// The cost that the upstream reported, which takes precedence over ours.
    pub reported_cost: Option<Cost>,
    /// How the amounts are known.
    pub settle: SettleClass,
    /// The class of its failure.
    pub failure: Option<Arc<str>>,
}

impl AttemptRow {
    /// The effective cost: the one that the upstream reported, otherwise ours.
    pub fn charged(&self) -> Option<Cost> {
        self.reported_cost.or(self.cost)
    }

    /// Prices the attempt. An attempt that was refused before a model ran costs nothing.
    pub fn priced(mut self, card: Option<&PriceCard>) -> Self {
        self.price = card.map(PriceRef::from);
        self.cost = match self.settle {
            SettleClass::Free | SettleClass::ClientPaid => Some(Cost::ZERO),
            _ => card.and_then(|card| card.cost(&self.used)),
        };
        self
    }
}

/// A row's reference to a price.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceRef {
    /// The hash of the rates.
    pub id: PriceId,
    /// The rates as text, kept once per store.
    pub rates: Arc<str>,
}

impl From<&PriceCard> for PriceRef {
    fn from(card: &PriceCard) -> Self {
        Self {
            id: card.id(),
            rates: card.text(),
        }
    }
}

/// A request that ended, with its attempts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedRow {
    /// The request.
    pub request: RequestRow,
    /// Its attempts, in order.
    pub attempts: Vec<AttemptRow>,
}

/// An attempt that is being sent. If the process dies, it becomes a row with the settle
/// class `lost`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenAttempt {
    /// The request.
    pub request: RequestId,
    /// Its number within the request, from 1.
    pub number: u16,
    /// Its purpose.
    pub kind: AttemptKind,
    /// The target, `provider/model`.
    pub target: Arc<str>,
    /// The client's key, by name.
    pub key: Option<Arc<str>>,
    /// The key's team.
    pub team: Option<Arc<str>>,
    /// The model that the client requested.
    pub model: Arc<str>,
    /// Estimated input tokens.
    pub input_estimate: u64,
    /// The cost if it is never settled: that of the estimate, or of a budget's reservation.
    pub cost_if_lost: Option<Cost>,
}

impl OpenAttempt {
    /// The rows of a request whose process died with these attempts open.
    pub(crate) fn lost(attempts: Vec<Self>) -> Option<FinishedRow> {
        let first = attempts.first()?;
        let request = RequestRow {
            id: first.request,
            key: first.key.clone(),
            team: first.team.clone(),
            user: None,
            tags: Vec::new(),
            dialect: "".into(),
            route: None,
            rule: None,
            model: first.model.clone(),
            outcome: "lost".into(),
            status: 0,
            duration_ms: 0,
            first_token_ms: None,
        };
        // Counted from 1: reports count a request by its first attempt.
        let numbered = (1..).zip(attempts);
        let attempts = numbered.map(|(number, open)| AttemptRow {
            number,
            kind: open.kind,
            target: open.target,
            price: None,
            used: Quantities {
                input: open.input_estimate,
                ..Quantities::default()
            },
            cost: open.cost_if_lost,
            reported_cost: None,
            settle: SettleClass::Lost,
            failure: None,
        });
        let attempts = attempts.collect();
        Some(FinishedRow { request, attempts })
    }
}

/// One entry of the queue to a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LedgerEntry {
    /// An attempt starts.
    Opened(OpenAttempt),
    /// A request ended.
    Finished(FinishedRow),
}
