//! Top-level fields as a writer writes them, and what an edit changed in them.

use std::collections::{HashMap, HashSet};

use bytes::{Bytes, BytesMut};

use super::{Fate, Head, Rewrite, object};
use crate::Outgoing;
use crate::json::Object;

/// Fields in the order of writing. The conversation is not among them: it is
/// large and is written straight into the body.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Fields(Vec<(String, BytesMut)>);

impl Fields {
    /// Adds a field; the caller writes its value.
    pub(crate) fn value(&mut self, key: &str) -> &mut BytesMut {
        self.0.push((key.to_owned(), BytesMut::new()));
        let last = self.0.len() - 1;
        &mut self.0[last].1
    }

    /// Adds a field with a value that prints as JSON.
    pub(crate) fn put(&mut self, key: &str, value: impl std::fmt::Display) {
        use std::fmt::Write;
        let _ = write!(self.value(key), "{value}");
    }

    /// Adds a string.
    pub(crate) fn string(&mut self, key: &str, value: &str) {
        crate::json::write_string(self.value(key), value);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first value of each key.
    fn by_key(&self) -> HashMap<&str, &BytesMut> {
        let mut first = HashMap::with_capacity(self.0.len());
        for (key, value) in &self.0 {
            first.entry(key.as_str()).or_insert(value);
        }
        first
    }

    /// Writes all of them.
    pub(crate) fn write(&self, object: &mut Object<'_>) {
        for (key, value) in &self.0 {
            object.value(key).extend_from_slice(value);
        }
    }
}

/// What an edit changed, as the dialect's writer sees it.
pub(crate) struct Edit<'e> {
    /// The fields of the prompt as it was read.
    pub(crate) old: &'e Fields,
    /// The fields of the prompt as it is.
    pub(crate) new: &'e Fields,
    /// Groups of keys that mean the same: the source's own choice stands.
    pub(crate) aliases: &'e [&'e [&'e str]],
    /// What the absence of `stream` means.
    pub(crate) streams: bool,
}

impl Edit<'_> {
    /// Writes the body. `conversation` gets the fields that neither list has
    /// and writes those that hold the messages; it keeps all others. Nothing
    /// when the source cannot be walked.
    pub(crate) fn write(
        &self,
        source: &Bytes,
        to: &Outgoing<'_>,
        conversation: impl FnMut(&str, &str, &mut BytesMut) -> Fate,
    ) -> Option<Bytes> {
        let text = std::str::from_utf8(source).ok()?;
        let mut out = BytesMut::with_capacity(source.len() + 256);
        let head = Head::new(to, self.streams);
        let mut rewriting = Rewriting::new(self, Some(head), conversation);
        object(text, &mut out, &mut rewriting).then(|| out.freeze())
    }

    /// Like [`Edit::write`], for an object without `model` and `stream`: one
    /// inside a body, or a body whose URL has them. False, and nothing written,
    /// when the source cannot be walked.
    pub(crate) fn splice(
        &self,
        source: &str,
        out: &mut BytesMut,
        others: impl FnMut(&str, &str, &mut BytesMut) -> Fate,
    ) -> bool {
        object(source, out, &mut Rewriting::new(self, None, others))
    }

    /// The one of the keys that mean the same which stands for all of them.
    fn canonical<'k>(&'k self, key: &'k str) -> &'k str {
        let group = self.aliases.iter().find(|group| group.contains(&key));
        group.and_then(|group| group.first()).unwrap_or(&key)
    }

    /// The first field of each meaning. A client's own fields are among them, so
    /// there may be many.
    fn by_meaning<'k>(&'k self, fields: &'k Fields) -> HashMap<&'k str, usize> {
        let mut first = HashMap::with_capacity(fields.0.len());
        for (at, (key, _)) in fields.0.iter().enumerate() {
            first.entry(self.canonical(key)).or_insert(at);
        }
        first
    }
}

struct Rewriting<'e, C> {
    edit: &'e Edit<'e>,
    head: Option<Head<'e>>,
    old: HashMap<&'e str, usize>,
    new: HashMap<&'e str, usize>,
    /// New fields whose place in the source was found.
    met: HashSet<&'e str>,
    conversation: C,
}

impl<'e, C> Rewriting<'e, C> {
    fn new(edit: &'e Edit<'e>, head: Option<Head<'e>>, conversation: C) -> Self {
        Self {
            edit,
            head,
            old: edit.by_meaning(edit.old),
            new: edit.by_meaning(edit.new),
            met: HashSet::new(),
            conversation,
        }
    }
}

impl<C: FnMut(&str, &str, &mut BytesMut) -> Fate> Rewrite for Rewriting<'_, C> {
    fn field(&mut self, key: &str, value: &str, out: &mut BytesMut) -> Fate {
        let head = self.head.as_mut();
        if let Some(fate) = head.and_then(|head| head.own(key, value, out)) {
            return fate;
        }
        let meaning = self.edit.canonical(key);
        let old = self.old.get(meaning).map(|at| &self.edit.old.0[*at].1);
        let new = self.new.get(meaning).map(|at| &self.edit.new.0[*at]);
        match (old, new) {
            (None, None) => (self.conversation)(key, value, out),
            (Some(_), None) => Fate::Remove,
            (old, Some((name, new))) => {
                self.met.insert(name);
                if old == Some(new) {
                    return Fate::Keep;
                }
                out.extend_from_slice(new);
                Fate::Replace
            }
        }
    }

    fn end(&mut self, object: &mut Object<'_>) {
        if let Some(head) = &mut self.head {
            head.end(object);
        }
        let old = self.edit.old.by_key();
        for (key, value) in &self.edit.new.0 {
            // A field that is the same but has no place of its own was said in another way.
            if !self.met.contains(key.as_str()) && old.get(key.as_str()) != Some(&value) {
                object.value(key).extend_from_slice(value);
            }
        }
    }
}
