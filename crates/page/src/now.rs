//! The live feed: running and recent requests, newest first.

use maud::{Markup, html};

use crate::figures::{count, counted};
use crate::last_hour::{self, LastHour};
use crate::row;
use crate::{Frame, RequestRow};

/// States that a filter can select.
const STATES: [(&str, &str); 5] = [
    ("running", "running"),
    ("complete", "complete"),
    ("failed", "failed"),
    ("interrupted", "interrupted"),
    ("gone", "client left"),
];

/// The live feed.
#[derive(Clone, Debug, Default)]
pub struct NowView {
    /// Newest first; all of them, filtered here.
    pub rows: Vec<RequestRow>,
    /// The filter.
    pub filter: Filter,
    /// The last hour, by minute.
    pub hour: LastHour,
    /// The model that the button of the empty feed calls; `None` if there is none.
    pub first_model: Option<String>,
    /// The number of finished requests that are kept.
    pub most_kept: usize,
}

/// The filter of requests, kept in the page's address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Part of an id, a model, a target, a key or a dialect.
    pub text: String,
    /// The name of a state.
    pub state: String,
}

impl Filter {
    /// A filter by text and by the name of a state; empty ones select everything.
    pub fn new(text: impl Into<String>, state: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            state: state.into(),
        }
    }

    fn selects(&self, row: &RequestRow) -> bool {
        let text = self.text.trim().to_lowercase();
        (self.state.is_empty() || self.state == row.state.name())
            && (text.is_empty() || row.searched().contains(&text))
    }
}

/// Renders the live feed.
pub fn now(frame: &Frame, view: &NowView) -> String {
    let shown = view.rows.iter().filter(|row| view.filter.selects(row));
    let shown = shown.count();
    let content = html! {
        h1.visually-hidden { "Now" }
        section #last-hour.charts aria-label="The last hour, by minute" {
            (last_hour::charts(&view.hour))
        }
        section aria-label="Requests" {
            (controls(view, shown))
            @if view.rows.is_empty() { (empty(view, frame.viewer.may_change)) }
            div.scroll tabindex="0" role="region" aria-label="Requests, newest first" {
                table #feed.feed hidden[view.rows.is_empty()] {
                    thead { (row::head()) }
                    tbody {
                        // With scripts, another filter shows others.
                        @for row in &view.rows { (row::markup(row, !view.filter.selects(row))) }
                    }
                }
            }
            p #unmatched.empty hidden[view.rows.is_empty() || shown > 0] {
                "No request that is kept matches the filter. " a href="/" { "Show all" }
            }
            @if view.most_kept > 0 && view.rows.len() >= view.most_kept {
                p.hint {
                    "The latest " (count(view.most_kept as u64)) " requests are kept (" code { "traces" }
                    " in " code { "[server]" } "). " a href="/usage" { "Usage" } " has the sums of all."
                }
            }
            @if view.most_kept == 0 {
                p.hint {
                    "Finished requests are not kept: " code { "traces = 0" } " in "
                    code { "[server]" } "."
                }
            }
        }
    };
    frame.document("Now", &content)
}

fn controls(view: &NowView, shown: usize) -> Markup {
    html! {
        form #filter.controls method="get" action="/" role="search" {
            label for="q" { "Filter" }
            input #q name="q" type="search" value=(view.filter.text)
                placeholder="model, target, key or id";
            label for="state" { "State" }
            select #state name="state" {
                option value="" { "all" }
                @for (value, name) in STATES {
                    option value=(value) selected[view.filter.state == value] { (name) }
                }
            }
            // With scripts the filter applies while it is typed.
            noscript { button type="submit" { "Apply" } }
            button #pause type="button" aria-pressed="false" hidden { "Pause" }
            span #live.live data-state="off" {}
            span #total.total {
                @if shown < view.rows.len() { (count(shown as u64)) " of " }
                (counted(view.rows.len() as u64, "request", "requests"))
            }
        }
    }
}

fn empty(view: &NowView, may_change: bool) -> Markup {
    html! {
        div #empty.empty {
            h2 { "No requests yet" }
            @match &view.first_model {
                Some(model) if may_change => {
                    p { "Send one and watch it here." }
                    button #try.primary type="button" data-model=(model) {
                        "Ask " (model) " for a greeting"
                    }
                    noscript {
                        p.hint { "The button needs JavaScript. Any client of the gateway will do." }
                    }
                }
                _ => p { "They appear here as they arrive." },
            }
            p.hint { "Or " a href="/connect" { "connect a client" } "." }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RowState, Screen};

    fn row(id: &str, model: &str, state: RowState) -> RequestRow {
        RequestRow {
            id: id.to_owned(),
            model: model.to_owned(),
            state,
            ..RequestRow::default()
        }
    }

    fn shown(filter: Filter) -> Vec<&'static str> {
        let view = NowView {
            rows: vec![
                row("one", "coder", RowState::Complete),
                row("two", "Thinking", RowState::Failed(502)),
                row("three", "coder", RowState::Failed(400)),
            ],
            filter,
            ..NowView::default()
        };
        let html = now(&Frame::new(Screen::Now, "1"), &view);
        let ids = ["one", "two", "three"];
        ids.into_iter()
            .filter(|id| !html.contains(&format!("id=\"r-{id}\" hidden")))
            .collect()
    }

    #[test]
    fn a_filter_selects_by_text_and_state() {
        assert_eq!(shown(Filter::default()), ["one", "two", "three"]);
        assert_eq!(shown(Filter::new("THINK", "")), ["two"]);
        assert_eq!(shown(Filter::new("", "failed")), ["two", "three"]);
        assert_eq!(shown(Filter::new("coder", "failed")), ["three"]);
        assert_eq!(shown(Filter::new("nothing", "")), [""; 0]);
    }

    #[test]
    fn an_empty_feed_says_what_to_do_next() {
        let frame = Frame::new(Screen::Now, "1");
        let view = NowView {
            first_model: Some("demo/text".to_owned()),
            ..NowView::default()
        };
        assert!(now(&frame, &view).contains("Ask demo/text for a greeting"));
        let view = NowView::default();
        let html = now(&frame, &view);
        assert!(html.contains("connect a client") && !html.contains("id=\"try\""));
    }
}
