//! `majordomo ledger`: checks, copies, corrects and exports the ledger.

use std::io::Write;
use std::path::{Path, PathBuf};

use majordomo_gateway::ledger::{
    RequestQuery, SqliteStore, Store, StoreError, StorePlace, parse_since,
};
use majordomo_gateway::{Diagnostics, LedgerTools, environment};

use crate::error::CliError;
use crate::ledger_args::{LedgerArgs, LedgerCommand};
use crate::output;

/// Requests read at a time.
const PAGE: usize = 500;

pub(crate) fn run(args: &LedgerArgs) -> Result<(), CliError> {
    let tools = tools(args.config.as_deref())?;
    if let LedgerCommand::Restore { folder } = &args.command {
        let to = folder_of(&tools, "restore")?;
        let days = SqliteStore::restore(folder, &to).map_err(refused)?;
        output::note(&format!("restored {days} days into {}", to.display()));
        return Ok(());
    }
    if let LedgerCommand::Backup { folder } = &args.command {
        let from = folder_of(&tools, "dump")?;
        exists(&from)?;
        let mut store = SqliteStore::open(from).map_err(refused)?;
        let days = store.backup(folder).map_err(refused)?;
        output::note(&format!("copied {days} days into {}", folder.display()));
        return Ok(());
    }
    let mut store = open(&tools)?;
    let now = tools.now_millis();
    match &args.command {
        LedgerCommand::Verify => verify(&mut *store),
        LedgerCommand::Export { since } => export(&mut *store, start(since, now)?),
        LedgerCommand::Reprice { since } => {
            let report = store.reprice(start(since, now)?, now, now, &mut |past| tools.price(past));
            let report = report.map_err(refused)?;
            let difference = report.difference;
            writeln!(
                anstream::stdout(),
                "{} attempts, {} corrected by {difference} USD in total, {} without a price",
                report.attempts,
                report.corrected,
                report.unpriced
            )?;
            Ok(())
        }
        LedgerCommand::Forget { user } => {
            let stored = tools.stored_user(user);
            let stored =
                stored.map_err(|error| CliError::new(format!("the key of end users: {error}")))?;
            let erased = store.forget_user(&stored).map_err(refused)?;
            writeln!(anstream::stdout(), "erased from {erased} requests")?;
            Ok(())
        }
        LedgerCommand::Backup { .. } | LedgerCommand::Restore { .. } => Ok(()),
    }
}

fn verify(store: &mut dyn Store) -> Result<(), CliError> {
    // A running gateway may be between a day and its rollups.
    store.recover().map_err(refused)?;
    let report = store.verify().map_err(refused)?;
    for problem in &report.problems {
        writeln!(anstream::stdout(), "{problem}")?;
    }
    if !report.problems.is_empty() {
        let text = "the ledger is damaged; restore a copy with `majordomo ledger restore`";
        return Err(CliError::new(text));
    }
    writeln!(
        anstream::stdout(),
        "{} days, {} attempts: no problems",
        report.days,
        report.attempts
    )?;
    Ok(())
}

fn export(store: &mut dyn Store, since_millis: i64) -> Result<(), CliError> {
    let mut stdout = anstream::stdout().lock();
    let mut query = RequestQuery {
        since_millis,
        limit: PAGE,
        ..RequestQuery::default()
    };
    loop {
        let page = store.requests(&query).map_err(refused)?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        query.before = Some(last.request.id);
        for request in &page {
            let line = serde_json::to_string(request);
            let line = line.map_err(|error| CliError::new(error.to_string()))?;
            writeln!(stdout, "{line}")?;
        }
    }
}

/// The configuration's ledger and prices.
pub(crate) fn tools(config: Option<&Path>) -> Result<LedgerTools, CliError> {
    let listed = |problems: Diagnostics| CliError::Problems(problems.to_string());
    LedgerTools::load(config, &environment()).map_err(listed)
}

/// The configured store, which must exist.
pub(crate) fn open(tools: &LedgerTools) -> Result<Box<dyn Store>, CliError> {
    let place = configured(tools)?;
    if let StorePlace::Folder(folder) = place {
        exists(folder)?;
    }
    place.open().map_err(refused)
}

fn exists(folder: &Path) -> Result<(), CliError> {
    if folder.join("ledger.db").is_file() {
        return Ok(());
    }
    let text = format!(
        "there is no ledger in {}; `majordomo serve` writes one",
        folder.display()
    );
    Err(CliError::new(text))
}

fn configured(tools: &LedgerTools) -> Result<&StorePlace, CliError> {
    tools.place.as_ref().ok_or_else(|| {
        CliError::new("nothing is recorded: `store` in [ledger] is \"off\", or HOME is not set")
    })
}

/// The folder of a ledger in files. A database has its own tools, such as `pg_dump`.
fn folder_of(tools: &LedgerTools, tool: &str) -> Result<PathBuf, CliError> {
    match configured(tools)? {
        StorePlace::Folder(folder) => Ok(folder.clone()),
        place => {
            let text = format!("the ledger is at {place}: copy the database with pg_{tool}");
            Err(CliError::new(text))
        }
    }
}

/// The start of a range.
pub(crate) fn start(since: &str, now: i64) -> Result<i64, CliError> {
    parse_since(since, now).ok_or_else(|| {
        let text =
            format!("`{since}` is neither a duration such as 7d nor a date such as 2026-11-01");
        CliError::new(text)
    })
}

pub(crate) fn refused(error: StoreError) -> CliError {
    CliError::new(error.to_string())
}
