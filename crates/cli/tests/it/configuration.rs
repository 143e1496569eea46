//! `check` and `key`.

use majordomo_testkit::PemIdentity;

use crate::support::{CommandOutput, file, majordomo};

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
async fn a_valid_file_is_summarized() {
    let path = file("good.toml", GOOD);
    let done = majordomo(&["check", "--config", &path]).output().await;
    assert_eq!(
        done,
        CommandOutput {
            code: Some(0),
            stdout: format!(
                "{path} is valid: 1 provider, 2 aliases, 1 route, 0 keys; listens on 127.0.0.1:4100\n"
            ),
            stderr: String::new(),
        }
    );
}

#[tokio::test]
async fn every_invalid_rule_is_reported_at_its_line() {
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
    let done = majordomo(&["check", "--config", &path]).output().await;
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
async fn every_problem_of_an_invalid_file_is_reported() {
    let path = file(
        "bad.toml",
        "[server]\nlisten = \"0.0.0.0:4100\"\n\n[alises]\n",
    );
    let done = majordomo(&["check"])
        .env("MAJORDOMO_CONFIG", &path)
        .output()
        .await;
    assert_eq!(
        done,
        CommandOutput {
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
async fn the_changed_default_of_balance_is_explained_to_files_without_a_version() {
    let services = "services = [ { spec = \"demo/text\" }, { spec = \"demo/vision\" } ]\n";
    let routes = format!("[[routes]]\nmodel = \"coder\"\n{services}");
    let path = file("unversioned.toml", &routes);
    let done = majordomo(&["check", "--config", &path]).output().await;
    let summary = |path: &str| {
        format!(
            "{path} is valid: 0 providers, 0 aliases, 1 route, 0 keys; listens on 127.0.0.1:4100\n"
        )
    };
    assert_eq!(
        done,
        CommandOutput {
            code: Some(0),
            stdout: summary(&path),
            stderr: format!(
                "\
warning: the default of `balance` has changed: the services of `coder` are now tried in order; they were picked at random
 --> {path}:2:9
  |
2 | model = \"coder\"
  |         ^^^^^^^
  hint: set `balance = \"random\"` to restore that, or write `version = 1` at the top of the file to accept the new default
"
            ),
        }
    );
    let path = file("versioned.toml", format!("version = 1\n{routes}"));
    let done = majordomo(&["check", "--config", &path]).output().await;
    assert_eq!((done.stdout, &*done.stderr), (summary(&path), ""));
}

#[tokio::test]
async fn a_missing_file_is_reported() {
    let done = majordomo(&["check", "--config", "nowhere.toml"])
        .output()
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
    let done = majordomo(&["check"]).output().await;
    let sentence = "error: no configuration file found; \
                    pass one with --config or create ./majordomo.toml\n";
    assert_eq!((done.code, &*done.stderr), (Some(1), sentence));
}

#[tokio::test]
async fn a_new_key_allows_a_public_address() {
    let made = majordomo(&["key", "new", "laptop"]).output().await;
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    // The entry can be redirected into the file, and the key is still seen.
    let (key, note) = made.stderr.split_once('\n').unwrap();
    let entry = &made.stdout;
    assert!(
        key.starts_with("mj-") && !entry.contains(key),
        "{}",
        made.stdout
    );
    assert_eq!(
        note,
        "this key is not shown again; its entry belongs in majordomo.toml:\n"
    );
    assert!(entry.starts_with("\n[[keys]]\nname = \"laptop\"\nhash = \"sha256:"));
    let path = file(
        "open.toml",
        format!("[server]\nlisten = \"0.0.0.0:4100\"\n{entry}"),
    );
    let done = majordomo(&["check", "--config", &path]).output().await;
    assert_eq!((done.code, &*done.stderr), (Some(0), ""));
}

#[tokio::test]
async fn the_examples_of_key_new_show_the_key() {
    let done = majordomo(&["key", "new", "--help"]).output().await;
    let examples = done.stdout.lines().map(str::trim);
    let examples: Vec<&str> = examples
        .filter(|line| line.starts_with("majordomo key new"))
        .collect();
    assert!(examples.len() >= 2, "{}", done.stdout);
    for example in examples {
        // A pipe or a redirection takes stdout only.
        assert!(
            !example.contains("2>") && !example.contains("|&"),
            "{example}"
        );
    }
    let piped = majordomo(&["key", "new", "a"]).output().await;
    assert!(piped.stderr.starts_with("mj-") && !piped.stdout.contains("mj-"));
}

#[tokio::test]
async fn unusable_pem_files_are_reported_at_their_line() {
    let ours = PemIdentity::new("localhost");
    let other = PemIdentity::new("localhost");
    let (cert, key) = (file("ours.pem", &ours.cert), file("ours.key", &ours.key));
    let other_key = file("other.key", &other.key);
    let text = |cert: &str, key: &str| {
        format!("[server]\ntls = {{ cert = \"{cert}\", key = \"{key}\" }}\n")
    };
    let path = file("tls.toml", text(&cert, &key));
    let done = majordomo(&["check", "--config", &path]).output().await;
    assert_eq!((done.code, &*done.stderr), (Some(0), ""));
    for (text, message) in [
        (
            text("nowhere.pem", &key),
            "error: nowhere.pem cannot be used for TLS: No such file or directory (os error 2)"
                .to_owned(),
        ),
        (
            text(&cert, &other_key),
            format!(
                "error: the private key in {other_key} does not belong to the certificate in {cert}: check that both were issued together and that the server's certificate comes first in its file"
            ),
        ),
        (
            text(&key, &key),
            format!("error: {key} cannot be used for TLS: it holds no certificate"),
        ),
        (
            text(&cert, &cert),
            format!(
                "error: {cert} cannot be used for TLS: it holds no private key, or one with a passphrase: remove the passphrase with `openssl pkey -in KEY -out NEW`"
            ),
        ),
    ] {
        let path = file("tls.toml", &text);
        let done = majordomo(&["check", "--config", &path]).output().await;
        let mut lines = done.stderr.lines();
        assert_eq!((done.code, lines.next()), (Some(1), Some(&*message)));
        let place = format!(" --> {path}:2:1");
        assert_eq!(lines.next(), Some(&*place), "{}", done.stderr);
    }
}

#[tokio::test]
async fn a_key_without_a_name_is_rejected() {
    let done = majordomo(&["key", "new", " "]).output().await;
    let sentence = "error: the name of the key is empty; use one that identifies the client\n";
    assert_eq!((done.code, &*done.stderr), (Some(1), sentence));
}
