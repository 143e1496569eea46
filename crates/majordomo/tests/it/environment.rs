//! Providers from `LLM_<NAME>` variables.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use majordomo::dsn::{Dsn, DsnError};
use majordomo::fake::Fake;
use majordomo::spec::SpecError;
use majordomo::{Error, ErrorKind, Provider, Registry, Request};
use secrecy::ExposeSecret;

fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    pairs.iter().map(owned).collect()
}

/// What factories received: name, base URL, token.
type Built = Arc<Mutex<Vec<(String, String, Option<String>)>>>;

/// A registry with this environment and the schemes `foreman` and `llama-swap(s)`.
fn registry(environment: &[(&str, &str)]) -> (Registry, Built) {
    let built = Built::default();
    let mut builder = Registry::builder().environment(variables(environment));
    for scheme in ["foreman", "llama-swap", "llama-swaps"] {
        let built = Arc::clone(&built);
        builder = builder.scheme(scheme, move |name: &str, dsn: &Dsn| {
            let token = dsn.token.as_ref().map(|t| t.expose_secret().to_owned());
            let mut built = built.lock().expect("no factory panics");
            built.push((name.to_owned(), dsn.base_url(), token));
            Ok(Arc::new(Fake::new(name)) as Arc<dyn Provider>)
        });
    }
    (builder.build(), built)
}

fn targets(registry: &Registry, spec: &str) -> Vec<String> {
    let chain = registry.model(spec).expect("a good spec");
    chain.targets().map(ToString::to_string).collect()
}

#[tokio::test(start_paused = true)]
async fn a_foreman_variable_defines_a_provider() {
    let (registry, built) = registry(&[("LLM_M1", "foreman://token@foreman-m1.example.com")]);

    let chain = registry.model("m1/qwen3:30b").unwrap();
    let reply = chain.generate(Request::user("hi")).await.unwrap();

    assert_eq!(reply.model, "m1/qwen3:30b");
    let url = "https://foreman-m1.example.com".to_owned();
    assert_eq!(
        *built.lock().unwrap(),
        [("m1".to_owned(), url, Some("token".to_owned()))]
    );
}

#[test]
fn an_env_provider_a_target_and_an_alias_form_one_chain() {
    let (registry, _) = registry(&[("LLM_M5", "foreman://t@m5.example.com")]);
    registry.register(Fake::new("ollama-cloud"));
    registry
        .alias("thinking", "ollama-cloud/kimi-k2.6:cloud")
        .unwrap();
    let spec = "m5/qwen3:30b,ollama-cloud/kimi-k2.6:cloud,thinking";
    assert_eq!(
        targets(&registry, spec),
        ["m5/qwen3:30b", "ollama-cloud/kimi-k2.6:cloud"]
    );
}

#[test]
fn loading_variables_lowercases_names_and_keeps_underscores() {
    let (registry, _) = registry(&[
        ("LLM_MY_BOX", "foreman://h.example.com"),
        ("LLM_M1", "foreman://h.example.com"),
        ("OTHER", "foreman://h.example.com"),
        ("LLM_", "foreman://h.example.com"),
    ]);
    assert_eq!(registry.providers(), ["m1", "my_box"]);
    assert_eq!(targets(&registry, "my_box/x"), ["my_box/x"]);
}

#[test]
fn looking_up_a_name_uppercases_it_and_replaces_dashes() {
    let (registry, built) = registry(&[("LLM_MY_PROV", "foreman://h.example.com")]);
    assert_eq!(targets(&registry, "my-prov/x"), ["my-prov/x"]);
    assert_eq!(targets(&registry, "My-Prov/x"), ["My-Prov/x"]);
    let names: Vec<String> = built.lock().unwrap().iter().map(|b| b.0.clone()).collect();
    assert!(names.contains(&"my-prov".to_owned()), "{names:?}");
}

#[test]
fn a_looked_up_provider_is_kept() {
    let (registry, built) = registry(&[("LLM_MY_PROV", "foreman://h.example.com")]);
    let first = registry.provider("my-prov").unwrap();
    let before = built.lock().unwrap().len();
    assert!(Arc::ptr_eq(&first, &registry.provider("my-prov").unwrap()));
    assert_eq!(built.lock().unwrap().len(), before);
}

#[test]
fn a_registered_provider_takes_precedence_over_its_variable() {
    let (registry, _) = registry(&[("LLM_FP", "nonsense")]);
    registry.register(Fake::new("fp"));
    assert_eq!(targets(&registry, "fp/x"), ["fp/x"]);
}

#[test]
fn llama_swap_is_plain_http_and_llama_swaps_is_not() {
    let (_, built) = registry(&[
        ("LLM_A", "llama-swap://box:8080"),
        ("LLM_B", "llama-swaps://t@box.example.com"),
        ("LLM_C", "foreman+http://box:8080/v1/"),
    ]);
    let urls: Vec<String> = built.lock().unwrap().iter().map(|b| b.1.clone()).collect();
    assert_eq!(
        urls,
        [
            "http://box:8080",
            "https://box.example.com",
            "http://box:8080/v1"
        ]
    );
}

#[test]
fn a_malformed_variable_fails_only_when_its_provider_is_used() {
    let (registry, _) = registry(&[
        ("LLM_BAD", "no scheme at all"),
        ("LLM_GOOD", "foreman://h.example.com"),
    ]);
    assert_eq!(targets(&registry, "good/x"), ["good/x"]);

    let error = registry.model("good/x,bad/x").unwrap_err();
    let expected = SpecError::BadDsn {
        name: "bad".into(),
        cause: DsnError::NoScheme,
    };
    assert_eq!(error, expected);
    assert!(error.to_string().contains("bad"), "{error}");
}

#[test]
fn the_problems_of_unusable_variables_are_available() {
    let (registry, _) = registry(&[
        ("LLM_BAD", "nonsense"),
        ("LLM_GOOD", "foreman://t@host"),
        ("LLM_LATER", "custom://t@host"),
    ]);
    let reasons = |registry: &Registry| -> Vec<String> {
        registry
            .unusable()
            .iter()
            .map(ToString::to_string)
            .collect()
    };
    let problems = reasons(&registry);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].starts_with("the provider `bad` cannot be used: "));
    assert!(problems[1].starts_with("the provider `later` cannot be used: "));

    registry.scheme("custom", |name, _| Ok(Arc::new(Fake::new(name))));
    assert_eq!(reasons(&registry), problems[..1]);
}

#[test]
fn load_env_lists_every_malformed_variable_and_adds_all_others() {
    let (registry, _) = registry(&[]);
    let error = registry
        .load_env(&variables(&[
            ("LLM_Z", "foreman://"),
            ("LLM_GOOD", "foreman://h.example.com"),
            ("LLM_A", "nothing"),
            ("LLM_M", "formen://h.example.com"),
        ]))
        .unwrap_err();

    let problems: Vec<_> = error.problems.iter().map(|p| p.variable.as_str()).collect();
    assert_eq!(problems, ["LLM_A", "LLM_M", "LLM_Z"]);
    let unknown = DsnError::UnknownScheme {
        scheme: "formen".into(),
        nearest: Some("foreman".into()),
    };
    assert_eq!(error.problems[1].cause, unknown);
    let text = error.to_string();
    for name in ["LLM_A", "LLM_M", "LLM_Z", "foreman"] {
        assert!(text.contains(name), "{name} in: {text}");
    }
    assert!(registry.model("good/x").is_ok());
    assert!(matches!(
        registry.model("z/x").unwrap_err(),
        SpecError::BadDsn { .. }
    ));
}

#[test]
fn load_env_of_valid_variables_succeeds() {
    let (registry, _) = registry(&[]);
    let good = variables(&[("LLM_A", "foreman://h.example.com"), ("PATH", "/bin")]);
    assert_eq!(registry.load_env(&good), Ok(()));
    assert_eq!(registry.providers(), ["a"]);
}

#[test]
fn a_scheme_registered_later_serves_a_variable_loaded_before() {
    let (registry, _) = registry(&[("LLM_NEW", "brand-new://h.example.com")]);
    assert!(
        registry.model("new/x").is_err(),
        "the scheme is not registered yet"
    );
    registry.scheme("brand-new", |name: &str, _: &Dsn| {
        Ok(Arc::new(Fake::new(name)) as Arc<dyn Provider>)
    });
    assert_eq!(targets(&registry, "new/x"), ["new/x"]);
}

#[test]
fn no_lock_is_held_while_a_factory_runs() {
    let (registry, _) = registry(&[("LLM_NOSY", "nosy://h.example.com")]);
    let own = registry.clone();
    registry.scheme("nosy", move |name: &str, _: &Dsn| {
        own.register(Fake::new("helper"));
        own.model("helper/x")?;
        Ok(Arc::new(Fake::new(name)) as Arc<dyn Provider>)
    });
    assert_eq!(targets(&registry, "nosy/x"), ["nosy/x"]);
}

#[test]
fn a_factorys_error_is_reported_on_use() {
    let (registry, _) = registry(&[("LLM_F", "fussy://h.example.com")]);
    registry.scheme("fussy", |_: &str, _: &Dsn| {
        Err(Error::new(ErrorKind::Spec, "it needs a token"))
    });
    let text = registry.model("f/x").unwrap_err().to_string();
    assert!(text.contains("it needs a token"), "{text}");
}

#[test]
fn an_unknown_provider_names_its_variable_and_the_nearest_env_provider() {
    let (registry, _) = registry(&[("LLM_FOREMAN1", "foreman://h.example.com")]);
    let error = registry.model("my-foreman/x").unwrap_err();
    assert!(
        matches!(&error, SpecError::UnknownProvider { variable, .. } if variable == "LLM_MY_FOREMAN"),
        "{error:?}"
    );
    let error = registry.model("foreman2/x").unwrap_err();
    assert!(
        matches!(&error, SpecError::UnknownProvider { nearest: Some(n), .. } if n == "foreman1"),
        "{error:?}"
    );
}

#[test]
fn an_empty_registry_ignores_the_environment() {
    let registry = Registry::empty();
    assert!(registry.providers().is_empty());
    assert!(matches!(
        registry.model("path/x").unwrap_err(),
        SpecError::UnknownProvider { .. }
    ));
}

#[test]
fn no_error_about_a_variable_shows_its_token() {
    let bad = [
        "CANARY",
        "foreman://CANARY@",
        "foreman://CANARY@ho st",
        "foreman://CANARY%FF@host",
        "foreman://CANARY@host?what=1",
        "foreman://CANARY@host?timeout=soon",
        "nobody://CANARY@host",
        "foreman:CANARY@host",
    ];
    for value in bad {
        let (registry, _) = registry(&[]);
        let error = registry
            .load_env(&variables(&[("LLM_X", value)]))
            .unwrap_err();
        let used = registry.model("x/y").unwrap_err();
        for text in [
            error.to_string(),
            format!("{error:?}"),
            used.to_string(),
            format!("{used:?}"),
        ] {
            assert!(!text.contains("CANARY"), "{value}: {text}");
        }
    }
}
