//! Builds a gateway inside another program.

use std::collections::BTreeMap;

use majordomo_rules::{Processor, Processors};

use super::{Gateway, ServeOptions, StartError};
use crate::{Limits, processors};

/// Builds a gateway that other programs embed.
///
/// ```no_run
/// # async fn start() -> Result<(), majordomo_gateway::StartError> {
/// use majordomo_gateway::{Gateway, ServeOptions};
///
/// let options = ServeOptions::default().with_config(Some("majordomo.toml".into()));
/// let gateway = Gateway::builder().options(options).start().await?;
/// gateway.run(std::future::pending()).await;
/// # Ok(()) }
/// ```
#[must_use = "nothing starts before `start`"]
pub struct GatewayBuilder {
    pub(super) options: ServeOptions,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) limits: Limits,
    pub(super) processors: Processors,
}

impl Default for GatewayBuilder {
    fn default() -> Self {
        Self {
            options: ServeOptions::default(),
            environment: BTreeMap::new(),
            limits: Limits::default(),
            processors: processors::built_in(),
        }
    }
}

impl GatewayBuilder {
    /// The options of `majordomo serve`.
    pub fn options(mut self, options: ServeOptions) -> Self {
        self.options = options;
        self
    }

    /// The environment variables that the configuration may use; none by default.
    pub fn environment(mut self, environment: BTreeMap<String, String>) -> Self {
        self.environment = environment;
        self
    }

    /// Other limits.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Adds an operation that rules can name, with its processor. It replaces an earlier one
    /// with the same position and operation.
    pub fn processor(mut self, processor: impl Processor + 'static) -> Self {
        self.processors.register(processor);
        self
    }

    /// Loads the configuration, builds the providers and binds both listeners.
    pub async fn start(self) -> Result<Gateway, StartError> {
        Gateway::build(self).await
    }
}
