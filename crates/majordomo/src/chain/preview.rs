//! Previews what each target would receive, without calling any.

use majordomo_llm::{Change, Dialect, ModelExt, Request, Result};

use super::shaping::{ShapeMode, reduce_request, shape_for};
use super::{Chain, Shaped};
use crate::spec::TargetName;

/// The request that one target would receive.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Preview {
    /// The target.
    pub target: TargetName,
    /// Its dialect, if known.
    pub dialect: Option<Dialect>,
    /// The shaped request, or why the target would be skipped.
    pub shaped: Result<Shaped>,
}

impl Chain {
    /// Previews what each target would receive, in order and regardless of benches. No
    /// target is called and nothing is recorded.
    ///
    /// ```
    /// use majordomo::{Part, Registry, Request};
    /// use majordomo::fake::Fake;
    /// use majordomo::Capabilities;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let blind = Fake::new("blind");
    /// blind.set_capabilities(Capabilities::text_only());
    /// let registry = Registry::empty();
    /// registry.register(blind);
    /// let chain = registry.model("blind/m").unwrap();
    /// let request = Request::user("What is this?").part(Part::image("image/png", vec![1]));
    /// let previews = chain.preview(&request).await;
    /// assert_eq!(previews[0].shaped.as_ref().unwrap_err().message(), "it takes no images");
    /// # }
    /// ```
    pub async fn preview(&self, request: &Request) -> Vec<Preview> {
        let previews = self.previews(request, &[]).await;
        let all_incapable = previews.iter().all(|preview| {
            let refused = preview.shaped.as_ref().err();
            refused.is_some_and(|error| self.config.class_of(error).is_incapable())
        });
        if !all_incapable {
            return previews;
        }
        // As in a walk, a request that no target can take is reduced once.
        match reduce_request(&self.targets, &self.config, request) {
            Some(Shaped { request, changes }) => self.previews(&request, &changes).await,
            None => previews,
        }
    }

    async fn previews(&self, request: &Request, reductions: &[Change]) -> Vec<Preview> {
        let mut previews = Vec::with_capacity(self.targets.len());
        for target in self.targets.iter() {
            let so_far = Shaped {
                request: request.clone(),
                changes: reductions.to_vec(),
            };
            let shaped = shape_for(target, &self.config, so_far, ShapeMode::Preview).await;
            let shaped = shaped.and_then(|mut shaped| {
                let written = target.model().preview(shaped.request.clone())?;
                shaped.changes.extend(written);
                Ok(shaped)
            });
            previews.push(Preview {
                target: target.name().clone(),
                dialect: target.model().dialect(),
                shaped,
            });
        }
        previews
    }
}
