//! A model that is pending once before everything it does, so that a test can drop a
//! request at every await point.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use majordomo::chain::{Shape, Shaped, TargetView};
use majordomo::llm::{
    BatchLimits, CallContext, Dialect, EmbeddingModel, ImageModel, ModelExtras, OutputCounter,
    RawChunk, RawChunkStream,
};
use majordomo::{
    BoxFuture, Capabilities, Chain, EmbeddingRequest, EmbeddingResponse, Error, ErrorKind, Event,
    EventStream, ImageRequest, ImageResponse, Model, ModelExt, Request, Response, Result,
};

/// The dialect of raw streams.
pub(super) const DIALECT: Dialect = Dialect::new("stepwise");

/// Pending once.
pub(super) async fn pause() {
    let mut polled = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut polled, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Polls a future up to `polls` times, with a second between two polls, and drops it.
pub(super) async fn poll_times<T>(future: impl Future<Output = T>, polls: usize) -> Option<T> {
    let mut future = pin!(future);
    for _ in 0..polls {
        let mut cx = Context::from_waker(Waker::noop());
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return Some(output);
        }
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    None
}

/// Is pending once and changes nothing.
pub(super) struct SlowShape;

impl Shape for SlowShape {
    fn concerns(&self, _: &Request, _: TargetView<'_>) -> bool {
        true
    }

    fn shape<'a>(&'a self, request: Request, _: TargetView<'a>) -> BoxFuture<'a, Result<Shaped>> {
        Box::pin(async move {
            pause().await;
            let changes = Vec::new();
            Ok(Shaped { request, changes })
        })
    }
}

/// Makes every target of a chain stepwise.
pub(super) fn stepwise(chain: &Chain) -> Chain {
    chain.wrap(|_, model| Arc::new(Stepwise(model)))
}

struct Stepwise(Arc<dyn Model>);

impl Model for Stepwise {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn capabilities(&self) -> Arc<Capabilities> {
        self.0.capabilities()
    }

    fn generate(&self, request: Request) -> BoxFuture<'_, Result<Response>> {
        Box::pin(async move {
            pause().await;
            let response = self.0.generate(request).await;
            pause().await;
            response
        })
    }

    fn events(&self, request: Request) -> BoxFuture<'_, Result<EventStream>> {
        Box::pin(async move {
            pause().await;
            let stream = self.0.events(request).await?;
            pause().await;
            let events = Paused {
                stream,
                paused: false,
                read: |event| event,
            };
            Ok(Box::pin(events) as EventStream)
        })
    }

    fn extras(&self) -> Option<&dyn ModelExtras> {
        Some(self)
    }
}

impl ModelExtras for Stepwise {
    fn own_dialect(&self) -> Option<Dialect> {
        Some(DIALECT)
    }

    fn own_raw_chunks(&self, request: Request) -> BoxFuture<'_, Result<RawChunkStream>> {
        Box::pin(async move {
            pause().await;
            let stream = self.0.events(request).await?;
            let chunks = Paused {
                stream,
                paused: false,
                read: raw_chunk,
            };
            Ok(Box::pin(chunks) as RawChunkStream)
        })
    }

    fn own_token_count(&self, request: Request) -> BoxFuture<'_, Result<u64>> {
        Box::pin(async move {
            pause().await;
            let response = self.0.generate(request).await?;
            pause().await;
            Ok(response.usage.input)
        })
    }

    fn own_embeddings<'a>(
        &'a self,
        _: &Dialect,
        body: Bytes,
        _: CallContext,
    ) -> BoxFuture<'a, Result<Bytes>> {
        Box::pin(async move {
            pause().await;
            self.0.generate(Request::user("embed")).await?;
            pause().await;
            Ok(body)
        })
    }

    fn own_image_model(&self) -> Option<&dyn ImageModel> {
        Some(self)
    }

    fn own_embedding_model(&self) -> Option<&dyn EmbeddingModel> {
        Some(self)
    }
}

fn incapable() -> Error {
    Error::new(ErrorKind::Unsupported, "scripted")
}

impl ImageModel for Stepwise {
    fn generate_images(&self, request: ImageRequest) -> BoxFuture<'_, Result<ImageResponse>> {
        Box::pin(async move {
            pause().await;
            let painter = self.0.image_model().ok_or_else(incapable)?;
            let response = painter.generate_images(request).await;
            pause().await;
            response
        })
    }
}

impl EmbeddingModel for Stepwise {
    fn batch_limits(&self) -> BatchLimits {
        BatchLimits {
            max_texts: 16,
            max_bytes: usize::MAX,
        }
    }

    fn embed_batch<'a>(
        &'a self,
        texts: &'a [String],
        request: &'a EmbeddingRequest,
    ) -> BoxFuture<'a, Result<EmbeddingResponse>> {
        Box::pin(async move {
            pause().await;
            let embedder = self.0.embedding_model().ok_or_else(incapable)?;
            let response = embedder.embed_batch(texts, request).await;
            pause().await;
            response
        })
    }
}

/// A frame of 100 bytes and the content.
fn raw_chunk(event: Event) -> RawChunk {
    RawChunk {
        bytes: Bytes::from(vec![b'x'; 100 + event.content_len()]),
        content_bytes: event.content_len(),
        unreported: OutputCounter::default().event(&event),
        events: vec![event],
    }
}

/// A stream that is pending once before each item.
struct Paused<T> {
    stream: EventStream,
    paused: bool,
    read: fn(Event) -> T,
}

impl<T> futures_core::Stream for Paused<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if !std::mem::replace(&mut self.paused, true) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let polled = self.stream.as_mut().poll_next(cx);
        if polled.is_ready() {
            self.paused = false;
        }
        let read = self.read;
        polled.map(|item| item.map(|event| event.map(read)))
    }
}
