//! Token streams as text, spaced like formatted Rust.

use quote::ToTokens;

/// A piece of syntax in one line.
pub(super) fn text(syntax: &impl ToTokens) -> String {
    let spaced = syntax.to_token_stream().to_string();
    let spaced: Vec<&str> = spaced.split_whitespace().collect();
    let mut text = spaced.join(" ");
    for (from, to) in [
        (" :: ", "::"),
        (":: ", "::"),
        (" ::", "::"),
        (" < ", "<"),
        ("< ", "<"),
        (" <", "<"),
        (" > ", "> "),
        (" >", ">"),
        ("( ", "("),
        (" (", "("),
        (" )", ")"),
        ("[ ", "["),
        (" ]", "]"),
        ("& ", "&"),
        (" ,", ","),
        (",)", ")"),
        (" :", ":"),
        (" ;", ";"),
        ("' ", "'"),
        ("* const", "*const"),
        ("->(", "-> ("),
        ("- >", "->"),
        ("=(", "= ("),
        ("# [", "#["),
    ] {
        text = text.replace(from, to);
    }
    text.trim_end_matches(',').to_owned()
}
