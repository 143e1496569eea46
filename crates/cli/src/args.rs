//! The command line: arguments, help and usage errors.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};
use majordomo_gateway::config::listen_address;

use crate::image_args::ImageArgs;
use crate::key_args::{KeyArgs, TeamArgs};
use crate::ledger_args::{LedgerArgs, PricesArgs, UsageArgs};
use crate::output;
use crate::setup::ConfigArg;
use crate::tool_args::{CompletionsArgs, DoctorArgs, ImportArgs, InitArgs};

const EXAMPLES: &str = "\
Examples:
  majordomo serve
  majordomo models
  majordomo chat ollama/qwen3:8b \"Why is the sky blue?\"
  majordomo chat anthropic/claude-opus-5-5,ollama/qwen3:8b \"What is this?\" --image photo.jpg
  majordomo image demo/image \"a red apple\" -o apple.png
  majordomo explain groq/llama-4-scout,ollama/qwen3:8b
  majordomo explain --request body.json
  majordomo fit photo.jpg --for groq/llama-4-scout -o sent.jpg
  majordomo check --config majordomo.toml
  majordomo key new laptop
  majordomo team set search --budget month=500
  majordomo usage --by key --since 30d
  majordomo prices sonnet
  majordomo init
  majordomo doctor
  majordomo import litellm_config.yaml -o majordomo.toml

A SPEC is a comma-separated chain of targets (provider/model), tried in order. Keys come from
OPENAI_API_KEY, ANTHROPIC_API_KEY and the like; LLM_<NAME>=scheme://[token@]host[/path] adds a
provider, for example LLM_BOX=ollama+http://box.local:11434.";

const SERVE_EXAMPLES: &str = "\
Examples:
  majordomo serve
  majordomo serve --config majordomo.toml
  majordomo serve --listen 4200 --operator-listen 4201
  majordomo serve --listen 0.0.0.0:4100

An ADDRESS is a port (4200 or :4200, on this machine only), localhost:PORT or IP:PORT. With port 0
the system picks a free one, which is printed.

Without --config, the file is $MAJORDOMO_CONFIG, ./majordomo.toml, or majordomo/majordomo.toml in
the user's configuration directory. Without any file, the gateway uses the provider keys in the
environment, LLM_* variables, a local Ollama and the built-in demo.";

const CHAT_EXAMPLES: &str = "\
Examples:
  majordomo chat ollama/qwen3:8b
  majordomo chat groq/llama-4-scout,ollama/qwen3:8b \"Why is the sky blue?\"
  majordomo chat openai/gpt-6 \"What is this?\" --image photo.jpg --system \"One sentence.\"
  majordomo chat openai/gpt-6 \"Ada is 36.\" --schema person.json
  git diff | majordomo chat anthropic/claude-opus-5-5 - --system \"Review this.\"

SPEC may also be a route or an alias of the configuration, which is the one that `majordomo serve`
uses, or a model that a provider lists.";

const MODELS_EXAMPLES: &str = "\
Examples:
  majordomo models
  majordomo models --config majordomo.toml

Routes and aliases come first. The configuration is the one that `majordomo serve` uses.";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  majordomo explain ollama/qwen3:8b
  majordomo explain groq/llama-4-scout,anthropic/claude-opus-5-5,ollama/qwen3:8b
  majordomo explain --request body.json
  majordomo explain --request body.json --route coder --path /v1/messages --key laptop

FILE holds a request body as a client sends it. Its dialect comes from --path or --dialect, or is
guessed. FILE may also hold an object with `body` and any of `path`, `dialect`, `route`, `key` and
`headers`. The configuration is the one that `majordomo serve` uses.";

const FIT_EXAMPLES: &str = "\
Examples:
  majordomo fit photo.jpg --for groq/llama-4-scout
  majordomo fit scan.png --for anthropic/claude-opus-5-5 -o sent.png

The limits are those of the configuration that `majordomo serve` uses.";

const CHECK_EXAMPLES: &str = "\
Examples:
  majordomo check
  majordomo check --config /etc/majordomo/majordomo.toml
  majordomo check --no-env

Without --config, the file is the one that `majordomo serve` uses: $MAJORDOMO_CONFIG,
./majordomo.toml, or majordomo/majordomo.toml in the user's configuration directory.";

const HEALTH_EXAMPLES: &str = "\
Examples:
  majordomo health
  majordomo health --ready
  majordomo health --listen 4200

The exit code is 0 if it is alive (or ready), else 1. The address comes from the configuration that
`majordomo serve` uses. With TLS, only the connection is checked.";

const SCHEMA_EXAMPLES: &str = "\
Examples:
  majordomo schema > majordomo.schema.json

A first line `#:schema ./majordomo.schema.json` makes editors with Taplo (Even Better TOML) complete
and check the file.";

/// An LLM gateway and client with failover.
#[derive(Debug, Parser)]
#[command(name = "majordomo", version, after_help = EXAMPLES)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the gateway
    Serve(ServeArgs),
    /// Send a prompt to a chain of models, or start a conversation
    Chat(ChatArgs),
    /// Generate or edit images
    Image(ImageArgs),
    /// Explain a spec, or dry-run a request, without calling a model
    Explain(ExplainArgs),
    /// List the available models and their capabilities
    #[command(after_help = MODELS_EXAMPLES)]
    Models(ConfigArg),
    /// Show how an image is adapted for a target
    Fit(FitArgs),
    /// Validate a configuration file
    Check(CheckArgs),
    /// Check whether the gateway on this machine is alive
    Health(HealthArgs),
    /// Create, list and change keys for clients of the gateway
    Key(KeyArgs),
    /// Create, list and change teams of keys
    Team(TeamArgs),
    /// Report usage and cost
    Usage(UsageArgs),
    /// List prices of models
    Prices(PricesArgs),
    /// Check, copy, correct or export the ledger
    Ledger(LedgerArgs),
    /// Write a first configuration from the keys and servers found
    Init(InitArgs),
    /// Diagnose problems and suggest remedies
    Doctor(DoctorArgs),
    /// Convert a configuration of LiteLLM, claude-code-router or Bifrost
    Import(ImportArgs),
    /// Print the JSON Schema of the configuration, for editors
    #[command(after_help = SCHEMA_EXAMPLES)]
    Schema,
    /// Print completions for a shell
    Completions(CompletionsArgs),
}

#[derive(Debug, Args)]
#[command(after_help = HEALTH_EXAMPLES)]
pub(crate) struct HealthArgs {
    #[command(flatten)]
    pub(crate) config: ConfigArg,
    /// Address of the gateway; overrides the configuration file
    #[arg(long, value_name = "ADDRESS", value_parser = listen_address)]
    pub(crate) listen: Option<SocketAddr>,
    /// Check whether it can serve, that is, whether any configured target is usable
    #[arg(long)]
    pub(crate) ready: bool,
}

#[derive(Debug, Args)]
#[command(after_help = SERVE_EXAMPLES)]
pub(crate) struct ServeArgs {
    /// Path to the configuration file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Address to listen on; overrides the configuration file
    #[arg(long, value_name = "ADDRESS", value_parser = listen_address)]
    pub(crate) listen: Option<SocketAddr>,
    /// Address of the operator's API; overrides the configuration file
    #[arg(long, value_name = "ADDRESS", value_parser = listen_address)]
    pub(crate) operator_listen: Option<SocketAddr>,
    /// Open the page in a browser
    #[arg(long)]
    pub(crate) open: bool,
}

#[derive(Debug, Args)]
#[command(after_help = CHAT_EXAMPLES)]
pub(crate) struct ChatArgs {
    /// Comma-separated targets (`provider/model`), tried in order, or a route or alias
    pub(crate) spec: String,
    /// Prompt to send; `-` reads it from stdin; without a prompt, each line of stdin is a turn
    pub(crate) prompt: Option<String>,
    /// Attach an image to the first message; may be given more than once
    #[arg(long = "image", value_name = "FILE")]
    pub(crate) images: Vec<PathBuf>,
    /// Request JSON that conforms to this JSON Schema; the response is validated, not streamed
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// System instructions for the model
    #[arg(long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
    /// Print each response as one line of JSON: text, model, usage, attempts
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) config: ConfigArg,
}

#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub(crate) struct ExplainArgs {
    /// Comma-separated targets (`provider/model`)
    #[arg(required_unless_present = "request", conflicts_with = "request")]
    pub(crate) spec: Option<String>,
    /// Explain how this request would be handled
    #[arg(long, value_name = "FILE")]
    pub(crate) request: Option<PathBuf>,
    /// Use this route instead of the one that the request's model selects
    #[arg(long, value_name = "ROUTE", requires = "request")]
    pub(crate) route: Option<String>,
    /// Request path, which determines the dialect
    #[arg(long, requires = "request", conflicts_with = "dialect")]
    pub(crate) path: Option<String>,
    /// Request dialect: chat, responses, messages, gemini, ollama or generate
    #[arg(long, requires = "request")]
    pub(crate) dialect: Option<String>,
    /// Name of the client's key, for rules that test it
    #[arg(long, value_name = "NAME", requires = "request")]
    pub(crate) key: Option<String>,
    /// Request header, as `name: value`; may be given more than once
    #[arg(long = "header", value_name = "HEADER", requires = "request")]
    pub(crate) headers: Vec<String>,
    #[command(flatten)]
    pub(crate) config: ConfigArg,
    /// Print the explanation as JSON, as the operator's `/api/explain` does
    #[arg(long, requires = "request")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = FIT_EXAMPLES)]
pub(crate) struct FitArgs {
    /// Path to the image
    pub(crate) image: PathBuf,
    /// Target to fit the image for (`provider/model`)
    #[arg(long = "for", value_name = "TARGET")]
    pub(crate) target: String,
    /// Write the fitted image to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) config: ConfigArg,
}

#[derive(Debug, Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) config: ConfigArg,
    /// Accept variables that are not set, and check everything else
    #[arg(long)]
    pub(crate) no_env: bool,
}

/// The command line as clap knows it.
pub(crate) fn command() -> clap::Command {
    CommandLine::command()
}

/// Parses the command line. Prints help and usage errors, and then returns the exit code.
pub(crate) fn parse() -> Result<Command, ExitCode> {
    CommandLine::try_parse()
        .map(|line| line.command)
        .map_err(|error| match error.kind() {
            ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                // Without stdout and stderr only the exit code is left.
                let _ = error.print();
                ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
            }
            _ => {
                let path = subcommand_path(std::env::args_os().skip(1));
                output::error(&one_sentence(&error.to_string(), &path));
                ExitCode::from(2)
            }
        })
}

/// The command that the arguments select, such as `majordomo key new`.
fn subcommand_path(arguments: impl IntoIterator<Item = OsString>) -> String {
    let root = CommandLine::command();
    let mut command = &root;
    let mut path = root.get_name().to_owned();
    for argument in arguments {
        let Some(found) = command.find_subcommand(&argument) else {
            break;
        };
        command = found;
        path.push(' ');
        path.push_str(found.get_name());
    }
    path
}

/// Condenses clap's report to one sentence: the error, its tips, the pointer to the help
/// of the command at `path`.
fn one_sentence(report: &str, path: &str) -> String {
    let line = |paragraph: &str| {
        let lines: Vec<&str> = paragraph.lines().map(str::trim).collect();
        lines.join(" ")
    };
    let mut clauses = Vec::new();
    for (at, paragraph) in report.trim().split("\n\n").enumerate() {
        let text = line(paragraph);
        if let Some(error) = text.strip_prefix("error: ").filter(|_| at == 0) {
            clauses.push(error.to_owned());
        } else if let Some(tip) = text.strip_prefix("tip: ") {
            clauses.push(closest(tip));
        }
    }
    clauses.push(format!("for more information, try '{path} --help'"));
    clauses.join("; ")
}

/// A tip with one suggestion. Of several, clap lists the closest last.
fn closest(tip: &str) -> String {
    let several = tip.strip_prefix("some similar ");
    let several = several.and_then(|rest| rest.split_once("s exist: "));
    let Some((what, names)) = several else {
        return tip.to_owned();
    };
    let name = names.rsplit(", ").next().unwrap_or(names);
    format!("a similar {what} exists: {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn a_usage_error_is_one_sentence() {
        for (line, sentence) in [
            (
                &["majordomo", "chat"][..],
                "the following required arguments were not provided: <SPEC>; for more information, try 'majordomo chat --help'",
            ),
            (
                &["majordomo", "chatt"],
                "unrecognized subcommand 'chatt'; a similar subcommand exists: 'chat'; for more information, try 'majordomo --help'",
            ),
            (
                &["majordomo", "fit", "a.png", "--four", "x/y"],
                "unexpected argument '--four' found; a similar argument exists: '--for'; for more information, try 'majordomo fit --help'",
            ),
            (
                &["majordomo", "key", "new"],
                "the following required arguments were not provided: <NAME>; for more information, try 'majordomo key new --help'",
            ),
        ] {
            let error = CommandLine::try_parse_from(line).unwrap_err();
            let path = subcommand_path(line[1..].iter().map(OsString::from));
            assert_eq!(one_sentence(&error.to_string(), &path), sentence);
        }
    }
}
