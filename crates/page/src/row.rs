//! One request as a row of the live feed. The same template renders static and live rows.

use std::time::Duration;

use maud::{Markup, html};

use crate::bidi;
use crate::figures::{count, duration, time_of_day};

/// Longest list of changes in a row; the request's own screen has all.
const SHOWN_CHANGES: usize = 3;

/// A request in the feed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestRow {
    /// Its id.
    pub id: String,
    /// When it arrived, in RFC 3339.
    pub at: String,
    /// The name of the client's key.
    pub key: Option<String>,
    /// The client's dialect.
    pub dialect: String,
    /// The client's program, if it is known.
    pub client: Option<&'static str>,
    /// The requested model; empty while it is not known.
    pub model: String,
    /// The target that served, or is being called.
    pub target: Option<String>,
    /// Calls to targets so far.
    pub attempts: Option<u64>,
    /// Input and output tokens.
    pub tokens: Option<(u64, u64)>,
    /// Whether the tokens are our own count.
    pub estimated: bool,
    /// The cost with its unit.
    pub cost: Option<String>,
    /// Whether a call has no known price.
    pub unpriced: bool,
    /// Until the first content of a stream.
    pub first_token: Option<Duration>,
    /// From arrival to end.
    pub took: Option<Duration>,
    /// The changes made for the serving target.
    pub changes: Vec<String>,
    /// Whether it is running, or how it ended.
    pub state: RowState,
}

/// Whether a request is running, or how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowState {
    /// It is running; the phase is shown.
    Running(String),
    /// The response is complete.
    Complete,
    /// The response is an error, with its status.
    Failed(u16),
    /// The response broke off.
    Interrupted,
    /// The client left before the end.
    ClientGone,
}

impl Default for RowState {
    fn default() -> Self {
        Self::Running("queued".to_owned())
    }
}

impl RowState {
    /// The name in filters and style sheets.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Running(_) => "running",
            Self::Complete => "complete",
            Self::Failed(_) => "failed",
            Self::Interrupted => "interrupted",
            Self::ClientGone => "gone",
        }
    }

    pub(crate) fn badge(&self) -> Markup {
        html! {
            span.badge .(self.name()) {
                @match self {
                    Self::Running(phase) => (phase),
                    Self::Complete => "complete",
                    Self::Failed(status) => { "failed " (status) },
                    Self::Interrupted => "interrupted",
                    Self::ClientGone => "client left",
                }
            }
        }
    }
}

impl RequestRow {
    /// The model; a request may be refused before it is read.
    fn shown_model(&self) -> &str {
        match (&self.state, self.model.as_str()) {
            (RowState::Running(_), "") => "…",
            (_, "") => "refused unread",
            (_, model) => model,
        }
    }

    /// The text that a filter searches.
    pub(crate) fn searched(&self) -> String {
        let texts = [
            self.id.as_str(),
            self.model.as_str(),
            self.target.as_deref().unwrap_or_default(),
            self.key.as_deref().unwrap_or_default(),
            self.dialect.as_str(),
            self.client.unwrap_or_default(),
        ];
        texts.map(str::to_lowercase).join(" ")
    }
}

/// Renders a row.
pub fn request_row(row: &RequestRow) -> String {
    bidi::visible(markup(row, false).into_string())
}

pub(crate) fn markup(row: &RequestRow, hidden: bool) -> Markup {
    let path = format!("/requests/{}", row.id);
    html! {
        tr id=(format!("r-{}", row.id)) hidden[hidden] data-state=(row.state.name()) data-search=(row.searched()) {
            td.time { time datetime=(row.at) { (time_of_day(&row.at)) } }
            td { (row.state.badge()) }
            td.key { (row.key.as_deref().unwrap_or("–")) }
            td.models {
                div {
                    a href=(path) { bdi { (row.shown_model()) } }
                    @if let Some(target) = row.target.as_ref().filter(|target| **target != row.model) {
                        span.served { " → " bdi { (target) } }
                    }
                }
            }
            td.number { @if let Some(attempts) = row.attempts { (attempts) } }
            td.number {
                @if let Some((input, output)) = row.tokens {
                    @if row.estimated { span title="counted by majordomo" { "≈ " } }
                    (count(input)) " / " (count(output))
                }
            }
            td.number {
                @if let Some(cost) = &row.cost { (cost) }
                @else if row.unpriced { span.hint { "no price" } }
            }
            td.number { @if let Some(time) = row.first_token { (duration(time)) } }
            td.number { @if let Some(time) = row.took { (duration(time)) } }
            td.changes {
                @for change in row.changes.iter().take(SHOWN_CHANGES) {
                    span.change { (change) } " "
                }
                @if row.changes.len() > SHOWN_CHANGES {
                    span.more { "+" (row.changes.len() - SHOWN_CHANGES) }
                }
            }
        }
    }
}

/// The columns of the feed.
pub(crate) fn head() -> Markup {
    html! {
        tr {
            th scope="col" { "Time" }
            th scope="col" { "State" }
            th scope="col" { "Key" }
            th scope="col" { "Model → served by" }
            th.number scope="col" { "Calls" }
            th.number scope="col" { "Tokens in / out" }
            th.number scope="col" { "Cost" }
            th.number scope="col" { "First token" }
            th.number scope="col" { "Took" }
            th scope="col" { "Changes" }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_row_shows_its_phase_and_links_to_the_request() {
        let row = RequestRow {
            id: "abc".to_owned(),
            at: "2026-11-18T14:03:22.120Z".to_owned(),
            model: "coder".to_owned(),
            target: Some("groq/llama".to_owned()),
            state: RowState::Running("attempt 2 on groq/llama".to_owned()),
            ..RequestRow::default()
        };
        let html = request_row(&row);
        assert!(html.contains(r#"id="r-abc""#), "{html}");
        assert!(html.contains(r#"href="/requests/abc""#), "{html}");
        assert!(html.contains("attempt 2 on groq/llama"), "{html}");
        assert!(html.contains("14:03:22"), "{html}");
    }

    #[test]
    fn what_a_client_sends_stays_text() {
        let row = RequestRow {
            model: "</td><script>alert(1)</script>\u{202e}".to_owned(),
            key: Some("\"><img src=x>".to_owned()),
            changes: vec!["<b>".to_owned(); 5],
            ..RequestRow::default()
        };
        let html = request_row(&row);
        assert!(!html.contains("<script"), "{html}");
        assert!(!html.contains("<img"), "{html}");
        assert!(!html.contains("<b>"), "{html}");
        assert!(html.contains("+2"), "{html}");
    }
}
