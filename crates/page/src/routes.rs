//! Routes as diagrams: rules, processors and services, with live shares.

use maud::{Markup, html};

use crate::Frame;
use crate::figures::{count, counted, percent};

/// All routes.
#[derive(Clone, Debug, Default)]
pub struct RoutesView {
    /// In file order; the first match wins.
    pub routes: Vec<RouteView>,
    /// Aliases and their specs.
    pub aliases: Vec<(String, String)>,
    /// The initial contents of the dry run's field.
    pub example: String,
    /// Where `example` is sent and by which key, as a query string; empty for any request.
    pub sent: String,
    /// Why `example` is not the request that was asked for.
    pub problem: Option<&'static str>,
}

/// One route.
#[derive(Clone, Debug, Default)]
pub struct RouteView {
    /// The name or pattern that clients request.
    pub name: String,
    /// Its rules in order.
    pub rules: Vec<RuleBranch>,
    /// The services for requests that no rule redirects.
    pub services: Vec<ServiceView>,
    /// The tactic that orders them.
    pub tactic: String,
    /// Pinned conversations; `None` without affinity.
    pub sessions: Option<u64>,
}

/// A rule and its effect.
#[derive(Clone, Debug, Default)]
pub struct RuleBranch {
    /// Its name.
    pub name: String,
    /// Its conditions as text; all must hold.
    pub conditions: Vec<String>,
    /// Whether it edits the request, instead of choosing services.
    pub processor: bool,
    /// Its services.
    pub services: Vec<ServiceView>,
    /// The number of its matches since the start.
    pub matches: u64,
}

/// A service with its place in the order.
#[derive(Clone, Debug, Default)]
pub struct ServiceView {
    /// Its spec.
    pub spec: String,
    /// Its tier, if its list has several.
    pub tier: Option<u32>,
    /// Its weight, if its list has several.
    pub weight: Option<u32>,
    /// Requests in flight.
    pub in_flight: u64,
    /// Seats, if limited.
    pub capacity: Option<u64>,
    /// The number of times it came first since the start.
    pub picks: u64,
    /// Complete responses.
    pub answers: u64,
    /// Failed attempts.
    pub failures: u64,
    /// Whether it takes requests at all.
    pub active: bool,
}

/// Renders the routes and a field for dry runs.
pub fn routes(frame: &Frame, view: &RoutesView) -> String {
    let content = html! {
        h1 { "Routes" }
        @if view.routes.is_empty() {
            div.empty {
                h2 { "No routes" }
                p {
                    "Clients can ask for any target and any chain of targets. A "
                    code { "[[routes]]" } " entry in the configuration gives them one name."
                }
            }
        }
        @for route in &view.routes { (diagram(route)) }
        @if !view.aliases.is_empty() { (aliases(&view.aliases)) }
        (dry_run(view))
    };
    frame.document("Routes", &content)
}

fn diagram(route: &RouteView) -> Markup {
    html! {
        section.route {
            h2 { bdi { (route.name) } }
            ol.branches {
                @for rule in &route.rules {
                    li.branch {
                        div.node.rule {
                            strong { (rule.name) }
                            ul { @for condition in &rule.conditions { li { code { (condition) } } } }
                            span.hint { "matched " (counted(rule.matches, "time", "times")) }
                        }
                        span.arrow aria-hidden="true" { "→" }
                        @if rule.processor {
                            div.node.processor {
                                strong { "edits the request" }
                                (services(&rule.services))
                                span.hint { "then continues below" }
                            }
                        } @else {
                            div.node { (services(&rule.services)) }
                        }
                    }
                }
                li.branch {
                    div.node.rule {
                        strong { @if route.rules.is_empty() { "every request" } @else { "otherwise" } }
                        span.hint {
                            "ordered by " code { (route.tactic) }
                            @if let Some(sessions) = route.sessions {
                                ", " (count(sessions)) " conversations pinned"
                            }
                        }
                    }
                    span.arrow aria-hidden="true" { "→" }
                    div.node { (services(&route.services)) }
                }
            }
        }
    }
}

fn services(services: &[ServiceView]) -> Markup {
    let picks: u64 = services.iter().map(|service| service.picks).sum();
    html! {
        ol.services {
            @for service in services {
                li data-inactive[!service.active] {
                    bdi.spec { (service.spec) }
                    span.hint {
                        @if let Some(tier) = service.tier { " tier " (tier) }
                        @if let Some(weight) = service.weight { " weight " (weight) }
                        @if !service.active { " not active" }
                    }
                    div.figures {
                        @if let Some(share) = percent(service.picks, picks) {
                            span title=(format!("first for {} of {picks} requests", service.picks)) {
                                (share) " of requests"
                            }
                        }
                        span {
                            (count(service.in_flight))
                            @if let Some(capacity) = service.capacity { " of " (count(capacity)) }
                            " in flight"
                        }
                        @if service.failures > 0 { span.bad { (count(service.failures)) " failed" } }
                    }
                }
            }
        }
    }
}

fn aliases(aliases: &[(String, String)]) -> Markup {
    html! {
        section {
            h2 { "Aliases" }
            div.scroll tabindex="0" role="region" aria-label="Aliases" {
                table.aliases {
                    thead { tr { th scope="col" { "Alias" } th scope="col" { "Spec" } } }
                    tbody {
                        @for (name, spec) in aliases {
                            tr { th scope="row" { bdi { (name) } } td { code { (spec) } } }
                        }
                    }
                }
            }
        }
    }
}

fn dry_run(view: &RoutesView) -> Markup {
    html! {
        section #dry-run {
            h2 { "Dry run" }
            p.hint {
                "Paste a request as a client sends it, in any dialect. No target is called and \
                 nothing is kept."
            }
            @if let Some(problem) = view.problem { p.problem { (problem) } }
            form #explain method="post" action="/api/explain" data-query=(view.sent) {
                label for="body" { "Request body" }
                textarea #body name="body" rows="8" spellcheck="false" { (view.example) }
                button.primary type="submit" { "Explain" }
                noscript { p.hint { "This form needs JavaScript; " code { "majordomo explain" } " does the same." } }
            }
            div #explanation aria-live="polite" {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Screen;

    fn service(spec: &str, picks: u64) -> ServiceView {
        ServiceView {
            spec: spec.to_owned(),
            picks,
            active: true,
            ..ServiceView::default()
        }
    }

    #[test]
    fn a_route_shows_its_rules_before_the_rest_and_the_shares_of_its_services() {
        let view = RoutesView {
            routes: vec![RouteView {
                name: "coder".to_owned(),
                rules: vec![RuleBranch {
                    name: "long prompts".to_owned(),
                    conditions: vec!["token ge 60000".to_owned()],
                    services: vec![service("google/big", 0)],
                    matches: 3,
                    ..RuleBranch::default()
                }],
                services: vec![service("a/x", 3), service("b/y", 1)],
                tactic: "in_order".to_owned(),
                sessions: None,
            }],
            ..RoutesView::default()
        };
        let html = routes(&Frame::new(Screen::Routes, "1"), &view);
        let at = |text: &str| {
            html.find(text)
                .unwrap_or_else(|| panic!("{text} in {html}"))
        };
        assert!(at("token ge 60000") < at("otherwise"));
        assert!(at("matched 3 times") < at("75.0 % of requests"));
        assert!(html.contains("25.0 % of requests"));
    }
}
