//! What describing would do, for dry runs.

use majordomo::{Chain, Change, Request};

use super::UNAVAILABLE;
use super::engine::Vision;
use super::outcome::{self, Fate};
use super::places;
use super::plan::{Job, Plan, Planner};
use super::scope::Scope;

impl Vision {
    /// What [`describe`](Self::describe) would do, without asking anybody. The
    /// request is as its target would get it, but that images which somebody
    /// would have to be asked about have the marker of a failure in their place.
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
        (request, outcome::changes(&images, "nobody was asked"))
    }

    fn expected(&self, job: &Job) -> (String, Fate) {
        match self.memory.get(&job.address) {
            Some(known) => (known.to_string(), Fate::FromCache),
            None if job.may_ask => (UNAVAILABLE.to_owned(), Fate::Described),
            None => {
                let why = format!("only {} images are described", self.config.max_images);
                (UNAVAILABLE.to_owned(), Fate::Undescribed(why))
            }
        }
    }
}
