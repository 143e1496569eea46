//! Google takes every key in two spellings, `maxOutputTokens` and
//! `max_output_tokens`, and a single value where a list belongs.

use std::borrow::Cow;

use crate::json::{Cursor, Fault, JsonKind, ReadResult};

/// The spelling that is matched and written.
pub(super) fn camel(key: &str) -> Cow<'_, str> {
    if !key.contains('_') || key.starts_with('_') {
        return Cow::Borrowed(key);
    }
    let mut name = String::with_capacity(key.len());
    let mut raise = false;
    for c in key.chars() {
        match c {
            '_' => raise = true,
            c if raise => {
                name.push(c.to_ascii_uppercase());
                raise = false;
            }
            c => name.push(c),
        }
    }
    Cow::Owned(name)
}

/// An object whose keys must not come twice, in whatever spelling. A value that
/// `each` leaves alone is passed over.
pub(super) fn object<'a>(
    cursor: &mut Cursor<'a>,
    mut each: impl FnMut(&str, &mut Cursor<'a>) -> ReadResult<()>,
) -> ReadResult<()> {
    let mut respelled = false;
    let keys = cursor.object_keys(|key, cursor| {
        let name = camel(key);
        respelled |= matches!(name, Cow::Owned(_));
        each(&name, cursor)
    })?;
    if respelled && let Some(name) = twice(&keys) {
        return Err(Fault {
            at: cursor.offset() - 1,
            what: format!("duplicate key `{name}` in two spellings").into(),
        });
    }
    Ok(())
}

/// A list, or one element of it standing alone; `null` is an empty list.
pub(super) fn one_or_many<'a>(
    cursor: &mut Cursor<'a>,
    mut each: impl FnMut(&mut Cursor<'a>) -> ReadResult<()>,
) -> ReadResult<()> {
    match cursor.peek()? {
        JsonKind::Object => each(cursor),
        JsonKind::Null => cursor.raw().map(drop),
        _ => cursor.array(each),
    }
}

/// A name that several keys spell.
fn twice(keys: &[Cow<'_, str>]) -> Option<String> {
    let mut names: Vec<Cow<'_, str>> = keys.iter().map(|key| camel(key)).collect();
    names.sort_unstable();
    let pair = names.windows(2).find(|pair| pair[0] == pair[1])?;
    Some(pair[0].clone().into_owned())
}
