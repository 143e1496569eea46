//! One model of a provider over HTTP.

use std::sync::Arc;

use bytes::Bytes;
use majordomo_llm::{
    BoxFuture, Capabilities, Change, Dialect, Error, ErrorKind, EventStream, Model, RawChunkStream,
    Request, Response, Result,
};
use majordomo_wire::Codec;

use super::answer::Answer;
use super::events::Events;
use super::known::Known;
use super::pieces::Pieces;
use super::{HttpProvider, backstop, list, offload};
use crate::estimate;
use crate::transport::{Outgoing, Reply};

pub(super) struct HttpModel {
    provider: HttpProvider,
    id: String,
    name: String,
    known: Arc<Known>,
}

impl HttpModel {
    pub(super) fn new(provider: HttpProvider, id: &str) -> Self {
        Self {
            name: format!("{}/{id}", provider.0.name),
            known: provider.known(id),
            id: id.to_owned(),
            provider,
        }
    }

    fn codec(&self) -> &'static dyn Codec {
        self.provider.recipe().protocol().codec()
    }

    /// The request as bytes for this model; what they do not say is noted.
    fn write(&self, request: Request, stream: bool) -> Result<Outgoing> {
        let recipe = self.provider.recipe();
        let known = self.known.now();
        backstop::check(&request, &known.capabilities, stream)?;
        let request = recipe.prepare(request, &self.id);
        let to = majordomo_wire::Outgoing::new(&self.id).stream(stream);
        let to = recipe.write(to, &request, &known);
        let written = self.codec().write_request(&request, &to);
        for loss in written.losses {
            request.record_change(loss.into());
        }
        let address = self
            .provider
            .address(&recipe.path(&self.id, &request, stream))?;
        let post = Outgoing::post(address, written.body);
        let post = post.header("content-type", "application/json")?;
        self.provider.dress(post, Some(&request))
    }

    /// Sends a request with images, unless the server tells meanwhile that the
    /// model cannot see them: some answer as if there were none.
    async fn unless_blind<T>(
        &self,
        images: bool,
        sending: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        if !images {
            return sending.await;
        }
        tokio::select! {
            biased;
            () = self.known.blind() => Err(backstop::takes_no_images()),
            sent = sending => sent,
        }
    }

    async fn answer(&self, request: Request) -> Result<Response> {
        let first_call = request.next_call_number();
        let images = request.image_count() > 0;
        let outgoing = self.write(request, false)?;
        self.provider.learn(&self.id, &self.known);
        let sending = self.provider.transport().whole(outgoing);
        match self.unless_blind(images, sending).await? {
            Reply::Accepted(head, body) => {
                let body = without_byte_order_mark(body);
                let codec = self.codec();
                let response =
                    offload::read(body, move |body| codec.read_response(body, first_call)).await;
                let mut response = response.map_err(|error| head.describe(error))?;
                response.model.clone_from(&self.name);
                Ok(response)
            }
            Reply::Refused(head, body) => Err(self.provider.refusal(&head, &body)),
        }
    }

    async fn open(&self, request: Request) -> Result<Answer> {
        let images = request.image_count() > 0;
        let outgoing = self.write(request, true)?;
        self.provider.learn(&self.id, &self.known);
        let sending = self.provider.transport().stream(outgoing);
        match self.unless_blind(images, sending).await? {
            Reply::Accepted(head, body) => {
                let (provider, model) = (self.provider.clone(), self.id.clone());
                Ok(Answer::new(body, &head, provider, model))
            }
            Reply::Refused(head, body) => Err(self.provider.refusal(&head, &body)),
        }
    }

    async fn count(&self, request: Request) -> Result<u64> {
        let recipe = self.provider.recipe();
        let (Some(counter), Some(path)) =
            (self.codec().count_tokens(), recipe.count_path(&self.id))
        else {
            return Err(unsupported("it does not count tokens"));
        };
        let request = recipe.prepare(request, &self.id);
        let to = majordomo_wire::Outgoing::new(&self.id);
        let to = recipe.write(to, &request, &self.known.now());
        let written = counter.write_request(&request, &to);
        let post = Outgoing::post(self.provider.address(&path)?, written.body);
        let post = post.header("content-type", "application/json")?;
        let body = list::send(&self.provider, post, Some(&request)).await?;
        counter.read_response(&body)
    }

    async fn embedded(&self, path: Option<&str>, body: Bytes) -> Result<Bytes> {
        let Some(path) = path else {
            return Err(unsupported("it makes no embeddings for this dialect"));
        };
        let body = majordomo_wire::with_model(&body, &self.id);
        let post = Outgoing::post(self.provider.address(path)?, body);
        let post = post.header("content-type", "application/json")?;
        list::send(&self.provider, post, None).await
    }

    fn named(&self, error: Error) -> Error {
        let error = error.with_target(&self.provider.0.name, &self.id);
        self.provider.named(error)
    }
}

fn unsupported(text: &str) -> Error {
    Error::new(ErrorKind::Unsupported, text)
}

/// Some proxies put one before the JSON.
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
        self.known.now().capabilities
    }

    fn generate(&self, request: Request) -> BoxFuture<'_, Result<Response>> {
        Box::pin(async move { self.answer(request).await.map_err(|e| self.named(e)) })
    }

    fn events(&self, request: Request) -> BoxFuture<'_, Result<EventStream>> {
        Box::pin(async move {
            let answer = self.open(request).await.map_err(|e| self.named(e))?;
            let events = Events::new(answer, self.codec().stream_reader());
            Ok(Box::pin(events) as EventStream)
        })
    }

    fn preview(&self, request: Request) -> Result<Vec<Change>> {
        let (request, notes) = request.recording_changes();
        self.write(request, false).map_err(|e| self.named(e))?;
        Ok(notes.take())
    }

    fn dialect(&self) -> Option<Dialect> {
        Some(self.codec().dialect())
    }

    fn raw_chunks(&self, request: Request) -> BoxFuture<'_, Result<RawChunkStream>> {
        Box::pin(async move {
            let answer = self.open(request).await.map_err(|e| self.named(e))?;
            let frames = self.provider.recipe().protocol().frames();
            let pieces = Pieces::new(answer, self.codec().stream_reader(), frames);
            Ok(Box::pin(pieces) as RawChunkStream)
        })
    }

    fn count_tokens(&self, request: Request) -> BoxFuture<'_, Result<u64>> {
        Box::pin(async move { self.count(request).await.map_err(|e| self.named(e)) })
    }

    fn embed<'a>(&'a self, dialect: &Dialect, body: Bytes) -> BoxFuture<'a, Result<Bytes>> {
        let path = self.provider.recipe().embeddings_path(dialect);
        Box::pin(async move {
            let embedded = self.embedded(path, body).await;
            embedded.map_err(|e| self.named(e))
        })
    }

    fn estimate_tokens(&self, request: &Request) -> u64 {
        estimate::tokens(request, &self.provider.recipe().tokens(&self.id))
    }
}
