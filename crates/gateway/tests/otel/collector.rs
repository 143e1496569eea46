//! A collector that accepts and exposes every span and every metric.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::{Span, span::SpanKind, status::StatusCode};
use prost::Message;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Where metrics arrive.
pub(crate) const METRICS: &str = "/v1/metrics";

/// One batch as received.
#[derive(Clone)]
pub(crate) struct Batch {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// The collector. It stops when this is dropped.
pub(crate) struct Collector {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Batch>>>,
    accepting: JoinHandle<()>,
}

impl Collector {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("loopback can be bound");
        let address = listener.local_addr().expect("it has an address");
        let seen = Arc::<Mutex<Vec<Batch>>>::default();
        let batches = Arc::clone(&seen);
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let batches = Arc::clone(&batches);
                let service = service_fn(move |request| take(Arc::clone(&batches), request));
                let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                tokio::spawn(serving);
            }
        });
        Self {
            address,
            seen,
            accepting,
        }
    }

    /// Every batch so far.
    pub(crate) fn batches(&self) -> Vec<Batch> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.clone()
    }

    /// Every span so far, with its resource.
    pub(crate) fn spans(&self) -> Vec<ReceivedSpan> {
        let mut reported = Vec::new();
        for batch in self.batches() {
            if batch.path == METRICS {
                continue;
            }
            let message = ExportTraceServiceRequest::decode(batch.body);
            for resource in message.expect("it is OTLP").resource_spans {
                let sender = resource.resource.map(|it| texts(it.attributes));
                let sender = sender.unwrap_or_default();
                let spans = resource.scope_spans.into_iter().flat_map(|it| it.spans);
                reported.extend(spans.map(|span| ReceivedSpan::new(span, sender.clone())));
            }
        }
        reported
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn take(
    seen: Arc<Mutex<Vec<Batch>>>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.expect("the batch is whole").to_bytes();
    let batch = Batch {
        path: head.uri.path().to_owned(),
        headers: head.headers,
        body,
    };
    seen.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(batch);
    let mut response = Response::new(Full::default());
    let kind = http::HeaderValue::from_static("application/x-protobuf");
    response.headers_mut().insert("content-type", kind);
    Ok(response)
}

/// One span in a form that is easy to check.
#[derive(Debug)]
pub(crate) struct ReceivedSpan {
    pub(crate) name: String,
    pub(crate) kind: SpanKind,
    pub(crate) trace: String,
    pub(crate) id: String,
    pub(crate) parent: String,
    /// Nanoseconds since 1970.
    pub(crate) began: u64,
    pub(crate) ended: u64,
    pub(crate) failed: bool,
    pub(crate) attributes: BTreeMap<String, Value>,
    pub(crate) sender: BTreeMap<String, Value>,
}

impl ReceivedSpan {
    fn new(span: Span, sender: BTreeMap<String, Value>) -> Self {
        let code = span.status.as_ref().map(|status| status.code());
        Self {
            kind: span.kind(),
            name: span.name,
            trace: hex(&span.trace_id),
            id: hex(&span.span_id),
            parent: hex(&span.parent_span_id),
            began: span.start_time_unix_nano,
            ended: span.end_time_unix_nano,
            failed: code == Some(StatusCode::Error),
            attributes: texts(span.attributes),
            sender,
        }
    }

    /// An attribute; null if absent.
    pub(crate) fn get(&self, name: &str) -> &Value {
        self.attributes.get(name).unwrap_or(&Value::Null)
    }

    /// Checks attributes; null means absent.
    #[track_caller]
    pub(crate) fn check(&self, expected: &[(&str, Value)]) {
        for (name, value) in expected {
            assert_eq!(self.get(name), value, "{name} of {self:#?}");
        }
    }

    /// Checks that it is a child of another span, within its time.
    #[track_caller]
    pub(crate) fn is_within(&self, parent: &Self) {
        assert_eq!((&self.trace, &self.parent), (&parent.trace, &parent.id));
        let times = [parent.began, self.began, self.ended, parent.ended];
        assert!(times.is_sorted(), "{times:?}: {self:#?} in {parent:#?}");
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn texts(attributes: Vec<KeyValue>) -> BTreeMap<String, Value> {
    let pairs = attributes.into_iter();
    pairs.map(|pair| (pair.key, json_of(pair.value))).collect()
}

fn json_of(value: Option<AnyValue>) -> Value {
    match value.and_then(|value| value.value) {
        Some(any_value::Value::StringValue(text)) => json!(text),
        Some(any_value::Value::BoolValue(yes)) => json!(yes),
        Some(any_value::Value::IntValue(number)) => json!(number),
        Some(any_value::Value::DoubleValue(number)) => json!(number),
        Some(any_value::Value::ArrayValue(list)) => {
            let values = list.values.into_iter();
            Value::Array(values.map(|value| json_of(Some(value))).collect())
        }
        other => panic!("no attribute is like {other:?}"),
    }
}
