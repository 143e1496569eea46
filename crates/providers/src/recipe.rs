//! What is a provider's own.

use ::http::HeaderMap;
use majordomo_llm::{Capabilities, Dialect, Request, Result};
use majordomo_wire::{Outgoing, Protocol};
use secrecy::SecretString;

use crate::discovery::{Knowledge, Question};
use crate::estimate::TokenRule;
use crate::transport::{Credential, Timeouts};

/// Everything in which one provider differs from the next.
pub(crate) trait Recipe: Send + Sync {
    /// The dialect that it speaks.
    fn protocol(&self) -> Protocol;

    /// Where it is, unless the settings say otherwise; none if only they can know.
    fn base_url(&self) -> Option<String>;

    /// The path of a call, put behind the base URL.
    fn path(&self, model: &str, request: &Request, stream: bool) -> String;

    /// The path of the list of models.
    fn models_path(&self) -> &'static str;

    /// The path where it counts the tokens of a request, if it does.
    fn count_path(&self, _model: &str) -> Option<String> {
        None
    }

    /// The path where it makes embeddings for clients of a dialect, if it does.
    fn embeddings_path(&self, _dialect: &Dialect) -> Option<&'static str> {
        None
    }

    /// What is added to the query for the page after this one, if there is one.
    fn next_page(&self, _page: &[u8]) -> Option<String> {
        None
    }

    /// The variables that hold its key, in the order in which they are looked
    /// at; none means that it needs no key.
    fn key_variables(&self) -> &'static [&'static str];

    /// The header that carries the key.
    fn credential(&self, key: &SecretString) -> Result<Credential>;

    /// Headers beside the key, for a call with this request or for no call.
    fn headers(&self, _request: Option<&Request>) -> HeaderMap {
        HeaderMap::new()
    }

    /// What a model takes, as far as it is known without asking.
    fn capabilities(&self, model: &str) -> Capabilities;

    /// How to ask the server what a model takes, if it tells.
    fn question(&self, _model: &str) -> Option<Question> {
        None
    }

    /// Adjusts limits that depend on what the server told.
    fn learned(&self, _capabilities: &mut Capabilities) {}

    /// How it counts tokens.
    fn tokens(&self, _model: &str) -> TokenRule {
        TokenRule::default()
    }

    /// How long its answers may take.
    fn timeouts(&self) -> Timeouts {
        Timeouts::default()
    }

    /// Changes what this provider's models are known to refuse; each change is
    /// noted on the request.
    fn prepare(&self, request: Request, _model: &str) -> Request {
        request
    }

    /// Chooses among the ways in which the dialect can be written.
    fn write<'a>(&self, to: Outgoing<'a>, _request: &Request, _known: &Knowledge) -> Outgoing<'a> {
        to
    }
}
