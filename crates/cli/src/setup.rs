//! The configuration of a command: the one that `serve` would use.

use std::path::{Path, PathBuf};

use majordomo::Chain;
use majordomo::transport::{Transport, TransportConfig as Client};
use majordomo_gateway::config::Variables;
use majordomo_gateway::{Config, Diagnostics, GatewayState, environment, find_config};

use crate::error::CliError;
use crate::output;

/// A state without listeners, from a configuration file, or from what `serve` detects without
/// one.
pub(crate) struct Setup {
    pub(crate) state: GatewayState,
}

impl Setup {
    /// Loads the file named by `--config` or `$MAJORDOMO_CONFIG`, or the one at a default
    /// location; without a file, detects what `serve` would detect.
    pub(crate) fn load(given: Option<&Path>) -> Result<Self, CliError> {
        Self::load_with(given, Variables::Required)
    }

    /// Like [`load`](Self::load), for a command that calls no provider: a variable that is
    /// not set is a warning.
    pub(crate) fn load_offline(given: Option<&Path>) -> Result<Self, CliError> {
        Self::load_with(given, Variables::Optional)
    }

    fn load_with(given: Option<&Path>, variables: Variables) -> Result<Self, CliError> {
        let environment = environment();
        let config = match find_config(given, &environment) {
            Some(path) => Config::load_with(&path, &environment, variables).map_err(listed)?,
            None => Config::empty(),
        };
        let transport = Transport::new(Client::default());
        let state = GatewayState::new(&config, &environment, &transport, None).map_err(listed)?;
        // `check` has the other warnings.
        if config.lacks_variables {
            output::diagnostics(&state.warnings().to_string());
        }
        Ok(Self { state })
    }

    /// The chain of a route, an alias, a spec or a listed model.
    pub(crate) async fn chain(&self, spec: &str) -> Result<Chain, CliError> {
        Ok(self.state.model(spec).await?)
    }
}

/// The diagnostics of a file as the failure of a command.
pub(crate) fn listed(problems: Diagnostics) -> CliError {
    CliError::Problems(problems.to_string())
}

/// `--config`, for every command that reads the configuration.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfigArg {
    /// Path to the configuration file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}
