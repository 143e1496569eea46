//! One HTTP transport for every provider: pooled, timed, bounded.
//!
//! It knows nothing of dialects. It sends bytes, follows no redirect, retries
//! nothing, and turns every failure into a [`majordomo_llm::Error`] that says
//! which host did what. Dropping a call or a stream closes the connection.
//!
//! ```no_run
//! use http::Uri;
//! use majordomo_providers::transport::{Config, Outgoing, Reply, Transport};
//!
//! # async fn example() -> majordomo_llm::Result<()> {
//! let transport = Transport::new(Config::default());
//! let request = Outgoing::get(Uri::from_static("http://localhost:11434/api/tags"));
//! match transport.whole(request).await? {
//!     Reply::Accepted(_, body) => println!("{} bytes", body.len()),
//!     Reply::Refused(head, body) => println!("{}: {body:?}", head.status()),
//! }
//! # Ok(()) }
//! ```

mod body;
mod config;
mod dial;
mod exchange;
mod fault;
mod outgoing;
mod pool;
mod reply;
mod timeouts;
mod timers;
mod upload;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::CONTENT_ENCODING;
use majordomo_llm::Result;

pub use body::ByteStream;
pub use config::{Config, Protocol, Proxies};
pub use dial::{Resolve, SystemResolver};
pub use outgoing::{Credential, Outgoing};
pub use reply::{Head, Reply};
pub use timeouts::Timeouts;

use dial::Dialer;
use exchange::exchange;
use pool::{Place, Pool};
use timers::Kind;

/// What is kept of an error's body, and how long it may take to come.
const LARGEST_EXPLANATION: usize = 64 * 1024;
const LONGEST_EXPLANATION: Duration = Duration::from_secs(10);

/// The client that all providers share. Clones share the connections.
#[derive(Clone)]
pub struct Transport(Arc<Inner>);

struct Inner {
    dialer: Dialer,
    pool: Pool,
    largest_answer: usize,
    wall_clock: fn() -> SystemTime,
}

impl Transport {
    /// A transport without connections. Roots and names are looked up when the
    /// first request needs them, so this cannot fail.
    pub fn new(config: Config) -> Self {
        Self(Arc::new(Inner {
            dialer: Dialer::new(&config),
            pool: Pool::new(&config),
            largest_answer: config.largest_answer,
            wall_clock: config.wall_clock,
        }))
    }

    /// The wall clock, for dates in answers.
    pub fn now(&self) -> SystemTime {
        (self.0.wall_clock)()
    }

    /// Sends a request and gives the whole answer.
    pub async fn whole(&self, request: Outgoing) -> Result<Reply<Bytes>> {
        let place = self.0.pool.place(&request.uri)?;
        let (head, body) = match self.open(&place, request, Kind::Whole).await? {
            Reply::Accepted(head, body) => (head, body),
            Reply::Refused(head, explanation) => return Ok(Reply::Refused(head, explanation)),
        };
        let most = self.0.largest_answer;
        let collected = if body.announced().is_some_and(|size| size > most as u64) {
            Ok(None)
        } else {
            body.collect(most).await
        };
        match collected {
            Ok(Some(body)) => Ok(Reply::Accepted(head, body)),
            Ok(None) => {
                let what = format!("sent an answer of more than {most} bytes");
                Err(head.describe(fault::bad_response(&place.name, what)))
            }
            Err(error) => Err(head.describe(error)),
        }
    }

    /// Sends a request and gives the answer as it comes.
    pub async fn stream(&self, request: Outgoing) -> Result<Reply<ByteStream>> {
        let place = self.0.pool.place(&request.uri)?;
        self.open(&place, request, Kind::Stream).await
    }

    /// Sends a request to an address that somebody else chose, and gives what
    /// comes back unjudged: redirects and errors, too. No connection is kept.
    pub async fn visit(&self, request: Outgoing) -> Result<(Head, ByteStream)> {
        let place = self.0.pool.passing(&request.uri)?;
        let response = exchange(&self.0.dialer, place, request, Kind::Stream).await?;
        let (parts, body) = response.into_parts();
        Ok((Head::new(parts, self.0.wall_clock), body))
    }

    async fn open(
        &self,
        place: &Arc<Place>,
        request: Outgoing,
        kind: Kind,
    ) -> Result<Reply<ByteStream>> {
        let response = exchange(&self.0.dialer, Arc::clone(place), request, kind).await?;
        let (parts, body) = response.into_parts();
        let head = Head::new(parts, self.0.wall_clock);
        let status = head.status();
        if status.is_client_error() || status.is_server_error() || status.as_u16() >= 600 {
            // What cannot be read is left out: the status says enough.
            let explanation = match encoding(&head) {
                Some(_) => Bytes::new(),
                None => {
                    body.explanation(LARGEST_EXPLANATION, LONGEST_EXPLANATION)
                        .await
                }
            };
            return Ok(Reply::Refused(head, explanation));
        }
        match unusable(&head) {
            None => Ok(Reply::Accepted(head, body)),
            Some(what) => Err(head.explain(fault::bad_response(&place.name, what))),
        }
    }
}

/// Why an answer that is no error is no answer either.
fn unusable(head: &Head) -> Option<String> {
    let status = head.status();
    if status.is_redirection() {
        return Some(format!(
            "wants to redirect us ({}), which is not followed; check the base URL",
            status.as_u16()
        ));
    }
    if !status.is_success() || matches!(status.as_u16(), 204 | 205) {
        return Some(format!(
            "sent no answer, only the status {}",
            status.as_u16()
        ));
    }
    let encoding = encoding(head)?;
    Some(format!(
        "compressed its answer ({encoding}) although asked not to"
    ))
}

/// Anything but plain bytes. Nothing is decompressed here, so no bomb goes off.
fn encoding(head: &Head) -> Option<&str> {
    let encoding = head.headers().get(CONTENT_ENCODING)?;
    let name = encoding.to_str().unwrap_or("unreadable").trim();
    (!name.is_empty() && !name.eq_ignore_ascii_case("identity")).then_some(name)
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport").finish_non_exhaustive()
    }
}
