//! Targets with their health and figures.

use std::time::SystemTime;

use majordomo::health::{HealthStatus, QuotaStatus};
use majordomo::llm::QuotaWindow;
use majordomo_page::{Screen, Segment, TargetRow, TargetStatus, TargetsView};

use super::super::health;
use super::PageContext;
use super::rows::timestamp;
use crate::bench_history::{HISTORY, PastBench};
use crate::clock::wall_clock;

pub(super) fn render(context: &PageContext<'_>) -> String {
    let now = wall_clock();
    let (listed, unlisted) = health::listed(context.state);
    let view = TargetsView {
        targets: listed
            .iter()
            .map(|status| row(context, status, now))
            .collect(),
        unlisted: unlisted.targets(),
    };
    majordomo_page::targets(&context.frame(Screen::Targets), &view)
}

fn row(context: &PageContext<'_>, status: &HealthStatus, now: SystemTime) -> TargetRow {
    let live = &context.server.live;
    let figures = live.targets.of(&status.subject).unwrap_or_default();
    let benches = context.state.benches.of(&status.subject, now);
    TargetRow {
        name: status.subject.clone(),
        status: if status.probing {
            TargetStatus::Probing
        } else if status.until_usable.is_some() {
            TargetStatus::Benched
        } else if status.on_trial {
            TargetStatus::OnTrial
        } else {
            TargetStatus::Usable
        },
        why: status.cause.as_ref().map(ToString::to_string),
        until: status.until_usable,
        benches: benches.iter().map(|bench| segment(bench, now)).collect(),
        served: figures.served,
        calls: figures.ended,
        in_flight: live.open.at_target(&status.subject) as u64,
        first_token: figures.first_token,
        speed: figures.speed,
        quota: status.quota.map(left_of),
        cached: (figures.input, figures.cached),
    }
}

/// As in `left: 12 of 50 requests, 900 of 40000 tokens`.
fn left_of(quota: QuotaStatus) -> String {
    let part = |window: Option<QuotaWindow>, what: &str| {
        let window = window?;
        Some(format!("{} of {} {what}", window.left, window.limit))
    };
    let parts = [
        part(quota.requests, "requests"),
        part(quota.tokens, "tokens"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("left: {}", parts.join(", "))
}

/// A bench as a part of the last day.
fn segment(bench: &PastBench, now: SystemTime) -> Segment {
    let place = |time: SystemTime| {
        let ago = now.duration_since(time).unwrap_or_default();
        1.0 - ago.as_secs_f64() / HISTORY.as_secs_f64()
    };
    let (start, end) = (timestamp(bench.start), timestamp(bench.end));
    let minute = |text: &str| text.get(11..16).unwrap_or_default().to_owned();
    Segment {
        start: place(bench.start),
        end: place(bench.end),
        text: format!(
            "{} to {} UTC: {}",
            minute(&start),
            minute(&end),
            bench.cause
        ),
    }
}
