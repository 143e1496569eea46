//! What a script is made of.

use std::time::Duration;

use majordomo_llm::{Error, Event, FinishReason, Part, Response, Usage};

/// What one call gets: a list of beats, played in order.
///
/// A stream that runs out of beats without [`Event::Finish`] was cut, as on a
/// real wire.
#[derive(Clone, Debug, Default)]
pub struct Step {
    pub(super) beats: Vec<Beat>,
}

/// One thing that happens during a call.
#[derive(Clone, Debug)]
pub enum Beat {
    /// The model says something.
    Event(Event),
    /// The call fails here.
    Fail(Error),
    /// Time passes (virtual time in tests).
    Wait(Duration),
    /// Nothing ever happens again.
    Hang,
}

impl Step {
    /// A text answer of one token in and one token out.
    pub fn reply(text: impl Into<String>) -> Self {
        let usage = Usage {
            input: 1,
            output: 1,
            ..Usage::default()
        };
        Self::respond(Response {
            usage,
            ..Response::new(vec![Part::text(text)])
        })
    }

    /// Any answer.
    pub fn respond(response: Response) -> Self {
        Self::events(response.to_events())
    }

    /// An answer of these events.
    pub fn events(events: impl IntoIterator<Item = Event>) -> Self {
        Self {
            beats: events.into_iter().map(Beat::Event).collect(),
        }
    }

    /// A failure before anything was said.
    pub fn fail(error: Error) -> Self {
        Self::default().then(Beat::Fail(error))
    }

    /// An answer that says nothing.
    pub fn empty() -> Self {
        Self::events([Event::Finish(FinishReason::Stop)])
    }

    /// A call that never ends.
    pub fn hang() -> Self {
        Self::default().then(Beat::Hang)
    }

    /// Adds a beat at the end.
    #[must_use]
    pub fn then(mut self, beat: Beat) -> Self {
        self.beats.push(beat);
        self
    }

    /// Lets time pass first.
    #[must_use]
    pub fn after(mut self, wait: Duration) -> Self {
        self.beats.insert(0, Beat::Wait(wait));
        self
    }
}
