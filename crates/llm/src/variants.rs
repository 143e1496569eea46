//! How many variants the contract's growing enums have.
//!
//! [`Event`], [`FinishReason`] and [`Class`] are `non_exhaustive` for users, yet every
//! codec must handle each variant. A codec asserts the count that it handles, so a new
//! variant fails its tests' compilation instead of reaching a wildcard arm.

use crate::{Class, Event, FinishReason};

impl Event {
    /// The number of variants, for codecs.
    #[doc(hidden)]
    pub const VARIANTS: usize = 11;
}

impl FinishReason {
    /// The number of variants, for codecs.
    #[doc(hidden)]
    pub const VARIANTS: usize = 9;
}

impl Class {
    /// The number of variants, for codecs.
    #[doc(hidden)]
    pub const VARIANTS: usize = 21;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers the variants in order. A new one does not compile until it is numbered.
    macro_rules! count {
        ($type:ident: $($variant:pat),+ $(,)?) => {{
            fn exhaustive(value: &$type) {
                match value { $($variant => {})+ }
            }
            let _: fn(&$type) = exhaustive;
            [$(stringify!($variant)),+].len()
        }};
    }

    #[test]
    fn the_counts_are_those_of_the_enums() {
        let events = count!(Event:
            Event::Start { .. },
            Event::Text(_),
            Event::Refusal(_),
            Event::Reasoning(_),
            Event::EndPart(_),
            Event::Part(_),
            Event::ToolCallStart { .. },
            Event::ToolCallArguments { .. },
            Event::ToolCallEnd { .. },
            Event::Usage(_),
            Event::Finish(_),
        );
        assert_eq!(events, Event::VARIANTS);
        let reasons = count!(FinishReason:
            FinishReason::Stop,
            FinishReason::StopSequence(_),
            FinishReason::Length,
            FinishReason::ContextWindow,
            FinishReason::ToolCalls,
            FinishReason::ContentFilter,
            FinishReason::Refusal,
            FinishReason::Paused,
            FinishReason::Other(_),
        );
        assert_eq!(reasons, FinishReason::VARIANTS);
        let classes = count!(Class:
            Class::Transient,
            Class::BadResponse,
            Class::Empty,
            Class::Tls,
            Class::RateLimited,
            Class::Auth,
            Class::ClientAuth,
            Class::ClientLimited,
            Class::Quota,
            Class::Forbidden,
            Class::Conflict,
            Class::NeverSent,
            Class::ModelNotFound,
            Class::Unsupported,
            Class::ContextLength,
            Class::Invalid,
            Class::Policy,
            Class::Denied,
            Class::Cancelled,
            Class::Deadline,
            Class::Local,
        );
        assert_eq!(classes, Class::VARIANTS);
    }
}
