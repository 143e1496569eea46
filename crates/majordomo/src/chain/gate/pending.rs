//! An attempt that awaits a gate's decision.

use std::sync::Arc;
use std::time::Instant;

use majordomo_llm::{Capabilities, Model, ModelExt, Request};

use super::AttemptKind;
use crate::spec::TargetName;

/// Bytes of a body per token.
const BYTES_PER_TOKEN: u64 = 4;

/// An attempt that is about to be sent.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct PendingAttempt<'a> {
    /// The target.
    pub target: &'a TargetName,
    /// The purpose of the attempt.
    pub kind: AttemptKind,
    /// The request, shaped for the target. Empty for embeddings and images.
    pub request: &'a Request,
    /// The images to generate.
    pub images: u64,
    /// When the attempt began, by the registry's clock.
    pub began: Instant,
    /// Whether it is sent with the client's own credential, so that the client pays for it.
    pub client_paid: bool,
    pub(in crate::chain) model: &'a dyn Model,
    /// The size of the body that is sent, if it is not the request's.
    pub(in crate::chain) input_bytes: Option<u64>,
}

impl PendingAttempt<'_> {
    /// Estimates the input tokens. Walks the request: call it once.
    pub fn input_tokens(&self) -> u64 {
        match self.input_bytes {
            Some(bytes) => bytes.div_ceil(BYTES_PER_TOKEN),
            None => self.model.estimate_tokens(self.request),
        }
    }

    /// What the target supports.
    pub fn capabilities(&self) -> Arc<Capabilities> {
        self.model.capabilities()
    }

    /// The same attempt for another purpose.
    #[must_use]
    pub fn of_kind(self, kind: AttemptKind) -> Self {
        Self { kind, ..self }
    }
}
