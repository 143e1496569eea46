//! Lists of models, page by page.

use std::sync::Arc;

use bytes::Bytes;
use majordomo_llm::{ModelInfo, Request, Result};

use super::{HttpProvider, offload};
use crate::transport::{Outgoing, Reply};

/// More pages than any provider has; a server that goes on for ever is cut here.
const MOST_PAGES: usize = 50;

/// All models that a provider lists.
pub(super) async fn models(provider: &HttpProvider) -> Result<Vec<ModelInfo>> {
    let recipe = &provider.0.recipe;
    let mut models = Vec::new();
    let mut next = Some(String::new());
    for _ in 0..MOST_PAGES {
        let Some(page) = next.take() else { break };
        let body = get(provider, &format!("{}{page}", recipe.models_path())).await?;
        let recipe = Arc::clone(recipe);
        let read = move |body: Bytes| {
            let models = recipe.protocol().codec().read_models(&body)?;
            Ok((models, recipe.next_page(&body)))
        };
        let (listed, following) = offload::read(body, read).await?;
        models.extend(listed);
        // A page that names itself as the next one is the last.
        next = following.filter(|next| *next != page);
    }
    Ok(models)
}

/// The answer to a question that costs nothing.
pub(super) async fn get(provider: &HttpProvider, path: &str) -> Result<Bytes> {
    let address = provider.address(path)?;
    send(provider, Outgoing::get(address), None).await
}

/// Sends something that belongs to this request, or to none.
pub(super) async fn send(
    provider: &HttpProvider,
    outgoing: Outgoing,
    request: Option<&Request>,
) -> Result<Bytes> {
    let outgoing = provider.dress(outgoing, request)?;
    match provider.transport().whole(outgoing).await? {
        Reply::Accepted(_, body) => Ok(body),
        Reply::Refused(head, body) => Err(provider.refusal(&head, &body)),
    }
}
