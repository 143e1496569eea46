//! Binds processors to operations.

use std::fmt;
use std::sync::Arc;

use super::Processor;

/// Processors by position and operation.
pub struct Processors<S> {
    /// A handful, so a linear search is fastest.
    bound: Vec<BoundProcessor<S>>,
}

struct BoundProcessor<S> {
    position: &'static str,
    op: &'static str,
    processor: Arc<dyn Processor<S>>,
}

impl<S> Processors<S> {
    /// Binds a processor to an operation, replacing an earlier one.
    pub fn register(
        &mut self,
        position: &'static str,
        op: &'static str,
        processor: impl Processor<S> + 'static,
    ) {
        let processor = Arc::new(processor);
        self.bound.retain(|bound| !bound.is_for(position, op));
        self.bound.push(BoundProcessor {
            position,
            op,
            processor,
        });
    }

    /// The processor of an operation.
    pub fn get(&self, position: &str, op: &str) -> Option<&Arc<dyn Processor<S>>> {
        let mut bound = self.bound.iter();
        bound
            .find(|bound| bound.is_for(position, op))
            .map(|bound| &bound.processor)
    }
}

impl<S> BoundProcessor<S> {
    fn is_for(&self, position: &str, op: &str) -> bool {
        self.position == position && self.op == op
    }
}

impl<S> Default for Processors<S> {
    fn default() -> Self {
        Self { bound: Vec::new() }
    }
}

/// Lists the bound operations.
impl<S> fmt::Debug for Processors<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = self.bound.iter().map(|bound| (bound.position, bound.op));
        f.debug_list().entries(bound).finish()
    }
}
