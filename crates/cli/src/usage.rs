//! `majordomo usage`: reports usage and cost from the ledger.

use std::io::{IsTerminal, Write};

use majordomo_gateway::ledger::{Cost, GroupBy, UsageQuery, UsageRow, UsageSums, usage_csv};

use crate::error::CliError;
use crate::ledger_args::UsageArgs;
use crate::{ledger, output};

/// Characters of the longest bar.
const BAR: i64 = 20;

pub(crate) fn run(args: &UsageArgs) -> Result<(), CliError> {
    let groups = args.by.iter().map(|name| {
        let known = GroupBy::ALL.map(|(name, _)| name).join(", ");
        GroupBy::named(name).ok_or_else(|| {
            CliError::new(format!("`{name}` is not a group; the groups are {known}"))
        })
    });
    let by: Vec<GroupBy> = groups.collect::<Result<_, _>>()?;
    let tools = ledger::tools(args.config.as_deref())?;
    let mut store = ledger::open(&tools)?;
    let now = tools.now_millis();
    let query = UsageQuery {
        since_millis: ledger::start(&args.since, now)?,
        until_millis: now,
        by: by.clone(),
        utc_offset_minutes: 0,
        as_recorded: args.as_recorded,
    };
    let rows = store.usage(&query).map_err(ledger::refused)?;
    let whole = UsageQuery {
        by: Vec::new(),
        ..query
    };
    let total = store.usage(&whole).map_err(ledger::refused)?;
    let total = total.first().map(|row| row.sums).unwrap_or_default();
    if args.csv {
        write!(anstream::stdout(), "{}", usage_csv(&by, &rows))?;
        return Ok(());
    }
    if args.json {
        let report = serde_json::json!({ "by": by, "rows": rows, "total": total });
        writeln!(anstream::stdout(), "{report}")?;
        return Ok(());
    }
    table(&by, &rows, &total)
}

fn table(by: &[GroupBy], rows: &[UsageRow], total: &UsageSums) -> Result<(), CliError> {
    let names: Vec<String> = by
        .iter()
        .map(|group| group.as_str().to_uppercase())
        .collect();
    let names = names.join(" / ");
    let most = rows
        .iter()
        .map(|row| row.sums.cost)
        .max()
        .unwrap_or_default();
    let bars = std::io::stdout().is_terminal() && most > Cost::ZERO;
    let line = |name: String, sums: &UsageSums, bar: String| {
        [
            name,
            sums.requests.to_string(),
            sums.input.to_string(),
            sums.cache_read.to_string(),
            sums.output.to_string(),
            cost(sums),
            bar,
        ]
    };
    let mut lines: Vec<_> = rows
        .iter()
        .map(|row| {
            let values = row.group.iter().map(|value| match value.as_str() {
                "" => "-",
                value => value,
            });
            let name = values.collect::<Vec<_>>().join(" / ");
            let bar = if bars {
                bar(row.sums.cost, most)
            } else {
                String::new()
            };
            line(name, &row.sums, bar)
        })
        .collect();
    lines.push(line("total".to_owned(), total, String::new()));
    let heading = [&*names, "REQUESTS", "INPUT", "CACHED", "OUTPUT", "USD", ""];
    output::table(heading, &lines)?;
    if total.estimated_cost != Cost::ZERO {
        output::note(&format!(
            "{} USD of it are estimates, of {} attempts that no provider counted whole",
            total.estimated_cost,
            total.estimated + total.lost
        ));
    }
    if total.unpriced > 0 {
        output::note(&format!(
            "{} attempts have no known price and are not in the cost; see `majordomo prices`",
            total.unpriced
        ));
    }
    Ok(())
}

/// The cost; `unknown` if no part of it is known.
fn cost(sums: &UsageSums) -> String {
    match sums.unpriced {
        0 => sums.cost.to_string(),
        unpriced if unpriced == sums.attempts => "unknown".to_owned(),
        _ => format!("{} + unknown", sums.cost),
    }
}

fn bar(cost: Cost, most: Cost) -> String {
    let length = cost.nanodollars().saturating_mul(BAR) / most.nanodollars().max(1);
    "█".repeat(usize::try_from(length.clamp(0, BAR)).unwrap_or_default())
}
