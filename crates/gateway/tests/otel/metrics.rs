//! Metrics as a collector receives them.

use std::collections::BTreeMap;
use std::time::Duration;

use majordomo_testkit::{Script, Upstream};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, HistogramDataPoint, Metric, NumberDataPoint,
};
use prost::Message;
use serde_json::{Value, json};

use crate::collector::{Collector, METRICS, texts};
use crate::test_gateway::TestGateway;

const CUMULATIVE: i32 = AggregationTemporality::Cumulative as i32;
const SERVED: &str = r#"{"id":"c","object":"chat.completion","created":1,"model":"m-2026","choices":[{"index":0,"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}}"#;

/// The metrics of every message so far, oldest first, by name.
fn received(collector: &Collector) -> Vec<BTreeMap<String, Metric>> {
    let batches = collector.batches().into_iter();
    let batches = batches.filter(|batch| batch.path == METRICS);
    let messages = batches.map(|batch| {
        assert_eq!(batch.headers["content-type"], "application/x-protobuf");
        let message = ExportMetricsServiceRequest::decode(batch.body).expect("it is OTLP");
        let mut metrics = BTreeMap::new();
        for sender in message.resource_metrics {
            let resource = texts(sender.resource.unwrap_or_default().attributes);
            assert_eq!(resource["service.name"], "majordomo");
            for metric in sender.scope_metrics.into_iter().flat_map(|it| it.metrics) {
                let again = metrics.insert(metric.name.clone(), metric);
                assert!(again.is_none(), "{again:?} came twice");
            }
        }
        metrics
    });
    messages.collect()
}

/// The points of a counter or gauge.
fn numbers(metric: &Metric) -> Vec<(BTreeMap<String, Value>, Value)> {
    let points: &[NumberDataPoint] = match &metric.data {
        Some(Data::Sum(sum)) => {
            assert_eq!(
                (sum.aggregation_temporality, sum.is_monotonic),
                (CUMULATIVE, true)
            );
            &sum.data_points
        }
        Some(Data::Gauge(gauge)) => &gauge.data_points,
        other => panic!("{} is {other:?}", metric.name),
    };
    let points = points.iter().map(|point| {
        assert!(point.start_time_unix_nano <= point.time_unix_nano);
        let value = match point.value {
            Some(Number::AsInt(number)) => json!(number),
            Some(Number::AsDouble(number)) => json!(number),
            None => panic!("{} has a point without a value", metric.name),
        };
        (texts(point.attributes.clone()), value)
    });
    points.collect()
}

fn histogram(metric: &Metric) -> &[HistogramDataPoint] {
    match &metric.data {
        Some(Data::Histogram(histogram)) => {
            assert_eq!(histogram.aggregation_temporality, CUMULATIVE);
            for point in &histogram.data_points {
                assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
                assert_eq!(point.bucket_counts.iter().sum::<u64>(), point.count);
            }
            &histogram.data_points
        }
        other => panic!("{} is {other:?}", metric.name),
    }
}

/// Posts a request to `up/big/m`, which fails over to `up/m`, and returns the metrics.
async fn failed_over() -> (BTreeMap<String, Metric>, u16) {
    let says = |status, body: &'static str| {
        let script = Script::new().read_request();
        script.respond(status, "application/json", body)
    };
    let upstream = Upstream::start([says(500, "{}"), says(200, SERVED)]).await;
    let port = upstream.address().port();
    let config = format!(
        "[chain]\nretries = 0\n[providers.up]\nkind = \"openai\"\n\
         base_url = \"http://127.0.0.1:{port}/v1\"\napi_key = \"canary\"\n\
         [prices.\"up/m\"]\ninput = \"2.5\"\noutput = \"10\"\n"
    );
    let collector = Collector::start().await;
    let gateway = TestGateway::reporting_to(&collector, &config).await;
    let body = r#"{"model":"up/big/m,up/m","messages":[{"role":"user","content":"hi"}]}"#;
    let (status, _) = gateway.post("/v1/chat/completions", &[], body).await;
    assert_eq!(status, 200);
    gateway.stop().await;
    let mut messages = received(&collector);
    (messages.pop().expect("the last values"), port)
}

#[tokio::test]
async fn counters_gauges_and_histograms_of_the_metrics_page_are_exported() {
    let (metrics, _) = failed_over().await;
    let labels = |pairs: &[(&str, &str)]| -> BTreeMap<String, Value> {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| ((*name).to_owned(), json!(value)))
            .collect()
    };
    let requests = [
        ("dialect", "openai-chat"),
        ("outcome", "complete"),
        ("status", "200"),
    ];
    assert_eq!(
        numbers(&metrics["majordomo.requests"]),
        [(labels(&requests), json!(1))]
    );
    let attempts = numbers(&metrics["majordomo.attempts"]);
    let failed = labels(&[("target", "up/big/m"), ("outcome", "failed")]);
    let served = labels(&[("target", "up/m"), ("outcome", "served")]);
    assert_eq!(attempts, [(failed, json!(1)), (served, json!(1))]);
    let cost = &metrics["majordomo.cost_usd"];
    let target = labels(&[("target", "up/m")]);
    assert_eq!(
        numbers(cost),
        [(target, json!(100.0 * 2.5e-6 + 20.0 * 1e-5))]
    );
    assert_eq!(
        numbers(&metrics["majordomo.ready"]),
        [(labels(&[]), json!(1))]
    );
    assert_eq!(numbers(&metrics["majordomo.open_requests"])[0].1, json!(0));
    let took = &metrics["majordomo.request"];
    assert_eq!(took.unit, "s");
    let [took] = histogram(took) else {
        panic!("{took:?}");
    };
    assert_eq!(took.count, 1);
    assert!(took.sum.unwrap() > 0.0);
}

#[tokio::test]
async fn calls_are_counted_as_the_genai_conventions_say() {
    let (metrics, port) = failed_over().await;
    let duration = &metrics["gen_ai.client.operation.duration"];
    assert_eq!(duration.unit, "s");
    let points = histogram(duration);
    let common = json!({
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai",
        "server.address": "127.0.0.1", "server.port": port,
    });
    let with = |pairs: &[(&str, &str)]| {
        let mut all = common.clone();
        for (name, value) in pairs {
            all[*name] = json!(value);
        }
        all
    };
    let attributes = |point: &HistogramDataPoint| json!(texts(point.attributes.clone()));
    let found: Vec<Value> = points.iter().map(attributes).collect();
    let failed = with(&[
        ("gen_ai.request.model", "big/m"),
        ("error.type", "transient"),
    ]);
    let served = with(&[("gen_ai.request.model", "m")]);
    assert_eq!(found, [failed, served]);
    let tokens = &metrics["gen_ai.client.token.usage"];
    assert_eq!(tokens.unit, "{token}");
    let points = histogram(tokens);
    let found: Vec<(Value, f64)> = points
        .iter()
        .map(|it| (attributes(it), it.sum.unwrap()))
        .collect();
    let kind = |kind| with(&[("gen_ai.request.model", "m"), ("gen_ai.token.type", kind)]);
    assert_eq!(found, [(kind("input"), 100.0), (kind("output"), 20.0)]);
    // It was no stream.
    assert!(histogram(&metrics["gen_ai.client.operation.time_to_first_chunk"]).is_empty());
}

#[tokio::test]
async fn metrics_are_exported_at_intervals_as_running_totals() {
    let collector = Collector::start().await;
    let endpoint = format!("http://{}", collector.address);
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &*endpoint),
        ("OTEL_METRIC_EXPORT_INTERVAL", "20"),
    ];
    let gateway = TestGateway::start("", &variables).await;
    let body = r#"{"model":"demo/text","messages":[{"role":"user","content":"hi"}]}"#;
    let total = || {
        let last = received(&collector).pop()?;
        let points = numbers(&last["majordomo.requests"]);
        Some(points.first()?.1.clone())
    };
    for count in 1..=2 {
        gateway.post("/v1/chat/completions", &[], body).await;
        let arrived = async {
            while total() != Some(json!(count)) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let arrived = tokio::time::timeout(Duration::from_secs(20), arrived).await;
        assert!(arrived.is_ok(), "{count} did not arrive: {:?}", total());
    }
    gateway.stop().await;
}
