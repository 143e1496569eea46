//! The processors that rules can name.

use std::fmt;
use std::sync::Arc;

use super::Processor;

/// Processors by position and operation, filled once at start.
#[derive(Clone, Default)]
pub struct Processors {
    /// A handful, so a linear search is fastest.
    registered: Vec<Arc<dyn Processor>>,
}

impl Processors {
    /// Registers a processor under its position and operation, replacing an earlier one. It
    /// takes precedence over an operation of this crate with the same names.
    pub fn register(&mut self, processor: impl Processor + 'static) {
        let (position, op) = (processor.position(), processor.op());
        self.registered
            .retain(|known| (known.position(), known.op()) != (position, op));
        self.registered.push(Arc::new(processor));
    }

    /// The processor of an operation.
    pub fn get(&self, position: &str, op: &str) -> Option<&Arc<dyn Processor>> {
        let mut known = self.registered.iter();
        known.find(|known| known.position() == position && known.op() == op)
    }

    /// Every operation, as `(position, op)`.
    pub fn operations(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let known = self.registered.iter();
        known.map(|processor| (processor.position(), processor.op()))
    }
}

/// Lists the operations.
impl fmt::Debug for Processors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.operations()).finish()
    }
}
