//! The configuration guide is accurate: its examples parse and it documents every key.

use std::collections::BTreeMap;

use majordomo_gateway::config::Config;

const PAGE: &str = include_str!("../../../../docs/guide/configuration.md");

fn examples() -> Vec<&'static str> {
    let blocks = PAGE.split("```toml\n").skip(1);
    blocks
        .filter_map(|rest| rest.split_once("\n```").map(|(block, _)| block))
        .collect()
}

fn environment() -> BTreeMap<String, String> {
    let names = ["GROQ_API_KEY", "BUILD_KEY", "M5_TOKEN"];
    names
        .map(|name| (name.to_owned(), "canary-canary-canary".to_owned()))
        .into()
}

fn parse(text: &str) -> Result<Config, String> {
    Config::parse("example.toml", text, &environment()).map_err(|problems| problems.to_string())
}

#[test]
fn every_example_of_the_guide_is_valid() {
    let examples = examples();
    assert!(examples.len() >= 12, "{}", examples.len());
    for example in examples {
        if let Err(problems) = parse(example) {
            panic!("{example}\n\n{problems}");
        }
    }
}

/// The keys of a section, from the hint for an unknown key.
fn known(section: &str) -> Vec<String> {
    let problems = parse(&format!("{section} = 1\n")).expect_err("zzz is no key");
    let listed = problems
        .lines()
        .find_map(|line| line.split_once("expected one of "));
    let (_, names) = listed.expect("a list of the known keys");
    names
        .split(", ")
        .map(|name| name.trim_matches('`').to_owned())
        .collect()
}

#[test]
fn every_key_is_documented_in_the_guide() {
    for section in [
        "zzz",
        "[server]\nzzz",
        "[fetch]\nzzz",
        "[vision]\nzzz",
        "[health]\nzzz",
        "[chain]\nzzz",
        "[providers.groq]\nzzz",
        "[providers.groq.models.m]\nzzz",
        "[[keys]]\nname = \"a\"\nkey = \"b\"\nzzz",
        "[[teams]]\nname = \"a\"\nzzz",
        "[limits]\nzzz",
        "[limits.alerts]\nurl = \"https://a\"\nsecret = \"b\"\nzzz",
        "[end_users]\nzzz",
        "[log]\nzzz",
        "[[routes]]\nmodel = \"a\"\nservices = [{ spec = \"demo/text\" }]\nzzz",
    ] {
        for key in known(section) {
            let reported = [format!("`{key}`"), format!("[{key}"), format!("`{key}.")];
            assert!(
                reported.iter().any(|form| PAGE.contains(form)),
                "{key} of {section}"
            );
        }
    }
}

/// The documented defaults, compared with an empty file.
#[test]
fn the_examples_of_health_and_chain_are_the_defaults() {
    let of = |heading: &str| {
        let from = PAGE.split_once(heading).expect("a heading").1;
        let block = from.split_once("```toml\n").expect("an example").1;
        parse(block.split_once("```").expect("its end").0).expect("a valid example")
    };
    let plain = Config::empty();
    assert_eq!(of("## `[health]`").health, plain.health);
    assert_eq!(of("## `[chain]`").chain, plain.chain);
}
