//! The engine: finds images, has them described, puts texts in their places.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use majordomo::{
    AttemptLog, Chain, Clock, Error, ErrorKind, Part, Prompt, Request, Result, RuntimeClock, Usage,
};
use majordomo_limits::{BudgetExhausted, Charge};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::UNAVAILABLE;
use super::config::{OnFailure, VisionConfig};
use super::describer::{self, Answer};
use super::fetch::FetchImage;
use super::flight::{Flights, Made, Told};
use super::memory::{Description, Memory};
use super::outcome::{self, Described, Fate, ImageOutcome};
use super::picture::Picture;
use super::places;
use super::plan::{Job, Plan, Planner};
use super::scope::Scope;

/// Describes images. One for the whole process: it holds the memory of
/// descriptions and the limit on calls at once.
///
/// ```
/// use majordomo::fake::{Fake, Step};
/// use majordomo::{Part, Registry, Request};
/// use majordomo_gateway::vision::{Scope, Vision, VisionConfig};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> majordomo::Result<()> {
/// let eyes = Fake::new("eyes");
/// eyes.enqueue("sharp", [Step::reply("a red apple")]);
/// let registry = Registry::empty();
/// registry.register(eyes);
/// let describers = registry.parse("eyes/sharp")?;
///
/// # let png: &[u8] = &[
/// #     137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 1, 0, 0, 0, 1, 8, 0,
/// #     0, 0, 0, 58, 126, 155, 85, 0, 0, 0, 10, 73, 68, 65, 84, 120, 156, 99, 104, 0, 0, 0, 130, 0,
/// #     129, 119, 205, 114, 182, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
/// # ];
/// let vision = Vision::new(VisionConfig::default());
/// let request = Request::user("What is this?").part(Part::image("image/png", png));
/// let described = vision.describe(request, Some(&describers), &Scope::of_key("laptop")).await?;
/// assert_eq!(described.request.messages[0].parts[1], Part::text("[image: a red apple]"));
/// assert_eq!(described.changes[0].to_string(), "image:1 described");
/// # Ok(()) }
/// ```
pub struct Vision {
    pub(super) config: VisionConfig,
    pub(super) memory: Arc<Memory>,
    flights: Arc<Flights>,
    permits: Arc<Semaphore>,
    fetcher: Option<Arc<dyn FetchImage>>,
    clock: Arc<dyn Clock>,
}

impl Vision {
    /// An engine that fetches nothing and goes by the runtime's clock.
    pub fn new(config: VisionConfig) -> Self {
        Self::with_clock(config, Arc::new(RuntimeClock))
    }

    /// An engine whose memory goes by this clock.
    pub fn with_clock(config: VisionConfig, clock: Arc<dyn Clock>) -> Self {
        Self {
            memory: Arc::new(Memory::new(config.cache, config.ttl, Arc::clone(&clock))),
            flights: Arc::default(),
            permits: Arc::new(permits(config.total)),
            fetcher: None,
            clock,
            config,
        }
    }

    /// Fetches remote images with this, where their address is not enough.
    #[must_use]
    pub fn fetching(mut self, fetcher: Arc<dyn FetchImage>) -> Self {
        self.fetcher = Some(fetcher);
        self
    }

    /// The same engine by other rules, for a configuration that was read again.
    /// Descriptions are kept as far as the new rules allow, and calls at once stay
    /// counted. What else the engine was given belongs to the old configuration:
    /// the new one fetches nothing until it is told to ([`fetching`](Self::fetching)),
    /// and joins no call that goes by the old rules.
    #[must_use]
    pub fn reconfigured(&self, config: VisionConfig) -> Self {
        let mut new = Self::with_clock(config, Arc::clone(&self.clock));
        let rules = |config: &VisionConfig| (config.cache, config.ttl);
        if rules(&new.config) == rules(&self.config) {
            new.memory = Arc::clone(&self.memory);
        }
        if new.config.total == self.config.total {
            new.permits = Arc::clone(&self.permits);
        }
        new
    }

    /// The rules that it goes by.
    pub fn config(&self) -> &VisionConfig {
        &self.config
    }

    /// Whether a request holds an image anywhere.
    pub fn has_images(request: &Prompt) -> bool {
        places::any(request)
    }

    /// Bytes of descriptions that are kept.
    pub fn remembered_bytes(&self) -> u64 {
        self.memory.bytes()
    }

    /// Puts text in the place of every image. Without describers every image of
    /// the last message is unavailable. It fails only if the configuration says
    /// that it shall; dropping it cancels every call.
    pub async fn describe(
        &self,
        mut request: Request,
        describers: Option<&Chain>,
        scope: &Scope,
    ) -> Result<Described> {
        // What is written anew, and the images inside.
        let mut charge = Charge::begin();
        let needed = places::opaque_bytes(&request).saturating_mul(2);
        charge.reach(needed).map_err(overloaded)?;
        let earlier_calls = scope.call_count();
        let planner = Planner::new(&self.config, &request, describers, scope);
        let plan = Plan::of(planner, &self.memory).await;
        let told = match describers {
            Some(chain) if !plan.jobs.is_empty() => {
                self.run(&plan.jobs, &self.fair(chain), scope).await
            }
            _ => Vec::new(),
        };
        let (texts, images) = plan.filled(|index, _| fill(&told[index]));
        let calls = scope.calls_since(earlier_calls);
        self.refuse(&images, &calls)?;
        if !texts.is_empty() {
            places::replace(&mut request.edit().messages, texts);
        }
        let mut by: Vec<&str> = calls.iter().filter_map(|c| c.target.as_deref()).collect();
        by.dedup();
        Ok(Described {
            request,
            changes: outcome::changes(&images, &by.join(", ")),
            usage: calls.iter().fold(Usage::default(), |sum, c| sum + c.usage),
            images,
            calls,
        })
    }

    /// The describers with a share of the time for each: one that hangs must not
    /// use up the time of the next, and the next is better than a second try.
    fn fair(&self, chain: &Chain) -> Chain {
        let share = u32::try_from(chain.targets().len()).unwrap_or(u32::MAX);
        if share < 2 {
            return chain.clone();
        }
        chain.clone().configured(|config| {
            config.retries = 0;
            config.attempt = Some(self.config.timeout / share);
        })
    }

    /// Runs the jobs side by side, and gives their results in order.
    async fn run(&self, jobs: &[Job], chain: &Chain, scope: &Scope) -> Vec<(Told, Made)> {
        let deadline = Instant::now().checked_add(self.config.timeout);
        let at_once = permits(self.config.per_request);
        let all = jobs.iter().map(|job| async {
            if let Some(told) = scope.told(&job.address) {
                return told;
            }
            let _permit = at_once.acquire().await;
            let told = self.in_time(job, chain, scope, deadline).await;
            if let Err(reason) = &told.0 {
                tracing::debug!(%reason, "an image could not be described");
            }
            scope.keep(job.address, told.0.clone(), told.1);
            told
        });
        join_all(all).await
    }

    async fn in_time(
        &self,
        job: &Job,
        chain: &Chain,
        scope: &Scope,
        deadline: Option<Instant>,
    ) -> (Told, Made) {
        let known = || self.memory.get(&job.address);
        if !job.may_ask {
            let why = || format!("only {} images are described", self.config.max_images);
            return (known().ok_or_else(why), Made::Elsewhere);
        }
        let late = || {
            let seconds = self.config.timeout.as_secs_f64();
            (
                Err(format!("no description within {seconds} s")),
                Made::Here,
            )
        };
        // Nobody is asked for what could not be awaited.
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return known().map_or_else(late, |known| (Ok(known), Made::Elsewhere));
        }
        let ask = || self.ask(job, chain, scope);
        let work = AssertUnwindSafe(self.flights.join(job.address, known, ask)).catch_unwind();
        let ended = match deadline {
            Some(deadline) => timeout_at(deadline, work).await,
            None => Ok(work.await),
        };
        match ended {
            Ok(Ok(told)) => told,
            Ok(Err(_)) => (Err("the describer panicked".to_owned()), Made::Here),
            Err(_) => late(),
        }
    }

    async fn ask(&self, job: &Job, chain: &Chain, scope: &Scope) -> Told {
        let _permit = self.permits.acquire().await;
        let answer = match job.picture.to_part() {
            Some(part) => self.ask_about(part, job, chain, scope).await,
            None => Answer::Unseen,
        };
        let answer = match (answer, &job.picture, &self.fetcher) {
            (Answer::Description(text), ..) => Answer::Description(text),
            (_, Picture::Elsewhere(url), Some(fetcher)) => match fetcher.fetch(url).await {
                Ok(image) => self.ask_about(Part::Image(image), job, chain, scope).await,
                Err(error) => Answer::Failed(format!("it could not be fetched: {error}")),
            },
            (answer, ..) => answer,
        };
        match answer {
            Answer::Description(text) => {
                let description: Description = text.into();
                let lasting = matches!(job.picture, Picture::Attached(_));
                let kept = Arc::clone(&description);
                self.memory.put(job.address, kept, lasting);
                Ok(description)
            }
            Answer::Unseen => Err("the describer takes no addresses of images".to_owned()),
            Answer::Failed(reason) => Err(reason),
        }
    }

    async fn ask_about(&self, image: Part, job: &Job, chain: &Chain, scope: &Scope) -> Answer {
        let tokens = self.config.max_tokens;
        describer::ask(chain, image, &job.words, tokens, scope, &*self.clock).await
    }

    /// The error of a request whose images must all be described.
    fn refuse(&self, images: &[ImageOutcome], calls: &[super::DescribeCall]) -> Result<()> {
        let reason = images.iter().find_map(|image| match &image.fate {
            Fate::Undescribed(reason) => Some(reason),
            _ => None,
        });
        let Some(reason) = reason.filter(|_| self.config.on_failure == OnFailure::Fail) else {
            return Ok(());
        };
        let attempts = calls.iter().flat_map(|call| call.attempts.clone());
        let attempt_log = AttemptLog {
            attempts: attempts.collect(),
        };
        let text = format!("an image could not be described: {reason}");
        Err(Error::provider(502, text).with_attempt_log(attempt_log))
    }
}

fn overloaded(exhausted: BudgetExhausted) -> Error {
    Error::new(ErrorKind::Local, exhausted.to_string())
        .with_status(503)
        .with_retry_after(Some(Duration::from_secs(1)))
}

/// At least one, or nothing would ever be described.
fn permits(count: usize) -> Semaphore {
    Semaphore::new(count.clamp(1, Semaphore::MAX_PERMITS))
}

fn fill((told, made): &(Told, Made)) -> (String, Fate) {
    match (told, made) {
        (Ok(description), Made::Here) => (description.to_string(), Fate::Described),
        (Ok(description), Made::Elsewhere) => (description.to_string(), Fate::FromCache),
        (Err(reason), _) => (UNAVAILABLE.to_owned(), Fate::Undescribed(reason.clone())),
    }
}
