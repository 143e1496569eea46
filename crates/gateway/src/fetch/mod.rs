//! Remote images, fetched safely where a target needs their bytes.
//!
//! A client chooses the address, so nothing about it is trusted. Names are
//! resolved by a resolver that refuses them if any address is not public, and the
//! connection goes to what it found: there is no second look-up to lie to. Each
//! redirect is looked at like the first address. Size, time and type are bounded,
//! the bytes decide the type, and no key or cookie is ever sent. Proxies are not
//! used, since they would resolve names themselves.

mod address;
mod error;
mod fill;
mod guard;
mod link;

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

use crate::config::Fetch;
pub use address::is_public;
pub use error::FetchError;
use guard::GuardedResolver;

/// Images that are fetched at the same time, by all requests together.
const MOST_AT_ONCE: u64 = 16;

/// What has come of an image is charged in such steps.
const STEP: u64 = 64 * 1024;

/// Says whether an address may be connected to.
pub type Allows = fn(IpAddr) -> bool;

/// Fetches images from public addresses, if the configuration allows it.
#[derive(Clone, Debug)]
pub struct Fetcher {
    settings: Fetch,
    transport: Transport,
    allows: Allows,
    /// Only the ports of web servers are connected to.
    web_only: bool,
    turns: FairSemaphore,
}

impl Fetcher {
    /// A fetcher by these settings, which reaches public addresses only.
    pub fn new(settings: Fetch) -> Self {
        Self::reaching(settings, SystemResolver, is_public).web_only()
    }

    /// Connects to the ports 80 and 443 only.
    #[must_use]
    pub fn web_only(mut self) -> Self {
        self.web_only = true;
        self
    }

    /// A fetcher with another resolver and another idea of what may be reached,
    /// for tests and for those who know their network.
    pub fn reaching(settings: Fetch, resolver: impl Resolve, allows: Allows) -> Self {
        let client = Client::default()
            .http_versions(HttpVersions::Http1)
            .proxies(Proxies::Direct)
            .resolver(GuardedResolver::new(resolver, allows));
        Self {
            settings,
            transport: Transport::new(client),
            allows,
            web_only: false,
            turns: FairSemaphore::new(Bounds::new(MOST_AT_ONCE)),
        }
    }

    /// An address that may be fetched, as far as it tells by itself.
    fn permitted(&self, url: &str) -> Result<Uri, FetchError> {
        if !self.settings.enabled {
            return Err(FetchError::Disabled);
        }
        let uri = link::read(url)?;
        self.check(&uri)?;
        Ok(uri)
    }

    /// The image behind an address.
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
            uri = link::follow(&uri, &head)?;
            self.check(&uri)?;
        }
        Err(FetchError::TooManyRedirects {
            limit: self.settings.max_redirects,
        })
    }

    /// A host that is an address itself never meets the resolver.
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
        while let Some(piece) = body.next().await {
            let piece = piece.map_err(|error| FetchError::failed(uri, &error))?;
            if (data.len() + piece.len()) as u64 > limit {
                return Err(too_large());
            }
            data.extend_from_slice(&piece);
            let held = (data.len() as u64).next_multiple_of(STEP);
            charge.reach(held).map_err(FetchError::Exhausted)?;
        }
        Ok(charge.hold(data.freeze()))
    }
}

/// Servers that do not know say so; the bytes decide then.
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
