//! What describing would do, for dry runs.

use majordomo::{Chain, Change, Request};

use super::UNAVAILABLE;
use super::engine::Vision;
use super::memory;
use super::outcome::{self, Fate, ImageOutcome};
use super::places;
use super::plan::{Filling, Job, Planner};
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
        let places = places::find(&request);
        if places.is_empty() {
            return (request, Vec::new());
        }
        let planner = Planner::new(&self.config, &request, describers, scope);
        let contents = places.iter().map(|place| planner.content(place));
        let contents = memory::addresses(contents.collect()).await;
        let (fillings, jobs) = planner.plan(&places, &contents, &self.memory);
        let filled = fillings.into_iter().map(|filling| match filling {
            Filling::Ready(text, fate) => (text, fate),
            Filling::Job(index) => self.expected(&jobs[index]),
        });
        let (texts, fates): (Vec<String>, Vec<Fate>) = filled.unzip();
        places::replace(&mut request.edit().messages, texts);
        let outcomes = places.iter().zip(fates);
        let images: Vec<ImageOutcome> = outcomes
            .map(|(place, fate)| ImageOutcome {
                message: place.message,
                fate,
            })
            .collect();
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
