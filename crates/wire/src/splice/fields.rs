//! Top-level fields as a writer writes them, and an edit's changes to them.

use bytes::{Bytes, BytesMut};
use majordomo_llm::{BodySpans, Prompt};

use super::object::recorded;
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

    /// Writes all fields.
    pub(crate) fn write(&self, object: &mut Object<'_>) {
        for (key, value) in &self.0 {
            object.value(key).extend_from_slice(value);
        }
    }
}

/// The first position of each name among fields. Sorted, since most requests have a few and
/// some have hundreds that only their client knows.
struct FieldIndex<'k>(Vec<(&'k str, usize)>);

impl<'k> FieldIndex<'k> {
    fn new(fields: &'k BodyFields, name: impl Fn(&'k str) -> &'k str) -> Self {
        let keys = fields.0.iter().map(|(key, _)| name(key));
        let mut names: Vec<_> = keys.zip(0..).collect();
        names.sort_unstable();
        Self(names)
    }

    fn get(&self, name: &str) -> Option<usize> {
        let first = self.0.partition_point(|(known, _)| *known < name);
        let (found, at) = self.0.get(first)?;
        (*found == name).then_some(*at)
    }
}

/// The changes of an edit, in terms of the dialect's fields.
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
    /// Writes the body, by its recorded spans if there are any. `conversation`
    /// receives the fields that neither list has, writes those that hold the
    /// messages, and keeps all others. `None` if the source cannot be parsed.
    pub(crate) fn write(
        &self,
        source: &Bytes,
        spans: Option<&BodySpans>,
        to: &Outgoing<'_>,
        conversation: impl FnMut(&str, &str, &mut BytesMut) -> FieldAction,
    ) -> Option<Bytes> {
        let text = std::str::from_utf8(source).ok()?;
        let mut out = BytesMut::with_capacity(source.len() + 256);
        let head = ModelAndStream::new(to, self.streams);
        let mut rewriting = BodyRewriter::new(self, Some(head), conversation);
        let written = match spans.map(|spans| &*spans.fields) {
            None | Some([]) => object(text, &mut out, &mut rewriting),
            Some(fields) => recorded(text, fields, &mut out, &mut rewriting),
        };
        written.then(|| out.freeze())
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

    /// The first field of each group.
    fn by_meaning<'k>(&'k self, fields: &'k BodyFields) -> FieldIndex<'k> {
        FieldIndex::new(fields, |key| self.canonical(key))
    }
}

struct BodyRewriter<'e, C> {
    edit: &'e BodyEdit<'e>,
    head: Option<ModelAndStream<'e>>,
    old: FieldIndex<'e>,
    new: FieldIndex<'e>,
    /// Whether each new field is the first of its group and replaced one in the source.
    met: Vec<bool>,
    conversation: C,
}

impl<'e, C> BodyRewriter<'e, C> {
    fn new(edit: &'e BodyEdit<'e>, head: Option<ModelAndStream<'e>>, conversation: C) -> Self {
        Self {
            edit,
            head,
            old: edit.by_meaning(edit.old),
            new: edit.by_meaning(edit.new),
            met: vec![false; edit.new.0.len()],
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
        let old = self.old.get(meaning).map(|at| &self.edit.old.0[at].1);
        match (old, self.new.get(meaning)) {
            (None, None) => (self.conversation)(key, value, out),
            (Some(_), None) => FieldAction::Remove,
            (old, Some(at)) => {
                self.met[at] = true;
                let new = &self.edit.new.0[at].1;
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
        let old = FieldIndex::new(self.edit.old, |key| key);
        let new = FieldIndex::new(self.edit.new, |key| key);
        for (key, value) in &self.edit.new.0 {
            // An unchanged field that is not in the source has another form
            // there.
            let met = new.get(key).is_some_and(|at| self.met[at]);
            let known = old.get(key).map(|at| &self.edit.old.0[at].1);
            if !met && known != Some(value) {
                object.value(key).extend_from_slice(value);
            }
        }
    }
}
