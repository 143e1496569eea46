//! Simulated targets, and what they observed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use majordomo::fake::{Beat, Fake, Step};
use majordomo::observe::{Notice, Observer};
use majordomo::{
    BoxFuture, Capabilities, Class, Error, ErrorKind, Event, EventStream, FinishReason, Model,
    Part, Provider, Registry, Request, Response, Result,
};
use tokio::time::Instant;

use super::dice::Dice;

/// How often the interesting cases occurred over all schedules; a simulation without them
/// proves nothing.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) requests: u64,
    pub(crate) served: u64,
    pub(crate) exhausted: u64,
    pub(crate) cancelled: u64,
    pub(crate) deadlines: u64,
    pub(crate) broken_streams: u64,
    pub(crate) benches: u64,
    pub(crate) probes: u64,
    pub(crate) last_resorts: u64,
}

impl Totals {
    pub(crate) fn assert_everything_happened(&self) {
        for (what, count) in [
            ("served", self.served),
            ("exhausted", self.exhausted),
            ("cancelled", self.cancelled),
            ("deadlines", self.deadlines),
            ("broken streams", self.broken_streams),
            ("benches", self.benches),
            ("probes", self.probes),
            ("last resorts", self.last_resorts),
        ] {
            assert!(count > 1_000, "only {count} times: {what}");
        }
    }
}

/// The state of the targets derived from notices and calls alone, never from health.
#[derive(Default)]
pub(crate) struct Watch {
    benched: HashMap<String, Instant>,
    /// When the `Retry-After` of each throttled target ends.
    closed: HashMap<String, Instant>,
    pub(crate) benches: u64,
    pub(crate) probes: u64,
    pub(crate) broken: Vec<String>,
}

pub(crate) type SharedWatch = Arc<Mutex<Watch>>;

impl Watch {
    pub(crate) fn of(shared: &SharedWatch) -> MutexGuard<'_, Self> {
        shared.lock().expect("not poisoned")
    }

    /// A call starts.
    fn enter(shared: &SharedWatch, name: &str) {
        let mut watch = Self::of(shared);
        watch.probes += u64::from(watch.benched.contains_key(name));
        if watch
            .closed
            .get(name)
            .is_some_and(|until| Instant::now() < *until)
        {
            let text = format!("{name} was called within its Retry-After");
            watch.broken.push(text);
        }
    }

    pub(crate) fn is_benched(&self, name: &str) -> bool {
        self.benched.contains_key(name)
    }
}

/// Updates the watch.
pub(crate) struct Listener(pub(crate) SharedWatch);

impl Observer for Listener {
    fn notice(&self, notice: &Notice<'_>) {
        let mut watch = Watch::of(&self.0);
        match notice {
            Notice::Benched {
                subject,
                wait,
                cause,
            } => {
                watch.benches += 1;
                let until = Instant::now() + *wait;
                if cause.class() == Some(Class::RateLimited) {
                    watch.closed.insert((*subject).to_owned(), until);
                }
                let old = watch.benched.get(*subject).copied();
                let until = old.map_or(until, |old| old.max(until));
                watch.benched.insert((*subject).to_owned(), until);
            }
            Notice::Recovered { subject } => {
                watch.benched.remove(*subject);
            }
            _ => {}
        }
    }
}

/// A provider whose models behave at random.
pub(crate) struct Sim {
    fake: Fake,
    watch: SharedWatch,
}

impl Sim {
    pub(crate) fn register(registry: &Registry, name: &str, seed: u64, watch: &SharedWatch) {
        let fake = Fake::new(name);
        let dice = Mutex::new(Dice::new(seed));
        fake.otherwise(move |_| step(&mut dice.lock().expect("one call at a time rolls")));
        let mut dice = Dice::new(seed ^ 1);
        for model in ["a", "b", "c"] {
            if dice.chance(15) {
                fake.set_model_capabilities(model, Capabilities::text_only());
            }
            if dice.chance(10) {
                let small = Capabilities::default().with_context_window(Some(10));
                fake.set_model_capabilities(model, small);
            }
        }
        registry.register(Self {
            fake,
            watch: Arc::clone(watch),
        });
    }
}

impl Provider for Sim {
    fn name(&self) -> &str {
        self.fake.name()
    }

    fn model(&self, id: &str) -> Result<Arc<dyn Model>> {
        Ok(Arc::new(SimModel {
            inner: self.fake.model(id)?,
            watch: Arc::clone(&self.watch),
        }))
    }
}

struct SimModel {
    inner: Arc<dyn Model>,
    watch: SharedWatch,
}

impl Model for SimModel {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn capabilities(&self) -> Arc<Capabilities> {
        self.inner.capabilities()
    }

    fn generate(&self, request: Request) -> BoxFuture<'_, Result<Response>> {
        Box::pin(async move {
            Watch::enter(&self.watch, self.name());
            self.inner.generate(request).await
        })
    }

    fn events(&self, request: Request) -> BoxFuture<'_, Result<EventStream>> {
        Box::pin(async move {
            Watch::enter(&self.watch, self.name());
            self.inner.events(request).await
        })
    }
}

/// A random outcome of a call.
fn step(dice: &mut Dice) -> Step {
    let step = match dice.below(20) {
        0..=6 => Step::reply("fine"),
        7 => Step::fail(Error::http(500, "broken")),
        8 => Step::fail(Error::http(503, "busy")),
        9 => {
            let seconds = dice.below(30);
            let wait = Duration::from_secs(seconds);
            let text = format!("slow down for {seconds}");
            Step::fail(Error::http(429, text).with_retry_after(Some(wait)))
        }
        10 => Step::fail(Error::new(ErrorKind::Connect, "refused")),
        11 => Step::fail(Error::http(404, "no such model")),
        12 => Step::fail(Error::new(ErrorKind::Unsupported, "cannot")),
        13 => Step::empty(),
        14 => Step::hang(),
        15 => Step::fail(Error::new(ErrorKind::BadResponse, "gibberish")),
        16 => match dice.below(6) {
            0 => Step::fail(Error::http(401, "who are you")),
            1 => Step::fail(Error::http(400, "bad request")),
            2 => Step::fail(Error::http(409, "collision")),
            3 => Step::fail(Error::new(ErrorKind::NeverSent, "stale connection")),
            4 => Step::fail(Error::new(ErrorKind::Tls, "expired certificate")),
            _ => Step::fail(Error::new(ErrorKind::Unknown, "eh")),
        },
        17 => Step::events([start()]).then(Beat::Fail(Error::http(500, "died early"))),
        18 => Step::events([start(), text("half ")])
            .then(Beat::Wait(Duration::from_secs(dice.below(10))))
            .then(Beat::Fail(Error::new(
                ErrorKind::ConnectionLost,
                "died late",
            ))),
        _ => {
            let whole = [start(), text("one "), text("two"), finish(), text("late")];
            let cut = dice.below(whole.len() as u64 + 1) as usize;
            let mut step = Step::default();
            for event in whole.into_iter().take(cut) {
                step = step
                    .then(Beat::Wait(Duration::from_millis(dice.below(4_000))))
                    .then(Beat::Event(event));
            }
            step
        }
    };
    if dice.chance(40) {
        return step.after(Duration::from_millis(dice.below(20_000)));
    }
    step
}

fn start() -> Event {
    Event::Start {
        id: None,
        model: None,
    }
}

fn text(text: &str) -> Event {
    Event::Text(text.into())
}

fn finish() -> Event {
    Event::Finish(FinishReason::Stop)
}

/// A request, sometimes with an image or too long for a small context window.
pub(crate) fn request(dice: &mut Dice) -> Request {
    let request = Request::user("hi");
    match dice.below(10) {
        0 => request.part(Part::image("image/png", vec![1])),
        1 => request.system("x".repeat(200)),
        _ => request,
    }
}
