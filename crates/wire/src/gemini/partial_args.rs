//! Arguments that come as values of JSON paths, written as one JSON text.
//!
//! Vertex AI streams a call's arguments in the order in which the model writes
//! them, so the text can grow at its end: a path closes what it leaves and opens
//! what it enters. A path that goes back to something closed is an error, since
//! the text before it has been told already.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write;

use bytes::BytesMut;
use majordomo_llm::{Error, ErrorKind, Result};

use crate::json::{Cursor, JsonKind, MAX_DEPTH, ReadResult, write_string};

/// One value at one path.
#[derive(Default)]
pub(super) struct PartialArg<'a> {
    path: Cow<'a, str>,
    value: Option<Value<'a>>,
    /// Whether more of the same string follows.
    continues: bool,
}

enum Value<'a> {
    String(Cow<'a, str>),
    /// A number, a truth value or null, as JSON text.
    Plain(&'a str),
}

impl<'a> PartialArg<'a> {
    pub(super) fn read(cursor: &mut Cursor<'a>) -> ReadResult<Self> {
        let mut arg = Self::default();
        cursor.loose_object(|key, cursor| {
            match (&**key, cursor.peek()?) {
                ("jsonPath", JsonKind::String) => arg.path = cursor.string()?,
                ("stringValue", JsonKind::String) => {
                    arg.value = Some(Value::String(cursor.string()?));
                }
                ("numberValue", JsonKind::Number) | ("boolValue", JsonKind::Bool) => {
                    arg.value = Some(Value::Plain(cursor.raw()?));
                }
                ("nullValue", _) => arg.value = Some(Value::Plain("null")),
                ("willContinue", JsonKind::Bool) => arg.continues = cursor.bool()?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(arg)
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Key(String),
    Index(usize),
}

/// A container whose bracket is open.
enum Open {
    Object(HashSet<String>),
    /// How many elements it has.
    Array(usize),
}

/// The text so far: which containers are open, and whether a string is.
#[derive(Default)]
pub(super) struct ArgumentText {
    open: Vec<Open>,
    /// The step into each open container but the outermost.
    path: Vec<Step>,
    string: Option<Vec<Step>>,
}

/// Elements that may be missing before one that comes.
const LARGEST_GAP: usize = 1_000;

impl ArgumentText {
    /// Adds the text that the value becomes.
    pub(super) fn push(&mut self, arg: &PartialArg<'_>, text: &mut String) -> Result<()> {
        let steps = steps(&arg.path).ok_or_else(|| {
            Error::new(
                ErrorKind::BadResponse,
                format!(
                    "the arguments of a tool call have an unknown path: {}",
                    arg.path
                ),
            )
        })?;
        let Some(value) = &arg.value else {
            return Ok(());
        };
        match value {
            Value::String(more) if self.string.as_ref() == Some(&steps) => {
                text.push_str(&inner(more));
            }
            value => {
                self.enter(&steps, text)?;
                match value {
                    Value::Plain(value) => text.push_str(value),
                    Value::String(start) => {
                        text.push('"');
                        text.push_str(&inner(start));
                        self.string = Some(steps);
                    }
                }
            }
        }
        if !arg.continues {
            self.end_string(text);
        }
        Ok(())
    }

    /// Closes everything; the text is complete.
    pub(super) fn finish(mut self, text: &mut String) {
        self.end_string(text);
        while let Some(open) = self.open.pop() {
            text.push(open.bracket());
        }
    }

    fn end_string(&mut self, text: &mut String) {
        if self.string.take().is_some() {
            text.push('"');
        }
    }

    /// Goes to the place of a new value.
    fn enter(&mut self, steps: &[Step], text: &mut String) -> Result<()> {
        self.end_string(text);
        if self.open.is_empty() {
            self.open_for(&steps[0], text);
        }
        let (leaf, containers) = steps.split_last().ok_or_else(out_of_order)?;
        let shared = self
            .path
            .iter()
            .zip(containers)
            .take_while(|(a, b)| a == b)
            .count();
        while self.path.len() > shared {
            self.path.pop();
            if let Some(open) = self.open.pop() {
                text.push(open.bracket());
            }
        }
        for (at, step) in containers.iter().enumerate().skip(shared) {
            self.begin(step, text)?;
            self.path.push(step.clone());
            self.open_for(&steps[at + 1], text);
        }
        self.begin(leaf, text)
    }

    /// Opens the container that a step leads into.
    fn open_for(&mut self, step: &Step, text: &mut String) {
        match step {
            Step::Key(_) => {
                text.push('{');
                self.open.push(Open::Object(HashSet::new()));
            }
            Step::Index(_) => {
                text.push('[');
                self.open.push(Open::Array(0));
            }
        }
    }

    /// Writes what comes before a value of the innermost container.
    fn begin(&mut self, step: &Step, text: &mut String) -> Result<()> {
        match (self.open.last_mut(), step) {
            (Some(Open::Object(seen)), Step::Key(key)) => {
                if !seen.is_empty() {
                    text.push(',');
                }
                if !seen.insert(key.clone()) {
                    return Err(out_of_order());
                }
                let _ = write!(text, "\"{}\":", inner(key));
            }
            (Some(Open::Array(count)), Step::Index(index)) => {
                let gap = index.checked_sub(*count).filter(|gap| *gap <= LARGEST_GAP);
                for _ in 0..gap.ok_or_else(out_of_order)? {
                    text.push_str(if *count == 0 { "null" } else { ",null" });
                    *count += 1;
                }
                if *count > 0 {
                    text.push(',');
                }
                *count += 1;
            }
            _ => return Err(out_of_order()),
        }
        Ok(())
    }
}

impl Open {
    fn bracket(&self) -> char {
        match self {
            Self::Object(_) => '}',
            Self::Array(_) => ']',
        }
    }
}

fn out_of_order() -> Error {
    Error::new(
        ErrorKind::BadResponse,
        "the arguments of a tool call came out of order",
    )
}

/// The text of a JSON string between its quotes.
fn inner(text: &str) -> String {
    let mut out = BytesMut::new();
    write_string(&mut out, text);
    String::from_utf8_lossy(&out[1..out.len() - 1]).into_owned()
}

/// The steps of `$.a.b[0]['c d']`; none for anything else.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if steps.len() >= MAX_DEPTH {
            return None;
        }
        let (step, after) = match rest.strip_prefix('.') {
            Some(name) => {
                let end = name.find(['.', '[']).unwrap_or(name.len());
                (Step::Key(name[..end].to_owned()), &name[end..])
            }
            None => bracketed(rest.strip_prefix('[')?)?,
        };
        steps.push(step);
        rest = after;
    }
    (!steps.is_empty()).then_some(steps)
}

/// `0]…` or `'name']…`, behind the opening bracket.
fn bracketed(rest: &str) -> Option<(Step, &str)> {
    let quote = rest.chars().next()?;
    if quote.is_ascii_digit() {
        let (digits, after) = rest.split_once(']')?;
        return Some((Step::Index(digits.parse().ok()?), after));
    }
    if quote != '\'' && quote != '"' {
        return None;
    }
    let mut name = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => name.push(chars.next()?.1),
            c if c == quote => {
                let after = rest[at + 1..].strip_prefix(']')?;
                return Some((Step::Key(name), after));
            }
            c => name.push(c),
        }
    }
    None
}
