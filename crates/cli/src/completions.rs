//! `majordomo completions` and `majordomo schema`: support for shells and editors.

use std::io::Write;

use majordomo_gateway::config::json_schema;

use crate::args;
use crate::error::CliError;
use crate::tool_args::CompletionsArgs;

pub(crate) fn run(args: &CompletionsArgs) -> Result<(), CliError> {
    // The generator panics if its output cannot be written.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut args::command(), "majordomo", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(())
}

/// Prints the JSON Schema of the configuration.
pub(crate) fn schema() -> Result<(), CliError> {
    writeln!(std::io::stdout(), "{:#}", json_schema())?;
    Ok(())
}
