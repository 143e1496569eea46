//! Prices of LiteLLM's deployments.

use majordomo_import::import;

fn imported(info: &str) -> (toml::Table, String) {
    let text = format!(
        "model_list:\n- model_name: a\n  litellm_params: {{ model: openai/x, input_cost_per_token: 0.000001 }}\n  \
         model_info: {{ {info} }}\n"
    );
    let imported = import(&text).expect("a configuration");
    let parsed = imported.toml.parse().expect("TOML");
    (parsed, imported.report.to_string())
}

#[test]
fn prices_above_a_length_become_tiers() {
    let (parsed, report) = imported(
        "output_cost_per_token: 0.000004, output_cost_per_token_above_200k_tokens: 0.000008, \
         input_cost_per_token_above_200k_tokens: 0.000002, \
         cache_read_input_token_cost_above_128k_tokens: 0.0000005",
    );
    let price = &parsed["prices"]["openai/x"];
    assert_eq!(price["input"].as_str(), Some("1"), "{report}");
    let tiers = price["tiers"].as_array().unwrap();
    let rate = |at: usize, key: &str| tiers[at].get(key).and_then(toml::Value::as_str);
    let above = tiers.iter().map(|tier| tier["above"].as_integer());
    assert_eq!(above.collect::<Vec<_>>(), [Some(128_000), Some(200_000)]);
    assert_eq!(rate(0, "cache_read"), Some("0.5"));
    assert_eq!(rate(0, "input"), None);
    assert_eq!(
        (rate(1, "input"), rate(1, "output")),
        (Some("2"), Some("8"))
    );
    assert!(!report.contains("above_200k"), "{report}");
}

#[test]
fn a_second_price_of_a_target_is_reported() {
    let deployment = |price: &str| {
        format!(
            "- model_name: a\n  litellm_params: {{ model: openai/x, input_cost_per_token: {price} }}\n"
        )
    };
    let text = format!(
        "model_list:\n{}{}",
        deployment("0.000001"),
        deployment("0.000002")
    );
    let imported = import(&text).unwrap();
    assert!(imported.toml.contains("input = \"1\""), "{}", imported.toml);
    let report = imported.report.to_string();
    assert!(report.contains("a target has one price"), "{report}");
}
