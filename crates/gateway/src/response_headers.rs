//! The `x-majordomo-*` response headers.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use http::{HeaderMap, HeaderName, HeaderValue};
use majordomo::llm::Change;
use majordomo_ledger::Cost;

use crate::exchange::Exchange;
use crate::fronts::Front;
use crate::quota::add_limit_headers;

/// The longest list of changes in bytes; the log lists all changes.
const LONGEST: usize = 2_000;

static REQUEST_ID: HeaderName = HeaderName::from_static("x-majordomo-request-id");
static ANTHROPIC_REQUEST_ID: HeaderName = HeaderName::from_static("request-id");
static CLIENT_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
static TARGET: HeaderName = HeaderName::from_static("x-majordomo-target");
static ATTEMPTS: HeaderName = HeaderName::from_static("x-majordomo-attempts");
static CHANGES: HeaderName = HeaderName::from_static("x-majordomo-changes");
static BUDGET_EXCEEDED: HeaderName = HeaderName::from_static("x-majordomo-budget-exceeded");
static COST: HeaderName = HeaderName::from_static("x-majordomo-cost");

/// As many headers as a response usually has, so that the map does not grow.
const USUAL: usize = 16;

/// Adds the serving target, the number of attempts and the changes.
pub(crate) fn describe(headers: &mut HeaderMap, front: Front, exchange: &Exchange) {
    headers.reserve(USUAL - headers.len().min(USUAL));
    let mut insert = |name: &HeaderName, value: Cow<'_, str>| {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    };
    insert(&REQUEST_ID, exchange.id().into());
    if front == Front::Messages {
        insert(&ANTHROPIC_REQUEST_ID, exchange.id().into());
    }
    if let Some(id) = exchange.client_request_id() {
        insert(&CLIENT_REQUEST_ID, id.into());
    }
    if let Some(target) = exchange.target() {
        insert(&TARGET, printable(target));
    }
    if !exchange.changes().is_empty() {
        insert(&CHANGES, changes(exchange.changes()).into());
    }
    let exceeded = exchange.exceeded_budgets();
    if !exceeded.is_empty() {
        insert(&BUDGET_EXCEEDED, printable(&exceeded.join(", ")));
    }
    if let Some(attempts) = exchange.attempts() {
        headers.insert(&ATTEMPTS, attempts.into());
    }
    if let Some(caller) = exchange.limits() {
        add_limit_headers(headers, front, caller);
    }
}

/// Adds the cost of a whole response, if known.
pub(crate) fn add_cost(headers: &mut HeaderMap, cost: Option<Cost>) {
    let value = cost.and_then(|cost| HeaderValue::try_from(format!("{cost} USD")).ok());
    if let Some(value) = value {
        headers.insert(&COST, value);
    }
}

/// All changes, each subject and verb once.
fn changes(changes: &[Change]) -> String {
    // The usual case: nothing to merge.
    if let [only] = changes
        && let text = only.to_string()
        && text.len() <= LONGEST
    {
        return printable(&text).into_owned();
    }
    let mut merged: Vec<Change> = Vec::new();
    // The number of unknown fields is chosen by the client, so merging must be linear.
    let mut positions: HashMap<(&str, &str), usize> = HashMap::new();
    for change in changes {
        match positions.entry((&change.subject, &change.verb)) {
            Entry::Occupied(position) => {
                let known = &mut merged[*position.get()];
                known.count = known
                    .count
                    .zip(change.count)
                    .map(|(a, b)| a + b)
                    .or(known.count);
            }
            // Further changes cannot fit in the header.
            Entry::Vacant(position) if merged.len() < LONGEST => {
                position.insert(merged.len());
                merged.push(change.clone());
            }
            Entry::Vacant(_) => {}
        }
    }
    let mut text = String::new();
    for change in &merged {
        let next = change.to_string();
        let next = printable(&next);
        if text.len() + next.len() > LONGEST {
            text.push_str(", …");
            break;
        }
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(&next);
    }
    printable(&text).into_owned()
}

/// Header values are printable ASCII.
fn printable(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.into();
    }
    let plain = |c: char| if (' '..='~').contains(&c) { c } else { '?' };
    text.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_listed_once_each_and_counted() {
        let list = [
            Change::new("image", "resized").times(2),
            Change::new("image", "described").times(1),
            Change::new("top_k", "dropped"),
            Change::new("image", "resized").times(1),
            Change::new("top_k", "dropped"),
        ];
        let expected = "image:3 resized, image:1 described, top_k dropped";
        assert_eq!(changes(&list), expected);
        assert_eq!(changes(&[Change::new("größe", "dropped")]), "gr??e dropped");
    }

    #[test]
    fn a_long_list_is_truncated_and_its_visible_part_is_counted() {
        let many = (0..10_000).map(|n| Change::new(format!("u{n}"), "dropped"));
        let image = || Change::new("image", "resized").times(1);
        let list: Vec<Change> = [image()].into_iter().chain(many).chain([image()]).collect();
        let text = changes(&list);
        assert!(text.starts_with("image:2 resized, u0 dropped, "), "{text}");
        assert!(text.len() <= LONGEST + 8 && text.ends_with(", ?"), "{text}");
    }
}
