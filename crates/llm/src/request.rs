//! Requests: a shared prompt, and how to execute it.
//!
//! The [`Prompt`] is copy-on-write. A request decoded from the wire keeps a second
//! handle on the decoded prompt, so a pointer comparison detects every edit.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::{
    Accept, BodySpans, CallOptions, Change, ChangeRecorder, ClientCredential, Dialect, Effort,
    Json, Message, OutputFormat, OutputSchema, Part, Prompt, RawRecorder, Text, Timer, Tool,
    ToolChoice, TraceHeaders, WireSource,
};

/// A request to a model or chain. Cheap to clone: the [`Prompt`] is copy-on-write.
///
/// Methods such as [`max_tokens`](Request::max_tokens) set a field while a request is
/// built. [`prompt`](Request::prompt) and [`options`](Request::options) read; middleware
/// that has a `&mut Request` changes the prompt through [`edit`](Request::edit).
///
/// ```
/// use majordomo_llm::{Effort, Request};
///
/// let request = Request::user("hi").system("You are terse.").effort(Effort::Low);
/// let mut longer = request.clone();           // shares the prompt
/// longer.edit().max_tokens = Some(4_000);     // copies the prompt
/// assert_eq!(request.prompt().max_tokens, None);
/// ```
#[derive(Clone, Default)]
pub struct Request {
    prompt: Arc<Prompt>,
    source: Option<WireSource>,
    options: CallOptions,
    change_recorder: Option<ChangeRecorder>,
    raw_recorder: Option<RawRecorder>,
    client_headers: Option<Arc<[(String, String)]>>,
    client_credential: Option<ClientCredential>,
}

impl Request {
    /// Creates a request with one user message.
    pub fn user(part: impl Into<Part>) -> Self {
        Self::from(vec![Message::user(part)])
    }

    /// Creates a request decoded from a client's bytes.
    pub fn from_wire(dialect: Dialect, bytes: Bytes, prompt: Prompt) -> Self {
        let prompt = Arc::new(prompt);
        let source = WireSource {
            dialect,
            bytes,
            prompt: Arc::clone(&prompt),
            spans: None,
        };
        Self {
            prompt,
            source: Some(source),
            ..Self::default()
        }
    }

    /// Sets the positions of an attempt's fields in the client's bytes.
    #[must_use]
    pub fn with_spans(mut self, spans: Option<BodySpans>) -> Self {
        if let Some(source) = &mut self.source {
            source.spans = spans;
        }
        self
    }

    /// Sets the client's headers to forward to targets of its dialect, such as the beta
    /// flags that the body relies on. Never include credentials.
    #[must_use]
    pub fn client_headers(mut self, headers: impl IntoIterator<Item = (String, String)>) -> Self {
        self.client_headers = Some(headers.into_iter().collect());
        self
    }

    /// Iterates over the values of a client header. Empty unless the client speaks this
    /// dialect.
    pub fn client_header<'a>(
        &'a self,
        dialect: &Dialect,
        name: &'a str,
    ) -> impl Iterator<Item = &'a str> {
        let same = self.source.as_ref().is_some_and(|s| s.dialect == *dialect);
        let headers = self.client_headers.as_deref().filter(|_| same);
        let named = headers.unwrap_or_default().iter();
        named
            .filter(move |(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Sets the client's own credential, for providers that use it instead of the configured
    /// one.
    #[must_use]
    pub fn with_client_credential(mut self, credential: Option<ClientCredential>) -> Self {
        self.client_credential = credential;
        self
    }

    /// Returns the client's own credential, if it has one.
    pub fn client_credential(&self) -> Option<&ClientCredential> {
        self.client_credential.as_ref()
    }

    /// Returns the prompt, whose lists a client fills. The request's other lists are the
    /// caller's timers and headers, which the HTTP head limits.
    pub(crate) fn counted(&self) -> &Prompt {
        let Self {
            prompt,
            source: _,
            options: _,
            change_recorder: _,
            raw_recorder: _,
            client_headers: _,
            client_credential: _,
        } = self;
        prompt
    }

    /// Returns the prompt.
    pub fn prompt(&self) -> &Prompt {
        &self.prompt
    }

    /// Returns how to execute the request.
    pub fn options(&self) -> &CallOptions {
        &self.options
    }

    /// Returns the prompt for editing, copying it first if it is shared.
    pub fn edit(&mut self) -> &mut Prompt {
        Arc::make_mut(&mut self.prompt)
    }

    /// Returns the wire form, if the request was decoded from one.
    pub fn source(&self) -> Option<&WireSource> {
        self.source.as_ref()
    }

    /// Returns the client's bytes if they are in this dialect and the prompt was not
    /// edited.
    pub fn untouched(&self, dialect: &Dialect) -> Option<&Bytes> {
        let source = self.source.as_ref()?;
        let same = source.dialect == *dialect && Arc::ptr_eq(&source.prompt, &self.prompt);
        same.then_some(&source.bytes)
    }

    /// Returns `true` if both requests share one prompt.
    pub fn same_prompt(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.prompt, &other.prompt)
    }

    /// Sets the system prompt.
    #[must_use]
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.edit().system = vec![Text::new(text)];
        self
    }

    /// Appends a message.
    #[must_use]
    pub fn message(mut self, message: Message) -> Self {
        self.edit().messages.push(message);
        self
    }

    /// Appends a part, such as an image, to the last message.
    #[must_use]
    pub fn part(mut self, part: impl Into<Part>) -> Self {
        let part = part.into();
        match self.edit().messages.last_mut() {
            Some(last) => last.parts.push(part),
            None => return self.message(Message::user(part)),
        }
        self
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.edit().tools.push(tool);
        self
    }

    /// Sets whether the model must, may or must not call tools.
    #[must_use]
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.edit().tool_choice = choice;
        self
    }

    /// Requests JSON that satisfies a schema.
    #[must_use]
    pub fn schema(mut self, schema: Json, name: impl Into<String>) -> Self {
        self.edit().output = OutputFormat::Schema(OutputSchema {
            schema,
            name: Some(name.into()),
            strict: None,
        });
        self
    }

    /// Replaces the output schema with an instruction in the system prompt, for a target
    /// without structured output. Returns `false` if the request has no schema.
    ///
    /// ```
    /// use majordomo_llm::{Json, OutputFormat, Request};
    ///
    /// let schema = Json::parse(r#"{"type": "object"}"#).unwrap();
    /// let mut request = Request::user("who?").schema(schema, "person");
    /// assert!(request.instruct_schema());
    /// assert_eq!(request.prompt().output, OutputFormat::Text);
    /// assert!(request.prompt().system_text().contains(r#"{"type": "object"}"#));
    /// ```
    pub fn instruct_schema(&mut self) -> bool {
        let OutputFormat::Schema(output) = &self.prompt.output else {
            return false;
        };
        let text = format!(
            "Answer with one JSON value and nothing else: no explanation, no code fence. \
             The JSON must satisfy this JSON Schema:\n{}",
            output.schema.as_str()
        );
        let prompt = self.edit();
        prompt.output = OutputFormat::Text;
        prompt.system.push(Text::new(text));
        true
    }

    /// Sets the maximum tokens of the response.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.edit().max_tokens = Some(tokens);
        self
    }

    /// Sets the sampling temperature.
    #[must_use]
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.edit().temperature = Some(temperature);
        self
    }

    /// Sets the nucleus sampling threshold.
    #[must_use]
    pub fn top_p(mut self, top_p: f64) -> Self {
        self.edit().top_p = Some(top_p);
        self
    }

    /// Adds a stop sequence.
    #[must_use]
    pub fn stop(mut self, text: impl Into<String>) -> Self {
        self.edit().stop.push(text.into());
        self
    }

    /// Sets the reasoning effort.
    #[must_use]
    pub fn effort(mut self, effort: Effort) -> Self {
        self.edit().effort = Some(effort);
        self
    }

    /// Requests prompt caching from providers where it is opt-in.
    #[must_use]
    pub fn prompt_cache(mut self, on: bool) -> Self {
        self.edit().prompt_cache = on;
        self
    }

    /// Sets the timeout for all attempts together.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// Overrides one of the provider's timers for each attempt. The last value wins.
    /// Targets without timers ignore it.
    ///
    /// ```
    /// use std::time::Duration;
    /// use majordomo_llm::{Request, Timer};
    ///
    /// let hurried = Request::user("hi").timer(Timer::FirstEvent, Duration::from_secs(5));
    /// assert_eq!(hurried.options().timers, [(Timer::FirstEvent, Duration::from_secs(5))]);
    /// ```
    #[must_use]
    pub fn timer(mut self, timer: Timer, limit: Duration) -> Self {
        self.options.timers.push((timer, limit));
        self
    }

    /// Sets the hook that validates responses.
    #[must_use]
    pub fn accept(mut self, accept: Arc<dyn Accept>) -> Self {
        self.options.accept = Some(accept);
        self
    }

    /// Asks for the usage of streams even if the server is not known to accept the option,
    /// because a limit or a price depends on it.
    #[must_use]
    pub fn needs_usage(mut self, needed: bool) -> Self {
        self.options.usage_needed = needed;
        self
    }

    /// Sets whether to add prompt-cache breakpoints if the caller set none, for providers
    /// whose cache needs them. `None` leaves it to the provider's settings.
    #[must_use]
    pub fn auto_cache(mut self, on: Option<bool>) -> Self {
        self.options.auto_cache = on;
        self
    }

    /// Sets the headers that carry the request's trace and id to providers.
    #[must_use]
    pub fn trace(mut self, trace: Option<Arc<TraceHeaders>>) -> Self {
        self.options.trace = trace;
        self
    }

    /// Attaches a new [`ChangeRecorder`] for one attempt and returns both.
    pub fn recording_changes(mut self) -> (Self, ChangeRecorder) {
        let recorder = ChangeRecorder::default();
        self.change_recorder = Some(recorder.clone());
        (self, recorder)
    }

    /// Asks for the bytes of a streamed response, and returns where they will be.
    pub fn recording_raw(mut self) -> (Self, RawRecorder) {
        let recorder = RawRecorder::default();
        self.raw_recorder = Some(recorder.clone());
        (self, recorder)
    }

    /// Returns where to put the bytes of a streamed response, if they are wanted.
    pub fn raw_recorder(&self) -> Option<&RawRecorder> {
        self.raw_recorder.as_ref()
    }

    /// Records a change made for the target. Does nothing without a recorder.
    pub fn record_change(&self, change: Change) {
        if let Some(recorder) = &self.change_recorder {
            recorder.add(change);
        }
    }
}

impl From<Prompt> for Request {
    fn from(prompt: Prompt) -> Self {
        Self {
            prompt: Arc::new(prompt),
            ..Self::default()
        }
    }
}

impl From<Vec<Message>> for Request {
    fn from(messages: Vec<Message>) -> Self {
        Self::from(Prompt {
            messages,
            ..Prompt::default()
        })
    }
}

/// Omits the client's bytes and headers.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("prompt", &self.prompt)
            .field("dialect", &self.source.as_ref().map(|s| &s.dialect))
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAT: Dialect = Dialect::new("openai-chat");

    fn from_wire() -> Request {
        let prompt = Prompt {
            messages: vec![Message::user("hi")],
            ..Prompt::default()
        };
        Request::from_wire(CHAT, Bytes::from_static(b"{}"), prompt)
    }

    #[test]
    fn a_request_decoded_from_the_wire_is_untouched_until_edited() {
        let mut request = from_wire();
        let shared = request.clone();
        assert_eq!(request.untouched(&CHAT).unwrap().as_ref(), b"{}");
        assert!(request.untouched(&Dialect::new("ollama-chat")).is_none());

        request.edit().max_tokens = Some(1);
        assert!(request.untouched(&CHAT).is_none());
        assert!(shared.untouched(&CHAT).is_some(), "a clone is not affected");
        assert_eq!(request.source().unwrap().prompt().max_tokens, None);
    }

    #[test]
    fn client_headers_are_visible_only_to_their_dialect() {
        let beta = ("Anthropic-Beta".to_owned(), "a,b".to_owned());
        let request = from_wire().client_headers([beta.clone()]);
        let found: Vec<&str> = request.client_header(&CHAT, "anthropic-beta").collect();
        assert_eq!(found, ["a,b"]);
        let other = Dialect::new("ollama-chat");
        assert_eq!(request.client_header(&other, "anthropic-beta").count(), 0);
        let constructed = Request::user("hi").client_headers([beta]);
        assert_eq!(
            constructed.client_header(&CHAT, "anthropic-beta").count(),
            0
        );
    }

    #[test]
    fn clones_share_the_prompt() {
        let request = Request::user("hi");
        assert!(request.same_prompt(&request.clone()));
        assert!(!request.same_prompt(&request.clone().max_tokens(1)));
    }

    #[test]
    fn a_prompt_survives_serialization() {
        let request = from_wire()
            .part(Part::image("image/png", vec![1, 2, 3]))
            .schema(Json::parse(r#"{"type": "object"}"#).unwrap(), "answer")
            .effort(Effort::XHigh);
        let saved = serde_json::to_string(request.prompt()).unwrap();
        let read: Prompt = serde_json::from_str(&saved).unwrap();
        assert_eq!(read, *request.prompt());
    }
}
