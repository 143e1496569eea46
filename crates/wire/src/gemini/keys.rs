//! Reads protobuf JSON leniently, as Google does: keys in camelCase or snake_case
//! (`maxOutputTokens`, `max_output_tokens`), a single value where an array belongs.

use std::borrow::Cow;

use crate::json::{Cursor, Fault, JsonKind, ReadResult};

/// Returns a key in camelCase, the spelling that is matched and written.
pub(super) fn camel_case(key: &str) -> Cow<'_, str> {
    if !key.contains('_') || key.starts_with('_') {
        return Cow::Borrowed(key);
    }
    let mut name = String::with_capacity(key.len());
    let mut upper = false;
    for c in key.chars() {
        match c {
            '_' => upper = true,
            c if upper => {
                name.push(c.to_ascii_uppercase());
                upper = false;
            }
            c => name.push(c),
        }
    }
    Cow::Owned(name)
}

/// Reads an object and rejects duplicate keys in any spelling. Values that `each`
/// does not read are skipped.
pub(super) fn object<'a>(
    cursor: &mut Cursor<'a>,
    mut each: impl FnMut(&str, &mut Cursor<'a>) -> ReadResult<()>,
) -> ReadResult<()> {
    let mut respelled = false;
    let keys = cursor.object_keys(|key, cursor| {
        let name = camel_case(key);
        respelled |= matches!(name, Cow::Owned(_));
        each(&name, cursor)
    })?;
    if respelled && let Some(name) = duplicate(&keys) {
        return Err(Fault {
            at: cursor.offset() - 1,
            what: format!("duplicate key `{name}` in two spellings").into(),
        });
    }
    Ok(())
}

/// Reads an array, or a single element in its place; null is an empty array.
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

/// Returns a name that two keys spell.
fn duplicate(keys: &[Cow<'_, str>]) -> Option<String> {
    let mut names: Vec<Cow<'_, str>> = keys.iter().map(|key| camel_case(key)).collect();
    names.sort_unstable();
    let pair = names.windows(2).find(|pair| pair[0] == pair[1])?;
    Some(pair[0].clone().into_owned())
}
