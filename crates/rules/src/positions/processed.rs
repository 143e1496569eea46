//! Operations of processors, as conditions.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::check::{Check, Compiled};
use crate::error::InvalidValue;
use crate::processor::Processor;
use crate::{RuleIndex, Subject, excerpt};

/// Compiles a condition that names a processor's operation.
pub(crate) fn compile(processor: &Arc<dyn Processor>, value: Option<&Value>) -> Compiled {
    processor.check_value(value).map_err(InvalidValue::new)?;
    Ok(Box::new(ProcessorCheck {
        processor: Arc::clone(processor),
        value: value.cloned(),
    }))
}

struct ProcessorCheck {
    processor: Arc<dyn Processor>,
    value: Option<Value>,
}

impl Check for ProcessorCheck {
    fn holds(&self, subject: &Subject<'_>, _: RuleIndex) -> bool {
        self.processor.holds(subject, self.value.as_ref())
    }

    fn actual(&self, subject: &Subject<'_>, _: RuleIndex) -> String {
        excerpt::head(&self.processor.found(subject))
    }
}

impl fmt::Debug for ProcessorCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.processor.position(), self.processor.op())
    }
}
