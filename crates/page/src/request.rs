//! One request: why it went where it did, and what happened there.

use std::time::Duration;

use maud::{Markup, html};

use crate::captured::{self, CapturedView};
use crate::figures::{count, duration};
use crate::{Frame, RequestRow, RowState, story, waterfall};

/// One request with its routing and its attempts.
#[derive(Clone, Debug, Default)]
pub struct RequestView {
    /// Its row in the feed.
    pub summary: RequestRow,
    /// The HTTP method and path.
    pub endpoint: String,
    /// Whether the response was a stream.
    pub stream: bool,
    /// The name of the route, if the model is one.
    pub route: Option<String>,
    /// The evaluated rules in order; the last one may be the match.
    pub rules: Vec<RuleView>,
    /// The processors that ran.
    pub processors: Vec<ProcessorView>,
    /// The targets in the order in which they were to be tried.
    pub candidates: Vec<String>,
    /// Why the first one came first, such as `tactic`.
    pub because: Option<String>,
    /// Attempts in order, skipped targets included. If the client left early, the calls.
    pub attempts: Vec<AttemptView>,
    /// Calls for image descriptions.
    pub descriptions: Vec<AttemptView>,
    /// Usage and charges, one entry per call.
    pub spend: Vec<SpendView>,
    /// The reason for a failure that no attempt explains, without a provider's text.
    pub reason: Option<String>,
    /// Its captured content, if its key opted in. All other fields hold no content.
    pub captured: Option<CapturedView>,
    /// A command that repeats it with a placeholder for its content.
    pub curl: String,
}

/// The evaluation of one rule.
#[derive(Clone, Debug, Default)]
pub struct RuleView {
    /// Its name.
    pub name: String,
    /// Whether all conditions held.
    pub matched: bool,
    /// The evaluated conditions; evaluation stops at the first that fails.
    pub conditions: Vec<ConditionView>,
    /// Number of conditions that were not evaluated.
    pub skipped: usize,
}

impl RuleView {
    /// An evaluated rule with as many conditions that were not reached.
    pub fn new(
        name: impl Into<String>,
        matched: bool,
        conditions: Vec<ConditionView>,
        skipped: usize,
    ) -> Self {
        Self {
            name: name.into(),
            matched,
            conditions,
            skipped,
        }
    }
}

/// The evaluation of one condition.
#[derive(Clone, Debug, Default)]
pub struct ConditionView {
    /// The condition, such as `token ge 60000`.
    pub text: String,
    /// The finding; empty for a group.
    pub found: String,
    /// Whether it holds.
    pub holds: bool,
}

impl ConditionView {
    /// An evaluated condition.
    pub fn new(text: impl Into<String>, found: impl Into<String>, holds: bool) -> Self {
        Self {
            text: text.into(),
            found: found.into(),
            holds,
        }
    }
}

/// A processor that ran.
#[derive(Clone, Debug, Default)]
pub struct ProcessorView {
    /// Its position and operation.
    pub name: String,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

impl ProcessorView {
    /// A processor that ran.
    pub fn new(name: impl Into<String>, error: Option<String>) -> Self {
        Self {
            name: name.into(),
            error,
        }
    }
}

/// One target considered: called or skipped.
#[derive(Clone, Debug, Default)]
pub struct AttemptView {
    /// `provider/model`.
    pub target: String,
    /// `served`, `failed`, `skipped`, `described` or `cancelled`.
    pub outcome: String,
    /// The reason in words, such as `rate limited`.
    pub class: Option<String>,
    /// The HTTP status of a failure.
    pub status: Option<u16>,
    /// When it began, since the request's arrival.
    pub at: Duration,
    /// How long it took.
    pub took: Duration,
}

impl AttemptView {
    /// `served`, or `failed: transient, 529`.
    pub(crate) fn result(&self) -> String {
        let details = self.class.clone().into_iter();
        let details = details.chain(self.status.map(|status| status.to_string()));
        let details: Vec<String> = details.collect();
        match details.is_empty() {
            true => self.outcome.clone(),
            false => format!("{}: {}", self.outcome, details.join(", ")),
        }
    }
}

/// The usage and cost of one call.
#[derive(Clone, Debug, Default)]
pub struct SpendView {
    /// `provider/model`.
    pub target: String,
    /// The purpose of the call: `answer`, `describe`, `embed`.
    pub kind: String,
    /// Fresh input tokens.
    pub input: u64,
    /// Input tokens read from the provider's cache.
    pub cache_read: u64,
    /// Input tokens written to the provider's cache.
    pub cache_write: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// How the amounts are known: `reported`, `partial`, `estimated`, `free`, `lost`.
    pub settled: String,
    /// The cost with its unit; `None` if the price is unknown.
    pub cost: Option<String>,
}

/// Renders one request.
pub fn request(frame: &Frame, view: &RequestView) -> String {
    let summary = &view.summary;
    let title = match summary.model.is_empty() {
        true => "Request",
        false => &summary.model,
    };
    let running = matches!(summary.state, RowState::Running(_));
    let content = html! {
        article.request data-id=(summary.id) data-running[running] {
            header {
                h1 { bdi { (title) } " " (summary.state.badge()) }
                p.story { @for sentence in story::tell(view) { (sentence) " " } }
                (facts(view))
            }
            section {
                h2 { "Timeline" }
                (waterfall::chart(view))
            }
            @if !view.rules.is_empty() { (rules(view)) }
            @if !view.candidates.is_empty() { (candidates(view, frame.viewer.may_change)) }
            @if !summary.changes.is_empty() { (changes(&summary.changes)) }
            @if !view.spend.is_empty() { (spend(&view.spend)) }
            @if let Some(captured) = &view.captured {
                (captured::sections(captured, frame.viewer.may_change))
            }
            (again(view, frame.viewer.may_change))
        }
    };
    frame.document(title, &content)
}

fn facts(view: &RequestView) -> Markup {
    let summary = &view.summary;
    html! {
        dl.facts {
            (fact("Arrived", &html! { time.full datetime=(summary.at) { (summary.at) } }))
            @if let Some(took) = summary.took { (fact("Took", &html! { (duration(took)) })) }
            @if let Some(first) = summary.first_token {
                (fact("First token", &html! { (duration(first)) }))
            }
            (fact("Key", &html! { (summary.key.as_deref().unwrap_or("none")) }))
            @if let Some(client) = summary.client { (fact("Client", &html! { (client) })) }
            (fact("Dialect", &html! { (summary.dialect) @if view.stream { ", streamed" } }))
            @if !view.endpoint.is_empty() {
                (fact("Endpoint", &html! { code { (view.endpoint) } }))
            }
            @if let Some(route) = &view.route { (fact("Route", &html! { bdi { (route) } })) }
            (fact("Id", &html! { code { (summary.id) } }))
        }
    }
}

fn fact(name: &str, value: &Markup) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

fn rules(view: &RequestView) -> Markup {
    html! {
        section {
            h2 { "Rules" }
            ol.rules {
                @for rule in &view.rules {
                    li data-matched[rule.matched] {
                        strong { (rule.name) }
                        span.verdict { @if rule.matched { " matched" } @else { " did not match" } }
                        ul {
                            @for condition in &rule.conditions {
                                li data-holds[condition.holds] {
                                    code { (condition.text) }
                                    @if !condition.found.is_empty() {
                                        " – found " code { bdi { (condition.found) } }
                                    }
                                    span.verdict { @if condition.holds { " holds" } @else { " fails" } }
                                }
                            }
                            @if rule.skipped > 0 {
                                li.hint { (rule.skipped) " more not evaluated" }
                            }
                        }
                    }
                }
            }
            @for processor in &view.processors {
                p {
                    "The processor " code { (processor.name) }
                    @match &processor.error {
                        None => " ran.",
                        Some(error) => { " failed: " (error) },
                    }
                }
            }
        }
    }
}

fn candidates(view: &RequestView, may_change: bool) -> Markup {
    html! {
        section {
            h2 { "Order of targets" }
            ol.candidates {
                @for target in &view.candidates {
                    li {
                        @if may_change { a href=(format!("/targets#{target}")) { bdi { (target) } } }
                        @else { bdi { (target) } }
                    }
                }
            }
        }
    }
}

fn changes(changes: &[String]) -> Markup {
    html! {
        section {
            h2 { "Changes for the target that served" }
            ul.plain { @for change in changes { li { span.change { (change) } } } }
        }
    }
}

fn spend(calls: &[SpendView]) -> Markup {
    html! {
        section {
            h2 { "Usage and cost" }
            div.scroll tabindex="0" role="region" aria-label="Usage and cost" {
                table {
                    thead {
                        tr {
                            th scope="col" { "Call" }
                            th scope="col" { "Target" }
                            th.number scope="col" { "Input" }
                            th.number scope="col" { "Cache read" }
                            th.number scope="col" { "Cache write" }
                            th.number scope="col" { "Output" }
                            th scope="col" { "Known by" }
                            th.number scope="col" { "Cost" }
                        }
                    }
                    tbody {
                        @for call in calls {
                            tr {
                                td { (call.kind) }
                                td { bdi { (call.target) } }
                                td.number { (count(call.input)) }
                                td.number { (count(call.cache_read)) }
                                td.number { (count(call.cache_write)) }
                                td.number { (count(call.output)) }
                                td { (call.settled) }
                                td.number { (call.cost.as_deref().unwrap_or("unknown price")) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn again(view: &RequestView, may_change: bool) -> Markup {
    let dry_run = match view.captured {
        Some(_) => format!("/routes?capture={}#dry-run", query(&view.summary.id)),
        None => format!("/routes?model={}#dry-run", query(&view.summary.model)),
    };
    html! {
        section {
            h2 { "As a command" }
            p.hint { "It has a placeholder for the content." }
            pre.copyable tabindex="0" { code { (view.curl) } }
            p {
                button type="button" data-copy=(view.curl) hidden { "Copy as curl" } " "
                @if may_change { a.button href=(dry_run) { "Dry run" } }
            }
        }
    }
}

/// A value of a query string.
fn query(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'/' | b':' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Screen;

    #[test]
    fn a_request_shows_each_rules_finding_and_each_calls_cost() {
        let view = RequestView {
            rules: vec![RuleView::new(
                "long prompts",
                true,
                vec![ConditionView::new("token ge 60000", "81204", true)],
                0,
            )],
            spend: vec![SpendView {
                target: "a/x".to_owned(),
                input: 81_204,
                ..SpendView::default()
            }],
            ..RequestView::default()
        };
        let html = request(&Frame::new(Screen::Request, "1"), &view);
        assert!(html.contains("token ge 60000"), "{html}");
        assert!(html.contains("81,204"), "{html}");
        assert!(html.contains("unknown price"), "{html}");
    }

    #[test]
    fn a_model_in_a_query_is_percent_encoded() {
        assert_eq!(query("a/x,b y&z=ä"), "a/x%2Cb%20y%26z%3D%C3%A4");
    }
}
