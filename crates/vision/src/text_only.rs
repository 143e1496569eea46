//! Descriptions for the targets of a chain that take no images.

use std::collections::HashMap;
use std::sync::Arc;

use majordomo::chain::{Shape, Shaped, TargetView};
use majordomo::spec::TargetName;
use majordomo::{BoxFuture, Chain, Request, Result};

use super::engine::Vision;
use super::scope::Scope;

/// The describers of each target. A service's take precedence over its model's, which take
/// precedence over the route's.
#[derive(Clone, Debug, Default)]
pub struct Describers {
    services: HashMap<String, Chain>,
    models: HashMap<String, Chain>,
    route: Option<Chain>,
}

impl Describers {
    /// No describers.
    pub fn new() -> Self {
        Self::default()
    }

    /// `describe` on a route's service.
    #[must_use]
    pub fn for_service(mut self, target: &TargetName, chain: Chain) -> Self {
        self.services.insert(target.as_str().to_owned(), chain);
        self
    }

    /// `describe` on a provider's model.
    #[must_use]
    pub fn for_model(mut self, target: &TargetName, chain: Chain) -> Self {
        self.models.insert(target.as_str().to_owned(), chain);
        self
    }

    /// `describe` on the route, for every target without its own.
    #[must_use]
    pub fn for_route(mut self, chain: Chain) -> Self {
        self.route = Some(chain);
        self
    }

    /// Whether no target has a describer.
    pub fn is_empty(&self) -> bool {
        self.services.is_empty() && self.models.is_empty() && self.route.is_none()
    }

    /// The describers of a target.
    pub fn of(&self, target: &TargetName) -> Option<&Chain> {
        let name = target.as_str();
        let own = self.services.get(name).or_else(|| self.models.get(name));
        own.or(self.route.as_ref())
    }
}

/// Shapes the requests of a chain: a target that takes no images gets descriptions instead of
/// being skipped; all others get the images.
///
/// Created per request, since it belongs to one client; see `Chain::shaped_by`. The
/// calls are recorded in the scope.
#[derive(Clone)]
pub struct DescribeForTextOnly {
    vision: Arc<Vision>,
    describers: Arc<Describers>,
    scope: Scope,
}

impl DescribeForTextOnly {
    /// Describes with this engine and these describers, for this request.
    pub fn new(vision: Arc<Vision>, describers: Arc<Describers>, scope: Scope) -> Self {
        Self {
            vision,
            describers,
            scope,
        }
    }
}

impl Shape for DescribeForTextOnly {
    fn concerns(&self, request: &Request, target: TargetView<'_>) -> bool {
        !target.capabilities.takes_images()
            && self.describers.of(target.name).is_some()
            && Vision::has_images(request.prompt())
    }

    fn shape<'a>(
        &'a self,
        request: Request,
        target: TargetView<'a>,
    ) -> BoxFuture<'a, Result<Shaped>> {
        Box::pin(async move {
            let describers = self.describers.of(target.name);
            let described = self.vision.describe(request, describers, &self.scope);
            let described = described.await?;
            Ok(Shaped {
                request: described.request,
                changes: described.changes,
            })
        })
    }

    fn preview<'a>(
        &'a self,
        request: Request,
        target: TargetView<'a>,
    ) -> BoxFuture<'a, Result<Shaped>> {
        Box::pin(async move {
            let describers = self.describers.of(target.name);
            let preview = self.vision.preview(request, describers, &self.scope);
            let (request, changes) = preview.await;
            Ok(Shaped { request, changes })
        })
    }
}
