//! A model of the demo.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use futures_util::stream;
use majordomo::fake::pictures;
use majordomo::llm::{Change, ImageModel, ModelExtras};
use majordomo::{
    BoxFuture, Capabilities, Error, ErrorKind, Event, EventStream, ImageRequest, ImageResponse,
    ImageSize, Model, Request, Response, Result,
};
use tokio::time::sleep;

use super::Demo;
use super::response::respond;

/// Approximate chunk size of streams in bytes.
const CHUNK_BYTES: usize = 24;
/// Before each chunk of the slow model.
const SLOW_CHUNK: Duration = Duration::from_millis(250);

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

    fn respond(&self, request: &Request) -> Result<Response> {
        let mut response = self
            .check(request)
            .and_then(|()| respond(&self.id, request))
            .map_err(|error| error.with_target(&self.demo.name, &self.id))?;
        response.model.clone_from(&self.name);
        Ok(response)
    }

    /// How long the model pauses before each chunk.
    fn pause(&self) -> Option<Duration> {
        (self.id == Demo::SLOW).then_some(SLOW_CHUNK)
    }

    /// Whether the demo has this model.
    fn exists(&self) -> Result<()> {
        if !Demo::MODELS.contains(&self.id.as_str()) {
            let text = format!(
                "there is no model `{}`; expected one of {}",
                self.id,
                Demo::MODELS.join(", ")
            );
            return Err(Error::new(ErrorKind::ModelNotFound, text));
        }
        Ok(())
    }

    fn check(&self, request: &Request) -> Result<()> {
        self.exists()?;
        if request.prompt().image_count() > 0 && !self.capabilities().takes_images() {
            let text = "it accepts no images; `vision` does";
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        if self.id == Demo::FLAKY && self.demo.fails_now() {
            let text = "every third request fails, to demonstrate failover";
            return Err(Error::http(503, text));
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
        let response = self.respond(&request);
        let wait = self.pause();
        Box::pin(async move {
            if let Some(wait) = wait {
                sleep(wait).await;
            }
            response
        })
    }

    fn events(&self, request: Request) -> BoxFuture<'_, Result<EventStream>> {
        let pause = self.pause();
        let events = self.respond(&request).map(|response| {
            let events = response.to_events().into_iter().flat_map(split_event);
            match pause {
                None => Box::pin(DemoStream(events.collect())) as EventStream,
                Some(pause) => Box::pin(paced(events.collect(), pause)),
            }
        });
        Box::pin(std::future::ready(events))
    }

    fn extras(&self) -> Option<&dyn ModelExtras> {
        Some(self)
    }
}

impl ModelExtras for DemoModel {
    fn own_preview(&self, _request: Request) -> Result<Vec<Change>> {
        self.exists().map(|()| Vec::new())
    }

    fn own_image_model(&self) -> Option<&dyn ImageModel> {
        (self.id == Demo::IMAGE).then_some(self as &dyn ImageModel)
    }
}

impl ImageModel for DemoModel {
    /// Draws patterns that depend on the request alone.
    fn generate_images(&self, request: ImageRequest) -> BoxFuture<'_, Result<ImageResponse>> {
        let prompt = request.prompt();
        let ignored = [
            ("steps", prompt.steps.is_some()),
            ("guidance", prompt.guidance.is_some()),
            ("negative_prompt", prompt.negative_prompt.is_some()),
            ("sampler", prompt.sampler.is_some()),
            ("mask", prompt.mask.is_some()),
        ];
        for (name, _) in ignored.into_iter().filter(|(_, set)| *set) {
            request.record_change(Change::new(name, "dropped").detail("the demo has no model"));
        }
        let native = prompt.native.iter().flat_map(|native| native.fields());
        for (name, _) in native {
            request.record_change(Change::new(name, "dropped").detail("the demo has no model"));
        }
        let images = pictures(&request);
        if prompt.n.is_some_and(|n| n.get() as usize > images.len()) {
            request.record_change(Change::new("n", "lowered").detail("the demo draws at most ten"));
        }
        let drawn = images.first().and_then(|image| image.data.header().ok());
        let drawn = drawn.and_then(|header| ImageSize::new(header.width, header.height));
        if prompt.size.is_some() && prompt.size != drawn {
            request.record_change(Change::new("size", "lowered").detail("to 2048 pixels"));
        }
        let response = ImageResponse::new(images).with_model(&*self.name);
        Box::pin(std::future::ready(Ok(response)))
    }
}

/// Splits a long event.
fn split_event(event: Event) -> Vec<Event> {
    match event {
        Event::Text(text) => split(&text)
            .map(|chunk| Event::Text(chunk.to_owned()))
            .collect(),
        Event::ToolCallArguments { index, fragment } => split(&fragment)
            .map(|chunk| Event::ToolCallArguments {
                index,
                fragment: chunk.to_owned(),
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
        let long = |(at, c): &(usize, char)| {
            *at >= CHUNK_BYTES && (c.is_whitespace() || *at >= 2 * CHUNK_BYTES)
        };
        let end = rest
            .char_indices()
            .find(long)
            .map_or(rest.len(), |(at, _)| at);
        let (chunk, after) = rest.split_at(end);
        rest = after;
        Some(chunk)
    })
}

/// The same events, with a pause before each one that a client sees.
fn paced(events: VecDeque<Event>, pause: Duration) -> impl Stream<Item = Result<Event>> + Send {
    stream::unfold(events, move |mut events| async move {
        let event = events.pop_front()?;
        if event.is_semantic() {
            sleep(pause).await;
        }
        Some((Ok(event), events))
    })
}

struct DemoStream(VecDeque<Event>);

impl Stream for DemoStream {
    type Item = Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }
}
