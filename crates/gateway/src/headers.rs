//! What every answer says about itself.

use http::{HeaderMap, HeaderValue};
use majordomo::Change;

use crate::exchange::Exchange;
use crate::fronts::Front;

/// Longer lists of changes are cut; the log has all of them.
const LONGEST: usize = 2_000;

/// Adds who served, after how many attempts, and what was altered.
pub(crate) fn describe(headers: &mut HeaderMap, front: Front, exchange: &Exchange) {
    let mut insert = |name: &'static str, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    insert("x-majordomo-request-id", &exchange.id);
    if front == Front::Messages {
        insert("request-id", &exchange.id);
    }
    if let Some(target) = exchange.target() {
        insert("x-majordomo-target", &printable(target));
    }
    if let Some(attempts) = exchange.attempts() {
        insert("x-majordomo-attempts", &attempts.to_string());
    }
    if !exchange.changes().is_empty() {
        insert("x-majordomo-changes", &changes(exchange.changes()));
    }
}

/// Everything that was altered, each subject and verb once.
fn changes(changes: &[Change]) -> String {
    let mut merged: Vec<Change> = Vec::new();
    for change in changes {
        let same =
            |known: &&mut Change| known.subject == change.subject && known.verb == change.verb;
        match merged.iter_mut().find(same) {
            Some(known) => {
                known.count = known
                    .count
                    .zip(change.count)
                    .map(|(a, b)| a + b)
                    .or(known.count);
            }
            None => merged.push(change.clone()),
        }
    }
    let mut text = String::new();
    for change in &merged {
        let next = printable(&change.to_string());
        if text.len() + next.len() > LONGEST {
            text.push_str(", …");
            break;
        }
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(&next);
    }
    printable(&text)
}

/// Headers hold plain letters only.
fn printable(text: &str) -> String {
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
}
