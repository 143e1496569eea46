//! [`Metered`], a model that takes a seat, calls another model and measures it.
//!
//! It wraps the single targets of a service's spec, inside the chain: there the error
//! of a full service triggers failover, before any attempt is logged. All targets of
//! one service share its [`ServiceStats`].

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::Bytes;
use futures_core::Stream;
use majordomo::clock::Clock;
use majordomo::llm::{
    BatchLimits, CallContext, Change, Dialect, EmbeddingModel, ImageModel, ModelExtras, Quota,
    RawChunk, RawChunkStream,
};
use majordomo::{
    BoxFuture, Capabilities, EmbeddingRequest, EmbeddingResponse, Error, ErrorKind, Event,
    EventStream, ImageRequest, ImageResponse, Model, ModelExt, Request, Response, Result, Usage,
};

use super::{Seat, ServiceStats};

/// Wraps a model with seats and measurements.
pub struct Metered {
    model: Arc<dyn Model>,
    stats: Arc<ServiceStats>,
    clock: Arc<dyn Clock>,
}

impl Metered {
    /// Measures `model` on behalf of a service.
    pub fn new(model: Arc<dyn Model>, stats: Arc<ServiceStats>, clock: Arc<dyn Clock>) -> Self {
        Self {
            model,
            stats,
            clock,
        }
    }

    /// Takes a seat and starts the timer.
    async fn meter(&self) -> Result<Meter> {
        let seat = self.stats.take_seat().await.map_err(|full| {
            let (seats, waited) = (full.seats, full.waited.as_secs_f64());
            let text = format!(
                "all {seats} seats of the service are in use, and none became free within {waited:.1} s"
            );
            Error::new(ErrorKind::Busy, text)
        })?;
        Ok(Meter {
            stats: Arc::clone(&self.stats),
            clock: Arc::clone(&self.clock),
            began: self.clock.now(),
            first: None,
            usage: None,
            ended: false,
            _seat: seat,
        })
    }
}

impl Model for Metered {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn capabilities(&self) -> Arc<Capabilities> {
        self.model.capabilities()
    }

    fn generate(&self, request: Request) -> BoxFuture<'_, Result<Response>> {
        Box::pin(async move {
            let mut meter = self.meter().await?;
            match self.model.generate(request).await {
                Ok(response) => {
                    meter.usage(response.usage);
                    meter.finish();
                    Ok(response)
                }
                Err(error) => {
                    meter.fail();
                    Err(error)
                }
            }
        })
    }

    fn events(&self, request: Request) -> BoxFuture<'_, Result<EventStream>> {
        Box::pin(async move {
            let mut meter = self.meter().await?;
            match self.model.events(request).await {
                Ok(events) => {
                    let metered = MeteredStream::new(events, meter, read_event);
                    Ok(Box::pin(metered) as EventStream)
                }
                Err(error) => {
                    meter.fail();
                    Err(error)
                }
            }
        })
    }

    fn extras(&self) -> Option<&dyn ModelExtras> {
        Some(self)
    }
}

impl ModelExtras for Metered {
    fn own_estimate(&self, request: &Request) -> u64 {
        self.model.estimate_tokens(request)
    }

    fn own_preview(&self, request: Request) -> Result<Vec<Change>> {
        self.model.preview(request)
    }

    fn own_dialect(&self) -> Option<Dialect> {
        self.model.dialect()
    }

    fn own_raw_chunks(&self, request: Request) -> BoxFuture<'_, Result<RawChunkStream>> {
        Box::pin(async move {
            let mut meter = self.meter().await?;
            match self.model.raw_chunks(request).await {
                Ok(pieces) => {
                    let metered = MeteredStream::new(pieces, meter, read_piece);
                    Ok(Box::pin(metered) as RawChunkStream)
                }
                Err(error) => {
                    meter.fail();
                    Err(error)
                }
            }
        })
    }

    fn own_token_count(&self, request: Request) -> BoxFuture<'_, Result<u64>> {
        self.model.count_tokens(request)
    }

    fn own_quota(&self) -> Option<Quota> {
        self.model.extras()?.own_quota()
    }

    fn own_embeddings<'a>(
        &'a self,
        dialect: &Dialect,
        body: Bytes,
        context: CallContext,
    ) -> BoxFuture<'a, Result<Bytes>> {
        let dialect = dialect.clone();
        Box::pin(async move {
            let mut meter = self.meter().await?;
            let embedded = self.model.forward_embeddings(&dialect, body, context).await;
            match embedded {
                Ok(_) => meter.finish(),
                Err(_) => meter.fail(),
            }
            embedded
        })
    }

    fn own_image_model(&self) -> Option<&dyn ImageModel> {
        self.model.image_model().map(|_| self as &dyn ImageModel)
    }

    fn own_embedding_model(&self) -> Option<&dyn EmbeddingModel> {
        self.model
            .embedding_model()
            .map(|_| self as &dyn EmbeddingModel)
    }
}

impl ImageModel for Metered {
    fn generate_images(&self, request: ImageRequest) -> BoxFuture<'_, Result<ImageResponse>> {
        Box::pin(async move {
            let mut meter = self.meter().await?;
            let Some(painter) = self.model.image_model() else {
                let text = "it generates no images";
                return Err(Error::new(ErrorKind::Unsupported, text));
            };
            let painted = painter.generate_images(request).await;
            match &painted {
                Ok(response) => {
                    meter.usage(response.usage);
                    meter.finish();
                }
                Err(_) => meter.fail(),
            }
            painted
        })
    }
}

impl EmbeddingModel for Metered {
    /// A model that embeds nothing is never called.
    fn batch_limits(&self) -> BatchLimits {
        let inner = self.model.embedding_model();
        inner.map_or(
            BatchLimits {
                max_texts: 1,
                max_bytes: 0,
            },
            EmbeddingModel::batch_limits,
        )
    }

    fn embed_batch<'a>(
        &'a self,
        texts: &'a [String],
        request: &'a EmbeddingRequest,
    ) -> BoxFuture<'a, Result<EmbeddingResponse>> {
        Box::pin(async move {
            let mut meter = self.meter().await?;
            let Some(embedder) = self.model.embedding_model() else {
                let text = "it embeds no texts";
                return Err(Error::new(ErrorKind::Unsupported, text));
            };
            let embedded = embedder.embed_batch(texts, request).await;
            match &embedded {
                Ok(response) => {
                    meter.usage(response.usage);
                    meter.finish();
                }
                Err(_) => meter.fail(),
            }
            embedded
        })
    }
}

fn read_piece(meter: &mut Meter, piece: &RawChunk) {
    for event in &piece.events {
        read_event(meter, event);
    }
}

/// Updates the meter from an event.
fn read_event(meter: &mut Meter, event: &Event) {
    if event.is_semantic() {
        meter.first_token();
    }
    match event {
        Event::Usage(usage) => meter.usage(*usage),
        Event::Finish(_) => meter.finish(),
        _ => {}
    }
}

/// The seat and the timer of one attempt. Dropping it frees the seat; an attempt that
/// neither finished nor failed was cancelled by its caller.
pub struct Meter {
    stats: Arc<ServiceStats>,
    clock: Arc<dyn Clock>,
    began: Instant,
    first: Option<Instant>,
    /// The usage reported so far; recorded once, at the end.
    usage: Option<Usage>,
    ended: bool,
    _seat: Seat,
}

impl Meter {
    /// Records the first content of a stream; later calls have no effect.
    pub fn first_token(&mut self) {
        if self.first.is_none() {
            let now = self.clock.now();
            self.first = Some(now);
            let after = now.saturating_duration_since(self.began);
            self.stats.record_first_token(after);
        }
    }

    /// Sets the usage reported so far.
    pub fn usage(&mut self, usage: Usage) {
        self.usage = Some(usage);
    }

    /// The response is complete.
    pub fn finish(&mut self) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let now = self.clock.now();
        let took = now.saturating_duration_since(self.began);
        self.stats.record_response(took, now);
        if let (Some(first), Some(usage)) = (self.first, &self.usage) {
            let took = now.saturating_duration_since(first);
            self.stats.record_speed(usage.output, took);
        }
    }

    /// The attempt failed.
    pub fn fail(&mut self) {
        if !std::mem::replace(&mut self.ended, true) {
            self.stats.record_failure();
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        // Tokens are billed however the attempt ended.
        if let Some(usage) = self.usage.take() {
            self.stats.record_usage(&usage, self.clock.now());
        }
    }
}

/// A metered stream. A function updates the meter from each item, so any stream of
/// results can be measured. The seat is freed with the last item, or when the stream
/// is dropped.
pub struct MeteredStream<S, T> {
    stream: S,
    /// `None` after the end.
    meter: Option<Meter>,
    read: fn(&mut Meter, &T),
}

impl<S, T> MeteredStream<S, T> {
    /// Measures a stream; `read` updates the meter from an item.
    pub fn new(stream: S, meter: Meter, read: fn(&mut Meter, &T)) -> Self {
        Self {
            stream,
            meter: Some(meter),
            read,
        }
    }
}

impl<S, T> Stream for MeteredStream<S, T>
where
    S: Stream<Item = Result<T>> + Unpin,
{
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let item = ready!(Pin::new(&mut this.stream).poll_next(cx));
        if let Some(meter) = &mut this.meter {
            match &item {
                Some(Ok(item)) => (this.read)(meter, item),
                // A stream that ends without finishing its meter was truncated.
                Some(Err(_)) | None => meter.fail(),
            }
            if meter.ended {
                this.meter = None;
            }
        }
        Poll::Ready(item)
    }
}
