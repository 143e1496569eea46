//! Replaces the remote images of a request with fetched ones.

use std::collections::{HashMap, HashSet};

use majordomo::{Image, Part, Request};
use majordomo_limits::Budget;
use tokio::task::JoinSet;

use super::{FetchError, Fetcher};

/// Maximum number of URLs per request, so that the gateway cannot be used for attacks.
const MAX_URLS: usize = 20;
/// How many of them are fetched concurrently.
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
        for message in &mut request.edit().messages {
            replace(&mut message.parts, &images);
        }
        Ok(request)
    }
}

/// The URLs of a request's images, each once.
fn image_urls(request: &Request) -> Result<Vec<String>, FetchError> {
    let mut found = ImageUrls::default();
    for message in &request.prompt().messages {
        found.collect(&message.parts)?;
    }
    Ok(found.urls.into_iter().map(str::to_owned).collect())
}

/// URLs in order of first occurrence.
#[derive(Default)]
struct ImageUrls<'r> {
    urls: Vec<&'r str>,
    seen: HashSet<&'r str>,
}

impl<'r> ImageUrls<'r> {
    /// Fails at the first URL beyond the limit.
    fn collect(&mut self, parts: &'r [Part]) -> Result<(), FetchError> {
        for part in parts {
            match part {
                Part::RemoteImage(remote) if self.seen.insert(&remote.url) => {
                    if self.urls.len() == MAX_URLS {
                        return Err(FetchError::TooMany { limit: MAX_URLS });
                    }
                    self.urls.push(&remote.url);
                }
                Part::ToolResult(result) => self.collect(&result.parts)?,
                _ => {}
            }
        }
        Ok(())
    }
}

fn replace(parts: &mut [Part], images: &HashMap<String, Image>) {
    for part in parts {
        match part {
            Part::RemoteImage(remote) => {
                if let Some(image) = images.get(&remote.url) {
                    *part = Part::Image(image.clone());
                }
            }
            Part::ToolResult(result) => replace(&mut result.parts, images),
            _ => {}
        }
    }
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
