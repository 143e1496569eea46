//! Top-level fields as a writer writes them, and what an edit changed in them.

use std::collections::{HashMap, HashSet};

use bytes::{Bytes, BytesMut};
use majordomo_llm::Prompt;

use super::{FieldAction, ModelAndStream, Rewrite, object};
use crate::Outgoing;
use crate::json::Object;

/// Whether the tools are written as a field. They are most of an agent's request, so an
/// edit that leaves them alone compares them as values instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolsField {
    /// Written, since they are new or have changed.
    Written,
    /// Equal in the old and the new prompt: the source's bytes stay.
    Unchanged,
}

impl ToolsField {
    /// Compares the tools of a prompt as it was read and as it is now.
    pub(crate) fn of(old: &Prompt, new: &Prompt) -> Self {
        match old.tools == new.tools && old.hosted_tools == new.hosted_tools {
            true => Self::Unchanged,
            false => Self::Written,
        }
    }
}

/// Fields in writing order, without the conversation, which is large and
/// written directly into the body.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct BodyFields(Vec<(String, BytesMut)>);

impl BodyFields {
    /// Adds a field; the caller writes its value.
    pub(crate) fn value(&mut self, key: &str) -> &mut BytesMut {
        self.0.push((key.to_owned(), BytesMut::new()));
        let last = self.0.len() - 1;
        &mut self.0[last].1
    }

    /// Adds the tools; `write` writes their value, unless it is the same in both lists.
    pub(crate) fn tools(&mut self, tools: ToolsField, write: impl FnOnce(&mut BytesMut)) {
        let out = self.value("tools");
        if tools == ToolsField::Written {
            write(out);
        }
    }

    /// Adds a field whose value formats as JSON.
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

    /// The first value of a key, as JSON.
    pub(crate) fn get(&self, key: &str) -> Option<&[u8]> {
        let found = self.0.iter().find(|(found, _)| found == key);
        found.map(|(_, value)| &value[..])
    }

    /// The first value of each key.
    fn by_key(&self) -> HashMap<&str, &BytesMut> {
        let mut first = HashMap::with_capacity(self.0.len());
        for (key, value) in &self.0 {
            first.entry(key.as_str()).or_insert(value);
        }
        first
    }

    /// Writes all fields.
    pub(crate) fn write(&self, object: &mut Object<'_>) {
        for (key, value) in &self.0 {
            object.value(key).extend_from_slice(value);
        }
    }
}

/// What an edit changed, in terms of the dialect's fields.
pub(crate) struct BodyEdit<'e> {
    /// The fields of the prompt as it was read.
    pub(crate) old: &'e BodyFields,
    /// The fields of the prompt as it is now.
    pub(crate) new: &'e BodyFields,
    /// Groups of synonymous keys; the source keeps the one it uses.
    pub(crate) aliases: &'e [&'e [&'e str]],
    /// The meaning of an absent `stream`.
    pub(crate) streams: bool,
}

impl BodyEdit<'_> {
    /// Writes the body. `conversation` receives the fields that neither list
    /// has, writes those that hold the messages, and keeps all others. `None`
    /// if the source cannot be parsed.
    pub(crate) fn write(
        &self,
        source: &Bytes,
        to: &Outgoing<'_>,
        conversation: impl FnMut(&str, &str, &mut BytesMut) -> FieldAction,
    ) -> Option<Bytes> {
        let text = std::str::from_utf8(source).ok()?;
        let mut out = BytesMut::with_capacity(source.len() + 256);
        let head = ModelAndStream::new(to, self.streams);
        let mut rewriting = BodyRewriter::new(self, Some(head), conversation);
        object(text, &mut out, &mut rewriting).then(|| out.freeze())
    }

    /// Like [`BodyEdit::write`], for an object without `model` and `stream`:
    /// one inside a body, or a body whose URL carries them. Returns false and
    /// writes nothing if the source cannot be parsed.
    pub(crate) fn splice(
        &self,
        source: &str,
        out: &mut BytesMut,
        others: impl FnMut(&str, &str, &mut BytesMut) -> FieldAction,
    ) -> bool {
        object(source, out, &mut BodyRewriter::new(self, None, others))
    }

    /// The representative of a group of synonymous keys.
    fn canonical<'k>(&'k self, key: &'k str) -> &'k str {
        let group = self.aliases.iter().find(|group| group.contains(&key));
        group.and_then(|group| group.first()).unwrap_or(&key)
    }

    /// The first field of each group. Includes the client's unmodelled fields,
    /// so there may be many.
    fn by_meaning<'k>(&'k self, fields: &'k BodyFields) -> HashMap<&'k str, usize> {
        let mut first = HashMap::with_capacity(fields.0.len());
        for (at, (key, _)) in fields.0.iter().enumerate() {
            first.entry(self.canonical(key)).or_insert(at);
        }
        first
    }
}

struct BodyRewriter<'e, C> {
    edit: &'e BodyEdit<'e>,
    head: Option<ModelAndStream<'e>>,
    old: HashMap<&'e str, usize>,
    new: HashMap<&'e str, usize>,
    /// New fields that replaced one in the source.
    met: HashSet<&'e str>,
    conversation: C,
}

impl<'e, C> BodyRewriter<'e, C> {
    fn new(edit: &'e BodyEdit<'e>, head: Option<ModelAndStream<'e>>, conversation: C) -> Self {
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

impl<C: FnMut(&str, &str, &mut BytesMut) -> FieldAction> Rewrite for BodyRewriter<'_, C> {
    fn field(&mut self, key: &str, value: &str, out: &mut BytesMut) -> FieldAction {
        let head = self.head.as_mut();
        if let Some(fate) = head.and_then(|head| head.own(key, value, out)) {
            return fate;
        }
        let meaning = self.edit.canonical(key);
        let old = self.old.get(meaning).map(|at| &self.edit.old.0[*at].1);
        let new = self.new.get(meaning).map(|at| &self.edit.new.0[*at]);
        match (old, new) {
            (None, None) => (self.conversation)(key, value, out),
            (Some(_), None) => FieldAction::Remove,
            (old, Some((name, new))) => {
                self.met.insert(name);
                if old == Some(new) {
                    return FieldAction::Keep;
                }
                out.extend_from_slice(new);
                FieldAction::Replace
            }
        }
    }

    fn end(&mut self, object: &mut Object<'_>) {
        if let Some(head) = &mut self.head {
            head.end(object);
        }
        let old = self.edit.old.by_key();
        for (key, value) in &self.edit.new.0 {
            // An unchanged field that is not in the source has another form
            // there.
            if !self.met.contains(key.as_str()) && old.get(key.as_str()) != Some(&value) {
                object.value(key).extend_from_slice(value);
            }
        }
    }
}
