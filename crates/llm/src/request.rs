//! What is asked, without who serves it.
//!
//! A [`Request`] is cheap to clone: the [`Prompt`] is shared and copied only
//! when somebody edits it. That is also how an edit is known: a request read
//! from the wire keeps a second handle on what was read, so "untouched" is a
//! pointer comparison and cannot be forgotten by whoever edits.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{
    Accept, Change, ChangeRecorder, Dialect, Json, Message, Native, Opaque, Part, Role, Text,
    Timer, Tool, ToolCall, ToolChoice, WireSource,
};

/// How hard the model should think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Not at all, where the target can.
    None,
    /// As little as the target can.
    Minimal,
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// More than much.
    XHigh,
    /// As much as the target can.
    Max,
}

/// The shape of the answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputFormat {
    /// Free text.
    #[default]
    Text,
    /// Any JSON value.
    Json,
    /// JSON of this schema.
    Schema(OutputSchema),
}

/// A JSON Schema that the answer must satisfy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputSchema {
    /// The schema.
    pub schema: Json,
    /// Its name, for targets that want one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether the caller asked for strict mode; unset sends no flag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
}

/// The content of a request. Unset is not zero: `None` sends nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Prompt {
    /// Instructions, before everything else.
    pub system: Vec<Text>,
    /// The conversation.
    pub messages: Vec<Message>,
    /// Functions that the model may call.
    pub tools: Vec<Tool>,
    /// Tools that the provider itself runs, verbatim for their own dialect.
    pub hosted_tools: Vec<Opaque>,
    /// Whether tools must, may or must not be called.
    pub tool_choice: ToolChoice,
    /// Whether several tools may be called at once.
    pub parallel_tool_calls: Option<bool>,
    /// The shape of the answer.
    pub output: OutputFormat,
    /// At most so many tokens of answer.
    pub max_tokens: Option<u64>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Sampling among the best `k`.
    pub top_k: Option<u64>,
    /// Penalty on words that occurred.
    pub presence_penalty: Option<f64>,
    /// Penalty on words by how often they occurred.
    pub frequency_penalty: Option<f64>,
    /// Seed for repeatable sampling.
    pub seed: Option<i64>,
    /// Texts that end the answer.
    pub stop: Vec<String>,
    /// How hard to think.
    pub effort: Option<Effort>,
    /// At most so many tokens of thought, for targets that count them.
    pub reasoning_budget: Option<u64>,
    /// Whether the provider should cache the prompt where that must be asked for.
    pub prompt_cache: bool,
    /// A key under which the provider may find its cached prompt.
    pub cache_key: Option<String>,
    /// The end user, in an opaque form.
    pub user: Option<String>,
    /// Fields of the dialect that it was read from.
    pub native: Option<Box<Native>>,
}

/// One question to a model or a chain of models.
///
/// ```
/// use majordomo_llm::{Effort, Request};
///
/// let request = Request::user("hi").system("You are terse.").effort(Effort::Low);
/// let mut longer = request.clone();           // two pointers
/// longer.edit().max_tokens = Some(4_000);     // copies now, and only now
/// assert_eq!(request.max_tokens, None);
/// ```
#[derive(Clone, Default)]
pub struct Request {
    prompt: Arc<Prompt>,
    source: Option<WireSource>,
    timeout: Option<Duration>,
    /// Seldom any; an empty list costs nothing to clone.
    timers: Vec<(Timer, Duration)>,
    accept: Option<Arc<dyn Accept>>,
    notes: Option<ChangeRecorder>,
    client_headers: Option<Arc<[(String, String)]>>,
}

impl Request {
    /// A request with one user message.
    pub fn user(part: impl Into<Part>) -> Self {
        Self::from(vec![Message::user(part)])
    }

    /// A request that was read from a client's bytes.
    pub fn from_wire(dialect: Dialect, bytes: Bytes, prompt: Prompt) -> Self {
        let prompt = Arc::new(prompt);
        let source = WireSource {
            dialect,
            bytes,
            read: Arc::clone(&prompt),
        };
        Self {
            prompt,
            source: Some(source),
            ..Self::default()
        }
    }

    /// Keeps headers of the client's request that belong to its dialect, such as
    /// the betas that its body relies on. Never put a key here: targets of the
    /// same dialect get them.
    #[must_use]
    pub fn client_headers(mut self, headers: impl IntoIterator<Item = (String, String)>) -> Self {
        self.client_headers = Some(headers.into_iter().collect());
        self
    }

    /// The values of a client's header, for targets of the dialect that it came in.
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

    /// The part of a request whose lists a client fills; its own lists are the
    /// caller's timers and a few headers, which a head limits.
    pub(crate) fn counted(&self) -> &Prompt {
        let Self {
            prompt,
            source: _,
            timeout: _,
            timers: _,
            accept: _,
            notes: _,
            client_headers: _,
        } = self;
        prompt
    }

    /// The prompt for editing; copied first if somebody else still holds it.
    pub fn edit(&mut self) -> &mut Prompt {
        Arc::make_mut(&mut self.prompt)
    }

    /// Where the request was read from, if it was.
    pub fn source(&self) -> Option<&WireSource> {
        self.source.as_ref()
    }

    /// The client's own bytes, if this is a request of that dialect that nobody edited.
    pub fn untouched(&self, dialect: &Dialect) -> Option<&Bytes> {
        let source = self.source.as_ref()?;
        let same = source.dialect == *dialect && Arc::ptr_eq(&source.read, &self.prompt);
        same.then_some(&source.bytes)
    }

    /// Whether both share one prompt, so that nothing was changed between them.
    pub fn same_prompt(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.prompt, &other.prompt)
    }

    /// Sets the instructions.
    #[must_use]
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.edit().system = vec![Text::new(text)];
        self
    }

    /// Adds a message.
    #[must_use]
    pub fn message(mut self, message: Message) -> Self {
        self.edit().messages.push(message);
        self
    }

    /// Adds a part (an image, say) to the last message.
    #[must_use]
    pub fn part(mut self, part: impl Into<Part>) -> Self {
        let part = part.into();
        match self.edit().messages.last_mut() {
            Some(last) => last.parts.push(part),
            None => return self.message(Message::user(part)),
        }
        self
    }

    /// Offers a tool.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.edit().tools.push(tool);
        self
    }

    /// Says whether tools must, may or must not be called.
    #[must_use]
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.edit().tool_choice = choice;
        self
    }

    /// Asks for JSON of this schema.
    #[must_use]
    pub fn schema(mut self, schema: Json, name: impl Into<String>) -> Self {
        self.edit().output = OutputFormat::Schema(OutputSchema {
            schema,
            name: Some(name.into()),
            strict: None,
        });
        self
    }

    /// Limits the answer's tokens.
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

    /// Sets nucleus sampling.
    #[must_use]
    pub fn top_p(mut self, top_p: f64) -> Self {
        self.edit().top_p = Some(top_p);
        self
    }

    /// Adds a text that ends the answer.
    #[must_use]
    pub fn stop(mut self, text: impl Into<String>) -> Self {
        self.edit().stop.push(text.into());
        self
    }

    /// Says how hard the model should think.
    #[must_use]
    pub fn effort(mut self, effort: Effort) -> Self {
        self.edit().effort = Some(effort);
        self
    }

    /// Asks the provider to cache the prompt.
    #[must_use]
    pub fn prompt_cache(mut self, on: bool) -> Self {
        self.edit().prompt_cache = on;
        self
    }

    /// The caller's patience for all attempts together.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets one of an attempt's own timers, in place of the provider's; the last
    /// word counts. Targets without timers are not concerned.
    ///
    /// ```
    /// use std::time::Duration;
    /// use majordomo_llm::{Request, Timer};
    ///
    /// let hurried = Request::user("hi").timer(Timer::FirstEvent, Duration::from_secs(5));
    /// assert_eq!(hurried.get_timers(), [(Timer::FirstEvent, Duration::from_secs(5))]);
    /// ```
    #[must_use]
    pub fn timer(mut self, timer: Timer, limit: Duration) -> Self {
        self.timers.push((timer, limit));
        self
    }

    /// Judges each answer before it is taken; see [`Accept`].
    #[must_use]
    pub fn accept(mut self, accept: Arc<dyn Accept>) -> Self {
        self.accept = Some(accept);
        self
    }

    /// The request for one attempt, and the notes that will be made on it.
    pub fn recording_changes(mut self) -> (Self, ChangeRecorder) {
        let notes = ChangeRecorder::default();
        self.notes = Some(notes.clone());
        (self, notes)
    }

    /// Writes down that a target gets something differently; without anybody who
    /// keeps notes, nothing happens.
    pub fn record_change(&self, change: Change) {
        if let Some(notes) = &self.notes {
            notes.add(change);
        }
    }

    /// The caller's patience, if it was limited.
    pub fn get_timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// The attempt's timers that the caller set, in the order of setting.
    pub fn get_timers(&self) -> &[(Timer, Duration)] {
        &self.timers
    }

    /// Who judges the answers, if somebody does.
    pub fn get_accept(&self) -> Option<&Arc<dyn Accept>> {
        self.accept.as_ref()
    }
}

impl Deref for Request {
    type Target = Prompt;

    fn deref(&self) -> &Prompt {
        &self.prompt
    }
}

impl Prompt {
    /// The instructions, the system messages of the conversation after them.
    pub fn system_text(&self) -> String {
        let own = self.system.iter().map(|text| text.text.clone());
        let inline = self
            .messages
            .iter()
            .filter(|message| message.role == Role::System)
            .map(Message::text);
        let texts: Vec<String> = own.chain(inline).filter(|t| !t.is_empty()).collect();
        texts.join("\n\n")
    }

    /// How many images the conversation holds, those inside tool results included.
    pub fn image_count(&self) -> usize {
        self.messages.iter().map(Message::image_count).sum()
    }

    /// The number of the next made-up call id: above every `call_<n>` of the
    /// conversation, so that ids stay unique even when early turns were dropped.
    pub fn next_call_number(&self) -> usize {
        self.messages
            .iter()
            .flat_map(Message::tool_calls)
            .filter_map(|call| ToolCall::synthetic_number(&call.id))
            .max()
            .map_or(0, |highest| highest.saturating_add(1))
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

/// Prints the prompt; hooks have no readable form.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("prompt", &self.prompt)
            .field("dialect", &self.source.as_ref().map(|s| &s.dialect))
            .field("timeout", &self.timeout)
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
    fn a_request_read_from_the_wire_is_untouched_until_it_is_edited() {
        let mut request = from_wire();
        let shared = request.clone();
        assert_eq!(request.untouched(&CHAT).unwrap().as_ref(), b"{}");
        assert!(request.untouched(&Dialect::new("ollama-chat")).is_none());

        request.edit().max_tokens = Some(1);
        assert!(request.untouched(&CHAT).is_none());
        assert!(shared.untouched(&CHAT).is_some(), "a clone is not affected");
        assert_eq!(request.source().unwrap().read().max_tokens, None);
    }

    #[test]
    fn a_clients_headers_are_only_for_its_own_dialect() {
        let beta = ("Anthropic-Beta".to_owned(), "a,b".to_owned());
        let request = from_wire().client_headers([beta.clone()]);
        let found: Vec<&str> = request.client_header(&CHAT, "anthropic-beta").collect();
        assert_eq!(found, ["a,b"]);
        let other = Dialect::new("ollama-chat");
        assert_eq!(request.client_header(&other, "anthropic-beta").count(), 0);
        let made_here = Request::user("hi").client_headers([beta]);
        assert_eq!(made_here.client_header(&CHAT, "anthropic-beta").count(), 0);
    }

    #[test]
    fn clones_share_the_prompt() {
        let request = Request::user("hi");
        assert!(request.same_prompt(&request.clone()));
        assert!(!request.same_prompt(&request.clone().max_tokens(1)));
    }

    #[test]
    fn system_messages_are_folded_in_after_the_system_field() {
        let request = Request::user("hi")
            .system("first")
            .message(Message::system("second"));
        assert_eq!(request.system_text(), "first\n\nsecond");
    }

    #[test]
    fn images_inside_tool_results_count() {
        let call = ToolCall::new("call_0", "look", "{}");
        let mut result = crate::ToolResult::new(&call, "see");
        result.parts.push(Part::image("image/png", vec![1]));
        let request = Request::user(Part::image("image/png", vec![1]))
            .message(Message::assistant(Part::ToolCall(call)))
            .message(Message::tool_results_message([result]));
        assert_eq!(request.image_count(), 2);
    }

    #[test]
    fn made_up_call_ids_count_on_from_the_highest_in_the_conversation() {
        let asked = |id: &str| {
            let call = ToolCall::new(id, "look", "{}");
            Message::assistant(Part::ToolCall(call))
        };
        let request = Request::user("hi");
        assert_eq!(request.next_call_number(), 0);
        let request = request.message(asked("call_7")).message(asked("call_x9"));
        assert_eq!(request.next_call_number(), 8);
    }

    #[test]
    fn a_prompt_survives_being_saved() {
        let request = from_wire()
            .part(Part::image("image/png", vec![1, 2, 3]))
            .schema(Json::parse(r#"{"type": "object"}"#).unwrap(), "answer")
            .effort(Effort::XHigh);
        let saved = serde_json::to_string(&*request).unwrap();
        let read: Prompt = serde_json::from_str(&saved).unwrap();
        assert_eq!(read, *request);
    }
}
