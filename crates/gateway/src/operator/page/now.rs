//! The live feed.

use majordomo_ledger::Cost;
use majordomo_page::{Bar, Filter, LastHour, NowView, Screen};

use super::{PageContext, connect, rows};
use crate::clock::wall_clock;
use crate::demo::Demo;
use crate::live::{LiveFeed, MinuteFigures, figures_of};
use crate::record::unix_millis;
use crate::server::ServerContext;
use crate::trust::Visible;

/// Rows of a page that is loaded; finished ones are bounded by `traces` as well.
const MOST_ROWS: usize = 2_000;

pub(super) async fn render(context: &PageContext<'_>) -> String {
    let server = context.server;
    let sees = context.caller.sees();
    let hour = last_hour(&minutes(server, &sees));
    let rows = rows::latest(&server.live, &server.traces, MOST_ROWS, &sees);
    let first_model = match rows.is_empty() {
        true => first_model(&connect::models(context).await),
        false => None,
    };
    let view = NowView {
        hour,
        rows,
        filter: Filter::new(context.parameter("q"), context.parameter("state")),
        first_model,
        most_kept: context.state.server.traces,
    };
    majordomo_page::now(&context.frame(Screen::Now), &view)
}

/// The model that a newcomer asks: the demo's slow one rather than one that responds before
/// its request is seen.
fn first_model(names: &[String]) -> Option<String> {
    let first = names.first()?;
    let slow = first.strip_suffix("/text");
    let slow = slow.map(|provider| format!("{provider}/{}", Demo::SLOW));
    let slow = slow.filter(|slow| names.contains(slow));
    Some(slow.unwrap_or_else(|| first.clone()))
}

/// The figures of the last hour, as HTML for a page that is open already.
pub(in crate::operator) fn last_hour_html(feed: &LiveFeed) -> String {
    let minutes = feed.minutes.until(unix_millis(wall_clock()));
    majordomo_page::last_hour(&last_hour(&minutes))
}

fn last_hour(minutes: &[MinuteFigures]) -> LastHour {
    let sum = |value: fn(&MinuteFigures) -> u64| minutes.iter().map(value).sum::<u64>();
    LastHour {
        totals: [
            sum(|it| it.requests).to_string(),
            sum(|it| it.errors).to_string(),
            dollars(sum(|it| it.cost)),
        ],
        requests: bars(minutes, |it| it.requests, |n| counted(n, "request")),
        errors: bars(minutes, |it| it.errors, |n| counted(n, "error")),
        cost: bars(minutes, |it| it.cost, dollars),
    }
}

/// The last hour of the requests that the reader may see. For a single team, it is counted
/// from the kept requests.
fn minutes(server: &ServerContext, sees: &Visible) -> Vec<MinuteFigures> {
    let now = unix_millis(wall_clock());
    if *sees == Visible::All {
        return server.live.minutes.until(now);
    }
    let records = server.traces.records();
    let seen = records.iter().rev().filter(|record| {
        let caller = &record.caller;
        sees.includes(caller.key.as_deref(), caller.team.as_deref())
    });
    figures_of(seen.map(|record| &**record), now)
}

fn bars(
    minutes: &[MinuteFigures],
    value: impl Fn(&MinuteFigures) -> u64,
    text: impl Fn(u64) -> String,
) -> Vec<Bar> {
    let bar = |figures: &MinuteFigures| {
        let (of_day, value) = (figures.minute.rem_euclid(24 * 60), value(figures));
        Bar {
            label: format!("{:02}:{:02} UTC", of_day / 60, of_day % 60),
            value: value as f64,
            text: text(value),
        }
    };
    minutes.iter().map(bar).collect()
}

fn counted(number: u64, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}

fn dollars(nanodollars: u64) -> String {
    let cost = Cost::from_nanodollars(i64::try_from(nanodollars).unwrap_or(i64::MAX));
    format!("${cost}")
}
