//! Writes a response to the capture while it is sent.

use std::sync::{Arc, Weak};

use majordomo_vision::UsedDescriptions;

use super::{Capture, CapturedRequest};

/// Belongs to one request; does nothing once the request is evicted.
#[derive(Clone)]
pub(crate) struct CaptureWriter {
    capture: Arc<Capture>,
    // The capture alone decides how long a request is kept.
    request: Weak<CapturedRequest>,
}

impl CaptureWriter {
    pub(super) fn new(capture: &Arc<Capture>, request: &Arc<CapturedRequest>) -> Self {
        Self {
            capture: Arc::clone(capture),
            request: Arc::downgrade(request),
        }
    }

    /// Notes the head of the response.
    pub(crate) fn begin(&self, status: u16, content_type: &str) {
        if let Some(request) = self.request.upgrade() {
            request.begin(status, content_type);
        }
    }

    /// Notes a chunk of the body.
    pub(crate) fn write(&self, chunk: &[u8]) {
        if let Some(request) = self.request.upgrade() {
            self.capture.append(&request, chunk);
        }
    }

    /// Notes that no chunk follows.
    pub(crate) fn end(&self) {
        if let Some(request) = self.request.upgrade() {
            self.capture.trim(&request);
        }
    }

    /// Notes the descriptions by which images were replaced.
    pub(crate) fn describe(&self, used: UsedDescriptions) {
        if let Some(request) = self.request.upgrade() {
            self.capture.describe(&request, used);
        }
    }
}
