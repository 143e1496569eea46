//! Variables of the file: defaults, and checks without them.

use crate::support::{CommandOutput, file, majordomo};

const NEEDS_VARIABLES: &str = "\
version = 1
[server]
listen = \"${ADDRESS}\"
[[keys]]
name = \"laptop\"
key = \"${LAPTOP_KEY}\"
[providers.box]
kind = \"openai\"
base_url = \"${BOX}/v1\"
api_key = \"${BOX_KEY}\"
[providers.m5]
dsn = \"${M5}\"
[aliases]
other = \"${OTHER}\"
[[routes]]
model = \"coder\"
services = [ { spec = \"box/m\" }, { spec = \"m5/x\" }, { spec = \"other\" } ]
[vision]
timeout = \"${TIMEOUT}\"
";

#[tokio::test]
async fn a_default_stands_in_for_a_variable_that_is_not_set() {
    let text = "[server]\nlisten = \"${HOST:-127.0.0.1}:${PORT:-4300}\"\n";
    let path = file("default.toml", text);
    let listens = async |variables: &[(&str, &str)]| {
        let mut run = majordomo(&["check", "--config", &path]);
        for (name, value) in variables {
            run = run.env(name, value);
        }
        let done = run.output().await;
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let (_, address) = done.stdout.rsplit_once(' ').expect("an address");
        address.trim().to_owned()
    };
    assert_eq!(listens(&[]).await, "127.0.0.1:4300");
    assert_eq!(listens(&[("PORT", "")]).await, "127.0.0.1:4300");
    assert_eq!(listens(&[("PORT", "4301")]).await, "127.0.0.1:4301");
}

#[tokio::test]
async fn check_reports_every_missing_variable_unless_told_not_to_need_them() {
    let path = file("needs_variables.toml", NEEDS_VARIABLES);
    let done = majordomo(&["check", "--config", &path]).output().await;
    assert_eq!(done.code, Some(1));
    let variables = [
        "ADDRESS",
        "LAPTOP_KEY",
        "BOX",
        "BOX_KEY",
        "M5",
        "OTHER",
        "TIMEOUT",
    ];
    let missing = |severity: &str| {
        variables.map(|name| format!("{severity}: the variable `{name}` is not set"))
    };
    let heads = |done: &CommandOutput| -> Vec<String> {
        let lines = done.stderr.lines().map(str::to_owned);
        lines.filter(|line| line.contains(": the ")).collect()
    };
    assert_eq!(heads(&done), missing("error"), "{}", done.stderr);
    let done = majordomo(&["check", "--no-env", "--config", &path])
        .output()
        .await;
    assert_eq!(heads(&done), missing("warning"), "{}", done.stderr);
    assert_eq!(
        (done.code, &*done.stdout),
        (
            Some(0),
            &*format!(
                "{path} is valid: 2 providers, 1 alias, 1 route, 1 key; listens on 127.0.0.1:4100\n"
            )
        )
    );
}

#[tokio::test]
async fn without_the_environment_other_mistakes_are_still_found() {
    let text = format!("{NEEDS_VARIABLES}tieout = \"3s\"\n");
    let path = file("no_env_mistake.toml", text);
    let done = majordomo(&["check", "--no-env", "--config", &path])
        .output()
        .await;
    assert_eq!(done.code, Some(1));
    assert!(
        done.stderr
            .contains("error: unknown key `tieout` in [vision]"),
        "{}",
        done.stderr
    );
}

#[tokio::test]
async fn without_the_environment_an_unknown_describer_is_not_judged() {
    let text = "\
[[routes]]
model = \"coder\"
services = [ { spec = \"${MODEL}\", describe = \"${EYES}\" }, { spec = \"demo/text\", describe = \"${EYES}\" } ]
[[routes.smart]]
name = \"describe\"
when = [ { position = \"proxy_vision\", op = \"enabled\" } ]
services = [ { spec = \"${EYES}\" } ]
";
    let path = file("no_env_describer.toml", format!("version = 1\n{text}"));
    let done = majordomo(&["check", "--no-env", "--config", &path])
        .output()
        .await;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let mut heads = done
        .stderr
        .lines()
        .filter(|line| line.starts_with("warning") || line.starts_with("error"));
    assert!(
        heads.all(|line| line.ends_with("is not set")),
        "{}",
        done.stderr
    );
}

#[tokio::test]
async fn explain_needs_no_key() {
    let text = "\
[providers.groq]
api_key = \"${GROQ}\"
[aliases]
fast = \"groq/llama-4-scout\"
";
    let path = file("explain_unset.toml", text);
    let done = majordomo(&["explain", "fast", "--config", &path])
        .output()
        .await;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(
        done.stdout.contains("groq/llama-4-scout"),
        "{}",
        done.stdout
    );
    assert!(
        done.stderr
            .starts_with("warning: the variable `GROQ` is not set\n"),
        "{}",
        done.stderr
    );
}
