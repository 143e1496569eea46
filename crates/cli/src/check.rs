//! `majordomo check`: validates a configuration and reports every problem.

use std::io::Write;
use std::path::Path;

use majordomo::transport::{Transport, TransportConfig as Client};
use majordomo_gateway::config::Variables;
use majordomo_gateway::{Config, GatewayState, check_tls, environment, find_config};

use crate::args::CheckArgs;
use crate::error::CliError;
use crate::output;
use crate::setup::listed;

pub(crate) fn run(args: &CheckArgs) -> Result<(), CliError> {
    let environment = environment();
    let Some(path) = find_config(args.config.config.as_deref(), &environment) else {
        return Err(CliError::new(
            "no configuration file found; pass one with --config or create ./majordomo.toml",
        ));
    };
    let variables = match args.no_env {
        true => Variables::Optional,
        false => Variables::Required,
    };
    let config = Config::load_with(&path, &environment, variables).map_err(listed)?;
    let transport = Transport::new(Client::default());
    // Everything that `serve` does, except listening.
    let state = GatewayState::new(&config, &environment, &transport, None).map_err(listed)?;
    check_tls(&config).map_err(listed)?;
    output::diagnostics(&state.warnings().to_string());
    writeln!(anstream::stdout(), "{}", summary(&path, &config))?;
    Ok(())
}

/// A one-line summary of the configuration.
fn summary(path: &Path, config: &Config) -> String {
    let counts = [
        counted(config.providers.len(), "provider", "s"),
        counted(config.aliases.len(), "alias", "es"),
        counted(config.routes.len(), "route", "s"),
        counted(config.keys.len(), "key", "s"),
    ];
    format!(
        "{} is valid: {}; listens on {}",
        path.display(),
        counts.join(", "),
        config.server.listen
    )
}

fn counted(count: usize, thing: &str, plural: &str) -> String {
    let plural = if count == 1 { "" } else { plural };
    format!("{count} {thing}{plural}")
}
