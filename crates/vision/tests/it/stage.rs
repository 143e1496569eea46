//! A describer that says which picture it sees, watched while it does.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use majordomo::fake::{Fake, FakeCall, Step};
use majordomo::{
    BoxFuture, Capabilities, Chain, Change, EventStream, Message, Model, Part, Provider, Registry,
    Request, Response, Result, Role, ToolCall, ToolResult,
};
use majordomo_vision::{Described, Scope, Vision, VisionConfig};
use majordomo_wire::{Outgoing, Protocol};
use tokio::time::Instant;

/// One pixel, whose colour tells the pictures apart.
pub(crate) fn gif(number: u8) -> Bytes {
    let head = b"GIF89a\x01\0\x01\0\x80\0\0";
    let colours = [number, number, number, 0, 0, 0];
    let pixel = b",\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";
    [&head[..], &colours, pixel].concat().into()
}

/// Where the colour is.
const COLOUR: usize = 13;

pub(crate) fn image(number: u8) -> Part {
    Part::image("image/gif", gif(number))
}

/// What the describer says about a picture.
pub(crate) fn seen(number: u8) -> String {
    format!("[image: picture {number}]")
}

pub(crate) fn user(parts: Vec<Part>) -> Message {
    Message::new(Role::User, parts)
}

/// A question about pictures.
pub(crate) fn question(numbers: &[u8]) -> Request {
    let mut parts = vec![Part::text("What is this?")];
    parts.extend(numbers.iter().map(|n| image(*n)));
    Request::from(vec![user(parts)])
}

/// A tool was called and answered with a picture.
pub(crate) fn tool_answer(number: u8) -> [Message; 2] {
    let call = ToolCall::new("call_1", "screenshot", "{}");
    let mut result = ToolResult::new(&call, "taken");
    result.parts.push(image(number));
    let asked = Message::assistant(Part::ToolCall(call));
    [asked, Message::tool_results_message([result])]
}

/// All texts of a conversation, those of tools included.
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
    for message in &request.messages {
        collect(&message.parts, &mut all);
    }
    all
}

/// The request as a client of this protocol sends it and its reader reads it.
pub(crate) fn through(protocol: Protocol, request: &Request) -> Request {
    let codec = protocol.codec();
    let written = codec.write_request(request, &Outgoing::new("client-model"));
    let incoming = codec.read_request(written.body);
    incoming.expect("what was written can be read").request
}

/// The request as it goes to a target of this protocol.
pub(crate) fn written(protocol: Protocol, request: &Request) -> String {
    let written = protocol
        .codec()
        .write_request(request, &Outgoing::new("blind"));
    String::from_utf8(written.body.to_vec()).expect("JSON is text")
}

/// A provider whose models are a fake's, watched: how many calls are open, when
/// each began, and how many were dropped before their end.
#[derive(Clone)]
pub(crate) struct Eyes {
    pub(crate) fake: Fake,
    open: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    starts: Arc<Mutex<Vec<Instant>>>,
    /// Whether its dialect has no addresses of images.
    pub(crate) no_addresses: Arc<AtomicBool>,
}

impl Eyes {
    fn new(name: &str) -> Self {
        let fake = Fake::new(name);
        fake.otherwise(|call| Step::reply(format!("picture {}", number(call))));
        Self {
            fake,
            open: Arc::default(),
            most: Arc::default(),
            starts: Arc::default(),
            no_addresses: Arc::default(),
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

    /// When each call began, in milliseconds after this.
    pub(crate) fn starts_after(&self, begin: Instant) -> Vec<u128> {
        let starts = self.starts.lock().expect("nobody panics here");
        let millis = |at: &Instant| at.duration_since(begin).as_millis();
        starts.iter().map(millis).collect()
    }

    /// Answers after so many milliseconds.
    pub(crate) fn slow(&self, millis: impl Fn(u8) -> u64 + Send + Sync + 'static) {
        self.fake.otherwise(move |call| {
            let number = number(call);
            let wait = Duration::from_millis(millis(number));
            Step::reply(format!("picture {number}")).after(wait)
        });
    }

    pub(crate) fn says(&self, text: &str) {
        let text = text.to_owned();
        self.fake.otherwise(move |_| Step::reply(text.clone()));
    }

    pub(crate) fn does(&self, step: Step) {
        self.fake.otherwise(move |_| step.clone());
    }
}

/// The number of the picture that a describer is asked about; 0 for an address.
pub(crate) fn number(call: &FakeCall) -> u8 {
    let parts = &call.request.messages[0].parts;
    parts
        .iter()
        .find_map(|part| match part {
            Part::Image(image) => image.data.get(COLOUR).copied(),
            _ => None,
        })
        .unwrap_or_default()
}

impl Provider for Eyes {
    fn name(&self) -> &str {
        self.fake.name()
    }

    fn model(&self, id: &str) -> Result<Arc<dyn Model>> {
        Ok(Arc::new(Watched {
            model: self.fake.model(id)?,
            eyes: self.clone(),
        }))
    }
}

struct Watched {
    model: Arc<dyn Model>,
    eyes: Eyes,
}

struct OpenCall(Arc<AtomicUsize>);

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Model for Watched {
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
            let eyes = &self.eyes;
            let open = eyes.open.fetch_add(1, Ordering::SeqCst) + 1;
            let guard = OpenCall(Arc::clone(&eyes.open));
            eyes.most.fetch_max(open, Ordering::SeqCst);
            let now = Instant::now();
            eyes.starts.lock().expect("nobody panics here").push(now);
            let mut parts = request.messages[0].parts.iter();
            let remote = parts.any(|part| matches!(part, Part::RemoteImage(_)));
            if remote && eyes.no_addresses.load(Ordering::SeqCst) {
                request.note(Change::new("image", "dropped"));
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
pub(crate) struct Stage {
    pub(crate) registry: Registry,
    pub(crate) eyes: Eyes,
    pub(crate) spare: Eyes,
    pub(crate) vision: Arc<Vision>,
    pub(crate) describers: Chain,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(VisionConfig::default())
    }

    pub(crate) fn with(config: VisionConfig) -> Self {
        Self::around(Vision::new(config))
    }

    pub(crate) fn around(vision: Vision) -> Self {
        let registry = Registry::empty();
        let (eyes, spare) = (Eyes::new("eyes"), Eyes::new("spare"));
        registry.register(eyes.clone());
        registry.register(spare.clone());
        Self {
            describers: registry.parse("eyes/sharp").expect("a good spec"),
            registry,
            eyes,
            spare,
            vision: Arc::new(vision),
        }
    }

    pub(crate) fn chain(&self, spec: &str) -> Chain {
        self.registry.parse(spec).expect("a good spec")
    }

    /// One request of the key `laptop`.
    pub(crate) async fn describe(&self, request: Request) -> Described {
        self.describe_for("laptop", request).await
    }

    pub(crate) async fn describe_for(&self, key: &str, request: Request) -> Described {
        let scope = Scope::of_key(key);
        let describers = Some(&self.describers);
        let described = self.vision.describe(request, describers, &scope).await;
        described.expect("a failure is a marker")
    }
}

/// The changes in the words of the header.
pub(crate) fn changes(described: &Described) -> Vec<String> {
    described.changes.iter().map(ToString::to_string).collect()
}
