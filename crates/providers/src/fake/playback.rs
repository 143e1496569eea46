//! Plays a step as a stream of events.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use majordomo_llm::{Event, Result};
use tokio::time::{Sleep, sleep};

use super::{Beat, Step};

pub(super) struct Playback {
    beats: VecDeque<Beat>,
    pause: Option<Pin<Box<Sleep>>>,
}

impl From<Step> for Playback {
    fn from(step: Step) -> Self {
        Self {
            beats: step.beats.into(),
            pause: None,
        }
    }
}

impl Stream for Playback {
    type Item = Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(cx));
                self.pause = None;
            }
            match self.beats.pop_front() {
                Some(Beat::Event(event)) => return Poll::Ready(Some(Ok(event))),
                Some(Beat::Fail(error)) => {
                    self.beats.clear();
                    return Poll::Ready(Some(Err(error)));
                }
                Some(Beat::Wait(wait)) => self.pause = Some(Box::pin(sleep(wait))),
                Some(Beat::Hang) => {
                    self.beats.push_front(Beat::Hang);
                    return Poll::Pending;
                }
                None => return Poll::Ready(None),
            }
        }
    }
}
