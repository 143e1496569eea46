//! Replays recorded exchanges with real providers.
//!
//! `MAJORDOMO_RECORDINGS` names a directory with an `INDEX.tsv`; without it the
//! tests are skipped. The same checks apply to all rows; `exceptions.tsv` lists the
//! rows that cannot pass, with reasons.

mod chunking;
mod counting;
mod document;
mod exchange;
mod index;
mod replay;

use std::collections::BTreeMap;

use majordomo_wire::Protocol;

/// Below, the one to four tokens around a message are more than 10 % of it.
const SHORT_STREAM: u64 = 40;

/// Codecs by the protocol column of the index.
const CODECS: &[(&str, Protocol)] = &[
    ("openai-chat", Protocol::Chat),
    ("ollama-chat", Protocol::Ollama),
    ("ollama-generate", Protocol::Ollama),
    ("ollama-meta", Protocol::Ollama),
    ("anthropic-messages", Protocol::Messages),
    ("openai-responses", Protocol::Responses),
    ("gemini", Protocol::Gemini),
];

#[test]
fn recordings_of_real_providers_pass_all_checks() {
    let Some(index) = index::load() else {
        return;
    };
    let exceptions = index::exceptions();
    let mut ran: BTreeMap<String, usize> = BTreeMap::new();
    let mut unsupported: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut excepted, mut failures) = (0, Vec::new());
    for row in &index.rows {
        let exchange = exchange::load(&index.folder, row);
        let Some(protocol) = exchange.protocol(&row.protocol, CODECS) else {
            *unsupported.entry(&row.protocol).or_default() += 1;
            continue;
        };
        if let Some(reason) = exceptions.reason(&row.path) {
            println!("recordings: {} is excepted: {reason}", row.path);
            excepted += 1;
            continue;
        }
        *ran.entry(protocol.dialect().to_string()).or_default() += 1;
        let held = match exchange.other_api() {
            _ if row.has("documentation_examples") => document::replay(protocol, row, &exchange),
            _ if row.protocol.ends_with("-meta") => replay::models(protocol, &exchange),
            Some(kind) => {
                println!("recordings: {} is {kind}: it must be refused", row.path);
                replay::reject_other_api(protocol, &exchange)
            }
            None => replay::replay(protocol, &exchange),
        };
        if let Err(why) = held {
            failures.push(format!("{}: {why}", row.path));
        }
    }
    for (protocol, count) in &ran {
        println!("recordings: {protocol}: {count} ran");
    }
    for (protocol, count) in &unsupported {
        println!("recordings: {protocol}: {count} rows of an unsupported protocol");
    }
    println!("recordings: {excepted} excepted of {}", index.rows.len());
    assert!(
        failures.is_empty(),
        "{} failed:\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert!(
        excepted * 100 < index.rows.len() || index.rows.len() < 100,
        "{excepted} exceptions are 1 % or more of {} rows",
        index.rows.len()
    );
}

#[test]
fn recorded_streams_do_not_depend_on_chunking() {
    let Some(index) = index::load() else {
        return;
    };
    let cut = chunking::cut_all(&index, CODECS);
    println!(
        "recordings: {} streams, read and tapped, cut in {} ways",
        cut.streams, cut.chunkings
    );
    assert!(
        cut.failures.is_empty(),
        "{} failed:\n{}",
        cut.failures.len(),
        cut.failures.join("\n")
    );
}

#[test]
fn our_count_of_output_is_compared_with_the_reported_one() {
    let Some(index) = index::load() else {
        return;
    };
    let streams = counting::count_all(&index, CODECS);
    counting::print_outliers(&streams);
    let mut classes: Vec<_> = streams.iter().map(|one| one.class).collect();
    classes.sort_unstable();
    classes.dedup();
    let mut countable = Vec::new();
    for class in classes {
        let of_class = streams.iter().filter(move |one| one.class == class);
        counting::print(&format!("{class:?}"), of_class.clone());
        let long = of_class.filter(|one| one.reported >= SHORT_STREAM);
        let off = counting::print(&format!("{class:?}, {SHORT_STREAM} tokens or more"), long);
        countable.push((class, off));
    }
    counting::print("all", streams.iter());
    if index.rows.len() < 1_000 {
        return;
    }
    assert!(streams.len() > 200);
    for (class, off) in countable {
        let most = match class {
            counting::Class::Reports | counting::Class::Tokens => 0.1,
            // No tokenizer is embedded.
            counting::Class::Text => 0.2,
            // The count of these is a lower bound, because most of the output does not arrive.
            _ => continue,
        };
        assert!(off <= most, "{class:?}: {off}");
    }
}
