//! MCP tool names as names that providers take.

/// The longest name that all providers take.
const LONGEST: usize = 64;

/// MCP allows dots, slashes and more; providers allow letters, digits, `_` and
/// `-`. Two names that become the same are an error of the toolbox.
pub(super) fn tool_name(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    name.chars()
        .map(|c| if allowed(c) { c } else { '_' })
        .take(LONGEST)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_providers_refuse_becomes_an_underscore() {
        assert_eq!(tool_name("read_file"), "read_file");
        assert_eq!(tool_name("files/read.v2 ü"), "files_read_v2__");
        assert_eq!(tool_name(&"x".repeat(99)).len(), 64);
    }
}
