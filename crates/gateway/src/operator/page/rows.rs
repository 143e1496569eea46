//! Rows of the live feed, from open and from finished requests.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use majordomo::llm::Change;
use majordomo_page::{RequestRow, RowState};

use crate::live::{LiveFeed, OpenRequest, Phase};
use crate::outcome::RequestOutcome;
use crate::record::FinishedRequest;
use crate::traces::Traces;
use crate::trust::Visible;

/// The last second of the year 9999 in Unix time.
const LATEST: Duration = Duration::from_secs(253_402_300_799);

/// Open requests, then finished ones, each latest first; at most `most` requests that the
/// reader may see.
pub(in crate::operator) fn latest(
    feed: &LiveFeed,
    traces: &Traces,
    most: usize,
    sees: &Visible,
) -> Vec<RequestRow> {
    let mut running = feed.open.changed_since(0, usize::MAX);
    running.retain(|open| sees.includes(open.key.as_deref(), open.team.as_deref()));
    running.truncate(most);
    running.sort_unstable_by_key(|open| std::cmp::Reverse(open.arrived));
    let mut rows: Vec<RequestRow> = running.iter().map(open).collect();
    let records = traces.records();
    let kept = records.iter().filter(|record| {
        // A request may have ended between the two reads.
        let ended = !running.iter().any(|open| open.id == record.id);
        let caller = &record.caller;
        ended && sees.includes(caller.key.as_deref(), caller.team.as_deref())
    });
    let room = most.saturating_sub(rows.len());
    rows.extend(kept.take(room).map(|record| finished(record)));
    rows
}

/// A request that runs.
pub(in crate::operator) fn open(request: &OpenRequest) -> RequestRow {
    RequestRow {
        id: request.id.to_string(),
        at: timestamp(request.arrived),
        key: request.key.as_deref().map(str::to_owned),
        dialect: request.dialect.as_str().to_owned(),
        client: request.client,
        model: request.model.clone(),
        target: request.phase.target().map(str::to_owned),
        attempts: (request.attempts > 0).then_some(request.attempts),
        state: RowState::Running(phase(request)),
        ..RequestRow::default()
    }
}

/// The phase of an open request, in words.
fn phase(request: &OpenRequest) -> String {
    match &request.phase {
        Phase::Queued => "queued".to_owned(),
        Phase::Routed => "routed".to_owned(),
        Phase::Describing(_) => "describing an image".to_owned(),
        Phase::Calling(_) if request.attempts > 1 => format!("attempt {}", request.attempts),
        Phase::Calling(_) => "waiting for tokens".to_owned(),
        Phase::Streaming(_) => "streaming".to_owned(),
    }
}

/// A finished request.
pub(in crate::operator) fn finished(record: &FinishedRequest) -> RequestRow {
    let tokens = (record.usage.input, record.usage.output);
    RequestRow {
        id: record.id.to_string(),
        at: timestamp(record.arrived),
        key: record.caller.key.as_deref().map(str::to_owned),
        dialect: record.dialect.as_str().to_owned(),
        client: record.client,
        model: record.model.clone(),
        target: record.target.clone(),
        attempts: record.attempts_sent.map(|sent| sent as u64),
        tokens: (tokens != (0, 0)).then_some(tokens),
        estimated: record.usage_estimated,
        cost: record
            .cost()
            .filter(|_| !record.calls.is_empty())
            .map(|cost| format!("${cost}")),
        unpriced: !record.calls.is_empty() && record.cost().is_none(),
        first_token: record.first_token,
        took: Some(record.took),
        changes: record.changes.iter().map(Change::to_string).collect(),
        state: match record.outcome {
            RequestOutcome::Complete => RowState::Complete,
            RequestOutcome::Failed => RowState::Failed(record.status),
            RequestOutcome::Interrupted => RowState::Interrupted,
            RequestOutcome::ClientGone => RowState::ClientGone,
        },
    }
}

/// A time in RFC 3339. The wall clock may be unset at boot, or beyond any formattable date.
pub(in crate::operator) fn timestamp(time: SystemTime) -> String {
    let time = time.clamp(UNIX_EPOCH, UNIX_EPOCH + LATEST);
    humantime::format_rfc3339_millis(time).to_string()
}
