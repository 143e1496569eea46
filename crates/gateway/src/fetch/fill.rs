//! Fetched images in the place of their addresses.

use majordomo::{Image, Part, Request};
use tokio::task::JoinSet;

use super::{FetchError, Fetcher};

/// The most addresses of one request: a gateway must not be turned on others.
const MOST: usize = 20;
/// So many of them at the same time.
const AT_ONCE: usize = 4;

impl Fetcher {
    /// Whether a request's images may be fetched, as far as can be known without
    /// asking anybody.
    pub(crate) fn permits_all(&self, request: &Request) -> Result<(), FetchError> {
        let mut urls = addresses(request)?.into_iter();
        urls.try_for_each(|url| self.permitted(&url).map(drop))
    }

    /// The request with every remote image in it fetched, each address once.
    pub async fn fetch_all(&self, mut request: Request) -> Result<Request, FetchError> {
        let urls = addresses(&request)?;
        if urls.is_empty() {
            return Ok(request);
        }
        let mut urls = urls.into_iter();
        let mut fetching = JoinSet::new();
        let mut images = Vec::new();
        loop {
            while fetching.len() < AT_ONCE
                && let Some(url) = urls.next()
            {
                let fetcher = self.clone();
                fetching.spawn(async move {
                    let image = fetcher.fetch(&url).await?;
                    Ok::<_, FetchError>((url, image))
                });
            }
            let Some(done) = fetching.join_next().await else {
                break;
            };
            // A task that is gone can only have been stopped with its runtime.
            images.push(done.map_err(|_| FetchError::Stopped)??);
        }
        for message in &mut request.edit().messages {
            replace(&mut message.parts, &images);
        }
        Ok(request)
    }
}

/// The addresses of a request's images, each once.
fn addresses(request: &Request) -> Result<Vec<String>, FetchError> {
    let mut urls = Vec::new();
    for message in &request.messages {
        collect(&message.parts, &mut urls);
    }
    if urls.len() > MOST {
        return Err(FetchError::TooMany { limit: MOST });
    }
    Ok(urls)
}

fn collect(parts: &[Part], urls: &mut Vec<String>) {
    for part in parts {
        match part {
            Part::RemoteImage(remote) if !urls.contains(&remote.url) => {
                urls.push(remote.url.clone())
            }
            Part::ToolResult(result) => collect(&result.parts, urls),
            _ => {}
        }
    }
}

fn replace(parts: &mut [Part], images: &[(String, Image)]) {
    for part in parts {
        match part {
            Part::RemoteImage(remote) => {
                if let Some((_, image)) = images.iter().find(|(url, _)| *url == remote.url) {
                    *part = Part::Image(image.clone());
                }
            }
            Part::ToolResult(result) => replace(&mut result.parts, images),
            _ => {}
        }
    }
}
