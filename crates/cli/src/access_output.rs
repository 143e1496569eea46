//! Output that `majordomo key` and `majordomo team` share: limits as settings, and JSON.

use std::io::Write;

use majordomo_gateway::{AccessFailure, AccessTools, environment};
use serde_json::{Map, Value, json};

use crate::error::CliError;
use crate::key_args::{AccessArgs, LimitArgs};
use crate::setup::listed;

/// The keys and teams of the configuration.
pub(crate) fn tools(common: &AccessArgs) -> Result<AccessTools, CliError> {
    AccessTools::load(common.config.as_deref(), &environment()).map_err(listed)
}

pub(crate) fn failed(failure: AccessFailure) -> CliError {
    CliError::new(failure.to_string())
}

pub(crate) fn print_json(value: &Value) -> Result<(), CliError> {
    writeln!(anstream::stdout(), "{value:#}")?;
    Ok(())
}

/// Limits, budgets and `when_exhausted`, as settings of an entry.
pub(crate) fn limit_settings(args: &LimitArgs) -> Result<Map<String, Value>, CliError> {
    let mut settings = Map::new();
    let mut limits = Map::new();
    for limit in &args.limits {
        let (name, value) = pair(limit, "--limit requests_per_minute=60")?;
        let number = value.replace('_', "").parse::<u64>();
        let value = number.map_or_else(|_| json!(value), |number| json!(number));
        limits.insert(name.to_owned(), value);
    }
    let mut budget = Map::new();
    for amount in &args.budgets {
        let (window, amount) = pair(amount, "--budget day=5")?;
        let amount = amount.trim_end_matches("USD").trim();
        budget.insert(window.to_owned(), json!(format!("{amount} USD")));
    }
    for (name, value) in [("limits", limits), ("budget", budget)] {
        if !value.is_empty() {
            settings.insert(name.to_owned(), value.into());
        }
    }
    if let Some(policy) = &args.when_exhausted {
        settings.insert("when_exhausted".to_owned(), json!(policy));
    }
    Ok(settings)
}

fn pair<'a>(text: &'a str, example: &str) -> Result<(&'a str, &'a str), CliError> {
    let pair = text.split_once('=');
    let pair = pair.map(|(name, value)| (name.trim(), value.trim()));
    pair.filter(|(name, value)| !name.is_empty() && !value.is_empty())
        .ok_or_else(|| CliError::new(format!("`{text}` is not a pair; write `{example}`")))
}
