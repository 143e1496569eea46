//! Converts a corpus of conversations from every client dialect to every provider dialect.
//!
//! A request is written in the client's dialect, read, written for the provider
//! and read again; responses and streams go the other way. The result must equal
//! the original, except for the losses that the writers list. `docs/matrix.md` is
//! generated from the same run; `MAJORDOMO_UPDATE_DOCS=1` updates it.

mod aspects;
mod compare;
mod corpus;
mod cross;
mod table;

use majordomo_wire::Protocol;

use cross::Crossing;

/// Converts every case between every pair and reports the failures.
fn check_all_pairs<T>(
    kind: &str,
    cases: &[(&'static str, T)],
    cross: impl Fn(&T, &Crossing) -> Result<Vec<String>, String>,
) {
    let mut failures = Vec::new();
    let mut crossed = 0;
    for client in Protocol::ALL {
        for provider in Protocol::ALL {
            let pair = Crossing { client, provider };
            for (name, case) in cases {
                crossed += 1;
                if let Err(why) = cross(case, &pair) {
                    failures.push(format!("{name}, {pair}: {why}"));
                }
            }
        }
    }
    println!("matrix: {kind}: {} cases, {crossed} crossings", cases.len());
    assert!(
        failures.is_empty(),
        "{} of {crossed} failed:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn requests_convert_between_all_dialects_with_listed_losses_only() {
    let cases = corpus::conversations();
    assert!(cases.len() >= 40, "the corpus has only {}", cases.len());
    check_all_pairs("requests", &cases, cross::request);
}

#[test]
fn responses_convert_between_all_dialects_with_listed_losses_only() {
    check_all_pairs("responses", &corpus::responses(), cross::response);
}

#[test]
fn streams_convert_between_all_dialects_with_listed_losses_only() {
    check_all_pairs("streams", &corpus::responses(), cross::stream);
}

#[test]
fn an_unlisted_loss_is_detected() {
    use majordomo_llm::{Prompt, Request};
    let expected = Prompt::clone(Request::user("hi").max_tokens(5).prompt());
    let actual = Prompt::clone(Request::user("ho").prompt());
    let differences = compare::prompts(&expected, &actual, &[]).unwrap_err();
    assert!(differences.contains("text:") && differences.contains("max_tokens:"));
    let listed = [majordomo_wire::Loss {
        field: "max_tokens".into(),
        verb: majordomo_wire::LossVerb::Dropped,
        why: String::new(),
    }];
    let differences = compare::prompts(&expected, &actual, &listed).unwrap_err();
    assert!(!differences.contains("max_tokens:"), "{differences}");
}

#[test]
fn docs_matrix_md_is_up_to_date() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/matrix.md");
    let made = table::print();
    if std::env::var_os("MAJORDOMO_UPDATE_DOCS").is_some() {
        std::fs::write(&file, &made).expect("docs/ can be written");
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == made,
        "docs/matrix.md is out of date: run this test with MAJORDOMO_UPDATE_DOCS=1"
    );
}
