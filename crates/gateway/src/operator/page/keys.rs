//! Keys and teams with their spending, and the audit log.

use std::collections::BTreeMap;
use std::sync::Arc;

use majordomo_ledger::{AuditQuery, Cost, Day, GroupBy, UsageQuery, UsageRow};
use majordomo_page::{AuditView, KeyView, KeysView, Screen, TeamView};
use serde_json::Value;

use super::PageContext;
use crate::ledger_sink::now_millis;
use crate::operator::usage_report::ask;
use crate::stored_keys::{AccessReply, AccessRequest, FileEntries, timestamp};

/// How many days back the last use of a key is searched for.
const LAST_USE: i64 = 90;
/// The number of days whose cost is shown.
const SPEND: i64 = 30;
/// Maximum changes to show.
const MOST_CHANGES: usize = 50;

/// Requests and cost of thirty days, and the last use.
#[derive(Clone, Default)]
struct Spent {
    requests: u64,
    cost: Cost,
    attempts: u64,
    unpriced: u64,
    last: String,
}

pub(super) async fn render(context: &PageContext<'_>) -> String {
    let keys = list(context, AccessRequest::ListKeys).await;
    let teams = list(context, AccessRequest::ListTeams).await;
    let audit = AuditQuery {
        limit: MOST_CHANGES,
        ..AuditQuery::default()
    };
    let audit = list(context, AccessRequest::Audit(audit)).await;
    let (by_key, by_team) = spent(context).await;
    let mut view = KeysView {
        problem: keys.as_ref().err().cloned(),
        ..KeysView::default()
    };
    let (keys, teams) = match (keys, teams) {
        (Ok(keys), Ok(teams)) => (keys, teams),
        _ => of_file(context),
    };
    let members = |team: &str| keys.iter().filter(|key| key["team"] == team).count() as u64;
    view.teams = teams
        .iter()
        .map(|team| team_view(team, &by_team, members(&text(team, "name"))))
        .collect();
    view.keys = keys.iter().map(|key| key_view(key, &by_key)).collect();
    view.audit = audit.unwrap_or_default().iter().map(change).collect();
    majordomo_page::keys(&context.frame(Screen::Keys), &view)
}

/// Queries the store, as `/api/keys` does, or returns the reason for a failure.
async fn list(context: &PageContext<'_>, request: AccessRequest) -> Result<Vec<Value>, String> {
    let Some(access) = context.server.access.load_full() else {
        let text = "Keys cannot be changed here: `store` in [ledger] is \"off\", or there is no \
                    state folder.";
        return Err(text.to_owned());
    };
    let file = Arc::new(FileEntries::of(context.state.config()));
    let AccessReply { status, body } = access.call(request, context.caller.who(), file).await;
    match (status, body) {
        (200, Value::Object(fields)) => {
            let list = fields.into_iter().next().map(|(_, list)| list);
            Ok(list
                .and_then(|list| list.as_array().cloned())
                .unwrap_or_default())
        }
        (_, body) => Err(text(&body, "error")),
    }
}

/// The entries of the file alone.
fn of_file(context: &PageContext<'_>) -> (Vec<Value>, Vec<Value>) {
    FileEntries::of(context.state.config()).views(now_millis())
}

/// The spending of keys and teams; empty without a ledger.
async fn spent(context: &PageContext<'_>) -> (BTreeMap<String, Spent>, BTreeMap<String, Spent>) {
    let now = now_millis();
    let question = move |by: GroupBy, step: GroupBy, days: i64| UsageQuery {
        since_millis: match step {
            GroupBy::Hour => now - days * 86_400_000,
            _ => Day::of_millis(now).minus(days - 1).start_millis(),
        },
        until_millis: now,
        by: vec![by, step],
        utc_offset_minutes: 0,
        as_recorded: false,
    };
    let asked = ask(context.server, move |store| {
        let keys = store.usage(&question(GroupBy::Key, GroupBy::Day, LAST_USE))?;
        let hours = store.usage(&question(GroupBy::Key, GroupBy::Hour, 1))?;
        let teams = store.usage(&question(GroupBy::Team, GroupBy::Day, SPEND))?;
        Ok((keys, hours, teams))
    });
    let Ok((keys, hours, teams)) = asked.await else {
        return Default::default();
    };
    let since = Day::of_millis(now).minus(SPEND - 1).to_string();
    let mut by_key = sums(&keys, &since);
    for row in &hours {
        if let [name, hour] = row.group.as_slice()
            && let Some(spent) = by_key.get_mut(name)
        {
            // An hour is longer than its day, so it sorts after it.
            spent.last = spent.last.clone().max(hour.clone());
        }
    }
    (by_key, sums(&teams, &since))
}

fn sums(rows: &[UsageRow], since: &str) -> BTreeMap<String, Spent> {
    let mut all = BTreeMap::<String, Spent>::new();
    for row in rows {
        let [name, day] = row.group.as_slice() else {
            continue;
        };
        let spent = all.entry(name.clone()).or_default();
        spent.last = spent.last.clone().max(day.clone());
        if day.as_str() >= since {
            spent.requests += row.sums.requests;
            spent.cost += row.sums.cost;
            spent.attempts += row.sums.attempts;
            spent.unpriced += row.sums.unpriced;
        }
    }
    all
}

fn thirty_days(spent: Option<&Spent>) -> Option<(u64, String)> {
    let spent = spent?;
    let cost = match spent.unpriced {
        0 => format!("${}", spent.cost),
        unpriced if unpriced == spent.attempts => "unknown".to_owned(),
        _ => format!("${} + unknown", spent.cost),
    };
    Some((spent.requests, cost))
}

fn key_view(key: &Value, spent: &BTreeMap<String, Spent>) -> KeyView {
    let name = text(key, "name");
    let spent = spent.get(&name);
    KeyView {
        team: key["team"].as_str().map(str::to_owned),
        role: text(key, "role"),
        state: text(key, "state"),
        in_file: key["origin"] == "file",
        limits: limits(key),
        settings: settings(key),
        old_secret_until: key["old_secret_until"].as_str().map(str::to_owned),
        last_used: spent
            .filter(|spent| !spent.last.is_empty())
            .map(|spent| spent.last.clone()),
        thirty_days: thirty_days(spent),
        unusable: key["unusable"].as_str().map(str::to_owned),
        name,
    }
}

fn team_view(team: &Value, spent: &BTreeMap<String, Spent>, keys: u64) -> TeamView {
    let name = text(team, "name");
    TeamView {
        in_file: team["origin"] == "file",
        keys,
        limits: limits(team),
        settings: settings(team),
        thirty_days: thirty_days(spent.get(&name)),
        name,
    }
}

/// The permissions of an entry, in words.
fn limits(entry: &Value) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(models) = entry["models"].as_array() {
        let names: Vec<&str> = models.iter().filter_map(Value::as_str).collect();
        words.push(format!("models {}", names.join(", ")));
    }
    if let Some(expires) = entry["expires"].as_str() {
        // Whole minutes, without the marks of RFC 3339.
        let minute = expires.get(..16).unwrap_or(expires).replace('T', " ");
        words.push(format!("expires {minute} UTC"));
    }
    for (name, what) in [
        ("requests_per_minute", "requests per minute"),
        ("tokens_per_minute", "tokens per minute"),
        ("concurrent", "at the same time"),
    ] {
        if let Some(limit) = entry["limits"][name].as_u64() {
            words.push(format!("{} {what}", grouped(limit)));
        }
    }
    for (name, amount) in entry["budget"].as_object().into_iter().flatten() {
        let amount = amount.as_str().unwrap_or_default();
        words.push(match name.as_str() {
            "total" => format!("{amount} in total"),
            window => format!("{amount} per {window}"),
        });
    }
    if let Some(when) = entry["when_exhausted"].as_str() {
        words.push(format!("when exhausted: {when}"));
    }
    if entry["capture"] == true {
        words.push("its requests are captured".to_owned());
    }
    words
}

/// `6,000`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let places = digits.char_indices();
    let comma = |at: usize| at > 0 && (digits.len() - at).is_multiple_of(3);
    let each = places.flat_map(|(at, digit)| comma(at).then_some(',').into_iter().chain([digit]));
    each.collect()
}

/// The initial contents of the form: the settings, without descriptive fields.
fn settings(entry: &Value) -> String {
    let mut settings = entry.as_object().cloned().unwrap_or_default();
    for described in [
        "name",
        "state",
        "origin",
        "created",
        "old_secret_until",
        "unusable",
    ] {
        settings.remove(described);
    }
    Value::from(settings).to_string()
}

fn change(row: &Value) -> AuditView {
    AuditView {
        at: timestamp(row["at_millis"].as_i64().unwrap_or_default()),
        who: text(row, "who"),
        action: text(row, "action"),
        subject: text(row, "subject"),
        detail: text(row, "detail"),
    }
}

fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_default().to_owned()
}
