//! Dry runs of the engine.

use majordomo::{Chain, Change, Request};

use super::UNAVAILABLE;
use super::engine::Vision;
use super::outcome::{self, Fate};
use super::places;
use super::plan::{Job, Plan, Planner};
use super::scope::Scope;

impl Vision {
    /// What [`describe`](Self::describe) would do, without calling a describer. The request
    /// is as its target would get it, except that images not described yet are replaced by
    /// the marker of a failure.
    pub async fn preview(
        &self,
        mut request: Request,
        describers: Option<&Chain>,
        scope: &Scope,
    ) -> (Request, Vec<Change>) {
        let planner = Planner::new(&self.config, &request, describers, scope);
        let plan = Plan::of(planner, &self.memory).await;
        let (texts, images) = plan.filled(|_, job| self.expected(job));
        if !texts.is_empty() {
            places::replace(&mut request.edit().messages, texts);
        }
        (request, outcome::changes(&images, "describer not called"))
    }

    fn expected(&self, job: &Job) -> (String, Fate) {
        match self.memory.get(&job.address) {
            Some(known) => (known.to_string(), Fate::FromCache),
            None if job.may_ask => (UNAVAILABLE.to_owned(), Fate::Described),
            None => {
                let why = format!(
                    "only {} images are described per request",
                    self.config.max_images
                );
                (UNAVAILABLE.to_owned(), Fate::Undescribed(why))
            }
        }
    }
}
