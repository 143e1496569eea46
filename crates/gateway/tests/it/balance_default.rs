//! The tactic that a list of services implies, and the warning about it.

use std::collections::BTreeMap;

use majordomo_gateway::config::{Config, Severity, Tactic};

fn parse(text: &str) -> Config {
    Config::parse("majordomo.toml", text, &BTreeMap::new())
        .unwrap_or_else(|problems| panic!("{text}\n{problems}"))
}

fn route(services: &str, more: &str) -> String {
    format!("[[routes]]\nmodel = \"coder\"\nservices = [ {services} ]\n{more}")
}

/// Two services with these settings.
fn two(first: &str, second: &str) -> String {
    format!("{{ spec = \"demo/text\"{first} }}, {{ spec = \"demo/vision\"{second} }}")
}

#[test]
fn a_list_without_balance_implies_its_tactic() {
    use Tactic::{InOrder, LeastBusy, Random, Tier};
    for (services, more, tactic, within) in [
        (two("", ""), "", InOrder, InOrder),
        (two("", ", capacity = 2"), "", InOrder, InOrder),
        (two("", ", weight = 0"), "", InOrder, InOrder),
        (two("", ", weight = 1"), "", Random, Random),
        (two(", tier = 0", ""), "", Tier, InOrder),
        (two("", ", tier = 1"), "", Tier, InOrder),
        (two(", weight = 3", ", tier = 1"), "", Tier, Random),
        (
            two("", ", tier = 1"),
            "within = \"least_busy\"",
            Tier,
            LeastBusy,
        ),
        (two("", ", tier = 1"), "balance = \"tier\"", Tier, InOrder),
        (two("", ""), "balance = \"random\"", Random, InOrder),
    ] {
        let text = route(&services, more);
        let config = parse(&text);
        let route = &config.routes[0];
        let balance = route.balance_of(&route.services);
        assert_eq!((balance.tactic, balance.within), (tactic, within), "{text}");
    }
}

#[test]
fn the_services_of_a_rule_imply_their_own_tactic() {
    let rule = "[[routes.smart]]\nname = \"long\"\n\
                when = [ { position = \"token\", op = \"ge\", value = 9 } ]\n";
    let services = two("", ", tier = 1");
    let config = parse(&route(
        &two(", weight = 2", ""),
        &format!("{rule}services = [ {services} ]\n"),
    ));
    let route = &config.routes[0];
    assert_eq!(route.balance_of(&route.services).tactic, Tactic::Random);
    assert_eq!(
        route.balance_of(&route.smart[0].services).tactic,
        Tactic::Tier
    );
}

#[test]
fn a_file_that_relied_on_random_picks_gets_one_warning() {
    let eyes = "[[routes.smart]]\nname = \"eyes\"\n\
                when = [ { position = \"proxy_vision\", op = \"enabled\" } ]\nservices = ";
    let rule = "[[routes.smart]]\nname = \"long\"\n\
                when = [ { position = \"token\", op = \"ge\", value = 9 } ]\nservices = ";
    let one = "{ spec = \"demo/text\" }";
    let both = two("", "");
    for (text, warns) in [
        (route(&both, ""), true),
        (route(&two("", ", tier = 1"), ""), true),
        (route(one, &format!("{rule}[ {both} ]\n")), true),
        (
            route(&two(", tier = 1", ", tier = 1"), "balance = \"tier\""),
            true,
        ),
        (format!("version = 1\n{}", route(&both, "")), false),
        (route(one, ""), false),
        (route(&two(", weight = 2", ""), ""), false),
        (route(&two("", ", active = false"), ""), false),
        (route(&two("", ", weight = 0"), ""), false),
        (route(&both, "balance = \"random\""), false),
        (route(&both, "balance = \"in_order\""), false),
        (route(&two("", ", tier = 1"), "balance = \"tier\""), false),
        (route(one, &format!("{eyes}[ {both} ]\n")), false),
    ] {
        let warnings = parse(&text).warnings;
        assert_eq!(warnings.len(), usize::from(warns), "{text}\n{warnings:?}");
    }
    let second = route(&both, "").replace("coder", "other");
    let warnings = parse(&format!("{}{second}", route(&both, ""))).warnings;
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].severity, Severity::Warning);
    assert!(
        warnings[0].message.contains("`coder` (and 1 more route)"),
        "{}",
        warnings[0].message
    );
}

#[test]
fn a_tier_that_the_tactic_ignores_is_a_warning() {
    let config = parse(&route(&two("", ", tier = 1"), "balance = \"latency\""));
    let reported = config.warnings().to_string();
    assert!(
        reported.starts_with("warning: `tier` has no effect with `balance = \"latency\"`\n"),
        "{reported}"
    );
}
