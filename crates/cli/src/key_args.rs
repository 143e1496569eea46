//! Arguments of `majordomo key` and `majordomo team`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

const KEY_EXAMPLES: &str = "\
Examples:
  majordomo key new ada --team search --budget day=5 --limit requests_per_minute=60
  majordomo key list
  majordomo key rotate ada --overlap 24h
  majordomo key freeze ada
  majordomo key new laptop --entry >> majordomo.toml

The key goes to stderr, its entry to stdout. Keys are stored beside the ledger, by the running
gateway or, if none runs, directly; without a store, or with --entry, the entry for the
configuration file is printed instead.";

const TEAM_EXAMPLES: &str = "\
Examples:
  majordomo team set search --budget month=500 --limit concurrent=40
  majordomo team list
  majordomo team delete search";

#[derive(Debug, Args)]
#[command(after_help = KEY_EXAMPLES)]
pub(crate) struct KeyArgs {
    #[command(subcommand)]
    pub(crate) command: KeyCommand,
    #[command(flatten)]
    pub(crate) common: AccessArgs,
}

#[derive(Debug, Args)]
#[command(after_help = TEAM_EXAMPLES)]
pub(crate) struct TeamArgs {
    #[command(subcommand)]
    pub(crate) command: TeamCommand,
    #[command(flatten)]
    pub(crate) common: AccessArgs,
}

/// Arguments of every command for keys and teams.
#[derive(Debug, Args)]
pub(crate) struct AccessArgs {
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Path to the configuration file
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Create a key and show it once
    #[command(after_help = KEY_EXAMPLES)]
    New {
        /// Name of the key, as shown in logs
        name: String,
        /// Print the hashed entry for the configuration file instead of storing the key
        #[arg(long)]
        entry: bool,
        #[command(flatten)]
        settings: KeySettings,
    },
    /// Change the given settings of a stored key
    Set {
        /// Name of the key
        name: String,
        #[command(flatten)]
        settings: KeySettings,
    },
    /// List the keys of the file and the stored ones
    List,
    /// Block a key until it is unfrozen
    Freeze {
        /// Name of the key
        name: String,
    },
    /// Accept a frozen key again
    Unfreeze {
        /// Name of the key
        name: String,
    },
    /// Give a key a new secret; the old one works for a while
    Rotate {
        /// Name of the key
        name: String,
        /// How long the old secret keeps working
        #[arg(long, value_name = "TIME", default_value = "24h")]
        overlap: String,
    },
    /// Delete a key; its running requests finish
    Delete {
        /// Name of the key
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum TeamCommand {
    /// Create a team, or replace its settings
    Set {
        /// Name of the team
        name: String,
        #[command(flatten)]
        limits: LimitArgs,
    },
    /// List the teams of the file and the stored ones
    List,
    /// Delete a team without keys
    Delete {
        /// Name of the team
        name: String,
    },
}

/// The permissions of a key.
#[derive(Debug, Args)]
pub(crate) struct KeySettings {
    /// Team that the key belongs to
    #[arg(long)]
    pub(crate) team: Option<String>,
    /// Role of the key: client, viewer or operator
    #[arg(long)]
    pub(crate) role: Option<String>,
    /// Scope of a viewer: team or all
    #[arg(long)]
    pub(crate) scope: Option<String>,
    /// Models it may use, comma-separated; `*` and `?` are allowed
    #[arg(long, value_delimiter = ',')]
    pub(crate) models: Vec<String>,
    /// Last day on which the key works, such as 2027-01-31
    #[arg(long, value_name = "DATE")]
    pub(crate) expires: Option<String>,
    /// Allow the key's client to name end users
    #[arg(long)]
    pub(crate) asserts_users: bool,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// Limits of a key or a team.
#[derive(Debug, Args)]
pub(crate) struct LimitArgs {
    /// Limit such as requests_per_minute=60, tokens_per_minute=200000, concurrent=4 or
    /// queue=10s; may be given more than once
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    pub(crate) limits: Vec<String>,
    /// Dollars per window, such as day=5 or month=100; may be given more than once
    #[arg(long = "budget", value_name = "WINDOW=USD")]
    pub(crate) budgets: Vec<String>,
    /// Action when a budget is spent: refuse, clamp, warn or spec:<cheaper spec>
    #[arg(long, value_name = "POLICY")]
    pub(crate) when_exhausted: Option<String>,
}
