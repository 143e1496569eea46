//! `check` and `key`, run for real.

mod support;

use support::{Done, file, majordomo};

const GOOD: &str = "\
[providers.sandbox]
kind = \"demo\"
[aliases]
fast = \"sandbox/text\"
slow = \"demo/text\"
[[routes]]
model = \"coder\"
services = [ { spec = \"fast\" } ]
";

#[tokio::test]
async fn a_good_file_is_summed_up() {
    let path = file("good.toml", GOOD);
    let done = majordomo(&["check", "--config", &path]).done().await;
    assert_eq!(
        done,
        Done {
            code: Some(0),
            stdout: format!(
                "{path} is fine: 1 provider, 2 aliases, 1 route, 0 keys; serves on 127.0.0.1:4100\n"
            ),
            stderr: String::new(),
        }
    );
}

#[tokio::test]
async fn every_bad_rule_is_told_at_its_place() {
    let rules = "\
[[routes.smart]]
name = \"typo\"
when = [ { position = \"modle\", op = \"contains\", value = \"x\" } ]
services = [ { spec = \"fast\" } ]
[[routes.smart]]
name = \"pattern\"
when = [ { position = \"context_user\", op = \"regex\", value = \"(\" } ]
services = [ { spec = \"fast\" } ]
";
    let path = file("rules.toml", format!("{GOOD}{rules}"));
    let done = majordomo(&["check", "--config", &path]).done().await;
    assert_eq!(done.code, Some(1));
    let lines = done.stderr.lines().map(str::trim_start);
    let places: Vec<&str> = lines.filter(|line| line.starts_with("--> ")).collect();
    assert_eq!(places.len(), 2, "{}", done.stderr);
    assert!(
        places[0].starts_with(&format!("--> {path}:11:")),
        "{}",
        done.stderr
    );
    assert!(
        places[1].starts_with(&format!("--> {path}:15:")),
        "{}",
        done.stderr
    );
    assert!(
        done.stderr.contains("did you mean `model`?"),
        "{}",
        done.stderr
    );
}

#[tokio::test]
async fn every_mistake_of_a_bad_file_is_told() {
    let path = file(
        "bad.toml",
        "[server]\nlisten = \"0.0.0.0:4100\"\n\n[alises]\n",
    );
    let done = majordomo(&["check"])
        .env("MAJORDOMO_CONFIG", &path)
        .done()
        .await;
    assert_eq!(
        done,
        Done {
            code: Some(1),
            stdout: String::new(),
            stderr: format!(
                "\
error: this address is reachable from other machines, but no key is configured
 --> {path}:2:10
  |
2 | listen = \"0.0.0.0:4100\"
  |          ^^^^^^^^^^^^^^
  hint: generate a key with `majordomo key new NAME` and add its [[keys]] entry, or listen on 127.0.0.1

error: unknown key `alises` in the file
 --> {path}:4:2
  |
4 | [alises]
  |  ^^^^^^
  hint: did you mean `aliases`?
"
            ),
        }
    );
}

#[tokio::test]
async fn a_file_that_is_not_there_is_told() {
    let done = majordomo(&["check", "--config", "nowhere.toml"])
        .done()
        .await;
    assert_eq!(
        (done.code, &*done.stderr),
        (
            Some(1),
            "error: the configuration cannot be read: No such file or directory (os error 2)\n  \
             --> nowhere.toml\n  \
             hint: specify another file with `--config` or MAJORDOMO_CONFIG\n"
        )
    );
    let done = majordomo(&["check"]).done().await;
    let sentence = "error: there is no configuration file to check; \
                    name one with --config, or put majordomo.toml here\n";
    assert_eq!((done.code, &*done.stderr), (Some(1), sentence));
}

#[tokio::test]
async fn a_new_key_opens_an_address_to_other_machines() {
    let made = majordomo(&["key", "new", "laptop"]).done().await;
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert_eq!(
        made.stderr,
        "the key is shown this once; put the entry into majordomo.toml\n"
    );
    let (key, entry) = made.stdout.split_once("\n\n").unwrap();
    assert!(
        key.starts_with("mj-") && !entry.contains(key),
        "{}",
        made.stdout
    );
    assert!(entry.starts_with("[[keys]]\nname = \"laptop\"\nhash = \"sha256:"));
    let path = file(
        "open.toml",
        format!("[server]\nlisten = \"0.0.0.0:4100\"\n{entry}"),
    );
    let done = majordomo(&["check", "--config", &path]).done().await;
    assert_eq!((done.code, &*done.stderr), (Some(0), ""));
}

#[tokio::test]
async fn a_key_without_a_name_is_refused() {
    let done = majordomo(&["key", "new", " "]).done().await;
    let sentence = "error: the key needs a name that says whose it is\n";
    assert_eq!((done.code, &*done.stderr), (Some(1), sentence));
}
