//! Errors of fetching an image, with messages for the client.

use std::time::Duration;

use http::Uri;
use majordomo::Error;

/// Why an image was not fetched. Only the host of its URL is mentioned: paths and queries
/// may contain keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// Fetching is disabled.
    #[error(
        "the image is given as a URL, but the target needs its bytes; send the bytes, or set \
         `enabled = true` under [fetch] in the gateway's configuration"
    )]
    Disabled,
    /// The URL is invalid.
    #[error(
        "the image's URL must begin with http:// or https:// and have a host and no credentials"
    )]
    BadAddress,
    /// The address is not public.
    #[error("the image is not fetched from {host}: its address is not public")]
    Forbidden {
        /// The host.
        host: String,
    },
    /// The port is not 80 or 443.
    #[error("images are fetched only from ports 80 and 443")]
    Port,
    /// The request contains too many URLs.
    #[error("the request contains more than {limit} image URLs; send the bytes instead")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// The connection failed or was interrupted.
    #[error("the image cannot be fetched from {host}: {reason}")]
    Failed {
        /// The host.
        host: String,
        /// The cause.
        reason: String,
    },
    /// The status was not 200.
    #[error("the image cannot be fetched: {host} responded with status {status}")]
    Status {
        /// The host.
        host: String,
        /// The status.
        status: u16,
    },
    /// The response is not a supported image.
    #[error("the response of {host} is not JPEG, PNG, GIF or WebP but {kind}")]
    NoImage {
        /// The host.
        host: String,
        /// Its actual type.
        kind: String,
    },
    /// The byte budget is exhausted.
    #[error("not enough memory for the image: {0}")]
    Exhausted(#[from] majordomo_limits::BudgetExhausted),
    /// The image is too large.
    #[error("the image has more than {limit} bytes; `max_bytes` under [fetch] is the limit")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// The timeout expired.
    #[error(
        "the image did not arrive within {}; `timeout` under [fetch] is the limit",
        humantime::format_duration(*limit)
    )]
    TooSlow {
        /// The limit.
        limit: Duration,
    },
    /// There were too many redirects.
    #[error("the image's URL redirects more than {limit} times")]
    TooManyRedirects {
        /// The limit.
        limit: u32,
    },
    /// An `https` URL redirects to `http`.
    #[error("the image's https URL redirects to http, which is not followed")]
    Downgrade,
    /// The gateway is shutting down.
    #[error("the image was not fetched: the gateway is stopping")]
    Stopped,
}

impl FetchError {
    pub(super) fn failed(uri: &Uri, error: &Error) -> Self {
        let host = uri.host().unwrap_or_default().to_owned();
        if super::resolver::is_rejection(error) {
            return Self::Forbidden { host };
        }
        Self::Failed {
            host,
            reason: error.reason(),
        }
    }
}
