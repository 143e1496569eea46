//! Fits images to each target, at each attempt.

use majordomo_llm::{BoxFuture, Request, Result};
use majordomo_media::{Fitter, omit_oldest};

use super::{Shape, Shaped, TargetView};

/// The default shape of every chain: an image that fits is sent untouched, one that does not
/// is downscaled, rotated or converted, and a target whose limits cannot be met is skipped.
///
/// Clones and chains share one thread pool and one cache of fitted images.
#[derive(Clone, Default)]
pub struct FitImages(Fitter);

impl FitImages {
    /// Uses this fitter.
    pub fn new(fitter: Fitter) -> Self {
        Self(fitter)
    }
}

impl Shape for FitImages {
    fn concerns(&self, request: &Request, target: TargetView<'_>) -> bool {
        target.capabilities.takes_images() && request.prompt().image_count() > 0
    }

    fn shape<'a>(
        &'a self,
        request: Request,
        target: TargetView<'a>,
    ) -> BoxFuture<'a, Result<Shaped>> {
        Box::pin(async move {
            let limits = target.capabilities.images.as_ref();
            let (request, changes) = self.0.fit(&request, limits).await?;
            Ok(Shaped { request, changes })
        })
    }

    /// Omits the oldest images if no target takes that many.
    fn reduce(&self, request: &Request, targets: &[TargetView<'_>]) -> Option<Shaped> {
        let takers = targets
            .iter()
            .filter_map(|target| target.capabilities.images.as_ref());
        let counts: Option<Vec<usize>> = takers.map(|limits| limits.max_count).collect();
        let most = counts?.into_iter().max().filter(|most| *most > 0)?;
        if request.prompt().image_count() <= most {
            return None;
        }
        let (request, changes) = omit_oldest(request, most);
        Some(Shaped { request, changes })
    }
}
