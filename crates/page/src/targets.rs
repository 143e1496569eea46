//! Providers and models: state, benches of the last day, speed and success.

use std::time::Duration;

use maud::{Markup, html};

use crate::Frame;
use crate::chart::{self, Segment};
use crate::figures::{count, duration, percent};

/// All targets.
#[derive(Clone, Debug, Default)]
pub struct TargetsView {
    /// By name.
    pub targets: Vec<TargetRow>,
    /// Targets beyond the listed ones, which only clients named.
    pub unlisted: usize,
}

/// A target, or a provider's credential.
#[derive(Clone, Debug, Default)]
pub struct TargetRow {
    /// `provider/model`, or `provider` for its credential.
    pub name: String,
    /// Whether it takes requests.
    pub status: TargetStatus,
    /// Why it is benched.
    pub why: Option<String>,
    /// The time until it is usable again.
    pub until: Option<Duration>,
    /// Its benches of the last 24 hours.
    pub benches: Vec<Segment>,
    /// Calls that served.
    pub served: u64,
    /// All calls that ended.
    pub calls: u64,
    /// Calls under way.
    pub in_flight: u64,
    /// Median and 95th percentile of the time to the first token.
    pub first_token: Option<(Duration, Duration)>,
    /// Output tokens per second after the first one, median.
    pub speed: Option<f64>,
    /// The remaining rate limits of one of several keys.
    pub quota: Option<String>,
    /// Input tokens, and how many of them the provider read from its cache.
    pub cached: (u64, u64),
}

/// Whether a target takes requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TargetStatus {
    /// It takes requests.
    #[default]
    Usable,
    /// Usable again; the next failure benches it.
    OnTrial,
    /// Half-open: one request probes it.
    Probing,
    /// It currently takes no requests.
    Benched,
}

impl TargetStatus {
    fn name(self) -> &'static str {
        match self {
            Self::Usable => "usable",
            Self::OnTrial => "on trial",
            Self::Probing => "probing",
            Self::Benched => "benched",
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Usable => "complete",
            Self::OnTrial | Self::Probing => "running",
            Self::Benched => "failed",
        }
    }
}

/// Renders the targets.
pub fn targets(frame: &Frame, view: &TargetsView) -> String {
    let benched = view.targets.iter();
    let benched = benched.filter(|target| target.status == TargetStatus::Benched);
    let content = html! {
        h1 { "Targets" }
        @if view.targets.is_empty() {
            div.empty {
                h2 { "No target yet" }
                p {
                    "Targets appear when the configuration names them or a client asks for them. "
                    a href="/connect" { "Connect a client" } "."
                }
            }
        } @else {
            p {
                (count(view.targets.len() as u64)) " known, " (benched.count()) " benched."
                @if view.unlisted > 0 {
                    " " (count(view.unlisted as u64)) " more were named by clients and are not listed."
                }
            }
            div.scroll tabindex="0" role="region" aria-label="Targets" {
                table.targets {
                    thead {
                        tr {
                            th scope="col" { "Target" }
                            th scope="col" { "State" }
                            th scope="col" { "Benches, last 24 h" }
                            th.number scope="col" { "Served" }
                            th.number scope="col" { "First token p50 / p95" }
                            th.number scope="col" { "Tokens/s" }
                            th.number scope="col" { "In flight" }
                            th.number scope="col" { "Cached input" }
                            @if frame.viewer.may_change { th scope="col" { "Actions" } }
                        }
                    }
                    tbody {
                        @for target in &view.targets { (row(target, frame.viewer.may_change)) }
                    }
                }
            }
        }
    };
    frame.document("Targets", &content)
}

fn row(target: &TargetRow, may_change: bool) -> Markup {
    let title = match target.benches.len() {
        0 => "no bench in the last 24 hours".to_owned(),
        1 => "1 bench in the last 24 hours".to_owned(),
        many => format!("{many} benches in the last 24 hours"),
    };
    html! {
        tr id=(target.name) {
            th scope="row" {
                bdi { (target.name) }
                @if !target.name.contains('/') { span.hint { " credential" } }
            }
            td {
                span.badge .(target.status.class()) { (target.status.name()) }
                @if let Some(until) = target.until { span.hint { " for " span data-countdown=(until.as_secs()) { (duration(until)) } } }
                @if let Some(why) = &target.why {
                    div.why {
                        @if target.status != TargetStatus::Benched { "last failure: " }
                        (why)
                    }
                }
                @if let Some(quota) = &target.quota { div.why { (quota) } }
            }
            td { (chart::strip(&title, &target.benches)) }
            td.number {
                @match percent(target.served, target.calls) {
                    Some(share) => span title=(format!("{} of {} calls", target.served, target.calls)) {
                        (share)
                    },
                    None => "–",
                }
            }
            td.number {
                @match target.first_token {
                    Some((median, high)) => { (duration(median)) " / " (duration(high)) },
                    None => "–",
                }
            }
            td.number {
                @match target.speed {
                    Some(speed) => (count(speed.round() as u64)),
                    None => "–",
                }
            }
            td.number { (target.in_flight) }
            td.number {
                @match percent(target.cached.1, target.cached.0) {
                    Some(share) => (share),
                    None => "–",
                }
            }
            @if may_change { td.actions { (actions(target)) } }
        }
    }
}

fn actions(target: &TargetRow) -> Markup {
    // The limits of one of several keys are not a separate target.
    let is_target = target.name.contains('/') && !target.name.contains(' ');
    html! {
        @if target.status == TargetStatus::Benched {
            button.quiet type="button" data-action="release" data-target=(target.name) { "Release" }
        } @else if is_target {
            button.quiet type="button" data-action="bench" data-target=(target.name) { "Bench" }
        }
        @if is_target {
            " "
            button.quiet type="button" data-action="probe" data-target=(target.name) { "Probe" }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Screen, Viewer};

    fn view() -> TargetsView {
        TargetsView {
            targets: vec![
                TargetRow {
                    name: "a".to_owned(),
                    status: TargetStatus::Benched,
                    why: Some("the credential was refused (401)".to_owned()),
                    ..TargetRow::default()
                },
                TargetRow {
                    name: "a/x".to_owned(),
                    served: 999,
                    calls: 1_000,
                    ..TargetRow::default()
                },
            ],
            unlisted: 0,
        }
    }

    #[test]
    fn a_benched_credential_can_be_released_and_a_target_benched_or_probed() {
        let html = targets(&Frame::new(Screen::Targets, "1"), &view());
        assert_eq!(html.matches(r#"data-action="release""#).count(), 1);
        assert_eq!(html.matches(r#"data-action="bench""#).count(), 1);
        assert_eq!(html.matches(r#"data-action="probe""#).count(), 1);
        assert!(html.contains("99.9 %"), "{html}");
        assert!(html.contains("the credential was refused (401)"), "{html}");
    }

    #[test]
    fn a_viewer_without_the_right_sees_no_actions() {
        let frame = Frame::new(Screen::Targets, "1");
        let frame = frame.seen_by(Viewer::signed_in("ada", false, "t"));
        let html = targets(&frame, &view());
        assert!(!html.contains("data-action"), "{html}");
    }
}
