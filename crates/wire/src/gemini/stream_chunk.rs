//! Reads a `GenerateContentResponse`: a complete response or a stream chunk.

use std::borrow::Cow;

use majordomo_llm::Usage;

use super::read_part::{self, GeminiPartFields};
use super::{finish, usage};
use crate::json::{Cursor, JsonKind, ReadResult, Rest};

/// The fields of a response, with the parts of the selected candidate.
#[derive(Default)]
pub(super) struct GeminiStreamChunk<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) model: Option<Cow<'a, str>>,
    pub(super) parts: Vec<(GeminiPartFields<'a>, &'a str)>,
    pub(super) finish_reason: Option<Cow<'a, str>>,
    pub(super) usage: Option<Usage>,
    /// Whether `promptFeedback` has a `blockReason`.
    pub(super) blocked: bool,
    /// Whether there is a candidate.
    pub(super) has_candidate: bool,
    pub(super) error: Option<&'a str>,
}

/// Collects unmodelled fields, which only complete responses keep.
pub(super) type UnmodelledFields<'r> = Option<&'r mut Rest>;

impl<'a> GeminiStreamChunk<'a> {
    /// Reads one field. `selected` is the index of the candidate to read: that of
    /// the first one seen.
    pub(super) fn read_field(
        &mut self,
        key: &str,
        cursor: &mut Cursor<'a>,
        selected: &mut Option<u64>,
        mut unmodelled: UnmodelledFields<'_>,
    ) -> ReadResult<()> {
        match (key, cursor.peek()?) {
            ("responseId", JsonKind::String) => self.id = Some(cursor.string()?),
            ("modelVersion", JsonKind::String) => self.model = Some(cursor.string()?),
            ("usageMetadata", _) => self.usage = usage::read_usage(cursor)?.or(self.usage),
            ("error", JsonKind::Object | JsonKind::String) => self.error = Some(cursor.raw()?),
            ("candidates", JsonKind::Array) => cursor.array(|cursor| {
                if cursor.peek()? == JsonKind::Object {
                    self.read_candidate(cursor, selected, unmodelled.as_deref_mut())?;
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
                if let Some(unmodelled) = unmodelled {
                    unmodelled.push(key, crate::json::keep(raw));
                }
            }
            ("responseId" | "modelVersion" | "error" | "candidates", _) => {}
            _ => {
                if let Some(unmodelled) = unmodelled {
                    unmodelled.take(key, cursor)?;
                }
            }
        }
        Ok(())
    }

    fn read_candidate(
        &mut self,
        cursor: &mut Cursor<'a>,
        selected: &mut Option<u64>,
        mut unmodelled: UnmodelledFields<'_>,
    ) -> ReadResult<()> {
        let mut index = 0;
        let mut parts = Vec::new();
        let mut finish_reason = None;
        let mut rest = Rest::default();
        cursor.loose_object(|key, cursor| {
            match (&**key, cursor.peek()?) {
                ("index", JsonKind::Number) => index = cursor.count()?.unwrap_or_default(),
                ("content", JsonKind::Object) => {
                    cursor.loose_object(|key, cursor| match (&**key, cursor.peek()?) {
                        ("parts", JsonKind::Array) => cursor.array(|cursor| {
                            parts.push(read_part::read_part(cursor)?);
                            Ok(())
                        }),
                        _ => Ok(()),
                    })?;
                }
                ("finishReason", _) => finish_reason = finish::read_finish_reason_name(cursor)?,
                ("content", _) => {}
                _ if unmodelled.is_some() => rest.take(format!("candidate.{key}"), cursor)?,
                _ => {}
            }
            Ok(())
        })?;
        if *selected.get_or_insert(index) == index {
            self.has_candidate = true;
            self.parts = parts;
            self.finish_reason = finish_reason;
            if let Some(unmodelled) = &mut unmodelled {
                unmodelled.append(rest);
            }
        }
        Ok(())
    }
}
