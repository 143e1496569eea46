//! Decides for each image whether somebody must be asked about it.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use majordomo::{Chain, Model, Prompt, Role};

use super::config::{History, Latest, VisionConfig};
use super::memory::{self, Address, Memory};
use super::outcome::{Fate, ImageOutcome};
use super::picture::Picture;
use super::places::{self, Place};
use super::questions::Questions;
use super::scope::Scope;
use super::{OMITTED, UNAVAILABLE};

/// A description that is wanted, for one place or several.
pub(super) struct Job {
    pub(super) address: Address,
    pub(super) picture: Picture,
    pub(super) words: Arc<str>,
    /// Whether somebody may be asked; otherwise only what is known counts.
    pub(super) may_ask: bool,
}

/// What goes into a place: a text at once, or the result of a job.
enum Filling {
    Ready(String, Fate),
    Job(usize),
}

impl Filling {
    fn unavailable(why: &str) -> Self {
        Self::Ready(UNAVAILABLE.to_owned(), Fate::Undescribed(why.to_owned()))
    }
}

/// What goes into the place of every image of a request.
pub(super) struct Plan {
    places: Vec<Place>,
    fillings: Vec<Filling>,
    /// What somebody must be asked for that.
    pub(super) jobs: Vec<Job>,
}

impl Plan {
    /// Looks at every image of a request.
    pub(super) async fn of(planner: Planner<'_>, memory: &Memory) -> Self {
        let places = places::find(planner.prompt);
        let contents = places.iter().map(|place| planner.content(place));
        let contents = memory::addresses(contents.collect()).await;
        let (fillings, jobs) = planner.plan(&places, &contents, memory);
        Self {
            places,
            fillings,
            jobs,
        }
    }

    /// The text for each image, with what came of each job, and its fate.
    pub(super) fn filled(
        self,
        of_job: impl Fn(usize, &Job) -> (String, Fate),
    ) -> (Vec<String>, Vec<ImageOutcome>) {
        let filled = self.fillings.into_iter().map(|filling| match filling {
            Filling::Ready(text, fate) => (text, fate),
            Filling::Job(index) => of_job(index, &self.jobs[index]),
        });
        let outcome = |(place, (text, fate)): (&Place, _)| {
            let message = place.message;
            (text, ImageOutcome { message, fate })
        };
        self.places.iter().zip(filled).map(outcome).unzip()
    }
}

/// One request, as it is looked at.
pub(super) struct Planner<'a> {
    config: &'a VisionConfig,
    prompt: &'a Prompt,
    describers: Option<&'a Chain>,
    scope: &'a Scope,
    /// The first of the latest messages.
    latest: usize,
}

impl<'a> Planner<'a> {
    pub(super) fn new(
        config: &'a VisionConfig,
        prompt: &'a Prompt,
        describers: Option<&'a Chain>,
        scope: &'a Scope,
    ) -> Self {
        let latest = scope.latest_from(|| match config.latest {
            Latest::Message => places::latest_message(&prompt.messages),
            Latest::Turn => places::latest_turn(&prompt.messages),
        });
        Self {
            config,
            prompt,
            describers,
            scope,
            latest,
        }
    }

    /// What an image is known by, if it matters at all.
    fn content(&self, place: &Place) -> Bytes {
        let matters = self.is_latest(place) || self.config.history == History::Cached;
        match matters && self.describers.is_some() {
            true => place.picture.content(),
            false => Bytes::new(),
        }
    }

    /// The filling of each place, and the jobs that some of them wait for.
    fn plan(
        &self,
        places: &[Place],
        contents: &[Address],
        memory: &Memory,
    ) -> (Vec<Filling>, Vec<Job>) {
        let mut jobs: Vec<Job> = Vec::new();
        let mut by_address: HashMap<Address, usize> = HashMap::new();
        let mut questions = Questions::of(self.config, &self.prompt.messages);
        let pairs = places.iter().zip(contents);
        let fillings = pairs
            .map(|(place, content)| {
                if !self.is_latest(place) {
                    return self.earlier(place, content, &mut questions, memory);
                }
                match self.job(place, content, &mut questions) {
                    Ok(job) => {
                        let index = by_address.entry(job.address).or_insert(jobs.len());
                        if *index == jobs.len() {
                            jobs.push(job);
                        }
                        Filling::Job(*index)
                    }
                    Err(why) => Filling::unavailable(why),
                }
            })
            .collect();
        let surplus = jobs.len().saturating_sub(self.config.max_images);
        for job in &mut jobs[..surplus] {
            job.may_ask = false;
        }
        (fillings, jobs)
    }

    fn is_latest(&self, place: &Place) -> bool {
        place.message >= self.latest
    }

    /// Nobody is asked about an earlier image.
    fn earlier(
        &self,
        place: &Place,
        content: &Address,
        questions: &mut Questions<'_>,
        memory: &Memory,
    ) -> Filling {
        let known = match self.config.history {
            History::Omit => None,
            History::Cached => {
                let job = self.job(place, content, questions).ok();
                job.and_then(|job| memory.get(&job.address))
            }
        };
        match known {
            Some(known) => Filling::Ready(known.to_string(), Fate::FromCache),
            None => Filling::Ready(OMITTED.to_owned(), Fate::Omitted),
        }
    }

    /// The question about an image, or why there is none.
    fn job(
        &self,
        place: &Place,
        content: &Address,
        questions: &mut Questions<'_>,
    ) -> Result<Job, &'static str> {
        let chain = self.describers.ok_or("nobody can describe it")?;
        // A picture's words are data, and instructions are not.
        if place.role == Role::System {
            return Err("images among the instructions are not described");
        }
        let kind: &[u8] = match &place.picture {
            Picture::Attached(_) => b"bytes",
            Picture::Elsewhere(_) => b"url",
            Picture::Unreadable => return Err("only its own provider can open it"),
        };
        let words = questions.words(place.message);
        let address = Address::of(&[
            self.scope.key().as_bytes(),
            chain.name().as_bytes(),
            words.address.as_bytes(),
            &self.config.max_tokens.to_le_bytes(),
            kind,
            content.as_bytes(),
        ]);
        Ok(Job {
            address,
            picture: place.picture.clone(),
            words: words.text,
            may_ask: true,
        })
    }
}
