//! `majordomo check`: everything that is wrong with a configuration, at once.

use std::io::Write;
use std::path::Path;

use majordomo::transport::{Transport, TransportConfig as Client};
use majordomo_gateway::State;
use majordomo_gateway::config::{Config, environment, find};

use crate::args::Check;
use crate::failure::Failure;

pub(crate) fn run(args: &Check) -> Result<(), Failure> {
    let environment = environment();
    let Some(path) = find(args.config.as_deref(), &environment) else {
        return Err(Failure::new(
            "there is no configuration file to check; name one with --config, or put majordomo.toml here",
        ));
    };
    let listed =
        |problems: majordomo_gateway::config::Problems| Failure::Listed(problems.to_string());
    let config = Config::load(&path, &environment).map_err(listed)?;
    let transport = Transport::new(Client::default());
    // Everything that `serve` would do, but for listening.
    State::new(&config, &environment, &transport, None).map_err(listed)?;
    writeln!(anstream::stdout(), "{}", summary(&path, &config))?;
    Ok(())
}

/// What the file configures, in one line.
fn summary(path: &Path, config: &Config) -> String {
    let counts = [
        counted(config.providers.len(), "provider", "s"),
        counted(config.aliases.len(), "alias", "es"),
        counted(config.routes.len(), "route", "s"),
        counted(config.keys.len(), "key", "s"),
    ];
    format!(
        "{} is fine: {}; serves on {}",
        path.display(),
        counts.join(", "),
        config.server.listen
    )
}

fn counted(count: usize, thing: &str, plural: &str) -> String {
    let plural = if count == 1 { "" } else { plural };
    format!("{count} {thing}{plural}")
}
