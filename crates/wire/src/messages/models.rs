//! Model lists.

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Capabilities, ModelInfo, Result};

use crate::json::{self, Cursor, Kind, Object, Read, ReadError, object};

/// Reads `{"data": [...]}` with each model's limits and capabilities.
pub(super) fn read(body: &[u8]) -> Result<Vec<ModelInfo>> {
    let mut models = Vec::new();
    json::read(body, |cursor| {
        cursor.loose_object(|key, cursor| match (&**key, cursor.peek()?) {
            ("data", Kind::Array) => cursor.array(|cursor| model(cursor, &mut models)),
            _ => Ok(()),
        })
    })
    .map_err(ReadError::in_answer)?;
    Ok(models)
}

fn model(cursor: &mut Cursor<'_>, models: &mut Vec<ModelInfo>) -> Read<()> {
    let mut id = None;
    let mut known = Known::default();
    cursor.loose_object(|key, cursor| {
        match (&**key, cursor.peek()?) {
            ("id", _) => id = cursor.maybe_string()?,
            ("max_input_tokens", _) => known.window = cursor.count()?,
            ("max_tokens", _) => known.output = cursor.count()?,
            ("capabilities", Kind::Object) => {
                cursor.loose_object(|key, cursor| match (&**key, cursor.peek()?) {
                    ("image_input", Kind::Object) => supported(cursor, &mut known.images),
                    ("structured_outputs", Kind::Object) => {
                        supported(cursor, &mut known.structured)
                    }
                    _ => Ok(()),
                })?
            }
            _ => {}
        }
        Ok(())
    })?;
    if let Some(id) = id {
        models.push(ModelInfo {
            id: id.into_owned(),
            capabilities: known.into_capabilities(),
        });
    }
    Ok(())
}

/// `{"supported": true}`.
fn supported(cursor: &mut Cursor<'_>, known: &mut Option<bool>) -> Read<()> {
    cursor.loose_object(|key, cursor| match (&**key, cursor.peek()?) {
        ("supported", Kind::Bool) => {
            *known = Some(cursor.bool()?);
            Ok(())
        }
        _ => Ok(()),
    })
}

/// What a list says about a model.
#[derive(Default, PartialEq)]
struct Known {
    window: Option<u64>,
    output: Option<u64>,
    images: Option<bool>,
    structured: Option<bool>,
}

impl Known {
    fn into_capabilities(self) -> Option<Capabilities> {
        if self == Self::default() {
            return None;
        }
        let unknown = Capabilities::default();
        Some(Capabilities {
            images: unknown
                .images
                .clone()
                .filter(|_| self.images != Some(false)),
            structured: self.structured.unwrap_or(unknown.structured),
            context_window: self.window,
            max_output: self.output,
            ..unknown
        })
    }
}

/// Writes Anthropic's list, all of it on one page.
pub(super) fn write(models: &[ModelInfo], created: u64) -> Bytes {
    let created = rfc3339(created);
    let mut body = BytesMut::new();
    object(&mut body, |o| {
        o.array("data", |a| {
            for model in models {
                a.object(|o| {
                    o.string("type", "model");
                    o.string("id", &model.id);
                    o.string("display_name", &model.id);
                    o.string("created_at", &created);
                    let known = model.capabilities.as_ref();
                    for (key, limit) in [
                        ("max_input_tokens", known.and_then(|c| c.context_window)),
                        ("max_tokens", known.and_then(|c| c.max_output)),
                    ] {
                        if let Some(limit) = limit {
                            o.number(key, limit);
                        }
                    }
                    if let Some(known) = known {
                        o.object("capabilities", |o| write_capabilities(known, o));
                    }
                });
            }
        });
        for (key, model) in [("first_id", models.first()), ("last_id", models.last())] {
            match model {
                Some(model) => o.string(key, &model.id),
                None => o.raw(key, "null"),
            }
        }
        o.bool("has_more", false);
    });
    body.freeze()
}

fn write_capabilities(known: &Capabilities, object: &mut Object<'_>) {
    for (key, supported) in [
        ("image_input", known.takes_images()),
        ("structured_outputs", known.structured),
    ] {
        object.object(key, |o| o.bool("supported", supported));
    }
}

/// Unix seconds as `2026-02-19T00:00:00Z`, by the usual count of days in eras of 400 years.
fn rfc3339(seconds: u64) -> String {
    let (days, time) = (seconds / 86_400, seconds % 86_400);
    let from_march_of_year_0 = days + 719_468;
    let era = from_march_of_year_0 / 146_097;
    let day_of_era = from_march_of_year_0 % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        time / 3_600,
        time / 60 % 60,
        time % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_told_as_dates() {
        let rows = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_798_761_599, "2026-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ];
        for (seconds, text) in rows {
            assert_eq!(rfc3339(seconds), text);
        }
    }
}
