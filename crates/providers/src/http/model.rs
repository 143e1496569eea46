//! One model of a provider over HTTP.

use std::sync::Arc;

use bytes::Bytes;
use majordomo_llm::{
    BoxFuture, Capabilities, Error, EventStream, Model, Request, Response, Result,
};
use majordomo_wire::Codec;

use super::events::Events;
use super::known::Known;
use super::{HttpProvider, backstop};
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
            request.note(loss.into());
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
                let response = self.codec().read_response(body, first_call);
                let mut response = response.map_err(|error| head.describe(error))?;
                response.model.clone_from(&self.name);
                Ok(response)
            }
            Reply::Refused(head, body) => Err(self.provider.refusal(&head, &body)),
        }
    }

    async fn open(&self, request: Request) -> Result<EventStream> {
        let images = request.image_count() > 0;
        let outgoing = self.write(request, true)?;
        self.provider.learn(&self.id, &self.known);
        let sending = self.provider.transport().stream(outgoing);
        match self.unless_blind(images, sending).await? {
            Reply::Accepted(head, body) => {
                let reader = self.codec().stream_reader();
                let (provider, model) = (self.provider.clone(), self.id.clone());
                Ok(Box::pin(Events::new(body, reader, head, provider, model)))
            }
            Reply::Refused(head, body) => Err(self.provider.refusal(&head, &body)),
        }
    }

    fn named(&self, error: Error) -> Error {
        let error = error.with_target(&self.provider.0.name, &self.id);
        self.provider.named(error)
    }
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
        Box::pin(async move { self.open(request).await.map_err(|e| self.named(e)) })
    }

    fn estimate_tokens(&self, request: &Request) -> u64 {
        estimate::tokens(request, &self.provider.recipe().tokens(&self.id))
    }
}
