//! Histograms of calls to providers, as the GenAI conventions define them.

use majordomo::Registry;
use majordomo::chain::AttemptKind;

use super::attributes::word;
use super::names;
use super::upstream::UpstreamAttributes;
use crate::metrics::{Histogram, HistogramCounts, Labelled, Labels};
use crate::record::{CallOutcome, UpstreamCall};

/// The conventions' buckets.
const SECONDS: &[f64] = &[
    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];
const TOKENS: &[f64] = &[
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];

/// One histogram for every set of attributes.
pub(super) struct CallHistogram {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) help: &'static str,
    bounds: &'static [f64],
    values: Labelled<Histogram>,
}

/// Durations, times to the first chunk and tokens of calls.
pub(super) struct CallHistograms {
    duration: CallHistogram,
    first_chunk: CallHistogram,
    tokens: CallHistogram,
}

impl CallHistogram {
    fn new(
        name: &'static str,
        unit: &'static str,
        bounds: &'static [f64],
        help: &'static str,
    ) -> Self {
        Self {
            name,
            unit,
            help,
            bounds,
            values: Labelled::default(),
        }
    }

    fn at(&self, labels: &[(&'static str, &str)], observe: impl FnOnce(&Histogram)) {
        let new = || Histogram::new(self.bounds);
        self.values.change(labels, new, observe);
    }

    /// What was counted under each set of attributes.
    pub(super) fn counts(&self) -> Vec<(Labels, HistogramCounts)> {
        let empty = |counts: &HistogramCounts| counts.total() == 0;
        self.values
            .read(Histogram::counts, empty, |sum, more| sum.add(&more))
    }
}

impl CallHistograms {
    pub(super) fn new() -> Self {
        Self {
            duration: CallHistogram::new(
                names::OPERATION_DURATION,
                "s",
                SECONDS,
                "Duration of calls to providers.",
            ),
            first_chunk: CallHistogram::new(
                names::OPERATION_FIRST_CHUNK,
                "s",
                SECONDS,
                "Time to the first content of streams from providers.",
            ),
            tokens: CallHistogram::new(
                names::TOKEN_USAGE,
                "{token}",
                TOKENS,
                "Tokens of calls to providers.",
            ),
        }
    }

    pub(super) fn all(&self) -> [&CallHistogram; 3] {
        [&self.duration, &self.first_chunk, &self.tokens]
    }

    /// Counts a call to a target, which must be one of a bounded number of names.
    pub(super) fn count(&self, call: &UpstreamCall, target: &str, registry: &Registry) {
        let upstream = UpstreamAttributes::of(target, registry);
        let port = upstream.port.map(|port| port.to_string());
        let failure = call.class.map(word);
        let operation = match call.kind {
            AttemptKind::Embed => "embeddings",
            AttemptKind::Image => "generate_content",
            _ => upstream.operation(),
        };
        let mut labels = vec![
            (names::OPERATION, operation),
            (names::PROVIDER, &upstream.provider),
            (names::REQUEST_MODEL, upstream.model),
        ];
        let known = [
            (names::SERVER_ADDRESS, upstream.host.as_deref()),
            (names::SERVER_PORT, port.as_deref()),
            (names::ERROR_TYPE, failure.as_deref()),
        ];
        labels.extend(
            known
                .iter()
                .filter_map(|(name, value)| Some((*name, (*value)?))),
        );
        self.duration.at(&labels, |it| it.observe(call.took));
        if let Some(time) = call.first_token {
            self.first_chunk.at(&labels, |it| it.observe(time));
        }
        if call.outcome == CallOutcome::Served || call.first_token.is_some() {
            for (kind, count) in [("input", call.usage.input), ("output", call.usage.output)] {
                if count > 0 {
                    labels.push((names::TOKEN_TYPE, kind));
                    self.tokens.at(&labels, |it| it.observe_number(count));
                    labels.pop();
                }
            }
        }
    }
}
