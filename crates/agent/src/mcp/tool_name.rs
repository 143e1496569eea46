//! Converts MCP tool names into names that providers accept.

/// Maximum length of a name that all providers accept.
const MAX_LEN: usize = 64;

/// Replaces everything but letters, digits, `_` and `-` with `_`. The toolbox rejects
/// names that collide as a result.
pub(super) fn tool_name(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    name.chars()
        .map(|c| if allowed(c) { c } else { '_' })
        .take(MAX_LEN)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsupported_characters_become_underscores() {
        assert_eq!(tool_name("read_file"), "read_file");
        assert_eq!(tool_name("files/read.v2 ü"), "files_read_v2__");
        assert_eq!(tool_name(&"x".repeat(99)).len(), 64);
    }
}
