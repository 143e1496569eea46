//! The hook that makes a request fit a target.

use majordomo_llm::{BoxFuture, Capabilities, Change, Dialect, Request, Result};

use crate::spec::TargetName;

/// Who will get the request.
#[derive(Clone, Copy, Debug)]
pub struct TargetView<'a> {
    /// Its name.
    pub name: &'a TargetName,
    /// What it can take.
    pub capabilities: &'a Capabilities,
    /// The dialect that it speaks, where that is known.
    pub dialect: Option<&'a Dialect>,
}

/// A request made to fit, and what was changed.
#[derive(Clone, Debug)]
pub struct Shaped {
    /// The request; the same prompt when nothing was changed.
    pub request: Request,
    /// What the target gets differently.
    pub changes: Vec<Change>,
}

/// Makes a request fit a target, anew for each target at each attempt. Images
/// and descriptions plug in here.
///
/// What cannot be made to fit is an unsupported error: the chain goes on to the
/// next target and nobody's health suffers.
pub trait Shape: Send + Sync {
    /// Whether there is anything to do; false saves the rest.
    fn concerns(&self, request: &Request, target: TargetView<'_>) -> bool;

    /// Shapes the request. Dropping the future stops the work.
    fn shape<'a>(
        &'a self,
        request: Request,
        target: TargetView<'a>,
    ) -> BoxFuture<'a, Result<Shaped>>;

    /// What [`shape`](Self::shape) would do, for [`Chain::preview`](super::Chain::preview).
    /// Work that stays inside the process is simply done; a shape that asks
    /// somebody says here what it would ask for, and asks nobody.
    fn preview<'a>(
        &'a self,
        request: Request,
        target: TargetView<'a>,
    ) -> BoxFuture<'a, Result<Shaped>> {
        self.shape(request, target)
    }

    /// Nobody could take the request: a lesser one that somebody may, tried once.
    /// Said only for what is better lost, and noted, than refused.
    fn reduce(&self, _request: &Request, _targets: &[TargetView<'_>]) -> Option<Shaped> {
        None
    }
}
