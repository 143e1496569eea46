use majordomo_llm::{Capabilities, ModelInfo};

use super::*;
use crate::ollama::{
    Thinking, read_show, read_show_request, read_version, write_show, write_version,
};

fn model(id: &str, capabilities: Option<Capabilities>) -> ModelInfo {
    ModelInfo {
        id: id.into(),
        capabilities,
    }
}

#[test]
fn tags_are_read_with_what_newer_servers_add() {
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
fn tags_are_written_and_read_back() {
    let known = Capabilities {
        context_window: Some(8_192),
        ..Capabilities::text_only()
    };
    let models = [model("a", Some(known))];
    let body = CHAT.write_models(&models, 1_700_000_000);
    assert_eq!(
        body,
        concat!(
            r#"{"models":[{"name":"a","model":"a","modified_at":"2023-11-14T22:13:20Z","size":0,"digest":"","#,
            r#""details":{"parent_model":"","format":"","family":"","families":[],"parameter_size":"","quantization_level":"","context_length":8192},"#,
            r#""capabilities":["completion","tools"]}]}"#
        )
    );
    assert_eq!(CHAT.read_models(&body).unwrap(), models);
}

#[test]
fn a_shown_model_tells_its_window_senses_and_thinking() {
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
        (r#","capabilities":["completion"]"#, Thinking::Never),
        (r#","capabilities":["thinking"]"#, Thinking::ToMax),
        ("", Thinking::ToMax),
        (r#","thinking":{"values":[true,false]}"#, Thinking::Switch),
        (
            r#","thinking":{"values":["low","medium","high"]}"#,
            Thinking::ToHigh,
        ),
        (
            r#","thinking":{"values":[false,"low","max"],"default":"low"}"#,
            Thinking::ToMax,
        ),
    ];
    for (extra, expected) in rows {
        assert_eq!(body(extra).thinking, expected, "{extra}");
    }
}

#[test]
fn a_model_is_shown_and_read_back() {
    let known = Capabilities {
        context_window: Some(8_192),
        ..Capabilities::default()
    };
    let body = write_show(&model("a", Some(known.clone())), 1_700_000_000);
    assert_eq!(read_show(&body).unwrap().capabilities, known);
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
