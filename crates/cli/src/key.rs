//! `majordomo key`: keys for clients of the gateway.

use std::io::Write;

use majordomo::ExposeSecret;
use majordomo_gateway::generate_key;

use crate::args::{Key, KeyCommand};
use crate::failure::Failure;
use crate::paint;

pub(crate) fn run(args: &Key) -> Result<(), Failure> {
    let KeyCommand::New { name } = &args.command;
    if name.trim().is_empty() {
        return Err(Failure::new("the key needs a name that says whose it is"));
    }
    let key = generate_key(name).map_err(|error| {
        Failure::new(format!(
            "the system gave no random bytes: {error}; try again"
        ))
    })?;
    let mut stdout = anstream::stdout();
    writeln!(
        stdout,
        "{}\n\n{}",
        key.secret.expose_secret(),
        key.entry.trim_end()
    )?;
    paint::note("the key is shown this once; put the entry into majordomo.toml");
    Ok(())
}
