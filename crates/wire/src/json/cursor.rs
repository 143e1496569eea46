//! Walks a JSON text once, from front to back.

use std::borrow::Cow;

use super::skip::{self, unexpected};
use super::{Fault, MAX_DEPTH, Read, number, string};

/// A key of an object; borrowed unless it was written with escapes.
pub(crate) type Key<'a> = Cow<'a, str>;

/// What kind of value comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl Kind {
    fn describe(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "true or false",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

/// A position in a JSON text. Every method reads the value that comes next and
/// leaves the cursor behind it.
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            depth: 0,
        }
    }

    /// The kind of the next value.
    pub(crate) fn peek(&mut self) -> Read<Kind> {
        let bytes = self.text.as_bytes();
        self.at = skip::whitespace(bytes, self.at);
        Ok(match bytes.get(self.at) {
            Some(b'"') => Kind::String,
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'n') => Kind::Null,
            Some(b'-' | b'0'..=b'9') => Kind::Number,
            _ => return Err(unexpected(bytes, self.at, "a value")),
        })
    }

    /// An object of not too many keys, none of which may come twice. A value that
    /// `each` leaves alone is passed over.
    pub(crate) fn object(&mut self, each: impl FnMut(&Key<'a>, &mut Self) -> Read<()>) -> Read<()> {
        self.object_keys(each).map(drop)
    }

    /// Like [`Cursor::object`], and gives the keys, in no order.
    pub(crate) fn object_keys(
        &mut self,
        mut each: impl FnMut(&Key<'a>, &mut Self) -> Read<()>,
    ) -> Read<Vec<Key<'a>>> {
        let mut seen = SeenKeys::default();
        self.entries(|key, cursor| {
            seen.check(&key, cursor)?;
            each(&key, cursor)?;
            seen.add(key);
            Ok(())
        })?;
        seen.check_many(self)
    }

    /// An object of an answer: a key that comes twice is the sender's business.
    pub(crate) fn loose_object(
        &mut self,
        mut each: impl FnMut(&Key<'a>, &mut Self) -> Read<()>,
    ) -> Read<()> {
        self.entries(|key, cursor| each(&key, cursor))
    }

    /// An array, element by element. An element that `each` leaves alone is passed over.
    pub(crate) fn array(&mut self, mut each: impl FnMut(&mut Self) -> Read<()>) -> Read<()> {
        self.enter(Kind::Array)?;
        let mut more = !self.closes(b']');
        while more {
            self.value(&mut each)?;
            more = self.goes_on(b']')?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// A string.
    pub(crate) fn string(&mut self) -> Read<Cow<'a, str>> {
        self.expect(Kind::String)?;
        let (value, end) = string::read(self.text, self.at + 1)?;
        self.at = end;
        Ok(value)
    }

    /// A number in the range of a count.
    pub(crate) fn unsigned(&mut self) -> Read<u64> {
        self.number("a whole number that is not negative", number::unsigned)
    }

    /// A whole number.
    pub(crate) fn signed(&mut self) -> Read<i64> {
        self.number("a whole number", number::signed)
    }

    /// Any number.
    pub(crate) fn float(&mut self) -> Read<f64> {
        self.number("a number", |text| {
            text.parse().ok().filter(|value: &f64| value.is_finite())
        })
    }

    /// `true` or `false`.
    pub(crate) fn bool(&mut self) -> Read<bool> {
        self.expect(Kind::Bool)?;
        Ok(self.raw()? == "true")
    }

    /// A value or `null`.
    pub(crate) fn optional<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Read<T>,
    ) -> Read<Option<T>> {
        match self.peek()? {
            Kind::Null => self.raw().map(|_| None),
            _ => read(self).map(Some),
        }
    }

    /// A count where a provider gives one; anything else counts as absent.
    pub(crate) fn count(&mut self) -> Read<Option<u64>> {
        let raw = self.raw()?;
        Ok(number::unsigned(raw))
    }

    /// A string where a provider gives one; anything else counts as absent.
    pub(crate) fn maybe_string(&mut self) -> Read<Option<Cow<'a, str>>> {
        match self.peek()? {
            Kind::String => self.string().map(Some),
            _ => self.raw().map(|_| None),
        }
    }

    /// The text of the next value, whatever it is.
    pub(crate) fn raw(&mut self) -> Read<&'a str> {
        let bytes = self.text.as_bytes();
        let start = skip::whitespace(bytes, self.at);
        self.at = skip::value(bytes, start, self.depth)?;
        Ok(&self.text[start..self.at])
    }

    /// Reads a value and gives its text, too, without a second pass.
    pub(crate) fn with_raw<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Read<T>,
    ) -> Read<(T, &'a str)> {
        self.peek()?;
        let start = self.at;
        let value = read(self)?;
        Ok((value, &self.text[start..self.at]))
    }

    /// A second cursor at the same place, for a value whose meaning is known
    /// only when what comes behind it is.
    pub(crate) fn fork(&self) -> Self {
        Self { ..*self }
    }

    /// An error at the next value.
    pub(crate) fn fault(&self, what: impl Into<Cow<'static, str>>) -> Fault {
        Fault {
            at: self.at,
            what: what.into(),
        }
    }

    /// Where the next value may begin, as a byte offset.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// Makes sure that nothing but white space is left.
    pub(super) fn end(&mut self) -> Read<()> {
        let bytes = self.text.as_bytes();
        self.at = skip::whitespace(bytes, self.at);
        match bytes.get(self.at) {
            None => Ok(()),
            Some(_) => Err(unexpected(bytes, self.at, "the end of the text")),
        }
    }

    fn entries(&mut self, mut each: impl FnMut(Key<'a>, &mut Self) -> Read<()>) -> Read<()> {
        self.enter(Kind::Object)?;
        let mut more = !self.closes(b'}');
        while more {
            let bytes = self.text.as_bytes();
            self.at = skip::whitespace(bytes, self.at);
            if bytes.get(self.at) != Some(&b'"') {
                return Err(unexpected(bytes, self.at, "a key"));
            }
            let (key, end) = string::read(self.text, self.at + 1)?;
            self.at = skip::whitespace(bytes, skip::colon(bytes, end)?);
            self.value(|cursor| each(key, cursor))?;
            more = self.goes_on(b'}')?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn value(&mut self, each: impl FnOnce(&mut Self) -> Read<()>) -> Read<()> {
        self.at = skip::whitespace(self.text.as_bytes(), self.at);
        let start = self.at;
        each(self)?;
        if self.at == start {
            self.raw()?;
        }
        Ok(())
    }

    fn enter(&mut self, kind: Kind) -> Read<()> {
        self.expect(kind)?;
        if self.depth >= MAX_DEPTH {
            return Err(skip::too_deep(self.at));
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    /// Takes the closing bracket of an empty container.
    fn closes(&mut self, close: u8) -> bool {
        let bytes = self.text.as_bytes();
        self.at = skip::whitespace(bytes, self.at);
        let closes = bytes.get(self.at) == Some(&close);
        self.at += usize::from(closes);
        closes
    }

    /// Takes a comma or the closing bracket; tells which.
    fn goes_on(&mut self, close: u8) -> Read<bool> {
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

    fn expect(&mut self, wanted: Kind) -> Read<()> {
        match self.peek()? {
            kind if kind == wanted => Ok(()),
            kind => Err(self.mismatch(wanted.describe(), kind)),
        }
    }

    fn mismatch(&self, wanted: &str, found: Kind) -> Fault {
        self.fault(format!("expected {wanted}, found {}", found.describe()))
    }

    fn number<T>(&mut self, wanted: &str, read: impl Fn(&str) -> Option<T>) -> Read<T> {
        self.expect(Kind::Number)?;
        let start = self.at;
        let raw = self.raw()?;
        read(raw).ok_or_else(|| Fault {
            at: start,
            what: format!("expected {wanted}, found {raw}").into(),
        })
    }
}

/// The keys of one object, to find one that comes twice.
#[derive(Default)]
struct SeenKeys<'a>(Vec<Key<'a>>);

impl<'a> SeenKeys<'a> {
    /// Beyond this, comparing each with each would be slower than sorting once.
    const FEW: usize = 32;
    /// More than any dialect has. What is kept of a key takes more than its text,
    /// so a million of them would take many times the body's size.
    const MOST: usize = 1_000;

    fn check(&self, key: &Key<'a>, cursor: &Cursor<'a>) -> Read<()> {
        if self.0.len() >= Self::MOST {
            return Err(cursor.fault("the object has more than 1000 keys"));
        }
        if self.0.len() <= Self::FEW && self.0.contains(key) {
            return Err(cursor.fault("this key comes twice"));
        }
        Ok(())
    }

    fn add(&mut self, key: Key<'a>) {
        if self.0.is_empty() {
            self.0.reserve(8);
        }
        self.0.push(key);
    }

    fn check_many(mut self, cursor: &Cursor<'a>) -> Read<Vec<Key<'a>>> {
        if self.0.len() <= Self::FEW {
            return Ok(self.0);
        }
        self.0.sort_unstable();
        match self.0.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Fault {
                at: cursor.at - 1,
                what: format!("the key `{}` comes twice", pair[0]).into(),
            }),
            None => Ok(self.0),
        }
    }
}
