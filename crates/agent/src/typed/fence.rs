//! Strips the code fence that models often put around JSON.

const FENCE: &str = "```";

/// Returns the JSON in a model's text: the content of its code fence, or all of it.
pub(super) fn strip_fence(text: &str) -> &str {
    let text = text.trim();
    if text.starts_with(['{', '[']) {
        // A fence inside a string does not count.
        return text;
    }
    let Some((_, after)) = text.split_once(FENCE) else {
        return text;
    };
    let body = match after.split_once('\n') {
        Some((info, body)) if !info.contains(['{', '[']) => body,
        _ => after,
    };
    let body = body.rsplit_once(FENCE).map_or(body, |(inside, _)| inside);
    body.trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_fence_is_stripped() {
        for (text, json) in [
            (" {\"a\":1}\n", "{\"a\":1}"),
            ("```json\n{\"a\":1}\n```", "{\"a\":1}"),
            ("```\n[1]\n```\n", "[1]"),
            ("```{\"a\":1}```", "{\"a\":1}"),
            ("```json\n{\"a\":1}", "{\"a\":1}"),
            ("Here it is:\n```json\n{}\n```\nAnything else?", "{}"),
            ("{\"code\":\"```x```\"}", "{\"code\":\"```x```\"}"),
            ("```json\n{\"code\":\"```\"}\n```", "{\"code\":\"```\"}"),
            ("42", "42"),
            ("", ""),
        ] {
            assert_eq!(strip_fence(text), json, "{text:?}");
        }
    }
}
