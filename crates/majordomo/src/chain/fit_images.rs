//! Images made to fit each target, at each attempt.

use majordomo_llm::{BoxFuture, Request, Result};
use majordomo_media::{Fitter, omit_oldest};

use super::{Shape, Shaped, TargetView};

/// The shape that every chain has unless its configuration says otherwise: an
/// image that fits goes out untouched, one that does not is downscaled, turned or
/// converted, and a target that cannot be suited is passed over.
///
/// Clones and chains share one pool of threads and one memory of fitted images.
#[derive(Clone, Default)]
pub struct FitImages(Fitter);

impl FitImages {
    /// Fits with this fitter.
    pub fn new(fitter: Fitter) -> Self {
        Self(fitter)
    }
}

impl Shape for FitImages {
    fn concerns(&self, request: &Request, target: TargetView<'_>) -> bool {
        target.capabilities.takes_images() && request.image_count() > 0
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

    /// When no target takes as many images, the oldest make room.
    fn reduce(&self, request: &Request, targets: &[TargetView<'_>]) -> Option<Shaped> {
        let takers = targets
            .iter()
            .filter_map(|target| target.capabilities.images.as_ref());
        let counts: Option<Vec<usize>> = takers.map(|limits| limits.max_count).collect();
        let most = counts?.into_iter().max().filter(|most| *most > 0)?;
        if request.image_count() <= most {
            return None;
        }
        let (request, changes) = omit_oldest(request, most);
        Some(Shaped { request, changes })
    }
}
