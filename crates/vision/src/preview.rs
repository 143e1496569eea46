//! Dry runs of the engine.

use majordomo::llm::Change;
use majordomo::{Chain, Request};

use super::UNAVAILABLE;
use super::engine::Vision;
use super::image_slots;
use super::outcome::{self, ImageDisposition};
use super::plan::{DescriptionJob, DescriptionPlan, Planner};
use super::scope::Scope;

impl Vision {
    /// Predicts [`describe`](Self::describe), without calling a describer. The request is the
    /// one that its target would get, except that the failure marker replaces images that are
    /// not described yet.
    pub async fn preview(
        &self,
        mut request: Request,
        describers: Option<&Chain>,
        scope: &Scope,
    ) -> (Request, Vec<Change>) {
        let planner = Planner::new(&self.config, request.prompt(), describers, scope);
        let plan = DescriptionPlan::of(planner, &self.cache).await;
        let (texts, images) = plan.filled(|_, job| self.expected(job));
        if !texts.is_empty() {
            image_slots::replace(request.edit(), texts);
        }
        (request, outcome::changes(&images, "describer not called"))
    }

    fn expected(&self, job: &DescriptionJob) -> (String, ImageDisposition) {
        match self.cache.get(&job.key) {
            Some(known) => (known.to_string(), ImageDisposition::FromCache),
            None if job.may_call => (UNAVAILABLE.to_owned(), ImageDisposition::Described),
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
