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
    // On stderr, so that the entry can be redirected into the file and the key is still seen.
    // Without stderr, the key cannot be shown.
    let mut stderr = anstream::stderr();
    writeln!(stderr, "{}", key.secret.expose_secret())?;
    output::note("this key is not shown again; its entry belongs into majordomo.toml:");
    // A file to append to may lack its last newline.
    writeln!(anstream::stdout(), "\n{}", key.entry.trim_end())?;
    Ok(())
}
