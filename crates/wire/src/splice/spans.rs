//! Records the positions of fields while a body is read, and replaces `model` and `stream`
//! without reading the body again.

use std::borrow::Cow;
use std::ops::Range;

use bytes::{Bytes, BytesMut};
use majordomo_llm::{BodySpans, FieldSpan};

use crate::Outgoing;
use crate::json::{self, Cursor, Object, ReadError, ReadResult, write_string};

/// The fields of smaller bodies are not recorded: reading them again costs less than the
/// list.
const RECORDED: usize = 4_096;

/// The positions found while reading a body.
pub(crate) struct ReadBody {
    /// The positions of an attempt's fields; `None` for an empty object.
    pub(crate) spans: Option<BodySpans>,
    /// The positions of objects and arrays that no reader took.
    pub(crate) skipped: Vec<Range<usize>>,
}

/// Reads the fields of a body with `each`.
pub(crate) fn read_body<'a>(
    body: &'a [u8],
    mut each: impl FnMut(&str, &mut Cursor<'a>) -> ReadResult<()>,
) -> Result<ReadBody, ReadError> {
    let mut spans = BodySpans::default();
    let mut fields = Vec::new();
    let mut recorded = body.len() >= RECORDED;
    let ((), skipped) = json::read_recording(body, |cursor| {
        cursor.object(|key, cursor| {
            let start = cursor.offset();
            each(key, cursor)?;
            if cursor.offset() == start {
                cursor.skip()?;
            }
            let end = cursor.offset();
            match &**key {
                "model" => spans.model = Some(start..end),
                "stream" => spans.stream = Some(start..end),
                _ => {}
            }
            spans.end = end;
            match key {
                Cow::Borrowed(key) if recorded => fields.push(FieldSpan {
                    key: within(body, key),
                    value: start..end,
                }),
                _ => recorded = false,
            }
            Ok(())
        })
    })?;
    if recorded {
        spans.fields = fields.into();
    }
    Ok(ReadBody {
        spans: Some(spans).filter(|spans| spans.end > 0),
        skipped,
    })
}

/// The position of a part within a body.
fn within(body: &[u8], part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).wrapping_sub(body.as_ptr() as usize);
    start..start.wrapping_add(part.len())
}

/// Copies a body with the `model` and `stream` of an attempt. `streams` is the
/// meaning of an absent `stream`.
pub(super) fn replace(
    source: &Bytes,
    spans: &BodySpans,
    to: &Outgoing<'_>,
    streams: bool,
) -> Bytes {
    let mut out = BytesMut::with_capacity(source.len() + to.model.len() + 24);
    let stream = spans.stream.as_ref().filter(|at| {
        let value = source.get(at.start..at.end).unwrap_or_default();
        (value == b"true") != to.stream
    });
    let model = spans.model.as_ref();
    let mut copied = 0;
    let mut replaced: Vec<(&Range<usize>, bool)> = model.into_iter().map(|at| (at, true)).collect();
    replaced.extend(stream.map(|at| (at, false)));
    replaced.sort_by_key(|(at, _)| at.start);
    for (at, is_model) in replaced {
        out.extend_from_slice(source.get(copied..at.start).unwrap_or_default());
        match is_model {
            true => write_string(&mut out, to.model),
            false => out.extend_from_slice(if to.stream { b"true" } else { b"false" }),
        }
        copied = at.end;
    }
    out.extend_from_slice(source.get(copied..spans.end).unwrap_or_default());
    let mut object = Object::resume(&mut out, false);
    if model.is_none() {
        object.string("model", to.model);
    }
    if spans.stream.is_none() && streams != to.stream {
        object.bool("stream", to.stream);
    }
    out.extend_from_slice(source.get(spans.end..).unwrap_or_default());
    out.freeze()
}
