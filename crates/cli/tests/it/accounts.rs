//! `usage`, `prices` and `ledger`, on a ledger with known rows.

use std::path::{Path, PathBuf};

use crate::support::{CommandOutput, majordomo};
use majordomo_gateway::ledger::{
    AttemptKind, AttemptRow, FinishedRow, LedgerEntry, PostgresStore, PriceOverride, Quantities,
    RequestId, RequestRow, SettleClass, SqliteStore, Store,
};

/// Noon of 5 January 2026, UTC.
const NOON: i64 = 1_767_614_400_000;

struct Accounts {
    folder: tempfile::TempDir,
}

fn attempt(target: &str, input: u64, output: u64, priced: bool) -> AttemptRow {
    let price = PriceOverride {
        input: Some("1".to_owned()),
        output: Some("10".to_owned()),
        ..PriceOverride::default()
    };
    let row = AttemptRow {
        number: 1,
        kind: AttemptKind::Answer,
        target: target.into(),
        price: None,
        used: Quantities {
            input,
            output,
            ..Quantities::default()
        },
        cost: None,
        reported_cost: None,
        settle: SettleClass::Reported,
        failure: None,
    };
    row.priced(priced.then(|| price.card().expect("a price")).as_ref())
}

fn row(n: i64, key: &str, user: Option<&str>, attempt: AttemptRow) -> LedgerEntry {
    LedgerEntry::Finished(FinishedRow {
        request: RequestRow {
            id: RequestId::new(NOON + n * 60_000, n as u128),
            key: Some(key.into()),
            team: Some("search".into()),
            user: user.map(Into::into),
            tags: vec!["env=ci".into()],
            dialect: "openai-chat".into(),
            route: None,
            rule: None,
            model: "coder".into(),
            outcome: "complete".into(),
            status: 200,
            duration_ms: 1_500,
            first_token_ms: None,
        },
        attempts: vec![attempt],
    })
}

impl Accounts {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let accounts = Self { folder };
        let mut store = SqliteStore::open(accounts.place()).expect("a ledger");
        store
            .write(&[
                row(
                    0,
                    "laptop",
                    Some("ada"),
                    attempt("openai/gpt-6", 1_000, 100, true),
                ),
                row(1, "laptop", None, attempt("openai/gpt-6", 3_000, 200, true)),
                row(2, "phone", Some("ada"), attempt("mine/m", 500, 50, false)),
            ])
            .expect("the rows are written");
        accounts.configure("");
        accounts
    }

    fn place(&self) -> PathBuf {
        self.folder.path().join("ledger")
    }

    /// Writes the configuration, with `more` after the ledger.
    fn configure(&self, more: &str) {
        let place = self.place();
        let text = format!("[ledger]\nstore = \"sqlite://{}\"\n{more}", place.display());
        std::fs::write(self.folder.path().join("majordomo.toml"), text).expect("a file");
    }

    /// Runs a command on this ledger.
    async fn run(&self, arguments: &[&str]) -> CommandOutput {
        let config = self.folder.path().join("majordomo.toml");
        let config = config.to_str().expect("UTF-8").to_owned();
        let arguments: Vec<&str> = arguments
            .iter()
            .copied()
            .chain(["--config", &config])
            .collect();
        majordomo(&arguments).output().await
    }

    /// The output of a successful command.
    async fn prints(&self, arguments: &[&str]) -> String {
        let done = self.run(arguments).await;
        assert_eq!(done.code, Some(0), "{arguments:?}: {}", done.stderr);
        done.stdout
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }
}

const SINCE: [&str; 2] = ["--since", "2026-01-01"];

#[tokio::test]
async fn usage_is_a_table_with_a_total_and_names_what_has_no_price() {
    let accounts = Accounts::new();
    let done = accounts
        .run(&["usage", "--by", "key", SINCE[0], SINCE[1]])
        .await;
    assert_eq!(
        done.stdout,
        "\
KEY     REQUESTS  INPUT  CACHED  OUTPUT  USD
laptop  2         4000   0       300     0.007
phone   1         500    0       50      unknown
total   3         4500   0       350     0.007 + unknown
"
    );
    assert!(
        done.stderr.contains("1 attempts have no known price"),
        "{}",
        done.stderr
    );
}

#[tokio::test]
async fn usage_is_grouped_by_team_tag_and_day() {
    let accounts = Accounts::new();
    let rows = |text: String| -> Vec<String> {
        let lines = text.lines().skip(1);
        lines
            .map(|line| {
                line.split_whitespace()
                    .take(4)
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect()
    };
    for (group, name) in [("team", "search"), ("tag", "env=ci"), ("day", "2026-01-05")] {
        let text = accounts
            .prints(&["usage", "--by", group, SINCE[0], SINCE[1]])
            .await;
        assert_eq!(
            rows(text),
            [format!("{name} 3 4500 0"), "total 3 4500 0".to_owned()],
            "{group}"
        );
    }
}

#[tokio::test]
async fn usage_is_csv_and_json_for_programs() {
    let accounts = Accounts::new();
    let csv = accounts
        .prints(&["usage", "--by", "target", "--csv", SINCE[0], SINCE[1]])
        .await;
    assert_eq!(
        csv,
        "target,requests,attempts,input,cache_read,cache_write_5m,cache_write_1h,output,reasoning,\
         images,cost_usd,unpriced,estimated,lost,estimated_cost_usd\n\
         openai/gpt-6,2,2,4000,0,0,0,300,0,0,0.007,0,0,0,0.00\n\
         mine/m,1,1,500,0,0,0,50,0,0,0.00,1,0,0,0.00\n"
    );
    let json = accounts
        .prints(&["usage", "--json", SINCE[0], SINCE[1]])
        .await;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["total"]["cost_nanodollars"], 7_000_000);
    assert_eq!(json["total"]["unpriced"], 1);
}

#[tokio::test]
async fn an_unknown_group_and_a_range_that_is_none_are_sentences() {
    let accounts = Accounts::new();
    let done = accounts.run(&["usage", "--by", "colour"]).await;
    assert_eq!(done.code, Some(1));
    assert_eq!(
        done.stderr,
        "error: `colour` is not a group; the groups are key, team, model, target, hour, day, tag\n"
    );
    let done = accounts.run(&["usage", "--since", "yesterday"]).await;
    assert!(
        done.stderr.contains("`yesterday` is neither"),
        "{}",
        done.stderr
    );
}

#[tokio::test]
async fn prices_are_found_by_a_part_of_the_name() {
    let accounts = Accounts::new();
    let found = accounts.prints(&["prices", "claude-opus-4-5"]).await;
    assert!(found.contains("claude-opus-4-5"), "{found}");
    let missing = accounts.run(&["prices", "no-such-model"]).await;
    assert!(
        missing.stderr.contains("no-such-model") || missing.stdout.contains("no-such-model"),
        "{missing:?}"
    );
}

#[tokio::test]
async fn verify_counts_and_names_damage() {
    let accounts = Accounts::new();
    let sound = accounts.prints(&["ledger", "verify"]).await;
    assert_eq!(sound, "1 days, 3 attempts: no problems\n");
    let day = accounts.place().join("days/2026-01-05.db");
    let mut bytes = std::fs::read(&day).unwrap();
    let half = bytes.len() / 2;
    bytes[half..].fill(0xab);
    std::fs::write(&day, bytes).unwrap();
    let done = accounts.run(&["ledger", "verify"]).await;
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.stdout.contains("2026-01-05"), "{done:?}");
}

#[tokio::test]
async fn export_prints_one_request_per_line_newest_first() {
    let accounts = Accounts::new();
    let text = accounts
        .prints(&["ledger", "export", SINCE[0], SINCE[1]])
        .await;
    let rows: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let keys: Vec<_> = rows
        .iter()
        .map(|row| row["key"].as_str().unwrap())
        .collect();
    assert_eq!(keys, ["phone", "laptop", "laptop"]);
    assert_eq!(rows[2]["attempts"][0]["cost"], 2_000_000);
}

#[tokio::test]
async fn repricing_corrects_and_the_old_report_can_be_repeated() {
    let accounts = Accounts::new();
    let usage = ["usage", SINCE[0], SINCE[1], "--csv"];
    let before = accounts.prints(&usage).await;
    accounts.configure(
        "[prices.\"openai/gpt-6\"]\ninput = \"2\"\noutput = \"20\"\n\
         [prices.\"mine/m\"]\ninput = \"1\"\noutput = \"1\"\n",
    );
    let said = accounts
        .prints(&["ledger", "reprice", SINCE[0], SINCE[1]])
        .await;
    assert_eq!(
        said,
        "3 attempts, 3 corrected by 0.00755 USD in total, 0 without a price\n"
    );
    let after = accounts.prints(&usage).await;
    let rows = "openai/gpt-6,2,2,4000,0,0,0,300,0,0,0.014,0,0,0,0.00\n\
                mine/m,1,1,500,0,0,0,50,0,0,0.00055,0,0,0,0.00\n";
    assert!(after.ends_with(rows), "{after}");
    let recorded = accounts
        .prints(&["usage", SINCE[0], SINCE[1], "--csv", "--as-recorded"])
        .await;
    assert_eq!(recorded, before);
}

#[tokio::test]
async fn a_backup_can_be_restored_into_an_empty_folder_only() {
    let accounts = Accounts::new();
    let copy = accounts.path("copy");
    let done = accounts.run(&["ledger", "backup", &copy]).await;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stderr.contains("copied 1 days"), "{}", done.stderr);
    let refused = accounts.run(&["ledger", "restore", &copy]).await;
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("not empty"), "{}", refused.stderr);
    std::fs::remove_dir_all(accounts.place()).unwrap();
    let done = accounts.run(&["ledger", "restore", &copy]).await;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let sound = accounts.prints(&["ledger", "verify"]).await;
    assert_eq!(sound, "1 days, 3 attempts: no problems\n");
}

#[tokio::test]
async fn a_forgotten_user_is_in_no_export() {
    let accounts = Accounts::new();
    let said = accounts
        .prints(&["ledger", "forget", "--user", "ada"])
        .await;
    assert_eq!(said, "erased from 2 requests\n");
    let export = accounts
        .prints(&["ledger", "export", SINCE[0], SINCE[1]])
        .await;
    assert!(!export.contains("ada"), "{export}");
    let said = accounts
        .prints(&["ledger", "forget", "--user", "ada"])
        .await;
    assert_eq!(said, "erased from 0 requests\n");
}

#[tokio::test]
async fn commands_say_why_there_is_no_ledger() {
    let accounts = Accounts::new();
    std::fs::remove_dir_all(accounts.place()).unwrap();
    for command in [&["usage"][..], &["ledger", "verify"]] {
        let done = accounts.run(command).await;
        assert_eq!(done.code, Some(1));
        assert!(
            done.stderr.contains("there is no ledger in"),
            "{}",
            done.stderr
        );
        assert!(!Path::exists(&accounts.place()), "{command:?} creates none");
    }
    let off = accounts.folder.path().join("majordomo.toml");
    std::fs::write(off, "[ledger]\nstore = \"off\"\n").unwrap();
    let done = accounts.run(&["usage"]).await;
    assert!(
        done.stderr.contains("nothing is recorded"),
        "{}",
        done.stderr
    );
}

#[tokio::test]
async fn a_database_that_cannot_be_reached_is_named_without_its_password() {
    let accounts = Accounts::new();
    let closed = majordomo_testkit::ClosedPort::hold();
    let text = format!(
        "[ledger]\nstore = \"postgres://ada:hunter2@{}/usage\"\n",
        closed.address()
    );
    std::fs::write(accounts.folder.path().join("majordomo.toml"), text).unwrap();
    let done = accounts.run(&["usage"]).await;
    assert_eq!(done.code, Some(1));
    let place = format!("postgres://ada@{}/usage", closed.address());
    assert!(done.stderr.contains(&place), "{}", done.stderr);
    assert!(!done.stderr.contains("hunter2"), "{}", done.stderr);
    let done = accounts
        .run(&["ledger", "backup", &accounts.path("copy")])
        .await;
    assert!(done.stderr.contains("pg_dump"), "{}", done.stderr);
}

#[tokio::test]
async fn commands_use_a_ledger_and_keys_in_postgres() {
    let Some(server) = majordomo_testkit::Postgres::started() else {
        return;
    };
    let accounts = Accounts::new();
    let url = server.database();
    let place = url.parse().unwrap();
    let written = tokio::task::spawn_blocking(move || {
        let rows = [row(
            0,
            "laptop",
            Some("ada"),
            attempt("openai/gpt-6", 1_000, 100, true),
        )];
        PostgresStore::open(place)?.write(&rows)
    });
    written.await.unwrap().unwrap();
    let text =
        format!("[ledger]\nstore = \"{url}\"\n[server]\noperator_listen = \"127.0.0.1:0\"\n");
    std::fs::write(accounts.folder.path().join("majordomo.toml"), text).unwrap();
    let usage = accounts
        .prints(&["usage", "--by", "key", "--csv", SINCE[0], SINCE[1]])
        .await;
    assert!(usage.contains("laptop,1,1,1000"), "{usage}");
    let sound = accounts.prints(&["ledger", "verify"]).await;
    assert_eq!(sound, "1 days, 1 attempts: no problems\n");
    accounts.prints(&["key", "new", "phone"]).await;
    let listed = accounts.prints(&["key", "list"]).await;
    assert!(listed.contains("phone"), "{listed}");
    let erased = accounts
        .prints(&["ledger", "forget", "--user", "ada"])
        .await;
    assert_eq!(erased, "erased from 1 requests\n");
}
