//! Handles images given by URL.
//!
//! They are passed on if the target's dialect supports URLs. Otherwise they are fetched
//! if the operator allows it, or the target is skipped. They are never dropped.

use majordomo::chain::{Shape, Shaped, TargetView};
use majordomo::llm::{Change, Dialect, ImageRef, Prompt};
use majordomo::{BoxFuture, Error, ErrorKind, Part, Request, Result};
use majordomo_wire::Protocol;

use crate::fetch::{FetchError, Fetcher};

/// Fetches images for targets that cannot.
pub(crate) struct RemoteImages(pub(crate) Fetcher);

/// Dialects whose servers fetch images themselves.
const WITH_ADDRESSES: [Protocol; 3] = [Protocol::Chat, Protocol::Responses, Protocol::Messages];

/// Stands in for an image that a preview does not fetch: a PNG of one pixel.
const STAND_IN: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0:~\x9bU\0\0\0\nIDATx\x9cc`\0\0\0\x02\0\x01H\xaf\xa4q\0\0\0\0IEND\xaeB`\x82";

impl Shape for RemoteImages {
    fn concerns(&self, request: &Request, target: TargetView<'_>) -> bool {
        let Some(dialect) = target.dialect else {
            return false;
        };
        needs_bytes(request, dialect) && remote(request.prompt()) > 0
    }

    fn shape<'a>(
        &'a self,
        request: Request,
        _target: TargetView<'a>,
    ) -> BoxFuture<'a, Result<Shaped>> {
        Box::pin(async move {
            let count = remote(request.prompt());
            let request = self.0.fetch_all(request).await.map_err(unsupported)?;
            Ok(fetched(request, count))
        })
    }

    /// Rejects URLs that can be rejected without network access; other URLs may still fail.
    fn preview<'a>(
        &'a self,
        mut request: Request,
        _target: TargetView<'a>,
    ) -> BoxFuture<'a, Result<Shaped>> {
        let permitted = self.0.permits_all(&request).map_err(unsupported);
        let count = remote(request.prompt());
        for part in request.edit().images_mut() {
            if let Part::RemoteImage(_) = part {
                *part = Part::image("image/png", STAND_IN);
            }
        }
        let shaped = permitted.map(|()| fetched(request, count));
        Box::pin(std::future::ready(shaped))
    }
}

fn fetched(request: Request, count: usize) -> Shaped {
    Shaped {
        request,
        changes: vec![Change::new("image", "fetched").times(count)],
    }
}

fn unsupported(why: FetchError) -> Error {
    Error::new(ErrorKind::Unsupported, why.to_string())
}

/// A dialect's references to its own files stay valid within that dialect.
fn needs_bytes(request: &Request, dialect: &Dialect) -> bool {
    let own = request
        .source()
        .is_some_and(|source| source.dialect() == dialect);
    !own && WITH_ADDRESSES
        .iter()
        .all(|known| known.dialect() != *dialect)
}

fn remote(prompt: &Prompt) -> usize {
    let images = prompt.images();
    images
        .filter(|image| matches!(image, ImageRef::Remote(_)))
        .count()
}
