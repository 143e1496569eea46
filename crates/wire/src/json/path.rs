//! The JSON path of a byte in a text, found when an error must be told.

use std::fmt::Write;

use super::string;

enum Step {
    Key(String),
    Index(usize),
}

/// The path of the value at byte `at`. The text may be broken from there on.
pub(super) fn of(text: &str, at: usize) -> String {
    let bytes = text.as_bytes();
    let mut steps: Vec<Step> = Vec::new();
    let mut pos = 0;
    let mut key_next = false;
    while pos <= at && pos < bytes.len() {
        match bytes[pos] {
            b'"' => {
                let Ok((value, end)) = string::read(text, pos + 1) else {
                    break;
                };
                if let (true, Some(Step::Key(key))) = (key_next, steps.last_mut()) {
                    *key = value.into_owned();
                    key_next = false;
                }
                pos = end;
                continue;
            }
            // A container's own path does not include its first element.
            b'{' | b'[' if pos == at => break,
            b'{' => {
                steps.push(Step::Key(String::new()));
                key_next = true;
            }
            b'[' => steps.push(Step::Index(0)),
            b'}' | b']' if pos < at => {
                steps.pop();
                key_next = false;
            }
            b',' => match steps.last_mut() {
                Some(Step::Index(index)) => *index += 1,
                Some(Step::Key(_)) => key_next = true,
                None => {}
            },
            _ => {}
        }
        pos += 1;
    }
    print(&steps)
}

fn print(steps: &[Step]) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Key(key) => {
                if !path.is_empty() && !key.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
            }
            Step::Index(index) => {
                let _ = write!(path, "[{index}]");
            }
        }
    }
    path
}
