//! `majordomo key`: creates keys for clients of the gateway.

use std::io::Write;

use majordomo::dsn::ExposeSecret;
use majordomo_gateway::generate_key;

use crate::args::{KeyArgs, KeyCommand};
use crate::error::CliError;
use crate::output;

pub(crate) fn run(args: &KeyArgs) -> Result<(), CliError> {
    let KeyCommand::New { name } = &args.command;
    if name.trim().is_empty() {
        return Err(CliError::new(
            "the name of the key is empty; use one that identifies the client",
        ));
    }
    let key = generate_key(name)
        .map_err(|error| CliError::new(format!("failed to obtain random bytes: {error}")))?;
    let mut stdout = anstream::stdout();
    writeln!(
        stdout,
        "{}\n\n{}",
        key.secret.expose_secret(),
        key.entry.trim_end()
    )?;
    output::note("this key is not shown again; add the entry to majordomo.toml");
    Ok(())
}
