//! The vision proxy as a processor: bound to `proxy_vision.enabled`.

use std::sync::Arc;

use majordomo::{BoxFuture, Chain, Change, Registry};
use majordomo_rules::processors::{Processor, ProcessorError, ProcessorTask};
use majordomo_vision::{Scope, Vision};

use super::partition::Service;
use super::route::Asking;
use crate::outcome::reason;

/// Describes a request's images with the services of the rule that matched.
pub(super) struct Describe {
    vision: Arc<Vision>,
    scope: Scope,
    registry: Registry,
}

impl Describe {
    pub(super) fn new(asking: &Asking<'_>) -> Self {
        Self {
            vision: Arc::clone(asking.vision),
            scope: asking.scope.clone(),
            registry: asking.registry.clone(),
        }
    }

    /// Those of the rule's services that are in use, as one chain.
    fn describers(&self, task: &ProcessorTask<'_, '_, Arc<Service>>) -> Option<Chain> {
        let active = task.services.iter().filter(|service| service.active);
        let model = task.subject.model();
        let chains = active.filter_map(|service| service.chain(model, &self.registry).ok());
        let chains: Vec<Chain> = chains.collect();
        Chain::join(&chains)
    }
}

impl Processor<Arc<Service>> for Describe {
    fn process<'a>(
        &'a self,
        task: ProcessorTask<'a, '_, Arc<Service>>,
    ) -> BoxFuture<'a, Result<Vec<Change>, ProcessorError>> {
        Box::pin(async move {
            let describer = self.describers(&task);
            let request = std::mem::take(task.request);
            let kept = request.clone();
            match self
                .vision
                .describe(request, describer.as_ref(), &self.scope)
                .await
            {
                Ok(described) => {
                    *task.request = described.request;
                    Ok(described.changes)
                }
                Err(error) => {
                    *task.request = kept;
                    let why = format!("an image could not be described ({})", reason(&error));
                    Err(ProcessorError::from(why))
                }
            }
        })
    }

    fn preview<'a>(
        &'a self,
        task: ProcessorTask<'a, '_, Arc<Service>>,
    ) -> BoxFuture<'a, Result<Vec<Change>, ProcessorError>> {
        Box::pin(async move {
            let describer = self.describers(&task);
            let request = std::mem::take(task.request);
            let preview = self
                .vision
                .preview(request, describer.as_ref(), &self.scope);
            let (request, changes) = preview.await;
            *task.request = request;
            Ok(changes)
        })
    }
}
