//! A model of a provider over HTTP.

use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ::http::Uri;
use bytes::Bytes;
use majordomo_llm::{
    BoxFuture, CallContext, Capabilities, Change, ClientCredential, Dialect, EmbeddingModel, Error,
    ErrorKind, EventStream, ImageModel, Model, ModelExtras, Quota, RawChunkStream, Request,
    Response, Result,
};
use majordomo_wire::{Codec, EmulatedCall, Protocol, StreamReader};

use super::discovered_traits::DiscoveredTraits;
use super::event_decoder::EventDecoder;
use super::quota::read_quota;
use super::raw_chunks::RawChunks;
use super::required_limit::set_required_limit;
use super::streamed_body::StreamedBody;
use super::{HttpProvider, client_credential, offload, preflight};
use crate::estimate;
use crate::transport::{ResponseHead, TransportRequest, TransportResponse};

/// An encoded request, with the way to read its response.
struct EncodedCall {
    post: TransportRequest,
    /// Whether it asks for usage although its client did not.
    usage_added: bool,
    /// Whether its forced call is emulated.
    emulated: Option<EmulatedCall>,
}

/// An open stream and its reader.
struct OpenedStream {
    body: StreamedBody,
    reader: Box<dyn StreamReader>,
    /// Whether it has usage that its client did not ask for.
    usage_added: bool,
}

pub(super) struct HttpModel {
    pub(super) provider: HttpProvider,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) traits: Arc<DiscoveredTraits>,
    /// The path of the first call and its URI.
    usual_uri: OnceLock<(String, Uri)>,
    /// The key's rate limits as the last response reported them, if the provider has several
    /// keys.
    quota: Mutex<Option<Quota>>,
}

impl HttpModel {
    pub(super) fn new(provider: HttpProvider, id: &str) -> Self {
        Self {
            name: format!("{}/{id}", provider.0.name),
            traits: provider.traits(id),
            id: id.to_owned(),
            usual_uri: OnceLock::new(),
            quota: Mutex::default(),
            provider,
        }
    }

    pub(super) fn codec(&self) -> &'static dyn Codec {
        self.provider.recipe().protocol().codec()
    }

    /// Adapts a request to this model, with the reasoning that its provider produced.
    pub(super) fn prepare(&self, request: Request) -> Request {
        let dialect = self.codec().dialect();
        let request = majordomo_wire::restore_reasoning(request, &dialect);
        self.provider.recipe().prepare(request, &self.id)
    }

    /// Encodes a request for this model, recording what is lost.
    fn encode(&self, request: Request, stream: bool) -> Result<EncodedCall> {
        let recipe = self.provider.recipe();
        let traits = self.traits.current();
        preflight::check_request(&request, &traits.capabilities, stream)?;
        preflight::check_image_urls(&request, self.codec())?;
        let mut request = request;
        if let Some(fallback) = recipe.required_output_limit(&self.id)
            && !self.forwards(&request)
        {
            let estimate = |request: &Request| self.own_estimate(request);
            set_required_limit(&mut request, &traits.capabilities, fallback, estimate);
        }
        let request = self.prepare(request);
        let to = majordomo_wire::Outgoing::new(&self.id).stream(stream);
        let to = recipe.encoding(to, &request, &traits);
        let written = self.codec().write_request(&request, &to);
        let emulated = self.codec().emulated_call(&request, &to);
        for loss in written.losses {
            request.record_change(loss.into());
        }
        // Bodies that we encode ourselves already ask.
        let needed = request.options().usage_needed;
        let forwarded = request.source().is_some_and(|source| {
            let asks = stream && recipe.asks_for_usage(needed);
            asks && *source.dialect() == self.codec().dialect()
        });
        let (body, usage_added) = match forwarded {
            true => majordomo_wire::ask_for_usage(written.body),
            false => (written.body, false),
        };
        let body = match self.marks_cache(&request) {
            true => {
                let (body, marked) = majordomo_wire::mark_prompt_cache(body);
                if let Some(places) = marked {
                    request.record_change(Change::new("cache_control", "added").detail(places));
                }
                body
            }
            false => body,
        };
        let uri = self.uri(&recipe.path(&self.id, &request, stream))?;
        let post = TransportRequest::post(uri, body).json();
        let post = self.provider.apply_settings(post, Some(&request))?;
        Ok(EncodedCall {
            post,
            usage_added,
            emulated,
        })
    }

    /// The URI of a path; most calls of a model have the same.
    fn uri(&self, path: &str) -> Result<Uri> {
        if let Some((known, uri)) = self.usual_uri.get()
            && known == path
        {
            return Ok(uri.clone());
        }
        let uri = self.provider.uri(path)?;
        // Another call may have been first.
        let _ = self.usual_uri.set((path.to_owned(), uri.clone()));
        Ok(uri)
    }

    /// Whether to set prompt-cache breakpoints: if configured, and the client set none.
    fn marks_cache(&self, request: &Request) -> bool {
        let configured = self.provider.0.settings.auto_cache;
        request.options().auto_cache.unwrap_or(configured)
            && self.provider.recipe().protocol() == Protocol::Messages
            && !majordomo_wire::sets_cache_marks(request)
    }

    /// Records the quota that a response reports, if the provider has several keys.
    pub(super) fn read_quota(&self, head: &ResponseHead) {
        if self.provider.0.reads_quota
            && let Some(quota) = read_quota(head, self.provider.transport().now())
        {
            *self.last_quota() = Some(quota);
        }
    }

    fn last_quota(&self) -> MutexGuard<'_, Option<Quota>> {
        self.quota.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the request is in the provider's own dialect, so that the provider itself
    /// validates it.
    fn forwards(&self, request: &Request) -> bool {
        let source = request.source();
        source.is_some_and(|source| *source.dialect() == self.codec().dialect())
    }

    /// Sends a request, but aborts one with images if discovery finds that the
    /// model takes none: some servers ignore images silently.
    ///
    /// Takes a pinned future: by value, each branch would reserve room for a copy.
    async fn unless_images_unsupported<T>(
        &self,
        images: bool,
        sending: Pin<&mut impl Future<Output = Result<T>>>,
    ) -> Result<T> {
        if !images {
            return sending.await;
        }
        tokio::select! {
            biased;
            () = self.traits.images_unsupported() => Err(preflight::takes_no_images()),
            sent = sending => sent,
        }
    }

    pub(super) async fn generate_response(&self, request: Request) -> Result<Response> {
        let first_call = request.prompt().next_call_number();
        let images = request.prompt().image_count() > 0;
        let EncodedCall { post, emulated, .. } = self.encode(request, false)?;
        self.provider.start_discovery(&self.id, &self.traits);
        let sending = pin!(self.provider.transport().send(post));
        match self.unless_images_unsupported(images, sending).await? {
            TransportResponse::Success(head, body) => {
                self.read_quota(&head);
                let body = without_byte_order_mark(body);
                let codec = self.codec();
                let response =
                    offload::decode(body, move |body| codec.read_response(body, first_call)).await;
                let mut response = response.map_err(|error| head.add_request_id(error))?;
                if let Some(emulated) = emulated {
                    response = emulated.read_response(response);
                }
                response.model.clone_from(&self.name);
                Ok(response)
            }
            TransportResponse::ErrorStatus(head, body) => {
                self.read_quota(&head);
                Err(self.provider.decode_error(&head, &body))
            }
        }
    }

    async fn open_stream(&self, request: Request) -> Result<OpenedStream> {
        let images = request.prompt().image_count() > 0;
        let credential = self.provider.client_credential(&request).cloned();
        let EncodedCall {
            post,
            usage_added,
            emulated,
        } = self.encode(request, true)?;
        self.provider.start_discovery(&self.id, &self.traits);
        let sending = pin!(self.provider.transport().stream(post));
        match self.unless_images_unsupported(images, sending).await? {
            TransportResponse::Success(head, body) => {
                self.read_quota(&head);
                let (provider, model) = (self.provider.clone(), self.id.clone());
                let mut body = StreamedBody::new(body, &head, provider, model);
                body.sent_with(credential);
                let reader = self.codec().stream_reader();
                let reader = match emulated {
                    Some(emulated) => emulated.read_stream(reader),
                    None => reader,
                };
                Ok(OpenedStream {
                    body,
                    reader,
                    usage_added,
                })
            }
            TransportResponse::ErrorStatus(head, body) => {
                self.read_quota(&head);
                Err(self.provider.decode_error(&head, &body))
            }
        }
    }

    /// Names the target in an error, and marks it as the client's if the client's own
    /// credential was used.
    pub(super) fn attribute(&self, error: Error, credential: Option<&ClientCredential>) -> Error {
        let error = error.with_target(&self.provider.0.name, &self.id);
        client_credential::attribute(self.provider.attribute(error), credential)
    }
}

pub(super) fn unsupported(text: &str) -> Error {
    Error::new(ErrorKind::Unsupported, text)
}

/// Strips the byte order mark that some proxies prepend.
fn without_byte_order_mark(body: Bytes) -> Bytes {
    match body.strip_prefix("\u{feff}".as_bytes()) {
        Some(rest) => body.slice_ref(rest),
        None => body,
    }
}

impl Model for HttpModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self) -> Arc<Capabilities> {
        self.traits.current().capabilities
    }

    fn generate(&self, request: Request) -> BoxFuture<'_, Result<Response>> {
        Box::pin(async move {
            let credential = self.provider.client_credential(&request).cloned();
            self.generate_response(request)
                .await
                .map_err(|e| self.attribute(e, credential.as_ref()))
        })
    }

    fn events(&self, request: Request) -> BoxFuture<'_, Result<EventStream>> {
        Box::pin(async move {
            let recorder = request.raw_recorder().cloned();
            let credential = self.provider.client_credential(&request).cloned();
            let OpenedStream { body, reader, .. } = self
                .open_stream(request)
                .await
                .map_err(|e| self.attribute(e, credential.as_ref()))?;
            let events = EventDecoder::new(body, reader);
            let events = events.recording(recorder, self.codec().dialect());
            Ok(Box::pin(events) as EventStream)
        })
    }

    fn extras(&self) -> Option<&dyn ModelExtras> {
        Some(self)
    }
}

impl ModelExtras for HttpModel {
    fn own_preview(&self, request: Request) -> Result<Vec<Change>> {
        let (request, notes) = request.recording_changes();
        let encoded = self.encode(request, false);
        encoded.map_err(|e| self.attribute(e, None))?;
        Ok(notes.take())
    }

    fn own_dialect(&self) -> Option<Dialect> {
        Some(self.codec().dialect())
    }

    fn own_raw_chunks(&self, request: Request) -> BoxFuture<'_, Result<RawChunkStream>> {
        Box::pin(async move {
            let credential = self.provider.client_credential(&request).cloned();
            let OpenedStream {
                body,
                reader,
                usage_added,
            } = self
                .open_stream(request)
                .await
                .map_err(|e| self.attribute(e, credential.as_ref()))?;
            let frames = self.provider.recipe().protocol().frames();
            let mut chunks = RawChunks::new(body, reader, frames);
            if usage_added {
                chunks.hide_usage();
            }
            Ok(Box::pin(chunks) as RawChunkStream)
        })
    }

    fn own_token_count(&self, request: Request) -> BoxFuture<'_, Result<u64>> {
        Box::pin(async move {
            let credential = self.provider.client_credential(&request).cloned();
            self.request_token_count(request)
                .await
                .map_err(|e| self.attribute(e, credential.as_ref()))
        })
    }

    fn own_embeddings<'a>(
        &'a self,
        dialect: &Dialect,
        body: Bytes,
        context: CallContext,
    ) -> BoxFuture<'a, Result<Bytes>> {
        let path = self.provider.recipe().embeddings_path(dialect);
        Box::pin(async move {
            let context = context.add_to(Request::default());
            let credential = self.provider.client_credential(&context);
            let embedded = self.request_embedding(path, body, &context).await;
            embedded.map_err(|e| self.attribute(e, credential))
        })
    }

    fn own_image_model(&self) -> Option<&dyn ImageModel> {
        let api = self.provider.recipe().images_api(&self.id);
        api.map(|_| self as &dyn ImageModel)
    }

    fn own_embedding_model(&self) -> Option<&dyn EmbeddingModel> {
        let api = self.provider.recipe().embeddings_api(&self.id);
        api.map(|_| self as &dyn EmbeddingModel)
    }

    fn own_quota(&self) -> Option<Quota> {
        self.last_quota().take()
    }

    fn own_estimate(&self, request: &Request) -> u64 {
        estimate::estimate_tokens(request, &self.provider.recipe().token_rule(&self.id))
    }
}
