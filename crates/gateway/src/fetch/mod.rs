//! Fetches remote images safely, for targets that need their bytes.
//!
//! The client chooses the URL, so it is not trusted. The resolver rejects a name if any
//! of its addresses is not public, and the connection goes to the addresses it returned:
//! there is no second lookup to manipulate (DNS rebinding). Each redirect is checked like
//! the first URL. Size and time are limited, the bytes determine the type, and no key or
//! cookie is sent. Proxies are not used, since they would resolve names themselves.
//!
//! May use `config` for its settings.

mod error;
mod fetch_all;
mod public_address;
mod resolver;
mod url;

use std::net::IpAddr;

use bytes::{Bytes, BytesMut};
use http::{StatusCode, Uri};
use majordomo::Image;
use majordomo::media::sniff;
use majordomo::transport::{
    ByteStream, HttpVersions, Proxies, Resolve, ResponseHead, SystemResolver, Timeouts, Transport,
    TransportConfig as Client, TransportRequest,
};
use majordomo_limits::{Bounds, Charge, FairSemaphore, Flow};

use crate::config::FetchSettings;
pub use error::FetchError;
pub use public_address::is_public;
use resolver::GuardedResolver;

/// Concurrent fetches of all requests together.
const MAX_CONCURRENT: u64 = 16;

/// Granularity of charges for received bytes.
const CHARGE_STEP: u64 = 64 * 1024;

/// Decides whether an address may be connected to.
pub type AddressPolicy = fn(IpAddr) -> bool;

/// Fetches images from public addresses, if enabled.
#[derive(Clone, Debug)]
pub struct Fetcher {
    settings: FetchSettings,
    transport: Transport,
    allows: AddressPolicy,
    /// Whether only ports 80 and 443 are allowed.
    web_only: bool,
    turns: FairSemaphore,
}

impl Fetcher {
    /// Creates a fetcher that reaches public addresses only.
    pub fn new(settings: FetchSettings) -> Self {
        Self::reaching(settings, SystemResolver, is_public).web_only()
    }

    /// Restricts ports to 80 and 443.
    #[must_use]
    pub fn web_only(mut self) -> Self {
        self.web_only = true;
        self
    }

    /// Creates a fetcher with another resolver and another address policy, for tests and
    /// special networks.
    pub fn reaching(
        settings: FetchSettings,
        resolver: impl Resolve,
        allows: AddressPolicy,
    ) -> Self {
        let client = Client::default()
            .http_versions(HttpVersions::Http1)
            .proxies(Proxies::Direct)
            .resolver(GuardedResolver::new(resolver, allows));
        Self {
            settings,
            transport: Transport::new(client),
            allows,
            web_only: false,
            turns: FairSemaphore::new(Bounds::new(MAX_CONCURRENT)),
        }
    }

    /// Checks a URL without network access.
    fn permitted(&self, url: &str) -> Result<Uri, FetchError> {
        if !self.settings.enabled {
            return Err(FetchError::Disabled);
        }
        let uri = url::parse_image_url(url)?;
        self.check(&uri)?;
        Ok(uri)
    }

    /// Fetches an image.
    pub async fn fetch(&self, url: &str) -> Result<Image, FetchError> {
        let uri = self.permitted(url)?;
        let fetching = async {
            let _turn = self.turns.acquire(Flow::current(), 1).await;
            self.follow(uri).await
        };
        let done = tokio::time::timeout(self.settings.timeout, fetching).await;
        done.unwrap_or(Err(FetchError::TooSlow {
            limit: self.settings.timeout,
        }))
    }

    async fn follow(&self, mut uri: Uri) -> Result<Image, FetchError> {
        for _ in 0..=self.settings.max_redirects {
            let (head, body) = self.visit(&uri).await?;
            if !head.status().is_redirection() {
                return self.take(&uri, &head, body).await;
            }
            uri = url::resolve_redirect(&uri, &head)?;
            self.check(&uri)?;
        }
        Err(FetchError::TooManyRedirects {
            limit: self.settings.max_redirects,
        })
    }

    /// A host that is an IP address bypasses the resolver.
    fn check(&self, uri: &Uri) -> Result<(), FetchError> {
        let host = uri.host().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = bare.parse::<IpAddr>()
            && !(self.allows)(address)
        {
            let host = host.to_owned();
            return Err(FetchError::Forbidden { host });
        }
        match uri.port_u16() {
            Some(port) if self.web_only && ![80, 443].contains(&port) => Err(FetchError::Port),
            _ => Ok(()),
        }
    }

    async fn visit(&self, uri: &Uri) -> Result<(ResponseHead, ByteStream), FetchError> {
        let request = TransportRequest::get(uri.clone())
            .header("accept", "image/*")
            .and_then(|request| request.header("accept-encoding", "identity"))
            .and_then(|request| {
                request.header(
                    "user-agent",
                    concat!("majordomo/", env!("CARGO_PKG_VERSION")),
                )
            })
            .map_err(|error| FetchError::failed(uri, &error))?
            .timeouts(Timeouts::default());
        let visited = self.transport.send_unpooled(request).await;
        visited.map_err(|error| FetchError::failed(uri, &error))
    }

    async fn take(
        &self,
        uri: &Uri,
        head: &ResponseHead,
        body: ByteStream,
    ) -> Result<Image, FetchError> {
        let host = uri.host().unwrap_or_default().to_owned();
        if head.status() != StatusCode::OK {
            return Err(FetchError::Status {
                host,
                status: head.status().as_u16(),
            });
        }
        if let Some(kind) = head
            .header("content-type")
            .filter(|kind| !may_be_image(kind))
        {
            let kind = kind.chars().take(60).collect();
            return Err(FetchError::NoImage { host, kind });
        }
        if head
            .header("content-encoding")
            .is_some_and(|name| name != "identity")
        {
            return Err(FetchError::NoImage {
                host,
                kind: "compressed".to_owned(),
            });
        }
        let data = self.collect(uri, head, body).await?;
        match sniff(&data).filter(|format| format.decodes()) {
            Some(format) => Ok(Image::new(format.media_type(), data)),
            None => Err(FetchError::NoImage {
                host,
                kind: "something else".to_owned(),
            }),
        }
    }

    async fn collect(
        &self,
        uri: &Uri,
        head: &ResponseHead,
        mut body: ByteStream,
    ) -> Result<Bytes, FetchError> {
        let limit = self.settings.max_bytes;
        let too_large = || FetchError::TooLarge { limit };
        let announced = head
            .header("content-length")
            .and_then(|size| size.parse::<u64>().ok());
        if announced.is_some_and(|size| size > limit) {
            return Err(too_large());
        }
        let mut charge = Charge::begin();
        let mut data = BytesMut::new();
        while let Some(chunk) = body.next().await {
            let chunk = chunk.map_err(|error| FetchError::failed(uri, &error))?;
            if (data.len() + chunk.len()) as u64 > limit {
                return Err(too_large());
            }
            data.extend_from_slice(&chunk);
            let held = (data.len() as u64).next_multiple_of(CHARGE_STEP);
            charge.reach(held).map_err(FetchError::Exhausted)?;
        }
        Ok(charge.hold(data.freeze()))
    }
}

/// For a generic type, the bytes decide.
fn may_be_image(content_type: &str) -> bool {
    let essence = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    essence.starts_with("image/")
        || ["application/octet-stream", "binary/octet-stream", ""].contains(&essence.as_str())
}
