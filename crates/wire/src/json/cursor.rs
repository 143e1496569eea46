//! A single-pass JSON cursor.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use super::skip::{self, unexpected};
use super::{Fault, MAX_DEPTH, ReadResult, number, string};

/// An object key; borrowed unless it contains escapes.
pub(crate) type JsonKey<'a> = Cow<'a, str>;

/// The type of a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonKind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl JsonKind {
    fn describe(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

/// A position in a JSON text. Every method reads the next value and advances
/// past it.
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// Objects and arrays that no reader took, if they are recorded.
    skipped: Option<Rc<RefCell<Vec<Range<usize>>>>>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            depth: 0,
            skipped: None,
        }
    }

    /// Records the objects and arrays that no reader takes.
    pub(super) fn record_skipped(&mut self) {
        self.skipped = Some(Rc::default());
    }

    /// The values that no reader took, in order.
    pub(super) fn take_skipped(&mut self) -> Vec<Range<usize>> {
        let mut skipped = self.skipped.take().map(|it| it.take()).unwrap_or_default();
        skipped.sort_unstable_by_key(|range| range.start);
        skipped
    }

    /// The kind of the next value.
    pub(crate) fn peek(&mut self) -> ReadResult<JsonKind> {
        let bytes = self.text.as_bytes();
        self.at = skip::whitespace(bytes, self.at);
        Ok(match bytes.get(self.at) {
            Some(b'"') => JsonKind::String,
            Some(b'{') => JsonKind::Object,
            Some(b'[') => JsonKind::Array,
            Some(b't' | b'f') => JsonKind::Bool,
            Some(b'n') => JsonKind::Null,
            Some(b'-' | b'0'..=b'9') => JsonKind::Number,
            _ => return Err(unexpected(bytes, self.at, "a value")),
        })
    }

    /// Reads an object, rejecting duplicate keys and too many keys. A value
    /// that `each` does not read is skipped.
    pub(crate) fn object(
        &mut self,
        each: impl FnMut(&JsonKey<'a>, &mut Self) -> ReadResult<()>,
    ) -> ReadResult<()> {
        self.object_keys(each).map(drop)
    }

    /// Like [`Cursor::object`], but also returns the keys, unordered.
    pub(crate) fn object_keys(
        &mut self,
        mut each: impl FnMut(&JsonKey<'a>, &mut Self) -> ReadResult<()>,
    ) -> ReadResult<Vec<JsonKey<'a>>> {
        let mut seen = SeenKeys::default();
        self.entries(|key, cursor| {
            seen.check(&key, cursor)?;
            each(&key, cursor)?;
            seen.add(key);
            Ok(())
        })?;
        seen.check_many(self)
    }

    /// Reads an object of a response, tolerating duplicate keys.
    pub(crate) fn loose_object(
        &mut self,
        mut each: impl FnMut(&JsonKey<'a>, &mut Self) -> ReadResult<()>,
    ) -> ReadResult<()> {
        self.entries(|key, cursor| each(&key, cursor))
    }

    /// Reads an array. An element that `each` does not read is skipped.
    pub(crate) fn array(
        &mut self,
        mut each: impl FnMut(&mut Self) -> ReadResult<()>,
    ) -> ReadResult<()> {
        self.enter(JsonKind::Array)?;
        let mut more = !self.closes(b']');
        while more {
            self.value(&mut each)?;
            more = self.goes_on(b']')?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// Reads an array or `null`.
    pub(crate) fn optional_array(
        &mut self,
        each: impl FnMut(&mut Self) -> ReadResult<()>,
    ) -> ReadResult<()> {
        self.optional(|cursor| cursor.array(each)).map(drop)
    }

    /// Reads a string.
    pub(crate) fn string(&mut self) -> ReadResult<Cow<'a, str>> {
        self.expect(JsonKind::String)?;
        let (value, end) = string::read_string(self.text, self.at + 1)?;
        self.at = end;
        Ok(value)
    }

    /// Reads a non-negative integer.
    pub(crate) fn unsigned(&mut self) -> ReadResult<u64> {
        self.number("a non-negative integer", number::unsigned)
    }

    /// Reads an integer.
    pub(crate) fn signed(&mut self) -> ReadResult<i64> {
        self.number("an integer", number::signed)
    }

    /// Reads a finite number.
    pub(crate) fn float(&mut self) -> ReadResult<f64> {
        self.number("a number", |text| {
            text.parse().ok().filter(|value: &f64| value.is_finite())
        })
    }

    /// Reads a boolean.
    pub(crate) fn bool(&mut self) -> ReadResult<bool> {
        self.expect(JsonKind::Bool)?;
        Ok(self.raw()? == "true")
    }

    /// Reads a value or `null`.
    pub(crate) fn optional<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> ReadResult<T>,
    ) -> ReadResult<Option<T>> {
        match self.peek()? {
            JsonKind::Null => self.raw().map(|_| None),
            _ => read(self).map(Some),
        }
    }

    /// Reads a count; anything else counts as absent.
    pub(crate) fn count(&mut self) -> ReadResult<Option<u64>> {
        let raw = self.raw()?;
        Ok(number::unsigned(raw))
    }

    /// Reads a string; anything else counts as absent.
    pub(crate) fn maybe_string(&mut self) -> ReadResult<Option<Cow<'a, str>>> {
        match self.peek()? {
            JsonKind::String => self.string().map(Some),
            _ => self.skip().map(|()| None),
        }
    }

    /// Reads a string; null and an empty one count as absent.
    pub(crate) fn optional_text(&mut self) -> ReadResult<Option<String>> {
        let text = self.optional(Self::string)?;
        let text = text.filter(|text| !text.is_empty());
        Ok(text.map(Cow::into_owned))
    }

    /// Returns the text of the next value, of any kind.
    pub(crate) fn raw(&mut self) -> ReadResult<&'a str> {
        let bytes = self.text.as_bytes();
        let start = skip::whitespace(bytes, self.at);
        self.at = skip::value(bytes, start, self.depth)?;
        Ok(&self.text[start..self.at])
    }

    /// Skips a value.
    pub(crate) fn skip(&mut self) -> ReadResult<()> {
        let raw = self.raw()?;
        if let Some(skipped) = &self.skipped
            && raw.starts_with(['{', '['])
        {
            let range = self.at - raw.len()..self.at;
            skipped.borrow_mut().push(range);
        }
        Ok(())
    }

    /// Reads a value and also returns its text, without a second pass.
    pub(crate) fn with_raw<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> ReadResult<T>,
    ) -> ReadResult<(T, &'a str)> {
        self.peek()?;
        let start = self.at;
        let value = read(self)?;
        Ok((value, &self.text[start..self.at]))
    }

    /// A second cursor at the same position, for a value whose meaning depends
    /// on a later one.
    pub(crate) fn fork(&self) -> Self {
        Self {
            text: self.text,
            at: self.at,
            depth: self.depth,
            skipped: self.skipped.clone(),
        }
    }

    /// An error at the next value.
    pub(crate) fn fault(&self, what: impl Into<Cow<'static, str>>) -> Fault {
        Fault {
            at: self.at,
            what: what.into(),
        }
    }

    /// The byte offset of the next value.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// Fails unless only whitespace is left.
    pub(super) fn end(&mut self) -> ReadResult<()> {
        let bytes = self.text.as_bytes();
        self.at = skip::whitespace(bytes, self.at);
        match bytes.get(self.at) {
            None => Ok(()),
            Some(_) => Err(unexpected(bytes, self.at, "the end of the input")),
        }
    }

    fn entries(
        &mut self,
        mut each: impl FnMut(JsonKey<'a>, &mut Self) -> ReadResult<()>,
    ) -> ReadResult<()> {
        self.enter(JsonKind::Object)?;
        let mut more = !self.closes(b'}');
        while more {
            let bytes = self.text.as_bytes();
            self.at = skip::whitespace(bytes, self.at);
            if bytes.get(self.at) != Some(&b'"') {
                return Err(unexpected(bytes, self.at, "a key"));
            }
            let (key, end) = string::read_string(self.text, self.at + 1)?;
            self.at = skip::whitespace(bytes, skip::colon(bytes, end)?);
            self.value(|cursor| each(key, cursor))?;
            more = self.goes_on(b'}')?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn value(&mut self, each: impl FnOnce(&mut Self) -> ReadResult<()>) -> ReadResult<()> {
        self.at = skip::whitespace(self.text.as_bytes(), self.at);
        let start = self.at;
        each(self)?;
        if self.at == start {
            self.skip()?;
        }
        Ok(())
    }

    fn enter(&mut self, kind: JsonKind) -> ReadResult<()> {
        self.expect(kind)?;
        if self.depth >= MAX_DEPTH {
            return Err(skip::too_deep(self.at));
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    /// Consumes the closing bracket of an empty container.
    fn closes(&mut self, close: u8) -> bool {
        let bytes = self.text.as_bytes();
        self.at = skip::whitespace(bytes, self.at);
        let closes = bytes.get(self.at) == Some(&close);
        self.at += usize::from(closes);
        closes
    }

    /// Consumes a comma or the closing bracket; true for a comma.
    fn goes_on(&mut self, close: u8) -> ReadResult<bool> {
        let bytes = self.text.as_bytes();
        self.at = skip::whitespace(bytes, self.at);
        let more = match bytes.get(self.at) {
            Some(b',') => true,
            Some(byte) if *byte == close => false,
            _ => return Err(unexpected(bytes, self.at, "a comma or the end")),
        };
        self.at += 1;
        Ok(more)
    }

    fn expect(&mut self, wanted: JsonKind) -> ReadResult<()> {
        match self.peek()? {
            kind if kind == wanted => Ok(()),
            kind => Err(self.mismatch(wanted.describe(), kind)),
        }
    }

    fn mismatch(&self, wanted: &str, found: JsonKind) -> Fault {
        self.fault(format!("expected {wanted}, found {}", found.describe()))
    }

    fn number<T>(&mut self, wanted: &str, read: impl Fn(&str) -> Option<T>) -> ReadResult<T> {
        self.expect(JsonKind::Number)?;
        let start = self.at;
        let raw = self.raw()?;
        read(raw).ok_or_else(|| Fault {
            at: start,
            what: format!("expected {wanted}, found {raw}").into(),
        })
    }
}

/// The keys of one object, to detect duplicates.
#[derive(Default)]
struct SeenKeys<'a>(Vec<JsonKey<'a>>);

impl<'a> SeenKeys<'a> {
    /// Beyond this, sorting once is faster than pairwise comparison.
    const MAX_SCANNED: usize = 32;
    /// More keys than any dialect has. A stored key takes more memory than its
    /// text, so a million keys would take many times the size of the body.
    const MAX_KEYS: usize = 1_000;

    fn check(&self, key: &JsonKey<'a>, cursor: &Cursor<'a>) -> ReadResult<()> {
        if self.0.len() >= Self::MAX_KEYS {
            return Err(cursor.fault("the object has more than 1000 keys"));
        }
        if self.0.len() <= Self::MAX_SCANNED && self.0.contains(key) {
            return Err(cursor.fault("duplicate key"));
        }
        Ok(())
    }

    fn add(&mut self, key: JsonKey<'a>) {
        if self.0.is_empty() {
            self.0.reserve(8);
        }
        self.0.push(key);
    }

    fn check_many(mut self, cursor: &Cursor<'a>) -> ReadResult<Vec<JsonKey<'a>>> {
        if self.0.len() <= Self::MAX_SCANNED {
            return Ok(self.0);
        }
        self.0.sort_unstable();
        match self.0.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Fault {
                at: cursor.at - 1,
                what: format!("duplicate key `{}`", pair[0]).into(),
            }),
            None => Ok(self.0),
        }
    }
}
