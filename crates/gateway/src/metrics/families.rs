//! Every metric of `/metrics`, with its kind and labels.
//!
//! `/metrics` shows no others. Tests compare this list with `docs/guide/metrics.md`, and
//! generate the dashboard and the alert rules in `deploy` from it. Names follow Prometheus'
//! conventions: base units as suffixes, `_total` for counters.

/// The type of a metric in Prometheus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricKind {
    /// Only grows, until the process ends.
    Counter,
    /// A current value.
    Gauge,
    /// Counts of durations by bucket, their sum and their number.
    Histogram,
}

impl MetricKind {
    /// The word of a `# TYPE` line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// One metric and all its label sets.
#[derive(Debug)]
pub(crate) struct MetricFamily {
    pub(crate) name: &'static str,
    pub(crate) kind: MetricKind,
    pub(crate) labels: &'static [&'static str],
    pub(crate) help: &'static str,
}

/// Defines the metrics and the list of them all.
macro_rules! families {
    ($($constant:ident = $kind:ident $name:literal $labels:tt $help:literal;)*) => {
        $(
            pub(crate) const $constant: MetricFamily = MetricFamily {
                name: concat!("majordomo_", $name),
                kind: MetricKind::$kind,
                labels: &$labels,
                help: $help,
            };
        )*

        /// All metrics, in the order of the documentation.
        #[cfg(test)]
        pub(crate) const ALL: &[MetricFamily] = &[$($constant),*];
    };
}

families! {
    REQUESTS = Counter "requests_total" ["dialect", "outcome", "status"]
        "Finished requests.";
    REQUEST_SECONDS = Histogram "request_seconds" []
        "Request duration.";
    FIRST_TOKEN_SECONDS = Histogram "first_token_seconds" []
        "Time to the first token of a stream.";
    OPEN_REQUESTS = Gauge "open_requests" []
        "Requests in flight.";
    OPEN_STREAMS = Gauge "open_streams" []
        "Streams in flight.";
    ATTEMPTS = Counter "attempts_total" ["target", "outcome"]
        "Attempts by target and outcome.";
    FAILOVERS = Counter "failovers_total" ["from"]
        "Failovers from a target to the next.";
    TARGET_USABLE = Gauge "target_usable" ["target"]
        "Whether a target or credential is usable.";
    OTHER_TARGETS = Gauge "other_targets" ["state"]
        "Targets that clients named but that are not configured.";
    TOKENS = Counter "tokens_total" ["target", "kind"]
        "Tokens as reported by providers, or else estimated.";
    TOKEN_PORTIONS = Counter "token_portions_total" ["target", "kind"]
        "Cached and reasoning tokens, which are part of input and output.";
    ROUTE_TOKENS = Counter "route_tokens_total" ["route", "kind"]
        "Input tokens by route, and the portions that prompt caches read and wrote.";
    COST = Counter "cost_usd_total" ["target"]
        "Cost of calls with a known price, in US dollars.";
    UNPRICED_CALLS = Counter "unpriced_calls_total" ["target"]
        "Calls whose price is unknown.";
    OPEN_RESERVATIONS = Gauge "open_reservations" []
        "Reservations of budgets that are not settled.";
    RESERVED_USD = Gauge "reserved_usd" []
        "The sum of these reservations.";
    STORE_WAITS = Counter "store_waits_total" []
        "Waits of requests for a store of limits.";
    STORE_WAIT_SECONDS = Counter "store_wait_seconds_total" []
        "The sum of these waits.";
    STORE_WAIT_LONGEST = Gauge "store_wait_longest_seconds" []
        "The longest of these waits.";
    STORE_UP = Gauge "store_up" ["store"]
        "Whether a store that gateways share responds.";
    STORE_OUTAGES = Counter "store_outages_total" ["store"]
        "Times that a shared store became unavailable.";
    CLUSTER_NODES = Gauge "cluster_nodes" []
        "Gateways that share limits, as known to this one.";
    CLUSTER_EXCHANGES = Counter "cluster_exchanges_total" []
        "Exchanges about limits with the shared store.";
    CLUSTER_ROUND_TRIPS = Counter "cluster_round_trips_total" []
        "Round trips of these exchanges.";
    IMAGES_CHANGED = Counter "images_changed_total" ["change"]
        "Images changed for a target.";
    DESCRIPTIONS = Counter "descriptions_total" ["target", "outcome"]
        "Describer calls and cached descriptions.";
    DESCRIBE_TOKENS = Counter "describe_tokens_total" ["target", "kind"]
        "Tokens of describer calls, not included in majordomo_tokens_total.";
    LEDGER_AVAILABLE = Gauge "ledger_available" []
        "Whether the ledger can be written.";
    LEDGER_WAITING = Gauge "ledger_waiting" []
        "Entries that wait for the ledger.";
    LEDGER_WRITTEN = Counter "ledger_written_total" []
        "Entries written to the ledger.";
    LEDGER_DROPPED = Counter "ledger_dropped_total" []
        "Entries lost before they were written to the ledger.";
    READY = Gauge "ready" []
        "Whether any target can serve.";
    CONFIG_STALE = Gauge "config_stale" []
        "Whether the newest configuration file is not active.";
    BUILD_INFO = Gauge "build_info" ["version"]
        "The running version; the value is always 1.";
}
