//! Takes JSON out of the code fence that models like to put around it.

const FENCE: &str = "```";

/// The JSON in a model's text: all of it, or the inside of its code fence.
pub(super) fn strip_fence(text: &str) -> &str {
    let text = text.trim();
    if text.starts_with(['{', '[']) {
        // A fence in here is inside a string.
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
    fn fences_go_and_everything_else_stays() {
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
