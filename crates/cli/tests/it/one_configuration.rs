//! Every command reads the configuration that `serve` would use.

use majordomo_testkit::{ClosedPort, Upstream};

use crate::support::{CommandOutput, fails, file, majordomo, png_image, streams};

/// A provider of the file, an alias, and a route over both.
fn config(upstream: &Upstream) -> String {
    format!(
        "\
version = 1
[providers.box]
kind = \"openai\"
base_url = \"http://{}/v1\"
api_key = \"${{BOX_KEY:-canary}}\"
[providers.box.models.small]
context_window = 4096
images = {{ max_px = 64, types = [\"image/png\"] }}
[aliases]
fast = \"box/small\"
[[routes]]
model = \"coder\"
services = [ {{ spec = \"fast\" }}, {{ spec = \"demo/text\", tier = 1 }} ]
",
        upstream.address()
    )
}

#[tokio::test]
async fn chat_uses_providers_aliases_and_routes_of_the_file() {
    for spec in ["box/small", "fast", "coder"] {
        let upstream = Upstream::start([streams("Hello", " there.")]).await;
        let path = file("chat_config.toml", config(&upstream));
        let done = majordomo(&["chat", spec, "hi", "--config", &path])
            .output()
            .await;
        assert_eq!(
            (&*done.stdout, done.code),
            ("Hello there.\n", Some(0)),
            "{done:?}"
        );
        assert!(done.stderr.contains("box/small"), "{}", done.stderr);
    }
}

#[tokio::test]
async fn a_route_fails_over_to_its_next_service() {
    let upstream = Upstream::start([fails(404, "no such model")]).await;
    let path = file("chat_failover.toml", config(&upstream));
    let done = majordomo(&["chat", "coder", "hi"])
        .env("MAJORDOMO_CONFIG", &path)
        .output()
        .await;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stderr.contains("demo/text"), "{}", done.stderr);
}

#[tokio::test]
async fn without_a_file_the_demo_can_be_used() {
    let chat = majordomo(&["chat", "demo/text", "hi"]).output().await;
    assert_eq!(chat.code, Some(0), "{}", chat.stderr);
    let bare = majordomo(&["chat", "vision", "hi"]).output().await;
    assert!(bare.stderr.contains("demo/vision"), "{}", bare.stderr);
    let models = majordomo(&["models"]).output().await;
    for model in ["demo/text ", "demo/vision ", "demo/flaky "] {
        let mut lines = models.stdout.lines();
        assert!(
            lines.any(|line| line.starts_with(model)),
            "{}",
            models.stdout
        );
    }
}

#[tokio::test]
async fn explain_expands_routes_and_aliases() {
    let upstream = Upstream::start([]).await;
    let path = file("explain_config.toml", config(&upstream));
    let done = majordomo(&["explain", "coder", "--config", &path])
        .output()
        .await;
    assert_eq!(
        done,
        CommandOutput {
            code: Some(0),
            stdout: "\
#  TARGET     IMAGES      TOOLS  SCHEMAS  CONTEXT  HEALTH
1  box/small  up to 1500  yes    yes      4096     ready
2  demo/text  no          yes    yes      unknown  ready
"
            .to_owned(),
            stderr: String::new(),
        }
    );
    assert!(upstream.connections().is_empty());
}

#[tokio::test]
async fn explain_lists_the_services_of_a_route_by_tier() {
    let text = "\
version = 1
[[routes]]
model = \"tiered\"
services = [{ spec = \"demo/text\", tier = 2 }, { spec = \"demo/vision\", tier = 1 }]
";
    let path = file("explain_tiers.toml", text);
    let done = majordomo(&["explain", "tiered", "--config", &path])
        .output()
        .await;
    let targets = done.stdout.lines().skip(1);
    let targets: Vec<_> = targets
        .filter_map(|line| line.split_whitespace().nth(1))
        .collect();
    assert_eq!(targets, ["demo/vision", "demo/text"], "{}", done.stderr);
}

#[tokio::test]
async fn fit_uses_the_limits_of_the_file() {
    let upstream = Upstream::start([]).await;
    let path = file("fit_config.toml", config(&upstream));
    let image = file("fit_config.png", png_image(200, 100));
    let fit = async |target: &str| {
        let arguments = ["fit", &image, "--for", target, "--config", &path];
        majordomo(&arguments).output().await
    };
    for target in ["box/small", "fast"] {
        let done = fit(target).await;
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let lines: Vec<&str> = done.stdout.lines().collect();
        assert!(
            lines[0].starts_with("box/small takes image/png") && lines[0].contains("64 pixels"),
            "{}",
            done.stdout
        );
        assert_eq!(lines[1], "re-encoded: 200×100 pixels, at most 64×32 fit");
    }
    let done = fit("coder").await;
    assert_eq!(done.code, Some(1), "{}", done.stdout);
    assert_eq!(
        done.stderr,
        "error: `coder` has 2 targets, and an image is adapted for each: name one of box/small, demo/text\n"
    );
}

#[tokio::test]
async fn models_starts_with_routes_and_aliases_and_names_lists_that_fail() {
    let upstream = Upstream::start([fails(500, "boom")]).await;
    let gone = ClosedPort::hold();
    let more = format!(
        "[providers.gone]\nkind = \"openai\"\nbase_url = \"http://{}\"\napi_key = \"canary\"\n\
         [providers.groq]\n",
        gone.address()
    );
    let path = file("models_config.toml", format!("{}{more}", config(&upstream)));
    let done = majordomo(&["models", "--config", &path]).output().await;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let first: Vec<&str> = done
        .stdout
        .lines()
        .skip(1)
        .take(2)
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(first, ["coder", "fast"]);
    for line in [
        "box: the model list failed to load: HTTP 500: boom",
        "groq: the model list failed to load: no key is configured: set GROQ_API_KEY",
    ] {
        assert!(done.stderr.lines().any(|it| it == line), "{}", done.stderr);
    }
    let of_gone = "gone: the model list failed to load: ";
    assert!(done.stderr.contains(of_gone), "{}", done.stderr);
}

#[tokio::test]
async fn a_command_with_an_invalid_file_reports_its_problems() {
    let path = file("invalid_for_all.toml", "[alises]\n");
    let image = file("invalid_for_all.png", png_image(4, 4));
    for arguments in [
        &["chat", "demo/text", "hi"][..],
        &["models"],
        &["explain", "demo/text"],
        &["fit", &image, "--for", "demo/vision"],
    ] {
        let done = majordomo(arguments)
            .env("MAJORDOMO_CONFIG", &path)
            .output()
            .await;
        assert_eq!(done.code, Some(1), "{arguments:?}");
        assert!(
            done.stderr
                .starts_with("error: unknown key `alises` in the file\n"),
            "{arguments:?}: {}",
            done.stderr
        );
    }
}

#[tokio::test]
async fn only_near_names_are_suggested() {
    let done = majordomo(&["chat", "nope/x", "hi"]).output().await;
    assert_eq!(
        done.stderr,
        "error: there is no provider `nope`: none is registered under that name and `LLM_NOPE` is not set\n"
    );
    let done = majordomo(&["chat", "antropic/x", "hi"]).output().await;
    assert!(
        done.stderr.ends_with("; did you mean `anthropic`?\n"),
        "{}",
        done.stderr
    );
}
