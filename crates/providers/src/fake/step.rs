//! The elements of a script.

use std::time::Duration;

use majordomo_llm::{Error, Event, FinishReason, Part, Response, Usage};

/// The behaviour of one call: a sequence of beats.
///
/// A stream that runs out of beats without [`Event::Finish`] is truncated, as on a
/// real connection.
#[derive(Clone, Debug, Default)]
pub struct Step {
    pub(super) beats: Vec<Beat>,
}

/// One beat of a [`Step`].
#[derive(Clone, Debug)]
pub enum Beat {
    /// Yields an event.
    Event(Event),
    /// Fails the call.
    Fail(Error),
    /// Sleeps (in virtual time under a paused clock).
    Wait(Duration),
    /// Never completes.
    Hang,
}

impl Step {
    /// A text response with one input token and one output token.
    pub fn reply(text: impl Into<String>) -> Self {
        let usage = Usage::new(1, 1);
        Self::respond(Response::new(vec![Part::text(text)]).with_usage(usage))
    }

    /// A response.
    pub fn respond(response: Response) -> Self {
        Self::events(response.to_events())
    }

    /// A response of these events.
    pub fn events(events: impl IntoIterator<Item = Event>) -> Self {
        Self {
            beats: events.into_iter().map(Beat::Event).collect(),
        }
    }

    /// An immediate failure.
    pub fn fail(error: Error) -> Self {
        Self::default().then(Beat::Fail(error))
    }

    /// A response without content.
    pub fn empty() -> Self {
        Self::events([Event::Finish(FinishReason::Stop)])
    }

    /// A call that never completes.
    pub fn hang() -> Self {
        Self::default().then(Beat::Hang)
    }

    /// Appends a beat.
    #[must_use]
    pub fn then(mut self, beat: Beat) -> Self {
        self.beats.push(beat);
        self
    }

    /// Delays the step.
    #[must_use]
    pub fn after(mut self, wait: Duration) -> Self {
        self.beats.insert(0, Beat::Wait(wait));
        self
    }
}
