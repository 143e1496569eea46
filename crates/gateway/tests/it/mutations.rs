//! Damaged configuration files are accepted or rejected with printable diagnostics that
//! contain no value of the environment. `fuzz/fuzz_targets/config.rs` searches further.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use majordomo::transport::{self, Transport};
use majordomo_gateway::GatewayState;
use majordomo_gateway::config::Config;
use proptest::prelude::*;
use proptest::sample::Index;

/// Must not appear in any message.
const HIDDEN: &str = "CANARY-environment";

static ENVIRONMENT: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let names = ["GROQ_API_KEY", "GROQ_KEY", "BAD_SPEC", "SECRET"];
    names
        .map(|name| (name.to_owned(), HIDDEN.to_owned()))
        .into()
});
static TRANSPORT: LazyLock<Transport> =
    LazyLock::new(|| Transport::new(transport::TransportConfig::default()));
/// The file with every setting, and every file of `tests/mistakes`.
static FILES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let read = |path: &Path| std::fs::read_to_string(path).expect("a readable file");
    let mut mistakes = majordomo_testkit::files(&tests.join("mistakes"));
    mistakes.retain(|path| path.extension().is_some_and(|end| end == "toml"));
    let mut files = vec![read(&tests.join("whole.toml"))];
    files.extend(mistakes.iter().map(|path| read(path)));
    files
});

/// A mutation of a file. Positions are taken modulo the length.
#[derive(Clone, Debug)]
enum Mutation {
    /// Truncated.
    Cut(Index),
    /// A range is replaced.
    Put(Index, usize, String),
    /// Continued with a part of another file.
    Splice {
        at: Index,
        other: Index,
        from: Index,
    },
    /// Lines are repeated elsewhere.
    Repeat {
        from: Index,
        lines: usize,
        to: Index,
    },
    /// Two values are swapped.
    Swap(Index, Index),
    /// A value is replaced by an odd one.
    Odd(Index, &'static str),
}

const ODD: [&str; 18] = [
    "\"\"",
    "\"${\"",
    "\"${}\"",
    "\"$${\"",
    "-1",
    "0",
    "1e400",
    "nan",
    "-inf",
    "0x7fffffffffffffff",
    "18446744073709551616",
    "[]",
    "[[[]]]",
    "{}",
    "{ a = {} }",
    "1979-05-27T07:32:00Z",
    "\"[[::]]:99999\"",
    "\"\\u0000\\u202e\"",
];

impl Mutation {
    fn apply(&self, text: &mut String) {
        match self {
            Self::Cut(at) => text.truncate(place(text, at)),
            Self::Put(at, length, put) => {
                let start = place(text, at);
                let end = boundary(text, start + length);
                text.replace_range(start..end, put);
            }
            Self::Splice { at, other, from } => {
                let other = other.get(&FILES);
                text.truncate(place(text, at));
                text.push_str(&other[place(other, from)..]);
            }
            Self::Repeat { from, lines, to } => {
                let all: Vec<&str> = text.split_inclusive('\n').collect();
                if all.is_empty() {
                    return;
                }
                let from = from.index(all.len());
                let taken = &all[from..(from + lines).min(all.len())];
                let (before, after) = all.split_at(to.index(all.len()));
                *text = [before, taken, after].concat().concat();
            }
            Self::Swap(one, other) => {
                let values = values(text);
                if values.is_empty() {
                    return;
                }
                let (one, other) = (one.get(&values).clone(), other.get(&values).clone());
                let (first, second) = if one.start <= other.start {
                    (one, other)
                } else {
                    (other, one)
                };
                let (early, late) = (
                    text[first.clone()].to_owned(),
                    text[second.clone()].to_owned(),
                );
                text.replace_range(second, &early);
                text.replace_range(first, &late);
            }
            Self::Odd(at, value) => {
                let values = values(text);
                if !values.is_empty() {
                    text.replace_range(at.get(&values).clone(), value);
                }
            }
        }
    }
}

fn place(text: &str, at: &Index) -> usize {
    boundary(text, at.index(text.len() + 1))
}

/// The nearest character boundary at or before `at`.
fn boundary(text: &str, at: usize) -> usize {
    let ends = (0..=at.min(text.len())).rev();
    ends.into_iter()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

/// Ranges of the values of `key = value` lines.
fn values(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut start = 0;
    let mut found = Vec::new();
    for line in text.split_inclusive('\n') {
        if let Some((key, value)) = line.trim_end().split_once("= ") {
            let begin = start + key.len() + 2;
            found.push(begin..begin + value.len());
        }
        start += line.len();
    }
    found
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let at = any::<Index>;
    prop_oneof![
        at().prop_map(Mutation::Cut),
        (at(), 0_usize..60, ".{0,8}").prop_map(|(at, length, put)| Mutation::Put(at, length, put)),
        (at(), at(), at()).prop_map(|(at, other, from)| Mutation::Splice { at, other, from }),
        (at(), 1_usize..12, at()).prop_map(|(from, lines, to)| Mutation::Repeat {
            from,
            lines,
            to
        }),
        (at(), at()).prop_map(|(one, other)| Mutation::Swap(one, other)),
        (at(), proptest::sample::select(&ODD[..])).prop_map(|(at, value)| Mutation::Odd(at, value)),
    ]
}

/// The diagnostics of a text, if it is rejected.
fn refused(text: &str) -> Option<String> {
    let config = match Config::parse("f.toml", text, &ENVIRONMENT) {
        Ok(config) => config,
        Err(problems) => {
            assert!(!problems.list().is_empty());
            return Some(problems.to_string());
        }
    };
    let state = GatewayState::new(&config, &ENVIRONMENT, &TRANSPORT, None);
    state.err().map(|problems| problems.to_string())
}

#[test]
fn the_undamaged_file_is_accepted() {
    assert_eq!(refused(&FILES[0]), None);
}

proptest! {
    #[test]
    fn a_damaged_file_is_either_accepted_or_rejected_with_a_diagnostic(
        file in any::<Index>(),
        mutations in proptest::collection::vec(mutation(), 1..4),
    ) {
        let mut text = file.get(&FILES).clone();
        for mutation in &mutations {
            mutation.apply(&mut text);
        }
        if let Some(reported) = refused(&text) {
            prop_assert!(reported.contains("f.toml:") && !reported.contains(HIDDEN), "{reported}");
        }
    }

    /// Uses the file with every setting, since each of its keys is read.
    #[test]
    fn a_single_odd_value_is_either_accepted_or_rejected_with_a_diagnostic(mutation in mutation()) {
        let mut text = FILES[0].clone();
        mutation.apply(&mut text);
        if let Some(reported) = refused(&text) {
            prop_assert!(reported.contains("f.toml:") && !reported.contains(HIDDEN), "{reported}");
        }
    }

    #[test]
    fn no_configuration_text_causes_a_panic(text in ".*") {
        refused(&text);
    }
}
