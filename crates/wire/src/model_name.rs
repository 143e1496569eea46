//! The `model` field, which the bodies of all dialects share.
//!
//! For bodies that are forwarded verbatim (embeddings).

use bytes::{Bytes, BytesMut};

use crate::ReadError;
use crate::json::{self, write_string};
use crate::splice::{self, FieldAction};

/// Returns the model that a body requests.
///
/// ```
/// let body = br#"{"model":"small","input":"hi"}"#;
/// assert_eq!(majordomo_wire::model_of(body)?, Some("small".to_owned()));
/// # Ok::<(), majordomo_wire::ReadError>(())
/// ```
pub fn model_of(body: &[u8]) -> Result<Option<String>, ReadError> {
    let mut model = None;
    json::read(body, |cursor| {
        cursor.object(|key, cursor| {
            match &**key {
                "model" => model = Some(cursor.string()?.into_owned()),
                _ => {
                    cursor.raw()?;
                }
            }
            Ok(())
        })
    })?;
    Ok(model)
}

/// Replaces the model and keeps everything else byte for byte.
///
/// ```
/// let body = br#"{"input":"hi", "model":"small"}"#;
/// let other = majordomo_wire::with_model(body, "large");
/// assert_eq!(other, r#"{"input":"hi", "model":"large"}"#);
/// ```
pub fn with_model(body: &[u8], model: &str) -> Bytes {
    let text = String::from_utf8_lossy(body);
    let mut out = BytesMut::with_capacity(body.len() + model.len());
    let mut swap = |key: &str, _: &str, out: &mut BytesMut| {
        if key != "model" {
            return FieldAction::Keep;
        }
        write_string(out, model);
        FieldAction::Replace
    };
    splice::object(&text, &mut out, &mut swap);
    out.freeze()
}
