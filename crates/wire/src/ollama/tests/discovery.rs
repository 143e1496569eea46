use majordomo_llm::{Capabilities, ModelInfo};

use super::*;
use crate::ollama::{
    ThinkSupport, read_show, read_show_request, read_version, write_show, write_version,
};

fn model(id: &str, capabilities: Option<Capabilities>) -> ModelInfo {
    ModelInfo {
        id: id.into(),
        capabilities,
    }
}

#[test]
fn model_lists_are_read_with_the_fields_of_newer_servers() {
    let body = br#"{"models":[
        {"name":"a:latest","model":"a:latest","size":1,"details":{"family":"x","families":null}},
        {"name":"b","details":{"context_length":4096},"capabilities":["completion","tools"]},
        {"model":"c","capabilities":["completion","vision"],"remote_host":"h"}]}"#;
    let models = CHAT.read_models(body).unwrap();
    assert_eq!(models[0], model("a:latest", None));
    let b = models[1].capabilities.as_ref().unwrap();
    assert_eq!(
        (b.context_window, b.tools, b.takes_images()),
        (Some(4096), true, false)
    );
    let c = models[2].capabilities.as_ref().unwrap();
    assert_eq!((c.tools, c.takes_images()), (false, true));
}

#[test]
fn model_lists_round_trip() {
    let capabilities = Capabilities::text_only().with_context_window(Some(8_192));
    let models = [model("a", Some(capabilities))];
    let body = CHAT.write_models(&models, 1_700_000_000);
    assert_eq!(
        body,
        concat!(
            r#"{"models":[{"name":"a","model":"a","modified_at":"2023-11-14T22:13:20Z","size":0,"digest":"af63dc4c8601ec8caf65424c860169b5af64204c85fc99c6af6c0e4c86073007","#,
            r#""details":{"parent_model":"","format":"","family":"","families":[],"parameter_size":"","quantization_level":"","context_length":8192},"#,
            r#""capabilities":["completion","tools"]}]}"#
        )
    );
    assert_eq!(CHAT.read_models(&body).unwrap(), models);
}

#[test]
fn show_reports_context_window_capabilities_and_think_values() {
    let body = |extra: &str| {
        let body = format!(
            r#"{{"model_info":{{"clip.context_length":77,"llama.context_length":8192,"general.architecture":"llama"}}{extra}}}"#
        );
        read_show(body.as_bytes()).unwrap()
    };
    let plain = body(r#","capabilities":["completion","vision"]"#);
    assert_eq!(plain.capabilities.context_window, Some(8192));
    assert!(plain.capabilities.takes_images() && !plain.capabilities.tools);
    let rows = [
        (
            r#","capabilities":["completion"]"#,
            ThinkSupport::Unsupported,
        ),
        (r#","capabilities":["thinking"]"#, ThinkSupport::UpToMax),
        ("", ThinkSupport::UpToMax),
        (
            r#","thinking":{"values":[true,false]}"#,
            ThinkSupport::OnOff,
        ),
        (
            r#","thinking":{"values":["low","medium","high"]}"#,
            ThinkSupport::UpToHigh,
        ),
        (
            r#","thinking":{"values":[false,"low","max"],"default":"low"}"#,
            ThinkSupport::UpToMax,
        ),
    ];
    for (extra, expected) in rows {
        assert_eq!(body(extra).thinking, expected, "{extra}");
    }
}

#[test]
fn show_responses_round_trip() {
    let capabilities = Capabilities::default().with_context_window(Some(8_192));
    let body = write_show(&model("a", Some(capabilities.clone())), 1_700_000_000);
    assert_eq!(read_show(&body).unwrap().capabilities, capabilities);
    assert_eq!(read_show_request(br#"{"model":"a"}"#).unwrap(), "a");
    assert_eq!(read_show_request(br#"{"name":"a"}"#).unwrap(), "a");
    let error = read_show_request(b"{}").unwrap_err();
    assert_eq!(error.to_string(), "model: name the model to show");
}

#[test]
fn versions_are_read_and_written() {
    let body = write_version("0.34.4");
    assert_eq!(body, r#"{"version":"0.34.4"}"#);
    assert_eq!(read_version(&body).unwrap(), "0.34.4");
    assert!(read_version(b"{}").is_err());
}
