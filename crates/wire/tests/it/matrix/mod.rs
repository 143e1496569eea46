//! Every conversation of a corpus, from every client's dialect to every provider's.
//!
//! A pair of dialects is a client of the one at a gateway to a provider of the
//! other. A request is written as that client would write it, read, written for
//! the provider and read there; answers and streams go the other way. What
//! arrives must be what was said, but for the losses that the writers list.
//! `docs/matrix.md` is made from the same run; `MAJORDOMO_UPDATE_DOCS=1`
//! rewrites it.

mod aspects;
mod compare;
mod corpus;
mod cross;
mod table;

use majordomo_wire::Protocol;

use cross::Crossing;

/// Crosses everything with every pair and tells what did not hold.
fn hold<T>(
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
fn every_request_crosses_every_pair_with_listed_losses_only() {
    let cases = corpus::conversations();
    assert!(cases.len() >= 40, "the corpus has only {}", cases.len());
    hold("requests", &cases, cross::request);
}

#[test]
fn every_answer_crosses_every_pair_with_listed_losses_only() {
    hold("answers", &corpus::answers(), cross::answer);
}

#[test]
fn every_stream_crosses_every_pair_with_listed_losses_only() {
    hold("streams", &corpus::answers(), cross::stream);
}

#[test]
fn a_loss_that_nobody_lists_is_found() {
    use majordomo_llm::{Prompt, Request};
    let asked = Prompt::clone(&Request::user("hi").max_tokens(5));
    let arrived = Prompt::clone(&Request::user("ho"));
    let differences = compare::prompts(&asked, &arrived, &[]).unwrap_err();
    assert!(differences.contains("text:") && differences.contains("max_tokens:"));
    let listed = [majordomo_wire::Loss {
        field: "max_tokens".into(),
        why: String::new(),
    }];
    let differences = compare::prompts(&asked, &arrived, &listed).unwrap_err();
    assert!(!differences.contains("max_tokens:"), "{differences}");
}

#[test]
fn the_printed_matrix_is_true() {
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
