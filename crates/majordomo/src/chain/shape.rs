//! The [`Shape`] trait, which adapts a request to a target.

use majordomo_llm::{BoxFuture, Capabilities, Change, Dialect, Request, Result};

use crate::spec::TargetName;

/// The target a request is shaped for.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TargetView<'a> {
    /// The target's name.
    pub name: &'a TargetName,
    /// What it supports.
    pub capabilities: &'a Capabilities,
    /// Its dialect, if known.
    pub dialect: Option<&'a Dialect>,
}

/// A shaped request.
#[derive(Clone, Debug)]
pub struct Shaped {
    /// The request; the original prompt if nothing was changed.
    pub request: Request,
    /// The changes made for the target.
    pub changes: Vec<Change>,
}

/// Shapes a request for a target, at each attempt. Image fitting and image descriptions
/// are shapes.
///
/// An unsupported error skips the target without affecting its health.
pub trait Shape: Send + Sync {
    /// Whether this shape applies; `false` skips it.
    fn concerns(&self, request: &Request, target: TargetView<'_>) -> bool;

    /// Shapes the request. Dropping the future cancels the work.
    fn shape<'a>(
        &'a self,
        request: Request,
        target: TargetView<'a>,
    ) -> BoxFuture<'a, Result<Shaped>>;

    /// What [`shape`](Self::shape) would do, for [`Chain::preview`](super::Chain::preview).
    /// Local work is done for real; a shape that calls a model reports the change
    /// without the call.
    fn preview<'a>(
        &'a self,
        request: Request,
        target: TargetView<'a>,
    ) -> BoxFuture<'a, Result<Shaped>> {
        self.shape(request, target)
    }

    /// Reduces a request that no target can take to one that some target may; called once.
    /// Implement it only for content that is better dropped and reported than rejected.
    fn reduce(&self, _request: &Request, _targets: &[TargetView<'_>]) -> Option<Shaped> {
        None
    }
}
