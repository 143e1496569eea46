//! Model lists, page by page.

use std::sync::Arc;

use bytes::Bytes;
use majordomo_llm::{ModelInfo, Request, Result};

use super::{HttpProvider, offload};
use crate::transport::{TransportRequest, TransportResponse};

/// Maximum number of pages, against a server that never ends the list.
const MAX_PAGES: usize = 50;

/// Fetches all pages of a provider's model list.
pub(super) async fn list_models(provider: &HttpProvider) -> Result<Vec<ModelInfo>> {
    let recipe = &provider.0.recipe;
    let mut models = Vec::new();
    let mut next = Some(String::new());
    for _ in 0..MAX_PAGES {
        let Some(page) = next.take() else { break };
        let body = get(provider, &format!("{}{page}", recipe.models_path())).await?;
        let recipe = Arc::clone(recipe);
        let decode = move |body: Bytes| {
            let models = recipe.protocol().codec().read_models(&body)?;
            Ok((models, recipe.next_page(&body)))
        };
        let (listed, following) = offload::decode(body, decode).await?;
        models.extend(listed);
        // A page that links to itself is the last.
        next = following.filter(|next| *next != page);
    }
    Ok(models)
}

/// Sends a GET request.
pub(super) async fn get(provider: &HttpProvider, path: &str) -> Result<Bytes> {
    let uri = provider.uri(path)?;
    send(provider, TransportRequest::get(uri), None).await
}

/// Sends a request on behalf of `request`, if any.
pub(super) async fn send(
    provider: &HttpProvider,
    outgoing: TransportRequest,
    request: Option<&Request>,
) -> Result<Bytes> {
    let outgoing = provider.apply_settings(outgoing, request)?;
    match provider.transport().send(outgoing).await? {
        TransportResponse::Success(_, body) => Ok(body),
        TransportResponse::ErrorStatus(head, body) => Err(provider.decode_error(&head, &body)),
    }
}
