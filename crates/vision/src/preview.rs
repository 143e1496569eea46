//! Dry runs of the engine.

use majordomo::llm::Change;
use majordomo::{Chain, Request};

use super::UNAVAILABLE;
use super::engine::Vision;
use super::image_slots;
use super::outcome::{self, ImageDisposition};
use super::plan::{DescriptionJob, DescriptionPlan, Planner};
use super::scope::Scope;

/// Why a request that is only counted has images without a description.
const NOT_CALLED: &str = "describers are called only to generate";

impl Vision {
    /// Predicts [`describe`](Self::describe), without calling a describer. The request is the
    /// one that its target would get, except that the failure marker replaces images that are
    /// not described yet.
    pub async fn preview(
        &self,
        request: Request,
        describers: Option<&Chain>,
        scope: &Scope,
    ) -> (Request, Vec<Change>) {
        let mut request = request;
        let planner = Planner::new(&self.config, request.prompt(), describers, scope);
        let plan = DescriptionPlan::of(planner, &self.cache).await;
        let (texts, images) = plan.filled(|_, job| self.expected(job, scope));
        if !texts.is_empty() {
            image_slots::replace(request.edit(), texts);
        }
        (request, outcome::changes(&images, "describer not called"))
    }

    fn expected(&self, job: &DescriptionJob, scope: &Scope) -> (String, ImageDisposition) {
        // A past request has what it used.
        let used = scope.result(&job.key).and_then(|(result, _)| result.ok());
        match used.or_else(|| self.cache.get(&job.key)) {
            Some(known) => (known.to_string(), ImageDisposition::FromCache),
            None if job.may_call => {
                let disposition = match scope.is_counted() {
                    true => ImageDisposition::Undescribed(NOT_CALLED.to_owned()),
                    false => ImageDisposition::Described,
                };
                (UNAVAILABLE.to_owned(), disposition)
            }
            None => {
                let why = format!(
                    "only {} images are described per request",
                    self.config.max_images
                );
                (UNAVAILABLE.to_owned(), ImageDisposition::Undescribed(why))
            }
        }
    }
}
