//! What conditions look at: one request, and what is known around it.
//!
//! Everything that costs is made when the first condition asks for it and shared
//! by all that ask later, in the same rule or in another.

use std::borrow::Cow;
use std::sync::OnceLock;
use std::time::SystemTime;

use majordomo::{Effort, HeuristicEstimator, Request, TokenEstimator};
use majordomo_wire::Protocol;

use super::fingerprint::{self, ClaudeCode};
use super::services::{NoServices, Services};
use super::texts::{self, LatestUser};

/// Looks up one of the client's headers; names are case-insensitive.
type Header<'a> = &'a (dyn Fn(&str) -> Option<&'a str> + Sync);
/// Guesses a request's tokens.
type Estimate<'a> = &'a (dyn Fn(&Request) -> u64 + Sync);

/// One request under the eyes of rules.
///
/// ```
/// use majordomo::Request;
/// use majordomo_gateway::rules::Subject;
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
    header: Header<'a>,
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
    /// A request for `model`, as its client named it. Without more, there is no
    /// key, no header, nothing known of any service, and it is 1970.
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

    /// The name of the client's key.
    #[must_use]
    pub fn key(mut self, name: &'a str) -> Self {
        self.key = Some(name);
        self
    }

    /// The time that it is.
    #[must_use]
    pub fn at(mut self, now: SystemTime) -> Self {
        self.now = now;
        self
    }

    /// How to look up the client's headers; names are case-insensitive.
    #[must_use]
    pub fn headers(mut self, header: Header<'a>) -> Self {
        self.header = header;
        self
    }

    /// How to guess the request's tokens, instead of [`HeuristicEstimator`].
    #[must_use]
    pub fn estimate(mut self, estimate: Estimate<'a>) -> Self {
        self.estimate = estimate;
        self
    }

    /// What is known about the rules' services.
    #[must_use]
    pub fn services(mut self, services: &'a dyn Services) -> Self {
        self.services = services;
        self
    }

    /// The request.
    pub fn request(&self) -> &'a Request {
        self.request
    }

    /// The model that the client asked for.
    pub fn model(&self) -> &'a str {
        self.model
    }

    /// The name of the client's key, if it has one.
    pub fn key_name(&self) -> Option<&'a str> {
        self.key
    }

    /// The time that it is.
    pub fn now(&self) -> SystemTime {
        self.now
    }

    /// The value of one of the client's headers.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        (self.header)(name)
    }

    /// All instructions, joined with line feeds.
    pub fn system_text(&self) -> &str {
        self.system_text.get_or_init(|| texts::system(self.request))
    }

    /// What the user said in the whole conversation, joined with line feeds; an
    /// image is `[image]`, and answers of tools are not the user's.
    pub fn user_text(&self) -> &str {
        self.user_text.get_or_init(|| texts::user(self.request))
    }

    /// The user's message that the request ends with, if it does.
    pub(super) fn latest_user(&self) -> Option<&LatestUser<'a>> {
        self.latest_user
            .get_or_init(|| texts::latest_user(self.request))
            .as_ref()
    }

    /// How many images there are, in any message and in any tool's answer.
    pub fn images(&self) -> usize {
        *self.images.get_or_init(|| self.request.image_count())
    }

    /// About how many tokens it is.
    pub fn tokens(&self) -> u64 {
        *self.tokens.get_or_init(|| (self.estimate)(self.request))
    }

    /// Which kind of request of Claude Code it is, if it is one.
    pub fn claude_code(&self) -> Option<ClaudeCode> {
        *self
            .claude_code
            .get_or_init(|| fingerprint::claude_code(self.request))
    }

    /// Whether the client asked for thinking. Anthropic's adaptive form leaves
    /// that to the model, so it counts as off.
    pub fn thinking(&self) -> bool {
        let prompt = self.request;
        if prompt.reasoning_budget.is_some() {
            return true;
        }
        let source = prompt.source().map(|source| source.dialect());
        if source == Some(&Protocol::Messages.dialect()) {
            return texts::thinking_was_enabled(prompt);
        }
        prompt.effort.is_some_and(|effort| effort != Effort::None)
    }

    pub(super) fn service_stats(&self, rule: super::RuleIndex) -> Vec<super::ServiceStats> {
        self.services.of_rule(rule)
    }
}
