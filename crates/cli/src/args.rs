//! What can be typed, and what is said about it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};

use crate::paint;

const EXAMPLES: &str = "\
Examples:
  majordomo serve
  majordomo models
  majordomo chat ollama/qwen3:8b \"Why is the sky blue?\"
  majordomo chat anthropic/claude-opus-5-5,ollama/qwen3:8b \"What is this?\" --image photo.jpg
  majordomo explain groq/llama-4-scout,ollama/qwen3:8b
  majordomo explain --request body.json
  majordomo fit photo.jpg --for groq/llama-4-scout -o sent.jpg
  majordomo check --config majordomo.toml
  majordomo key new laptop

A SPEC is a chain of targets, `provider/model`, tried in order. Keys come from the usual
variables (OPENAI_API_KEY, ANTHROPIC_API_KEY, …); LLM_<NAME>=scheme://[token@]host[/path]
adds a provider of your own, for example LLM_BOX=ollama+http://box.local:11434.";

const SERVE_EXAMPLES: &str = "\
Examples:
  majordomo serve
  majordomo serve --config majordomo.toml
  majordomo serve --listen 127.0.0.1:4200

Without --config the file is $MAJORDOMO_CONFIG, ./majordomo.toml, or majordomo/majordomo.toml
in the user's configuration folder. Without any file the gateway uses the provider keys of the
environment, LLM_* variables, an Ollama on this machine and the built-in demo.";

const CHAT_EXAMPLES: &str = "\
Examples:
  majordomo chat ollama/qwen3:8b
  majordomo chat groq/llama-4-scout,ollama/qwen3:8b \"Why is the sky blue?\"
  majordomo chat openai/gpt-6 \"What is this?\" --image photo.jpg --system \"One sentence.\"
  majordomo chat openai/gpt-6 \"Ada is 36.\" --schema person.json
  git diff | majordomo chat anthropic/claude-opus-5-5 - --system \"Review this.\"";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  majordomo explain ollama/qwen3:8b
  majordomo explain groq/llama-4-scout,anthropic/claude-opus-5-5,ollama/qwen3:8b
  majordomo explain --request body.json
  majordomo explain --request body.json --route coder --path /v1/messages --key laptop

FILE holds a request's body as a client sends it, in any of the five dialects: that of --path or
--dialect, else the one that it looks like. It may also be an object with `body` and any of `path`,
`dialect`, `route`, `key` and `headers`. The configuration is the one that `majordomo serve` uses.";

const FIT_EXAMPLES: &str = "\
Examples:
  majordomo fit photo.jpg --for groq/llama-4-scout
  majordomo fit scan.png --for anthropic/claude-opus-5-5 -o sent.png";

const CHECK_EXAMPLES: &str = "\
Examples:
  majordomo check
  majordomo check --config /etc/majordomo/majordomo.toml

Without --config the file is the one that `majordomo serve` would use: $MAJORDOMO_CONFIG,
./majordomo.toml, or majordomo/majordomo.toml in the user's configuration folder.";

const KEY_EXAMPLES: &str = "\
Examples:
  majordomo key new laptop
  majordomo key new laptop | tail -n +3 >> majordomo.toml";

/// Stands between programs that ask and language models that answer.
#[derive(Debug, Parser)]
#[command(name = "majordomo", version, after_help = EXAMPLES)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the gateway
    Serve(Serve),
    /// Ask a chain of models; without PROMPT, hold a conversation
    Chat(Chat),
    /// Show what a spec means, or what would become of a request, without asking anybody
    Explain(Explain),
    /// List what can be asked for, with capabilities
    Models,
    /// Show what would be sent to a target in place of an image, and why
    Fit(Fit),
    /// Validate a configuration file
    Check(Check),
    /// Make keys for clients of the gateway
    Key(Key),
}

#[derive(Debug, Args)]
#[command(after_help = SERVE_EXAMPLES)]
pub(crate) struct Serve {
    /// The configuration file; without any the gateway uses what it finds
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Where to listen, in place of what the file says
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
}

#[derive(Debug, Args)]
#[command(after_help = CHAT_EXAMPLES)]
pub(crate) struct Chat {
    /// Targets as `provider/model`, tried in order, separated by commas
    pub(crate) spec: String,
    /// What to ask; `-` reads it from stdin. Left out, each line of stdin is a turn
    pub(crate) prompt: Option<String>,
    /// Attach an image to the first message; may be repeated
    #[arg(long = "image", value_name = "FILE")]
    pub(crate) images: Vec<PathBuf>,
    /// Take only JSON of this JSON Schema; it is checked, so it comes in one piece
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// Instructions for the model
    #[arg(long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
    /// Print each answer as one line of JSON: text, model, usage, attempts
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub(crate) struct Explain {
    /// Targets as `provider/model`, separated by commas
    #[arg(required_unless_present = "request", conflicts_with = "request")]
    pub(crate) spec: Option<String>,
    /// Show what would become of this request in place of what a spec means
    #[arg(long, value_name = "FILE")]
    pub(crate) request: Option<PathBuf>,
    /// The route to take, in place of the one that the request's model leads to
    #[arg(long, value_name = "ROUTE", requires = "request")]
    pub(crate) route: Option<String>,
    /// The path that the request would be sent to, which says its dialect
    #[arg(long, requires = "request", conflicts_with = "dialect")]
    pub(crate) path: Option<String>,
    /// Its dialect: chat, responses, messages, gemini, ollama or generate
    #[arg(long, requires = "request")]
    pub(crate) dialect: Option<String>,
    /// The name of the client's key, for rules that look at it
    #[arg(long, value_name = "NAME", requires = "request")]
    pub(crate) key: Option<String>,
    /// One of the client's headers, `name: value`; may be repeated
    #[arg(long = "header", value_name = "HEADER", requires = "request")]
    pub(crate) headers: Vec<String>,
    /// The configuration file
    #[arg(long, value_name = "FILE", requires = "request")]
    pub(crate) config: Option<PathBuf>,
    /// Print it as JSON, as the operator's `/api/explain` does
    #[arg(long, requires = "request")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = FIT_EXAMPLES)]
pub(crate) struct Fit {
    /// The image's file
    pub(crate) image: PathBuf,
    /// Who would get it, as `provider/model`
    #[arg(long = "for", value_name = "TARGET")]
    pub(crate) target: String,
    /// Write what would be sent to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub(crate) struct Check {
    /// The configuration file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = KEY_EXAMPLES)]
pub(crate) struct Key {
    #[command(subcommand)]
    pub(crate) command: KeyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a key: shown once, with the hashed entry to put into the file
    #[command(after_help = KEY_EXAMPLES)]
    New {
        /// Whose key it is; logs tell
        name: String,
    },
}

/// Reads the command line. Help and mistakes are told here; what is left is the
/// exit code.
pub(crate) fn read() -> Result<Command, ExitCode> {
    CommandLine::try_parse()
        .map(|line| line.command)
        .map_err(|error| match error.kind() {
            ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                // Nobody is left to tell when even this cannot be printed.
                let _ = error.print();
                ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
            }
            _ => {
                paint::error(&in_one_sentence(&error.to_string()));
                ExitCode::from(2)
            }
        })
}

/// The parser's report without its paragraphs: the mistake, its tips, where to look.
fn in_one_sentence(report: &str) -> String {
    let line = |paragraph: &str| {
        let lines: Vec<&str> = paragraph.lines().map(str::trim).collect();
        lines.join(" ")
    };
    let mut clauses = Vec::new();
    for (at, paragraph) in report.trim().split("\n\n").enumerate() {
        let text = line(paragraph);
        if let Some(mistake) = text.strip_prefix("error: ").filter(|_| at == 0) {
            clauses.push(mistake.to_owned());
        } else if let Some(tip) = text.strip_prefix("tip: ") {
            clauses.push(tip.to_owned());
        }
    }
    clauses.push("`majordomo --help` shows what can be typed".to_owned());
    clauses.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn a_mistake_is_one_sentence() {
        for (line, sentence) in [
            (
                &["majordomo", "chat"][..],
                "the following required arguments were not provided: <SPEC>; `majordomo --help` shows what can be typed",
            ),
            (
                &["majordomo", "chatt"],
                "unrecognized subcommand 'chatt'; a similar subcommand exists: 'chat'; `majordomo --help` shows what can be typed",
            ),
            (
                &["majordomo", "fit", "a.png", "--four", "x/y"],
                "unexpected argument '--four' found; a similar argument exists: '--for'; `majordomo --help` shows what can be typed",
            ),
        ] {
            let error = CommandLine::try_parse_from(line).unwrap_err();
            assert_eq!(in_one_sentence(&error.to_string()), sentence);
        }
    }
}
