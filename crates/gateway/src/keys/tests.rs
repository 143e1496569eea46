//! Recognizing keys: secrets, models, expiry, overlap, freezing.

use super::*;

fn entry(name: &str, secret: KeySecret, models: Option<Vec<&str>>) -> KeyEntry {
    KeyEntry {
        name: name.to_owned(),
        secret,
        team: None,
        role: KeyRole::Client,
        sees_all: false,
        expires_millis: None,
        asserts_users: false,
        capture: false,
        limits: Arc::default(),
        models: models.map(|all| all.into_iter().map(str::to_owned).collect()),
        models_span: 0..0,
        span: 0..0,
    }
}

fn keys(entries: &[(&str, KeySecret, Option<Vec<&str>>)]) -> ClientKeys {
    let entries = entries.iter().cloned();
    let entries: Vec<KeyEntry> = entries.map(|(n, s, m)| entry(n, s, m)).collect();
    ClientKeys::new(&entries, &[])
}

fn grant(name: &str, secrets: &[(&str, Option<i64>)]) -> StoredGrant {
    let secrets = secrets.iter();
    StoredGrant {
        entry: entry(name, KeySecret::Sha256([0; 32]), None),
        secrets: secrets
            .map(|(text, until)| (sha256(text), *until))
            .collect(),
        frozen: false,
    }
}

#[test]
fn keys_are_recognized_by_plain_text_or_hash() {
    let keys = keys(&[
        ("a", KeySecret::Plain("CANARY-a".into()), None),
        ("b", KeySecret::Sha256(sha256("CANARY-b")), None),
    ]);
    let name = |presented| keys.check(presented, 0).map(|key| key.name().to_owned());
    assert_eq!(name("CANARY-a").as_deref(), Ok("a"));
    assert_eq!(name("CANARY-b").as_deref(), Ok("b"));
    for wrong in ["", "CANARY", "CANARY-a ", "canary-a"] {
        assert_eq!(name(wrong), Err(KeyRefusal::Unknown), "{wrong}");
    }
    assert!(!keys.is_keyless() && ClientKeys::default().is_keyless());
    assert!(ClientKeys::default().check("", 0).is_err());
}

#[test]
fn a_chain_is_allowed_only_if_every_element_is() {
    let models = Some(vec!["coder", "demo/*"]);
    let keys = keys(&[("a", KeySecret::Plain("k".into()), models)]);
    let key = keys.check("k", 0).unwrap();
    for (model, may) in [
        ("coder", true),
        ("demo/text", true),
        ("demo/text, coder", true),
        ("demo/text,openai/gpt-6", false),
        ("coder2", false),
        ("", false),
        (",", false),
    ] {
        assert_eq!(key.may_use(model), may, "{model}");
    }
}

#[test]
fn debug_output_contains_no_key() {
    let keys = keys(&[("laptop", KeySecret::Plain("CANARY".into()), None)]);
    assert_eq!(format!("{keys:?}"), "[\"laptop\"]");
}

#[test]
fn both_secrets_of_a_rotated_key_work_until_the_overlap_ends() {
    let rotated = grant("a", &[("CANARY-old", Some(100)), ("CANARY-new", None)]);
    let keys = ClientKeys::default().with_stored(&[rotated], &[], true);
    for (secret, now, works) in [
        ("CANARY-old", 99, true),
        ("CANARY-old", 100, false),
        ("CANARY-new", 99, true),
        ("CANARY-new", 100, true),
    ] {
        assert_eq!(keys.check(secret, now).is_ok(), works, "{secret} {now}");
    }
    assert!(!keys.are_several());
}

#[test]
fn a_frozen_or_expired_key_is_refused_by_name() {
    let mut frozen = grant("a", &[("CANARY-a", None)]);
    frozen.frozen = true;
    let mut expired = grant("b", &[("CANARY-b", None)]);
    expired.entry.expires_millis = Some(100);
    let keys = ClientKeys::default().with_stored(&[frozen, expired], &[], true);
    assert_eq!(
        keys.check("CANARY-a", 0),
        Err(KeyRefusal::Frozen("a".into()))
    );
    assert!(keys.check("CANARY-b", 99).is_ok());
    assert_eq!(
        keys.check("CANARY-b", 100),
        Err(KeyRefusal::Expired("b".into()))
    );
    assert!(keys.are_several());
}

#[test]
fn a_stored_key_never_replaces_one_of_the_file() {
    let file = keys(&[("a", KeySecret::Plain("CANARY-file".into()), None)]);
    let keys = file.with_stored(&[grant("a", &[("CANARY-stored", None)])], &[], true);
    assert!(keys.check("CANARY-file", 0).is_ok());
    assert!(keys.check("CANARY-stored", 0).is_err());
}

#[test]
fn a_stored_key_without_its_team_is_refused() {
    let mut lost = grant("a", &[("CANARY", None)]);
    lost.entry.team = Some("search".to_owned());
    let keys = ClientKeys::default().with_stored(&[lost], &[], true);
    assert!(keys.check("CANARY", 0).is_err() && !keys.is_keyless());
}

#[test]
fn keys_stay_required_when_none_is_left() {
    let keys = ClientKeys::default().with_stored(&[], &[], true);
    assert!(!keys.is_keyless());
    assert_eq!(keys.check("CANARY", 0), Err(KeyRefusal::Unknown));
}
