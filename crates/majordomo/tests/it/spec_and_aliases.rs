//! The spec grammar: targets and aliases.

use majordomo::fake::Fake;
use majordomo::spec::{SpecError, TargetName};
use majordomo::{Chain, Error, ErrorKind, Registry};
use proptest::prelude::*;

fn registry() -> Registry {
    let registry = Registry::empty();
    for name in ["ollama-cloud", "anthropic", "m1", "m5", "fp"] {
        registry.register(Fake::new(name));
    }
    let thinking = "anthropic/opus-4.8,ollama-cloud/minimax-m3:cloud";
    registry.alias("thinking", thinking).expect("a good alias");
    registry
}

fn names(chain: &Chain) -> Vec<String> {
    chain.targets().map(ToString::to_string).collect()
}

fn parsed(registry: &Registry, spec: &str) -> Vec<String> {
    match registry.model(spec) {
        Ok(chain) => names(&chain),
        Err(error) => vec![format!("{error}")],
    }
}

fn refused(registry: &Registry, spec: &str) -> SpecError {
    registry.model(spec).expect_err("a bad spec")
}

#[test]
fn a_spec_is_a_list_of_targets_and_aliases() {
    let rows: &[(&str, &[&str])] = &[
        (
            "ollama-cloud/minimax-m3:cloud",
            &["ollama-cloud/minimax-m3:cloud"],
        ),
        (
            "m1/richardyoung/qwen/3:30b",
            &["m1/richardyoung/qwen/3:30b"],
        ),
        (
            "ollama-cloud/minimax-m3:cloud,ollama-cloud/kimi-k2.6:cloud,anthropic/opus-4.8",
            &[
                "ollama-cloud/minimax-m3:cloud",
                "ollama-cloud/kimi-k2.6:cloud",
                "anthropic/opus-4.8",
            ],
        ),
        (
            "thinking",
            &["anthropic/opus-4.8", "ollama-cloud/minimax-m3:cloud"],
        ),
        (
            "m5/qwen3:30b,ollama-cloud/kimi-k2.6:cloud,thinking",
            &[
                "m5/qwen3:30b",
                "ollama-cloud/kimi-k2.6:cloud",
                "anthropic/opus-4.8",
                "ollama-cloud/minimax-m3:cloud",
            ],
        ),
        (" fp/a , ,fp/b,, ", &["fp/a", "fp/b"]),
        ("fp//double", &["fp//double"]),
        ("fp/Mixed Case?x=1#y@z", &["fp/Mixed Case?x=1#y@z"]),
    ];
    for (spec, expected) in rows {
        assert_eq!(parsed(&registry(), spec), *expected, "{spec}");
    }
}

#[test]
fn the_first_slash_splits_and_the_model_id_is_verbatim() {
    let chain = registry().model("m1/hf.co/org/model:q4").unwrap();
    let target = chain.targets().next().unwrap();
    assert_eq!(
        (target.provider(), target.model()),
        ("m1", "hf.co/org/model:q4")
    );
}

#[test]
fn a_suffix_that_looks_like_a_reasoning_effort_stays_in_the_id() {
    assert_eq!(parsed(&registry(), "fp/gpt:high"), ["fp/gpt:high"]);
}

#[test]
fn aliases_expand_in_place_and_recursively_wherever_they_stand() {
    let registry = registry();
    registry.alias("inner", "fp/x,fp/y").unwrap();
    registry.alias("outer", "fp/o,inner").unwrap();
    let rows: &[(&str, &[&str])] = &[
        ("outer,fp/z", &["fp/o", "fp/x", "fp/y", "fp/z"]),
        ("fp/a,outer,fp/z", &["fp/a", "fp/o", "fp/x", "fp/y", "fp/z"]),
        ("fp/a,outer", &["fp/a", "fp/o", "fp/x", "fp/y"]),
    ];
    for (spec, expected) in rows {
        assert_eq!(parsed(&registry, spec), *expected, "{spec}");
    }
}

#[test]
fn duplicates_are_dropped_and_the_first_wins() {
    let registry = registry();
    registry.alias("pair", "fp/b,fp/a").unwrap();
    assert_eq!(
        parsed(&registry, "fp/a,fp/c,pair,fp/c"),
        ["fp/a", "fp/c", "fp/b"]
    );
    assert_eq!(parsed(&registry, "pair,pair"), ["fp/b", "fp/a"]);
}

#[test]
fn an_alias_used_twice_side_by_side_is_no_cycle() {
    let registry = registry();
    registry.alias("base", "fp/a").unwrap();
    registry.alias("left", "base,fp/l").unwrap();
    registry.alias("right", "base,fp/r").unwrap();
    assert_eq!(parsed(&registry, "left,right"), ["fp/a", "fp/l", "fp/r"]);
}

#[test]
fn a_cycle_is_an_error_that_shows_the_cycle() {
    let registry = registry();
    registry.alias("a", "fp/x,b").unwrap();
    registry.alias("b", "c").unwrap();
    registry.alias("c", "fp/y,a").unwrap();
    registry.alias("self", "self").unwrap();

    let error = refused(&registry, "fp/z,a");
    let SpecError::AliasCycle { cycle } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(cycle, &["a", "b", "c", "a"]);
    let text = error.to_string();
    for name in ["a", "b", "c"] {
        assert!(text.contains(name), "{text}");
    }
    assert!(matches!(
        refused(&registry, "self"),
        SpecError::AliasCycle { .. }
    ));
}

#[test]
fn the_path_into_a_cycle_is_not_shown_as_part_of_it() {
    let registry = registry();
    registry.alias("door", "a").unwrap();
    registry.alias("a", "b").unwrap();
    registry.alias("b", "a").unwrap();
    let error = refused(&registry, "door");
    assert_eq!(
        error,
        SpecError::AliasCycle {
            cycle: ["a", "b", "a"].map(str::to_owned).into()
        }
    );
}

#[test]
fn an_empty_spec_is_an_error() {
    let registry = registry();
    for spec in ["", "  ", ",", " , ,, "] {
        assert_eq!(refused(&registry, spec), SpecError::Empty, "{spec:?}");
    }
}

#[test]
fn an_empty_alias_is_an_error_when_used_alone() {
    let registry = registry();
    registry.alias("nothing", " , ").unwrap();
    assert_eq!(refused(&registry, "nothing"), SpecError::Empty);
    assert_eq!(parsed(&registry, "nothing,fp/a"), ["fp/a"]);
}

#[test]
fn half_a_target_is_an_error_that_shows_it() {
    let registry = registry();
    let error = refused(&registry, "fp/a,/model");
    assert!(matches!(&error, SpecError::NoProvider { element } if element == "/model"));
    let error = refused(&registry, "fp/a,fp/");
    assert!(matches!(&error, SpecError::NoModel { element } if element == "fp/"));
}

#[test]
fn an_unknown_alias_is_an_error_with_the_nearest_known_one() {
    let error = refused(&registry(), "fp/a,thinkin");
    let expected = SpecError::UnknownAlias {
        name: "thinkin".into(),
        nearest: Some("thinking".into()),
    };
    assert_eq!(error, expected);
    let text = error.to_string();
    assert!(
        text.contains("thinkin") && text.contains("thinking"),
        "{text}"
    );
}

#[test]
fn an_unknown_provider_is_an_error_with_its_variable_and_the_nearest_name() {
    let error = refused(&registry(), "antropic/opus");
    let expected = SpecError::UnknownProvider {
        name: "antropic".into(),
        variable: "LLM_ANTROPIC".into(),
        nearest: Some("anthropic".into()),
    };
    assert_eq!(error, expected);
    let text = error.to_string();
    for word in ["antropic", "registered", "LLM_ANTROPIC", "anthropic"] {
        assert!(text.contains(word), "{word} in: {text}");
    }
}

#[test]
fn a_name_close_to_no_other_gets_no_suggestion() {
    let error = refused(&registry(), "zzzzzzzz/opus");
    assert!(
        matches!(error, SpecError::UnknownProvider { nearest: None, .. }),
        "{error:?}"
    );
}

#[test]
fn an_invalid_alias_name_is_rejected() {
    let registry = registry();
    for name in ["", "  ", "a/b", "a,b"] {
        let error = registry.alias(name, "fp/a").unwrap_err();
        assert!(matches!(error, SpecError::BadAliasName { .. }), "{name:?}");
    }
}

#[test]
fn an_alias_is_resolved_on_use() {
    let registry = registry();
    registry.alias("later", "soon").unwrap();
    registry.alias("soon", "fp/a").unwrap();
    let before = registry.model("later").unwrap();
    registry.alias("soon", "fp/b").unwrap();
    assert_eq!(parsed(&registry, "later"), ["fp/b"]);
    assert_eq!(names(&before), ["fp/a"], "existing chains are unaffected");
}

#[test]
fn exponentially_growing_aliases_are_an_error_not_a_hang() {
    let registry = registry();
    registry.alias("n0", "fp/a").unwrap();
    for n in 1..60 {
        let previous = format!("n{0},n{0}", n - 1);
        registry.alias(&format!("n{n}"), &previous).unwrap();
    }
    assert!(matches!(
        refused(&registry, "n59"),
        SpecError::TooLong { .. }
    ));
}

#[test]
fn long_alias_chains_do_not_overflow_the_stack() {
    let registry = registry();
    registry.alias("n0", "fp/a").unwrap();
    for n in 1..30_000 {
        registry
            .alias(&format!("n{n}"), &format!("n{}", n - 1))
            .unwrap();
    }
    match registry.model("n29999") {
        Ok(chain) => assert_eq!(names(&chain), ["fp/a"]),
        Err(error) => assert!(matches!(error, SpecError::TooLong { .. }), "{error}"),
    }
}

#[test]
fn a_spec_error_is_an_error_of_kind_spec() {
    let error = Error::from(refused(&registry(), ""));
    assert_eq!(error.kind(), ErrorKind::Spec);
}

#[test]
fn a_single_target_name_parses() {
    let name: TargetName = "m1/acme/qwen3:30b".parse().unwrap();
    assert_eq!(name.as_str(), "m1/acme/qwen3:30b");
    for bad in ["thinking", "/x", "x/", ""] {
        assert!(bad.parse::<TargetName>().is_err(), "{bad:?}");
    }
}

proptest! {
    #[test]
    fn no_spec_panics(spec in ".{0,60}") {
        let _ = registry().model(&spec);
    }

    #[test]
    fn no_alias_panics(name in ".{0,12}", spec in ".{0,30}", used in "[a-z/,\\PC]{0,20}") {
        let registry = registry();
        let _ = registry.alias(&name, &spec);
        let _ = registry.model(&name);
        let _ = registry.model(&used);
    }

    #[test]
    fn a_parsed_spec_parses_again(spec in "(fp|m1|thinking|[ ,])(/[a-z:/.]{1,6})?(,(fp|m5)/[a-z:/]{1,6}){0,4}") {
        let registry = registry();
        if let Ok(chain) = registry.model(&spec) {
            let flat = names(&chain);
            prop_assert_eq!(parsed(&registry, &flat.join(",")), flat);
        }
    }
}
