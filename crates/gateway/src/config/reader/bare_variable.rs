//! `$NAME` where `${NAME}` was meant.
//!
//! Only the braced form is substituted, since keys may contain `$`. A bare name would be sent
//! to a provider as its key, so it is reported if it can only be a variable: as the whole
//! string, as a whole component of a URL, or as the name of a variable that is set. `$$NAME` is
//! a literal `$NAME`.

use crate::config::secrets::names::is_variable;

/// The literal text of a string without `${`, or the bare variable in it. `is_set` returns
/// whether a variable is set.
pub(super) fn unescape(raw: &str, is_set: impl Fn(&str) -> bool) -> Result<String, &str> {
    let mut value = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('$') {
        let escaped = rest[at..].starts_with("$$");
        let name = leading_name(&rest[at + 1 + usize::from(escaped)..]);
        let after = &rest[at + 1 + usize::from(escaped) + name.len()..];
        let before = &raw[..raw.len() - rest.len() + at];
        let is_whole = before.is_empty() && after.is_empty();
        let is_certain = is_whole || is_component(before, after) || is_set(name);
        let is_bare = is_variable(name) && name.len() > 1 && is_certain;
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

/// Whether what is between these texts is a component of a URL, such as its host, or what
/// follows the scheme of an `authorization` header.
fn is_component(before: &str, after: &str) -> bool {
    let in_url = before.contains("://")
        && before.ends_with(['/', ':', '@', '=', '&', '.'])
        && (after.is_empty() || after.starts_with(['/', ':', '@', '?', '&', '.']));
    let is_credential = after.is_empty() && matches!(before, "Bearer " | "Basic ");
    in_url || is_credential
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
            ("http://$OTHER:80", Err("OTHER")),
            ("foreman://$TOKEN@host", Err("TOKEN")),
            ("foreman://$$TOKEN@host", Ok("foreman://$TOKEN@host")),
            ("https://$REGION.example.com/v1", Err("REGION")),
            (
                "https://a.example/$PATH-of/x",
                Ok("https://a.example/$PATH-of/x"),
            ),
            ("Bearer $TOKEN", Err("TOKEN")),
            ("it costs $USD now", Ok("it costs $USD now")),
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
