//! Arguments of the commands `init`, `doctor`, `import` and `completions`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use crate::setup::ConfigArg;

const INIT_EXAMPLES: &str = "\
Examples:
  majordomo init
  majordomo init --yes --output /etc/majordomo/majordomo.toml

Finds provider keys in the environment, LLM_* variables and a local Ollama. On a terminal, it asks
three questions; with --yes, or without a terminal, it answers them itself. Keys are written as
${NAME}, never as values.";

const DOCTOR_EXAMPLES: &str = "\
Examples:
  majordomo doctor
  majordomo doctor --offline
  majordomo doctor --config /etc/majordomo/majordomo.toml --json

Checks the configuration, ports, keys, providers, the clock, permissions and the ledger. The exit
code is 1 if something is broken.";

const IMPORT_EXAMPLES: &str = "\
Examples:
  majordomo import litellm_config.yaml -o majordomo.toml
  majordomo import ~/.claude-code-router/config.json > majordomo.toml
  majordomo import - < bifrost.json

Reads a configuration of LiteLLM, claude-code-router or Bifrost. The result goes to stdout or to the
file of --output, a report of the differences to stderr. Secrets become ${NAME}; the report lists the
variables to set.";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  majordomo completions bash > ~/.local/share/bash-completion/completions/majordomo
  majordomo completions zsh > ~/.zfunc/_majordomo
  majordomo completions fish > ~/.config/fish/completions/majordomo.fish";

#[derive(Debug, Args)]
#[command(after_help = INIT_EXAMPLES)]
pub(crate) struct InitArgs {
    /// File to write
    #[arg(short, long, value_name = "FILE", default_value = "majordomo.toml")]
    pub(crate) output: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    pub(crate) force: bool,
    /// Ask no questions
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) config: ConfigArg,
    /// Call no provider
    #[arg(long)]
    pub(crate) offline: bool,
    /// Print the findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = IMPORT_EXAMPLES)]
pub(crate) struct ImportArgs {
    /// Configuration to import; `-` reads it from stdin
    pub(crate) file: PathBuf,
    /// Write the result to this file, which must not exist
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file of --output if it exists
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}
