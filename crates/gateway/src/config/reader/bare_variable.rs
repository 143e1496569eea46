//! `$NAME` where `${NAME}` was meant.
//!
//! Only the braced form is substituted, since keys may contain `$`. A bare name would be sent
//! to a provider as its key, so it is reported if it can only be a variable: as the whole
//! string, or as the name of a variable that is set. `$$NAME` is a literal `$NAME`.

use crate::config::secrets::names::is_variable;

/// The literal text of a string without `${`, or the bare variable in it. `is_set` returns
/// whether a variable is set.
pub(super) fn unescape(raw: &str, is_set: impl Fn(&str) -> bool) -> Result<String, &str> {
    let mut value = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('$') {
        let escaped = rest[at..].starts_with("$$");
        let name = leading_name(&rest[at + 1 + usize::from(escaped)..]);
        let is_whole = name.len() + 1 + usize::from(escaped) == raw.len();
        let is_bare = is_variable(name) && name.len() > 1 && (is_whole || is_set(name));
        if is_bare && !escaped {
            return Err(name);
        }
        value.push_str(&rest[..at]);
        // Only text that would be reported needs an escape; any other `$$` is kept.
        value.push_str(if escaped && !is_bare { "$$" } else { "$" });
        rest = &rest[at + 1 + usize::from(escaped)..];
    }
    value.push_str(rest);
    Ok(value)
}

fn leading_name(text: &str) -> &str {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_variable_is_found_where_it_cannot_be_anything_else() {
        let is_set = |name: &str| name == "HOST";
        for (raw, expected) in [
            ("$GROQ_API_KEY", Err("GROQ_API_KEY")),
            ("$HOST", Err("HOST")),
            ("http://$HOST:80", Err("HOST")),
            ("http://$OTHER:80", Ok("http://$OTHER:80")),
            ("$$GROQ_API_KEY", Ok("$GROQ_API_KEY")),
            ("http://$$HOST:80", Ok("http://$HOST:80")),
            ("$HOSTS!", Ok("$HOSTS!")),
            ("$5 or $$ or $", Ok("$5 or $$ or $")),
            ("$A", Ok("$A")),
            ("sk-$ecret", Ok("sk-$ecret")),
            ("ß$é", Ok("ß$é")),
        ] {
            let found = unescape(raw, is_set);
            assert_eq!(found, expected.map(str::to_owned), "{raw}");
        }
    }
}
