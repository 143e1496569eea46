//! Fits the images of whole requests, off the async threads; `fit_image` fits each one.
//!
//! One [`Fitter`] serves a process. It bounds how many images are decoded concurrently and
//! caches the results, so that the next attempt, target or request with the same image
//! costs nothing.

mod decode_pool;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use majordomo_codecs::{Chroma, CodecError, Job, Picture, SizeHint, decode, decoded_size};
use majordomo_image_header::Header;
use majordomo_limits::Budget;
use majordomo_llm::{Change, Error, ErrorKind, Image, ImageLimits, Request, Result};
use quick_cache::sync::Cache;
use quick_cache::{OptionsBuilder, Weighter};
use tokio::task::JoinSet;

use crate::bounds::admitted;
use crate::changes::Changes;
use crate::decoded::Decoded;
use crate::decoded_cache::{ContentHash, DecodedCache};
use crate::fit_image::{Fitted, Refit};
use crate::human::human_bytes;
use crate::images::{attached_images, edit_images};
use crate::ladder::needed_chroma;
use crate::plan::{Plan, plan_image};
use crate::terms::{Terms, raw_bytes};
use crate::{Bounds, Format, Problem, sniff};
use decode_pool::DecodePool;

/// Fits the images of requests to the limits of targets.
///
/// Cheap to clone; clones share the pool and the caches.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// use majordomo_llm::{ImageLimits, Request};
/// use majordomo_media::Fitter;
///
/// let fitter = Fitter::default();
/// let request = Request::user("no image at all");
/// let (fitted, changes) = fitter.fit(&request, Some(&ImageLimits::default())).await.unwrap();
/// assert!(fitted.same_prompt(&request) && changes.is_empty());
/// # });
/// ```
#[derive(Clone)]
pub struct Fitter(Arc<FitterInner>);

struct FitterInner {
    bounds: Bounds,
    pool: DecodePool,
    fitted_cache: Cache<(ContentHash, Terms), FitOutcome, FittedWeight>,
    decoded_cache: DecodedCache,
    opened: AtomicU64,
    fitted: AtomicU64,
    decoder: DecodeFn,
}

/// The result of fitting one image; refusals are cached, too.
type FitOutcome = std::result::Result<Fitted, Problem>;

/// Decodes a picture; tests inject faulty decoders.
type DecodeFn =
    fn(&[u8], &Header, SizeHint, Chroma, &Job) -> std::result::Result<Picture, CodecError>;

/// Work done, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Images that were decoded.
    pub opened: u64,
    /// Images that were re-encoded.
    pub fitted: u64,
}

impl Default for Fitter {
    fn default() -> Self {
        Self::new(Bounds::default())
    }
}

impl Fitter {
    /// A fitter with these limits.
    pub fn new(bounds: Bounds) -> Self {
        Self::with_decoder(bounds, decode)
    }

    fn with_decoder(bounds: Bounds, decoder: DecodeFn) -> Self {
        let options = OptionsBuilder::new()
            .estimated_items_capacity(256)
            .weight_capacity(bounds.kept_fitted)
            .shards(1)
            .build()
            .expect("all three options are given");
        let fitted_cache = Cache::with_options(
            options,
            FittedWeight,
            Default::default(),
            Default::default(),
        );
        Self(Arc::new(FitterInner {
            pool: DecodePool::new(&bounds),
            fitted_cache,
            decoded_cache: DecodedCache::new(bounds.kept_open),
            opened: AtomicU64::new(0),
            fitted: AtomicU64::new(0),
            decoder,
            bounds,
        }))
    }

    /// The work done so far.
    pub fn stats(&self) -> Stats {
        Stats {
            opened: self.0.opened.load(Ordering::Relaxed),
            fitted: self.0.fitted.load(Ordering::Relaxed),
        }
    }

    /// Fits every image of a request to one target, and returns the changes.
    ///
    /// `limits` is `None` if the target accepts no images. A request whose images all fit
    /// keeps sharing its prompt. An image that cannot fit is an error of kind
    /// [`ErrorKind::Unsupported`]: the target stays healthy, and the next one may accept it.
    pub async fn fit(
        &self,
        request: &Request,
        limits: Option<&ImageLimits>,
    ) -> Result<(Request, Vec<Change>)> {
        let count = request.prompt().image_count();
        if count == 0 {
            return Ok((request.clone(), Vec::new()));
        }
        let limits = accept(count, limits)?;
        let images = attached_images(request.prompt());
        let terms = Terms::of(limits, count);
        let mut fitted = self.fit_each(&images, |_| &terms).await?;
        if let Some(total) = limits.max_total_bytes {
            let sizes: Vec<u64> = fitted
                .iter()
                .map(|image| limits.counted.of(image.data.len() as u64))
                .collect();
            if sizes.iter().sum::<u64>() > total {
                let each = fair_share(&sizes, &shrinkable(&images), total)
                    .ok_or_else(|| over_total(&sizes, total))?;
                let tighter = terms.within(raw_bytes(limits.counted, each));
                let of = |at: usize| if sizes[at] > each { &tighter } else { &terms };
                fitted = self.fit_each(&images, of).await?;
            }
        }
        Ok(apply(request, &images, fitted))
    }

    /// Fits images concurrently; those that already fit cost only a header check.
    async fn fit_each<'a>(
        &self,
        images: &[(usize, &Image)],
        terms: impl Fn(usize) -> &'a Terms,
    ) -> Result<Vec<Fitted>> {
        let mut work = JoinSet::new();
        let mut fitted: Vec<Option<Fitted>> = vec![None; images.len()];
        for (at, (number, image)) in images.iter().enumerate() {
            let terms = terms(at);
            let planned = plan_image(image, terms);
            match planned.map_err(|problem| problem.into_error(*number))? {
                Plan::Pass { media_type } => {
                    let end = image.data.len();
                    fitted[at] = Some(Fitted::untouched(&image.data, media_type, end));
                }
                Plan::Trim { media_type, end } => {
                    fitted[at] = Some(Fitted::untouched(&image.data, media_type, end));
                }
                Plan::Refit { header, size, .. } => {
                    let inner = Arc::clone(&self.0);
                    let data = bytes::Bytes::clone(&image.data);
                    let terms = terms.clone();
                    let refit = inner.refit(data, header, size, terms);
                    let refit = Budget::carry(Budget::current(), refit);
                    work.spawn(async move { (at, refit.await) });
                }
            }
        }
        while let Some(done) = work.join_next().await {
            let (at, outcome) = done.map_err(|_| interrupted())?;
            fitted[at] = Some(outcome.map_err(|problem| problem.into_error(images[at].0))?);
        }
        Ok(fitted.into_iter().flatten().collect())
    }
}

impl FitterInner {
    /// Fits one image: from the cache, by joining the task that is fitting it, or here.
    async fn refit(
        self: Arc<Self>,
        data: bytes::Bytes,
        header: Header,
        size: (u32, u32),
        terms: Terms,
    ) -> FitOutcome {
        self.bounds.check(&header)?;
        let hash = self.pool.hash(&data).await?;
        let key = (hash, terms.clone());
        let inner = Arc::clone(&self);
        let make = async move {
            let worker = Arc::clone(&inner);
            let stored = Refit::new(&data, &header, size, &terms).stored();
            let needed = admitted(&data, &header, stored, &inner.bounds);
            let work =
                move |job: &Job| worker.fit_blocking(hash, &data, &header, size, &terms, job);
            match inner.pool.run(needed, work).await {
                // These problems depend on the moment, not on the image, so they are never
                // cached.
                Err(problem @ (Problem::Stopped | Problem::Busy)) => Err(problem),
                outcome => Ok(outcome),
            }
        };
        self.fitted_cache.get_or_insert_async(&key, make).await?
    }

    /// On a blocking thread: decodes the picture, unless it is cached, and re-encodes it.
    fn fit_blocking(
        &self,
        hash: ContentHash,
        data: &[u8],
        header: &Header,
        size: (u32, u32),
        terms: &Terms,
        job: &Job,
    ) -> FitOutcome {
        let refit = Refit::new(data, header, size, terms);
        let chroma = needed_chroma(terms);
        let key = (hash, decoded_size(header, refit.stored(), chroma));
        let picture = match self.decoded_cache.get(&key) {
            Some(picture) => picture,
            None => {
                self.opened.fetch_add(1, Ordering::Relaxed);
                let hint = SizeHint::AtLeast(refit.stored());
                let picture = Arc::new((self.decoder)(data, header, hint, chroma, job)?);
                self.decoded_cache.put(key, Arc::clone(&picture));
                picture
            }
        };
        self.fitted.fetch_add(1, Ordering::Relaxed);
        refit.run(Decoded::Shared(&picture), job)
    }
}

/// Weighs a cache entry by its bytes.
#[derive(Clone)]
struct FittedWeight;

impl Weighter<(ContentHash, Terms), FitOutcome> for FittedWeight {
    fn weight(&self, _: &(ContentHash, Terms), outcome: &FitOutcome) -> u64 {
        const ENTRY: u64 = 512;
        ENTRY
            + outcome
                .as_ref()
                .map_or(0, |fitted| fitted.data.len() as u64)
    }
}

/// Checks the number of images against the limits.
fn accept(count: usize, limits: Option<&ImageLimits>) -> Result<&ImageLimits> {
    let images = if count == 1 { "image" } else { "images" };
    let Some(limits) = limits.filter(|limits| limits.max_count != Some(0)) else {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!("the request has {count} {images}, and the target accepts none"),
        ));
    };
    match limits.max_count {
        Some(max) if count > max => Err(Error::new(
            ErrorKind::Unsupported,
            format!("the request has {count} {images}, and the target accepts at most {max}"),
        )),
        _ => Ok(limits),
    }
}

/// Only when the runtime shuts down or a task panics.
fn interrupted() -> Error {
    Error::new(ErrorKind::Unsupported, "image processing was interrupted")
}

/// Whether each image can be re-encoded.
fn shrinkable(images: &[(usize, &Image)]) -> Vec<bool> {
    let opens = |image: &Image| sniff(&image.data).is_some_and(Format::decodes);
    images.iter().map(|(_, image)| opens(image)).collect()
}

/// The largest size per image such that all together have at most `total`; small images
/// leave their share to the large ones (max-min fairness).
fn fair_share(sizes: &[u64], shrinkable: &[bool], total: u64) -> Option<u64> {
    let fixed: u64 = sizes
        .iter()
        .zip(shrinkable)
        .filter(|(_, shrinkable)| !**shrinkable)
        .map(|(size, _)| size)
        .sum();
    let mut left = total.checked_sub(fixed)?;
    let mut sizes: Vec<u64> = sizes
        .iter()
        .zip(shrinkable)
        .filter(|(_, shrinkable)| **shrinkable)
        .map(|(size, _)| *size)
        .collect();
    sizes.sort_unstable();
    let mut waiting = sizes.len() as u64;
    for size in sizes {
        if size > left / waiting {
            return Some(left / waiting);
        }
        left -= size;
        waiting -= 1;
    }
    None
}

fn over_total(sizes: &[u64], total: u64) -> Error {
    let message = format!(
        "the images have {} in total, and the target accepts at most {}",
        human_bytes(sizes.iter().sum()),
        human_bytes(total)
    );
    Error::new(ErrorKind::Unsupported, message)
}

/// Replaces the images in a copy of the request, if any changed.
fn apply(
    request: &Request,
    images: &[(usize, &Image)],
    fitted: Vec<Fitted>,
) -> (Request, Vec<Change>) {
    let mut changes = Changes::default();
    let mut changed = Vec::new();
    for ((number, image), fitted) in images.iter().zip(fitted) {
        match &fitted.conversion {
            Some(conversion) => changes.converted(*number, conversion),
            None if fitted.trimmed > 0 => changes.trimmed(*number, fitted.trimmed),
            None if fitted.media_type != image.media_type => {
                changes.renamed(*number, &image.media_type, &fitted.media_type);
            }
            None => continue,
        }
        changed.push((*number, fitted));
    }
    let mut request = request.clone();
    if !changed.is_empty() {
        let mut changed = changed.into_iter().peekable();
        edit_images(request.edit(), |number, image| {
            if let Some((_, fitted)) = changed.next_if(|(next, _)| *next == number) {
                image.data = fitted.data.into();
                image.media_type = fitted.media_type;
            }
        });
    }
    (request, changes.into_vec())
}
