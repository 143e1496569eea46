//! The engine: finds images, has them described and replaces them.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use majordomo::clock::{Clock, RuntimeClock};
use majordomo::llm::{AttemptLog, Prompt};
use majordomo::{Chain, Error, ErrorKind, Part, Request, Result, Usage};
use majordomo_limits::{Bounds, BudgetExhausted, Charge, FairSemaphore, Flow};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::cache::{Description, DescriptionCache};
use super::config::{OnFailure, VisionConfig};
use super::describer::{self, DescribeResult};
use super::fetch::FetchImage;
use super::image_content::ImageContent;
use super::image_slots;
use super::outcome::{self, Described, ImageDisposition, ImageOutcome};
use super::plan::{DescriptionJob, DescriptionPlan, Planner};
use super::scope::Scope;
use super::shared::SharedDescriptions;
use super::single_flight::{CallOrigin, DescriptionResult, SingleFlight};
use super::{MAX_DESCRIPTION_BYTES, UNAVAILABLE};

/// Describes images. One instance per process: it holds the cache of descriptions and
/// limits concurrent calls.
///
/// ```
/// use majordomo::fake::{Fake, Step};
/// use majordomo::{Part, Registry, Request};
/// use majordomo_vision::{Scope, Vision, VisionConfig};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> majordomo::Result<()> {
/// let eyes = Fake::new("eyes");
/// eyes.enqueue("sharp", [Step::reply("a red apple")]);
/// let registry = Registry::empty();
/// registry.register(eyes);
/// let describers = registry.model("eyes/sharp")?;
///
/// # let png: &[u8] = &[
/// #     137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 1, 0, 0, 0, 1, 8, 0,
/// #     0, 0, 0, 58, 126, 155, 85, 0, 0, 0, 10, 73, 68, 65, 84, 120, 156, 99, 104, 0, 0, 0, 130, 0,
/// #     129, 119, 205, 114, 182, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
/// # ];
/// let vision = Vision::new(VisionConfig::default());
/// let request = Request::user("What is this?").part(Part::image("image/png", png));
/// let described = vision.describe(request, Some(&describers), &Scope::of_key("laptop")).await?;
/// assert_eq!(described.request.prompt().messages[0].parts[1], Part::text("[image: a red apple]"));
/// assert_eq!(described.changes[0].to_string(), "image:1 described");
/// # Ok(()) }
/// ```
pub struct Vision {
    pub(super) config: VisionConfig,
    pub(super) cache: Arc<DescriptionCache>,
    single_flight: Arc<SingleFlight>,
    /// Limits calls of the process; tenants take turns.
    calls: FairSemaphore,
    fetcher: Option<Arc<dyn FetchImage>>,
    shared: Option<Arc<dyn SharedDescriptions>>,
    clock: Arc<dyn Clock>,
}

impl Vision {
    /// An engine without a fetcher, on the runtime's clock.
    pub fn new(config: VisionConfig) -> Self {
        Self::with_clock(config, Arc::new(RuntimeClock))
    }

    /// An engine whose cache uses this clock.
    pub fn with_clock(config: VisionConfig, clock: Arc<dyn Clock>) -> Self {
        Self {
            cache: Arc::new(DescriptionCache::new(
                config.cache,
                config.ttl,
                Arc::clone(&clock),
            )),
            single_flight: Arc::default(),
            calls: FairSemaphore::new(Bounds::new(config.total.max(1) as u64)),
            fetcher: None,
            shared: None,
            clock,
            config,
        }
    }

    /// Fetches remote images with this, for describers that do not accept URLs.
    #[must_use]
    pub fn fetching(mut self, fetcher: Arc<dyn FetchImage>) -> Self {
        self.fetcher = Some(fetcher);
        self
    }

    /// Shares descriptions with other processes.
    #[must_use]
    pub fn sharing(mut self, shared: Arc<dyn SharedDescriptions>) -> Self {
        self.shared = Some(shared);
        self
    }

    /// The engine under a reloaded configuration. Cached descriptions are kept if the new
    /// settings allow, and the limit on concurrent calls is shared. The fetcher belongs to the
    /// old configuration: the new engine fetches nothing until it is given one
    /// ([`fetching`](Self::fetching)). It does not join calls of the old engine.
    #[must_use]
    pub fn reconfigured(&self, config: VisionConfig) -> Self {
        let mut new = Self::with_clock(config, Arc::clone(&self.clock));
        let rules = |config: &VisionConfig| (config.cache, config.ttl);
        if rules(&new.config) == rules(&self.config) {
            new.cache = Arc::clone(&self.cache);
        }
        if new.config.total == self.config.total {
            new.calls = self.calls.clone();
        }
        new.shared = self.shared.clone();
        new
    }

    /// Its settings.
    pub fn config(&self) -> &VisionConfig {
        &self.config
    }

    /// Whether a request contains an image.
    pub fn has_images(request: &Prompt) -> bool {
        request.images().next().is_some()
    }

    /// Bytes of cached descriptions.
    pub fn cached_bytes(&self) -> u64 {
        self.cache.bytes()
    }

    /// Replaces every image with text. Without describers, every image of the last message
    /// is unavailable. Fails only if so configured; dropping the future cancels every call.
    pub async fn describe(
        &self,
        mut request: Request,
        describers: Option<&Chain>,
        scope: &Scope,
    ) -> Result<Described> {
        // Covers the rewritten request and the images in it.
        let mut charge = Charge::begin();
        let needed = image_slots::opaque_bytes(request.prompt()).saturating_mul(2);
        charge.reach(needed).map_err(overloaded)?;
        let earlier_calls = scope.call_count();
        let planner = Planner::new(&self.config, request.prompt(), describers, scope);
        let plan = DescriptionPlan::of(planner, &self.cache).await;
        let results = match describers {
            Some(chain) if !plan.jobs.is_empty() => {
                self.run(&plan.jobs, &self.with_attempt_timeouts(chain), scope)
                    .await
            }
            _ => Vec::new(),
        };
        let (texts, images) = plan.filled(|index, _| replacement(&results[index]));
        let calls = scope.calls_since(earlier_calls);
        self.check_failures(&images, &calls)?;
        if !texts.is_empty() {
            image_slots::replace(request.edit(), texts);
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

    /// Splits the time between the describers: one that hangs must not use up the time of
    /// the next, and failover is better than a retry.
    fn with_attempt_timeouts(&self, chain: &Chain) -> Chain {
        let share = u32::try_from(chain.targets().len()).unwrap_or(u32::MAX);
        if share < 2 {
            return chain.clone();
        }
        chain.clone().configured(|config| {
            config.retries = 0;
            config.attempt = Some(self.config.timeout / share);
        })
    }

    /// Runs the jobs concurrently and returns their results in order.
    async fn run(
        &self,
        jobs: &[DescriptionJob],
        chain: &Chain,
        scope: &Scope,
    ) -> Vec<(DescriptionResult, CallOrigin)> {
        let deadline = Instant::now().checked_add(self.config.timeout);
        let at_once = semaphore(self.config.per_request);
        let all = jobs.iter().map(|job| async {
            if let Some(result) = scope.result(&job.key) {
                return result;
            }
            let _permit = at_once.acquire().await;
            let result = self.describe_within(job, chain, scope, deadline).await;
            if let Err(reason) = &result.0 {
                tracing::debug!(%reason, "an image could not be described");
            }
            scope.store(job.key, result.0.clone(), result.1);
            result
        });
        join_all(all).await
    }

    async fn describe_within(
        &self,
        job: &DescriptionJob,
        chain: &Chain,
        scope: &Scope,
        deadline: Option<Instant>,
    ) -> (DescriptionResult, CallOrigin) {
        let known = || self.cache.get(&job.key);
        if !job.may_call {
            let why = || {
                format!(
                    "only {} images are described per request",
                    self.config.max_images
                )
            };
            return (known().ok_or_else(why), CallOrigin::Shared);
        }
        let late = || {
            let seconds = self.config.timeout.as_secs_f64();
            (
                Err(format!("no description within {seconds} s")),
                CallOrigin::ThisRequest,
            )
        };
        // Make no call that could not complete in time.
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return known().map_or_else(late, |known| (Ok(known), CallOrigin::Shared));
        }
        if known().is_none() {
            self.find_elsewhere(job).await;
        }
        let call = || self.call_describer(job, chain, scope);
        let work = AssertUnwindSafe(self.single_flight.join(job.key, known, call)).catch_unwind();
        let ended = match deadline {
            Some(deadline) => timeout_at(deadline, work).await,
            None => Ok(work.await),
        };
        match ended {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => (
                Err("the describer panicked".to_owned()),
                CallOrigin::ThisRequest,
            ),
            Err(_) => late(),
        }
    }

    /// Copies another process's description into the cache.
    async fn find_elsewhere(&self, job: &DescriptionJob) {
        let Some(shared) = &self.shared else {
            return;
        };
        let found = shared.find(&job.key.hex()).await;
        if let Some(text) = found.filter(|text| text.len() <= MAX_DESCRIPTION_BYTES) {
            self.cache.put(job.key, text.into(), job.is_lasting());
        }
    }

    async fn call_describer(
        &self,
        job: &DescriptionJob,
        chain: &Chain,
        scope: &Scope,
    ) -> DescriptionResult {
        // The queue is unbounded, so this always yields a permit.
        let _permit = self.calls.acquire(Flow::current(), 1).await.ok();
        let reply = match job.content.to_part() {
            Some(part) => self.describe_image(part, job, chain, scope).await,
            None => DescribeResult::Unseen,
        };
        let reply = match (reply, &job.content, &self.fetcher) {
            (DescribeResult::Description(text), ..) => DescribeResult::Description(text),
            (_, ImageContent::Remote(url), Some(fetcher)) => match fetcher.fetch(url).await {
                Ok(image) => {
                    self.describe_image(Part::Image(image), job, chain, scope)
                        .await
                }
                Err(error) => {
                    DescribeResult::Failed(format!("the image could not be fetched: {error}"))
                }
            },
            (reply, ..) => reply,
        };
        match reply {
            DescribeResult::Description(text) => {
                let description: Description = text.into();
                let kept = Arc::clone(&description);
                self.cache.put(job.key, kept, job.is_lasting());
                if let Some(shared) = &self.shared {
                    shared.keep(&job.key.hex(), &description, self.config.ttl);
                }
                Ok(description)
            }
            DescribeResult::Unseen => Err("the describer does not accept image URLs".to_owned()),
            DescribeResult::Failed(reason) => Err(reason),
        }
    }

    async fn describe_image(
        &self,
        image: Part,
        job: &DescriptionJob,
        chain: &Chain,
        scope: &Scope,
    ) -> DescribeResult {
        let tokens = self.config.max_tokens;
        describer::call(chain, image, &job.prompt, tokens, scope, &*self.clock).await
    }

    /// Fails the request if an image has no description and the configuration requires one.
    fn check_failures(&self, images: &[ImageOutcome], calls: &[super::DescribeCall]) -> Result<()> {
        let reason = images.iter().find_map(|image| match &image.disposition {
            ImageDisposition::Undescribed(reason) => Some(reason),
            _ => None,
        });
        let Some(reason) = reason.filter(|_| self.config.on_failure == OnFailure::Fail) else {
            return Ok(());
        };
        let attempts = calls.iter().flat_map(|call| call.attempts.clone());
        let attempt_log = AttemptLog::new(attempts.collect());
        let text = format!("an image could not be described: {reason}");
        let mut failed = calls
            .iter()
            .filter(|call| call.failure.is_some())
            .peekable();
        let refused = failed.peek().is_some() && failed.all(super::DescribeCall::is_denied);
        let error = match refused {
            // A budget refused, not the describer: nothing was sent.
            true => Error::new(ErrorKind::Denied, text),
            false => Error::http(502, text),
        };
        Err(error.with_attempt_log(attempt_log))
    }
}

fn overloaded(exhausted: BudgetExhausted) -> Error {
    Error::new(ErrorKind::Overloaded, exhausted.to_string())
        .with_retry_after(Some(Duration::from_secs(1)))
}

/// At least one permit, or no image would ever be described.
fn semaphore(count: usize) -> Semaphore {
    Semaphore::new(count.clamp(1, Semaphore::MAX_PERMITS))
}

fn replacement((result, origin): &(DescriptionResult, CallOrigin)) -> (String, ImageDisposition) {
    match (result, origin) {
        (Ok(description), CallOrigin::ThisRequest) => {
            (description.to_string(), ImageDisposition::Described)
        }
        (Ok(description), CallOrigin::Shared) => {
            (description.to_string(), ImageDisposition::FromCache)
        }
        (Err(reason), _) => (
            UNAVAILABLE.to_owned(),
            ImageDisposition::Undescribed(reason.clone()),
        ),
    }
}
