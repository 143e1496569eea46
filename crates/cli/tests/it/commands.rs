//! The command line itself, `explain`, `models` and `fit`.

use crate::support::{CommandOutput, fails, file, majordomo, png_image};
use majordomo_testkit::{ClosedPort, Script, Upstream};

fn failed(code: i32, stderr: &str) -> CommandOutput {
    CommandOutput {
        code: Some(code),
        stdout: String::new(),
        stderr: stderr.to_owned(),
    }
}

fn printed(stdout: &str) -> CommandOutput {
    CommandOutput {
        code: Some(0),
        stdout: stdout.to_owned(),
        stderr: String::new(),
    }
}

#[tokio::test]
async fn an_unknown_command_is_one_sentence_and_exit_code_2() {
    let done = majordomo(&["chatt"]).output().await;
    let sentence = "error: unrecognized subcommand 'chatt'; a similar subcommand exists: 'chat'; \
                    for more information, try 'majordomo --help'\n";
    assert_eq!(done, failed(2, sentence));
}

#[tokio::test]
async fn help_has_examples_and_no_colors_in_a_pipe() {
    for arguments in [
        &["--help"][..],
        &["chat", "--help"],
        &["explain", "--help"],
        &["fit", "--help"],
        &["image", "--help"],
        &["check", "--help"],
        &["models", "--help"],
        &["serve", "--help"],
        &["key", "new", "--help"],
        &["init", "--help"],
        &["doctor", "--help"],
        &["import", "--help"],
        &["schema", "--help"],
        &["completions", "--help"],
    ] {
        let done = majordomo(arguments).output().await;
        assert_eq!((done.code, &*done.stderr), (Some(0), ""));
        assert!(done.stdout.contains("Examples:"), "{}", done.stdout);
        assert!(!done.stdout.contains('\u{1b}'), "{}", done.stdout);
    }
}

#[tokio::test]
async fn explain_shows_the_targets_without_calling_any() {
    let upstream = Upstream::start([Script::new()]).await;
    let done = majordomo(&["explain", "x/small, openai/gpt-6,deepseek/chat,x/small"])
        .x_with(&upstream, "?images=false&tools=false&context=8192")
        .env("DEEPSEEK_API_KEY", "canary")
        .output()
        .await;
    assert_eq!(
        done,
        printed(
            "\
#  TARGET         IMAGES      TOOLS  SCHEMAS  CONTEXT  HEALTH
1  x/small        no          no     yes      8192     ready
2  openai/gpt-6   up to 1500  yes    yes      unknown  no key is configured: set OPENAI_API_KEY
3  deepseek/chat  no          yes    yes      unknown  ready
"
        )
    );
    assert!(upstream.connections().is_empty());
}

#[tokio::test]
async fn explain_rejects_a_bad_dsn_without_showing_it() {
    let done = majordomo(&["explain", "x/m"])
        .env("LLM_X", "opnai://CANARY@host")
        .output()
        .await;
    let sentence = "error: the provider `x` cannot be used: \
                    unknown DSN scheme `opnai`; did you mean `openai`?\n";
    assert_eq!(done, failed(1, sentence));
}

#[tokio::test]
async fn models_lists_reachable_providers_and_names_the_others() {
    let list = r#"{"object":"list","data":[{"id":"big","object":"model"},{"id":"tiny","object":"model","max_model_len":4096}]}"#;
    let script = Script::new()
        .read_request()
        .respond(200, "application/json", list);
    let here = Upstream::start([script]).await;
    let failing = Upstream::start([fails(500, "boom")]).await;
    let gone = ClosedPort::hold();
    let done = majordomo(&["models"])
        .x_with(&here, "?images=false")
        .env(
            "LLM_FAILING",
            &format!("openai+http://t@{}", failing.address()),
        )
        .env("LLM_BAD", "nonsense")
        .env("OLLAMA_HOST", &gone.address().to_string())
        .output()
        .await;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let ours: Vec<Vec<&str>> = done
        .stdout
        .lines()
        .filter(|line| line.starts_with("x/"))
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(ours[0], ["x/big", "no", "yes", "yes", "unknown"]);
    assert_eq!((ours[1][0], ours[1][4]), ("x/tiny", "4096"));
    assert!(here.requests()[0].head.starts_with("GET /v1/models "));

    let note = |start: &str| done.stderr.lines().find(|line| line.starts_with(start));
    assert_eq!(
        note("failing"),
        Some("failing: the model list failed to load: HTTP 500: boom")
    );
    assert!(note("the provider `bad` cannot be used: the DSN has no scheme").is_some());
    assert!(note("unreachable: ").is_some_and(|line| line.contains("ollama")));
    assert!(note("no key: ").is_some_and(|line| line.contains("anthropic")));
}

#[tokio::test]
async fn models_prefers_the_capabilities_of_the_dsn() {
    let list = r#"{"object":"list","data":[{"id":"tiny","object":"model","max_model_len":4096,"capabilities":{"vision":true,"function_calling":true}}]}"#;
    let script = Script::new()
        .read_request()
        .respond(200, "application/json", list);
    let here = Upstream::start([script]).await;
    let done = majordomo(&["models"])
        .x_with(&here, "?images=false&tools=false&context=2048")
        .output()
        .await;
    let ours = done.stdout.lines().find(|line| line.starts_with("x/tiny"));
    let cells: Vec<&str> = ours.unwrap_or_default().split_whitespace().collect();
    assert_eq!(cells, ["x/tiny", "no", "no", "yes", "2048"]);
}

#[tokio::test]
async fn fit_keeps_an_image_that_fits() {
    let small = file("fits.png", png_image(40, 30));
    let done = majordomo(&["fit", &small, "--for", "xai/grok"])
        .output()
        .await;
    assert_eq!(
        done,
        printed(
            "xai/grok takes image/jpeg, image/png; 20971520 bytes each\n\
             sent unchanged as image/png\n"
        )
    );
}

#[tokio::test]
async fn fit_explains_the_change_and_writes_the_image() {
    let large = file("large.png", png_image(9_000, 30));
    let sent = file("sent.png", "");
    let done = majordomo(&[
        "fit",
        &large,
        "--for",
        "anthropic/claude-opus-5-5",
        "-o",
        &sent,
    ])
    .output()
    .await;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let lines: Vec<&str> = done.stdout.lines().collect();
    assert!(lines[0].starts_with("anthropic/claude-opus-5-5 takes "));
    assert!(
        lines[1].starts_with("re-encoded: 9000×30 pixels, at most "),
        "{}",
        lines[1]
    );
    assert!(lines[2].starts_with("9000×30 png"), "{}", lines[2]);
    assert_eq!(lines[3], format!("wrote {sent}"));
    let written = png::Decoder::new(std::io::Cursor::new(std::fs::read(&sent).unwrap()));
    assert!(written.read_info().unwrap().info().width < 9_000);
}

#[tokio::test]
async fn fit_rejects_unsendable_images_in_one_sentence() {
    let png_image = file("refused.png", png_image(4, 4));
    let bomb = file("bomb.png", headed(60_000, 60_000));
    let text = file("text.png", "hello");
    for (arguments, sentence) in [
        (
            [&*png_image, "deepseek/chat"],
            "error: deepseek/chat takes no images; run `majordomo models` to find a target that does\n".to_owned(),
        ),
        (
            [&bomb, "anthropic/claude-opus-5-5"],
            format!("error: cannot send `{bomb}` to anthropic/claude-opus-5-5: decoding it would take 3600 megapixels, and at most 50 megapixels are allowed\n"),
        ),
        (
            [&text, "xai/grok"],
            format!("error: `{text}` is not a supported image; use JPEG, PNG, GIF or WebP\n"),
        ),
        (
            ["nowhere.png", "xai/grok"],
            "error: failed to read `nowhere.png`: No such file or directory (os error 2)\n".to_owned(),
        ),
        (
            [&png_image, "grok"],
            "error: there is no alias `grok`; write a target as `provider/model`, and run `majordomo models` to list them\n".to_owned(),
        ),
    ] {
        let [image, target] = arguments;
        let done = majordomo(&["fit", image, "--for", target]).output().await;
        assert_eq!(done, failed(1, &sentence));
    }
}

/// The header of a PNG of this size, without pixels.
fn headed(width: u32, height: u32) -> Vec<u8> {
    let mut data = png_image(1, 1);
    data[16..20].copy_from_slice(&width.to_be_bytes());
    data[20..24].copy_from_slice(&height.to_be_bytes());
    data
}

const ROUTED: &str = r#"
[[routes]]
model = "coder"
services = [ { spec = "x/blind" }, { spec = "x/off", active = false } ]
[[routes.smart]]
name = "long prompts"
when = [
  { any = [ { position = "token", op = "ge", value = 60000 }, { position = "key", op = "equals", value = "laptop" } ] },
  { position = "images", op = "eq", value = 0 },
]
services = [ { spec = "x/long" } ]
[[routes.smart]]
name = "eyes"
when = [ { position = "proxy_vision", op = "enabled" } ]
services = [ { spec = "x/eyes" } ]
[[keys]]
name = "laptop"
key = "canary-laptop"
"#;

const WITH_IMAGE: &str = r#"{
  "model": "coder", "max_tokens": 50, "system": "You are terse.",
  "messages": [ { "role": "user", "content": [
    { "type": "text", "text": "What is this?" },
    { "type": "image", "source": { "type": "base64", "media_type": "image/gif",
      "data": "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==" } }
  ] } ]
}"#;

#[tokio::test]
async fn explain_dry_runs_a_request_without_calling_a_model() {
    let upstream = Upstream::start([Script::new()]).await;
    let config = file("routed.toml", ROUTED);
    let request = file("with-image.json", WITH_IMAGE);
    let done = majordomo(&["explain", "--request", &request, "--config", &config])
        .x(&upstream)
        .output()
        .await;
    let tokens = done
        .stdout
        .split_whitespace()
        .find(|word| word.parse::<u64>().is_ok());
    let tokens = tokens.unwrap_or_default().to_owned();
    assert_eq!(
        done,
        printed(&format!(
            "\
anthropic-messages (guessed): model `coder`, about {tokens} tokens, 1 image; route `coder`
rule 1 `long prompts`: no
    any: no
        token ge 60000: no, found \"{tokens}\"
        key equals \"laptop\": no, found \"none\"
    1 more not evaluated
rule 2 `eyes`: yes
    proxy_vision enabled: yes, found \"1 image\"
processor proxy_vision enabled: image:1 described, by x/eyes
#  SERVICE  FROM   WHY
1  x/blind  route  picked by tactic (in_order)
-  x/off    route  inactive
#  TARGET   RECEIVES
1  x/blind  the request unchanged
"
        ))
    );
    assert!(upstream.connections().is_empty());
}

#[tokio::test]
async fn explain_accepts_a_route_a_path_a_key_and_headers() {
    let upstream = Upstream::start([Script::new()]).await;
    let config = file("routed-by-key.toml", ROUTED);
    let request = file(
        "chat.json",
        r#"{"model":"gpt","messages":[{"role":"user","content":"hi"}]}"#,
    );
    let arguments = [
        "explain",
        "--request",
        &request,
        "--config",
        &config,
        "--route",
        "coder",
        "--path",
        "/v1/chat/completions",
        "--key",
        "laptop",
        "--header",
        "x-team: blue",
        "--json",
    ];
    let done = majordomo(&arguments).x(&upstream).output().await;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let explanation: serde_json::Value = serde_json::from_str(&done.stdout).expect("JSON");
    assert_eq!(explanation["dialect_from"], "path");
    assert_eq!(explanation["pick"]["service"], "x/long");
    assert_eq!(explanation["candidates"][0]["rule"], "long prompts");
    assert!(upstream.connections().is_empty());

    let wrong = [
        "explain",
        "--request",
        &request,
        "--config",
        &config,
        "--route",
        "codr",
    ];
    let done = majordomo(&wrong).x(&upstream).output().await;
    let sentence = "error: no route is named `codr`; did you mean `coder`?\n";
    assert_eq!(done, failed(1, sentence));
}
