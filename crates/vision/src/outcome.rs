//! What came of describing a request's images, for the ledger, the usage and
//! the metrics.

use std::time::{Duration, Instant};

use majordomo::{Attempt, Change, Request, Usage};

/// A request without images, and how it lost them.
#[derive(Clone, Debug)]
pub struct Described {
    /// The request; the same prompt when it held no image.
    pub request: Request,
    /// What was changed, for the ledger: `image:2 described`.
    pub changes: Vec<Change>,
    /// What the calls cost together.
    pub usage: Usage,
    /// Each image in the order of the conversation.
    pub images: Vec<ImageOutcome>,
    /// Each call that was made, in the order of their ends.
    pub calls: Vec<DescribeCall>,
}

/// What stands in the place of one image, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageOutcome {
    /// Which message it was in, counted from 0.
    pub message: usize,
    /// What became of it.
    pub fate: Fate,
}

/// What became of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was described for this request.
    Described,
    /// Its description was known, or another request was just asking for it.
    FromCache,
    /// It is of an earlier message and got the fixed marker.
    Omitted,
    /// It could not be described, for this reason.
    Undescribed(String),
}

/// One call of a describer.
#[derive(Clone, Debug)]
pub struct DescribeCall {
    /// Who answered, as `provider/model`; none if nobody did.
    pub target: Option<String>,
    /// Who was asked on the way; empty if the call was cancelled before an answer.
    pub attempts: Vec<Attempt>,
    /// What it cost.
    pub usage: Usage,
    /// When it began.
    pub began: Instant,
    /// How long it took.
    pub took: Duration,
    /// Why there is no description, if there is none.
    pub failure: Option<String>,
}

/// Why a call has no description that was dropped on its way.
pub(super) const CANCELLED: &str = "cancelled";

impl DescribeCall {
    /// How it went, in a word: `described`, `failed` or `cancelled`.
    pub fn outcome(&self) -> &'static str {
        match self.failure.as_deref() {
            None => "described",
            Some(CANCELLED) => CANCELLED,
            Some(_) => "failed",
        }
    }

    /// Who answered, or else who was asked last; empty if nobody was.
    pub fn asked(&self) -> &str {
        let last = self.attempts.last().map(|attempt| &*attempt.target);
        self.target.as_deref().or(last).unwrap_or_default()
    }
}

/// The verb of images whose description was known, in the ledger.
pub const FROM_CACHE: &str = "described from cache";

/// The changes in the ledger's words, each kind of fate once.
pub(super) fn changes(images: &[ImageOutcome], by: &str) -> Vec<Change> {
    let count = |wanted: &dyn Fn(&Fate) -> bool| images.iter().filter(|i| wanted(&i.fate)).count();
    let kinds = [
        ("described", count(&|fate| *fate == Fate::Described), by),
        (FROM_CACHE, count(&|fate| *fate == Fate::FromCache), ""),
        (
            "omitted",
            count(&|fate| *fate == Fate::Omitted),
            "of earlier messages",
        ),
    ];
    let mut changes: Vec<Change> = kinds
        .into_iter()
        .filter(|(_, count, _)| *count > 0)
        .map(|(verb, count, detail)| Change::new("image", verb).times(count).detail(detail))
        .collect();
    let mut reasons: Vec<&str> = Vec::new();
    for image in images {
        if let Fate::Undescribed(reason) = &image.fate {
            reasons.push(reason);
        }
    }
    if !reasons.is_empty() {
        let change = Change::new("image", "undescribed").times(reasons.len());
        reasons.dedup();
        changes.push(change.detail(reasons.join("; ")));
    }
    changes
}
