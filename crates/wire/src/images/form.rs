//! The subset of `multipart/form-data` (RFC 7578) that clients send to the images API.
//!
//! Strict where servers disagree, so that no server behind the gateway reads different fields
//! from the same bytes. One search over the body; the number of parts and the size of their
//! heads are limited.

use std::ops::Range;

use memchr::memmem::{self, Finder};

use crate::ReadError;

/// Maximum parts of a form. OpenAI takes 16 images and a dozen fields.
const MOST_PARTS: usize = 64;
/// The longest head of a part.
const LONGEST_HEAD: usize = 4 * 1024;
/// The longest boundary (RFC 2046, section 5.1.1).
const LONGEST_BOUNDARY: usize = 70;

/// One part of a form.
#[derive(Debug, PartialEq)]
pub(super) struct FormPart {
    pub(super) name: String,
    /// Whether it has a file name.
    pub(super) is_file: bool,
    pub(super) media_type: Option<String>,
    /// The position of its content in the body.
    pub(super) content: Range<usize>,
}

/// The boundary of a form; `None` for another content type.
pub(super) fn boundary(content_type: &str) -> Result<Option<&str>, ReadError> {
    let (essence, parameters) = content_type.split_once(';').unwrap_or((content_type, ""));
    if !essence.trim().eq_ignore_ascii_case("multipart/form-data") {
        return Ok(None);
    }
    let value = parameter(parameters, "boundary")?;
    let value = value.filter(|value| {
        let length = (1..=LONGEST_BOUNDARY).contains(&value.len());
        length && value.bytes().all(|b| (b' '..=b'~').contains(&b)) && !value.ends_with(' ')
    });
    let missing = || bad("the content type of the form has no usable boundary");
    value.map(Some).ok_or_else(missing)
}

/// Finds the parts of a form.
pub(super) fn parts(body: &[u8], boundary: &str) -> Result<Vec<FormPart>, ReadError> {
    let delimiter = format!("\r\n--{boundary}");
    let finder = Finder::new(&delimiter);
    let first = &delimiter.as_bytes()[2..];
    let mut at = match body.strip_prefix(first) {
        Some(_) => first.len(),
        None => {
            let found = finder.find(body);
            found.ok_or_else(|| bad("the form has no part"))? + delimiter.len()
        }
    };
    let mut parts = Vec::new();
    loop {
        let rest = &body[at..];
        if rest.starts_with(b"--") {
            return Ok(parts);
        }
        let padding = rest.iter().take_while(|b| matches!(b, b' ' | b'\t'));
        let padding = padding.take(LONGEST_HEAD).count();
        if !rest[padding..].starts_with(b"\r\n") {
            return Err(bad("the form is cut off, or its boundary occurs in a part"));
        }
        if parts.len() == MOST_PARTS {
            return Err(bad(format!("the form has more than {MOST_PARTS} parts")));
        }
        // The empty line after a head without fields begins here, too.
        let head_at = at + padding;
        let window = &body[head_at..body.len().min(head_at + LONGEST_HEAD)];
        let head_end = memmem::find(window, b"\r\n\r\n");
        let head_end = head_end.ok_or_else(|| bad("the head of a part is cut off or too long"))?;
        let content = head_at + head_end + 4;
        // A part without content shares its last line break with the delimiter.
        let from = content - 2;
        let end = finder.find(&body[from..]);
        let end = from + end.ok_or_else(|| bad("the form is cut off"))?;
        let head = String::from_utf8_lossy(&window[..head_end]);
        parts.push(part(&head, content..end.max(content))?);
        at = end + delimiter.len();
    }
}

fn part(head: &str, content: Range<usize>) -> Result<FormPart, ReadError> {
    let (mut disposition, mut media_type) = (None, None);
    for line in head.split("\r\n").filter(|line| !line.is_empty()) {
        let (name, value) = line
            .split_once(':')
            .ok_or_else(|| bad("the head of a part is malformed"))?;
        let (name, value) = (name.trim(), value.trim());
        if name.eq_ignore_ascii_case("content-disposition") {
            if disposition.replace(value).is_some() {
                return Err(bad("a part has two content dispositions"));
            }
        } else if name.eq_ignore_ascii_case("content-type") {
            media_type = Some(value.to_owned());
        } else if name.eq_ignore_ascii_case("content-transfer-encoding")
            && !["binary", "8bit", "7bit"].contains(&&*value.to_ascii_lowercase())
        {
            return Err(bad("a part is encoded; send its bytes as they are"));
        }
    }
    let disposition = disposition.ok_or_else(|| bad("a part has no content disposition"))?;
    let (kind, parameters) = disposition.split_once(';').unwrap_or((disposition, ""));
    if !kind.trim().eq_ignore_ascii_case("form-data") {
        return Err(bad("a part is not form data"));
    }
    let name = parameter(parameters, "name")?;
    let name = name.ok_or_else(|| bad("a part has no name"))?;
    let is_file = parameter(parameters, "filename")?.is_some()
        || parameter(parameters, "filename*")?.is_some();
    Ok(FormPart {
        name: name.to_owned(),
        is_file,
        media_type,
        content,
    })
}

/// The value of a parameter, as in `; name="image"; filename="a.png"`.
fn parameter<'a>(parameters: &'a str, wanted: &str) -> Result<Option<&'a str>, ReadError> {
    let mut rest = parameters.trim_start_matches([';', ' ', '\t']);
    let mut found = None;
    while !rest.is_empty() {
        let Some((name, after)) = rest.split_once('=') else {
            return Err(bad("a parameter has no value"));
        };
        let (value, after) = match after.trim_start().strip_prefix('"') {
            Some(quoted) => {
                let end = quoted
                    .find('"')
                    .ok_or_else(|| bad("a quote is not closed"))?;
                (&quoted[..end], &quoted[end + 1..])
            }
            None => {
                let end = after.find(';').unwrap_or(after.len());
                (after[..end].trim(), &after[end..])
            }
        };
        if name.trim().eq_ignore_ascii_case(wanted) {
            // Servers disagree about escapes.
            if value.ends_with('\\') || found.is_some() {
                return Err(bad(format!("the parameter `{wanted}` is ambiguous")));
            }
            found = Some(value);
        }
        rest = after.trim_start_matches([';', ' ', '\t']);
    }
    Ok(found)
}

pub(super) fn bad(text: impl Into<String>) -> ReadError {
    ReadError::new("", text)
}
