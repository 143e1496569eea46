//! JSON paths of byte offsets, for error messages.

use std::fmt::Write;

use super::string;

enum PathSegment {
    Key(String),
    Index(usize),
}

/// Returns the path of the value at byte `at`. The text may be malformed from
/// there on.
pub(super) fn path_at(text: &str, at: usize) -> String {
    let bytes = text.as_bytes();
    let mut segments: Vec<PathSegment> = Vec::new();
    let mut pos = 0;
    let mut key_next = false;
    while pos <= at && pos < bytes.len() {
        match bytes[pos] {
            b'"' => {
                let Ok((value, end)) = string::read_string(text, pos + 1) else {
                    break;
                };
                if let (true, Some(PathSegment::Key(key))) = (key_next, segments.last_mut()) {
                    *key = value.into_owned();
                    key_next = false;
                }
                pos = end;
                continue;
            }
            // A container's own path does not include its first element.
            b'{' | b'[' if pos == at => break,
            b'{' => {
                segments.push(PathSegment::Key(String::new()));
                key_next = true;
            }
            b'[' => segments.push(PathSegment::Index(0)),
            b'}' | b']' if pos < at => {
                segments.pop();
                key_next = false;
            }
            b',' => match segments.last_mut() {
                Some(PathSegment::Index(index)) => *index += 1,
                Some(PathSegment::Key(_)) => key_next = true,
                None => {}
            },
            _ => {}
        }
        pos += 1;
    }
    print(&segments)
}

fn print(segments: &[PathSegment]) -> String {
    let mut path = String::new();
    for segment in segments {
        match segment {
            PathSegment::Key(key) => {
                if !path.is_empty() && !key.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
            }
            PathSegment::Index(index) => {
                let _ = write!(path, "[{index}]");
            }
        }
    }
    path
}
