//! Replaces the remote images of a request with fetched ones.

use std::collections::{HashMap, HashSet};

use majordomo::llm::ImageRef;
use majordomo::{Part, Request};
use majordomo_limits::Budget;
use tokio::task::JoinSet;

use super::{FetchError, Fetcher};

/// Maximum number of URLs per request, so that the gateway cannot be used for attacks.
const MAX_URLS: usize = 20;
/// Maximum concurrent fetches of one request.
const MAX_CONCURRENT: usize = 4;

impl Fetcher {
    /// Checks whether a request's images may be fetched, without network access.
    pub(crate) fn permits_all(&self, request: &Request) -> Result<(), FetchError> {
        let mut urls = image_urls(request)?.into_iter();
        urls.try_for_each(|url| self.permitted(&url).map(drop))
    }

    /// Fetches every remote image of a request, each URL once.
    pub async fn fetch_all(&self, mut request: Request) -> Result<Request, FetchError> {
        let urls = image_urls(&request)?;
        if urls.is_empty() {
            return Ok(request);
        }
        let mut urls = urls.into_iter();
        let mut fetching = JoinSet::new();
        let mut images = HashMap::new();
        loop {
            while fetching.len() < MAX_CONCURRENT
                && let Some(url) = urls.next()
            {
                let fetcher = self.clone();
                let work = async move {
                    let image = fetcher.fetch(&url).await?;
                    Ok::<_, FetchError>((url, image))
                };
                fetching.spawn(Budget::carry(Budget::current(), work));
            }
            let Some(done) = fetching.join_next().await else {
                break;
            };
            // A task only vanishes when its runtime shuts down.
            let (url, image) = done.map_err(|_| FetchError::Stopped)??;
            images.insert(url, image);
        }
        for part in request.edit().images_mut() {
            if let Part::RemoteImage(remote) = part
                && let Some(image) = images.get(&remote.url)
            {
                *part = Part::Image(image.clone());
            }
        }
        Ok(request)
    }
}

/// The URLs of a request's images, each once, in order of first occurrence. Fails at the
/// first one beyond the limit.
fn image_urls(request: &Request) -> Result<Vec<String>, FetchError> {
    let mut urls = Vec::new();
    let mut seen = HashSet::new();
    for image in request.prompt().images() {
        if let ImageRef::Remote(remote) = image
            && seen.insert(&remote.url)
        {
            if urls.len() == MAX_URLS {
                return Err(FetchError::TooMany { limit: MAX_URLS });
            }
            urls.push(remote.url.clone());
        }
    }
    Ok(urls)
}

#[cfg(test)]
mod tests {
    use majordomo::Message;
    use majordomo::llm::RemoteImage;

    use super::*;

    fn request(urls: impl IntoIterator<Item = usize>) -> Request {
        let image = |n: usize| {
            let url = format!("https://pictures.example/{n}");
            Message::user(Part::RemoteImage(RemoteImage { url, native: None }))
        };
        Request::from(urls.into_iter().map(image).collect::<Vec<_>>())
    }

    #[test]
    fn each_url_is_collected_once_in_order_of_first_occurrence() {
        let found = image_urls(&request([3, 1, 3, 2, 1])).unwrap();
        let numbers: Vec<_> = found
            .iter()
            .filter_map(|url| url.rsplit('/').next())
            .collect();
        assert_eq!(numbers, ["3", "1", "2"]);
    }

    #[test]
    fn many_images_may_share_a_few_urls() {
        let many = (0..10_000).map(|n| n % MAX_URLS);
        assert_eq!(image_urls(&request(many)).unwrap().len(), MAX_URLS);
        let one_more = image_urls(&request(0..=MAX_URLS)).unwrap_err();
        assert!(matches!(one_more, FetchError::TooMany { limit: MAX_URLS }));
    }
}
