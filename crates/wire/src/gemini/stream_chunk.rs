//! One `GenerateContentResponse`: a whole answer, or a chunk of a stream.

use std::borrow::Cow;

use majordomo_llm::Usage;

use super::read_part::{self, PartFields};
use super::{finish, usage};
use crate::json::{Cursor, JsonKind, ReadResult, Rest};

/// What it says about the candidate that is read.
#[derive(Default)]
pub(super) struct Chunk<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) model: Option<Cow<'a, str>>,
    pub(super) parts: Vec<(PartFields<'a>, &'a str)>,
    pub(super) finish: Option<Cow<'a, str>>,
    pub(super) usage: Option<Usage>,
    /// Whether the prompt was refused before anything was said.
    pub(super) blocked: bool,
    /// Whether there was a candidate at all.
    pub(super) answered: bool,
    pub(super) error: Option<&'a str>,
}

/// Which fields beside the modelled ones are kept: those of whole answers.
pub(super) type Kept<'r> = Option<&'r mut Rest>;

impl<'a> Chunk<'a> {
    /// Reads one field; `wanted` is the candidate that is read, once it is known.
    pub(super) fn read(
        &mut self,
        key: &str,
        cursor: &mut Cursor<'a>,
        wanted: &mut Option<u64>,
        mut kept: Kept<'_>,
    ) -> ReadResult<()> {
        match (key, cursor.peek()?) {
            ("responseId", JsonKind::String) => self.id = Some(cursor.string()?),
            ("modelVersion", JsonKind::String) => self.model = Some(cursor.string()?),
            ("usageMetadata", _) => self.usage = usage::read(cursor)?.or(self.usage),
            ("error", JsonKind::Object | JsonKind::String) => self.error = Some(cursor.raw()?),
            ("candidates", JsonKind::Array) => cursor.array(|cursor| {
                if cursor.peek()? == JsonKind::Object {
                    self.candidate(cursor, wanted, kept.as_deref_mut())?;
                }
                Ok(())
            })?,
            ("promptFeedback", JsonKind::Object) => {
                let ((), raw) = cursor.with_raw(|cursor| {
                    cursor.loose_object(|key, cursor| {
                        self.blocked |= key == "blockReason" && cursor.peek()? != JsonKind::Null;
                        Ok(())
                    })
                })?;
                if let Some(kept) = kept {
                    kept.push(key, crate::json::keep(raw));
                }
            }
            ("responseId" | "modelVersion" | "error" | "candidates", _) => {}
            _ => {
                if let Some(kept) = kept {
                    kept.take(key, cursor)?;
                }
            }
        }
        Ok(())
    }

    fn candidate(
        &mut self,
        cursor: &mut Cursor<'a>,
        wanted: &mut Option<u64>,
        mut kept: Kept<'_>,
    ) -> ReadResult<()> {
        let mut index = 0;
        let mut parts = Vec::new();
        let mut finish = None;
        let mut rest = Rest::default();
        cursor.loose_object(|key, cursor| {
            match (&**key, cursor.peek()?) {
                ("index", JsonKind::Number) => index = cursor.count()?.unwrap_or_default(),
                ("content", JsonKind::Object) => {
                    cursor.loose_object(|key, cursor| match (&**key, cursor.peek()?) {
                        ("parts", JsonKind::Array) => cursor.array(|cursor| {
                            parts.push(read_part::fields(cursor)?);
                            Ok(())
                        }),
                        _ => Ok(()),
                    })?;
                }
                ("finishReason", _) => finish = finish::word(cursor)?,
                ("content", _) => {}
                _ if kept.is_some() => rest.take(format!("candidate.{key}"), cursor)?,
                _ => {}
            }
            Ok(())
        })?;
        if *wanted.get_or_insert(index) == index {
            self.answered = true;
            self.parts = parts;
            self.finish = finish;
            if let Some(kept) = &mut kept {
                kept.append(rest);
            }
        }
        Ok(())
    }
}
