//! Which subjects are kept.

use proptest::collection::vec;
use proptest::prelude::*;

use super::subject_table::{MAX_NAME, MAX_UNDECLARED};
use super::*;

fn names(health: &Health) -> Vec<String> {
    let all = health.snapshot().into_iter();
    all.map(|status| status.subject).collect()
}

fn failed() -> BenchCause {
    BenchCause::Failed {
        kind: majordomo_llm::ErrorKind::Connect,
        class: majordomo_llm::Class::Transient,
        status: None,
    }
}

/// Benches a target that a client invented.
fn invent(health: &Health, name: &str) {
    health
        .target(name, None)
        .bench(Duration::from_secs(60), failed());
}

#[test]
fn six_thousand_invented_names_leave_a_bounded_table() {
    let health = Health::default();
    for n in 0..6_000 {
        invent(&health, &format!("p/{n}"));
    }
    assert!(names(&health).len() <= MAX_UNDECLARED);
}

#[test]
fn a_name_that_is_too_long_for_a_model_is_not_kept() {
    let health = Health::default();
    invent(&health, &format!("p/{}", "x".repeat(MAX_NAME)));
    assert!(names(&health).is_empty());
}

#[test]
fn a_subject_in_use_is_not_evicted() {
    let health = Health::default();
    let used = health.target("p/used", None);
    for n in 0..4 * MAX_UNDECLARED {
        invent(&health, &format!("p/{n}"));
    }
    assert!(Arc::ptr_eq(&used, &health.target("p/used", None)));
}

#[test]
fn healthy_names_are_evicted_before_benched_ones() {
    let health = Health::default();
    invent(&health, "p/benched");
    for n in 0..4 * MAX_UNDECLARED {
        health.target(&format!("p/{n}"), None);
    }
    assert!(health.status("p/benched").is_some());
}

#[test]
fn a_changed_identity_starts_healthy_and_the_same_one_does_not() {
    let (old, new) = (Fingerprint::of("old"), Fingerprint::of("new"));
    let health = Health::default();
    let benched = health.target("p/m", Some(old));
    benched.bench(Duration::from_secs(60), failed());
    let same = health.fork();
    assert!(same.target("p/m", Some(old)).admit().is_err());
    let changed = health.fork();
    assert!(changed.target("p/m", Some(new)).admit().is_ok());
    assert!(
        benched.admit().is_err(),
        "the earlier registry is not affected"
    );
}

#[test]
fn the_health_of_changed_and_vanished_providers_is_forgotten() {
    let (old, new) = (Fingerprint::of("old"), Fingerprint::of("new"));
    let health = Health::default();
    for (name, identity) in [("same", old), ("changed", old), ("gone", old)] {
        health.target(&format!("{name}/m"), Some(identity));
        health.credential(name, Some(identity));
    }
    health.bench("by/hand", Duration::from_secs(60), "maintenance");
    health.forget_changed(|provider, _| match provider {
        "same" => Some(old),
        "changed" => Some(new),
        _ => None,
    });
    assert_eq!(names(&health), ["by/hand", "same", "same/m"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_declared_bench_and_a_credential_survive_any_flood(
        flood in vec((0..4_u8, 0..2_500_u16), 0..5_000),
        declared_late in any::<bool>(),
    ) {
        let health = Health::default();
        if !declared_late {
            health.declare(["p/known"]);
        }
        invent(&health, "p/known");
        health.declare(["p/known"]);
        health.credential("p", None).bench(Duration::from_secs(60), failed());
        for (what, n) in flood {
            let name = format!("p/{n}");
            match what {
                0 => { health.target(&name, None); }
                1 => { health.unbench(&name); }
                _ => invent(&health, &name),
            }
        }
        for subject in ["p/known", "p"] {
            let status = health.status(subject);
            prop_assert!(status.is_some_and(|s| s.until_usable.is_some()), "{subject}");
        }
        let undeclared = health.snapshot().into_iter().filter(|s| !s.declared).count();
        prop_assert!(undeclared <= MAX_UNDECLARED, "{undeclared}");
    }
}
