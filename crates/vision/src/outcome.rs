//! Results of describing a request's images, for the attempt log, usage and metrics.

use std::time::{Duration, Instant};

use majordomo::llm::{Attempt, AttemptOutcome, Change};
use majordomo::{Class, Request, Usage};

/// A request without images, and how they were replaced.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Described {
    /// The request; unchanged if it contained no image.
    pub request: Request,
    /// The changes, for the attempt log: `image:2 described`.
    pub changes: Vec<Change>,
    /// The total usage of the calls.
    pub usage: Usage,
    /// Each image, in conversation order.
    pub images: Vec<ImageOutcome>,
    /// Each call, in the order of completion.
    pub calls: Vec<DescribeCall>,
}

/// How one image was replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImageOutcome {
    /// Index of its message; `None` for one outside the messages, such as in a tool.
    pub message: Option<usize>,
    /// How it was replaced.
    pub disposition: ImageDisposition,
}

/// How an image was replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageDisposition {
    /// Described for this request.
    Described,
    /// Described from the cache, or by a concurrent request.
    FromCache,
    /// Replaced by the fixed marker, as part of an earlier message.
    Omitted,
    /// Not described, for this reason.
    Undescribed(String),
}

/// One call of a describer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DescribeCall {
    /// The target that responded, as `provider/model`.
    pub target: Option<String>,
    /// The attempts; empty if the call was cancelled before a response.
    pub attempts: Vec<Attempt>,
    /// Its usage.
    pub usage: Usage,
    /// When it started.
    pub began: Instant,
    /// How long it took.
    pub took: Duration,
    /// Why there is no description, if there is none.
    pub failure: Option<String>,
}

/// The failure of a call that was dropped.
pub(super) const CANCELLED: &str = "cancelled";

impl DescribeCall {
    /// One word: `described`, `failed` or `cancelled`.
    pub fn outcome(&self) -> &'static str {
        match self.failure.as_deref() {
            None => "described",
            Some(CANCELLED) => CANCELLED,
            Some(_) => "failed",
        }
    }

    /// Whether its gate refused every attempt, so that nothing was sent.
    pub(super) fn is_denied(&self) -> bool {
        let denied = |attempt: &Attempt| {
            let class = Some(Class::Denied);
            matches!(&attempt.outcome, AttemptOutcome::Skipped { class: of, .. } if *of == class)
        };
        !self.attempts.is_empty() && self.attempts.iter().all(denied)
    }

    /// The target that responded, else the last one attempted, else empty.
    pub fn last_target(&self) -> &str {
        let last = self.attempts.last().map(|attempt| &*attempt.target);
        self.target.as_deref().or(last).unwrap_or_default()
    }
}

/// The verb for images described from the cache, in the attempt log.
pub const FROM_CACHE: &str = "described from cache";

/// The changes for the attempt log, one per kind of outcome.
pub(super) fn changes(images: &[ImageOutcome], by: &str) -> Vec<Change> {
    let count = |wanted: &dyn Fn(&ImageDisposition) -> bool| {
        images.iter().filter(|i| wanted(&i.disposition)).count()
    };
    let kinds = [
        (
            "described",
            count(&|disposition| *disposition == ImageDisposition::Described),
            by,
        ),
        (
            FROM_CACHE,
            count(&|disposition| *disposition == ImageDisposition::FromCache),
            "",
        ),
        (
            "omitted",
            count(&|disposition| *disposition == ImageDisposition::Omitted),
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
        if let ImageDisposition::Undescribed(reason) = &image.disposition {
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
