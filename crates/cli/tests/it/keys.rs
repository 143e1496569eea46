//! `majordomo key` and `majordomo team`, on the store and through a running gateway.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use majordomo_testkit::ClosedPort;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::support::{CommandOutput, majordomo};

/// A configuration whose keys are stored in its own folder.
struct Stored {
    folder: tempfile::TempDir,
    /// Where no gateway runs.
    closed: ClosedPort,
}

impl Stored {
    fn new() -> Self {
        let stored = Self {
            folder: tempfile::tempdir().expect("a folder"),
            closed: ClosedPort::hold(),
        };
        let operator = stored.closed.address().to_string();
        stored.write("store.toml", &operator, &stored.store());
        stored
    }

    fn store(&self) -> String {
        format!("sqlite://{}/ledger", self.folder.path().display())
    }

    fn write(&self, name: &str, operator: &str, store: &str) {
        let text = format!(
            "[server]\nlisten = \"127.0.0.1:0\"\noperator_listen = \"{operator}\"\n\
             [ledger]\nstore = \"{store}\"\n"
        );
        std::fs::write(self.folder.path().join(name), text).expect("a file");
    }

    fn path(&self, name: &str) -> String {
        let path: &Path = self.folder.path();
        path.join(name).to_str().expect("text").to_owned()
    }

    /// Runs a command on the store.
    async fn run(&self, arguments: &[&str]) -> CommandOutput {
        self.run_with("store.toml", arguments).await
    }

    async fn run_with(&self, config: &str, arguments: &[&str]) -> CommandOutput {
        let config = self.path(config);
        let mut all = arguments.to_vec();
        all.extend(["--config", &config]);
        majordomo(&all).output().await
    }

    async fn keys(&self) -> Vec<Value> {
        let listed = self.run(&["key", "list", "--json"]).await;
        assert_eq!(listed.code, Some(0), "{}", listed.stderr);
        serde_json::from_str(&listed.stdout).expect("a list")
    }
}

/// Replaces what differs from run to run.
fn fixed(text: &str) -> String {
    let mut fixed = String::new();
    for line in text.lines() {
        let line = match (line.find("mj-"), line.find("sha256:")) {
            (Some(at), _) => format!("{}mj-SECRET", &line[..at]),
            (_, Some(at)) => format!("{}sha256:HASH\"", &line[..at]),
            _ => line.to_owned(),
        };
        fixed.push_str(line.trim_end());
        fixed.push('\n');
    }
    fixed
}

#[tokio::test]
async fn keys_and_teams_are_made_listed_and_changed_in_the_store() {
    let stored = Stored::new();
    let steps: [(&[&str], &str, &str); 9] = [
        (
            &["key", "list"],
            "",
            "no keys; `majordomo key new NAME` creates one\n",
        ),
        (
            &[
                "team",
                "set",
                "search",
                "--budget",
                "month=500",
                "--limit",
                "concurrent=40",
            ],
            "team    budget         limits         from\n\
             search  month 500 USD  concurrent 40  store\n",
            "",
        ),
        (
            &["key", "new", "ada", "--team", "search", "--budget", "day=5"],
            "[[keys]]\nname = \"ada\"\nhash = \"sha256:HASH\"\nbudget = { day = \"5 USD\" }\n\
             team = \"search\"\n",
            "mj-SECRET\nthis key is stored and works within a second; it is not shown again\n",
        ),
        (
            &["key", "freeze", "ada"],
            "key  team    role    state   expires  models  from\n\
             ada  search  client  frozen  -        all     store\n",
            "",
        ),
        (
            &["key", "unfreeze", "ada"],
            "key  team    role    state   expires  models  from\n\
             ada  search  client  active  -        all     store\n",
            "",
        ),
        (
            &[
                "key",
                "set",
                "ada",
                "--role",
                "viewer",
                "--models",
                "coder,demo/*",
            ],
            "key  team    role    state   expires  models        from\n\
             ada  search  viewer  active  -        coder,demo/*  store\n",
            "",
        ),
        (
            &["key", "rotate", "ada", "--overlap", "0s"],
            "key  team    role    state   expires  models        from\n\
             ada  search  viewer  active  -        coder,demo/*  store\n",
            "mj-SECRET\nthis key is stored and works within a second; it is not shown again\n",
        ),
        (&["key", "delete", "ada"], "", "deleted the key ada\n"),
        (
            &["team", "delete", "search"],
            "",
            "deleted the team search\n",
        ),
    ];
    for (arguments, stdout, stderr) in steps {
        let done = stored.run(arguments).await;
        assert_eq!(done.code, Some(0), "{arguments:?}: {}", done.stderr);
        assert_eq!(fixed(&done.stdout), stdout, "{arguments:?}");
        assert_eq!(fixed(&done.stderr), stderr, "{arguments:?}");
    }
}

#[tokio::test]
async fn a_mistake_is_one_sentence_and_exit_code_1() {
    let stored = Stored::new();
    stored.run(&["key", "new", "ada"]).await;
    for (arguments, sentence) in [
        (
            &["key", "new", "ada"][..],
            "error: there is already a key named `ada`\n",
        ),
        (
            &["key", "freeze", "bob"],
            "error: there is no stored key named `bob`\n",
        ),
        (
            &["key", "new", "bob", "--team", "ads"],
            "error: there is no team `ads`: create it first\n",
        ),
        (
            &["key", "new", "bob", "--role", "admin"],
            "error: `admin` is not a value of `role`: expected one of `client`, `viewer`, `operator`\n",
        ),
        (
            &["key", "new", "bob", "--limit", "speed"],
            "error: `speed` is not a pair; write `--limit requests_per_minute=60`\n",
        ),
        (
            &["key", "rotate", "ada", "--overlap", "soon"],
            "error: `soon` is not a duration such as 24h, of at most 90 days\n",
        ),
    ] {
        let done = stored.run(arguments).await;
        assert_eq!(done.code, Some(1), "{arguments:?}");
        assert_eq!(done.stderr, sentence, "{arguments:?}");
        assert_eq!(done.stdout, "", "{arguments:?}");
    }
}

#[tokio::test]
async fn an_entry_for_the_file_has_the_settings_and_is_not_stored() {
    let stored = Stored::new();
    let done = stored
        .run(&[
            "key",
            "new",
            "ops",
            "--entry",
            "--role",
            "operator",
            "--limit",
            "requests_per_minute=60",
        ])
        .await;
    assert_eq!(
        fixed(&done.stdout),
        "\n[[keys]]\nname = \"ops\"\nhash = \"sha256:HASH\"\n\
         limits = { requests_per_minute = 60 }\nrole = \"operator\"\n"
    );
    assert!(stored.keys().await.is_empty());
    let config = stored.path("entry.toml");
    std::fs::write(&config, done.stdout).expect("a file");
    let checked = majordomo(&["check", "--config", &config]).output().await;
    assert_eq!(checked.code, Some(0), "{}", checked.stderr);
}

/// Starts a gateway and returns its addresses, for clients and the operator.
async fn serve(config: &str) -> (Child, String, String) {
    let mut gateway = Command::new(env!("CARGO_BIN_EXE_majordomo"))
        .args(["serve", "--config", config])
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("the command was built");
    let stdout = gateway.stdout.take().expect("a pipe");
    let mut lines = BufReader::new(stdout).lines();
    let addresses = loop {
        let line = lines.next_line().await.expect("text").expect("it starts");
        let rest = line.strip_prefix("listening on http://");
        if let Some(found) = rest.and_then(|rest| rest.split_once(", operator API on http://")) {
            break (found.0.to_owned(), found.1.trim().to_owned());
        }
    };
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    (gateway, addresses.0, addresses.1)
}

#[tokio::test]
async fn commands_use_the_running_gateway_and_the_store_when_none_runs() {
    let stored = Stored::new();
    stored.write("gateway.toml", "127.0.0.1:0", &stored.store());
    let (mut gateway, _, operator) = serve(&stored.path("gateway.toml")).await;
    // The command has no store of its own, so it must have asked the gateway.
    stored.write("remote.toml", &operator, "off");
    let team = stored
        .run_with("remote.toml", &["team", "set", "search"])
        .await;
    assert_eq!(team.code, Some(0), "{}", team.stderr);
    let listed = stored.run_with("remote.toml", &["team", "list"]).await;
    assert!(listed.stdout.contains("search"), "{}", listed.stdout);
    gateway.kill().await.expect("it runs");
    // Confirmed changes are in the store, however the gateway ended.
    let listed = stored.run(&["team", "list"]).await;
    assert!(listed.stdout.contains("search"), "{}", listed.stdout);
    let refused = stored.run_with("remote.toml", &["team", "list"]).await;
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("keys are not stored"),
        "{}",
        refused.stderr
    );
}

#[tokio::test]
async fn a_killed_command_leaves_a_store_that_opens_and_keeps_what_was_confirmed() {
    let stored = Stored::new();
    let config = stored.path("store.toml");
    let mut confirmed = Vec::new();
    for round in 0..20_u64 {
        let name = format!("key-{round}");
        let mut command = Command::new(env!("CARGO_BIN_EXE_majordomo"))
            .args(["key", "new", &name, "--config", &config])
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the command was built");
        // Killed at moments spread over its life.
        let ended = tokio::time::timeout(Duration::from_millis(round * 4), command.wait()).await;
        match ended {
            Ok(Ok(status)) if status.success() => confirmed.push(name),
            Ok(status) => panic!("{status:?}"),
            Err(_) => command.kill().await.expect("it is killed"),
        }
    }
    stored.run(&["key", "new", "last"]).await;
    confirmed.push("last".to_owned());
    let keys = stored.keys().await;
    for name in &confirmed {
        assert!(keys.iter().any(|key| key["name"] == **name), "{name}");
    }
    println!("{} of 21 commands were confirmed", confirmed.len());
}
