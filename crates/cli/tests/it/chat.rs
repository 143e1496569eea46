//! `majordomo chat`.

use crate::support::{CommandOutput, fails, file, majordomo, png_image, responds, streams};
use majordomo_testkit::{ClosedPort, Script, Upstream};

#[tokio::test]
async fn the_response_goes_to_stdout_and_the_serving_target_to_stderr() {
    let upstream = Upstream::start([streams("Hel", "lo.")]).await;
    let done = majordomo(&["chat", "x/m", "hi", "--system", "Be terse."])
        .x(&upstream)
        .output()
        .await;
    let expected = CommandOutput {
        code: Some(0),
        stdout: "Hello.\n".into(),
        stderr: "served by x/m (3 tokens in, 2 out)\n".into(),
    };
    assert_eq!(done, expected);
    let request = upstream.requests().remove(0);
    let body = String::from_utf8_lossy(&request.body).into_owned();
    assert!(
        body.contains("Be terse.") && body.contains("\"hi\""),
        "{body}"
    );
    assert_eq!(request.header("authorization"), Some("Bearer canary"));
}

#[tokio::test]
async fn failed_targets_are_listed_on_stderr() {
    let upstream = Upstream::start([fails(404, "no such model"), streams("o", "k")]).await;
    let done = majordomo(&["chat", "x/a,x/b", "hi"])
        .x(&upstream)
        .output()
        .await;
    assert_eq!(done.stdout, "ok\n");
    assert_eq!(
        done.stderr,
        "x/a: HTTP 404: no such model\nserved by x/b (3 tokens in, 2 out)\n"
    );
    assert_eq!(done.code, Some(0));
}

#[tokio::test]
async fn an_exhausted_chain_is_one_sentence_that_names_each_target() {
    let upstream = Upstream::start([fails(404, "no such model")]).await;
    let done = majordomo(&["chat", "x/a,x/b", "hi"])
        .x(&upstream)
        .output()
        .await;
    let expected = CommandOutput {
        code: Some(1),
        stdout: String::new(),
        stderr: "error: no target could serve the request: \
                 x/a: HTTP 404: no such model; x/b: HTTP 404: no such model\n"
            .into(),
    };
    assert_eq!(done, expected);
}

#[tokio::test]
async fn an_unreachable_server_is_named_once_with_a_hint() {
    let port = ClosedPort::hold();
    let gone = port.address();
    let done = majordomo(&["chat", "x/m", "hi"])
        .env("LLM_X", &format!("ollama+http://{gone}"))
        .output()
        .await;
    assert_eq!(done.code, Some(1));
    assert_eq!(
        done.stderr,
        format!(
            "error: no target could serve the request: x/m: could not connect to {gone}: \
             Connection refused (os error 111); run `majordomo models` to see which providers are reachable\n"
        )
    );
}

#[tokio::test]
async fn a_truncated_response_fails_after_its_partial_text() {
    let cut = Script::new()
        .read_request()
        .stream_head()
        .chunk("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n")
        .last_chunk();
    let upstream = Upstream::start([cut]).await;
    let done = majordomo(&["chat", "x/m", "hi"])
        .x(&upstream)
        .output()
        .await;
    assert_eq!((done.code, &*done.stdout), (Some(1), "Hel\n"));
    assert!(done.stderr.starts_with("error: x/m: "), "{}", done.stderr);
}

#[tokio::test]
async fn json_is_one_object_with_text_model_usage_and_attempts() {
    let upstream = Upstream::start([streams("Hel", "lo")]).await;
    let done = majordomo(&["chat", "x/m", "hi", "--json"])
        .x(&upstream)
        .output()
        .await;
    let report: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(report["text"], "Hello");
    assert_eq!(report["model"], "x/m");
    assert_eq!(report["finish"], "stop");
    assert_eq!(report["usage"]["output"], 2);
    assert_eq!(report["attempts"][0]["outcome"], "served");
    assert_eq!(done.stdout.lines().count(), 1);
}

#[tokio::test]
async fn each_line_of_stdin_is_a_turn_of_one_conversation() {
    let upstream = Upstream::start([streams("one", "."), streams("two", ".")]).await;
    let done = majordomo(&["chat", "x/m"])
        .x(&upstream)
        .stdin("first\n\nsecond\n")
        .output()
        .await;
    assert_eq!((done.code, &*done.stdout), (Some(0), "one.\ntwo.\n"));
    let body = upstream.requests().remove(1).body;
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    let contents: Vec<&str> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|message| message["content"].as_str())
        .collect();
    assert_eq!(contents, ["first", "one.", "second"]);
}

#[tokio::test]
async fn a_dash_reads_the_prompt_from_stdin() {
    let upstream = Upstream::start([streams("o", "k")]).await;
    let done = majordomo(&["chat", "x/m", "-"])
        .x(&upstream)
        .stdin("two\nlines\n")
        .output()
        .await;
    assert_eq!(done.code, Some(0));
    let body = upstream.requests().remove(0).body;
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["messages"][0]["content"], "two\nlines\n");
}

#[tokio::test]
async fn an_image_is_sent_and_its_changes_are_listed() {
    let upstream = Upstream::start([streams("a ", "wall")]).await;
    // OpenAI takes 30,000 patches of 32 pixels at most.
    let wide = file("wide.png", png_image(8_000, 6_000));
    let done = majordomo(&["chat", "x/m", "what?", "--image", &wide])
        .x(&upstream)
        .output()
        .await;
    assert_eq!(done.stdout, "a wall\n", "{}", done.stderr);
    assert!(
        done.stderr
            .contains("changed: image:1 resized (image 1: 8000×6000 png"),
        "{}",
        done.stderr
    );
    let body = upstream.requests().remove(0).body;
    let body = String::from_utf8_lossy(&body).into_owned();
    assert!(body.contains("data:image/"), "{body}");
}

#[tokio::test]
async fn an_image_for_a_text_only_target_fails_with_the_reason() {
    let upstream = Upstream::start([streams("o", "k")]).await;
    let small = file("small.png", png_image(4, 4));
    let done = majordomo(&["chat", "x/m", "what?", "--image", &small])
        .x_with(&upstream, "?images=false")
        .output()
        .await;
    assert_eq!(done.code, Some(1));
    assert_eq!(
        done.stderr,
        "error: no target could serve the request: x/m: skipped, it takes no images\n"
    );
    assert!(upstream.requests().is_empty());
}

const PERSON: &str = r#"{"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"], "additionalProperties": false}"#;

#[tokio::test]
async fn a_response_that_violates_the_schema_is_repaired_once() {
    let upstream = Upstream::start([responds("{}"), responds("{\"age\": 36}")]).await;
    let schema = file("person.json", PERSON);
    let done = majordomo(&["chat", "x/m", "Ada is 36.", "--schema", &schema])
        .x(&upstream)
        .output()
        .await;
    assert_eq!(done.stdout, "{\n  \"age\": 36\n}\n", "{}", done.stderr);
    assert_eq!(done.code, Some(0));
    let body = upstream.requests().remove(0).body;
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["response_format"]["type"], "json_schema");
}

#[tokio::test]
async fn errors_are_one_sentence_with_a_remedy() {
    let not_json = file("not.json", "{");
    let no_schema = file("no_schema.json", r#"{"type": 7}"#);
    let no_image = file("no_image.png", "<html>");
    for (arguments, sentence) in [
        (
            &["chat", ",", "hi"][..],
            "error: the model spec is empty: name at least one `provider/model` or alias\n",
        ),
        (
            &["chat", "openai/", "hi"],
            "error: `openai/` names no model: write it as `provider/model`\n",
        ),
        (
            &["chat", "thinking", "hi"],
            "error: there is no alias `thinking`; write a target as `provider/model`, and run `majordomo models` to list them\n",
        ),
        (
            &["chat", "opnai/gpt", "hi"],
            "error: there is no provider `opnai`: none is registered under that name and `LLM_OPNAI` is not set; did you mean `openai`?\n",
        ),
        (
            &["chat", "openai/gpt", "hi"],
            "error: no target could serve the request: openai/gpt: no key is configured: set OPENAI_API_KEY\n",
        ),
        (&["chat", "openai/gpt", " "], "error: the prompt is empty\n"),
        (
            &["chat", "openai/gpt", "hi", "--image", "nowhere.png"],
            "error: failed to read `nowhere.png`: No such file or directory (os error 2)\n",
        ),
        (
            &["chat", "openai/gpt", "hi", "--image", &no_image],
            &format!("error: `{no_image}` is not a supported image; use JPEG, PNG, GIF or WebP\n"),
        ),
        (
            &["chat", "openai/gpt", "hi", "--schema", &not_json],
            &format!(
                "error: `{not_json}`: not JSON: EOF while parsing an object at line 1 column 1\n"
            ),
        ),
        (
            &["chat", "openai/gpt", "hi", "--schema", &no_schema],
            &format!(
                "error: `{no_schema}`: the schema is invalid: 7 is not valid under any of the schemas listed in the 'anyOf' keyword\n"
            ),
        ),
    ] {
        let done = majordomo(arguments).output().await;
        let expected = CommandOutput {
            code: Some(1),
            stdout: String::new(),
            stderr: sentence.to_owned(),
        };
        assert_eq!(done, expected, "{arguments:?}");
    }
}

#[tokio::test]
async fn a_key_echoed_by_the_server_is_redacted() {
    let upstream = Upstream::start([fails(401, "Incorrect API key: sk-CANARY1234567890")]).await;
    let done = majordomo(&["chat", "x/m", "hi"])
        .env(
            "LLM_X",
            &format!(
                "openai+http://sk-CANARY1234567890@{}/v1",
                upstream.address()
            ),
        )
        .output()
        .await;
    assert_eq!(done.code, Some(1));
    assert!(!done.stderr.contains("CANARY"), "{}", done.stderr);
}
