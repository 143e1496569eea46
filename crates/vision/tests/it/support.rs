//! An instrumented describer that reports which image it got.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use majordomo::fake::{Fake, FakeCall, Step};
use majordomo::llm::Change;
use majordomo::{
    BoxFuture, Capabilities, Chain, EventStream, Message, Model, Part, Provider, Registry, Request,
    Response, Result, Role, ToolCall, ToolResult,
};
use majordomo_vision::{Described, Scope, Vision, VisionConfig};
use majordomo_wire::{Outgoing, Protocol};
use tokio::time::Instant;

/// A one-pixel GIF whose colour is its number.
pub(crate) fn gif(number: u8) -> Bytes {
    let head = b"GIF89a\x01\0\x01\0\x80\0\0";
    let colours = [number, number, number, 0, 0, 0];
    let pixel = b",\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";
    [&head[..], &colours, pixel].concat().into()
}

/// Offset of the colour.
const COLOUR: usize = 13;

pub(crate) fn image(number: u8) -> Part {
    Part::image("image/gif", gif(number))
}

/// The marker with the description of an image.
pub(crate) fn seen(number: u8) -> String {
    format!("[image: picture {number}]")
}

pub(crate) fn user(parts: Vec<Part>) -> Message {
    Message::new(Role::User, parts)
}

/// A user message with images.
pub(crate) fn question(numbers: &[u8]) -> Request {
    let mut parts = vec![Part::text("What is this?")];
    parts.extend(numbers.iter().map(|n| image(*n)));
    Request::from(vec![user(parts)])
}

/// A tool call and its result with an image.
pub(crate) fn tool_answer(number: u8) -> [Message; 2] {
    let call = ToolCall::new("call_1", "screenshot", "{}");
    let mut result = ToolResult::new(&call, "taken");
    result.parts.push(image(number));
    let received = Message::assistant(Part::ToolCall(call));
    [received, Message::tool_results_message([result])]
}

/// All texts of a conversation, including tool results.
pub(crate) fn texts(request: &Request) -> Vec<String> {
    fn collect(parts: &[Part], all: &mut Vec<String>) {
        for part in parts {
            match part {
                Part::Text(text) => all.push(text.text.clone()),
                Part::ToolResult(result) => collect(&result.parts, all),
                _ => {}
            }
        }
    }
    let mut all = Vec::new();
    for message in &request.prompt().messages {
        collect(&message.parts, &mut all);
    }
    all
}

/// The request, encoded and decoded in this protocol.
pub(crate) fn through(protocol: Protocol, request: &Request) -> Request {
    let codec = protocol.codec();
    let written = codec.write_request(request, &Outgoing::new("client-model"));
    let incoming = codec.read_request(written.body);
    incoming.expect("a codec reads what it writes").request
}

/// The request as sent to a target of this protocol.
pub(crate) fn written(protocol: Protocol, request: &Request) -> String {
    let written = protocol
        .codec()
        .write_request(request, &Outgoing::new("blind"));
    String::from_utf8(written.body.to_vec()).expect("JSON is text")
}

/// A fake provider that counts open calls, their start times, and calls dropped before
/// their end.
#[derive(Clone)]
pub(crate) struct FakeDescriber {
    pub(crate) fake: Fake,
    open: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    starts: Arc<Mutex<Vec<Instant>>>,
    /// Whether its dialect has no image URLs.
    pub(crate) no_urls: Arc<AtomicBool>,
}

impl FakeDescriber {
    fn new(name: &str) -> Self {
        let fake = Fake::new(name);
        fake.otherwise(|call| Step::reply(format!("picture {}", number(call))));
        Self {
            fake,
            open: Arc::default(),
            most: Arc::default(),
            starts: Arc::default(),
            no_urls: Arc::default(),
        }
    }

    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }

    pub(crate) fn most_at_once(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }

    pub(crate) fn calls(&self) -> usize {
        self.fake.calls().len()
    }

    /// Start of each call, in milliseconds after `begin`.
    pub(crate) fn starts_after(&self, begin: Instant) -> Vec<u128> {
        let starts = self.starts.lock().expect("not poisoned");
        let millis = |at: &Instant| at.duration_since(begin).as_millis();
        starts.iter().map(millis).collect()
    }

    /// Responds after this many milliseconds.
    pub(crate) fn delay(&self, millis: impl Fn(u8) -> u64 + Send + Sync + 'static) {
        self.fake.otherwise(move |call| {
            let number = number(call);
            let wait = Duration::from_millis(millis(number));
            Step::reply(format!("picture {number}")).after(wait)
        });
    }

    pub(crate) fn reply_with(&self, text: &str) {
        let text = text.to_owned();
        self.fake.otherwise(move |_| Step::reply(text.clone()));
    }

    pub(crate) fn respond_with(&self, step: Step) {
        self.fake.otherwise(move |_| step.clone());
    }
}

/// The number of the image in a call; 0 for a URL.
pub(crate) fn number(call: &FakeCall) -> u8 {
    let parts = &call.request.prompt().messages[0].parts;
    parts
        .iter()
        .find_map(|part| match part {
            Part::Image(image) => image.data.get(COLOUR).copied(),
            _ => None,
        })
        .unwrap_or_default()
}

impl Provider for FakeDescriber {
    fn name(&self) -> &str {
        self.fake.name()
    }

    fn model(&self, id: &str) -> Result<Arc<dyn Model>> {
        Ok(Arc::new(InstrumentedModel {
            model: self.fake.model(id)?,
            describer: self.clone(),
        }))
    }
}

struct InstrumentedModel {
    model: Arc<dyn Model>,
    describer: FakeDescriber,
}

struct OpenDescribeCall(Arc<AtomicUsize>);

impl Drop for OpenDescribeCall {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Model for InstrumentedModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn capabilities(&self) -> Arc<Capabilities> {
        self.model.capabilities()
    }

    fn generate(&self, request: Request) -> BoxFuture<'_, Result<Response>> {
        self.model.generate(request)
    }

    fn events(&self, request: Request) -> BoxFuture<'_, Result<EventStream>> {
        Box::pin(async move {
            let describer = &self.describer;
            let open = describer.open.fetch_add(1, Ordering::SeqCst) + 1;
            let guard = OpenDescribeCall(Arc::clone(&describer.open));
            describer.most.fetch_max(open, Ordering::SeqCst);
            let now = Instant::now();
            describer.starts.lock().expect("not poisoned").push(now);
            let mut parts = request.prompt().messages[0].parts.iter();
            let remote = parts.any(|part| matches!(part, Part::RemoteImage(_)));
            if remote && describer.no_urls.load(Ordering::SeqCst) {
                request.record_change(Change::new("image", "dropped"));
            }
            let events = self.model.events(request).await?;
            let watched = events.map(move |event| {
                let _open = &guard;
                event
            });
            Ok(Box::pin(watched) as EventStream)
        })
    }
}

/// The engine with its describers.
pub(crate) struct VisionFixture {
    pub(crate) registry: Registry,
    pub(crate) describer: FakeDescriber,
    pub(crate) spare: FakeDescriber,
    pub(crate) vision: Arc<Vision>,
    pub(crate) describers: Chain,
}

impl VisionFixture {
    pub(crate) fn new() -> Self {
        Self::with(VisionConfig::default())
    }

    pub(crate) fn with(config: VisionConfig) -> Self {
        Self::around(Vision::new(config))
    }

    pub(crate) fn around(vision: Vision) -> Self {
        let registry = Registry::empty();
        let (describer, spare) = (FakeDescriber::new("eyes"), FakeDescriber::new("spare"));
        registry.register(describer.clone());
        registry.register(spare.clone());
        Self {
            describers: registry.model("eyes/sharp").expect("a valid spec"),
            registry,
            describer,
            spare,
            vision: Arc::new(vision),
        }
    }

    pub(crate) fn chain(&self, spec: &str) -> Chain {
        self.registry.model(spec).expect("a valid spec")
    }

    /// Describes a request of the key `laptop`.
    pub(crate) async fn describe(&self, request: Request) -> Described {
        self.describe_for("laptop", request).await
    }

    pub(crate) async fn describe_for(&self, key: &str, request: Request) -> Described {
        let scope = Scope::of_key(key);
        let describers = Some(&self.describers);
        let described = self.vision.describe(request, describers, &scope).await;
        described.expect("a failure becomes a marker")
    }
}

/// The changes as shown in the header.
pub(crate) fn changes(described: &Described) -> Vec<String> {
    described.changes.iter().map(ToString::to_string).collect()
}
