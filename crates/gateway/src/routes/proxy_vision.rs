//! Binds the rule operation `proxy_vision.enabled` to its processor, the vision proxy.

use std::sync::Arc;

use majordomo::llm::Change;
use majordomo::{BoxFuture, Chain, Registry};
use majordomo_rules::processors::{Processor, ProcessorError, ProcessorTask, Processors};
use majordomo_vision::{Scope, Vision};

use super::partition::RouteService;
use super::route::RoutingContext;
use crate::outcome::reason;

/// Binds every processor that rules can run to its operation.
pub(super) fn bind_processors(context: &RoutingContext<'_>) -> Processors<Arc<RouteService>> {
    let mut processors = Processors::default();
    processors.register(
        "proxy_vision",
        "enabled",
        ProxyVisionProcessor::new(context),
    );
    processors
}

/// Describes a request's images, using the services of the matched rule as describers.
struct ProxyVisionProcessor {
    vision: Arc<Vision>,
    scope: Scope,
    registry: Registry,
}

impl ProxyVisionProcessor {
    fn new(context: &RoutingContext<'_>) -> Self {
        Self {
            vision: Arc::clone(context.vision),
            scope: context.scope.clone(),
            registry: context.registry.clone(),
        }
    }

    /// The active services of the rule, as one chain.
    fn describers(&self, task: &ProcessorTask<'_, '_, Arc<RouteService>>) -> Option<Chain> {
        let active = task.services.iter().filter(|service| service.active);
        let model = task.subject.model();
        let chains = active.filter_map(|service| service.chain(model, &self.registry).ok());
        let chains: Vec<Chain> = chains.collect();
        Chain::join(&chains)
    }
}

impl Processor<Arc<RouteService>> for ProxyVisionProcessor {
    fn process<'a>(
        &'a self,
        task: ProcessorTask<'a, '_, Arc<RouteService>>,
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
        task: ProcessorTask<'a, '_, Arc<RouteService>>,
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
