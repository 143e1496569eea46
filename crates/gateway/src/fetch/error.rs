//! Why an image was not fetched, in a sentence for the client.

use std::time::Duration;

use http::Uri;
use majordomo::Error;

/// Why an image was not fetched. Of its address only the host is told: paths and
/// queries may hold keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The configuration does not allow it.
    #[error(
        "the image is given by its address and the target needs its bytes; send the bytes, \
         or set `enabled = true` under [fetch] in the gateway's configuration"
    )]
    Disabled,
    /// The address cannot be used.
    #[error(
        "the image's address must begin with http:// or https:// and name a host, without a password"
    )]
    BadAddress,
    /// The address is not public.
    #[error("the image is not fetched from {host}: its address is not a public one")]
    Forbidden {
        /// The host.
        host: String,
    },
    /// The port is no web server's.
    #[error("the image's address names a port; images are fetched from the ports 80 and 443 only")]
    Port,
    /// The request holds too many addresses.
    #[error("the request holds more than {limit} images by their address; send their bytes")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// The server cannot be reached, or broke off.
    #[error("the image cannot be fetched from {host}: {reason}")]
    Failed {
        /// The host.
        host: String,
        /// What happened.
        reason: String,
    },
    /// The server has no such image.
    #[error("the image cannot be fetched: {host} answered with the status {status}")]
    Status {
        /// The host.
        host: String,
        /// The status.
        status: u16,
    },
    /// What came is no image that is known here.
    #[error("what {host} sent is no JPEG, PNG, GIF or WebP but {kind}")]
    NoImage {
        /// The host.
        host: String,
        /// What it is.
        kind: String,
    },
    /// The gateway holds as many bytes as it may.
    #[error("there is no room for the image: {0}")]
    Exhausted(#[from] majordomo_limits::BudgetExhausted),
    /// The image is too large.
    #[error("the image has more than {limit} bytes; `max_bytes` under [fetch] is the limit")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// The server is too slow.
    #[error("the image did not come within {}; `timeout` under [fetch] is the limit", humantime::format_duration(*limit))]
    TooSlow {
        /// The limit.
        limit: Duration,
    },
    /// The server sends us around.
    #[error("the image's address redirects more than {limit} times")]
    TooManyRedirects {
        /// The limit.
        limit: u32,
    },
    /// A secure address leads to an insecure one.
    #[error("the image's https address redirects to a plain http one, which is not followed")]
    Downgrade,
    /// The gateway is stopping.
    #[error("the image was not fetched: the gateway is stopping")]
    Stopped,
}

impl FetchError {
    pub(super) fn failed(uri: &Uri, error: &Error) -> Self {
        let host = uri.host().unwrap_or_default().to_owned();
        if super::guard::is_refusal(error) {
            return Self::Forbidden { host };
        }
        Self::Failed {
            host,
            reason: error.reason(),
        }
    }
}
