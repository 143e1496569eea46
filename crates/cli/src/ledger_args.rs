//! Arguments of the commands `usage`, `prices` and `ledger`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

const USAGE_EXAMPLES: &str = "\
Examples:
  majordomo usage
  majordomo usage --by key,model --since 30d
  majordomo usage --by day --since 2026-11-01 --csv > november.csv";

const PRICES_EXAMPLES: &str = "\
Examples:
  majordomo prices sonnet
  majordomo prices openai/gpt-6";

const LEDGER_EXAMPLES: &str = "\
Examples:
  majordomo ledger verify
  majordomo ledger backup /backup/ledger-2026-11-17
  majordomo ledger export --since 1d | jq .request.model
  majordomo ledger reprice --since 2026-11-01
  majordomo ledger forget --user ada@example.com";

#[derive(Debug, Args)]
#[command(after_help = USAGE_EXAMPLES)]
pub(crate) struct UsageArgs {
    /// Groups, comma-separated: key, team, model, target, tag, day or hour
    #[arg(
        long,
        value_name = "GROUPS",
        value_delimiter = ',',
        default_value = "target"
    )]
    pub(crate) by: Vec<String>,
    /// Start of the range: a duration such as 7d or 12h, or a date such as 2026-11-01
    #[arg(long, value_name = "TIME", default_value = "7d")]
    pub(crate) since: String,
    /// Leave out later corrections of prices
    #[arg(long)]
    pub(crate) as_recorded: bool,
    /// Print comma-separated values
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Path to the configuration file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = PRICES_EXAMPLES)]
pub(crate) struct PricesArgs {
    /// Part of a model's name
    pub(crate) model: Option<String>,
    /// Path to the configuration file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = LEDGER_EXAMPLES)]
pub(crate) struct LedgerArgs {
    #[command(subcommand)]
    pub(crate) command: LedgerCommand,
    /// Path to the configuration file
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LedgerCommand {
    /// Check the files, and the rollups against the rows
    Verify,
    /// Print requests and attempts, one JSON object per line, newest first
    Export {
        /// Start of the range
        #[arg(long, value_name = "TIME", default_value = "90d")]
        since: String,
    },
    /// Reprice past attempts; differences become compensating rows
    Reprice {
        /// Start of the range
        #[arg(long, value_name = "TIME", default_value = "90d")]
        since: String,
    },
    /// Copy the ledger into a new folder, even while the gateway is running
    Backup {
        /// The new folder
        folder: PathBuf,
    },
    /// Restore a copy into the configured folder, which must be empty
    Restore {
        /// The copy
        folder: PathBuf,
    },
    /// Erase an end user from all rows
    Forget {
        /// The end user's name
        #[arg(long, value_name = "NAME")]
        user: String,
    },
}
