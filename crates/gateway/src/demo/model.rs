//! A model of the demo.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use majordomo::{
    BoxFuture, Capabilities, Error, ErrorKind, Event, EventStream, Model, Request, Response, Result,
};

use super::Demo;
use super::answer::answer;

/// Approximate chunk size of streams in bytes.
const PIECE: usize = 24;

pub(super) struct DemoModel {
    demo: Demo,
    id: String,
    name: String,
}

impl DemoModel {
    pub(super) fn new(demo: Demo, id: &str) -> Self {
        Self {
            name: format!("{}/{id}", demo.name),
            id: id.to_owned(),
            demo,
        }
    }

    fn answer(&self, request: &Request) -> Result<Response> {
        let mut response = self
            .check(request)
            .and_then(|()| answer(&self.id, request))
            .map_err(|error| error.with_target(&self.demo.name, &self.id))?;
        response.model.clone_from(&self.name);
        Ok(response)
    }

    fn check(&self, request: &Request) -> Result<()> {
        if !Demo::MODELS.contains(&self.id.as_str()) {
            let text = format!(
                "there is no model `{}`; there are {}",
                self.id,
                Demo::MODELS.join(", ")
            );
            return Err(Error::new(ErrorKind::ModelNotFound, text));
        }
        if request.image_count() > 0 && !self.capabilities().takes_images() {
            let text = "it takes no images; `vision` does";
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        if self.id == Demo::FLAKY && self.demo.fails_now() {
            let text = "every third request fails here, so that failover can be seen";
            return Err(Error::provider(503, text));
        }
        Ok(())
    }
}

impl Model for DemoModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self) -> Arc<Capabilities> {
        self.demo.capabilities_of(&self.id)
    }

    fn generate(&self, request: Request) -> BoxFuture<'_, Result<Response>> {
        let response = self.answer(&request);
        Box::pin(std::future::ready(response))
    }

    fn events(&self, request: Request) -> BoxFuture<'_, Result<EventStream>> {
        let events = self.answer(&request).map(|response| {
            let events = response.to_events().into_iter().flat_map(pieces).collect();
            Box::pin(Pieces(events)) as EventStream
        });
        Box::pin(std::future::ready(events))
    }
}

/// Splits a long event.
fn pieces(event: Event) -> Vec<Event> {
    match event {
        Event::Text(text) => split(&text)
            .map(|piece| Event::Text(piece.to_owned()))
            .collect(),
        Event::ToolCallArguments { index, fragment } => split(&fragment)
            .map(|piece| Event::ToolCallArguments {
                index,
                fragment: piece.to_owned(),
            })
            .collect(),
        other => vec![other],
    }
}

/// Splits after a word, or where a chunk gets too long.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let long =
            |(at, c): &(usize, char)| *at >= PIECE && (c.is_whitespace() || *at >= 2 * PIECE);
        let end = rest
            .char_indices()
            .find(long)
            .map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

struct Pieces(VecDeque<Event>);

impl Stream for Pieces {
    type Item = Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }
}
