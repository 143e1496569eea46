//! What is a provider's own.

use ::http::HeaderMap;
use majordomo_llm::{Capabilities, Request, Result};
use majordomo_wire::{Outgoing, Protocol};
use secrecy::SecretString;

use crate::transport::{Credential, Timeouts};

/// Everything in which one provider differs from the next.
pub(crate) trait Recipe: Send + Sync {
    /// The dialect that it speaks.
    fn protocol(&self) -> Protocol;

    /// Where it is, unless the settings say otherwise; none if only they can know.
    fn base_url(&self) -> Option<String>;

    /// The path of a call, put behind the base URL.
    fn path(&self, model: &str, stream: bool) -> String;

    /// The path of the list of models.
    fn models_path(&self) -> &'static str;

    /// The variables that hold its key, in the order in which they are looked
    /// at; none means that it needs no key.
    fn key_variables(&self) -> &'static [&'static str];

    /// The header that carries the key.
    fn credential(&self, key: &SecretString) -> Result<Credential>;

    /// Headers beside the key.
    fn headers(&self) -> HeaderMap {
        HeaderMap::new()
    }

    /// What a model takes, as far as it is known without asking.
    fn capabilities(&self, model: &str) -> Capabilities;

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
    fn write<'a>(&self, to: Outgoing<'a>, _request: &Request, _can: &Capabilities) -> Outgoing<'a> {
        to
    }
}
