//! Keys and teams with their permissions and spending, and the audit log.

use maud::{Markup, html};

use crate::Frame;
use crate::figures::{count, counted};

/// Keys, teams and changes.
#[derive(Clone, Debug, Default)]
pub struct KeysView {
    /// Entries of the file come first.
    pub keys: Vec<KeyView>,
    /// Entries of the file come first.
    pub teams: Vec<TeamView>,
    /// Newest first.
    pub audit: Vec<AuditView>,
    /// Why keys cannot be changed here.
    pub problem: Option<String>,
}

/// A key.
#[derive(Clone, Debug, Default)]
pub struct KeyView {
    /// Its name.
    pub name: String,
    /// Its team.
    pub team: Option<String>,
    /// `client`, `viewer` or `operator`.
    pub role: String,
    /// `active`, `frozen` or `expired`.
    pub state: String,
    /// Whether it is in the configuration file, and so cannot be changed here.
    pub in_file: bool,
    /// Its permissions and limits, in words.
    pub limits: Vec<String>,
    /// Its settings as JSON, for the form.
    pub settings: String,
    /// When an old secret stops working.
    pub old_secret_until: Option<String>,
    /// When it was last used: a day, or an hour of the last day.
    pub last_used: Option<String>,
    /// Requests and cost of thirty days.
    pub thirty_days: Option<(u64, String)>,
    /// Why a stored key cannot be used.
    pub unusable: Option<String>,
}

/// A team.
#[derive(Clone, Debug, Default)]
pub struct TeamView {
    /// Its name.
    pub name: String,
    /// Whether it is in the configuration file, and so cannot be changed here.
    pub in_file: bool,
    /// The number of its keys.
    pub keys: u64,
    /// Its limits in words.
    pub limits: Vec<String>,
    /// Its settings as JSON, for the form.
    pub settings: String,
    /// Requests and cost of thirty days.
    pub thirty_days: Option<(u64, String)>,
}

/// A change.
#[derive(Clone, Debug, Default)]
pub struct AuditView {
    /// In RFC 3339.
    pub at: String,
    /// A key's name, or where the change came from.
    pub who: String,
    /// The action, such as `key.freeze`.
    pub action: String,
    /// The key, the team or the target.
    pub subject: String,
    /// The new settings.
    pub detail: String,
}

/// Renders keys and teams.
pub fn keys(frame: &Frame, view: &KeysView) -> String {
    let change = view.problem.is_none() && frame.viewer.may_change;
    let content = html! {
        h1 { "Keys" }
        @if let Some(problem) = &view.problem { p.problem { (problem) } }
        section {
            div.controls {
                @if change {
                    button.primary type="button" data-form="key" { "New key" }
                    button type="button" data-form="team" { "New team" }
                    noscript { p.hint { "Changes need JavaScript; " code { "majordomo key" } " does the same." } }
                }
                span.total { (counted(view.keys.len() as u64, "key", "keys")) }
            }
            @if view.keys.is_empty() {
                div.empty {
                    h2 { "No keys" }
                    p { "Everyone on this machine may use the gateway. The first key changes that: from then on every client needs one." }
                }
            } @else { (key_table(&view.keys, change)) }
        }
        @if !view.teams.is_empty() {
            section { h2 { "Teams" } (team_table(&view.teams, change)) }
        }
        section {
            h2 { "Changes" }
            @if view.audit.is_empty() { p.hint { "No change was made yet." } }
            @else { (audit_table(&view.audit)) }
        }
        @if change { (form(&view.teams)) (secret()) (confirmation()) }
    };
    frame.document("Keys", &content)
}

fn key_table(keys: &[KeyView], change: bool) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Keys" {
            table.keys {
                thead {
                    tr {
                        th scope="col" { "Key" }
                        th scope="col" { "State" }
                        th scope="col" { "Team" }
                        th scope="col" { "Role" }
                        th scope="col" { "Limits" }
                        th scope="col" { "Last used (UTC)" }
                        th.number scope="col" { "Requests, 30 d" }
                        th.number scope="col" { "Cost, 30 d" }
                        @if change { th scope="col" { "Actions" } }
                    }
                }
                tbody { @for key in keys { (key_row(key, change)) } }
            }
        }
    }
}

fn key_row(key: &KeyView, change: bool) -> Markup {
    let class = match key.state.as_str() {
        "active" => "complete",
        "frozen" => "running",
        _ => "failed",
    };
    html! {
        tr {
            th scope="row" {
                bdi { (key.name) }
                @if key.in_file { " " span.hint { "in the file" } }
                @if let Some(reason) = &key.unusable { p.problem { (reason) } }
            }
            td {
                span class={ "badge " (class) } { (key.state) }
                @if let Some(until) = &key.old_secret_until {
                    p.hint { "old secret until " time.full datetime=(until) { (until) } }
                }
            }
            td { @if let Some(team) = &key.team { bdi { (team) } } @else { "–" } }
            td { (key.role) }
            td.limits { (limits(&key.limits)) }
            td.time { @match &key.last_used { Some(at) => (at), None => "–" } }
            (thirty_days(&key.thirty_days))
            @if change {
                td.actions { @if key.in_file { span.hint { "–" } } @else { (key_actions(key)) } }
            }
        }
    }
}

fn key_actions(key: &KeyView) -> Markup {
    let freeze = if key.state == "frozen" {
        "unfreeze"
    } else {
        "freeze"
    };
    let label = if key.state == "frozen" {
        "Unfreeze"
    } else {
        "Freeze"
    };
    html! {
        button.quiet type="button" data-form="key" data-name=(key.name) data-settings=(key.settings) { "Edit" }
        " "
        button.quiet type="button" data-key-action=(freeze) data-name=(key.name) { (label) }
        " "
        button.quiet type="button" data-key-action="rotate" data-name=(key.name) { "Rotate" }
        " "
        button.quiet type="button" data-key-action="delete" data-name=(key.name) { "Delete" }
    }
}

fn team_table(teams: &[TeamView], change: bool) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Teams" {
            table.teams {
                thead {
                    tr {
                        th scope="col" { "Team" }
                        th.number scope="col" { "Keys" }
                        th scope="col" { "Limits" }
                        th.number scope="col" { "Requests, 30 d" }
                        th.number scope="col" { "Cost, 30 d" }
                        @if change { th scope="col" { "Actions" } }
                    }
                }
                tbody {
                    @for team in teams {
                        tr {
                            th scope="row" {
                                bdi { (team.name) }
                                @if team.in_file { " " span.hint { "in the file" } }
                            }
                            td.number { (count(team.keys)) }
                            td.limits { (limits(&team.limits)) }
                            (thirty_days(&team.thirty_days))
                            @if change {
                                td.actions {
                                    @if team.in_file { span.hint { "–" } } @else {
                                        button.quiet type="button" data-form="team" data-name=(team.name)
                                            data-settings=(team.settings) { "Edit" }
                                        " "
                                        button.quiet type="button" data-key-action="delete-team"
                                            data-name=(team.name) { "Delete" }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn limits(limits: &[String]) -> Markup {
    html! {
        @if limits.is_empty() { span.hint { "none" } }
        @else { ul.plain { @for limit in limits { li { (limit) } } } }
    }
}

fn thirty_days(sums: &Option<(u64, String)>) -> Markup {
    html! {
        @match sums {
            Some((requests, cost)) => { td.number { (count(*requests)) } td.number { (cost) } },
            None => { td.number { "–" } td.number { "–" } },
        }
    }
}

fn audit_table(rows: &[AuditView]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Changes, newest first" {
            table.audit {
                thead {
                    tr {
                        th scope="col" { "Time" }
                        th scope="col" { "By" }
                        th scope="col" { "Change" }
                        th scope="col" { "Of" }
                        th scope="col" { "Settings" }
                    }
                }
                tbody {
                    @for row in rows {
                        tr {
                            td.time { time.full datetime=(row.at) { (row.at) } }
                            td { bdi { (row.who) } }
                            td { code { (row.action) } }
                            td { bdi { (row.subject) } }
                            td { @if !row.detail.is_empty() { code { (row.detail) } } }
                        }
                    }
                }
            }
        }
    }
}

/// A labelled field of the form; `of` is its subject.
fn field(of: &str, name: &str, label: &str, hint: &str) -> Markup {
    html! {
        div.field data-of=(of) {
            label for={ "f-" (name) } { (label) }
            input id={ "f-" (name) } name=(name) autocomplete="off" placeholder=(hint);
        }
    }
}

fn form(teams: &[TeamView]) -> Markup {
    html! {
        dialog #access-form aria-labelledby="access-title" {
            form method="dialog" {
                h2 #access-title { "New key" }
                p.problem role="alert" hidden {}
                div.fields {
                    (field("key team", "name", "Name", "laptop"))
                    div.field data-of="key" {
                        label for="f-team" { "Team" }
                        select #f-team name="team" {
                            option value="" { "none" }
                            @for team in teams { option value=(team.name) { (team.name) } }
                        }
                    }
                    div.field data-of="key" {
                        label for="f-role" { "Role" }
                        select #f-role name="role" {
                            option value="client" { "client: calls models" }
                            option value="viewer" { "viewer: also sees its team" }
                            option value="operator" { "operator: everything" }
                        }
                    }
                    (field("key", "models", "Models", "all, or coder, demo/*"))
                    (field("key", "expires", "Expires", "2027-01-31"))
                    (field("key team", "requests_per_minute", "Requests per minute", "no limit"))
                    (field("key team", "tokens_per_minute", "Tokens per minute", "no limit"))
                    (field("key team", "concurrent", "At the same time", "no limit"))
                    (field("key team", "day", "Budget per day", "5 USD"))
                    (field("key team", "week", "Budget per week", "20 USD"))
                    (field("key team", "month", "Budget per month", "50 USD"))
                    (field("key team", "total", "Budget in total", "100 USD"))
                    div.field data-of="key team" {
                        label for="f-when" { "When exhausted" }
                        select #f-when name="when_exhausted" {
                            option value="" { "refuse" }
                            option value="clamp" { "clamp the output" }
                            option value="warn" { "warn only" }
                        }
                    }
                    div.field data-of="key" {
                        label for="f-capture" { "Capture of content" }
                        select #f-capture name="capture" {
                            option value="" { "off" }
                            option value="true" { "on: kept in memory, for operators" }
                        }
                    }
                }
                div.row {
                    button.primary type="submit" { "Save" }
                    button type="button" data-close { "Cancel" }
                }
            }
        }
    }
}

fn secret() -> Markup {
    html! {
        dialog #access-secret aria-labelledby="secret-title" {
            h2 #secret-title { "The new secret" }
            p { "It is shown once, here and now. Only its hash is stored." }
            pre { code #secret-text {} }
            div.row {
                button.primary #secret-copy type="button" data-copy="" { "Copy" }
                button type="button" data-close { "I have it" }
            }
        }
    }
}

fn confirmation() -> Markup {
    html! {
        dialog #access-confirm aria-labelledby="confirm-title" {
            h2 #confirm-title { "Really?" }
            p {}
            div.row {
                button.primary #confirm-yes type="button" { "Yes" }
                button type="button" data-close { "Cancel" }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Screen, Viewer};

    fn view() -> KeysView {
        KeysView {
            keys: vec![
                KeyView {
                    name: "of-file".to_owned(),
                    state: "active".to_owned(),
                    in_file: true,
                    ..KeyView::default()
                },
                KeyView {
                    name: "stored".to_owned(),
                    state: "frozen".to_owned(),
                    settings: "{\"role\":\"client\"}".to_owned(),
                    ..KeyView::default()
                },
            ],
            ..KeysView::default()
        }
    }

    #[test]
    fn only_stored_keys_can_be_changed_and_a_frozen_one_is_thawed() {
        let html = keys(&Frame::new(Screen::Keys, "1"), &view());
        assert_eq!(html.matches(r#"data-key-action="delete""#).count(), 1);
        assert_eq!(html.matches(r#"data-key-action="unfreeze""#).count(), 1);
        assert!(!html.contains(r#"data-key-action="freeze""#), "{html}");
        assert!(html.contains("in the file"));
    }

    #[test]
    fn without_a_store_or_the_role_nothing_can_be_changed() {
        let mut stopped = view();
        stopped.problem = Some("keys are not stored".to_owned());
        let html = keys(&Frame::new(Screen::Keys, "1"), &stopped);
        assert!(html.contains("keys are not stored") && !html.contains("data-key-action"));
        let frame = Frame::new(Screen::Keys, "1").seen_by(Viewer::signed_in("ada", false, "t"));
        assert!(!keys(&frame, &view()).contains("data-key-action"));
    }
}
