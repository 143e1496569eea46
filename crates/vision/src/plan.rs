//! Decides how each image is replaced, and which images need a describer.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use majordomo::llm::Prompt;
use majordomo::{Chain, Model, Role};

use super::cache::{self, CacheKey, Description, DescriptionCache};
use super::config::{History, Latest, VisionConfig};
use super::image_content::ImageContent;
use super::image_slots::{self, ImageSlot};
use super::outcome::{ImageDisposition, ImageOutcome};
use super::prompts::DescribePrompts;
use super::scope::Scope;
use super::single_flight::CallOrigin;
use super::{OMITTED, UNAVAILABLE};

/// A description to obtain, for one or several images.
pub(super) struct DescriptionJob {
    pub(super) key: CacheKey,
    pub(super) content: ImageContent,
    pub(super) prompt: Arc<str>,
    /// Whether a describer may be called; otherwise only the cache counts.
    pub(super) may_call: bool,
}

impl DescriptionJob {
    /// Whether a description stays valid: inline bytes never change.
    pub(super) fn is_lasting(&self) -> bool {
        matches!(self.content, ImageContent::Inline(_))
    }
}

/// The replacement of an image: a text, or the result of a job.
enum Replacement {
    Ready(String, ImageDisposition),
    DescriptionJob(usize),
}

impl Replacement {
    fn unavailable(why: &str) -> Self {
        Self::Ready(
            UNAVAILABLE.to_owned(),
            ImageDisposition::Undescribed(why.to_owned()),
        )
    }
}

/// How every image of a request is replaced.
pub(super) struct DescriptionPlan {
    slots: Vec<ImageSlot>,
    replacements: Vec<Replacement>,
    /// The descriptions to obtain.
    pub(super) jobs: Vec<DescriptionJob>,
}

impl DescriptionPlan {
    /// Plans every image of a request.
    pub(super) async fn of(planner: Planner<'_>, cache: &DescriptionCache) -> Self {
        let slots = image_slots::find(planner.prompt);
        let contents = slots.iter().map(|slot| planner.content(slot));
        let contents = cache::keys(contents.collect()).await;
        let (replacements, jobs) = planner.plan(&slots, &contents, cache);
        Self {
            slots,
            replacements,
            jobs,
        }
    }

    /// The text for each image, given the result of each job, and its outcome.
    pub(super) fn filled(
        self,
        of_job: impl Fn(usize, &DescriptionJob) -> (String, ImageDisposition),
    ) -> (Vec<String>, Vec<ImageOutcome>) {
        let filled = self
            .replacements
            .into_iter()
            .map(|replacement| match replacement {
                Replacement::Ready(text, disposition) => (text, disposition),
                Replacement::DescriptionJob(index) => of_job(index, &self.jobs[index]),
            });
        let outcome = |(slot, (text, disposition)): (&ImageSlot, _)| {
            let message = slot.message;
            (
                text,
                ImageOutcome {
                    message,
                    disposition,
                },
            )
        };
        self.slots.iter().zip(filled).map(outcome).unzip()
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
            Latest::Message => image_slots::latest_message(&prompt.messages),
            Latest::Turn => image_slots::latest_turn(&prompt.messages),
        });
        Self {
            config,
            prompt,
            describers,
            scope,
            latest,
        }
    }

    /// The identity of an image; empty if it is not described.
    fn content(&self, slot: &ImageSlot) -> Bytes {
        let matters = self.is_latest(slot) || self.config.history == History::Cached;
        match matters && self.describers.is_some() {
            true => slot.content.content(),
            false => Bytes::new(),
        }
    }

    /// The replacement of each image, and the jobs that some of them wait for.
    fn plan(
        &self,
        slots: &[ImageSlot],
        contents: &[CacheKey],
        cache: &DescriptionCache,
    ) -> (Vec<Replacement>, Vec<DescriptionJob>) {
        let mut jobs: Vec<DescriptionJob> = Vec::new();
        let mut by_key: HashMap<CacheKey, usize> = HashMap::new();
        let mut prompts = DescribePrompts::of(self.config, &self.prompt.messages);
        let pairs = slots.iter().zip(contents);
        let replacements = pairs
            .map(|(slot, content)| {
                if !self.is_latest(slot) {
                    return self.earlier(slot, content, &mut prompts, cache);
                }
                match self.job(slot, content, &mut prompts) {
                    Ok(job) => {
                        let index = by_key.entry(job.key).or_insert(jobs.len());
                        if *index == jobs.len() {
                            jobs.push(job);
                        }
                        Replacement::DescriptionJob(*index)
                    }
                    Err(why) => Replacement::unavailable(why),
                }
            })
            .collect();
        let surplus = jobs.len().saturating_sub(self.config.max_images);
        for job in &mut jobs[..surplus] {
            job.may_call = false;
        }
        (replacements, jobs)
    }

    fn is_latest(&self, slot: &ImageSlot) -> bool {
        slot.message.is_some_and(|message| message >= self.latest)
    }

    /// Plans an earlier image, for which no describer is called.
    fn earlier(
        &self,
        slot: &ImageSlot,
        content: &CacheKey,
        prompts: &mut DescribePrompts<'_>,
        cache: &DescriptionCache,
    ) -> Replacement {
        let known = match self.config.history {
            History::Omit => None,
            History::Cached => {
                let job = self.job(slot, content, prompts).ok();
                job.and_then(|job| self.known(&job.key, cache))
            }
        };
        match known {
            Some(known) => Replacement::Ready(known.to_string(), ImageDisposition::FromCache),
            None => Replacement::Ready(OMITTED.to_owned(), ImageDisposition::Omitted),
        }
    }

    /// A description that needs no call. It is the request's from now on.
    fn known(&self, key: &CacheKey, cache: &DescriptionCache) -> Option<Description> {
        if let Some((result, _)) = self.scope.result(key) {
            return result.ok();
        }
        let known = cache.get(key)?;
        let result = Ok(Arc::clone(&known));
        self.scope.store(*key, result, CallOrigin::Shared);
        Some(known)
    }

    /// The job for an image, or why there is none.
    fn job(
        &self,
        slot: &ImageSlot,
        content: &CacheKey,
        prompts: &mut DescribePrompts<'_>,
    ) -> Result<DescriptionJob, &'static str> {
        let chain = self.describers.ok_or("no describer is configured")?;
        // Text in an image is data; system messages are instructions.
        let message = slot.message.filter(|_| slot.role != Role::System);
        let message = message.ok_or("images in instructions are not described")?;
        let kind: &[u8] = match &slot.content {
            ImageContent::Inline(_) => b"bytes",
            ImageContent::Remote(_) => b"url",
            ImageContent::Unreadable => return Err("only the original provider can open it"),
        };
        let prompt = prompts.prompt(message);
        let key = CacheKey::of(&[
            self.scope.key().as_bytes(),
            chain.name().as_bytes(),
            prompt.key.as_bytes(),
            &self.config.max_tokens.to_le_bytes(),
            kind,
            content.as_bytes(),
        ]);
        Ok(DescriptionJob {
            key,
            content: slot.content.clone(),
            prompt: prompt.text,
            may_call: true,
        })
    }
}
