//! The input of conditions: one request and its context.
//!
//! Derived values are computed on first use and shared by all later conditions of
//! the same request.

use std::borrow::Cow;
use std::sync::OnceLock;
use std::time::SystemTime;

use majordomo::llm::{HeuristicEstimator, TokenEstimator};
use majordomo::{Effort, Request};
use majordomo_wire::Protocol;

use super::fingerprint::{self, ClaudeCode};
use super::services::{NoServices, Services};
use super::texts::{self, LatestUser};

/// Looks up a client header by its case-insensitive name.
type HeaderLookup<'a> = &'a (dyn Fn(&str) -> Option<&'a str> + Sync);
/// Estimates a request's tokens.
type Estimate<'a> = &'a (dyn Fn(&Request) -> u64 + Sync);

/// One request and its context, as rules see it.
///
/// ```
/// use majordomo::Request;
/// use majordomo_rules::Subject;
///
/// let request = Request::user("hi").system("You are terse.");
/// let subject = Subject::new(&request, "coder").key("laptop");
/// assert_eq!(subject.system_text(), "You are terse.");
/// ```
pub struct Subject<'a> {
    request: &'a Request,
    model: &'a str,
    key: Option<&'a str>,
    now: SystemTime,
    header: HeaderLookup<'a>,
    estimate: Estimate<'a>,
    services: &'a dyn Services,
    system_text: OnceLock<Cow<'a, str>>,
    user_text: OnceLock<Cow<'a, str>>,
    latest_user: OnceLock<Option<LatestUser<'a>>>,
    images: OnceLock<usize>,
    tokens: OnceLock<u64>,
    claude_code: OnceLock<Option<ClaudeCode>>,
}

impl<'a> Subject<'a> {
    /// A request for `model`, as named by the client. By default there is no key, no
    /// header and no service metric, and the time is the Unix epoch.
    pub fn new(request: &'a Request, model: &'a str) -> Self {
        Self {
            request,
            model,
            key: None,
            now: SystemTime::UNIX_EPOCH,
            header: &|_| None,
            estimate: &|request| HeuristicEstimator.estimate(request),
            services: &NoServices,
            system_text: OnceLock::new(),
            user_text: OnceLock::new(),
            latest_user: OnceLock::new(),
            images: OnceLock::new(),
            tokens: OnceLock::new(),
            claude_code: OnceLock::new(),
        }
    }

    /// Sets the name of the client's key.
    #[must_use]
    pub fn key(mut self, name: &'a str) -> Self {
        self.key = Some(name);
        self
    }

    /// Sets the current time.
    #[must_use]
    pub fn at(mut self, now: SystemTime) -> Self {
        self.now = now;
        self
    }

    /// Sets the header lookup; names are case-insensitive.
    #[must_use]
    pub fn headers(mut self, header: HeaderLookup<'a>) -> Self {
        self.header = header;
        self
    }

    /// Sets the token estimator, replacing [`HeuristicEstimator`].
    #[must_use]
    pub fn estimate(mut self, estimate: Estimate<'a>) -> Self {
        self.estimate = estimate;
        self
    }

    /// Sets the source of service metrics.
    #[must_use]
    pub fn services(mut self, services: &'a dyn Services) -> Self {
        self.services = services;
        self
    }

    /// The request.
    pub fn request(&self) -> &'a Request {
        self.request
    }

    /// The model requested by the client.
    pub fn model(&self) -> &'a str {
        self.model
    }

    /// The name of the client's key, if it has one.
    pub fn key_name(&self) -> Option<&'a str> {
        self.key
    }

    /// The current time.
    pub fn now(&self) -> SystemTime {
        self.now
    }

    /// The value of one of the client's headers.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        (self.header)(name)
    }

    /// All system text, joined with line feeds.
    pub fn system_text(&self) -> &str {
        self.system_text
            .get_or_init(|| texts::system(self.request.prompt()))
    }

    /// All user text of the conversation, joined with line feeds. An image becomes
    /// `[image]`; tool results are excluded.
    pub fn user_text(&self) -> &str {
        self.user_text
            .get_or_init(|| texts::user(self.request.prompt()))
    }

    /// The final message, if it is the user's.
    pub(super) fn latest_user(&self) -> Option<&LatestUser<'a>> {
        self.latest_user
            .get_or_init(|| texts::latest_user(self.request.prompt()))
            .as_ref()
    }

    /// Number of images in all messages and tool results.
    pub fn images(&self) -> usize {
        *self
            .images
            .get_or_init(|| self.request.prompt().image_count())
    }

    /// Estimated number of tokens.
    pub fn tokens(&self) -> u64 {
        *self.tokens.get_or_init(|| (self.estimate)(self.request))
    }

    /// The kind of Claude Code request, if it is one.
    pub fn claude_code(&self) -> Option<ClaudeCode> {
        *self
            .claude_code
            .get_or_init(|| fingerprint::claude_code(self.request.prompt()))
    }

    /// Whether the client requested thinking. Anthropic's adaptive form leaves the
    /// decision to the model, so it counts as off.
    pub fn thinking(&self) -> bool {
        let prompt = self.request;
        if prompt.prompt().reasoning_budget.is_some() {
            return true;
        }
        let source = prompt.source().map(|source| source.dialect());
        if source == Some(&Protocol::Messages.dialect()) {
            return texts::thinking_was_enabled(prompt.prompt());
        }
        prompt
            .prompt()
            .effort
            .is_some_and(|effort| effort != Effort::None)
    }

    pub(super) fn service_metrics(&self, rule: super::RuleIndex) -> Vec<super::ServiceMetrics> {
        self.services.of_rule(rule)
    }
}
