//! A model of the fake provider.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use majordomo_llm::{
    BoxFuture, Capabilities, Error, Event, EventStream, Model, ModelExtras, Request, Response,
    ResponseStream, Result,
};

use super::playback::Playback;
use super::{Fake, FakeCall};

pub(super) struct FakeModel {
    fake: Fake,
    id: String,
    name: String,
}

impl FakeModel {
    pub(super) fn new(fake: Fake, id: &str) -> Self {
        Self {
            name: format!("{}/{id}", fake.name),
            id: id.to_owned(),
            fake,
        }
    }

    pub(super) fn play(&self, request: Request, streamed: bool) -> Playback {
        self.fake
            .next_step(FakeCall {
                model: self.id.clone(),
                request,
                streamed,
            })
            .into()
    }

    pub(super) fn full_name(&self) -> &str {
        &self.name
    }

    pub(super) fn attribute(&self, error: Error) -> Error {
        error.with_target(&self.fake.name, &self.id)
    }
}

impl Model for FakeModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self) -> Arc<Capabilities> {
        self.fake.capabilities_of(&self.id)
    }

    fn generate(&self, request: Request) -> BoxFuture<'_, Result<Response>> {
        Box::pin(async move {
            let first_call = request.prompt().next_call_number();
            let events: EventStream = Box::pin(self.play(request, false));
            let stream = ResponseStream::new(events, &self.name, first_call);
            stream.finish().await.map_err(|error| self.attribute(error))
        })
    }

    /// Opens immediately; a scripted failure surfaces on the first poll.
    fn events(&self, request: Request) -> BoxFuture<'_, Result<EventStream>> {
        let target = (self.fake.name.to_string(), self.id.clone());
        let events = AttributedErrors {
            events: self.play(request, true),
            target,
        };
        Box::pin(std::future::ready(Ok(Box::pin(events) as EventStream)))
    }

    fn extras(&self) -> Option<&dyn ModelExtras> {
        Some(self)
    }
}

/// Adds the target to errors, as a real provider does.
struct AttributedErrors {
    events: Playback,
    target: (String, String),
}

impl Stream for AttributedErrors {
    type Item = Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let item = ready!(Pin::new(&mut self.events).poll_next(cx));
        let (provider, model) = &self.target;
        Poll::Ready(item.map(|event| event.map_err(|e| e.with_target(provider, model))))
    }
}
