//! Decides how each image is replaced, and which ones need a describer.

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

/// A description to obtain, for one or several images.
pub(super) struct Job {
    pub(super) address: Address,
    pub(super) picture: Picture,
    pub(super) words: Arc<str>,
    /// Whether a describer may be called; otherwise only the cache counts.
    pub(super) may_ask: bool,
}

/// The replacement of an image: a text, or the result of a job.
enum Filling {
    Ready(String, Fate),
    Job(usize),
}

impl Filling {
    fn unavailable(why: &str) -> Self {
        Self::Ready(UNAVAILABLE.to_owned(), Fate::Undescribed(why.to_owned()))
    }
}

/// How every image of a request is replaced.
pub(super) struct Plan {
    places: Vec<Place>,
    fillings: Vec<Filling>,
    /// The descriptions to obtain.
    pub(super) jobs: Vec<Job>,
}

impl Plan {
    /// Plans every image of a request.
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

    /// The text for each image, given the result of each job, and its outcome.
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

/// The request being planned.
pub(super) struct Planner<'a> {
    config: &'a VisionConfig,
    prompt: &'a Prompt,
    describers: Option<&'a Chain>,
    scope: &'a Scope,
    /// Index of the first of the latest messages.
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

    /// What identifies an image; empty if it is not described.
    fn content(&self, place: &Place) -> Bytes {
        let matters = self.is_latest(place) || self.config.history == History::Cached;
        match matters && self.describers.is_some() {
            true => place.picture.content(),
            false => Bytes::new(),
        }
    }

    /// The replacement of each image, and the jobs that some of them wait for.
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

    /// Plans an earlier image, for which no describer is called.
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

    /// The job for an image, or why there is none.
    fn job(
        &self,
        place: &Place,
        content: &Address,
        questions: &mut Questions<'_>,
    ) -> Result<Job, &'static str> {
        let chain = self.describers.ok_or("no describer is configured")?;
        // Text in an image is data; system messages are instructions.
        if place.role == Role::System {
            return Err("images in system messages are not described");
        }
        let kind: &[u8] = match &place.picture {
            Picture::Attached(_) => b"bytes",
            Picture::Elsewhere(_) => b"url",
            Picture::Unreadable => return Err("only the original provider can open it"),
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
