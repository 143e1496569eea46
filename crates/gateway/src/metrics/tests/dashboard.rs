//! The Grafana dashboard in `deploy/grafana`.

use serde_json::{Value, json};

use super::super::families as metric;
use super::assert_written;
use super::query::{all_names, increase, metrics_in, quantile, rate, total};

/// Grafana's variable: four scrapes at least.
const WINDOW: &str = "$__rate_interval";

/// A panel: its queries with the legend of each.
struct DashboardPanel {
    title: &'static str,
    description: &'static str,
    unit: &'static str,
    kind: &'static str,
    queries: Vec<(String, &'static str)>,
}

/// A row of panels, all of the same width.
struct DashboardRow(&'static str, Vec<DashboardPanel>);

fn lines(
    title: &'static str,
    description: &'static str,
    unit: &'static str,
    queries: Vec<(String, &'static str)>,
) -> DashboardPanel {
    DashboardPanel {
        title,
        description,
        unit,
        kind: "timeseries",
        queries,
    }
}

fn stat(panel: DashboardPanel) -> DashboardPanel {
    DashboardPanel {
        kind: "stat",
        ..panel
    }
}

fn times(
    title: &'static str,
    description: &'static str,
    of: &metric::MetricFamily,
) -> DashboardPanel {
    let queries = [("0.5", "p50"), ("0.95", "p95"), ("0.99", "p99")];
    let queries = queries.map(|(share, legend)| (quantile(of, share, WINDOW), legend));
    lines(title, description, "s", queries.into())
}

fn overview() -> DashboardRow {
    let least = |family: &metric::MetricFamily| format!("min({})", family.name);
    let panels = vec![
        stat(lines(
            "Ready",
            "1 if every gateway can serve.",
            "short",
            vec![(least(&metric::READY), "ready")],
        )),
        stat(lines(
            "Gateways",
            "By version.",
            "short",
            vec![(total(&metric::BUILD_INFO, &["version"]), "{{version}}")],
        )),
        stat(lines(
            "Cost of the last day",
            "Calls with a known price.",
            "currencyUSD",
            vec![(increase(&metric::COST, "1d", &[]), "cost")],
        )),
        stat(lines(
            "Stale configurations",
            "Gateways whose newest file was rejected.",
            "short",
            vec![(total(&metric::CONFIG_STALE, &[]), "stale")],
        )),
    ];
    DashboardRow("Overview", panels)
}

fn requests() -> DashboardRow {
    let panels = vec![
        lines(
            "Requests",
            "Finished requests by outcome.",
            "reqps",
            vec![(rate(&metric::REQUESTS, WINDOW, &["outcome"]), "{{outcome}}")],
        ),
        lines(
            "Statuses",
            "By the client's dialect.",
            "reqps",
            vec![(
                rate(&metric::REQUESTS, WINDOW, &["dialect", "status"]),
                "{{dialect}} {{status}}",
            )],
        ),
        lines(
            "In flight",
            "Requests, and streams among them.",
            "short",
            vec![
                (total(&metric::OPEN_REQUESTS, &[]), "requests"),
                (total(&metric::OPEN_STREAMS, &[]), "streams"),
            ],
        ),
        times("Duration", "Of whole requests.", &metric::REQUEST_SECONDS),
        times(
            "First token",
            "From the arrival of a streamed request.",
            &metric::FIRST_TOKEN_SECONDS,
        ),
    ];
    DashboardRow("Requests", panels)
}

fn targets() -> DashboardRow {
    let panels = vec![
        lines(
            "Attempts",
            "Calls to providers, and targets that were skipped.",
            "reqps",
            vec![(
                rate(&metric::ATTEMPTS, WINDOW, &["target", "outcome"]),
                "{{target}} {{outcome}}",
            )],
        ),
        lines(
            "Failovers",
            "Moves from a target to the next one.",
            "reqps",
            vec![(rate(&metric::FAILOVERS, WINDOW, &["from"]), "{{from}}")],
        ),
        DashboardPanel {
            kind: "state-timeline",
            ..lines(
                "Usable",
                "1 or 0 for each configured target and credential.",
                "short",
                vec![(
                    format!("min by (target) ({})", metric::TARGET_USABLE.name),
                    "{{target}}",
                )],
            )
        },
        lines(
            "Other targets",
            "Targets that clients named but that are not configured.",
            "short",
            vec![(total(&metric::OTHER_TARGETS, &["state"]), "{{state}}")],
        ),
    ];
    DashboardRow("Targets", panels)
}

fn cost() -> DashboardRow {
    let legend = "{{target}} {{kind}}";
    let by = &["target", "kind"];
    let panels = vec![
        lines(
            "Tokens",
            "Per second, input and output.",
            "short",
            vec![(rate(&metric::TOKENS, WINDOW, by), legend)],
        ),
        lines(
            "Portions of tokens",
            "Cached and reasoning tokens, which are part of input and output.",
            "short",
            vec![(rate(&metric::TOKEN_PORTIONS, WINDOW, by), legend)],
        ),
        lines(
            "Prompts by route",
            "Input tokens, and those that prompt caches read and wrote.",
            "short",
            vec![(
                rate(&metric::ROUTE_TOKENS, WINDOW, &["route", "kind"]),
                "{{route}} {{kind}}",
            )],
        ),
        lines(
            "Cost per hour",
            "Calls with a known price.",
            "currencyUSD",
            vec![(increase(&metric::COST, "1h", &["target"]), "{{target}}")],
        ),
        lines(
            "Calls without a price",
            "Missing from cost and budgets; add their targets to [prices].",
            "reqps",
            vec![(
                rate(&metric::UNPRICED_CALLS, WINDOW, &["target"]),
                "{{target}}",
            )],
        ),
        lines(
            "Reserved budget",
            "Held for requests in flight.",
            "currencyUSD",
            vec![(total(&metric::RESERVED_USD, &[]), "reserved")],
        ),
        lines(
            "Reservations",
            "Should be zero without traffic.",
            "short",
            vec![(total(&metric::OPEN_RESERVATIONS, &[]), "open")],
        ),
    ];
    DashboardRow("Tokens and cost", panels)
}

fn images() -> DashboardRow {
    let panels = vec![
        lines(
            "Images changed",
            "Resized, described or dropped for a target.",
            "reqps",
            vec![(
                rate(&metric::IMAGES_CHANGED, WINDOW, &["change"]),
                "{{change}}",
            )],
        ),
        lines(
            "Descriptions",
            "Calls of the vision proxy, and cached descriptions.",
            "reqps",
            vec![(
                rate(&metric::DESCRIPTIONS, WINDOW, &["target", "outcome"]),
                "{{target}} {{outcome}}",
            )],
        ),
        lines(
            "Tokens of descriptions",
            "Not part of the tokens above.",
            "short",
            vec![(
                rate(&metric::DESCRIBE_TOKENS, WINDOW, &["target", "kind"]),
                "{{target}} {{kind}}",
            )],
        ),
    ];
    DashboardRow("Images", panels)
}

fn ledger() -> DashboardRow {
    let panels = vec![
        stat(lines(
            "Ledger available",
            "1 if every gateway can write its ledger.",
            "short",
            vec![(
                format!("min({})", metric::LEDGER_AVAILABLE.name),
                "available",
            )],
        )),
        lines(
            "Ledger",
            "Entries written and lost.",
            "ops",
            vec![
                (rate(&metric::LEDGER_WRITTEN, WINDOW, &[]), "written"),
                (rate(&metric::LEDGER_DROPPED, WINDOW, &[]), "lost"),
            ],
        ),
        lines(
            "Waiting entries",
            "Not yet written.",
            "short",
            vec![(total(&metric::LEDGER_WAITING, &[]), "waiting")],
        ),
    ];
    DashboardRow("Ledger", panels)
}

fn cluster() -> DashboardRow {
    let panels = vec![
        stat(lines(
            "Gateways",
            "That share limits, as the gateways know.",
            "short",
            vec![(format!("min({})", metric::CLUSTER_NODES.name), "gateways")],
        )),
        lines(
            "Stores",
            "1 if every gateway reaches the store, and how often one became unavailable.",
            "short",
            vec![
                (
                    format!("min by (store) ({})", metric::STORE_UP.name),
                    "{{store}}",
                ),
                (
                    increase(&metric::STORE_OUTAGES, "1h", &["store"]),
                    "{{store}} outages per hour",
                ),
            ],
        ),
        lines(
            "Exchanges about limits",
            "And the round trips that they took.",
            "ops",
            vec![
                (rate(&metric::CLUSTER_EXCHANGES, WINDOW, &[]), "exchanges"),
                (
                    rate(&metric::CLUSTER_ROUND_TRIPS, WINDOW, &[]),
                    "round trips",
                ),
            ],
        ),
        lines(
            "Waits for stores",
            "Requests that waited, their mean wait and the longest one.",
            "short",
            vec![
                (rate(&metric::STORE_WAITS, WINDOW, &[]), "waits per second"),
                (
                    rate(&metric::STORE_WAIT_SECONDS, WINDOW, &[]),
                    "seconds waited per second",
                ),
                (
                    format!("max({})", metric::STORE_WAIT_LONGEST.name),
                    "longest, in seconds",
                ),
            ],
        ),
    ];
    DashboardRow("Cluster", panels)
}

/// Columns of Grafana's grid, panels in a line, and their height.
const COLUMNS: usize = 24;
const PER_LINE: usize = 4;
const HEIGHT: usize = 8;

fn dashboard() -> Value {
    let mut panels = Vec::new();
    let mut y = 0;
    for DashboardRow(title, row) in [
        overview(),
        requests(),
        targets(),
        cost(),
        images(),
        ledger(),
        cluster(),
    ] {
        let place = json!({ "h": 1, "w": COLUMNS, "x": 0, "y": y });
        panels.push(json!({
            "id": panels.len() + 1,
            "type": "row",
            "title": title,
            "collapsed": false,
            "gridPos": place,
            "panels": [],
        }));
        y += 1;
        for line in row.chunks(PER_LINE) {
            let width = COLUMNS / line.len();
            for (n, panel) in line.iter().enumerate() {
                let place = json!({ "h": HEIGHT, "w": width, "x": n * width, "y": y });
                panels.push(panel_json(panel, panels.len() + 1, &place));
            }
            y += HEIGHT;
        }
    }
    json!({
        "uid": "majordomo",
        "title": "majordomo",
        "description": "Written by a test from the list of metrics: \
                        crates/gateway/src/metrics/tests/dashboard.rs.",
        "tags": ["llm", "majordomo"],
        "schemaVersion": 39,
        "version": 1,
        "editable": true,
        "refresh": "30s",
        "time": { "from": "now-6h", "to": "now" },
        "timezone": "browser",
        "templating": { "list": [{
            "name": "source",
            "label": "Data source",
            "type": "datasource",
            "query": "prometheus",
        }] },
        "annotations": { "list": [] },
        "links": [],
        "panels": panels,
    })
}

fn panel_json(panel: &DashboardPanel, id: usize, place: &Value) -> Value {
    let source = json!({ "type": "prometheus", "uid": "${source}" });
    let targets = panel
        .queries
        .iter()
        .enumerate()
        .map(|(n, (query, legend))| {
            json!({
                "refId": char::from(b'A' + n as u8).to_string(),
                "datasource": source,
                "expr": query,
                "legendFormat": legend,
                "editorMode": "code",
                "range": true,
            })
        });
    let targets: Vec<Value> = targets.collect();
    json!({
        "id": id,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.description,
        "gridPos": place,
        "datasource": source,
        "targets": targets,
        "fieldConfig": {
            "defaults": { "unit": panel.unit, "min": 0 },
            "overrides": [],
        },
        "options": {},
    })
}

#[test]
fn the_dashboard_shows_every_metric_and_no_other() {
    let mut text = serde_json::to_string_pretty(&dashboard()).expect("JSON");
    text.push('\n');
    assert_written("deploy/grafana/majordomo.json", &text);
    assert_eq!(metrics_in(&text), all_names());
}
