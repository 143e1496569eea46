//! Assembles `partialArgs`, values at JSON paths, into one JSON text.
//!
//! Vertex AI streams the arguments of a call in the order the model writes them,
//! so the text only grows: a path closes the containers it leaves and opens those
//! it enters. A path into a closed container is an error, since the text before
//! it was already emitted.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write;

use bytes::BytesMut;
use majordomo_llm::{Error, ErrorKind, Result};

use crate::json::{Cursor, JsonKind, MAX_DEPTH, ReadResult, write_string};

/// One element of `partialArgs`: a value at a JSON path.
#[derive(Default)]
pub(super) struct PartialArg<'a> {
    path: Cow<'a, str>,
    value: Option<PartialValue<'a>>,
    /// `willContinue`: more of the same string follows.
    continues: bool,
}

enum PartialValue<'a> {
    String(Cow<'a, str>),
    /// A number, boolean or null, as JSON.
    Scalar(&'a str),
}

impl<'a> PartialArg<'a> {
    pub(super) fn read(cursor: &mut Cursor<'a>) -> ReadResult<Self> {
        let mut arg = Self::default();
        cursor.loose_object(|key, cursor| {
            match (&**key, cursor.peek()?) {
                ("jsonPath", JsonKind::String) => arg.path = cursor.string()?,
                ("stringValue", JsonKind::String) => {
                    arg.value = Some(PartialValue::String(cursor.string()?));
                }
                ("numberValue", JsonKind::Number) | ("boolValue", JsonKind::Bool) => {
                    arg.value = Some(PartialValue::Scalar(cursor.raw()?));
                }
                ("nullValue", _) => arg.value = Some(PartialValue::Scalar("null")),
                ("willContinue", JsonKind::Bool) => arg.continues = cursor.bool()?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(arg)
    }
}

#[derive(Clone, Debug, PartialEq)]
enum PathStep {
    Key(String),
    Index(usize),
}

/// An open container.
enum OpenContainer {
    Object(HashSet<String>),
    /// The number of elements so far.
    Array(usize),
}

/// The open containers and the open string of the text so far.
#[derive(Default)]
pub(super) struct ArgumentText {
    open: Vec<OpenContainer>,
    /// The step into each open container except the outermost.
    path: Vec<PathStep>,
    string: Option<Vec<PathStep>>,
}

/// Maximum number of array elements that a path may skip.
const MAX_INDEX_GAP: usize = 1_000;

impl ArgumentText {
    /// Appends the JSON of a value to `text`.
    pub(super) fn push(&mut self, arg: &PartialArg<'_>, text: &mut String) -> Result<()> {
        let steps = parse_path(&arg.path).ok_or_else(|| {
            Error::new(
                ErrorKind::BadResponse,
                format!(
                    "unsupported JSON path in the arguments of a tool call: {}",
                    arg.path
                ),
            )
        })?;
        let Some(value) = &arg.value else {
            return Ok(());
        };
        match value {
            PartialValue::String(more) if self.string.as_ref() == Some(&steps) => {
                text.push_str(&escape(more));
            }
            value => {
                self.enter(&steps, text)?;
                match value {
                    PartialValue::Scalar(value) => text.push_str(value),
                    PartialValue::String(start) => {
                        text.push('"');
                        text.push_str(&escape(start));
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

    /// Closes everything that is open.
    pub(super) fn finish(mut self, text: &mut String) {
        self.end_string(text);
        while let Some(open) = self.open.pop() {
            text.push(open.closing_bracket());
        }
    }

    fn end_string(&mut self, text: &mut String) {
        if self.string.take().is_some() {
            text.push('"');
        }
    }

    /// Closes and opens containers up to a new value, and writes its key.
    fn enter(&mut self, steps: &[PathStep], text: &mut String) -> Result<()> {
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
                text.push(open.closing_bracket());
            }
        }
        for (at, step) in containers.iter().enumerate().skip(shared) {
            self.begin_value(step, text)?;
            self.path.push(step.clone());
            self.open_for(&steps[at + 1], text);
        }
        self.begin_value(leaf, text)
    }

    /// Opens the container that a step indexes.
    fn open_for(&mut self, step: &PathStep, text: &mut String) {
        match step {
            PathStep::Key(_) => {
                text.push('{');
                self.open.push(OpenContainer::Object(HashSet::new()));
            }
            PathStep::Index(_) => {
                text.push('[');
                self.open.push(OpenContainer::Array(0));
            }
        }
    }

    /// Writes the comma and the key before a value of the innermost container.
    fn begin_value(&mut self, step: &PathStep, text: &mut String) -> Result<()> {
        match (self.open.last_mut(), step) {
            (Some(OpenContainer::Object(seen)), PathStep::Key(key)) => {
                if !seen.is_empty() {
                    text.push(',');
                }
                if !seen.insert(key.clone()) {
                    return Err(out_of_order());
                }
                let _ = write!(text, "\"{}\":", escape(key));
            }
            (Some(OpenContainer::Array(count)), PathStep::Index(index)) => {
                let gap = index
                    .checked_sub(*count)
                    .filter(|gap| *gap <= MAX_INDEX_GAP);
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

impl OpenContainer {
    fn closing_bracket(&self) -> char {
        match self {
            Self::Object(_) => '}',
            Self::Array(_) => ']',
        }
    }
}

fn out_of_order() -> Error {
    Error::new(
        ErrorKind::BadResponse,
        "the arguments of a tool call arrived out of order",
    )
}

/// Escapes a string as JSON, without the quotes.
fn escape(text: &str) -> String {
    let mut out = BytesMut::new();
    write_string(&mut out, text);
    String::from_utf8_lossy(&out[1..out.len() - 1]).into_owned()
}

/// Parses a path like `$.a.b[0]['c d']`; none if unsupported.
fn parse_path(path: &str) -> Option<Vec<PathStep>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if steps.len() >= MAX_DEPTH {
            return None;
        }
        let (step, after) = match rest.strip_prefix('.') {
            Some(name) => {
                let end = name.find(['.', '[']).unwrap_or(name.len());
                (PathStep::Key(name[..end].to_owned()), &name[end..])
            }
            None => parse_bracket(rest.strip_prefix('[')?)?,
        };
        steps.push(step);
        rest = after;
    }
    (!steps.is_empty()).then_some(steps)
}

/// Parses `0]…` or `'name']…`, after the opening bracket.
fn parse_bracket(rest: &str) -> Option<(PathStep, &str)> {
    let quote = rest.chars().next()?;
    if quote.is_ascii_digit() {
        let (digits, after) = rest.split_once(']')?;
        return Some((PathStep::Index(digits.parse().ok()?), after));
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
                return Some((PathStep::Key(name), after));
            }
            c => name.push(c),
        }
    }
    None
}
